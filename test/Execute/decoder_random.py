"""Compiles random models of decoder families and compares them with test/Reference/numpy/decoders.

Every configuration is run on a batch of sequences of different lengths, 1 and 7 among them, and on one sequence that fills all
positions. Relative L2 of all logits against float64 over the stored weights and cache must be at most 1e-5 of f32 and 1e-2 of bf16; compiled
code must give the same bits with 1, 2 and 7 threads. Compiled models also continue a prompt greedily, one token a step through the cache,
and must give numpy's tokens.
"""

import os
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import cachetypes  # noqa: E402
import random_models  # noqa: E402
from decoder_families import FAMILIES  # noqa: E402
from decoders import common  # noqa: E402
from random_models import run  # noqa: E402

SEED = 11

# name -> (family, case, storage of the weights)
CASES = {}
for family, facts in FAMILIES.items():
    for case in facts.CASES:
        CASES[family if case == "plain" else f"{family}-{case}"] = (family, case, "F32")
    CASES[f"{family}-bf16"] = (family, "plain", "BF16")
CASES["gemma2-f16"] = ("gemma2", "plain", "F16")
CASES["phi3-f16"] = ("phi3", "plain", "F16")

# Random models of these are compiled every day by sliding_windows.py and chosen_adapters.py.
COMPILED_ELSEWHERE = ("gemma3_text", "qwen3", "phi3", "gpt_neox")
# Every second family in f32, whose decoding is compared as well, and the others in bf16.
FEW = tuple(family if number % 2 else f"{family}-bf16" for number, family in enumerate(FAMILIES) if family not in COMPILED_ELSEWHERE)


def positions(config):
    return next(config[key] for key in ("max_position_embeddings", "n_positions", "seq_length", "max_seq_len") if key in config)


def takes_long(config):
    """Whether a program has the frequencies of longrope's long texts."""
    return config.get("original_max_position_embeddings", 64) < 64


def inputs(config):
    """[(name, ids [batch, length], mask or None)]; longrope has other frequencies for short texts, which are left out."""
    random, most = numpy.random.RandomState(3), min(positions(config), 64)
    if takes_long(config):
        return [("whole", random.randint(0, config["vocab_size"], (1, positions(config))), None)]
    ragged = random.randint(0, config["vocab_size"], (3, 41))
    mask = numpy.zeros((3, 41), numpy.int64)
    for row, used in enumerate((7, 41, 1)):
        mask[row, :used] = 1
    return [("ragged", ragged, mask), ("whole", random.randint(0, config["vocab_size"], (1, most)), None)]


def check_decode(library, model, options):
    """The tokens after a prompt, each computed alone over what the cache holds; numpy computes the whole text for each."""
    text = numpy.random.RandomState(5).randint(0, model.config["vocab_size"], 11).tolist()
    count = 20
    printed = run([options.rapt_run, library, "--tokens", ",".join(map(str, text)), "-n", str(count), "--temperature", "0",
                   "--repetition-penalty", "1", "--ignore-eos"])
    found = [int(word) for word in printed.replace(",", " ").split()]
    for _ in range(count):
        text.append(int(model.logits(text)[-1].argmax()))
    assert found == text[-count:], f"decode gives {found}, expected {text[-count:]}"


def check(name, options, directory):
    """Raises AssertionError with what is wrong, or returns the largest relative L2."""
    family, case, dtype = CASES[name]
    facts, model = FAMILIES[family], os.path.join(directory, "model")
    config = common.make(facts, model, case, SEED, dtype)
    reference, library = common.load(facts, model), os.path.join(directory, "model.so")
    cache = {"F32": "f32", "BF16": "bf16", "F16": "f16"}[dtype]
    reference.stored = cachetypes.ROUNDING[cache]
    # A text of longrope's is within the original context.
    original = config.get("original_max_position_embeddings")
    flags = [f"--max-seq-len={original}"] if original and not takes_long(config) else []
    command = random_models.program(options, model, directory, flags)
    tolerance = random_models.decoder_tolerance(options, dtype, cache, sums=1.5e-2)
    worst = random_models.check_decoder(options, command, directory, inputs(config), reference, tolerance)
    if options.rapt_run and dtype == "F32":
        check_decode(library, reference, options)
    return worst


MODELS = random_models.Models(check, CASES, FEW, cuda=("cohere", "granite-bf16", "phi3"), cells=("prefill", "decode"))
