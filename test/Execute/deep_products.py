#!/usr/bin/env python3
"""Products whose k is taken in parts, for all panels of a task: depths of several parts, widths of less and more than a task's panels,
and rows that fill no tile; with a bias, a residual that is overwritten, and without either. Against float64."""

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(31)
SHAPES = [(1536, 70), (2064, 160), (4096, 33)]  # depth, columns; parts of 512, 344 (no multiple of 32) and 512
ROWS = (0, 1, 2, 13, 16, 29, 213)


def panels(w):
    """[k, n] as [n/32, k, 32], filled with zeros."""
    k, n = w.shape
    padded = np.zeros((k, -(-n // 32) * 32), np.float32)
    padded[:, :n] = w
    return np.ascontiguousarray(padded.reshape(k, -1, 32).transpose(1, 0, 2))


def entry(k, n):
    """x . v + bias, on which x . w is added, with all columns of the panels; x . w with its own."""
    width = -(-n // 32) * 32
    rows, panel, wide, result = f"tensor<?x{k}xf32>", f"tensor<{width // 32}x{k}x32xf32>", f"tensor<?x{width}xf32>", f"tensor<?x{n}xf32>"
    says = lambda name, type_: f'%{name}: {type_} {{attn.name = "{name}"' + (', attn.dims = ["rows"]}' if "?" in type_ else "}")
    product = lambda weight, extra, extraType, type_: f"""attn.linear %x, %{weight}, (%{extra}) : {rows}, {panel}, ({extraType}) -> {type_} {{
  ^bb0(%sum: f32, %extra: f32):
    %0 = arith.addf %sum, %extra : f32
    attn.yield %0 : f32
  }}"""
    return f"""
func.func @deep_{k}_{n}({says("x", rows)}, {says("v", panel)}, {says("w", panel)}, {says("b", f"tensor<{width}xf32>")})
    -> ({wide} {{attn.name = "sum", attn.dims = ["rows"]}}, {result} {{attn.name = "y", attn.dims = ["rows"]}}) attributes {{attn.entry}} {{
  %h = {product("v", "b", f"tensor<{width}xf32>", wide)}
  %s = {product("w", "h", wide, wide)}
  %y = attn.linear %x, %w : {rows}, {panel} -> {result}
  return %s, %y : {wide}, {result}
}}
"""


TEXT = "attn.dim @rows min 0 max 1024\n" + "".join(entry(*shape) for shape in SHAPES)
program = kernels.Program(tools, "deep", TEXT)
for k, n in SHAPES:
    v, w = ((random.standard_normal((k, n)) / np.sqrt(k)).astype(np.float32) for _ in range(2))
    b = random.standard_normal(-(-n // 32) * 32).astype(np.float32)
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
checks.finish()
