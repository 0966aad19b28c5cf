#!/usr/bin/env python3
"""A recurrent model with weights of odd sizes: a bidirectional encoder, and a step that keeps its states, h and c of two layers, in
place. Both against the reference in float64, the step token by token."""

import subprocess
from pathlib import Path

import numpy as np

import kernels
import packed_model
import resident

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(11)
H, E, V, OUT, SLOTS = 33, 7, 11, 20, 6
WIDE = 64 if kernels.takes_panels(tools) else H  # H in memory
SHAPES = {"embedding": (V, E), "out": (OUT, 2 * H), "next": (OUT, H)}
for layer, inputs in (("l0", E), ("l0_reverse", E), ("l1", H)):
    SHAPES.update({f"weight_ih_{layer}": (4 * H, inputs), f"weight_hh_{layer}": (4 * H, H), f"bias_ih_{layer}": (4 * H,), f"bias_hh_{layer}": (4 * H,)})


def parameter(name, shape):
    transposed = len(shape) == 2 and name != "embedding"
    shape = shape[::-1] if transposed else shape
    return f'attn.parameter @{name} : tensor<{"x".join(map(str, shape))}xf32> from [#attn.source<"{name}"{", transpose<1, 0>" if transposed else ""}>]\n'


def recurrence(out, x, columns, layer, initial=""):
    """IR: %out, and its states, from %x through one layer."""
    types = ", tensor<?x33xf32>, tensor<?x33xf32>" if initial else ""
    slices = "".join(f"%{name}_{out} = attn.parameter_slice @{name}_{layer} : tensor<{shape}xf32>\n"
                     for name, shape in (("weight_ih", f"{columns}x132"), ("weight_hh", "33x132"), ("bias_ih", "132"), ("bias_hh", "132")))
    return slices + f"""
  %gates_{out} = attn.linear %{x}, %weight_ih_{out}, (%bias_ih_{out}) : tensor<?x{columns}xf32>, tensor<{columns}x132xf32>, (tensor<132xf32>) -> tensor<?x132xf32> {{
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.addf %sum, %bias : f32
    attn.yield %0 : f32
  }}
  %{out}, %last_{out}:2 = attn.recurrence lstm %gates_{out}, %weight_hh_{out} bias(%bias_hh_{out} : tensor<132xf32>) rows(%begin) {initial}
    {"reverse" if layer.endswith("reverse") else ""} : tensor<?x132xf32>, tensor<33x132xf32>, tensor<?xi32>{types}
"""


TEXT = f"""module @recurrent attributes {{attn.stage = "imported", attn.model = {{family = "recurrent"}}}} {{
attn.dim @tokens min 0 max 4096
attn.dim @rows min 0 max 64
attn.dim @slots min 1 max 64
{"".join(parameter(*item) for item in SHAPES.items())}
func.func @forward(%ids: tensor<?xi32> {{attn.name = "ids", attn.dims = ["tokens"]}}, %begin: tensor<?xi32> {{attn.name = "row_begin", attn.dims = ["rows+1"]}})
    -> (tensor<?x{OUT}xf32> {{attn.name = "logits", attn.dims = ["tokens"]}}) attributes {{attn.entry}} {{
  %table = attn.parameter_slice @embedding : tensor<{V}x{E}xf32>
  %x = attn.embedding %ids, %table : tensor<?xi32>, tensor<{V}x{E}xf32> -> tensor<?x{E}xf32>
  {recurrence("y", "x", E, "l0")}
  {recurrence("z", "x", E, "l0_reverse")}
  %both = attn.concat %y, %z : tensor<?x33xf32>, tensor<?x33xf32>
  %out = attn.parameter_slice @out : tensor<66x{OUT}xf32>
  %logits = attn.linear %both, %out : tensor<?x66xf32>, tensor<66x{OUT}xf32> -> tensor<?x{OUT}xf32>
  return %logits : tensor<?x{OUT}xf32>
}}
func.func @step(%ids: tensor<?xi32> {{attn.name = "ids", attn.dims = ["tokens"]}}, %begin: tensor<?xi32> {{attn.name = "row_begin", attn.dims = ["rows+1"]}},
                %slots: tensor<?xi32> {{attn.name = "slots_of_rows", attn.dims = ["rows"]}}, %h: tensor<?x2x33xf32> {{attn.name = "h", attn.dims = ["slots"]}},
                %c: tensor<?x2x33xf32> {{attn.name = "c", attn.dims = ["slots"]}})
    -> (tensor<?x{OUT}xf32> {{attn.name = "logits", attn.dims = ["tokens"]}}, tensor<?x2x33xf32> {{attn.name = "h", attn.dims = ["slots"]}},
        tensor<?x2x33xf32> {{attn.name = "c", attn.dims = ["slots"]}}) attributes {{attn.entry}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %table = attn.parameter_slice @embedding : tensor<{V}x{E}xf32>
  %x = attn.embedding %ids, %table : tensor<?xi32>, tensor<{V}x{E}xf32> -> tensor<?x{E}xf32>
  %h_0 = attn.select_rows %h[%c0], %slots : tensor<?x2x33xf32>, tensor<?xi32> -> tensor<?x33xf32>
  %c_0 = attn.select_rows %c[%c0], %slots : tensor<?x2x33xf32>, tensor<?xi32> -> tensor<?x33xf32>
  {recurrence("y", "x", E, "l0", "init(%h_0, %c_0)")}
  %h1 = attn.update_rows %h[%c0], %last_y#0, %slots : tensor<?x2x33xf32>, tensor<?x33xf32>, tensor<?xi32>
  %c2 = attn.update_rows %c[%c0], %last_y#1, %slots : tensor<?x2x33xf32>, tensor<?x33xf32>, tensor<?xi32>
  %h_1 = attn.select_rows %h1[%c1], %slots : tensor<?x2x33xf32>, tensor<?xi32> -> tensor<?x33xf32>
  %c_1 = attn.select_rows %c2[%c1], %slots : tensor<?x2x33xf32>, tensor<?xi32> -> tensor<?x33xf32>
  {recurrence("z", "y", H, "l1", "init(%h_1, %c_1)")}
  %h2 = attn.update_rows %h1[%c1], %last_z#0, %slots : tensor<?x2x33xf32>, tensor<?x33xf32>, tensor<?xi32>
  %c3 = attn.update_rows %c2[%c1], %last_z#1, %slots : tensor<?x2x33xf32>, tensor<?x33xf32>, tensor<?xi32>
  %next = attn.parameter_slice @next : tensor<33x{OUT}xf32>
  %logits = attn.linear %z, %next : tensor<?x33xf32>, tensor<33x{OUT}xf32> -> tensor<?x{OUT}xf32>
  return %logits, %h2, %c3 : tensor<?x{OUT}xf32>, tensor<?x2x33xf32>, tensor<?x2x33xf32>
}}
}}
"""


def reference(entry, inputs, outputs):
    files = {name: scratch / f"{name}.npy" for name in (*inputs, *outputs)}
    for name, array in inputs.items():
        np.save(files[name], array)
    resident.run([tools.reference, str(program), f"--entry={entry}", "--precision=f64",
                  f"--weights={directory}", *(f"--input={name}={files[name]}" for name in inputs), *(f"--output={name}={scratch / name}.out.npy" for name in outputs)], check=True)
    return [np.load(scratch / f"{name}.out.npy") for name in outputs]


scratch = Path(tools.scratch)
scratch.mkdir(parents=True, exist_ok=True)
weights = {name: (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32) for name, shape in SHAPES.items()}
directory = scratch / "weights"
packed_model.write_weights(directory, weights)
program = scratch / "recurrent.mlir"
program.write_text(TEXT)
subprocess.run([tools.raptc, str(program), f"--weights={directory}", "-o", str(scratch / "recurrent.so"), *tools.options], check=True)
model = packed_model.Model(scratch / "recurrent.so")

begin = np.array([0, 5, 5, 6, 13], np.int32)
ids = random.integers(0, V, begin[-1]).astype(np.int32)
expected, = reference("forward", {"ids": ids, "row_begin": begin}, ["logits"])
first = None
for workers in (1, 2, 7):
    logits, _ = kernels.aligned(expected.shape, np.float32)
    model.run("forward", [packed_model.placed(ids), packed_model.placed(begin), logits], (len(ids), 4, 1), workers)
    if first is None:
        first = logits
        checks.near("forward", logits, expected, 2e-6)
    else:
        checks.equal(f"forward, {workers} workers", logits, first)

state = {name: random.standard_normal((SLOTS, 2, H)).astype(np.float32) for name in "hc"}
kept = {name: packed_model.placed(np.pad(value, ((0, 0), (0, 0), (0, WIDE - H)))) for name, value in state.items()}
for slots, lengths in (([4, 0, 2], [1, 1, 1]), ([2, 5], [3, 0]), ([4, 2, 0, 1], [1, 2, 1, 7])):
    begin = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    ids, slots = random.integers(0, V, begin[-1]).astype(np.int32), np.array(slots, np.int32)
    expected, state["h"], state["c"] = reference("step", {"ids": ids, "row_begin": begin, "slots_of_rows": slots, **state}, ["logits", "h", "c"])
    state = {name: value.astype(np.float32) for name, value in state.items()}
    logits, _ = kernels.aligned(expected.shape, np.float32)
    model.run("step", [packed_model.placed(ids), packed_model.placed(begin), packed_model.placed(slots), kept["h"], kept["c"], logits], (len(ids), len(slots), SLOTS), 2)
    checks.near(f"step of {lengths}", logits, expected, 3e-6)
    for name in "hc":
        checks.near(f"{name} after {lengths}", kept[name], np.pad(state[name], ((0, 0), (0, 0), (0, WIDE - H))), 3e-6)
kernels.Program.made.append(TEXT)
checks.finish()
