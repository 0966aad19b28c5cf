#!/usr/bin/env python3
"""Ops that make other numbers of zeros (a sigmoid, a quotient, an epilogue that adds one) before ops that sum over channels: the CPU's padded
channels do not count. Channels that fill no panel, alone and as heads; a kernel and a model, on both targets, against the reference in float64."""

import subprocess
from pathlib import Path

import numpy as np

import kernels
import packed_model
import resident

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(43)
KERNELS = """attn.dim @rows min 0 max 1024
func.func @activation(%x: tensor<?x20xf32> {attn.name = "x", attn.dims = ["rows"]}, %norm: tensor<20xf32> {attn.name = "norm"})
    -> (tensor<?x20xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %0 = attn.activation sigmoid %x : tensor<?x20xf32>
  %1 = attn.rms_norm %0, %norm epsilon 1.0e-5 : tensor<?x20xf32>, tensor<20xf32>
  return %1 : tensor<?x20xf32>
}
func.func @epilogue(%x: tensor<?x20xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<20x20xf32> {attn.name = "w"}, %norm: tensor<20xf32> {attn.name = "norm"})
    -> (tensor<?x20xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %0 = attn.linear %x, %w : tensor<?x20xf32>, tensor<20x20xf32> -> tensor<?x20xf32> {
  ^bb0(%s: f32):
    %one = arith.constant 1.0 : f32
    %q = arith.addf %s, %one : f32
    attn.yield %q : f32
  }
  %1 = attn.layer_norm %0, %norm, %norm epsilon 1.0e-5 : tensor<?x20xf32>, tensor<20xf32>
  return %1 : tensor<?x20xf32>
}
"""
# Two heads of 20 channels, whose queries are quotients; and 45 channels of a sigmoid.
MODEL = """module attributes {attn.model = {family = "test", task = "feature-extraction", layers = 1 : i64}} {
attn.dim @tokens min 0 max 1024
attn.parameter @up : tensor<20x40xf32> from [#attn.source<"up">]
attn.parameter @gate : tensor<20x45xf32> from [#attn.source<"gate">]
attn.parameter @scale : tensor<40xf32> from [#attn.source<"scale">]
attn.parameter @norm : tensor<45xf32> from [#attn.source<"norm">]
func.func @embed(%x: tensor<?x20xf32> {attn.name = "x", attn.dims = ["tokens"]})
    -> (tensor<?x40xf32> {attn.name = "attended", attn.dims = ["tokens"]}, tensor<?x45xf32> {attn.name = "gated", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %scale = attn.parameter_slice @scale : tensor<40xf32>
  %up = attn.parameter_slice @up : tensor<20x40xf32>
  %0 = attn.linear %x, %up, (%scale) : tensor<?x20xf32>, tensor<20x40xf32>, (tensor<40xf32>) -> tensor<?x40xf32> {
  ^bb0(%s: f32, %e: f32):
    %q = arith.divf %s, %e : f32
    attn.yield %q : f32
  }
  %h = attn.split_heads %0 : tensor<?x40xf32> -> tensor<?x2x20xf32>
  %fifth = arith.constant 0.2 : f32
  %o = attn.attention %h, %h, %h, %fifth maps [affine_map<(b, h, g, i, j, c, d) -> (i, h, c)>, affine_map<(b, h, g, i, j, c, d) -> (j, h, c)>, affine_map<(b, h, g, i, j, c, d) -> (j, h, d)>, affine_map<(b, h, g, i, j, c, d) -> (i, h, d)>]
    : tensor<?x2x20xf32>, tensor<?x2x20xf32>, tensor<?x2x20xf32> -> tensor<?x2x20xf32>
  %attended = attn.merge_heads %o : tensor<?x2x20xf32> -> tensor<?x40xf32>
  %gate = attn.parameter_slice @gate : tensor<20x45xf32>
  %norm = attn.parameter_slice @norm : tensor<45xf32>
  %1 = attn.linear %x, %gate : tensor<?x20xf32>, tensor<20x45xf32> -> tensor<?x45xf32>
  %2 = attn.activation sigmoid %1 : tensor<?x45xf32>
  %gated = attn.layer_norm %2, %norm, %norm epsilon 1.0e-5 : tensor<?x45xf32>, tensor<45xf32>
  return %attended, %gated : tensor<?x40xf32>, tensor<?x45xf32>
}
}
"""
normal = lambda *shape: random.standard_normal(shape).astype(np.float32)


def run_kernels(target):
    tools.options = [f"--target={target}"]
    program = kernels.Program(tools, f"padding_{target}", KERNELS)
    for rows in (1, 17):
        for entry, inputs in (("activation", {"x": normal(rows, 20), "norm": normal(20)}), ("epilogue", {"x": normal(rows, 20), "w": normal(20, 20), "norm": normal(20)})):
            expected, = program.reference(entry, inputs, ["y"])
            got, = program.compiled(entry, inputs.values(), [(rows, 20)], (rows,))
            checks.near(f"{target}: {entry} of {rows} rows", got, expected, 4e-6)


def run_model(target):
    scratch = Path(tools.scratch)
    text, library, directory = scratch / "model.mlir", scratch / f"model_{target}.so", scratch / "weights"
    text.write_text(MODEL)
    packed_model.write_weights(directory, {"up": normal(20, 40), "gate": normal(20, 45), "scale": normal(40) / 4 + 3, "norm": normal(45)})
    subprocess.run([tools.raptc, text, f"--weights={directory}", f"--target={target}", "-o", library], check=True, capture_output=True)
    model = packed_model.Model(library)
    for rows in (1, 17):
        x = normal(rows, 20)
        np.save(scratch / "x.npy", x)
        widths = {"attended": 40, "gated": 45}
        resident.run([tools.reference, text, "--entry=embed", "--precision=f64", f"--weights={directory}", f"--input=x={scratch}/x.npy",
                        *(f"--output={name}={scratch}/{name}.npy" for name in widths)], check=True)
        placed = {name: packed_model.placed(np.zeros((rows, width), np.float32)) for name, width in widths.items()}
        model.run("embed", [packed_model.placed(x), *placed.values()], (rows,), 2)
        for name, got in placed.items():
            checks.near(f"{target}: {name} of {rows} rows", got, np.load(scratch / f"{name}.npy"), 4e-6)


for target in ("cpu", "generic"):
    run_kernels(target)
    run_model(target)
checks.finish()
