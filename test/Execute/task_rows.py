#!/usr/bin/env python3
"""Tasks share the rows of a matmul whose residual is updated in place, each row by one task: a token's logits are the same in prompts of any length, but for the
last bits, as tiles of attention depend on the length. A row that two tasks compute is wrong by much more.
The k of these matmuls is so deep that a task has few rows, which are no multiple of a tile's before they are rounded."""

import argparse
import subprocess
from pathlib import Path

import numpy as np

parser = argparse.ArgumentParser(description=__doc__)
for name in ("--raptc", "--rapt-run", "--model", "--scratch"):
    parser.add_argument(name, required=True)
args = parser.parse_args()
scratch = Path(args.scratch)
scratch.mkdir(parents=True, exist_ok=True)
ids = np.random.default_rng(1).integers(0, 61, 350)


def logits(library, length):
    np.save(scratch / "ids.npy", ids[None, :length])
    np.save(scratch / "mask.npy", np.ones((1, length), np.int64))
    subprocess.run([args.rapt_run, library, "--input", f"input_ids={scratch / 'ids.npy'}", "--input", f"attention_mask={scratch / 'mask.npy'}",
                    "--output", f"logits={scratch / 'logits.npy'}"], check=True, capture_output=True)
    return np.load(scratch / "logits.npy")[0]


failed = 0
for mode in ("w4",):
    library = scratch / f"{mode}.so"
    subprocess.run([args.raptc, args.model, "--random-weights=12", f"--quantize={mode}", "-o", library], check=True, capture_output=True)
    whole = logits(library, len(ids))
    for length in (60, 289, 337):
        apart = np.abs(logits(library, length) - whole[:length]).max(axis=-1)
        differ = np.flatnonzero(~(apart <= 1e-5 * np.abs(whole).max()))
        failed += len(differ)
        print(f"{'FAIL' if len(differ) else 'PASS'} {mode}, {length} tokens: {len(differ)} rows differ {differ[:8]}")
raise SystemExit(failed > 0)
