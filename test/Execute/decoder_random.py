"""Compiles random models of decoder families and compares them with test/Reference/numpy/decoders.

Every configuration is run on a batch of sequences of different lengths, 1 and 7 among them, and on one sequence that fills all
positions. Relative L2 of all logits against float64 over the stored weights and cache must be at most 1e-5 of f32 and 1e-2 of bf16; compiled
code must give the same bits with 1, 2 and 7 threads. Compiled models also continue a prompt greedily, one token a step through the cache,
and must give numpy's tokens. Of models whose layers carry states these are compared, too (decoder_states.py): of all compiled ones, and of the evaluator's
plain ones in f32.
"""

import copy
import ctypes
import os
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import cachetypes  # noqa: E402
import decoder_states  # noqa: E402
import random_models  # noqa: E402
from context import Context  # noqa: E402
from decoder_families import FAMILIES  # noqa: E402
from decoders import common  # noqa: E402
from decoders.states import Stateful  # noqa: E402
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

# Each token of these chooses experts, perhaps others where a matmul rounds what it reads to bf16: their weights in bf16 are compiled for a CPU without such matmuls.
CHOOSE = ("granitemoehybrid", "kimi_linear", "lfm2_moe", "nemotron_h", "qwen3_5_moe_text", "qwen3_next")
# Random models of these are compiled every day by sliding_windows.py and chosen_adapters.py.
COMPILED_ELSEWHERE = ("gemma3_text", "qwen3", "phi3", "gpt_neox")
# Names that families had before are the family's readers with other keys: one case of each.
OLD_NAMES = {"RefinedWeb": "RefinedWeb", "RefinedWebModel": "RefinedWebModel-alibi", "mixformer-sequential": "mixformer-sequential-padded"}
# Every second family in f32, whose decoding is compared as well, and the others in bf16.
FEW = tuple(family if number % 2 else f"{family}-bf16" for number, family in enumerate(family for family in FAMILIES if family not in OLD_NAMES)
            if family not in COMPILED_ELSEWHERE) + ("phi3-long-texts", *OLD_NAMES.values())


def positions(config):
    return next(config[key] for key in ("max_position_embeddings", "n_positions", "seq_length", "max_seq_len") if key in config)


def inputs(config):
    """[(name, ids [batch, length], mask or None)]"""
    random, most = numpy.random.RandomState(3), min(positions(config), 64)
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


def check_long_texts(library, model, options):
    """Sequences that outgrow the original context of longrope in a step with others: by one token, by many, as a fork, from a saved state, and in a cache that
    cannot hold old and new keys. Each has the logits of its whole text, of which numpy chooses the frequencies by its length."""
    runtime = os.path.join(os.path.dirname(options.rapt_run), "..", "lib", "librapt_runtime.so")
    vocabulary, bound = model.config["vocab_size"], model.config["original_max_position_embeddings"]
    random = numpy.random.RandomState(6)
    draw = lambda count: random.randint(0, vocabulary, count).tolist()
    context, texts = Context(runtime, library, vocabulary, cache_tokens=2048, max_step_tokens=8), {}

    def step(*grown):
        for sequence, tokens in grown:
            texts[sequence] = texts.get(sequence, []) + tokens
        logits, status = context.step(grown)
        context.must(status)
        for (sequence, tokens), found in zip(grown, logits):
            wanted = model.logits(texts[sequence])[-len(tokens):]
            error = numpy.linalg.norm(found - wanted) / numpy.linalg.norm(wanted)
            assert error <= random_models.TOLERANCE["F32"], f"{len(texts[sequence])} tokens, {len(tokens)} of them new: relative L2 {error:.1e}"

    one, two, whole = context.sequence(), context.sequence(), context.sequence()
    step((one, draw(bound - 1)), (two, draw(3)), (whole, draw(bound + 5)))
    step((one, draw(1)), (two, draw(1)), (whole, draw(1)))
    fork, loaded = context.fork(one), context.load(context.save(one))
    texts[fork] = texts[loaded] = texts[one]
    step((one, draw(1)), (two, draw(1)))
    step((fork, draw(7)), (one, draw(2)))
    step((loaded, draw(1)), (two, draw(bound)))
    again = context.load(context.save(loaded))
    texts[again] = texts[loaded]
    step((again, draw(1)))
    context.must(context.truncate(again, 0))
    texts[again] = []
    step((again, draw(4)))
    # A step that fails on the way leaves the text, of which the next one computes the keys.
    stopped = context.sequence()
    step((stopped, draw(bound)))
    context.lib.rapt_cancel(context.context)
    context.refused(context.step([(stopped, draw(1))])[1], "CANCELLED", "canceled")
    size = ctypes.c_size_t()
    context.refused(context.call("sequence_save", context.context, ctypes.c_uint64(stopped), None, ctypes.c_size_t(0), ctypes.byref(size)), "UNSUPPORTED",
                    "the sequence's keys are computed again by its next step")
    fork = context.fork(stopped)
    texts[fork] = texts[stopped]
    step((stopped, draw(1)), (fork, draw(3)))
    context.close()
    context = Context(runtime, library, vocabulary, cache_tokens=64)  # a block, or a few
    one = context.sequence()
    texts.clear()
    step((one, draw(bound)))
    step((one, draw(1)))
    context.close()


def with_rounded(reference):
    """The model whose matmuls round what they read to bf16, as dot products of pairs do."""
    other = copy.copy(reference)
    other.dense = lambda x, name: reference.dense(cachetypes.ROUNDING["bf16"](x), name)
    return other


def check(name, options, directory):
    """Raises AssertionError with what is wrong, or returns the largest relative L2."""
    family, case, dtype = CASES[name]
    facts, model = FAMILIES[family], os.path.join(directory, "model")
    config = common.make(facts, model, case, SEED, dtype)
    reference, library = common.load(facts, model), os.path.join(directory, "model.so")
    cache = {"F32": "f32", "BF16": "bf16", "F16": "f16"}[dtype]
    reference.stored = cachetypes.ROUNDING[cache]
    avoids = family in CHOOSE and dtype == "BF16" and not options.rapt_reference
    command = random_models.program(options, model, directory, ["--mcpu=x86-64-v3"] * avoids)
    if avoids:
        tolerance = cachetypes.TOLERANCE[cache]
    else:
        # Models whose layers enlarge what is rounded are allowed twice of what it does to the reference.
        ids, rounded = inputs(config)[1][1], with_rounded(reference)
        own = numpy.linalg.norm(rounded.batch(ids) - reference.batch(ids)) / numpy.linalg.norm(reference.batch(ids)) if dtype == "BF16" else 0
        tolerance = random_models.decoder_tolerance(options, dtype, cache, sums=max(1.5e-2, 2 * own))
    worst = random_models.check_decoder(options, command, directory, inputs(config), reference, tolerance)
    if isinstance(reference, Stateful) and options.rapt_run:
        worst = max(worst, decoder_states.check(library, reference, options, tolerance))
    elif isinstance(reference, Stateful) and (case == "plain" and dtype == "F32" or os.environ.get("RAPT_FULL") == "1"):
        decoder_states.check_evaluated(command[1], reference, model, options, 1e-6, directory)
    if options.rapt_run and dtype == "F32":
        check_decode(library, reference, options)
        if config.get("original_max_position_embeddings", 64) < 64:
            check_long_texts(library, reference, options)
    return worst


MODELS = random_models.Models(check, CASES, FEW, cuda=("cohere", "granite-bf16", "phi3"), cells=("prefill", "decode"))
