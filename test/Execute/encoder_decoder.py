"""Random encoder-decoders, compiled or evaluated, against float64: what t5_random.py and transformer_random.py share."""

import os

import numpy

import random_models
from random_models import TOLERANCE, compare, run

# Lengths of sources and targets of each batch: 1, primes, a tile and one more, longer than a cache block.
BATCHES = {"ragged": ((5, 70, 1), (9, 1, 33)), "whole": ((129,), (67,)), "short": ((1, 1), (1, 2))}


def batch(lengths, vocabulary, random):
    ids = random.randint(0, vocabulary, (len(lengths), max(lengths)))
    mask = (numpy.arange(max(lengths))[None, :] < numpy.array(lengths)[:, None]).astype(numpy.int64)
    return ids.astype(numpy.int64), mask


def expected(model, sources, targets, ids, tokens):
    """The encoder's output and the logits, 0 behind each row's end."""
    hidden, logits = None, None
    for row, (source, target) in enumerate(zip(sources, targets)):
        h = model.encode(ids[row, :source])
        l = model.decode(tokens[row, :target], h)
        if hidden is None:
            hidden, logits = numpy.zeros((*ids.shape, h.shape[1])), numpy.zeros((*tokens.shape, l.shape[1]))
        hidden[row, :source], logits[row, :target] = h, l
    return hidden, logits


def check(name, options, directory, build, storage):
    """Raises AssertionError with what is wrong, or returns the largest relative L2."""
    source = os.path.join(directory, "model")
    model = build(name, source)
    program = random_models.program(options, source, directory)
    worst, random = 0.0, numpy.random.RandomState(3)
    for label in ["ragged"] if options.rapt_reference else BATCHES:
        sources, targets = BATCHES[label]
        ids, mask = batch(sources, model.settings["vocab_size"], random)
        tokens, decoderMask = batch(targets, model.settings["vocab_size"], random)
        at = lambda part: os.path.join(directory, f"{label}-{part}.npy")
        command = list(program)
        for part, array in (("input_ids", ids), ("attention_mask", mask), ("decoder_input_ids", tokens), ("decoder_attention_mask", decoderMask)):
            numpy.save(at(part), array)
            command += ["--input", f"{part}={at(part)}"]
        for part in ("logits", "encoder_last_hidden_state"):
            command += ["--output", f"{part}={at(part)}"]
        run(command)
        hidden, logits = expected(model, sources, targets, ids, tokens)
        worst = max(worst, compare(f"{label}: the encoder's outputs", numpy.load(at("encoder_last_hidden_state")), hidden, mask, TOLERANCE[storage]))
        worst = max(worst, compare(f"{label}: logits", numpy.load(at("logits")), logits, decoderMask, TOLERANCE[storage]))
    return worst


def run_program(parser, cases, few, build, storage):
    """`storage` names the type of each case's checkpoint."""
    random_models.main(parser, cases, few, lambda name, options, directory: check(name, options, directory, build, storage[name]))
