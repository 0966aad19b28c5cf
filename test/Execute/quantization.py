#!/usr/bin/env python3
"""Matmuls of quantized weights, of sizes that fill no group, panel or word, against the reference in float64, which quantizes weights
and rows itself.

Where a matmul reads an entry's input, both round the same numbers and only sums in f32 differ. The input of a second matmul
differs in its last bits, so that a code of a few thousand may be another one: the tolerance is that of a few codes.

With target=cuda the matmuls are those of integers on tensor cores. Their number of rows from which on tiles are large is made small, so that few rows take
every grid, and a row has the same bits in all of them. `--rows` are other numbers of rows, `--only` some of the modes."""

import re
import subprocess
from pathlib import Path

import numpy as np

import kernels
import packed_model
import passed
import resident

def add_options(parser):
    parser.add_argument("--rows", type=int, nargs="*", help="calls with so many rows")
    parser.add_argument("--only", nargs="*", help="modes")


tools = kernels.tools(__doc__, add_options)
checks, random = kernels.Checks(), np.random.default_rng(23)
SHAPES = {"odd": (35, 70), "bias": (70,), "one": (1, 1), "table": (45, 72), "up": (320, 35), "out": (33, 160), "gate": (200, 96), "value": (200, 96),
          "wide": (331, 131), "edge": (131,), "left": (160, 139), "right": (160, 139)}
TRANSPOSED = {"up", "out"}
ROWS = tools.rows or (0, 1, 3, 19, 211)
# name, the pass's options, raptc's flags, CPU. NARROW has the entries of modes that share most code with another one; without an
# instruction that adds four multiplied bytes code is several times as large, and as long to compile.
NARROW = {"w8": ("residual", "gated", "heads"), "w8a8-v3": ("residual", "heads"), "w4-wide-zeros": ("single", "embed", "gated")}
MODES = [("w8a8", "mode=w8a8", ["--quantize=w8a8"], "native"),
         ("w8", "mode=w8", ["--quantize=w8"], "native"),
         ("w4", "mode=w4", ["--quantize=w4"], "native"),
         ("w8a8-tiles", "mode=w8a8", ["--quantize=w8a8", "--emulate=amx"], "native"),
         ("w8a8-v3", "mode=w8a8", ["--quantize=w8a8"], "x86-64-v3"),
         ("w4-wide-zeros", "mode=w4 group=128 zero-points", ["--quantize=w4", "--quantize-group=128", "--quantize-zero-point"], "x86-64-v3")]
GPU_MODES = [("w8a8", "mode=w8a8", ["--quantize=w8a8"]),
             ("w8", "mode=w8", ["--quantize=w8"]),
             ("w4", "mode=w4", ["--quantize=w4"]),
             ("w8-64", "mode=w8 group=64", ["--quantize=w8", "--quantize-group=64"]),
             ("w8-128", "mode=w8 group=128", ["--quantize=w8", "--quantize-group=128"]),
             ("w4-64", "mode=w4 group=64", ["--quantize=w4", "--quantize-group=64"]),
             ("w4-128", "mode=w4 group=128", ["--quantize=w4", "--quantize-group=128"]),
             ("w4-zeros", "mode=w4 zero-points", ["--quantize=w4", "--quantize-zero-point"]),
             ("w4-128-zeros", "mode=w4 group=128 zero-points", ["--quantize=w4", "--quantize-group=128", "--quantize-zero-point"])]
HEAD = """module attributes {attn.model = {family = "test", task = "feature-extraction", layers = 1 : i64}} {
attn.dim @tokens min 0 max 1024
"""
FUNCTIONS = re.split(r"(?<=^}\n)", """func.func @residual(%x: tensor<?x35xf32> {attn.name = "x", attn.dims = ["tokens"]}, %r: tensor<?x70xf32> {attn.name = "r", attn.dims = ["tokens"]})
    -> (tensor<?x70xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %w = attn.parameter_slice @odd : tensor<35x70xf32>
  %b = attn.parameter_slice @bias : tensor<70xf32>
  %0 = attn.linear %x, %w, (%b) : tensor<?x35xf32>, tensor<35x70xf32>, (tensor<70xf32>) -> tensor<?x70xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %s = arith.addf %sum, %bias : f32
    attn.yield %s : f32
  }
  %1 = attn.activation gelu %0 : tensor<?x70xf32>
  %y = arith.addf %r, %1 : tensor<?x70xf32>
  return %y : tensor<?x70xf32>
}
func.func @single(%x: tensor<?x1xf32> {attn.name = "x", attn.dims = ["tokens"]})
    -> (tensor<?x1xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %w = attn.parameter_slice @one : tensor<1x1xf32>
  %y = attn.linear %x, %w : tensor<?x1xf32>, tensor<1x1xf32> -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}
func.func @embed(%ids: tensor<?xi32> {attn.name = "ids", attn.dims = ["tokens"]})
    -> (tensor<?x72xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %w = attn.parameter_slice @table : tensor<45x72xf32>
  %y = attn.embedding %ids, %w scale 1.500000e+00 : tensor<?xi32>, tensor<45x72xf32> -> tensor<?x72xf32>
  return %y : tensor<?x72xf32>
}
func.func @head(%x: tensor<?x72xf32> {attn.name = "x", attn.dims = ["tokens"]})
    -> (tensor<?x45xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %w = attn.parameter_slice @table : tensor<45x72xf32>
  %y = attn.linear %x, %w transposed : tensor<?x72xf32>, tensor<45x72xf32> -> tensor<?x45xf32>
  return %y : tensor<?x45xf32>
}
func.func @gated(%x: tensor<?x200xf32> {attn.name = "x", attn.dims = ["tokens"]})
    -> (tensor<?x96xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %g = attn.parameter_slice @gate : tensor<200x96xf32>
  %v = attn.parameter_slice @value : tensor<200x96xf32>
  %0 = attn.linear %x, %g : tensor<?x200xf32>, tensor<200x96xf32> -> tensor<?x96xf32>
  %1 = attn.linear %x, %v : tensor<?x200xf32>, tensor<200x96xf32> -> tensor<?x96xf32>
  %y = attn.glu silu %0, %1 : tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}
// Heads of 80 channels, padded to 96 in memory: groups begin anew with each head.
func.func @heads(%x: tensor<?x35xf32> {attn.name = "x", attn.dims = ["tokens"]})
    -> (tensor<?x33xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %up = attn.parameter_slice @up : tensor<35x320xf32>
  %0 = attn.linear %x, %up : tensor<?x35xf32>, tensor<35x320xf32> -> tensor<?x320xf32>
  %1, %others = attn.split_heads %0 : tensor<?x320xf32> -> tensor<?x2x80xf32>, tensor<?x2x80xf32>
  %2 = attn.merge_heads %1 : tensor<?x2x80xf32> -> tensor<?x160xf32>
  %out = attn.parameter_slice @out : tensor<160x33xf32>
  %y = attn.linear %2, %out : tensor<?x160xf32>, tensor<160x33xf32> -> tensor<?x33xf32>
  return %y : tensor<?x33xf32>
}
// More columns than a large tile has, and a last step of k that is not whole. The bias, the activation and what is added are the matmul's epilogue.
func.func @ragged(%x: tensor<?x331xf32> {attn.name = "x", attn.dims = ["tokens"]}, %r: tensor<?x131xf32> {attn.name = "r", attn.dims = ["tokens"]})
    -> (tensor<?x131xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %w = attn.parameter_slice @wide : tensor<331x131xf32>
  %b = attn.parameter_slice @edge : tensor<131xf32>
  %0 = attn.linear %x, %w, (%b) : tensor<?x331xf32>, tensor<331x131xf32>, (tensor<131xf32>) -> tensor<?x131xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %s = arith.addf %sum, %bias : f32
    attn.yield %s : f32
  }
  %1 = attn.activation gelu_tanh %0 : tensor<?x131xf32>
  %y = arith.addf %r, %1 : tensor<?x131xf32>
  return %y : tensor<?x131xf32>
}
// A matmul that is the gate of another, on rows of 16 bits.
func.func @halves(%x: tensor<?x160xbf16> {attn.name = "x", attn.dims = ["tokens"]})
    -> (tensor<?x139xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %g = attn.parameter_slice @left : tensor<160x139xf32>
  %v = attn.parameter_slice @right : tensor<160x139xf32>
  %0 = attn.linear %x, %g : tensor<?x160xbf16>, tensor<160x139xf32> -> tensor<?x139xf32>
  %1 = attn.linear %x, %v : tensor<?x160xbf16>, tensor<160x139xf32> -> tensor<?x139xf32>
  %y = attn.glu gelu %0, %1 : tensor<?x139xf32>
  return %y : tensor<?x139xf32>
}
""", flags=re.MULTILINE)[:-1]
# entry: inputs and their columns, columns of the output, tolerance
ENTRIES = {"residual": ({"x": 35, "r": 70}, 70, 2e-6), "single": ({"x": 1}, 1, 2e-6), "embed": ({"ids": 0}, 72, 1e-6), "head": ({"x": 72}, 45, 2e-6),
           "gated": ({"x": 200}, 96, 4e-6), "heads": ({"x": 35}, 33, 2e-3),
           "ragged": ({"x": 331, "r": 131}, 131, 4e-6), "halves": ({"x": 160}, 139, 4e-6)}
BF16 = {"halves"}  # entries whose x is bf16


def declare(name):
    shape, transposed = SHAPES[name], name in TRANSPOSED
    shape = "x".join(map(str, shape[::-1] if transposed else shape))
    return f'attn.parameter @{name} : tensor<{shape}xf32> from [#attn.source<"{name}"{", transpose<1, 0>" if transposed else ""}>]'


def make_weights():
    weights = {name: (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32) for name, shape in SHAPES.items()}
    weights["gate"][32:64, 5] = 0  # a group of zeros
    weights["gate"][:, 6] = 0  # a column of zeros
    weights["value"][7, 3] = 50  # an outlier
    weights["value"][:, 9] = np.abs(weights["value"][:, 9]) + 1  # far from zero
    weights["value"][:, 11] = 1e-30  # a scale that is hardly normal
    return weights


def make_inputs(columns, rows, isBF16=False):
    arrays = {}
    for name, count in columns.items():
        if count == 0:
            arrays[name] = random.integers(0, 45, rows).astype(np.int32)
            continue
        array = random.standard_normal((rows, count)).astype(np.float32)
        array[1:2] = 0
        array[2:3] *= 1e-25
        arrays[name] = kernels.stored(array, "bf16") if isBF16 else array
    return arrays


def reference(text, entry, inputs, directory):
    command = [tools.reference, str(text), f"--entry={entry}", "--precision=f64", f"--weights={directory}"]
    for name, array in inputs.items():
        np.save(scratch / f"{name}.npy", array)
        command.append(f"--input={name}={scratch / name}.npy")
    resident.run([*command, f"--output=y={scratch}/y.out.npy"], check=True)
    return np.load(scratch / "y.out.npy")


def workers_of(rows):
    """Threads of the calls. A GPU has always as many."""
    return (1,) if tools.device or rows < max(ROWS) else (1, 2, 7)


def check(mode, entry, model, text, directory):
    columns, width, tolerance = ENTRIES[entry]
    whole = make_inputs(columns, max(ROWS), entry in BF16)
    expected = reference(text, entry, whole, directory)  # of each row alone
    of_each = []
    for rows in ROWS:
        inputs, first = {name: array[:rows] for name, array in whole.items()}, None
        for workers in workers_of(rows):
            found, guard = kernels.aligned((rows, width), np.float32)
            model.run(entry, [*map(packed_model.placed, inputs.values()), found], (rows,), workers)
            assert np.isnan(guard).all(), f"{mode}: {entry} wrote beyond its output"
            if first is None:
                first = found
                checks.near(f"{mode}: {entry} of {rows} rows", found, expected[:rows], tolerance)
            else:
                checks.equal(f"{mode}: {entry} with {workers} workers", found, first)
        of_each.append(first)
    if tools.device:
        for found in of_each:
            checks.equal(f"{mode}: {entry} of {len(found)} rows among others", found, of_each[-1][:len(found)])
    if entry == "gated":
        inputs = make_inputs(columns, 3)
        inputs["x"][0, 40], inputs["x"][1, 150] = np.nan, np.inf
        found, _ = kernels.aligned((3, width), np.float32)
        model.run(entry, [packed_model.placed(inputs["x"]), found], (3,), 1)
        plain = np.delete(np.arange(width), [5, 6, 11])
        assert np.isnan(found[:2, plain]).all() and np.isfinite(found[2]).all(), f"{mode}: NaN and infinity do not stay in their rows"


scratch = Path(tools.scratch)
scratch.mkdir(parents=True, exist_ok=True)
directory = scratch / "weights"
packed_model.write_weights(directory, make_weights())


modes = [(*mode, "") for mode in GPU_MODES] if tools.device else MODES
for mode, how, flags, cpu in modes:
    if tools.only and mode not in tools.only:
        continue
    entries = NARROW.get(mode, ENTRIES) if not tools.device else [entry for entry in ENTRIES if entry != "heads" or "group=" not in how]  # a head is no whole group
    functions = "".join(function for function in FUNCTIONS if re.search(r"@(\w+)\(", function)[1] in entries)
    names = [name for name in SHAPES if f"@{name} :" in functions]
    text = HEAD + "\n".join(map(declare, names)) + "\n" + functions + "}\n"
    program = scratch / f"{mode.replace('-', '_')}.mlir"
    program.write_text(text)
    quantized, library = scratch / f"{mode}-quantized.mlir", program.with_suffix(".so")
    subprocess.run([tools.raptc.replace("raptc", "rapt-opt"), str(program), f"--pass-pipeline=builtin.module(attn-quantize-weights{{{how}}})", "-o", str(quantized)], check=True)
    if tools.device:
        packed_model.compile_with_large_tiles(tools, program, directory, flags, library)
    else:
        subprocess.run([tools.raptc, str(program), f"--weights={directory}", f"--mcpu={cpu}", *flags, "-o", str(library)], check=True, capture_output=True)
    model = packed_model.Model(library, tools.device)
    for entry in entries:
        check(mode, entry, model, quantized, directory)
    kernels.Program.made.append(quantized.read_text())
if not checks.failed:
    passed.ops("reference", "\n".join(kernels.Program.made))
checks.finish()
