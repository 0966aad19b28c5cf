#!/usr/bin/env python3
"""Matmuls and look-ups of weights that a GGUF file has in blocks, of every type, against the reference in float64, which reads the blocks itself and quantizes
rows itself. Numbers of columns fill no panel; depths are one block, and several.

Both round the same numbers, and only sums in f32 differ. One column has a scale that is NaN.

With target=cuda the matmuls are those of integers on tensor cores, and tiles are large from a few rows on (quantization.py)."""

import subprocess
import sys
from pathlib import Path

import numpy as np

import kernels
import packed_model
import passed
import resident

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "Reference" / "numpy"))

import gguf  # noqa: E402
import gguf_blocks  # noqa: E402


def add_options(parser):
    parser.add_argument("--types", nargs="*", help="the types")
    parser.add_argument("--rows", type=int, nargs="*", help="calls with so many rows")


tools = kernels.tools(__doc__, add_options)
checks, random = kernels.Checks(), np.random.default_rng(31)
TYPES = tools.types or [name for name in gguf_blocks.TYPES if name != "NVFP4"]
ROWS = tools.rows or (0, 1, 2, 3, 19, 64)
TOKENS = 45
WIDE = 131 if tools.device else 70  # columns, for tiles of 128 more than one
HEAD = f"""module attributes {{attn.model = {{family = "test", task = "feature-extraction", layers = 1 : i64}}}} {{
attn.dim @tokens min 0 max 1024
attn.parameter @bias : tensor<{WIDE}xf32> from [#attn.source<"bias">]
"""


def program(name):
    """The functions of one type, each with its name in front, and the shapes of its tensors."""
    code, block = name.lower(), gguf_blocks.TYPES[name][1]
    depth = 3 * block if block < 256 else 512
    shapes = {f"{code}.w": (WIDE, depth), f"{code}.gate": (33, block), f"{code}.up": (33, block), f"{code}.table": (TOKENS, depth)}
    return f"""attn.parameter @{code}_w : tensor<{depth}x{WIDE}xf32> from [#attn.source<"{code}.w" : {code}, transpose<1, 0>>]
attn.parameter @{code}_gate : tensor<{block}x33xf32> from [#attn.source<"{code}.gate" : {code}, transpose<1, 0>>]
attn.parameter @{code}_up : tensor<33x{block}xf32> from [#attn.source<"{code}.up" : {code}>]
attn.parameter @{code}_table : tensor<{TOKENS}x{depth}xf32> from [#attn.source<"{code}.table" : {code}>]
func.func @{code}_residual(%x: tensor<?x{depth}xf32> {{attn.name = "x", attn.dims = ["tokens"]}}, %r: tensor<?x{WIDE}xf32> {{attn.name = "r", attn.dims = ["tokens"]}})
    -> (tensor<?x{WIDE}xf32> {{attn.name = "y", attn.dims = ["tokens"]}}) attributes {{attn.entry}} {{
  %w = attn.parameter_slice @{code}_w : tensor<{depth}x{WIDE}xf32>
  %b = attn.parameter_slice @bias : tensor<{WIDE}xf32>
  %0 = attn.linear %x, %w, (%b) : tensor<?x{depth}xf32>, tensor<{depth}x{WIDE}xf32>, (tensor<{WIDE}xf32>) -> tensor<?x{WIDE}xf32> {{
  ^bb0(%sum: f32, %bias: f32):
    %s = arith.addf %sum, %bias : f32
    attn.yield %s : f32
  }}
  %y = arith.addf %r, %0 : tensor<?x{WIDE}xf32>
  return %y : tensor<?x{WIDE}xf32>
}}
func.func @{code}_gated(%x: tensor<?x{block}xf32> {{attn.name = "x", attn.dims = ["tokens"]}})
    -> (tensor<?x33xf32> {{attn.name = "y", attn.dims = ["tokens"]}}) attributes {{attn.entry}} {{
  %g = attn.parameter_slice @{code}_gate : tensor<{block}x33xf32>
  %v = attn.parameter_slice @{code}_up : tensor<33x{block}xf32>
  %0 = attn.linear %x, %g : tensor<?x{block}xf32>, tensor<{block}x33xf32> -> tensor<?x33xf32>
  %1 = attn.linear %x, %v transposed : tensor<?x{block}xf32>, tensor<33x{block}xf32> -> tensor<?x33xf32>
  %y = attn.glu silu %0, %1 : tensor<?x33xf32>
  return %y : tensor<?x33xf32>
}}
func.func @{code}_embed(%ids: tensor<?xi32> {{attn.name = "ids", attn.dims = ["tokens"]}})
    -> (tensor<?x{depth}xf32> {{attn.name = "y", attn.dims = ["tokens"]}}) attributes {{attn.entry}} {{
  %w = attn.parameter_slice @{code}_table : tensor<{TOKENS}x{depth}xf32>
  %y = attn.embedding %ids, %w scale 1.500000e+00 : tensor<?xi32>, tensor<{TOKENS}x{depth}xf32> -> tensor<?x{depth}xf32>
  return %y : tensor<?x{depth}xf32>
}}
func.func @{code}_head(%x: tensor<?x{depth}xf32> {{attn.name = "x", attn.dims = ["tokens"]}})
    -> (tensor<?x{TOKENS}xf32> {{attn.name = "y", attn.dims = ["tokens"]}}) attributes {{attn.entry}} {{
  %w = attn.parameter_slice @{code}_table : tensor<{TOKENS}x{depth}xf32>
  %y = attn.linear %x, %w transposed : tensor<?x{depth}xf32>, tensor<{TOKENS}x{depth}xf32> -> tensor<?x{TOKENS}xf32>
  return %y : tensor<?x{TOKENS}xf32>
}}
""", shapes


def entries(name):
    """entry: (inputs and their columns, columns of the output, tolerance)"""
    code, block = name.lower(), gguf_blocks.TYPES[name][1]
    depth = 3 * block if block < 256 else 512
    return {f"{code}_residual": ({"x": depth, "r": WIDE}, WIDE, 2e-6), f"{code}_gated": ({"x": block}, 33, 4e-6), f"{code}_embed": ({"ids": 0}, depth, 1e-7),
            f"{code}_head": ({"x": depth}, TOKENS, 2e-6)}


def make_inputs(columns, rows):
    arrays = {}
    for name, count in columns.items():
        if count == 0:
            arrays[name] = random.integers(0, TOKENS, rows).astype(np.int32)
            continue
        array = random.standard_normal((rows, count)).astype(np.float32)
        array[1:2] = 0
        array[2:3] *= 1e-25
        arrays[name] = array
    return arrays


def reference(text, entry, inputs):
    command = [tools.reference, str(text), f"--entry={entry}", "--precision=f64", f"--weights={weights}"]
    for name, array in inputs.items():
        np.save(scratch / f"{name}.npy", array)
        command.append(f"--input={name}={scratch / name}.npy")
    resident.run([*command, f"--output=y={scratch}/y.out.npy"], check=True)
    return np.load(scratch / "y.out.npy")


def check(entry, columns, width, tolerance):
    whole = make_inputs(columns, max(ROWS))
    expected = reference(quantized, entry, whole)
    numbers = ~np.isnan(expected).any(0)
    assert numbers.sum() >= width - 1, f"{entry}: the reference has columns of NaN"
    for rows in ROWS:
        inputs, first = {name: array[:rows] for name, array in whole.items()}, None
        for workers in (1, 2, 7) if rows == max(ROWS) and not tools.device else (1,):
            found, guard = kernels.aligned((rows, width), np.float32)
            model.run(entry, [*map(packed_model.placed, inputs.values()), found], (rows,), workers)
            assert np.isnan(guard).all(), f"{entry} wrote beyond its output"
            if first is None:
                first = found
                checks.near(f"{entry} of {rows} rows", found[:, numbers], expected[:rows, numbers], tolerance)
                assert np.isnan(found[:, ~numbers]).all(), f"{entry}: a scale that is NaN does not count"
            else:
                checks.equal(f"{entry} with {workers} workers", found, first)


def check_nan(name):
    """NaN and infinity make all of their rows NaN, and no other."""
    entry, (columns, width, _) = next(iter(entries(name).items()))
    inputs = make_inputs(columns, 3)
    inputs["x"][0, 5], inputs["x"][1, 40] = np.nan, np.inf
    found, _ = kernels.aligned((3, width), np.float32)
    model.run(entry, [*map(packed_model.placed, inputs.values()), found], (3,), 1)
    numbers = np.arange(width) != (BROKEN if name == BROKEN_TYPE else -1)
    assert np.isnan(found[:2]).all() and np.isfinite(found[2, numbers]).all(), f"{name}: NaN and infinity do not stay in their rows"


scratch = Path(tools.scratch)
scratch.mkdir(parents=True, exist_ok=True)
weights = scratch / "weights.gguf"
BROKEN, BROKEN_TYPE = 37, "Q8_0"  # the column with a scale that is NaN
tensors, functions = {"bias": (random.standard_normal(WIDE) * 0.1).astype(np.float32)}, ""
for name in TYPES:
    text, shapes = program(name)
    functions += text
    number, block, size = gguf_blocks.TYPES[name]
    for tensor, (rows, depth) in shapes.items():
        blocks = gguf_blocks.random_blocks(name, random, rows * depth // block)
        if name == BROKEN_TYPE and tensor.endswith(".w"):
            blocks[BROKEN * depth // block, 1] = 0x7e  # f16 7e00
        tensors[tensor] = gguf.Blocks(number, [depth, rows], blocks.tobytes())
gguf.write(weights, {}, tensors)
source, quantized, library = scratch / "blocks.mlir", scratch / "quantized.mlir", scratch / "blocks.so"
source.write_text(HEAD + functions + "}\n")
subprocess.run([tools.raptc.replace("raptc", "rapt-opt"), str(source), "--pass-pipeline=builtin.module(attn-quantize-weights{mode=stored})", "-o", str(quantized)], check=True)
if tools.device:
    packed_model.compile_with_large_tiles(tools, source, weights, [], library)
else:
    subprocess.run([tools.raptc, str(source), f"--weights={weights}", *tools.options, "-o", str(library)], check=True, capture_output=True)
model = packed_model.Model(library, tools.device)
for name in TYPES:
    for entry, (columns, width, tolerance) in entries(name).items():
        check(entry, columns, width, tolerance)
    check_nan(name)
kernels.Program.made.append(quantized.read_text())
if not checks.failed:
    passed.ops("reference", "\n".join(kernels.Program.made))
checks.finish()
