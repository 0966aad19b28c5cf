#!/usr/bin/env python3
"""Matmuls by wgmma against float64 over the same numbers, on tiles of 128x128 and 128x256 and on so few thread blocks that each has several tiles, in groups of two rows: rows, columns and depths of 1,
primes, and more than a tile; weights [k, n] and [n, k]; rows that TMA copies and rows that it cannot; slices of arrays, whose neighbors are NaN; epilogues and results of every float type. A row has the
same bits alone and among others, by any tile."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(37)
full = os.environ.get("RAPT_FULL") == "1"
TILES = {columns: f"<tiles = <rows = 128, columns = {columns}, depth = 64, warps = 8, stages = {stages}, matmul = wgmma, blocks = {{}}>, group = 2>" for columns, stages in ((256, 4), (128, 6), (64, 8))}
# name: k, n, elements, whether the weight is [n, k], elements of the result, extra operands, and whether there are tensor maps
CASES = {
    "steps": (320, 520, "bf16", False, "bf16", ("bias",), True),
    "tied": (200, 264, "f16", True, "f16", ("residual",), True),
    "shallow": (72, 256, "bf16", False, "f32", ("bias", "gate"), True),
    "odd_columns": (41, 263, "bf16", False, "bf16", ("bias",), False),  # no row but the first begins at a multiple of 16 bytes
    "tied_primes": (67, 131, "f16", True, "f32", ("residual",), False),
    "tied_ones": (1, 1, "bf16", True, "f32", (), None),  # one row has a tensor map
    "half_aligned": (64, 134, "bf16", False, "bf16", (), False),  # the input's rows alone are
}
ROWS = (300, 129, 1, 0) if full else (300, 1)
EXTRA = {"bias": "f32", "gate": "f32", "residual": "bf16"}
SUM = {"bias": "%{to} = arith.addf %{of}, %bias : f32", "gate": "%{to} = arith.mulf %{of}, %gate : f32", "residual": "%{to} = arith.addf %{of}, %residual : f32"}


def matmul(inputs, k, n, element, transposed, result, extras):
    """attn.linear of %x and %w, and its type."""
    w, y = (f"{n}x{k}" if transposed else f"{k}x{n}"), f"tensor<?x{n}x{result}>"
    kinds = [f"tensor<{n if name == 'bias' else f'?x{n}'}x{EXTRA[name]}>" for name in extras]
    named = f", ({', '.join(f'%in_{name}' for name in extras)})" if extras else ""
    types = f", ({', '.join(kinds)})" if extras else ""
    body = "\n".join(SUM[name].format(to=i + 1, of=i if i else "sum") for i, name in enumerate(extras))
    region = f" {{\n^bb0({', '.join(['%sum: f32'] + [f'%{name}: f32' for name in extras])}):\n{body}\nattn.yield %{len(extras)} : f32\n}}" if extras else ""
    return f"%y = attn.linear {inputs}{named} {'transposed' if transposed else ''} : tensor<?x{k}x{element}>, tensor<{w}x{element}>{types} -> {y}{region}\nreturn %y : {y}\n}}\n", y, kinds


def head(name, arguments, y):
    given = [f'%{of}: {kind} {{attn.name = "{of}"' + (', attn.dims = ["rows"]}' if "<?" in kind else "}") for of, kind in arguments]
    return f'func.func @{name}({", ".join(given)}) -> ({y} {{attn.name = "y", attn.dims = ["rows"]}}) attributes {{attn.entry}} {{\n'


def entry(name, k, n, element, transposed, result, extras, _):
    code, y, kinds = matmul("%x, %w", k, n, element, transposed, result, extras)
    weight = f"tensor<{n}x{k}x{element}>" if transposed else f"tensor<{k}x{n}x{element}>"
    return head(name, [("x", f"tensor<?x{k}x{element}>"), ("w", weight)] + [(f"in_{extra}", kind) for extra, kind in zip(extras, kinds)], y) + code


def sliced(transposed):
    """40 of k of an input with 80 columns, by part of a weight."""
    code, y, _ = matmul("%xs, %ws", 40, 264, "bf16", transposed, "f32", ())
    whole, part, at, sizes = ("304x96", "264x40", "8, 16", "264, 40") if transposed else ("96x304", "40x264", "16, 8", "40, 264")
    return head("tied_slices" if transposed else "slices", [("x", "tensor<?x80xbf16>"), ("w", f"tensor<{whole}xbf16>")], y) + f"""%c0 = arith.constant 0 : index
%rows = tensor.dim %x, %c0 : tensor<?x80xbf16>
%xs = tensor.extract_slice %x[0, 24] [%rows, 40] [1, 1] : tensor<?x80xbf16> to tensor<?x40xbf16>
%ws = tensor.extract_slice %w[{at}] [{sizes}] [1, 1] : tensor<{whole}xbf16> to tensor<{part}xbf16>
""" + code


def program(name, text, tile):
    """The program with one schedule for all of its matmuls: that for a GPU of 132 multiprocessors has large tiles for many rows alone."""
    source = Path(tools.scratch) / f"{name}-source.mlir"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(text)
    laid_out = subprocess.run([tools.raptc, str(source), "--emit=laid-out", "-o", "-"] + tools.options, check=True, capture_output=True, text=True).stdout
    chosen, count = re.subn(r"(#schedule\d*) = #attn_gpu\.linear_schedule<.*", lambda found: f"{found[1]} = #attn_gpu.linear_schedule<common = {tile}>", laid_out)
    assert count, "no schedule of a matmul"
    return kernels.Program(tools, name, chosen)


def error_of(got, x, w, given, result):
    """The error of each element, as a part of what rounding explains."""
    x, w = (kernels.widened(array).astype(np.float64) for array in (x, w))
    value, bound = x @ w, 4 * np.sqrt(x.shape[1]) * 2.0**-24 * (np.abs(x) @ np.abs(w))
    for name, array in given.items():
        array = kernels.widened(array).astype(np.float64)
        value, bound = (value * array, bound * np.abs(array)) if name == "gate" else (value + array, bound)
    rounding = {"f32": 2.0**-21, "bf16": 2.0**-8, "f16": 2.0**-11}[result]
    return (kernels.widened(got).astype(np.float64) - value) / (2 * bound + rounding * (np.abs(value) + 1e-3))


def run(of, name, arrays, shape, result):
    before = tools.device.maps
    got = of.compiled(name, arrays, [(shape, kernels.TYPES[result])], (shape[0],))[0]
    return got, tools.device.maps - before


def check(of, label, name, rows, alone=None):
    k, n, element, transposed, result, extras, has_maps = CASES[name]
    w = kernels.stored(random.standard_normal((n, k) if transposed else (k, n)) / np.sqrt(k), element)
    x = kernels.stored(random.standard_normal((rows, k)), element)
    given = {extra: kernels.stored(random.standard_normal(n if extra == "bias" else (rows, n)), EXTRA[extra]) for extra in extras}
    got, maps = run(of, name, [x, w, *given.values()], (rows, n), result)
    what = f"{name} of {rows} rows by {label}"
    checks.near(what, error_of(got, x, w.T if transposed else w, given, result), np.zeros((rows, n)), 1)
    if rows and has_maps is not None:
        checks.equal(f"{what}: whether both operands have tensor maps", np.array(maps == 2), np.array(has_maps))
    if alone and rows > 1:
        few = [array if array.ndim == 1 or array is w else array[:3] for array in [x, w, *given.values()]]
        checks.equal(f"{what}: three rows by other tiles", run(alone, name, few, (3, n), result)[0], got[:3])


def check_slices(of, label, transposed, rows):
    x, w = np.full((rows, 80), 0x7FC0, np.uint16), np.full((304, 96) if transposed else (96, 304), 0x7FC0, np.uint16)  # NaN
    x[:, 24:64] = kernels.stored(random.standard_normal((rows, 40)), "bf16")
    part = w[8:272, 16:56] if transposed else w[16:56, 8:272]
    part[...] = kernels.stored(random.standard_normal(part.shape), "bf16")
    name = "tied_slices" if transposed else "slices"
    got, maps = run(of, name, [x, w], (rows, 264), "f32")
    checks.near(f"{name} of {rows} rows by {label}", error_of(got, x[:, 24:64], part.T if transposed else part, {}, "f32"), np.zeros((rows, 264)), 1)
    checks.equal(f"{name} by {label}: both operands have tensor maps", np.array(maps), np.array(2))


text = "attn.dim @rows min 0 max 4096\n" + "".join(entry(name, *case) for name, case in CASES.items()) + sliced(False) + sliced(True)
others = program("others", text, "<tiles = <rows = 16, columns = 32, depth = 128, warps = 2, stages = 5>>")
for columns, tile in TILES.items():
    blocks = 2 if columns == 256 else 3
    made, label = program(f"tiles-{columns}", text, tile.format(blocks)), f"tiles of {columns} columns"
    for name in CASES if full or columns == 256 else ("steps", "tied"):
        for rows in ROWS:
            check(made, label, name, rows, others)
    for transposed in (False, True):
        check_slices(made, label, transposed, 131)
    if not full:
        check(made, label, "tied", 0)
checks.finish()
