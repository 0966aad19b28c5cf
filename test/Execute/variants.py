#!/usr/bin/env python3
"""A library with code for several CPUs: each variant that this machine can run gives the reference's logits (relative L2 1e-5), the
same bits with any number of threads and the weights of a library for one CPU; the best that a machine has is what it takes, here
and on emulated processors. Rows of unequal lengths, one of a single token."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

parser = argparse.ArgumentParser(description=__doc__)
for name in ("--raptc", "--rapt-run", "--rapt-reference", "--model", "--scratch"):
    parser.add_argument(name, required=True)
args = parser.parse_args()
scratch = Path(args.scratch)
passed = failed = 0
NAMES = ["x86-64-v3", "sapphirerapids", "cascadelake"]
ORDER = ["sapphirerapids", "cascadelake", "x86-64-v3"]  # best first


def check(name, right, detail=""):
    global passed, failed
    passed, failed = passed + bool(right), failed + (not right)
    print(f"{'PASS' if right else 'FAIL'} {name} {detail}")


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


def logits(program, *flags):
    """The logits, or what the program says instead."""
    out = scratch / "logits.npy"
    done = run(*program, *flags, "--input", f"input_ids={scratch / 'ids.npy'}", "--input",
               f"attention_mask={scratch / 'mask.npy'}", "--output", f"logits={out}")
    return np.load(out) if done.returncode == 0 else done.stderr


def distance(found):
    return np.linalg.norm(found.astype(np.float64) - reference) / np.linalg.norm(reference.astype(np.float64))


def taken(program):
    """The variant that a run without --variant takes, as its statistics say; what the program says where there is none."""
    done = run(*program, library, "--tokens", "1,2,3", "-n", "1", "--stats")
    return done.stderr.split("code for ")[-1].strip() if done.returncode == 0 else done.stderr


scratch.mkdir(parents=True, exist_ok=True)
lengths = [131, 1, 64, 97]
mask = (np.arange(max(lengths))[None, :] < np.array(lengths)[:, None]).astype(np.int64)
np.save(scratch / "mask.npy", mask)
np.save(scratch / "ids.npy", np.random.default_rng(7).integers(0, 1000, mask.shape) * mask)
library, single = scratch / "all.so", scratch / "one.so"
for command in ([args.raptc, args.model, "--mcpu=" + ",".join(NAMES), "-j2", "-o", library],
                [args.raptc, args.model, "--mcpu=" + ",".join(reversed(NAMES)), "-j1", "--prefix=all", "-o", scratch / "oth.so"],
                [args.raptc, args.model, "--mcpu=x86-64-v3", "--no-weights", "-o", scratch / "small.so"],
                [args.raptc, args.model, "--mcpu=x86-64-v3", "-o", single],
                [args.raptc, args.model, "--emit=imported", "-o", scratch / "imported.mlir"]):
    done = run(*command)
    if done.returncode:
        sys.exit(done.stderr)
target = json.loads(run(args.rapt_run, library, "--info", "--json").stdout)["target"]
check("best first", [variant["cpu"] for variant in target["variants"]] == ORDER)
weights, = scratch.glob("all-*.weights")
check("weights as for one CPU", weights.read_bytes() == next(scratch.glob("one-*.weights")).read_bytes())
check("order and threads do not matter", library.read_bytes() == (scratch / "oth.so").read_bytes().replace(b"oth-", b"all-"))
sizes = {path: path.stat().st_size for path in (library, scratch / "small.so")}
check("a variant takes as much as a library", sizes[library] < 1.1 * len(NAMES) * sizes[scratch / "small.so"], str(sorted(sizes.values())))

reference = logits([args.rapt_reference, scratch / "imported.mlir", f"--weights={args.model}"])
if isinstance(reference, str):
    sys.exit(reference)
here = []
for name in ORDER:
    found = logits([args.rapt_run, library], "--variant", name, "--threads", "1,2,7")
    if isinstance(found, str):
        check(f"{name} is refused", f"this machine cannot run it as asked: for {name} it lacks " in found and "--mcpu=x86-64-v3" in found, found)
        continue
    here.append(name)
    check(name, distance(found) < 1e-5, f"relative L2 {distance(found):.1e}")
    check("padding is zero", not found[mask == 0].any() and np.abs(found[mask == 1]).max() > 0.1)
check("this machine runs some", here)
check("takes the best", taken([args.rapt_run]) == here[0], taken([args.rapt_run]))
card = run(args.rapt_run, library).stdout
check("card", "target: x86_64, " + ", ".join(name + (" (this machine's)" if name == here[0] else "") for name in ORDER) +
      ": runs only on CPUs with " in card, card)
profile = run(args.rapt_run, library, "--tokens", "1,2,3", "-n", "3", "--profile", "--variant", here[-1])
check(f"profile of {here[-1]}", "step" in profile.stdout + profile.stderr and "attention" in profile.stdout + profile.stderr, profile.stderr)
unknown = logits([args.rapt_run, library], "--variant", "znver4")
check("a variant that is not there", isinstance(unknown, str) and f"has no variant znver4; it has {', '.join(ORDER)}" in unknown)

found = taken(["qemu-x86_64", "-cpu", "Haswell", args.rapt_run])
check("an emulated Haswell", found == "x86-64-v3", found)
found = taken(["qemu-x86_64", "-cpu", "Nehalem", args.rapt_run])
check("an emulated Nehalem", all(f"for {name} it lacks " in found for name in ORDER) and "for x86-64-v3 it lacks avx, avx2" in found, found)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
