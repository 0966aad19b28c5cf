#!/usr/bin/env python3
"""Matmuls of heads, each by a matrix of its own, compiled and by the reference, against numpy in float64: 0, 1 and many tokens, heads and columns that fill
no panel, weights [n, k], bf16 and f16, an epilogue, strided heads; and weights of a weight file in every type."""

import subprocess
from pathlib import Path

import numpy as np

import kernels
import packed_model
import passed
import resident

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(53)
# name: heads, rows of the weight that are summed, columns of a matrix, elements of input, weight and result, whether weights are [n, k], epilogue
CASES = {
    "panels": (5, 64, 96, "f32", "f32", "f32", False, ""),
    "primes": (3, 37, 67, "f32", "f32", "f32", False, ""),
    "rows": (4, 72, 64, "f32", "f32", "f32", True, ""),
    "one_head": (1, 40, 32, "f32", "f32", "f32", False, ""),
    "one_channel": (7, 1, 1, "f32", "f32", "f32", True, ""),
    "half": (6, 96, 32, "bf16", "bf16", "f32", False, ""),
    "half_rows": (6, 33, 20, "bf16", "bf16", "bf16", True, ""),
    "mixed": (2, 64, 64, "f32", "f16", "f16", False, ""),
    "negated": (3, 32, 64, "f32", "f32", "f32", False, "%1 = arith.negf %sum : f32"),
    "negated_rows": (3, 20, 33, "f32", "f32", "bf16", True, "%1 = arith.negf %sum : f32"),
}


def text(name, heads, k, n, of_input, of_weight, of_result, transposed, body):
    weight = f"tensor<{n * heads}x{k}x{of_weight}>" if transposed else f"tensor<{k}x{n * heads}x{of_weight}>"
    x, y, rows = f"tensor<?x{heads}x{k}x{of_input}>", f"tensor<?x{heads}x{n}x{of_result}>", 'attn.dims = ["tokens"]'
    region = f" {{\n^bb0(%sum: f32):\n{body}\nattn.yield %1 : f32\n}}" if body else ""
    return f"""func.func @{name}(%x: {x} {{attn.name = "x", {rows}}}, %w: {weight} {{attn.name = "w"}}) -> ({y} {{attn.name = "y", {rows}}}) attributes {{attn.entry}} {{
%y = attn.linear %x, %w{' transposed' if transposed else ''} : {x}, {weight} -> {y}{region}
return %y : {y}
}}
"""


def multiplied(x, w, n, transposed):
    x, w = kernels.widened(x).astype(np.float64), kernels.widened(w).astype(np.float64)
    matrices = (w if transposed else w.T).reshape(x.shape[1], n, x.shape[2])
    return np.einsum("mhk,hnk->mhn", x, matrices)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


program = kernels.Program(tools, "heads", "attn.dim @tokens min 0 max 4096\n" + "".join(text(name, *case) for name, case in CASES.items()))
TYPES = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16}
for rows in (0, 1, 5, 16, 61, 213):
    for name, (heads, k, n, of_input, of_weight, of_result, transposed, body) in CASES.items():
        w = normal(n * heads, k) if transposed else normal(k, n * heads)
        given = {"x": kernels.stored(normal(rows, heads, k), of_input), "w": kernels.stored(w / np.float32(np.sqrt(k)), of_weight)}
        expected = multiplied(given["x"], given["w"], n, transposed) * (-1 if body else 1)
        tolerance = {"f32": 2e-6, "f16": 1e-3, "bf16": 8e-3}[of_result]
        first = None
        for order, workers in ((kernels.backwards, 2), (kernels.threads(3), 3)):
            got, = program.compiled(name, list(given.values()), [((rows, heads, n), TYPES[of_result])], (0, rows)[1:], order, workers)
            checks.near(f"{name} of {rows} tokens, {workers} workers", kernels.widened(got), expected, tolerance)
            if first is not None:
                checks.equal(f"bits of {name} of {rows} tokens, {workers} workers", got, first)
            first = got
        if (of_input, of_weight, of_result) == ("f32",) * 3:
            same, = program.reference(name, given, ["y"])
            checks.near(f"reference: {name} of {rows} tokens", same, expected, 1e-9)

# Heads between two matmuls whose weights are of a weight file. Neither 20 nor 24 channels fill a panel.
HIDDEN, HEADS, IN, OUT = 72, 5, 20, 24
SHAPES = {"first": (HEADS * IN, HIDDEN), "own": (HEADS * OUT, IN), "last": (HIDDEN, HEADS * OUT)}
LAYER = f"""func.func @layer(%x: tensor<?x{HIDDEN}xf32> {{attn.name = "x", attn.dims = ["tokens"]}}) -> (tensor<?x{HIDDEN}xf32> {{attn.name = "y", attn.dims = ["tokens"]}}) attributes {{attn.entry}} {{
  %first = attn.parameter_slice @first : tensor<{HEADS * IN}x{HIDDEN}xf32>
  %own = attn.parameter_slice @own : tensor<{HEADS * OUT}x{IN}xf32>
  %last = attn.parameter_slice @last : tensor<{HIDDEN}x{HEADS * OUT}xf32>
  %columns = attn.linear %x, %first transposed : tensor<?x{HIDDEN}xf32>, tensor<{HEADS * IN}x{HIDDEN}xf32> -> tensor<?x{HEADS * IN}xf32>
  %heads = attn.split_heads %columns : tensor<?x{HEADS * IN}xf32> -> tensor<?x{HEADS}x{IN}xf32>
  %made = attn.linear %heads, %own transposed : tensor<?x{HEADS}x{IN}xf32>, tensor<{HEADS * OUT}x{IN}xf32> -> tensor<?x{HEADS}x{OUT}xf32>
  %merged = attn.merge_heads %made : tensor<?x{HEADS}x{OUT}xf32> -> tensor<?x{HEADS * OUT}xf32>
  %y = attn.linear %merged, %last transposed : tensor<?x{HEADS * OUT}xf32>, tensor<{HIDDEN}x{HEADS * OUT}xf32> -> tensor<?x{HIDDEN}xf32>
  return %y : tensor<?x{HIDDEN}xf32>
}}
"""
MODES = [("f32", "", [], "native", 2e-6), ("f32_v3", "", [], "x86-64-v3", 2e-6), ("bf16", "", ["--dtype=bf16"], "native", 2e-2), ("bf16_v3", "", ["--dtype=bf16"], "x86-64-v3", 2e-2),
         ("bf16_tiles", "", ["--dtype=bf16", "--emulate=amx"], "native", 2e-2), ("w8a8", "mode=w8a8", ["--quantize=w8a8"], "native", 2e-3), ("w4", "mode=w4 group=32", ["--quantize=w4"], "native", 2e-3)]
scratch = Path(tools.scratch)
weights = {name: normal(*shape) / np.float32(np.sqrt(shape[-1])) for name, shape in SHAPES.items()}
packed_model.write_weights(scratch / "weights", weights)
layer = scratch / "layer.mlir"
declared = "".join(f'attn.parameter @{name} : tensor<{"x".join(map(str, shape))}xf32> from [#attn.source<"{name}">]\n' for name, shape in SHAPES.items())
layer.write_text('module attributes {attn.model = {family = "test", task = "feature-extraction", layers = 1 : i64}} {\nattn.dim @tokens min 0 max 1024\n' + declared + LAYER + "}\n")


def computed(x):
    w = {name: array.astype(np.float64) for name, array in weights.items()}
    heads = (x.astype(np.float64) @ w["first"].T).reshape(-1, HEADS, IN)
    return np.einsum("mhk,hnk->mhn", heads, w["own"].reshape(HEADS, OUT, IN)).reshape(-1, HEADS * OUT) @ w["last"].T


def reference(text, x):
    np.save(scratch / "x.npy", x)
    resident.run([tools.reference, str(text), "--entry=layer", "--precision=f64", f"--weights={scratch / 'weights'}", f"--input=x={scratch / 'x.npy'}", f"--output=y={scratch / 'y.npy'}"], check=True)
    return np.load(scratch / "y.npy")


for mode, how, flags, cpu, tolerance in MODES if kernels.takes_panels(tools) else []:
    library, text = scratch / f"layer_{mode}.so", layer
    subprocess.run([tools.raptc, str(layer), f"--weights={scratch / 'weights'}", f"--mcpu={cpu}", *flags, *tools.options, "-o", str(library)], check=True, capture_output=True)
    if how:
        text = scratch / f"layer_{mode}.quantized.mlir"
        subprocess.run([tools.raptc.replace("raptc", "rapt-opt"), str(layer), f"--pass-pipeline=builtin.module(attn-quantize-weights{{{how}}})", "-o", str(text)], check=True)
        kernels.Program.made.append(text.read_text())
    model = packed_model.Model(library)
    for rows in (0, 1, 4, 200):
        x = normal(rows, HIDDEN)
        expected = reference(text, x) if how or rows != 200 else computed(x)
        if not how:
            checks.near(f"{mode}: numpy and reference, {rows} tokens", expected, computed(x), 1e-9)
        first = None
        for workers in (1, 3):
            found, guard = kernels.aligned((rows, HIDDEN), np.float32)
            model.run("layer", [packed_model.placed(x), found], (rows,), workers)
            assert np.isnan(guard).all(), f"{mode}: wrote beyond its output"
            if first is None:
                first = found
                checks.near(f"{mode}: {rows} tokens", found, expected, tolerance)
            else:
                checks.equal(f"{mode}: {rows} tokens with {workers} workers", found, first)
if not checks.failed:
    passed.ops("reference", "\n".join(kernels.Program.made))
checks.finish()
