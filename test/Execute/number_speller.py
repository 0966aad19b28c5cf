#!/usr/bin/env python3
"""Compares compiled test/models/number-speller with what PyTorch computed (its expected.json).

    number_speller.py --rapt-run build/bin/rapt-run MODEL.so

Checked are that every held-out number's words are the likeliest ids at each place, given those before (what greedy
decoding makes, computed at once), a few numbers as texts, that at least 95 % of the held-out ones were right, and the
directory's size. test/models/number-speller/compare.py decodes every held-out number. Prints "N passed, N failed"; exit
status 1 if any failed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy

import report

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models", "number-speller")
LARGEST = 1_500_000
TOGETHER = 64
TEXTS = 5
sys.path.insert(0, MODEL)

import spelling  # noqa: E402


def pad(rows):
    mask = numpy.array([[i < len(row) for i in range(max(map(len, rows)))] for row in rows]).astype(numpy.int64)
    ids = numpy.zeros(mask.shape, numpy.int64)
    for row, values in zip(ids, rows):
        row[: len(values)] = values
    return ids, mask


def run(options, *arguments):
    done = subprocess.run([options.rapt_run, options.library, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stderr}"
    return done.stdout.strip()


def chosen(options, work, sources, targets):
    """For each row the likeliest id behind each of the target's ids before it."""
    found = []
    for first in range(0, len(sources), TOGETHER):
        arrays = (*pad(sources[first : first + TOGETHER]), *pad([[spelling.PAD, *row[:-1]] for row in targets[first : first + TOGETHER]]))
        line = []
        for name, array in zip(("input_ids", "attention_mask", "decoder_input_ids", "decoder_attention_mask"), arrays):
            numpy.save(os.path.join(work, name + ".npy"), array)
            line += ["--input", f"{name}={os.path.join(work, name)}.npy"]
        out = os.path.join(work, "logits.npy")
        run(options, *line, "--output", f"logits={out}")
        found += numpy.load(out).argmax(-1).tolist()
    return [row[: len(target)] for row, target in zip(found, targets)]


def checks(options):
    """(what, whether it holds, the figures)"""
    with open(os.path.join(MODEL, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    yield report.directory_size(MODEL, LARGEST)
    texts = {int(number): text for number, text in expected["predictions"].items()}
    numbers = sorted(texts)
    yield "held-out numbers", numbers == spelling.held_out(), f"{len(numbers)}"
    right = sum(texts[number] == spelling.text(number) for number in numbers) / len(numbers)
    yield "right ones", right >= 0.95 and right == expected["right"], f"{right:.1%}"
    # PyTorch's ids are those of its texts: a text has one way to be cut into pieces of the form that it was trained on.
    rows = [[*(spelling.IDS[piece] for word in texts[n].split(" ") for piece in cut(word)), spelling.END] for n in numbers]
    with tempfile.TemporaryDirectory(prefix="rapt-speller-") as work:
        found = chosen(options, work, [spelling.source(n) for n in numbers], rows)
    wrong = [number for number, row, ids in zip(numbers, found, rows) if row != ids]
    yield "every held-out number", not wrong, f"{len(numbers) - len(wrong)} are PyTorch's" + (f", not {wrong[:5]}" if wrong else "")
    for number in numbers[:: len(numbers) // TEXTS]:
        text = run(options, "-p", str(number))
        yield f"{number}", text == texts[number], text


def cut(word):
    first, *rest = word.split("-")
    return [spelling.SPACE + first, *("-" + part for part in rest)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--rapt-run", required=True)
    options = parser.parse_args()
    report.finish(checks(options), "family t5 f32", "family t5 tokenizer Unigram", "family t5 decode")


if __name__ == "__main__":
    main()
