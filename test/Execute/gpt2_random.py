"""Compiles random models of the gpt2 family, runs them and compares their logits with test/Reference/numpy/gpt2.py.

Every configuration of test/Reference/numpy/cases.py is run on one batch of three sequences of different lengths and on one
sequence that fills all positions; those of SEEDED are compiled without a checkpoint, by --random-weights. Relative L2 of all
logits against float64 over the stored weights must be at most 1e-5, and the rows behind a sequence's end must be 0; compiled
code must give the same bits with 1, 2 and 7 threads.
"""

import os
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import cachetypes  # noqa: E402
import cases  # noqa: E402
import gpt2  # noqa: E402
import make_model  # noqa: E402
import random_models  # noqa: E402
import randomweights  # noqa: E402

SEED = 7


def inputs(config):
    """[(name, ids [batch, length], mask or None)]"""
    random, positions, vocabulary = numpy.random.RandomState(3), config["n_positions"], config["vocab_size"]
    length = min(positions, 41)
    ragged = random.randint(0, vocabulary, (3, length))
    mask = numpy.zeros((3, length), numpy.int64)
    for row, used in enumerate((9, length, 1)):
        mask[row, :used] = 1
    return [("ragged", ragged, mask), ("whole", random.randint(0, vocabulary, (1, positions)), None)]


def check(name, options, directory):
    """Raises AssertionError with what is wrong, or returns the largest relative L2."""
    model = os.path.join(directory, "model")
    seeded = [f"--random-weights={SEED}"] if name in cases.SEEDED else []
    made, flags, cache = cachetypes.split({} if seeded else cases.CASES[name][1])
    if seeded:
        config = make_model.makeConfig(model, cases.SEEDED[name])
        reference = gpt2.Model(config, randomweights.tensors(config, SEED))
    else:
        config = make_model.makeModel(model, cases.CASES[name][0], SEED, **made)
        reference = gpt2.load(model)
    reference.stored = cachetypes.ROUNDING[cache]
    command = random_models.program(options, model, directory, [*seeded, *flags])
    tolerance = random_models.decoder_tolerance(options, made.get("dtype", "F32"), cache)
    return random_models.check_decoder(options, command, directory, inputs(config), reference, tolerance)


MODELS = random_models.Models(check, [*cases.CASES, *cases.SEEDED], cases.FEW, generic=(), cuda=(), evaluated=cases.CASES)
