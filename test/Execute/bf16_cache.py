#!/usr/bin/env python3
"""A decoder with bf16 weights and cache, by bf16 dot products and AMX: grouped heads that fill no panel, sequences that begin and end within
blocks of the cache. Logits against the reference in float64 over the bf16 weights (relative L2 1e-2), and the same bits with any number of
threads. Decoding by dot products and decoding with a widened cache continue a prompt by the same tokens, for more than a block."""

import argparse
import subprocess
from pathlib import Path

import numpy as np

import processor

parser = argparse.ArgumentParser(description=__doc__)
for name in ("--raptc", "--rapt-run", "--reference", "--model", "--scratch"):
    parser.add_argument(name, required=True)
parser.add_argument("--target", choices=("cpu", "generic"), default="cpu", help="the compiler's; only that of CPUs knows dot products and AMX")
args = parser.parse_args()
scratch = Path(args.scratch)
MODES = {"dot": ["--emulate=bf16"], "tiles": ["--emulate=amx"]}
if args.target == "generic":
    MODES = {"generic": []}
elif processor.HAS_DOT:
    MODES["native dot"] = processor.DOT
if args.target == "cpu" and processor.HAS_TILES:
    MODES["native tiles"] = ["--mcpu=native"]


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def logits(*command):
    run(*command, "--input", f"input_ids={scratch / 'ids.npy'}", "--input", f"attention_mask={scratch / 'mask.npy'}", "--output", f"logits={scratch / 'logits.npy'}")
    return np.load(scratch / "logits.npy")


lengths = [300, 1, 64, 97, 15, 33]
mask = (np.arange(max(lengths))[None, :] < np.array(lengths)[:, None]).astype(np.int64)
np.save(scratch / "mask.npy", mask)
np.save(scratch / "ids.npy", np.random.default_rng(3).integers(0, 61, mask.shape) * mask)
common = [args.model, "--random-weights=12", "--dtype=bf16"]
run(args.raptc, *common, "--emit=imported", "-o", scratch / "imported.mlir")
expected, tokens, failed = None, {}, 0
for mode, options in MODES.items():
    library = scratch / f"{mode}.so"
    run(args.raptc, *common, *options, "-o", library)
    if expected is None:
        expected = logits(args.reference, scratch / "imported.mlir", "--random-weights=12", "--precision=f64").astype(np.float64)
    found = logits(args.rapt_run, library, "--threads", "1,3")
    error = np.linalg.norm(found - expected) / np.linalg.norm(expected)
    tokens[mode] = run(args.rapt_run, library, "--tokens", ",".join(str(7 * i % 61) for i in range(50)), "-n", 80, "--ignore-eos")
    right = error <= 1e-2 and tokens[mode] == tokens[next(iter(MODES))]
    failed += not right
    print(f"{'PASS' if right else 'FAIL'} {mode}: relative L2 {error:.1e}, {tokens[mode].strip()}")
raise SystemExit(failed > 0)
