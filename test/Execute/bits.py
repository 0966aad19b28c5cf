#!/usr/bin/env python3
"""The logits of a compiled model have the same bits with any number of threads, and on a narrower instruction set the same
values up to rounding (relative L2 1e-5). Rows of unequal lengths, one of a single token."""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np

parser = argparse.ArgumentParser(description=__doc__)
for name in ("--raptc", "--rapt-run", "--model", "--scratch"):
    parser.add_argument(name, required=True)
args = parser.parse_args()
scratch = Path(args.scratch)
passed = failed = 0


def check(name, right, detail=""):
    global passed, failed
    passed, failed = passed + bool(right), failed + (not right)
    print(f"{'PASS' if right else 'FAIL'} {name} {detail}")


def logits(library, threads):
    out = scratch / "logits.npy"
    subprocess.run([args.rapt_run, str(library), "--threads", str(threads), "--input", f"input_ids={scratch / 'ids.npy'}",
                    "--input", f"attention_mask={scratch / 'mask.npy'}", "--output", f"logits={out}"], check=True)
    return np.load(out)


scratch.mkdir(parents=True, exist_ok=True)
lengths = [131, 1, 64, 97]
mask = (np.arange(max(lengths))[None, :] < np.array(lengths)[:, None]).astype(np.int64)
np.save(scratch / "mask.npy", mask)
np.save(scratch / "ids.npy", np.random.default_rng(7).integers(0, 1000, mask.shape) * mask)
for cpu in ("native", "x86-64-v3"):
    subprocess.run([args.raptc, args.model, f"--mcpu={cpu}", "-o", str(scratch / f"{cpu}.so")], check=True)
reference = logits(scratch / "native.so", 1)
check("padding is zero", not reference[mask == 0].any() and np.abs(reference[mask == 1]).max() > 0.1)
for threads in (2, 7):
    check(f"{threads} threads", np.array_equal(logits(scratch / "native.so", threads).view(np.uint32), reference.view(np.uint32)))
narrow = logits(scratch / "x86-64-v3.so", 2)
error = np.linalg.norm(narrow.astype(np.float64) - reference) / np.linalg.norm(reference.astype(np.float64))
check("x86-64-v3", error < 1e-5, f"relative L2 {error:.1e}")
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
