#!/usr/bin/env python3
"""Compares score and mask regions, compiled and by the reference in float64: indices of 64 bits, integer arithmetic that has a
result for all operands, scores up to the largest float, and keys that are masked while they or their values are NaN or infinite.
Rows of ragged lengths, of which no length fills a panel of 32 keys, so that regions run in lanes beyond the last key as well."""

import os

import numpy as np

import kernels
import processor

tools = kernels.tools(__doc__)
processor.allow_tiles(tools.clang, tools.scratch)
checks, random = kernels.Checks(), np.random.default_rng(17)
DIMS = "(b, hkv, g, q, kv, dqk, dv)"
QUERIES, KEYS = (5, 1, 40, 16), (37, 70, 40, 131)
LARGEST = np.finfo(np.float32).max
CAUSAL = "%keep = arith.cmpi sle, %j, %i : index"


def constants(**values):
    return "".join(f"%{name} = arith.constant {value} : {'i64' if name.startswith('w') else 'i32' if name.startswith('n') else 'index'}\n" for name, value in values.items())


def window(width):
    return constants(c=width) + "%d = arith.subi %i, %j : index\n%k0 = arith.cmpi slt, %d, %c : index\n%k1 = arith.cmpi sle, %j, %i : index\n%keep = arith.andi %k0, %k1 : i1"


def number(text, kind="index", names=("x",)):
    """Adds a thousandth of the low 12 bits of each named value to the score."""
    cast = {"index": "%y{x} = arith.index_cast %{x} : index to i64\n", "i32": "%y{x} = arith.extsi %{x} : i32 to i64\n", "i64": "%y{x} = arith.addi %{x}, %w0 : i64\n"}[kind]
    text += constants(w0=0, wmask=4095) + "%thousandth = arith.constant 0.001 : f32\n"
    for before, x in zip(("s", *(f"r{x}" for x in names)), names):
        text += (cast + """%low{x} = arith.andi %y{x}, %wmask : i64
%f{x} = arith.sitofp %low{x} : i64 to f32
%more{x} = arith.mulf %f{x}, %thousandth : f32
%r{x} = arith.addf %{before}, %more{x} : f32
""").format(x=x, before=before)
    return text.replace(f"%r{names[-1]} =", "%r =")


def binaries(ops, kind="i32"):
    """Each op on extras %e1 of queries and %e0 of keys, cast to the type."""
    casts = "%p0 = arith.index_cast %e1 : i32 to index\n%p1 = arith.index_cast %e0 : i32 to index\n" if kind == "index" else ""
    left, right = ("%p0", "%p1") if kind == "index" else ("%e1", "%e0")
    return number(casts + "".join(f"%{op} = arith.{op} {left}, {right} : {kind}\n" for op in ops), kind, ops)


DIVISIONS = ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui")
SHIFTS = ("shli", "shrsi", "shrui")
ADD = "%r = arith.addf %s, %e0 : f32"
INTEGERS = ([("(kv)", "?xi32", "divisors"), ("(q)", "?xi32", "integers")])
# name: extras (map, type, what they hold), score, mask. The names of cases with poisoned keys or values end with _nan.
CASES = {
    "widest_window": ([], None, window(2**63 - 1)),
    "wide_window": ([], None, window(2**32)),
    "wide_constant": ([], None, constants(c=2**40) + "%keep = arith.cmpi slt, %j, %c : index"),
    "sum_of_32_bits": ([], None, constants(c=2**31 - 1) + "%t = arith.addi %i, %c : index\n%keep = arith.cmpi sge, %t, %j : index"),
    "remainder": ([("(kv)", "?xi32", "positive")], None, constants(c=0) + "%e = arith.index_cast %e0 : i32 to index\n%m = arith.remsi %i, %e : index\n%keep = arith.cmpi eq, %m, %c : index"),
    "wide_product": ([], number(constants(c=2**33, d=2**31) + "%t = arith.muli %j, %c : index\n%x = arith.divsi %t, %d : index\n"), CAUSAL),
    "unsigned_rest": ([], number(constants(c=7) + "%t = arith.subi %j, %i : index\n%x = arith.remui %t, %c : index\n"), None),
    "unsigned_shift": ([], number(constants(c=40) + "%t = arith.subi %j, %i : index\n%x = arith.shrui %t, %c : index\n"), None),
    "unsigned_cast": ([("(kv)", "?xi32", "divisors")], number(constants(c=5) + "%t = arith.index_castui %e0 : i32 to index\n%x = arith.divui %t, %c : index\n"), None),
    "i64_cast": ([], number("%t = arith.index_cast %j : index to i64\n%x = arith.muli %t, %t : i64\n", "i64"), CAUSAL),
    **{f"{name}_{kind}": (INTEGERS, binaries(ops, kind), None) for name, ops in (("A16_divisions", DIVISIONS), ("A16_shifts", SHIFTS)) for kind in ("i32", "index")},
    "to_signed": ([("(kv)", "?xf32", "floats")], number("%x = arith.fptosi %e0 : f32 to i32\n", "i32"), None),
    "to_unsigned": ([("(kv)", "?xf32", "floats")], number("%x = arith.fptoui %e0 : f32 to i32\n", "i32"), None),
    "flags": (INTEGERS, number("%x = arith.muli %e1, %e0 overflow<nsw> : i32\n", "i32"), None),
    "large_scores": ([("(kv)", "?xf32", "large")], ADD, CAUSAL),
    "A18_largest_scores": ([("(q, kv)", "?x?xf32", "largest")], ADD, None),
    "lowest_scores": ([("(kv)", "?xf32", "lowest")], "%zero = arith.constant 0.0 : f32\n%t = arith.mulf %s, %zero : f32\n%r = arith.addf %t, %e0 : f32", CAUSAL),
    "A13_infinite_scores": ([("(q, kv)", "?x?xf32", "infinite")], ADD, None),
    # 0, where all scores of a query are -infinity.
    "A10_infinite_nan": ([("(q, kv)", "?x?xf32", "infinite")], ADD, None),
    "A10_infinite_masked_nan": ([("(q, kv)", "?x?xf32", "infinite")], ADD, CAUSAL),
    "A9_causal_nan": ([], None, CAUSAL),
    "listed_nan": ([("(q, kv)", "?x?xi32", "coin")], "%t = math.tanh %s : f32\n%c = arith.constant 3.0 : f32\n%r = arith.mulf %t, %c : f32", constants(n0=0) + "%keep = arith.cmpi ne, %e0, %n0 : i32"),
    "window_nan": ([], None, window(9)),
    "paired_nan": ([], None, CAUSAL),
}
EDGES = np.array([0, 1, -1, 2, -2, 3, 7, -7, 31, 32, 33, 64, 2**31 - 1, -2**31, -2**31 + 1], np.int32)


def entry(name, extras, score, mask):
    types = {"q": "?x1x40xf32", "k": "?x1x40xf32", "v": "?x1x24xf32", "qb": "?xi32", "kb": "?xi32", "at": "?xi32"}
    dims = {"q": ["queries"], "k": ["keys"], "v": ["keys"], "qb": ["rows+1"], "kb": ["rows+1"], "at": ["rows"]}
    for i, (place, kind, _) in enumerate(extras):
        types[f"x{i}"] = kind
        dims[f"x{i}"] = [{"q": "queries", "kv": "keys"}[d] for d in place.strip("()").split(", ")]
    arguments = ", ".join(f'%{n}: tensor<{t}> {{attn.name = "{n}", attn.dims = [' + ", ".join(f'"{d}"' for d in dims[n]) + "]}" for n, t in types.items())
    maps = ["(q, hkv, dqk)", "(kv, hkv, dqk)", "(kv, hkv, dv)", "(q, hkv, dv)"] + [place for place, _, _ in extras]
    seen = "".join(f", %e{i}: {kind.split('x')[-1]}" for i, (_, kind, _) in enumerate(extras))
    regions = f" score {{\n^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index{seen}):\n{score}\nattn.yield %r : f32\n}}" if score else ""
    regions += f" mask {{\n^bb0(%b: index, %h: index, %i: index, %j: index{seen}):\n{mask}\nattn.yield %keep : i1\n}}" if mask else ""
    given = "extras(" + ", ".join(f"%x{i}" for i in range(len(extras))) + " : " + ", ".join(f"tensor<{t}>" for _, t, _ in extras) + ")" if extras else ""
    return f"""func.func @{name}({arguments}) -> (tensor<?x1x24xf32> {{attn.name = "o", attn.dims = ["queries"]}}) attributes {{attn.entry}} {{
  %scale = arith.constant 0.25 : f32
  %o = attn.attention %q, %k, %v, %scale q_begin(%qb : tensor<?xi32>) q_offset(%at : tensor<?xi32>) kv_begin(%kb : tensor<?xi32>)
    {given} maps [{", ".join(f"affine_map<{DIMS} -> {m}>" for m in maps)}]
    : tensor<{types["q"]}>, tensor<{types["k"]}>, tensor<{types["v"]}> -> tensor<?x1x24xf32>{regions}
  return %o : tensor<?x1x24xf32>
}}
"""


# Attention's weights where a key that some queries see is NaN: those of what such a query does not see are 0.
WEIGHTS = f"""func.func @weights(%w: tensor<?x1x1x140xf32> {{attn.name = "w", attn.dims = ["queries"]}}, %q: tensor<?x1x40xf32> {{attn.name = "q", attn.dims = ["queries"]}},
    %k: tensor<?x1x40xf32> {{attn.name = "k", attn.dims = ["keys"]}}, %qb: tensor<?xi32> {{attn.name = "qb", attn.dims = ["rows+1"]}},
    %kb: tensor<?xi32> {{attn.name = "kb", attn.dims = ["rows+1"]}}, %at: tensor<?xi32> {{attn.name = "at", attn.dims = ["rows"]}})
    -> (tensor<?x1x1x140xf32> {{attn.name = "w", attn.dims = ["queries"]}}) attributes {{attn.entry}} {{
  %c0 = arith.constant 0 : index
  %scale = arith.constant 0.25 : f32
  %o, %new = attn.attention %q, %k, %k, %scale q_begin(%qb : tensor<?xi32>) q_offset(%at : tensor<?xi32>) kv_begin(%kb : tensor<?xi32>)
    weights(%w[%c0] heads [0] : tensor<?x1x1x140xf32>) maps [affine_map<{DIMS} -> (q, hkv, dqk)>, affine_map<{DIMS} -> (kv, hkv, dqk)>, affine_map<{DIMS} -> (kv, hkv, dv)>, affine_map<{DIMS} -> (q, hkv, dv)>] : tensor<?x1x40xf32>, tensor<?x1x40xf32>, tensor<?x1x40xf32> -> tensor<?x1x40xf32> mask {{
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    {CAUSAL}
    attn.yield %keep : i1
  }}
  return %new : tensor<?x1x1x140xf32>
}}
"""


def values(kind, shape):
    if kind in ("divisors", "integers"):
        return np.where(random.random(shape) < 0.5, random.choice(EDGES, shape), random.integers(-2**31, 2**31, shape)).astype(np.int32)
    if kind == "positive":
        return random.integers(1, 5, shape).astype(np.int32)
    if kind == "coin":
        return random.integers(0, 2, shape).astype(np.int32)
    if kind == "floats":
        return random.choice(np.array([0.5, -0.99, -7.9, 2147483520, 2147483648, -2147483648, -2147483904, 4294967040, 4294967296, 3e9, 1e30, np.nan, np.inf, -np.inf], np.float32), shape)
    x = random.standard_normal(shape).astype(np.float32)
    if kind == "large":
        return (x * np.float32(1e37)).astype(np.float32)
    if kind == "largest":
        return (np.sign(x) * LARGEST * np.float32(0.999)).astype(np.float32)
    if kind == "lowest":  # also the only score of a query
        return np.where(x < 1, -LARGEST, np.float32(-2e30)).astype(np.float32)
    if kind == "infinite":
        x[random.random(shape) < 0.3] = -np.inf
        x[::7] = -np.inf
        x[3::7][random.random(x[3::7].shape) < 0.02] = np.inf
    return x


def compare(name, got, expected, tolerance):
    """Where the reference has no finite number, nor has the program; all else is near."""
    finite = np.isfinite(expected)
    checks.near(name, np.where(np.isfinite(got), got, np.nan)[finite], expected[finite], tolerance)
    if np.isfinite(got[~finite]).any():
        checks.failed += 1
        print(f"FAIL {name}: {np.isfinite(got[~finite]).sum()} of {(~finite).sum()} results are finite that should not be")
    return finite


def poison(inputs, name):
    """NaN and infinity in the keys and values of each row's last but one and of a middle key: some queries see them, others do not."""
    begin = inputs["kb"]
    for first, end in zip(begin, begin[1:]):
        for place, value in ((end - 1, np.nan), ((first + 2 * end) // 3, np.inf), (end - 9, -np.inf)):
            inputs["v"][place, 0, ::5] = value
        if "infinite" not in name:
            inputs["k"][end - 2] = np.nan


full = os.environ.get("RAPT_FULL") == "1"
# These are of the same ops as others, in another order or of another width.
MORE = () if full else ("widest_window", "wide_constant", "unsigned_rest", "unsigned_cast", "to_unsigned", "lowest_scores", "A10_infinite_masked_nan", "A9_causal_nan", "A16_divisions_index", "A16_shifts_i32")
MODES = {"native": ([], [name for name in CASES if not name.startswith("paired") and name not in MORE]), "avx2": (["--mcpu=x86-64-v3"], [*(["wide_product", "A16_divisions_i32", "to_signed", "large_scores", "listed_nan"] if full else []), "A16_shifts_index", "A9_causal_nan", "paired_nan"]),
         "dot": (["--mcpu=native", "--emulate=bf16"], ["paired_nan"]), "tiles": (["--mcpu=native", "--emulate=amx"], ["paired_nan"])}
if processor.HAS_DOT:
    MODES["native_dot"] = (processor.DOT, ["paired_nan"])
if not full:  # stale_cache.py runs tiles
    MODES = {mode: cases for mode, cases in MODES.items() if mode != "tiles" and (mode != "dot" or "native_dot" not in MODES)}
extents = (sum(QUERIES), sum(KEYS), len(QUERIES))
rows = {"qb": np.cumsum((0,) + QUERIES).astype(np.int32), "kb": np.cumsum((0,) + KEYS).astype(np.int32),
        "at": np.array([k - q for q, k in zip(QUERIES, KEYS)], np.int32)}
for mode, (options, names) in MODES.items():
    tools.options = options
    HEAD = "".join(f"attn.dim @{dim} min 0 max 65536\n" for dim in ("queries", "keys", "rows"))
    paired = {name: "attn_cpu.bf16_matmul" for name in names if name.startswith("paired")}
    program = kernels.Program(tools, f"regions_{mode}", HEAD + "".join(entry(name, *CASES[name]) for name in names) + WEIGHTS * (mode == "native"), paired)
    if mode == "native":
        normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
        inputs = {"w": np.zeros((extents[0], 1, 1, 140), np.float32), "q": normal(extents[0], 1, 40), "k": normal(extents[1], 1, 40), **rows}
        inputs["k"][inputs["kb"][1:] - 2] = np.nan
        expected, = program.reference("weights", inputs, ["w"])
        got, = program.compiled("weights", inputs.values(), [], extents, in_place=(0,))
        finite = compare("weights", got, expected, 1e-5)
        assert finite.any() and not finite.all(), "weights show nothing"
    for name in names:
        normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
        inputs = {"q": normal(extents[0], 1, 40), "k": normal(extents[1], 1, 40), "v": normal(extents[1], 1, 24), **rows}
        for i, (place, _, kind) in enumerate(CASES[name][0]):
            inputs[f"x{i}"] = values(kind, tuple({"q": extents[0], "kv": extents[1]}[d] for d in place.strip("()").split(", ")))
        if name.endswith("_nan"):
            poison(inputs, name)
        expected, = program.reference(name, inputs, ["o"])
        got, = program.compiled(name, inputs.values(), [(extents[0], 1, 24)], extents)
        finite = compare(f"{mode}: {name}", got, expected, 2e-2 if name.startswith("paired") else 1e-5)
        if name.endswith("_nan") or name == "A13_infinite_scores":
            assert finite.any() and not finite.all(), f"{name} shows nothing"
        elif not finite.all():
            print(f"FAIL {name}: the reference is not finite")
            checks.failed += 1
checks.finish()
