#!/usr/bin/env python3
"""Tiles attn.attention_state by each schedule of Inputs/state-schedules.mlir, runs the result in the reference evaluator, and
compares it with the formula in float64: attention_state_tiling.py --tools=RAPT-OPT,RAPT-REFERENCE

Shapes are ragged (queries and panels that no tile divides), with no key at all, with rows that see no key, and with initial
states that are empty or not.
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
# (queries, panels of keys, position of the first query, limit, whether the state is empty before)
CASES = [(7, 5, 160, 150, False), (7, 5, 160, 1000, True), (1, 1, 20, 1000, True), (13, 3, 0, 1000, False), (8, 8, 300, 230, True),
         (5, 4, 5, 1000, True),  # the first queries see no key, whole parts are masked
         (6, 7, 40, 0, True), (6, 7, 40, 0, False),  # nobody sees a key
         (4, 0, 9, 1000, False), (4, 0, 9, 1000, True),  # there is none
         (3, 2, 900, 1000, True)]  # all keys are behind the window
random = np.random.RandomState(5)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def expected(x, first, limit):
    """The state by the formula, over all keys at once."""
    keys = x["v"].shape[1]
    k = x["k"].astype(np.float64).transpose(0, 2, 1).reshape(keys, 5)
    v = x["v"].astype(np.float64).transpose(1, 0, 2).reshape(keys, 64)
    i, j = first + np.arange(len(x["q"]))[:, None], FIRST_KEY + np.arange(keys)
    s = 0.5 * x["q"].astype(np.float64) @ k.T - 0.0625 * (i - j)
    s = np.where((j <= i) & (j > i - 70) & (j < limit), s, -np.inf)
    before = x["max"].astype(np.float64)
    peak = np.maximum(before, s.max(1, initial=-np.inf))
    p, alpha = np.exp(s - peak[:, None]), np.exp(before - peak)
    return {"new_acc": x["acc"] * alpha[:, None] + p @ v, "new_max": peak, "new_sum": x["sum"] * alpha + p.sum(1)}


def make_case(folder, number, queries, panels, first, limit, empty):
    x = {"q": normal(queries, 5), "k": normal(panels, 5, 32), "v": normal(2, 32 * panels, 32), "first": np.array(first),
         "limit": np.array(limit), "acc": normal(queries, 64), "max": normal(queries), "sum": np.abs(normal(queries)) + 0.5}
    if empty:
        x["acc"][:], x["max"][:], x["sum"][:] = 0, FLOOR, 0
    for name, array in x.items():
        np.save(f"{folder}/{number}-{name}.npy", array)
    return x, expected(x, first, limit)


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def tile(opt, folder, schedule):
    library = f"transform-preload-library{{transform-library-paths={INPUTS}/state-schedules.mlir}}"
    passes = f"builtin.module({library},transform-interpreter{{entry-point={schedule}}},lower-affine,canonicalize)"
    text = run([opt, f"{INPUTS}/state.mlir", f"--pass-pipeline={passes}"])
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
            inputs, results = make_case(folder, number, *case)
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
