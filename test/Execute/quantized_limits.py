#!/usr/bin/env python3
"""Matmuls of quantized weights with the largest codes and rows of one sign: sums of integers are as large as they get, so that one more addition in 16 bits
would overflow. Scales are 1, so all numbers are integers: the same bits as the reference gives, and as numpy's integers, for every number of rows.

Rows that several weights read are quantized for each kind."""

import subprocess
import sys
from pathlib import Path

import numpy as np

import kernels
import packed_model
import processor
import resident

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(29)
DEPTH, WIDTH = 416, 70  # no whole group of 64 or 128, no whole panel
ROWS = (0, 1, 2, 3, 5, 6, 11, 12, 19, 24, 35, 211)  # tiles of each size alone, and tasks of several
# name, the pass's options, raptc's flags
MODES = [("w8a8", "mode=w8a8", ["--quantize=w8a8"]),
         *((f"w8_{group}", f"mode=w8 group={group}", ["--quantize=w8", f"--quantize-group={group}"]) for group in (32, 64, 128)),
         *((f"w4_{group}", f"mode=w4 group={group}", ["--quantize=w4", f"--quantize-group={group}"]) for group in (32, 64, 128)),
         *((f"w4_{group}_zeros", f"mode=w4 group={group} zero-points", ["--quantize=w4", f"--quantize-group={group}", "--quantize-zero-point"])
           for group in (32, 64, 128))]
# AVX-VNNI is emulated where the processor lacks it: fewer calls. On a machine with AVX2 alone native code is that of v3.
CPUS = {"v3": ["--mcpu=x86-64-v3"], "vnni": ["--mcpu=x86-64-v3", "--mattr=+avxvnni"]}
if not processor.IS_AVX2:
    CPUS["native"] = ["--mcpu=native"]
EMULATED_ROWS = (1, 2, 3, 6, 25)
# Schedules that no target chooses: tiles of other rows, narrower vectors, panels that are unpacked for a few rows.
RESCHEDULE = Path(__file__).resolve().parents[1] / "Target" / "CPU" / "Execute" / "reschedule.py"
SCHEDULES, SCHEDULED_MODES = ("ones", "threes", "sevens", "repeats", "large"), ("w8a8", "w8_32", "w4_32", "w4_64_zeros")
TEXT = f"""module attributes {{attn.model = {{family = "test", task = "feature-extraction", layers = 1 : i64}}}} {{
attn.dim @tokens min 0 max 1024
attn.parameter @w : tensor<{DEPTH}x{WIDTH}xf32> from [#attn.source<"w">]
func.func @product(%x: tensor<?x{DEPTH}xf32> {{attn.name = "x", attn.dims = ["tokens"]}}) -> (tensor<?x{WIDTH}xf32> {{attn.name = "y", attn.dims = ["tokens"]}}) attributes {{attn.entry}} {{
  %w = attn.parameter_slice @w : tensor<{DEPTH}x{WIDTH}xf32>
  %y = attn.linear %x, %w : tensor<?x{DEPTH}xf32>, tensor<{DEPTH}x{WIDTH}xf32> -> tensor<?x{WIDTH}xf32>
  return %y : tensor<?x{WIDTH}xf32>
}}
}}
"""


def weights(mode):
    """Integers that the mode's codes with the scale 1 stand for. A column of one sign, one of the other, one of both in turn, drawn ones."""
    if mode.startswith("w8"):
        most, least, farthest = 127, -127, 127
    elif mode.endswith("zeros"):
        most, least, farthest = 15, 0, 15
    else:
        most, least, farthest = 7, -8, -8
    w = random.integers(least, most + 1, (DEPTH, WIDTH))
    w[:, 0:WIDTH:4], w[:, 1:WIDTH:4], w[:, 2:WIDTH:8] = most, least, np.where(np.arange(DEPTH) % 2 == 0, most, least)[:, None]
    # One element of each group gives it the scale 1: the farthest from zero, with zero points both ends.
    w[5::32] = farthest
    if mode.endswith("zeros"):
        w[6::32] = least
        w -= np.arange(WIDTH) % 16
    return w


def rows(count):
    x = random.integers(-127, 128, (count, DEPTH))
    x[:, 9::32] = 127
    for first, value in ((0, 127), (1, -127), (2, np.where(np.arange(DEPTH) % 2 == 0, 127, -127)), (3, np.where(np.arange(DEPTH) % 4 < 2, 127, -127))):
        x[first::7] = value
    return x.astype(np.float32)


scratch = Path(tools.scratch)
scratch.mkdir(parents=True, exist_ok=True)
emulated = processor.allow_byte_dot(tools.clang, scratch)
program, all_rows = scratch / "product.mlir", rows(max(ROWS))
program.write_text(TEXT)
np.save(scratch / "x.npy", all_rows)
for mode, how, flags in MODES:
    w, directory, quantized = weights(mode), scratch / f"{mode}-weights", scratch / f"{mode}-quantized.mlir"
    packed_model.write_weights(directory, {"w": w.astype(np.float32)})
    subprocess.run([tools.raptc.replace("raptc", "rapt-opt"), program, f"--pass-pipeline=builtin.module(attn-quantize-weights{{{how}}})", "-o", quantized], check=True)
    resident.run([tools.reference, quantized, "--entry=product", "--precision=f64", f"--weights={directory}", f"--input=x={scratch / 'x.npy'}",
                    f"--output=y={scratch / 'y.npy'}"], check=True)
    reference = np.load(scratch / "y.npy")
    checks.equal(f"{mode}: the reference", reference, (all_rows.astype(np.int64) @ w).astype(np.float64))
    compilers = {cpu: ([tools.raptc], options) for cpu, options in CPUS.items()}
    for schedule in SCHEDULES if mode in SCHEDULED_MODES else ():
        compilers[schedule] = ([sys.executable, RESCHEDULE, schedule, tools.raptc], CPUS["v3"])
    for cpu, (compiler, options) in compilers.items():
        library = scratch / f"{mode}_{cpu}.so"
        subprocess.run([*compiler, program, f"--weights={directory}", *options, *flags, "-o", library], check=True, capture_output=True)
        model, before = packed_model.Model(library), emulated()
        for count in EMULATED_ROWS if cpu == "vnni" and before is not None else ROWS:
            for workers in (1, 3) if count == max(ROWS) else (1,):
                found, guard = kernels.aligned((count, WIDTH), np.float32)
                model.run("product", [packed_model.placed(all_rows[:count]), found], (count,), workers)
                assert np.isnan(guard).all(), f"{mode}: wrote beyond its output"
                checks.equal(f"{mode}, {cpu}: {count} rows with {workers} workers", found, reference[:count].astype(np.float32))
        assert before is None or (emulated() > before) == (cpu == "vnni"), f"{mode}, {cpu}: emulated instructions"
checks.finish()
