#!/usr/bin/env python3
"""Compiles test/models/shape-captioner and compares it with what PyTorch computed (expected.json).

    shape_captioner.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run --runtime build/lib/librapt_runtime.so [--all]

Checked are the figures of expected.json (70 % of the captions right, the attention's largest weight on the shape for 90 % of the words about
one), that the model's directory holds at most 1 MB, the captions of held-out pictures (--all: every one), of the golden ones by rapt-run, one
by one and together, greedy and by beams against test/Reference/numpy/captioner.py, and the pictures of where it looks. Prints
"N passed, N failed"; exit status 1 if any failed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "..", "models", "shape-captioner")
sys.path[:0] = [os.path.join(HERE, "..", "Reference", "numpy"), MODEL]

import attention_weights  # noqa: E402
import captioner  # noqa: E402
import date_translator  # noqa: E402
import report  # noqa: E402
import scenes  # noqa: E402
from context import Context  # noqa: E402

LARGEST, FEW, TOGETHER, MOST = 1_000_000, 48, 24, 20
GOLDEN = [os.path.join(MODEL, "golden", f"{number}.png") for number in range(8)]


def run(*command, fails=None):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    assert done.returncode == (1 if fails else 0) and (not fails or fails in done.stderr), (command, done)
    return done.stdout


def pixelsOf(number):
    """The pixel values that the processor of preprocessor_config.json makes of a held-out picture, which has the model's size."""
    picture = scenes.scene(scenes.HELD_OUT, number)[0].astype(numpy.float64)
    scaled = (picture * (1 / 255)).astype(numpy.float32)
    return ((scaled - numpy.float32(0.5)) / numpy.float32(0.5)).transpose(2, 0, 1)


def textOf(ids):
    return " ".join(scenes.WORDS[i] for i in ids)


def captions(context, numbers):
    """Greedy captions of held-out pictures, which run together."""
    open_, made = {}, {number: [] for number in numbers}
    for number in numbers:
        open_[number] = (context.sequence(), 1)
    context.must(context.encode([(sequence, pixelsOf(number)) for number, (sequence, _) in open_.items()]))
    while open_:
        logits, status = context.step([(sequence, [token]) for sequence, token in open_.values()])
        context.must(status)
        for (number, (sequence, _)), row in zip(list(open_.items()), logits):
            token = int(row[-1].argmax())
            if token == 2 or len(made[number]) == MOST:
                context.free(sequence)
                del open_[number]
            else:
                made[number].append(token)
                open_[number] = (sequence, token)
    return [textOf(made[number]) for number in numbers]


class Beams:
    """The model as date_translator.beamSearch takes one."""

    def __init__(self, model):
        self.model, self.settings = model, model.settings

    def encode(self, pixels):
        self.grid = self.model.encode(pixels)

    def first(self):
        return self.model.first(self.grid)

    def advance(self, token, states, fed):
        return (*self.model.advance(token, states, self.grid)[:2], fed)


def looks(options, library, model, expected, work):
    """The pictures of where the model looks."""
    maps, hits, words = os.path.join(work, "maps"), 0, 0
    for number, path in enumerate(GOLDEN):
        assert run(options.rapt_run, library, "--image", path, "--attention-weights", maps).strip() == expected["captions"][number], path
        weights = numpy.load(os.path.join(maps, "cross_attentions-layer0-head0.npy"))
        _, _, boxes, about = scenes.scene(scenes.HELD_OUT, number)
        ids = [1, *(scenes.WORDS.index(word) for word in expected["captions"][number].split())]
        wanted = model.looks(ids, model.encode(pixelsOf(number)))[:-1]
        assert weights.shape == wanted.shape and numpy.abs(weights - wanted).max() <= 5e-3, (path, weights.shape, numpy.abs(weights - wanted).max())  # the cache is f16
        for shape, place in zip(about, weights.argmax(-1)):
            if shape >= 0:
                left, top, right, bottom = boxes[shape]
                row, column = 8 * (place // 8), 8 * (place % 8)
                words, hits = words + 1, hits + (column + 8 > left and column < right and row + 8 > top and row < bottom)
    yield "where it looks", hits >= 0.85 * words > 0, f"{hits} of {words} words about a shape"
    overlay = attention_weights.read_png(os.path.join(maps, "cross_attentions-layer0-overlay.png"))
    yield "the image once for each word", min(overlay.shape[:2]) > 3 * 128, f"{overlay.shape}"
    run(options.rapt_run, library, "--image", GOLDEN[0], "--image", GOLDEN[1], "--attention-weights", maps, fails="--attention-weights takes one image of a model that generates")
    searched = run(options.rapt_run, library, "--image", path, "--beams", "2", "--attention-weights", maps).strip()
    again = numpy.load(os.path.join(maps, "cross_attentions-layer0-head0.npy"))
    yield "where beams look", searched == expected["captions"][number] and numpy.array_equal(again, weights), searched


def checks(options, library, work):
    """(what, whether it holds, the figures)"""
    with open(os.path.join(MODEL, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    figures = {name: value for name, value in expected.items() if name != "captions"}
    yield report.directory_size(MODEL, LARGEST)
    right = sum(textOf([scenes.WORDS.index(word) for word in scenes.scene(scenes.HELD_OUT, number)[1]]) == expected["captions"][number] for number in range(FEW))
    yield "captions", expected["right"] >= 0.7 * expected["pictures"] > FEW and right >= 0.6 * FEW, f"{figures}; {right} of {FEW}"
    yield "alignment", expected["looked_at"] >= 0.9 * expected["words"] > 0, f"{figures}"
    context = Context(options.runtime, library, len(scenes.WORDS), cache_tokens=64 * TOGETHER)
    for begin in range(0, expected["pictures"] if options.all else FEW, TOGETHER):
        numbers = list(range(begin, min(begin + TOGETHER, expected["pictures"])))
        found, wanted = captions(context, numbers), [expected["captions"][number] for number in numbers]
        yield f"captions from {begin} on", found == wanted, f"{[pair for pair in zip(found, wanted) if pair[0] != pair[1]] or len(found)}"
    context.close()

    wanted = expected["captions"][: len(GOLDEN)]
    all_ = [part for path in GOLDEN for part in ("--image", path)]
    together = run(options.rapt_run, library, *all_)
    yield "several images", together == "\n\n".join(wanted) + "\n", f"{together!r}"
    found = json.loads(run(options.rapt_run, library, "--json", *all_))["sequences"]
    yield "several images as JSON", [one["text"] for one in found] == wanted and "prompt_tokens" not in found[0] and {one["reason"] for one in found} == {"end"}, f"{found[0]}"
    model = captioner.load(MODEL)
    for beams in (1, 3):
        search = Beams(model)
        best = textOf(date_translator.beamSearch(search, pixelsOf(3), beams, MOST, 2))
        found = run(options.rapt_run, library, "--image", GOLDEN[3], "--beams", str(beams)).strip()
        yield f"{beams} beams", found == best, f"{found!r}, expected {best!r}"
    cut = json.loads(run(options.rapt_run, library, "--image", GOLDEN[3], "-n", "2", "--json"))
    yield "two words", cut["text"] == " ".join(wanted[3].split()[:2]) and cut["reason"] == "length", f"{cut}"
    yield from looks(options, library, model, expected, work)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("raptc", "rapt-run", "runtime"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--all", action="store_true", help="every held-out picture")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rapt-shapes-") as work:
        library = os.path.join(work, "shapes.so")
        run(options.raptc, MODEL, "--attention-weights", "-o", library)
        report.finish(checks(options, library, work), "family captioner decode", "family captioner tokenizer WordPiece")


if __name__ == "__main__":
    main()
