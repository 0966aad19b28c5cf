#!/usr/bin/env python3
"""Tiles attn.attention_state by each schedule of Inputs/state-schedules.mlir, runs the result in the reference evaluator, and
compares it with the formula in float64: attention_state_tiling.py --tools=RAPT-OPT,RAPT-REFERENCE

Shapes are ragged (queries and keys that no tile divides), with no key at all and with one, with rows that see no key, parts that are masked
whole, and initial states that are empty or not.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
INPUTS = os.path.join(HERE, "Inputs")
SCHEDULES = ("serial", "grid", "parts", "threads")
FIRST_KEY = 7
FLOOR = np.float64(np.finfo(np.float32).min)
# (queries, keys, position of the first query, whether the state is empty before)
CASES = [(7, 151, 160, False), (7, 151, 160, True), (1, 1, 20, True), (17, 97, 0, False), (8, 256, 230, True),
         (5, 127, 5, True),  # the first queries see no key, whole parts are masked
         (5, 200, 30, False),  # the last parts are masked whole
         (4, 0, 9, False), (4, 0, 9, True), (0, 5, 9, True),  # no key, no query
         (3, 64, 900, True), (3, 65, 900, False)]  # all keys are behind the window
OUTPUTS = ("new_acc", "new_max", "new_sum")
random = np.random.RandomState(5)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def expected(x):
    """The state by the formula, over all keys at once."""
    q, k, v, bias, slopes, before = (x[name].astype(np.float64) for name in ("q", "k", "v", "bias", "slopes", "max"))
    i, j = len(x["positions"]) + np.arange(len(q))[:, None], FIRST_KEY + np.arange(len(k))
    s = 0.5 * q @ k.T + bias.T + slopes[np.clip(i - j, 0, 8)]
    s = np.where((j <= i) & (j > i - 70), s, -np.inf)
    peak = np.maximum(before, s.max(1, initial=-np.inf))
    p, alpha = np.exp(s - peak[:, None]), np.exp(before - peak)
    return {"new_acc": x["acc"] * alpha[:, None] + p @ v, "new_max": peak, "new_sum": x["sum"] * alpha + p.sum(1)}


def make_case(queries, keys, first, empty):
    x = {"q": normal(queries, 5), "k": normal(keys, 5), "v": normal(keys, 11), "bias": normal(keys, queries), "slopes": normal(9),
         "positions": normal(first), "acc": normal(queries, 11), "max": normal(queries), "sum": np.abs(normal(queries)) + 0.5}
    if empty:
        x["acc"][:], x["max"][:], x["sum"][:] = 0, FLOOR, 0
    return x, expected(x)


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def tile(opt, folder, schedule, program=f"{INPUTS}/state.mlir", cleanup="lower-affine,canonicalize"):
    """`program` with its op tiled, a file in the folder."""
    library = f"transform-preload-library{{transform-library-paths={INPUTS}/state-schedules.mlir}}"
    passes = f"builtin.module({library},transform-interpreter{{entry-point={schedule}}},{cleanup})"
    text = run([opt, program, f"--pass-pipeline={passes}"])
    if schedule in ("parts", "threads") and "attn.attention_merge" not in text or "scf.for" not in text:
        sys.exit(f"{schedule} did not tile the op:\n{text}")
    with open(f"{folder}/{schedule}.mlir", "w") as file:
        file.write(text)
    return f"{folder}/{schedule}.mlir"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True)
    opt, reference = parser.parse_args().tools.split(",")
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        programs = {"whole": f"{INPUTS}/state.mlir", **{name: tile(opt, folder, name) for name in SCHEDULES}}
        for number, case in enumerate(CASES):
            inputs, results = make_case(*case)
            for name, array in inputs.items():
                np.save(f"{folder}/{number}-{name}.npy", array)
            for name, program in programs.items():
                command = [reference, program, "--entry=state", "--precision=f64"]
                command += [f"--input={x}={folder}/{number}-{x}.npy" for x in inputs]
                run(command + [f"--output={x}={folder}/{x}.npy" for x in results])
                for x, wanted in results.items():
                    found = np.load(f"{folder}/{x}.npy")
                    if found.shape != wanted.shape or not np.allclose(found, wanted, rtol=1e-12, atol=1e-12):
                        failures += 1
                        print(f"FAIL {name} {case}: {x} is {found}, but must be {wanted}")
    print(f"{len(CASES) * (1 + len(SCHEDULES))} runs, {failures} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
