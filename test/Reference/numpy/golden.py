#!/usr/bin/env python3
"""Makes the golden file of a seeded model in float64. Run by hand; takes a minute a file for GPT-2 124M.

    golden.py ../../models/gpt2 --seed 1 --prompt 128 --output gpt2-124m-128.json

The sequence is --prompt tokens and 16 more, ids from randomweights.tokens(). The prompt is computed at once and the
others one by one through the cache, and the whole at once as well: both must agree to 1e-12. The file holds 512
columns of 8 positions (the last three are decode steps), and norm, argmax, the argmax's lead over the second and the
log-sum-exp of every position.
"""

import argparse
import json
import os

import numpy

import gpt2
import randomweights

STEPS, COLUMNS = 16, 512


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--prompt", type=int, required=True)
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    config = gpt2.readConfig(options.directory)
    model = gpt2.Model(config, randomweights.tensors(config, options.seed))
    vocabulary, prompt = model.settings["vocab_size"], options.prompt
    length = prompt + STEPS
    ids = randomweights.tokens(options.seed, length, vocabulary)
    logits = model.batch(ids[None], prefill=prompt)[0]
    whole = model.logits(ids)
    drift = numpy.linalg.norm(whole - logits) / numpy.linalg.norm(logits)
    assert drift < 1e-12, f"decode differs from prefill by {drift:.1e}"

    positions = [0, 1, prompt // 4, prompt // 2, prompt - 1, prompt, prompt + STEPS // 2, prompt + STEPS - 1]
    columns = numpy.unique(numpy.linspace(0, vocabulary - 1, COLUMNS).round().astype(int))
    best = numpy.sort(numpy.partition(logits, -2, axis=-1)[:, -2:], axis=-1)
    top = logits.max(-1)
    rows = {
        "norm": numpy.linalg.norm(logits, axis=-1), "lead": best[:, 1] - best[:, 0],
        "logsumexp": top + numpy.log(numpy.exp(logits - top[:, None]).sum(-1)),
    }
    digits = lambda values: [float(f"{v:.12g}") for v in values]
    document = {
        "model": os.path.basename(os.path.normpath(options.directory)), "seed": options.seed, "prompt": prompt,
        "steps": STEPS, "ids": ids.tolist(), "positions": positions, "columns": columns.tolist(),
        "logits": [digits(logits[p, columns]) for p in positions], "argmax": logits.argmax(-1).tolist(),
        **{name: digits(values) for name, values in rows.items()},
    }
    with open(options.output, "w", encoding="utf-8") as file:
        json.dump(document, file, separators=(",", ":"))
        file.write("\n")
    print(f"{options.output}: logits up to {abs(logits).max():.3f}, deviation {logits.std():.3f}, drift {drift:.1e}")


if __name__ == "__main__":
    main()
