#!/usr/bin/env python3
"""Compiles test/models/date-translator and compares it with what PyTorch computed (heldout.tsv, expected.json).

    date_translator.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run --rapt-reference build/bin/rapt-reference
                       --runtime build/lib/librapt_runtime.so [--all]

Checked are the figures of expected.json (98 % of the dates right, the attention's largest weight right for 95 % of the
digits), that the model's directory holds at most 4 MB, the held-out dates' translations (the first ones by rapt-run,
--all every one), greedy and by beams against test/Reference/numpy/recurrent.py, and through the C interface what a
sequence keeps. Prints "N passed, N failed"; exit status 1 if any failed.
"""

import argparse
import json
import os
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import alignment  # noqa: E402
import recurrent  # noqa: E402
import recurrent_states  # noqa: E402
import report  # noqa: E402
from context import Context  # noqa: E402
from encoder_decoder_generation import run  # noqa: E402

MODEL = os.path.join(HERE, "..", "models", "date-translator")
LARGEST = 4_000_000
FEW = 8


def held():
    """[(a date as written, ISO, PyTorch's translation)]"""
    with open(os.path.join(MODEL, "heldout.tsv"), encoding="utf-8") as file:
        return [tuple(line.rstrip("\n").split("\t")) for line in file]


def logSoftmax(x):
    return x - x.max() - numpy.log(numpy.exp(x - x.max()).sum())


def beamSearch(model, source, beams, most, end):
    """Tokens of the best sequence by its mean log probability, the end included: each step keeps the likeliest `beams` open
    ones of twice as many candidates; a candidate that ends counts where it is among the first `beams`."""
    model.encode(source)
    open_, closed = [(0.0, [], model.first(), None)], []
    for _ in range(most):
        candidates = []
        for score, tokens, states, fed in open_:
            logits, after, fed = model.advance(tokens[-1] if tokens else model.settings["decoder_start_token_id"], states, fed)
            candidates += [(score + p, tokens + [i], after, fed) for i, p in enumerate(logSoftmax(logits))]
        candidates.sort(key=lambda candidate: -candidate[0])
        open_ = []
        for rank, candidate in enumerate(candidates[:2 * beams]):
            if candidate[1][-1] != end:
                open_.append(candidate)
            elif rank < beams:
                closed.append((candidate[0] / len(candidate[1]), candidate[1]))
        open_ = open_[:beams]
        if len(closed) >= beams and sorted(closed)[-beams][0] >= open_[0][0] / len(open_[0][1]):
            break
    return max(closed)[1][:-1]


def checks(options, library):
    """(what, whether it holds, the figures)"""
    with open(os.path.join(MODEL, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    yield report.directory_size(MODEL, LARGEST)
    dates = held()
    right = sum(iso == found for _, iso, found in dates)
    yield "dates", len(dates) == expected["dates"] > FEW and right == expected["right"] >= 0.98 * len(dates), f"{right} of {len(dates)}, {expected}"
    yield "alignment", expected["aligned"] >= 0.95 * expected["digits"] > 0, f"{expected}"

    with open(os.path.join(MODEL, "tokenizer.json"), encoding="utf-8") as file:
        ids = json.load(file)["model"]["vocab"]
    names = {i: token for token, i in ids.items()}
    model, end = recurrent.load(MODEL), ids["</s>"]
    for place, (text, _, torch) in enumerate(dates if options.all else dates[:FEW]):
        found = run(options.rapt_run, library, "-p", text)
        if found != torch or place < FEW:
            yield f"greedy {text!r}", found == torch, f"{found!r}, PyTorch {torch!r}"
    source = [ids[c] for c in "1 march 77, or may"]  # nothing that it was trained on: the beams differ
    for beams in (1, 2, 5):
        wanted = "".join(names[i] for i in beamSearch(model, source, beams, 40, end))
        found = run(options.rapt_run, library, "-p", "1 March 77, or May", "--beams", str(beams))
        yield f"{beams} beams", found == wanted, f"{found!r}, expected {wanted!r}"
    context = Context(options.runtime, library, len(ids), cache_tokens=64 * 4, max_step_tokens=40)
    yield from recurrent_states.translator(context, model, [ids[c] for c in "3rd may 1979"], [ids[c] for c in "21 nov 2026"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("raptc", "rapt-run", "rapt-reference", "runtime"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--all", action="store_true", help="every held-out date through rapt-run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rapt-dates-") as work:
        library = os.path.join(work, "dates.so")
        run(options.raptc, MODEL, *alignment.FLAGS, "-o", library)
        results = [*checks(options, library), *alignment.checks(options, work, library, FEW)]
    report.finish(results, "family recurrent-encoder-decoder decode", "family recurrent-encoder-decoder tokenizer BPE")


if __name__ == "__main__":
    main()
