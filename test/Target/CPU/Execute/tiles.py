#!/usr/bin/env python3
"""Models whose matmuls and attention take instructions on tiles, as a processor that has them would run them: on one that lacks
them test/Execute/Inputs/matrix_tiles.c does what each says. The same bits as by raptc --emulate=amx, whose vector code bf16_attention.py and
others compare with float64, and the same with any number of threads. The instructions are counted: matmuls of the model's type
and of no other, as few loads as the schedule has, tiles configured for a task and not for each matmul."""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "Execute"))

import processor  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__)
for name in ("--raptc", "--rapt-run", "--clang", "--scratch", "--models", "--inputs"):
    parser.add_argument(name, required=True)
args = parser.parse_args()
scratch, models, inputs = Path(args.scratch), Path(args.models), Path(args.inputs)
random, failed, total = np.random.default_rng(41), 0, 0


def run(*command, environment=None):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"exit status {done.returncode} of {' '.join(map(str, command))}\n{done.stderr}")


def check(name, right, detail=""):
    global failed, total
    failed, total = failed + (not right), total + 1
    if not right:
        print(f"FAIL {name} {detail}")


def unlisted(library):
    """The library with a manifest that asks for no tiles, and so is taken where they are missing."""
    if stand_in:
        content = library.read_bytes()
        for feature in (b'"amx-tile"', b'"amx-bf16"', b'"amx-int8"'):
            assert content.count(feature) == 1, f"{library} names {feature} {content.count(feature)} times"
            content = content.replace(feature, b'"sse2"'.ljust(len(feature)))
        library.write_bytes(content)
    return library


def outputs(library, arrays, names, threads=1):
    """The outputs of an entry, and how many of each AMX instruction it took; none is counted where the processor has them."""
    counts, command = scratch / "counts.txt", [args.rapt_run, library, "--threads", threads]
    counts.unlink(missing_ok=True)
    for name, array in arrays.items():
        np.save(scratch / f"{name}.npy", array)
        command += ["--input", f"{name}={scratch / name}.npy"]
    for name in names:
        command += ["--output", f"{name}={scratch / name}.npy"]
    run(*command, environment={**os.environ, **({"LD_PRELOAD": str(stand_in), "RAPT_TILES": str(counts)} if stand_in else {})})
    found = {name: np.load(scratch / f"{name}.npy").view(np.uint32) for name in names}
    text = counts.read_text() if counts.exists() else ""
    return found, {name: int(count) for name, count in re.findall(r"(\w+) (\d+)", text)}


def ragged(lengths, vocabulary):
    mask = (np.arange(max(lengths))[None, :] < np.array(lengths)[:, None]).astype(np.int64)
    return {"input_ids": random.integers(0, vocabulary, mask.shape) * mask, "attention_mask": mask}


# name: model, raptc's flags, inputs, outputs, the type of its matmuls
CASES = {
    "cache": (inputs / "grouped-layer.json", ["--dtype=bf16"], ragged([170, 1, 64, 97, 15, 33], 61), ["logits"], "bf16"),
    "bytes": (inputs / "odd.json", ["--quantize=w8a8"], ragged([130, 17], 97), ["logits"], "bytes"),
    "image": (models / "tiny-vit", ["--dtype=bf16"], {"pixel_values": random.standard_normal((2, 3, 32, 32)).astype(np.float32)}, ["logits"], "bf16"),
}
scratch.mkdir(parents=True, exist_ok=True)
stand_in = None if processor.HAS_TILES else processor.build_tiles(args.clang, scratch)
for name, (model, flags, arrays, names, products) in CASES.items():
    flags = flags + (["--random-weights=12"] if model.suffix == ".json" else [])
    vector, tiles = scratch / f"{name}-vector.so", scratch / f"{name}.so"
    run(args.raptc, model, *flags, "--mcpu=native", "--emulate=amx", "-o", vector)
    run(args.raptc, model, *flags, *processor.TILES, "-o", tiles)
    expected, _ = outputs(vector, arrays, names)
    found, counts = outputs(unlisted(tiles), arrays, names)
    again, _ = outputs(tiles, arrays, names, threads=3)
    for output in names:
        check(f"{name}: {output}", np.array_equal(found[output], expected[output]), f"differs in {np.mean(found[output] != expected[output]):.1%} of its numbers")
        check(f"{name}: {output} by three threads", np.array_equal(found[output], again[output]))
    if not stand_in:
        continue
    other = "bytes" if products == "bf16" else "bf16"
    check(f"{name}: products", counts[products] > 1000 and counts[other] == 0, str(counts))
    check(f"{name}: loads", counts["loads"] <= 1.5 * counts[products], str(counts))
    check(f"{name}: configurations", 0 < counts["configurations"] == counts["releases"] < counts[products] / 50, str(counts))
print(f"{total - failed} passed, {failed} failed")
raise SystemExit(failed > 0 or total == 0)
