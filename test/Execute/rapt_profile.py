#!/usr/bin/env python3
"""The FLOPs and weights that `rapt-run --profile` tells are those that follow from a model's configuration and the lengths that
ran, exactly; and the seconds of its rows are those of all."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

import compiled

parser = argparse.ArgumentParser(description=__doc__)
for name in ("--raptc", "--rapt-run", "--models", "--scratch"):
    parser.add_argument(name, required=True)
parser.add_argument("--target", default="cpu", help="raptc's; on the CPU a matmul is one dispatch")
args = parser.parse_args()
scratch = Path(args.scratch)
scratch.mkdir(parents=True, exist_ok=True)
passed = failed = 0


def check(name, right, detail=""):
    global passed, failed
    passed, failed = passed + bool(right), failed + (not right)
    print(f"{'PASS' if right else 'FAIL'} {name} {detail}")


def profile(model, *options):
    """The rows of a run, after checks that hold for every model."""
    library, file = scratch / f"{model}.so", scratch / f"{model}.json"
    if not library.exists():
        compiled.library(args.raptc, f"{args.models}/{model}", scratch)
    subprocess.run([args.rapt_run, str(library), "--threads", "1", *options, f"--profile={file}"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    found = json.loads(file.read_text())
    rows = found["rows"]
    seconds = sum(row["seconds"] for row in rows)
    check(f"{model}: seconds", abs(seconds - found["seconds"]) < 1e-9 and seconds > 0)
    if args.target == "cuda":
        check(f"{model}: no row has a limit", all(row["limit_seconds"] is None for row in rows))
        return rows
    check(f"{model}: every row has a limit or costs nothing",
          all(row["limit_seconds"] > 0 or not (row["flops"] or row["weight_bytes"]) for row in rows))
    return rows


def total(rows, key, entry=None, op=None):
    return sum(row[key] for row in rows if entry in (None, row["entry"]) and op in (None, row["op"]))


# GPT-2: a prompt of 7 tokens, then 4 single ones.
c = json.loads(Path(f"{args.models}/tiny-gpt/config.json").read_text())
d, layers, inner, vocabulary = c["n_embd"], c["n_layer"], c["n_inner"], c["vocab_size"]
rows = profile("tiny-gpt", "--tokens", "5,6,7,8,9,10,11", "-n", "5", "--ignore-eos")
block = 2 * (4 * d * d + 2 * d * inner)
check("tiny-gpt: products of the prompt", total(rows, "flops", "step", "linear") == 7 * layers * block + 2 * d * vocabulary)
check("tiny-gpt: products of single tokens",
      total(rows, "flops", "step, 1 token", "linear") == 4 * (layers * block + 2 * d * vocabulary))
pairs = 7 * 8 // 2
check("tiny-gpt: attention of the prompt", total(rows, "flops", "step", "attention") == layers * pairs * 4 * d)
pairs = 8 + 9 + 10 + 11
check("tiny-gpt: attention of single tokens", total(rows, "flops", "step, 1 token", "attention") == layers * pairs * 4 * d)
check("tiny-gpt: cache of single tokens", total(rows, "cache_bytes", "step, 1 token", "attention") == layers * pairs * 8 * d)
check("tiny-gpt: weights of a step",
      total(rows, "weight_bytes", "step", "linear") == 4 * (layers * (block // 2 + 3 * d + d + inner + d) + d * vocabulary))
layer = [row for row in rows if row["weights"] == "h.{layer}.mlp.c_fc" and row["entry"] == "step"]
check("tiny-gpt: layers", [row["layer"] for row in layer] == list(range(layers)) and all(row["calls"] == 1 or args.target != "cpu" for row in layer))

# T5: an encoder of 6 tokens, then 3 steps that look at all of them.
c = json.loads(Path(f"{args.models}/number-speller/config.json").read_text())
d, inner, heads, vocabulary = c["d_model"], c["d_ff"], c["num_heads"] * c["d_kv"], c["vocab_size"]
rows = profile("number-speller", "--tokens", "5,6,7,8,9,10", "-n", "3", "--ignore-eos")
feed, own = 2 * 3 * d * inner, 2 * 4 * d * heads
encoder, decoder = c["num_layers"], c["num_decoder_layers"]
check("number-speller: products of the encoder",
      total(rows, "flops", "encode", "linear") == 6 * (encoder * (own + feed) + decoder * 2 * 2 * d * heads))
check("number-speller: attention of the encoder", total(rows, "flops", "encode", "attention") == encoder * 36 * 4 * heads)
check("number-speller: products of the steps", total(rows, "flops", "step, 1 token", "linear") ==
      3 * (decoder * (own + 2 * 2 * d * heads + feed) + 2 * d * vocabulary))
check("number-speller: attention of the steps",
      total(rows, "flops", "step, 1 token", "attention") == decoder * (1 + 2 + 3 + 3 * 6) * 4 * heads)

# ViT: two images, whose tokens follow from their size.
c = json.loads(Path(f"{args.models}/tiny-vit/config.json").read_text())
d, inner, layers, patch = c["hidden_size"], c["intermediate_size"], c["num_hidden_layers"], c["patch_size"]
size = c["image_size"]
patches = (size // patch) ** 2
np.save(scratch / "pixels.npy", np.random.default_rng(1).random((2, 3, size, size), np.float32))
rows = profile("tiny-vit", "--input", f"pixel_values={scratch / 'pixels.npy'}", "--output", f"logits={scratch / 'logits.npy'}")
check("tiny-vit: products", total(rows, "flops", "forward", "linear") ==
      2 * (2 * patches * 3 * patch * patch * d + (patches + 1) * layers * 2 * (4 * d * d + 2 * d * inner) + 2 * d * len(c["id2label"])))
check("tiny-vit: attention", total(rows, "flops", "forward", "attention") == 2 * layers * (patches + 1) ** 2 * 4 * d)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
