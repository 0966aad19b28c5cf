#!/usr/bin/env python3
"""Layer and RMS norms against float64 over the same numbers: rows of 1 element, of primes, and of whole vectors, of one thread's elements to those of many warps, and
more than a thread block holds; heads; weights of another element type; rows of which the first columns count. A row's result has the same bits alone and among others, and where it does not begin
at a multiple of 16 bytes."""

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(47)
ROWS = (0, 1, 3, 9)
# name: whether it is a layer norm, the dims of a row of the program, elements of the input, elements of the weight, columns that count
CASES = {
    "one": (True, (1,), "f32", "f32", None),
    "prime": (True, (37,), "bf16", "bf16", None),
    "rms_prime": (False, (131,), "f32", "f32", None),
    "narrow": (True, (64,), "f16", "f32", None),
    "warp": (True, (768,), "f32", "f32", None),
    "rms_warp": (False, (768,), "bf16", "f32", None),
    "part": (True, (776,), "f32", "bf16", None),
    "warps": (True, (2048,), "f32", "f32", None),
    "rms_warps": (False, (4096,), "bf16", "bf16", None),
    "ragged_warps": (True, (1999,), "f32", "f32", None),
    "most": (False, (16384,), "bf16", "bf16", None),
    "beyond": (False, (16388,), "f32", "f32", None),
    "heads": (False, (5, 64), "f32", "f32", None),
    "wide_heads": (True, (2, 3, 128), "bf16", "f32", None),
    "counted": (True, (96,), "f32", "f32", 80),
    "counted_warps": (False, (2048,), "f32", "f32", 1111),
}
EPSILON = 1e-5


def argument(name, shape, element):
    dims = ', attn.dims = ["rows"]' if shape.startswith("?") else ""
    return f'%{name}: tensor<{shape}x{element}> {{attn.name = "{name}"{dims}}}'


def norm(case, x, type):
    isLayer, dims, element, of, columns = case
    counted = f"columns {columns}" if columns else ""
    bias = ", %b" if isLayer else ""
    return f"%y = attn.{'layer' if isLayer else 'rms'}_norm {x}, %w{bias} epsilon {EPSILON:.6e} {counted} : {type}, tensor<{dims[-1]}x{of}>"


def entry(name, case):
    isLayer, dims, element, of, columns = case
    shape = "x".join(map(str, ("?", *dims)))
    type = f"tensor<{shape}x{element}>"
    given = [argument("x", shape, element), argument("w", str(dims[-1]), of)] + ([argument("b", str(dims[-1]), of)] if isLayer else [])
    return f"""func.func @{name}({', '.join(given)}) -> ({type} {{attn.name = "y", attn.dims = ["rows"]}}) attributes {{attn.entry}} {{
{norm(case, "%x", type)}
return %y : {type}
}}
"""


def shifted(name, case):
    """The norm of rows that begin one element behind those of an array."""
    isLayer, (width,), element, of, columns = case
    outer, type = f"tensor<?x{width + 3}x{element}>", f"tensor<?x{width}x{element}>"
    given = [argument("x", f"?x{width + 3}", element), argument("w", str(width), of)] + ([argument("b", str(width), of)] if isLayer else [])
    return f"""func.func @shifted_{name}({', '.join(given)}) -> ({type} {{attn.name = "y", attn.dims = ["rows"]}}) attributes {{attn.entry}} {{
%c0 = arith.constant 0 : index
%rows = tensor.dim %x, %c0 : {outer}
%part = tensor.extract_slice %x[0, 1] [%rows, {width}] [1, 1] : {outer} to {type}
{norm(case, "%part", type)}
return %y : {type}
}}
"""


def computed(case, x, w, b):
    isLayer, dims, element, of, columns = case
    x, w = (kernels.widened(array).astype(np.float64) for array in (x, w))
    counted = x[..., :columns]
    if isLayer:
        x = x - counted.mean(-1, keepdims=True)
        return x / np.sqrt(counted.var(-1, keepdims=True) + EPSILON) * w + kernels.widened(b).astype(np.float64)
    return x / np.sqrt((counted**2).mean(-1, keepdims=True) + EPSILON) * w


def inputs(case, rows):
    isLayer, dims, element, of, columns = case
    x, w, b = random.standard_normal((rows, *dims)) * 3 + 1, 1 + random.standard_normal(dims[-1]) / 4, random.standard_normal(dims[-1])
    for array in (x, w, b):
        array[..., columns or dims[-1]:] = 0
    return kernels.stored(x, element), kernels.stored(w, of), kernels.stored(b, of)


def run(name, case, x, w, b, shape=None):
    return program.compiled(name, [x, w] + ([b] if case[0] else []), [(shape or x.shape, kernels.TYPES[case[2]])], (len(x),))[0]


SHIFTED = ("narrow", "warp", "warps", "rms_warps", "counted")
text = "attn.dim @rows min 0 max 4096\n" + "".join(entry(name, case) for name, case in CASES.items()) + "".join(shifted(name, CASES[name]) for name in SHIFTED)
program = kernels.Program(tools, "norm", text)
for name, case in CASES.items():
    for rows in ROWS:
        x, w, b = inputs(case, rows)
        got, wanted = run(name, case, x, w, b), computed(case, x, w, b)
        unit = {"f32": 2.0**-19 if case[1][-1] <= 16384 else 2.0**-17, "bf16": 2.0**-8, "f16": 2.0**-11}[case[2]]  # beyond, one thread adds up a row
        checks.near(f"{name} of {rows} rows", (kernels.widened(got) - wanted) / (unit * (1 + np.abs(wanted))), np.zeros_like(wanted), 1)
        if rows > 1:
            checks.equal(f"{name}: the last of {rows} rows", run(name, case, x[-1:], w, b), got[-1:])
for name in SHIFTED:
    case = CASES[name]
    x, w, b = inputs(case, 5)
    wide = np.zeros((5, x.shape[1] + 3), x.dtype)
    wide[:, 1:-2] = x
    checks.equal(f"{name}: rows that are not aligned", run("shifted_" + name, case, wide, w, b, x.shape), run(name, case, x, w, b))
checks.finish()
