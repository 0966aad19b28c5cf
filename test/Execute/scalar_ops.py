#!/usr/bin/env python3
"""Each op of dialect/Attn/ScalarOps.def on tensors, by the CPU's target and the generic one, or by that of the options, against the reference in
float64: floats of every magnitude, the special ones and pairs of them. The ops of floats once more in an epilogue, in a score region and on 16-bit floats. An op is
right if it is within its bound of docs/Semantics.md, in units in the last place."""

import re
from pathlib import Path

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(43)
TABLE = re.findall(r'^SCALAR_OP\([\w:]+, "([\w.]+)"\)', (Path(__file__).resolve().parents[2] / "dialect/Attn/ScalarOps.def").read_text(), re.MULTILINE)
HALF = 0.5000001  # of a unit: rounded to nearest
BOUNDS = {**dict.fromkeys(["math.exp", "math.exp2", "math.log", "math.sin", "math.cos", "math.rsqrt"], 2), **dict.fromkeys(["math.tanh", "math.erf"], 4),
          **{"math." + name: 1 for name in "cbrt expm1 log2 log10 log1p powf fpowi tan asin acos atan atan2 sinh cosh".split()}}
PERIODIC = ("math.sin", "math.cos", "math.tan")  # NaN beyond 2^20
UNSIGNED = ("arith.maxnumf", "arith.minnumf")  # of two zeros either
FLUSHED = ("math.exp", "math.exp2", "halves")  # results below 2^-126 are 0, of casts to bf16 where a CPU has an instruction
UNARY = ["arith.negf"] + ["math." + name for name in
                          "absf ceil floor round roundeven trunc sqrt rsqrt cbrt exp exp2 expm1 log log2 log10 log1p erf sin cos tan asin acos atan sinh cosh tanh".split()]
BINARY = ["arith." + name for name in "addf subf mulf divf remf maximumf minimumf maxnumf minnumf".split()] + ["math.copysign", "math.powf", "math.atan2"]
INTEGERS = ["arith." + name for name in "addi subi muli divsi divui remsi remui floordivsi ceildivsi ceildivui minsi maxsi minui maxui andi ori xori shli shrsi shrui".split()]
# name: lines that compute %r, f32 or i32, of the floats %x and %y and the integers %a and %b
F, I = "tensor<?x32xf32>", "tensor<?x32xi32>"
OTHERS = {
    "fma": f"%r = math.fma %x, %y, %x : {F}",
    "fpowi": f"%r = math.fpowi %x, %a : {F}, {I}",
    "cmpf": f"%c = arith.cmpf ult, %x, %y : {F}\n%r = arith.select %c, %y, %x : tensor<?x32xi1>, {F}",
    "thirtieth": f"""%r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
                     ins(%x : {F}) outs(%y : {F}) {{
                   ^bb0(%e: f32, %o: f32):
                     %c = arith.constant 30.0 : f32
                     %q = arith.divf %e, %c : f32
                     linalg.yield %q : f32
                   }} -> {F}""",
    "halves": f"%h = arith.truncf %x : {F} to tensor<?x32xbf16>\n%r = arith.extf %h : tensor<?x32xbf16> to {F}",
    "sitofp": f"%r = arith.sitofp %a : {I} to {F}",
    "uitofp": f"%r = arith.uitofp %a : {I} to {F}",
    "fptosi": f"%r = arith.fptosi %x : {F} to {I}",
    "fptoui": f"%r = arith.fptoui %x : {F} to {I}",
    "cmpi": f"%c = arith.cmpi ugt, %a, %b : {I}\n%r = arith.select %c, %a, %b : tensor<?x32xi1>, {I}",
    "absi": f"%r = math.absi %a : {I}",
    "index": f"%i = arith.index_cast %a : {I} to tensor<?x32xindex>\n%j = arith.index_castui %b : {I} to tensor<?x32xindex>\n"
             f"%s = arith.addi %i, %j : tensor<?x32xindex>\n%r = arith.index_cast %s : tensor<?x32xindex> to {I}",
    "widths": f"%i = arith.trunci %a : {I} to tensor<?x32xi8>\n%j = arith.extsi %i : tensor<?x32xi8> to tensor<?x32xi24>\n"
              f"%k = arith.extui %j : tensor<?x32xi24> to {I}\n%r = arith.xori %k, %b : {I}",
}


def short(op):
    return op.split(".")[1]


def entry(name, body):
    """A kernel of the floats x and y and the integers a and b."""
    integer = "fpto" in name or name in ("cmpi", "absi", "index", "widths", *map(short, INTEGERS))
    result = I if integer else F
    array = lambda name, kind: f'%{name}: {kind} {{attn.name = "{name}", attn.dims = ["rows"]}}'
    return (f'func.func @{name}({array("x", F)}, {array("y", F)}, {array("a", I)}, {array("b", I)}) -> ({result} {{attn.name = "r", attn.dims = ["rows"]}}) '
            f'attributes {{attn.entry}} {{\n{body}\nreturn %r : {result}\n}}\n'), np.int32 if integer else np.float32


def sum_of_all(operand, other, integer):
    """Lines that add each op of floats on numbers from 0.2 to 0.9 to %r0, and the last result."""
    lines, last = [], 0
    for op in UNARY + BINARY + ["math.fpowi"]:
        operands = {1: f"%{operand}", 2: f"%{operand}, %{other}"}[1 if op in UNARY else 2]
        types = "f32"
        if op == "math.fpowi":
            operands, types = f"%{operand}, %{integer}", "f32, i32"
        lines += [f"%v{last} = {op} {operands} : {types}", f"%r{last + 1} = arith.addf %r{last}, %v{last} : f32"]
        last += 1
    return "\n".join(lines), f"%r{last}"


LINES, LAST = sum_of_all("e", "o", "three")
EPILOGUE = f"""func.func @epilogue(%x: tensor<?x8xf32> {{attn.name = "x", attn.dims = ["rows"]}}, %w: tensor<8x40xf32> {{attn.name = "w"}}, %y: tensor<?x40xf32> {{attn.name = "y", attn.dims = ["rows"]}})
    -> (tensor<?x40xf32> {{attn.name = "r", attn.dims = ["rows"]}}) attributes {{attn.entry}} {{
  %z = attn.linear %x, %w, (%y) : tensor<?x8xf32>, tensor<8x40xf32>, (tensor<?x40xf32>) -> tensor<?x40xf32> {{
  ^bb0(%r0: f32, %e: f32):
    %o = arith.constant 0.3 : f32
    %three = arith.constant 3 : i32
    {LINES}
    attn.yield {LAST} : f32
  }}
  return %z : tensor<?x40xf32>
}}
"""
DIMS = "(b, hkv, g, q, kv, dqk, dv)"
SCORES = f"""func.func @scores(%q: tensor<?x1x8xf32> {{attn.name = "q", attn.dims = ["rows"]}}, %y: tensor<?xf32> {{attn.name = "y", attn.dims = ["rows"]}})
    -> (tensor<?x1x8xf32> {{attn.name = "r", attn.dims = ["rows"]}}) attributes {{attn.entry}} {{
  %scale = arith.constant 0.25 : f32
  %r = attn.attention %q, %q, %q, %scale extras(%y : tensor<?xf32>) maps [affine_map<{DIMS} -> (q, hkv, dqk)>, affine_map<{DIMS} -> (kv, hkv, dqk)>, affine_map<{DIMS} -> (kv, hkv, dv)>, affine_map<{DIMS} -> (q, hkv, dv)>, affine_map<{DIMS} -> (kv)>]
    : tensor<?x1x8xf32>, tensor<?x1x8xf32>, tensor<?x1x8xf32> -> tensor<?x1x8xf32> score {{
  ^bb0(%r0: f32, %b: index, %h: index, %i: index, %j: index, %e: f32):
    %o = arith.constant 0.3 : f32
    %three = arith.constant 3 : i32
    {LINES}
    attn.yield {LAST} : f32
  }}
  return %r : tensor<?x1x8xf32>
}}
"""
NARROW = "".join(f"""func.func @{kind}(%x: tensor<?x32x{kind}> {{attn.name = "x", attn.dims = ["rows"]}}) -> (tensor<?x32x{kind}> {{attn.name = "r", attn.dims = ["rows"]}}) attributes {{attn.entry}} {{
  %0 = math.exp %x : tensor<?x32x{kind}>
  %1 = math.log1p %0 : tensor<?x32x{kind}>
  %2 = math.tanh %1 : tensor<?x32x{kind}>
  %3 = arith.remf %2, %x : tensor<?x32x{kind}>
  %4 = math.powf %0, %3 : tensor<?x32x{kind}>
  return %4 : tensor<?x32x{kind}>
}}
""" for kind in ("bf16", "f16"))


def in_ulps(got, expected):
    """The distance of each float from the right number. A zero of the other sign is infinitely far away."""
    got, right = got.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        same = (np.isnan(got) & np.isnan(right)) | ((got == right.astype(np.float32)) & ((got != 0) | (np.signbit(got) == np.signbit(right))))
        unit = np.ldexp(1.0, np.maximum(np.frexp(right)[1] - 1, -126) - 23)
        errors = np.abs(got - right) / unit
    other = np.where(np.isfinite(errors) & np.isfinite(got) & ((got != 0) | (right != 0)), errors, np.inf)
    return np.where(same, np.where(np.isfinite(right) & np.isfinite(got), np.minimum(errors, HALF), 0), other)


def check(name, op, got, expected, x):
    expected = np.where(np.abs(x) > 2**20, np.nan, expected) if op in PERIODIC else expected
    errors = in_ulps(got, expected)
    if op in UNSIGNED:
        errors = np.where((got == 0) & (expected == 0), 0, errors)
    if op in FLUSHED:
        errors = np.where((np.abs(expected) <= 2.0**-126) & (got == 0), 0, errors)
    bound, worst = BOUNDS.get(op, HALF), errors.max()
    print(f"{name}: {worst:.2f} units in the last place, bound {bound:g}")
    checks.passed, checks.failed = checks.passed + bool(worst <= bound), checks.failed + (not worst <= bound)
    for i in np.flatnonzero(errors > bound)[:5]:
        print(f"FAIL {name}: of {x.flat[i]!r} is {got.flat[i]!r}, not {expected.flat[i]!r}")


def floats(rows):
    """Floats of every magnitude, some small, some near 1, and all pairs of special ones."""
    special = np.array([0, -0.0, 1, -1, 2, -2, 3, 0.5, -0.5, 1e-45, -1e-45, 1e-38, 3.4e38, -3.4e38, np.inf, -np.inf, np.nan, 1e-8, -1e-8, 0.99999994, 1.0000001,
                        -3, 1000, 8388609, 2**20, 88.72284, -88, 127.5, 1.5707964, 3.1415927, 7, 1e-20], np.float32)
    x, y = (random.integers(0, 2**32, (rows, 32), np.uint32).view(np.float32) for _ in range(2))
    third = rows // 3
    x[:third] = np.exp(random.uniform(-3, 3, (third, 32))) * random.choice([-1, 1, 1], (third, 32))
    y[:third] = np.where(random.random((third, 32)) < 0.3, random.integers(-40, 40, (third, 32)), random.uniform(-20, 20, (third, 32)))
    x[third + 40:third + 60] = np.exp(random.uniform(-40, -2, (20, 32))) * random.choice([-1, 1], (20, 32))  # where log1p and expm1 are not log and exp
    x[third:third + 40] = 1 + random.uniform(-1e-3, 1e-3, (40, 32))
    x[-32:], y[-32:] = np.repeat(special, 32).reshape(32, 32), np.tile(special, 32).reshape(32, 32)
    return x, y


bodies = {short(op): f"%r = {op} %x : {F}" for op in UNARY} | {short(op): f"%r = {op} %x, %y : {F}" for op in BINARY} | {short(op): f"%r = {op} %a, %b : {I}" for op in INTEGERS} | OTHERS
entries = {name: entry(name, body) for name, body in bodies.items()}
TEXT = "attn.dim @rows min 0 max 65536\n" + "".join(text for text, _ in entries.values()) + EPILOGUE + SCORES + NARROW
missing = [op for op in TABLE if f"{op} " not in TEXT]
assert len(TABLE) > 70 and not missing, f"ops of the table that no program has: {missing}"
ROWS = 1024
x, y = floats(ROWS)
edges = np.array([0, 1, -1, 2, -2, 31, 32, 33, 2**31 - 1, -2**31, 7, -7, 100, 3, 5, 255], np.int32)
a, b = (np.where(random.random((ROWS, 32)) < 0.5, random.choice(edges, (ROWS, 32)), random.integers(-2**31, 2**31, (ROWS, 32))).astype(np.int32) for _ in range(2))
inputs = {"x": x, "y": y, "a": a, "b": b}
small = random.uniform(0.2, 0.9, (70, 40)).astype(np.float32)
normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
others = {"epilogue": ({"x": normal(70, 8), "w": normal(8, 40), "y": small}, (70, 40)), "scores": ({"q": normal(70, 1, 8), "y": small[:, 0].copy()}, (70, 1, 8))}
expected = {}
for target, options in [("cpu", ["--target=cpu"]), ("generic", ["--target=generic"])] if not tools.options else [("given", tools.options)]:
    tools.options = options
    program = kernels.Program(tools, f"scalar_{target}", TEXT)
    for name, (_, dtype) in entries.items():
        if name not in expected:
            expected[name], = program.reference(name, inputs, ["r"])
        got, = program.compiled(name, inputs.values(), [((ROWS, 32), dtype)], (ROWS,))
        if dtype == np.int32:
            checks.equal(f"{target}: {name}", got, expected[name].astype(np.int32))
        else:
            check(f"{target}: {name}", next((op for op in TABLE if short(op) == name), name), got, expected[name], x)
    for name, (given, shape) in others.items():
        right, = program.reference(name, given, ["r"])
        got, = program.compiled(name, given.values(), [shape], (70,))
        checks.near(f"{target}: {name}", got, right, 2e-5)
    for kind, error in (("bf16", 2e-2), ("f16", 3e-3)):
        given = {"x": kernels.stored(random.uniform(0.5, 1.5, (17, 32)), kind)}
        right, = program.reference(kind, given, ["r"])
        got, = program.compiled(kind, given.values(), [((17, 32), given["x"].dtype)], (17,))
        checks.near(f"{target}: {kind}", kernels.widened(got), kernels.widened(right), error)
checks.finish()
