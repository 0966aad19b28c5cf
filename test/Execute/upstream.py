#!/usr/bin/env python3
"""Ops of linalg, tensor, arith and math between ops of attn, by the CPU's target and the generic one, against the reference in float64:
columns that fill no panel, no row, one row, more rows than a tile."""

import subprocess
from pathlib import Path

import numpy as np

import kernels
import packed_model
import resident

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(41)
ROWS = (0, 1, 17, 100)
TEXT = """attn.dim @rows min 0 max 1024
attn.dim @others min 0 max 1024
#rows = affine_map<(i, j) -> (i, j)>
#columns = affine_map<(i, j) -> (j)>
#row = affine_map<(i, j) -> (i)>
func.func @mixed(%x: tensor<?x20xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<20x24xf32> {attn.name = "w"}, %b: tensor<24xf32> {attn.name = "b"})
    -> (tensor<?x30xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x20xf32>
  %half = arith.constant 0.5 : f32
  %halves = tensor.splat %half[%m] : tensor<?x24xf32>
  %0 = attn.linear %x, %w : tensor<?x20xf32>, tensor<20x24xf32> -> tensor<?x24xf32>
  %1 = arith.mulf %0, %halves : tensor<?x24xf32>
  %2 = math.tanh %1 : tensor<?x24xf32>
  %3 = attn.activation gelu %2 : tensor<?x24xf32>
  %e = tensor.empty(%m) : tensor<?x24xf32>
  %4 = linalg.generic {indexing_maps = [#rows, #columns, #rows], iterator_types = ["parallel", "parallel"]}
     ins(%3, %b : tensor<?x24xf32>, tensor<24xf32>) outs(%e : tensor<?x24xf32>) {
  ^bb0(%a: f32, %c: f32, %old: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<?x24xf32>
  %5 = tensor.pad %4 low[0, 1] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %half : f32
  } : tensor<?x24xf32> to tensor<?x27xf32>
  %6 = tensor.extract_slice %5[0, 2] [%m, 3] [1, 1] : tensor<?x27xf32> to tensor<?x3xf32>
  %7 = tensor.concat dim(1) %5, %6 : (tensor<?x27xf32>, tensor<?x3xf32>) -> tensor<?x30xf32>
  %8 = attn.activation relu %7 : tensor<?x30xf32>
  return %8 : tensor<?x30xf32>
}
// Softmax of each row by reductions, and a matmul with its transpose.
func.func @softmax(%x: tensor<?x37xf32> {attn.name = "x", attn.dims = ["rows"]}, %y: tensor<?x37xf32> {attn.name = "y", attn.dims = ["others"]})
    -> (tensor<?x?xf32> {attn.name = "z", attn.dims = ["rows", "others"]}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %m = tensor.dim %x, %c0 : tensor<?x37xf32>
  %n = tensor.dim %y, %c0 : tensor<?x37xf32>
  %lowests = tensor.splat %lowest[%m] : tensor<?xf32>
  %zeros = tensor.splat %zero[%m] : tensor<?xf32>
  %largest = linalg.reduce ins(%x : tensor<?x37xf32>) outs(%lowests : tensor<?xf32>) dimensions = [1]
    (%in: f32, %out: f32) {
      %0 = arith.maximumf %in, %out : f32
      linalg.yield %0 : f32
    }
  %room = tensor.empty(%m) : tensor<?x37xf32>
  %powers = linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]}
    ins(%x, %largest : tensor<?x37xf32>, tensor<?xf32>) outs(%room : tensor<?x37xf32>) {
  ^bb0(%e: f32, %l: f32, %old: f32):
    %d = arith.subf %e, %l : f32
    %p = math.exp %d : f32
    linalg.yield %p : f32
  } -> tensor<?x37xf32>
  %sums = linalg.reduce { arith.addf } ins(%powers : tensor<?x37xf32>) outs(%zeros : tensor<?xf32>) dimensions = [1]
  %more = tensor.empty(%m) : tensor<?x37xf32>
  %weights = linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]}
    ins(%powers, %sums : tensor<?x37xf32>, tensor<?xf32>) outs(%more : tensor<?x37xf32>) {
  ^bb0(%e: f32, %s: f32, %old: f32):
    %p = arith.divf %e, %s : f32
    linalg.yield %p : f32
  } -> tensor<?x37xf32>
  %turned = tensor.empty(%n) : tensor<37x?xf32>
  %columns = linalg.transpose ins(%y : tensor<?x37xf32>) outs(%turned : tensor<37x?xf32>) permutation = [1, 0]
  %squares = tensor.empty(%m, %n) : tensor<?x?xf32>
  %start = linalg.fill ins(%zero : f32) outs(%squares : tensor<?x?xf32>) -> tensor<?x?xf32>
  %z = linalg.matmul ins(%weights, %columns : tensor<?x37xf32>, tensor<37x?xf32>) outs(%start : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}
// Heads by shapes of tensors; a choice by integers; a row above zeros.
func.func @shapes(%x: tensor<?x24xf32> {attn.name = "x", attn.dims = ["rows"]}, %ids: tensor<?xi32> {attn.name = "ids", attn.dims = ["rows"]}, %norm: tensor<24xf32> {attn.name = "norm"})
    -> (tensor<?x4x6xf32> {attn.name = "heads", attn.dims = ["rows"]}, tensor<?x24xf32> {attn.name = "chosen", attn.dims = ["rows"]}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x24xf32>
  %0 = attn.rms_norm %x, %norm epsilon 1.0e-5 : tensor<?x24xf32>, tensor<24xf32>
  %heads = tensor.expand_shape %0 [[0], [1, 2]] output_shape [%m, 4, 6] : tensor<?x24xf32> into tensor<?x4x6xf32>
  %twice = arith.addf %heads, %heads : tensor<?x4x6xf32>
  %flat = tensor.collapse_shape %twice [[0], [1, 2]] : tensor<?x4x6xf32> into tensor<?x24xf32>
  %two = arith.constant 2 : i32
  %e = tensor.empty(%m) : tensor<?x24xf32>
  %chosen = linalg.generic {indexing_maps = [#rows, #rows, #row, #rows], iterator_types = ["parallel", "parallel"]}
    ins(%x, %flat, %ids : tensor<?x24xf32>, tensor<?x24xf32>, tensor<?xi32>) outs(%e : tensor<?x24xf32>) {
  ^bb0(%a: f32, %b: f32, %id: i32, %old: f32):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i32
    %sum = arith.addi %k, %id : i32
    %rest = arith.remsi %sum, %two : i32
    %zero = arith.constant 0 : i32
    %isEven = arith.cmpi eq, %rest, %zero : i32
    %c = arith.select %isEven, %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<?x24xf32>
  %9 = arith.addf %chosen, %flat : tensor<?x24xf32>
  return %twice, %9 : tensor<?x4x6xf32>, tensor<?x24xf32>
}
// Every op with attn's interfaces, of which the first two are in the epilogue of a matmul.
func.func @arithmetic(%x: tensor<?x40xf32> {attn.name = "x", attn.dims = ["rows"]}, %z: tensor<?x20xf32> {attn.name = "z", attn.dims = ["rows"]}, %w: tensor<20x40xf32> {attn.name = "w"})
    -> (tensor<?x40xf32> {attn.name = "q", attn.dims = ["rows"]}) attributes {attn.entry} {
  %0 = attn.linear %z, %w : tensor<?x20xf32>, tensor<20x40xf32> -> tensor<?x40xf32>
  %y = math.tanh %0 : tensor<?x40xf32>
  %a = arith.mulf %x, %y : tensor<?x40xf32>
  %b = math.sin %a : tensor<?x40xf32>
  %c = math.cos %a : tensor<?x40xf32>
  %d = arith.addf %b, %c : tensor<?x40xf32>
  %e = math.erf %d : tensor<?x40xf32>
  %f = math.exp %e : tensor<?x40xf32>
  %g = math.log %f : tensor<?x40xf32>
  %h = math.exp2 %g : tensor<?x40xf32>
  %i = math.sqrt %h : tensor<?x40xf32>
  %j = math.rsqrt %f : tensor<?x40xf32>
  %k = arith.divf %i, %j : tensor<?x40xf32>
  %l = arith.negf %k : tensor<?x40xf32>
  %m = math.absf %l : tensor<?x40xf32>
  %n = math.tanh %m : tensor<?x40xf32>
  %o = arith.maximumf %n, %y : tensor<?x40xf32>
  %p = arith.minimumf %o, %x : tensor<?x40xf32>
  %q = arith.subf %p, %a : tensor<?x40xf32>
  return %q : tensor<?x40xf32>
}
// Tensors of indices, and of integers whose bytes are no power of two: in buffers, carried by a loop, and as places to read.
func.func @places(%x: tensor<?x20xf32> {attn.name = "x", attn.dims = ["rows"]}, %ids: tensor<?xi32> {attn.name = "ids", attn.dims = ["rows"]})
    -> (tensor<?x20xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %m = tensor.dim %x, %c0 : tensor<?x20xf32>
  %short = arith.trunci %ids : tensor<?xi32> to tensor<?xi24>
  %twice = arith.addi %short, %short : tensor<?xi24>
  %i = arith.index_cast %ids : tensor<?xi32> to tensor<?xindex>
  %at = scf.for %n = %c0 to %c3 step %c1 iter_args(%a = %i) -> (tensor<?xindex>) {
    %s = arith.addi %a, %i : tensor<?xindex>
    scf.yield %s : tensor<?xindex>
  }
  %e = tensor.empty(%m) : tensor<?x20xf32>
  %y = linalg.generic {indexing_maps = [#row, #row, #rows], iterator_types = ["parallel", "parallel"]}
    ins(%at, %twice : tensor<?xindex>, tensor<?xi24>) outs(%e : tensor<?x20xf32>) {
  ^bb0(%a: index, %t: i24, %old: f32):
    %j = linalg.index 1 : index
    %b = arith.index_cast %t : i24 to index
    %sum = arith.addi %a, %b : index
    %place = arith.remui %sum, %m : index
    %v = tensor.extract %x[%place, %j] : tensor<?x20xf32>
    linalg.yield %v : f32
  } -> tensor<?x20xf32>
  return %y : tensor<?x20xf32>
}
"""
# A model, whose weights and activations are padded in memory: rows of linalg behind and before ops of attn, in a loop, of a parameter, and as
# the weight of a matmul.
MODEL = """module attributes {attn.model = {family = "test", task = "feature-extraction", layers = 2 : i64}} {
attn.dim @tokens min 0 max 1024
attn.parameter @up layers 2 : tensor<2x20x45xf32> from [#attn.source<"up.{layer}">]
attn.parameter @down layers 2 : tensor<2x45x20xf32> from [#attn.source<"down.{layer}">]
attn.parameter @scale : tensor<20xf32> from [#attn.source<"scale">]
attn.parameter @table : tensor<20x20xf32> from [#attn.source<"table">]
func.func @embed(%x: tensor<?x20xf32> {attn.name = "x", attn.dims = ["tokens"]})
    -> (tensor<?x20xf32> {attn.name = "y", attn.dims = ["tokens"]}, tensor<?x45xf32> {attn.name = "wide", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %m = tensor.dim %x, %c0 : tensor<?x20xf32>
  %scale = attn.parameter_slice @scale : tensor<20xf32>
  %first = math.tanh %x : tensor<?x20xf32>
  %start = attn.rms_norm %first, %scale epsilon 1.0e-5 : tensor<?x20xf32>, tensor<20xf32>
  %y = scf.for %i = %c0 to %c2 step %c1 iter_args(%at = %start) -> (tensor<?x20xf32>) {
    %up = attn.parameter_slice @up[%i] : tensor<20x45xf32>
    %down = attn.parameter_slice @down[%i] : tensor<45x20xf32>
    %0 = attn.linear %at, %up : tensor<?x20xf32>, tensor<20x45xf32> -> tensor<?x45xf32>
    %1 = math.absf %0 : tensor<?x45xf32>
    %2 = attn.linear %1, %down : tensor<?x45xf32>, tensor<45x20xf32> -> tensor<?x20xf32>
    %3 = arith.addf %2, %at : tensor<?x20xf32>
    %e = tensor.empty(%m) : tensor<?x20xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%3, %scale : tensor<?x20xf32>, tensor<20xf32>) outs(%e : tensor<?x20xf32>) {
    ^bb0(%a: f32, %s: f32, %old: f32):
      %p = arith.mulf %a, %s : f32
      linalg.yield %p : f32
    } -> tensor<?x20xf32>
    scf.yield %4 : tensor<?x20xf32>
  }
  %table = attn.parameter_slice @table : tensor<20x20xf32>
  %made = math.sin %table : tensor<20x20xf32>
  %turned = attn.linear %y, %made transposed : tensor<?x20xf32>, tensor<20x20xf32> -> tensor<?x20xf32>
  %z = attn.linear %turned, %made : tensor<?x20xf32>, tensor<20x20xf32> -> tensor<?x20xf32>
  %residual = arith.addf %z, %x : tensor<?x20xf32>
  %last = arith.addf %residual, %first : tensor<?x20xf32>
  %up = attn.parameter_slice @up[%c1] : tensor<20x45xf32>
  %wide = attn.linear %last, %up : tensor<?x20xf32>, tensor<20x45xf32> -> tensor<?x45xf32>
  %half = tensor.extract_slice %wide[0, 0] [%m, 20] [1, 1] : tensor<?x45xf32> to tensor<?x20xf32>
  %both = arith.addf %half, %last : tensor<?x20xf32>
  %sum = arith.addf %both, %x : tensor<?x20xf32>
  return %sum, %wide : tensor<?x20xf32>, tensor<?x45xf32>
}
}
"""
normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
for target in ("cpu", "generic"):
    tools.options = [f"--target={target}"]
    program = kernels.Program(tools, f"upstream_{target}", TEXT)
    for rows in ROWS:
        inputs = {"x": normal(rows, 20), "w": normal(20, 24), "b": normal(24)}
        expected, = program.reference("mixed", inputs, ["y"])
        got, = program.compiled("mixed", inputs.values(), [(rows, 30)], (rows, 3))
        checks.near(f"{target}: mixed of {rows} rows", got, expected, 4e-6)
        others = 2 * rows % 37
        inputs = {"x": normal(rows, 37), "y": normal(others, 37)}
        expected, = program.reference("softmax", inputs, ["z"])
        got, = program.compiled("softmax", inputs.values(), [(rows, others)], (rows, others))
        checks.near(f"{target}: softmax of {rows} rows", got, expected, 4e-6)
        inputs = {"x": normal(rows, 40), "z": normal(rows, 20), "w": normal(20, 40) / 5}
        expected, = program.reference("arithmetic", inputs, ["q"])
        got, = program.compiled("arithmetic", inputs.values(), [(rows, 40)], (rows, 3))
        checks.near(f"{target}: arithmetic of {rows} rows", got, expected, 4e-6)
        inputs = {"x": normal(rows, 24), "ids": random.integers(-9, 9, rows).astype(np.int32), "norm": normal(24)}
        expected = program.reference("shapes", inputs, ["heads", "chosen"])
        got = program.compiled("shapes", inputs.values(), [(rows, 4, 6), (rows, 24)], (rows, 3))
        for name, own, right in zip(("heads", "chosen"), got, expected):
            checks.near(f"{target}: {name} of {rows} rows", own, right, 4e-6)
        inputs = {"x": normal(rows, 20), "ids": random.integers(0, 1000, rows).astype(np.int32)}
        expected = program.reference("places", inputs, ["y"])[0].astype(np.float32)
        got, = program.compiled("places", inputs.values(), [(rows, 20)], (rows, 3))
        checks.equal(f"{target}: places of {rows} rows", got, expected)
        checks.equal(f"places of {rows} rows by the reference", expected, inputs["x"][inputs["ids"] * 6 % max(1, rows)] if rows else got)


def run_model(target):
    scratch = Path(tools.scratch)
    text, library, directory = scratch / "model.mlir", scratch / f"model_{target}.so", scratch / "weights"
    text.write_text(MODEL)
    up, down = normal(2, 20, 45) / 4, normal(2, 45, 20) / 6
    packed_model.write_weights(directory, {"up.0": up[0], "up.1": up[1], "down.0": down[0], "down.1": down[1], "scale": normal(20), "table": normal(20, 20)})
    subprocess.run([tools.raptc, text, f"--weights={directory}", f"--target={target}", "-o", library], check=True, capture_output=True)
    model = packed_model.Model(library)
    for rows in ROWS:
        x = normal(rows, 20)
        np.save(scratch / "x.npy", x)
        resident.run([tools.reference, text, "--entry=embed", "--precision=f64", f"--weights={directory}", f"--input=x={scratch}/x.npy",
                        f"--output=y={scratch}/y.npy", f"--output=wide={scratch}/wide.npy"], check=True)
        outputs = {"y": np.zeros((rows, 20), np.float32), "wide": np.zeros((rows, 45), np.float32)}
        placed = {name: packed_model.placed(array) for name, array in outputs.items()}
        model.run("embed", [packed_model.placed(x), *placed.values()], (rows,), 2)
        for name, got in placed.items():
            checks.near(f"{target}: {name} of a model of {rows} rows", got, np.load(scratch / f"{name}.npy"), 1e-5)


for target in ("cpu", "generic"):
    run_model(target)
checks.finish()
