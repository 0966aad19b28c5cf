#!/usr/bin/env python3
"""Decoders whose cache holds NaN or infinity wherever nothing was written: the slots of a last block that is partly filled are what
another sequence left there. Logits of prompts and of decoding are those on a cache of zeros, for each type of the cache, for dot
matmuls and tiles of bf16, with grouped heads and a window, by rows that end within blocks."""

import argparse
import ctypes
import json
import os
import subprocess
from pathlib import Path

import numpy as np

import packed_model

parser = argparse.ArgumentParser(description=__doc__)
for name in ("--raptc", "--inputs", "--scratch"):
    parser.add_argument(name, required=True)
parser.add_argument("--target", choices=("cpu", "generic"), default="cpu", help="the compiler's; only that of CPUs knows dot matmuls and tiles")
args = parser.parse_args()
scratch = Path(args.scratch)
scratch.mkdir(parents=True, exist_ok=True)
# name: configuration, raptc's flags, the largest difference relative to the largest logit: sums over keys are in another order where
# a key is left out, and what follows may round to the next bf16.
MODES = {
    "f32": ("grouped.json", [], 1e-5),
    "f32_avx2": ("odd.json", ["--mcpu=x86-64-v3"], 1e-5),
    "bf16_dot": ("grouped-layer.json", ["--dtype=bf16", "--emulate=bf16"], 2e-2),
    "bf16_tiles": ("grouped-layer.json", ["--dtype=bf16", "--emulate=amx"], 2e-2),
    "bf16_cache": ("grouped.json", ["--cache-dtype=bf16", "--mcpu=x86-64-v3"], 1e-5),
    "f16_cache": ("grouped.json", ["--cache-dtype=f16"], 1e-5),
    "int8_cache": ("grouped.json", ["--cache-dtype=int8"], 1e-5),
}
if args.target == "generic":
    MODES = {name: mode for name, mode in MODES.items() if not any(flag.startswith("--emulate") for flag in mode[1])}
    MODES["bf16"] = ("grouped-layer.json", ["--dtype=bf16"], 2e-2)
if os.environ.get("RAPT_FULL") != "1":  # each type of the cache and each kind of matmul once
    MODES = {name: mode for name, mode in MODES.items() if name not in ("f32", "bf16_dot", "f16_cache")}
# Each row's tokens of one step after another: prompts that fill no block, few queries, single ones, more than a tile.
STEPS = ((5, 70, 17, 129), (1, 1, 1, 1), (3, 2, 1, 20), (1, 1, 1, 1), (15, 40, 64, 1))
# NaN in each type, infinity in bf16, NaN in f32, infinity in f16.
PATTERNS = (0xFFFF, 0x7F80, 0x7C00)
failed = total = 0
random = np.random.default_rng(7)


def logits_of(model, manifest, tokens, pattern):
    """The logits of all tokens of all steps."""
    bounds = {name: bound[1] for name, bound in zip(manifest["entries"][0]["dims"], manifest["entries"][0]["bounds"])}
    rows, table = len(STEPS[0]), bounds["table"]
    blocks = rows * table
    cache = packed_model.placed(np.full(blocks * manifest["cache"]["block_bytes"] // 2, pattern, np.uint16))
    past, results = np.zeros(rows, np.int32), []
    for lengths, ids in zip(STEPS, tokens):
        count = sum(lengths)
        logits = packed_model.placed(np.zeros((count, manifest["model"]["vocab"]), np.float32))
        arrays = [ids, np.cumsum((0,) + lengths).astype(np.int32), past, np.arange(blocks, dtype=np.int32).reshape(rows, table),
                  np.arange(count, dtype=np.int32)]
        model.run("step", [cache, *map(packed_model.placed, arrays), logits], (count, rows, count, table, blocks), 1)
        past = past + np.array(lengths, np.int32)
        results.append(logits)
    return np.concatenate(results)


for name, (configuration, flags, tolerance) in MODES.items():
    library = scratch / f"{name}.so"
    subprocess.run([args.raptc, str(Path(args.inputs) / configuration), "--random-weights=12", *flags, "-o", str(library)], check=True, capture_output=True)
    model = packed_model.Model(library)
    artifact = packed_model.Artifact.in_dll(model.library, f"{name}_module")
    manifest = json.loads(ctypes.string_at(artifact.manifest, artifact.manifest_size))
    assert [b["name"] for b in manifest["entries"][0]["buffers"][2:]] == ["cache", "tokens", "row_begin", "past", "block_table", "want", "logits"]
    tokens = [random.integers(0, manifest["model"]["vocab"], sum(lengths)).astype(np.int32) for lengths in STEPS]
    expected = logits_of(model, manifest, tokens, 0)
    assert np.isfinite(expected).all() and np.abs(expected).max() > 0
    for pattern in PATTERNS:
        found, total = logits_of(model, manifest, tokens, pattern), total + 1
        error = np.abs(found - expected).max() / np.abs(expected).max()
        if not error <= tolerance:
            failed += 1
            print(f"FAIL {name}: {error:.1e} where unused slots hold {pattern:#x}, NaN in {np.isnan(found).any(1).sum()} of {len(found)} rows")
print(f"{total - failed} passed, {failed} failed")
raise SystemExit(failed > 0)
