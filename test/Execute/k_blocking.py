#!/usr/bin/env python3
"""Matmuls with k-blocking: depths of several k blocks, widths of less and more than a task's panels, and rows that fill no tile; with a
bias, with a residual that is overwritten, and without either; with heads that the matmul's tasks rotate, two per task and one in the last
task; and fused dual matmuls, also without k-blocking. Against float64. The generic target, which has no k-blocking, takes the same weights as matrices."""

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(31)
SHAPES = [(1536, 70), (2064, 650), (4096, 33)]  # depth, columns; k blocks of 512, 344 (no multiple of 32) and 512
ROTATED = (1600, 9, 64, 7)  # depth, heads, channels of each, and how many are rotated; k blocks of 400
GATED = [(1600, 288), (70, 64)]  # depth, columns
ROWS = (0, 1, 2, 13, 16, 29, 213)
PANELS = kernels.takes_panels(tools)
LAYOUT = "{layout = #attn_cpu.panels<columns = 32, interleave = 1>}" if PANELS else ""
if not PANELS:
    SHAPES, ROWS = SHAPES[::2], ROWS[1:-1]


def pad(n):
    return -(-n // 32) * 32 if PANELS else n


def weight(k, n):
    """The type of a weight of n columns in memory."""
    return f"tensor<{n // 32}x{k}x32xf32>" if PANELS else f"tensor<{k}x{n}xf32>"


def panels(w):
    """[k, n] as [n/32, k, 32], filled with zeros; of the generic target the matrix."""
    k, n = w.shape
    if not PANELS:
        return w
    padded = np.zeros((k, -(-n // 32) * 32), np.float32)
    padded[:, :n] = w
    return np.ascontiguousarray(padded.reshape(k, -1, 32).transpose(1, 0, 2))


def says(name, type_):
    return f'%{name}: {type_} {{attn.name = "{name}"' + (', attn.dims = ["rows"]}' if "?" in type_ else "}")


def rotatedEntry(k, heads, width, rotated):
    n, pairs = heads * width, width // 2
    rows, table, result = (f"tensor<?x{columns}xf32>" for columns in (k, pairs, n))
    panel, apart = weight(k, n), f"tensor<?x{heads}x{width}xf32>"
    return f"""
func.func @rotated({says("x", rows)}, {says("w", panel)}, {says("c", table)}, {says("s", table)})
    -> ({result} {{attn.name = "y", attn.dims = ["rows"]}}) attributes {{attn.entry}} {{
  %0 = attn.linear %x, %w {LAYOUT} : {rows}, {panel} -> {result}
  %1 = attn.split_heads %0 : {result} -> {apart}
  %2 = attn.rope %1, %c, %s heads {rotated} : {apart}, {table}
  %y = attn.merge_heads %2 : {apart} -> {result}
  return %y : {result}
}}
"""


def gatedEntry(k, n):
    """The matmuls with w and with v and a bias, one times the other: both are made by the same tasks."""
    rows, panel, result = f"tensor<?x{k}xf32>", weight(k, n), f"tensor<?x{n}xf32>"
    return f"""
func.func @gated_{k}({says("x", rows)}, {says("v", panel)}, {says("w", panel)}, {says("b", f"tensor<{n}xf32>")})
    -> ({result} {{attn.name = "y", attn.dims = ["rows"]}}) attributes {{attn.entry}} {{
  %h = attn.linear %x, %v, (%b) {LAYOUT} : {rows}, {panel}, (tensor<{n}xf32>) -> {result} {{
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.addf %sum, %bias : f32
    attn.yield %0 : f32
  }}
  %y = attn.linear %x, %w, (%h) {LAYOUT} : {rows}, {panel}, ({result}) -> {result} {{
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }}
  return %y : {result}
}}
"""


def rotate(y, c, s, rotated):
    """Channels j and j + width/2 of the first heads of y, [rows, heads, width], as pairs."""
    first, second = np.split(y[:, :rotated], 2, axis=2)
    c, s = c[:, None].astype(np.float64), s[:, None].astype(np.float64)
    turned = np.concatenate([first * c - second * s, first * s + second * c], axis=2)
    return np.concatenate([turned, y[:, rotated:]], axis=1)


def entry(k, n):
    """x . v + bias, on which x . w is added, with all columns of the panels; x . w with its own."""
    width = pad(n)
    rows, panel, wide, result = f"tensor<?x{k}xf32>", weight(k, width), f"tensor<?x{width}xf32>", f"tensor<?x{n}xf32>"
    product = lambda weight, extra, extraType, type_: f"""attn.linear %x, %{weight}, (%{extra}) {LAYOUT} : {rows}, {panel}, ({extraType}) -> {type_} {{
  ^bb0(%sum: f32, %extra: f32):
    %0 = arith.addf %sum, %extra : f32
    attn.yield %0 : f32
  }}"""
    return f"""
func.func @deep_{k}_{n}({says("x", rows)}, {says("v", panel)}, {says("w", panel)}, {says("b", f"tensor<{width}xf32>")})
    -> ({wide} {{attn.name = "sum", attn.dims = ["rows"]}}, {result} {{attn.name = "y", attn.dims = ["rows"]}}) attributes {{attn.entry}} {{
  %h = {product("v", "b", f"tensor<{width}xf32>", wide)}
  %s = {product("w", "h", wide, wide)}
  %y = attn.linear %x, %w {LAYOUT} : {rows}, {panel} -> {result}
  return %s, %y : {wide}, {result}
}}
"""


TEXT = "attn.dim @rows min 0 max 1024\n" + "".join(entry(*shape) for shape in SHAPES) + rotatedEntry(*ROTATED)
TEXT += "".join(gatedEntry(*shape) for shape in GATED)
program = kernels.Program(tools, "deep", TEXT)
for k, n in SHAPES:
    v, w = ((random.standard_normal((k, n)) / np.sqrt(k)).astype(np.float32) for _ in range(2))
    b = random.standard_normal(pad(n)).astype(np.float32)
    for rows in ROWS:
        x = random.standard_normal((rows, k)).astype(np.float32)
        exact = x.astype(np.float64)
        expected = [exact @ (v.astype(np.float64) + w), exact @ w]
        expected = [np.pad(expected[0], [(0, 0), (0, b.size - n)]) + b, expected[1]]
        first = None
        for workers in (1, 3) if rows == ROWS[-1] else (1,):
            found = program.compiled(f"deep_{k}_{n}", [x, panels(v), panels(w), b], [(rows, b.size), (rows, n)], (rows,),
                                     kernels.threads(workers), workers)
            for part, mine, right in zip(("sum", "y"), found, expected):
                checks.near(f"{part} {rows} x {n} x {k} by {workers} workers", mine, right, 4 * np.sqrt(k) * 2.0**-24)
            first = first or found
            checks.equal(f"{rows} x {n} x {k} by {workers} workers", found[0], first[0])
k, heads, width, turned = ROTATED
w = (random.standard_normal((k, heads * width)) / np.sqrt(k)).astype(np.float32)
for rows in ROWS:
    x, c, s = (random.standard_normal((rows, columns)).astype(np.float32) for columns in (k, width // 2, width // 2))
    found, = program.compiled("rotated", [x, panels(w), c, s], [(rows, heads * width)], (rows,))
    expected = rotate((x.astype(np.float64) @ w).reshape(rows, heads, width), c, s, turned)
    checks.near(f"rotated, {rows} rows", found, expected.reshape(found.shape), 8 * np.sqrt(k) * 2.0**-24)
for k, n in GATED:
    v, w = ((random.standard_normal((k, n)) / np.sqrt(k)).astype(np.float32) for _ in range(2))
    b = random.standard_normal(n).astype(np.float32)
    for rows in ROWS:
        x = random.standard_normal((rows, k)).astype(np.float32)
        found, = program.compiled(f"gated_{k}", [x, panels(v), panels(w), b], [(rows, n)], (rows,))
        exact = x.astype(np.float64)
        checks.near(f"gated, {rows} x {n} x {k}", found, (exact @ w) * (exact @ v + b), 8 * np.sqrt(k) * 2.0**-24)
checks.finish()
