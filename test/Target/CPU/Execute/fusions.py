#!/usr/bin/env python3
"""Fusions that are taken out of the laid-out text give the same bits: a model with grouped queries, rotary positions and a gated linear unit, in f32, in bf16
by dot products, and with dynamically quantized activations."""

import argparse
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("raptc")
parser.add_argument("scratch", type=Path)
arguments = parser.parse_args()
raptc, scratch, inputs = arguments.raptc, arguments.scratch, Path(__file__).resolve().parents[3] / "Execute" / "Inputs"
LENGTHS = [70, 1, 33]  # of sequences: several tiles of rows, and the rest of one
MARK = r"attn_cpu\.fused_into = #attn_cpu\.root<\w+>"
KINDS = {"dual matmul": "attn.linear", "rotation": "attn.rope", "cast": "attn_cpu.cast_rows"}
# For each code its options, and the kinds of fusions that it has.
CODES = {"f32": (["--dtype=f32"], ["dual matmul", "rotation"]), "bf16": (["--dtype=bf16", "--emulate=bf16"], ["dual matmul", "rotation", "cast"]),
         "int8": (["--quantize=w8a8"], ["dual matmul", "rotation"])}
MADE_BEFORE = ("--dtype=", "--quantize=")


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stderr}")


def logits(library):
    run("rapt-run", library, "--input", f"input_ids={scratch / 'ids.npy'}", "--input", f"attention_mask={scratch / 'mask.npy'}", "--output",
        f"logits={scratch / 'logits.npy'}")
    return np.load(scratch / "logits.npy")


def without(text, kind):
    """The text without the fusions of a kind, which it must have."""
    lines, count = text.split("\n"), 0
    for i, line in enumerate(lines):
        if f" {KINDS[kind]} " in line:
            lines[i], found = re.subn(f", {MARK}|{MARK}, |{MARK}", "", line)
            count += found
    if not count:
        raise SystemExit(f"no fusion of the kind '{kind}'")
    return "\n".join(lines)


scratch.mkdir(parents=True, exist_ok=True)
mask = (np.arange(max(LENGTHS))[None, :] < np.array(LENGTHS)[:, None]).astype(np.int64)
np.save(scratch / "mask.npy", mask)
np.save(scratch / "ids.npy", np.random.default_rng(24).integers(0, 61, mask.shape) * mask)
model = scratch / "model"
model.mkdir(exist_ok=True)
shutil.copy(inputs / "grouped-layer.json", model / "config.json")
run(raptc, inputs / "grouped-layer.json", "--random-weights=12", "--save-weights", model / "model.safetensors", "-o", scratch / "seeded.so")
for code, (options, kinds) in CODES.items():
    laid_out, source, library = scratch / "laid-out.mlir", scratch / "text.mlir", scratch / "text.so"
    run(raptc, model, *options, "--emit=laid-out", "-o", laid_out)
    after = [option for option in options if not option.startswith(MADE_BEFORE)]

    def compiled(text):
        source.write_text(text)
        run(raptc, source, *after, "--weights", model, "-o", library)
        return logits(library)

    text = laid_out.read_text()
    expected = compiled(text)
    for kind in kinds:
        text = without(text, kind)
    if "fused_into" in text or not np.array_equal(compiled(text), expected):
        raise SystemExit(f"{code}: other bits without fusions")
print(f"{len(CODES)} texts without fusions give the same bits")
