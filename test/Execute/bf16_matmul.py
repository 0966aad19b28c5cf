#!/usr/bin/env python3
"""Matmuls with VNNI-packed bf16 weights, of depths and widths that fill no interleaved line, step, tile or panel: widened, by dot products and
by AMX, both emulated where the machine lacks them. Against float64 over the bf16 values: only the sums in f32 differ. Activations that a
norm, a sum or a gated matmul casts for the next matmul have the bits of a separate cast. The generic target takes the weights as matrices of bf16."""

import numpy as np

import kernels
import processor

tools = kernels.tools(__doc__)
tile_multiplications = processor.allow_tiles(tools.clang, tools.scratch)
checks, random = kernels.Checks(), np.random.default_rng(29)
SHAPES = [(1, 33), (30, 32), (31, 40), (35, 70), (64, 40), (134, 64), (3200, 70)]  # depth, columns; the last one's k is taken in parts
ROUNDED = [(64, 40), (1024, 33), (3200, 70)]  # matmuls whose rows come in bf16; the second's are so far apart that they alias
ROWS = (0, 1, 2, 13, 16, 17, 33, 100, 213)
# raptc's options, and whether inputs are rounded
MODES = {"widened": (["--mcpu=native", "--mattr=-avx512bf16,-amx-bf16"], False), "narrow": (["--mcpu=x86-64-v3"], False),
         "dot": (["--mcpu=native", "--emulate=bf16"], True), "vector tiles": (["--mcpu=native", "--emulate=amx"], True),
         "tiles": (processor.TILES, processor.HAS_WIDE_VECTORS)}
# The instruction itself, where the machine has it.
if processor.HAS_DOT:
    MODES["native"] = (processor.DOT, True)
IS_GENERIC = not kernels.takes_panels(tools)
LAYOUT = "" if IS_GENERIC else "{layout = #attn_cpu.panels<columns = 32, interleave = 2>}"
if IS_GENERIC:
    MODES, SHAPES, ROUNDED, ROWS = {"generic": (tools.options, False)}, SHAPES[:-1], ROUNDED[:-1], ROWS[:-2]


def bf16(x):
    """The bits of what is nearest, ties to even."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def rounded(x):
    return (bf16(x).astype(np.uint32) << 16).view(np.float32)


def pairs(w):
    """[k, n] as [n/32, k/2, 64], filled with zeros; of the generic target the matrix."""
    k, n = w.shape
    if IS_GENERIC:
        return bf16(w)
    padded = np.zeros((-(-k // 2) * 2, -(-n // 32) * 32), np.float32)
    padded[:k, :n] = w
    return bf16(padded.reshape(-1, 2, padded.shape[1] // 32, 32).transpose(2, 0, 3, 1)).reshape(padded.shape[1] // 32, -1, 64)


def columns_of(n):
    """Those of a weight in memory."""
    return n if IS_GENERIC else -(-n // 32) * 32


def weight(k, n):
    """Its type."""
    return f"tensor<{k}x{n}xbf16>" if IS_GENERIC else f"tensor<{-(-n // 32)}x{-(-k // 2)}x64xbf16>"


def entry(k, n):
    """A matmul with a bias."""
    rows, panel = f"tensor<?x{k}xf32>", weight(k, n)
    result = f"tensor<?x{n}xf32>"
    says = lambda name, type_: f'%{name}: {type_} {{attn.name = "{name}"' + (', attn.dims = ["rows"]}' if "?" in type_ else "}")
    bias = f"tensor<{columns_of(n)}xf32>"
    return f"""
func.func @matmul_{k}_{n}({says("x", rows)}, {says("w", panel)}, {says("b", bias)})
    -> ({result} {{attn.name = "y", attn.dims = ["rows"]}}) attributes {{attn.entry}} {{
  %y = attn.linear %x, %w, (%b) {LAYOUT} : {rows}, {panel}, ({bias}) -> {result} {{
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.addf %sum, %bias : f32
    attn.yield %0 : f32
  }}
  return %y : {result}
}}
"""


def rounded_entry(k, n):
    """A matmul of rows in bf16."""
    rows, panel, result = f"tensor<?x{k}xbf16>", weight(k, n), f"tensor<?x{n}xf32>"
    return f"""
func.func @rounded_{k}_{n}(%x: {rows} {{attn.name = "x", attn.dims = ["rows"]}}, %w: {panel} {{attn.name = "w"}})
    -> ({result} {{attn.name = "y", attn.dims = ["rows"]}}) attributes {{attn.entry}} {{
  %y = attn.linear %x, %w {LAYOUT} : {rows}, {panel} -> {result}
  return %y : {result}
}}
"""


def block(name, others):
    """A norm whose rows two matmuls read, of which one gates the other, a matmul of that, and one of its sum with the input; with
    `others` what the two make is a result, too, so that gate and rounding are made apart."""
    rows, wide, square, panel = "tensor<?x64xf32>", "tensor<?x96xf32>", "tensor<3x32x64xbf16>", "tensor<2x48x64xbf16>"
    says = lambda name, type_: f'%{name}: {type_} {{attn.name = "{name}"' + (', attn.dims = ["rows"]}' if "?" in type_ else "}")
    gives = lambda name, type_: f'{type_} {{attn.name = "{name}", attn.dims = ["rows"]}}'
    results = {"z": wide} | ({"h": wide, "v": wide} if others else {})
    names = {"z": "%z", "h": "%h", "v": "%up"}
    return f"""
func.func @{name}({says("x", rows)}, {says("n", "tensor<64xf32>")}, {says("g", square)}, {says("u", square)}, {says("d", panel)},
    {says("b", "tensor<96xf32>")}) -> ({", ".join(gives(*result) for result in results.items())}) attributes {{attn.entry}} {{
  %a = attn.rms_norm %x, %n epsilon 1.0e-5 : {rows}, tensor<64xf32>
  %up = attn.linear %a, %u, (%b) {LAYOUT} : {rows}, {square}, (tensor<96xf32>) -> {wide} {{
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.addf %sum, %bias : f32
    attn.yield %0 : f32
  }}
  %h = attn.linear %a, %g, (%up) {LAYOUT} : {rows}, {square}, ({wide}) -> {wide} {{
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }}
  %y = attn.linear %h, %d, (%a) {LAYOUT} : {wide}, {panel}, ({rows}) -> {rows} {{
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.addf %sum, %other : f32
    attn.yield %0 : f32
  }}
  %s = arith.addf %y, %x : {rows}
  %z = attn.linear %s, %g {LAYOUT} : {rows}, {square} -> {wide}
  return {", ".join(names[key] for key in results)} : {", ".join(results.values())}
}}
"""


TEXT = "attn.dim @rows min 0 max 1024\n" + "".join(entry(*shape) for shape in SHAPES) + "".join(rounded_entry(*shape) for shape in ROUNDED)
BLOCKS = block("block", False) + block("apart", True)
for mode, (options, rounds) in MODES.items():
    tools.options = options
    program = kernels.Program(tools, mode, TEXT + (BLOCKS if rounds else ""))
    for k, n in SHAPES:
        w, b = (random.standard_normal((k, n)) / np.sqrt(k)).astype(np.float32), random.standard_normal(columns_of(n)).astype(np.float32)
        for rows in ROWS:
            x = random.standard_normal((rows, k)).astype(np.float32)
            own = rounded(x) if rounds else x
            expected = own.astype(np.float64) @ rounded(w) + b[:n]
            first = None
            for workers in (1, 3) if rows == ROWS[-1] else (1,):
                found, = program.compiled(f"matmul_{k}_{n}", [x, pairs(w), b], [(rows, n)], (rows,), kernels.threads(workers), workers)
                if first is None:
                    first = found
                    checks.near(f"{mode}: {rows} x {n} x {k}", found, expected, max(1e-6, np.sqrt(k) * 2.0**-24))
                else:
                    checks.equal(f"{mode}: {rows} x {n} x {k} by {workers} workers", found, first)
    for k, n in ROUNDED:
        w = (random.standard_normal((k, n)) / np.sqrt(k)).astype(np.float32)
        for rows in ROWS:
            x = random.standard_normal((rows, k)).astype(np.float32)
            found, = program.compiled(f"rounded_{k}_{n}", [bf16(x), pairs(w)], [(rows, n)], (rows,))
            checks.near(f"{mode}: {rows} x {n} x {k} of rounded rows", found, rounded(x).astype(np.float64) @ rounded(w), max(1e-6, np.sqrt(k) * 2.0**-24))
    if not rounds:
        continue
    g, u, d = ((random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32) for shape in ((64, 96), (64, 96), (96, 64)))
    n, b = (random.standard_normal(columns).astype(np.float32) for columns in (64, 96))
    for rows in ROWS:
        x = random.standard_normal((rows, 64)).astype(np.float32)
        inputs, shape = [x, n, pairs(g), pairs(u), pairs(d), b], (rows, 96)
        found, = program.compiled("block", inputs, [shape], (rows,))
        apart, *_ = program.compiled("apart", inputs, [shape] * 3, (rows,))
        checks.equal(f"{mode}: a block of {rows} rows", found, apart)
        norm = x / np.sqrt((x.astype(np.float64) ** 2).mean(1, keepdims=True) + 1e-5) * n
        gate, up = (norm @ rounded(w) for w in (g, u))
        y = (gate * (up + b)) @ rounded(d) + norm
        checks.near(f"{mode}: a block of {rows} rows", found, (y + x) @ rounded(g), 1e-2)
assert IS_GENERIC or tile_multiplications() != 0 or not processor.HAS_WIDE_VECTORS, "code for tiles took none"
checks.finish()
