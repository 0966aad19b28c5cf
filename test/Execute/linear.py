#!/usr/bin/env python3
"""Matmuls of bf16, f16 and f32, and of input and weight of two types, against float64 over the same numbers: rows, columns and depths of 1, primes, and more than a tile; weights [k, n] and [n, k];
epilogues with activations, biases longer than the result, residuals and gates of every float type, and results of every float type. A row's result has the
same bits alone and among others that tiles of few rows compute, and among any number of more. With the option f32-matmul, f32 are multiplied as tf32, or as sums of two tf32."""

import os
import re

import numpy as np

import kernels

tools = kernels.tools(__doc__)
multiplied = next((option.removeprefix("--f32-matmul=") for option in tools.options if option.startswith("--f32-matmul=")), "fma")
checks, random = kernels.Checks(), np.random.default_rng(31)
ROWS = (0, 1, 2, 17, 16, 67, 130)
FEW = 16  # rows that tiles of their own compute
EXTRA = {"bias": ("{n}", "f32"), "half_bias": ("{n}", "f16"), "long_bias": ("{more}", "bf16"), "residual": ("?x{n}", "bf16"), "gate": ("?x{n}", "f32")}
# name: k, n, elements (of the input and of the weight, where they differ), whether the weight is [n, k], elements of the result, extra operands, and the ops of the epilogue
CASES = {
    "plain": (64, 64, "bf16", False, "bf16", (), ""),
    "tied": (96, 200, "bf16", True, "f32", (), ""),
    "ones": (1, 1, "f16", False, "f32", (), ""),
    "tied_ones": (1, 1, "bf16", True, "bf16", (), ""),
    "primes": (37, 67, "f16", False, "f16", ("bias",), "%1 = arith.addf %sum, %bias : f32"),
    "tied_primes": (131, 71, "bf16", True, "bf16", ("half_bias",), "%1 = arith.addf %sum, %half_bias : f32"),
    "deep": (520, 72, "f16", False, "f16", ("residual", "long_bias"), "%0 = arith.addf %sum, %long_bias : f32\n%1 = arith.addf %0, %residual : f32"),
    "tied_deep": (456, 24, "f16", True, "bf16", ("long_bias", "gate"), "%0 = arith.addf %sum, %long_bias : f32\n%1 = arith.mulf %0, %gate : f32"),
    "wide": (72, 264, "bf16", False, "f32", ("bias", "residual", "gate"), "%a = arith.addf %sum, %bias : f32\n%0 = arith.mulf %a, %gate : f32\n%1 = arith.addf %0, %residual : f32"),
    "exponential": (48, 40, "bf16", False, "bf16", ("bias",), "%0 = arith.addf %sum, %bias : f32\n%c = arith.constant 0.0625 : f32\n%s = arith.mulf %0, %c : f32\n%1 = math.exp %s : f32"),
}
FLOATS = {
    "f32_plain": (64, 64, "f32", False, "f32", (), ""),
    "f32_tied": (96, 200, "f32", True, "f32", (), ""),
    "f32_ones": (1, 1, "f32", False, "f32", (), ""),
    "f32_primes": (37, 67, "f32", False, "f32", ("bias",), "%1 = arith.addf %sum, %bias : f32"),
    "f32_tied_primes": (131, 71, "f32", True, "bf16", ("half_bias",), "%1 = arith.addf %sum, %half_bias : f32"),
    "f32_deep": (520, 72, "f32", False, "f32", ("residual", "long_bias"), "%0 = arith.addf %sum, %long_bias : f32\n%1 = arith.addf %0, %residual : f32"),
    "half_weight": (72, 136, "f32 bf16", False, "f32", ("bias",), "%1 = arith.addf %sum, %bias : f32"),
    "tied_half_weight": (200, 72, "f32 f16", True, "f32", (), ""),
    "half_primes": (37, 67, "f32 bf16", False, "f32", (), ""),
    "tied_half_primes": (37, 67, "f32 bf16", True, "f32", (), ""),
    "half_input": (72, 40, "bf16 f32", False, "bf16", (), ""),
    "two_halves": (72, 40, "bf16 f16", True, "f32", (), ""),
}
full = os.environ.get("RAPT_FULL") == "1"
# The largest tiles of a GPU are for so many rows that there is one for each multiprocessor. With this number of columns few rows are enough; every day 128 rows are, whatever
# the number of columns, as the schedule is changed.
MANY = 16384 if full else 264
LARGE = {
    "large": (72, MANY, "f16", False, "f16", ("bias",), "%1 = arith.addf %sum, %bias : f32"),
    "tied_large": (40, MANY - 6, "bf16", True, "bf16", (), ""),
    "f32_large": (40, MANY, "f32", False, "f32", ("bias",), "%1 = arith.addf %sum, %bias : f32"),
    "tied_half_weight_large": (37, MANY - 6, "f32 f16", True, "f32", (), ""),
}
UNIT = {"fma": 2.0**-24, "tf32": 2.0**-11, "3xtf32": 2.0**-22}  # of a number that is multiplied
ACTIVATIONS = ("relu", "silu", "gelu_tanh", "gelu")
STATIC = {"one_row": 1, "seventeen_rows": 17}  # rows of entries whose number is known


def argument(name, shape, element):
    dims = ', attn.dims = ["rows"]' if shape.startswith("?") else ""
    return f'%in_{name}: tensor<{shape}x{element}> {{attn.name = "{name}"{dims}}}'


def kinds_of(element):
    return element.split()[0], element.split()[-1]


def entry(name, k, n, element, transposed, result, extras, body, rows="?", activation=None):
    extents = {"n": n, "more": n + 5}
    kinds = {extra: (EXTRA[extra][0].format(**extents), EXTRA[extra][1]) for extra in extras}
    weight = f"{n}x{k}" if transposed else f"{k}x{n}"
    of_x, of_w = kinds_of(element)
    given = [argument("x", f"{rows}x{k}", of_x), argument("w", weight, of_w)] + [argument(extra, *kind) for extra, kind in kinds.items()]
    y = f"tensor<{rows}x{n}x{result}>"
    dims = ', attn.dims = ["rows"]' if rows == "?" else ""
    named = f", ({', '.join(f'%in_{extra}' for extra in extras)})" if extras else ""
    types = f", ({', '.join(f'tensor<{shape}x{kind}>' for shape, kind in kinds.values())})" if extras else ""
    region = f" {{\n^bb0({', '.join(['%sum: f32'] + [f'%{extra}: f32' for extra in extras])}):\n{body}\nattn.yield %1 : f32\n}}" if body else ""
    after = f"%z = attn.activation {activation} %y : {y}" if activation else ""
    return f"""func.func @{name}({', '.join(given)}) -> ({y} {{attn.name = "y"{dims}}}) attributes {{attn.entry}} {{
%y = attn.linear %in_x, %in_w{named} {'transposed' if transposed else ''} : tensor<{rows}x{k}x{of_x}>, tensor<{weight}x{of_w}>{types} -> {y}{region}
{after}
return {'%z' if activation else '%y'} : {y}
}}
"""


def computed(case, x, w, extras, activation=None):
    """In float64, and the bound of an element's error before it is rounded."""
    k, n, element, transposed, result, names, body = case
    x, w = (kernels.widened(array).astype(np.float64) for array in (x, w.T if transposed else w))
    rounding = UNIT[multiplied] * kinds_of(element).count("f32") if multiplied != "fma" else 0
    value, bound = x @ w, (4 * np.sqrt(k) * 2.0**-24 + rounding) * (np.abs(x) @ np.abs(w))
    given = {name: kernels.widened(array).astype(np.float64)[..., :n] for name, array in zip(names, extras)}
    for name in ("bias", "half_bias", "long_bias"):
        value = value + given.get(name, 0)
    value, bound = value * given.get("gate", 1), bound * np.abs(given.get("gate", 1))
    value = value + given.get("residual", 0)
    if "math.exp" in body:
        value = np.exp(value / 16)
        bound = bound * value
    if activation == "relu":
        value = np.maximum(value, 0)
    elif activation == "silu":
        value = value / (1 + np.exp(-value))
    elif activation == "gelu_tanh":
        value = 0.5 * value * (1 + np.tanh(np.sqrt(2 / np.pi) * (value + 0.044715 * value**3)))
    elif activation == "gelu":
        import math
        value = 0.5 * value * (1 + np.vectorize(math.erf, otypes=[np.float64])(value / np.sqrt(2)))
    return value, 2 * bound + {"f32": 2.0**-21, "bf16": 2.0**-8, "f16": 2.0**-11}[result] * (np.abs(value) + 1e-3)


def check(name, case, rows, activation=None, whole=None):
    """Returns the result, and what it is computed of; a row of another call's, if any, has the same bits."""
    k, n, element, transposed, result, names, body = case
    x, w = random.standard_normal((rows, k)), random.standard_normal((n, k) if transposed else (k, n)) / max(1, np.sqrt(k))
    shapes = {"bias": n, "half_bias": n, "long_bias": n + 5, "residual": (rows, n), "gate": (rows, n)}
    arrays = [kernels.stored(array, of) for array, of in zip((x, w), kinds_of(element))] + [kernels.stored(random.standard_normal(shapes[extra]), EXTRA[extra][1]) for extra in names]
    got = program.compiled(name, arrays, [((rows, n), kernels.TYPES[result])], (rows,))[0]
    wanted, bound = computed(case, *arrays[:2], arrays[2:], activation)
    if multiplied == "tf32" and kinds_of(element) == ("f32", "f32") and result == "f32" and not names and rows > 16 and k > 1:
        assert (np.abs(kernels.widened(got) - wanted) > 2.0**-16 * (np.abs(arrays[0]) @ np.abs(arrays[1].T if transposed else arrays[1]))).any(), f"{name}: no number was rounded to tf32"
    checks.near(f"{name} of {rows} rows", (kernels.widened(got).astype(np.float64) - wanted) / bound, np.zeros_like(wanted), 1)
    few = 3 if rows <= FEW else FEW + 1
    if rows > few:
        first = [arrays[0][:few], arrays[1]] + [array[:few] if array.ndim == 2 else array for array in arrays[2:]]
        alone = program.compiled(name, first, [((few, n), kernels.TYPES[result])], (few,))[0]
        checks.equal(f"{name}: {few} rows of {rows}", alone, got[:few])


text = "attn.dim @rows min 0 max 4096\n" + "".join(entry(name, *case) for name, case in (CASES | FLOATS | LARGE).items())
text += "".join(entry(name, *CASES["primes"], rows=rows) for name, rows in STATIC.items())
text += "".join(entry("f32_" + name, *FLOATS["f32_primes"], rows=rows) for name, rows in STATIC.items())
activated = (40, 72, "bf16", False, "f32", ("bias",), "%1 = arith.addf %sum, %bias : f32")
text += "".join(entry(kind, *activated, activation=kind) for kind in ACTIVATIONS)
def with_large_tiles(laid_out):
    """Schedules that take their largest tiles from 128 rows on."""
    made, count = re.subn(r"(many_rows = <tiles = <[^>]*>, least) = \d+", r"\1 = 128", laid_out)
    assert count, "no schedule has tiles for many rows"
    return made


program = kernels.Program(tools, "linear", text, edit=with_large_tiles if "--target=cuda" in tools.options and not full else None)
# Tiles are the same, however numbers are multiplied.
for name, case in FLOATS.items():
    for rows in (0, 1, 17, 67) if full else (1, 67) if multiplied == "fma" else (67,):
        check(name, case, rows)
for name, rows in STATIC.items():
    check("f32_" + name, FLOATS["f32_primes"], rows)
for name, case in LARGE.items():
    if (multiplied == "fma" or (full and "f32" in case[2])) and (full or name in ("large", "f32_large")):
        check(name, case, 131)
for name, case in CASES.items() if multiplied == "fma" else ():  # f32-matmul changes nothing of the others
    for rows in ROWS if full or name == "plain" else (2, 67):
        check(name, case, rows)
if multiplied == "fma":
    for name, rows in STATIC.items():
        check(name, CASES["primes"], rows)
    for kind in ACTIVATIONS:
        check(kind, activated, 21, activation=kind)
checks.finish()
