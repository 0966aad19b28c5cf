"""The alignment that the date translator shows: the weights of its attention, compiled, evaluated and drawn."""

import os
import random
import sys

import numpy

import attention_weights
from attention_weights import run

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models", "date-translator")
sys.path.insert(0, MODEL)
FLAGS, OUTPUTS = ("--attention-weights", "--attention-log-sum-exp"), ("cross_attentions", "cross_log_sum_exp")

import dates  # noqa: E402


def checks(options, work, library, count):
    """(what, whether it holds, the figures) of weights for `count` dates, of which train.py made the first held-out ones."""
    generator, few = numpy.random.RandomState(4), len(dates.vocabulary())
    lengths = (((20, 3, 1), (11, 5, 1)), ((64,), (7,)))
    for sources, targets in lengths:
        masks = [(numpy.arange(max(each))[None] < numpy.array(each)[:, None]).astype(int) for each in (sources, targets)]
        inputs = {name: generator.randint(0, few, mask.shape) for name, mask in zip(("input_ids", "decoder_input_ids"), masks)}
        given = {"attention_mask": masks[0], "decoder_attention_mask": masks[1]}
        attention_weights.compare(options, work, library, MODEL, inputs, given, {name: masks[1] for name in OUTPUTS}, *FLAGS)
    held, maps = random.Random(2), os.path.join(work, "maps")
    digits = aligned = 0
    for _ in range(count):
        text, iso, spans = dates.example(held, True)
        assert run(options.rapt_run, library, "-p", text, "--attention-weights", maps).strip() == iso, text
        weights = numpy.load(os.path.join(maps, "cross_attentions-layer0-head0.npy"))
        assert weights.shape == (len(iso), len(text)) and numpy.abs(weights.sum(-1) - 1).max() <= 1e-5, (text, weights.shape)
        for place, span in zip(weights.argmax(-1), spans):
            digits += span is not None
            aligned += span is not None and span[0] <= place < span[1]
    with open(os.path.join(maps, "cross_attentions-layer0-head0.svg"), encoding="utf-8") as file:
        svg = file.read()
    shown = all(f">{attention_weights.label(character)}</text>" in svg for character in iso + text.lower())
    # The encoder's two directions are parts of the values, with one map.
    yield "one map of both directions", sorted(os.listdir(maps)) == [f"cross_attentions-layer0-head0.{end}" for end in ("npy", "png", "svg")], os.listdir(maps)
    yield "the picture has its characters", shown, text
    searched = run(options.rapt_run, library, "-p", text, "--beams", "2", "--attention-weights", maps).strip()
    beams = numpy.load(os.path.join(maps, "cross_attentions-layer0-head0.npy"))
    yield "alignment of beams", searched == iso and numpy.array_equal(beams, weights), searched
    yield "alignment of compiled weights", aligned >= 0.95 * digits > 0, f"{aligned} of {digits} digits"
