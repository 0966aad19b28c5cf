#!/usr/bin/env python3
"""attn.attention_state and attn.attention_merge, compiled: the whole op, the op tiled by its interfaces (test/Dialect/Attn), and
the merge of states that are empty or not, against the formulas in float64; the same bits with any number of workers."""

import subprocess
import sys
from pathlib import Path

import numpy as np

import kernels

sys.path.insert(0, str(Path(__file__).parent.parent / "Dialect" / "Attn"))
import attention_state_tiling as states

MERGE = """attn.dim @parts min 0 max 64
attn.dim @queries min 0 max 4096
func.func @merge(%accs: tensor<?x?x11xf32> {attn.name = "accs", attn.dims = ["parts", "queries"]}, %maxs: tensor<?x?xf32> {attn.name = "maxs", attn.dims = ["parts", "queries"]},
                 %sums: tensor<?x?xf32> {attn.name = "sums", attn.dims = ["parts", "queries"]}, %acc: tensor<?x11xf32> {attn.name = "acc", attn.dims = ["queries"]},
                 %max: tensor<?xf32> {attn.name = "max", attn.dims = ["queries"]}, %sum: tensor<?xf32> {attn.name = "sum", attn.dims = ["queries"]})
    -> (tensor<?x11xf32> {attn.name = "new_acc", attn.dims = ["queries"]}, tensor<?xf32> {attn.name = "new_max", attn.dims = ["queries"]},
        tensor<?xf32> {attn.name = "new_sum", attn.dims = ["queries"]}) attributes {attn.entry} {
  %0:3 = attn.attention_merge %accs, %maxs, %sums init(%acc, %max, %sum)
    : tensor<?x?x11xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x11xf32>, tensor<?xf32>, tensor<?xf32>
  return %0#0, %0#1, %0#2 : tensor<?x11xf32>, tensor<?xf32>, tensor<?xf32>
}
"""
FLOOR = np.finfo(np.float32).min
tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(7)


def compare(label, program, entry, inputs, expected, dims):
    shapes = [expected[name].shape for name in states.OUTPUTS]
    run = lambda *how: program.compiled(entry, inputs.values(), shapes, dims, *how)
    got, at_once = run(), run(kernels.at_once, 1)
    for name, array, again in zip(states.OUTPUTS, got, at_once):
        checks.near(f"{label}: {name}", array, expected[name], 3e-6)
        checks.equal(f"{label}: {name} all at once", again, array)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def merge(parts, queries):
    x = {"accs": normal(parts, queries, 11), "maxs": 30 * normal(parts, queries), "sums": np.abs(normal(parts, queries)) + 0.5,
         "acc": normal(queries, 11), "max": normal(queries), "sum": np.abs(normal(queries)) + 0.5}
    x["accs"][:, 1:2], x["maxs"][:, 1:2], x["sums"][:, 1:2] = 0, FLOOR, 0  # query 1 saw no key in any part
    x["acc"][1:3], x["max"][1:3], x["sum"][1:3] = 0, FLOOR, 0  # queries 1 and 2 saw none before
    x["accs"][:1], x["maxs"][:1], x["sums"][:1] = 0, FLOOR, 0  # the first part is masked whole
    wide = {name: array.astype(np.float64) for name, array in x.items()}
    peak = np.maximum(wide["max"], wide["maxs"].max(0, initial=float(FLOOR)))
    alpha, beta = np.exp(wide["max"] - peak), np.exp(wide["maxs"] - peak)
    return x, {"new_acc": wide["acc"] * alpha[:, None] + (wide["accs"] * beta[:, :, None]).sum(0), "new_max": peak,
               "new_sum": wide["sum"] * alpha + (wide["sums"] * beta).sum(0)}


whole = Path(states.INPUTS, "state.mlir")
programs = {"whole": kernels.Program(tools, "whole", whole.read_text())}
if "--target=generic" in tools.options:  # its stages take affine ops as tiling makes them; grids count from 0 in steps of 1
    laid_out = f"{tools.scratch}/laid-out.mlir"
    subprocess.run([tools.raptc, whole, "--emit=laid-out", "-o", laid_out] + tools.options, check=True)
    for schedule in ("serial", "grid", "threads"):
        tiled = states.tile("rapt-opt", tools.scratch, schedule, laid_out, "canonicalize")
        programs[schedule] = kernels.Program(tools, f"compiled-{schedule}", Path(tiled).read_text())
for case in states.CASES:
    inputs, expected = states.make_case(*case)
    for name, program in programs.items():
        compare(f"{name} {case}", program, "state", inputs, expected, list(case[:3]))
merging = kernels.Program(tools, "merge", MERGE)
for parts, queries in ((3, 5), (1, 1), (7, 37), (0, 4), (2, 0)):
    compare(f"merge of {parts} parts, {queries} queries", merging, "merge", *merge(parts, queries), [parts, queries])
checks.finish()
