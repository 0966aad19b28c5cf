"""Compiles random models of the llama, mistral and qwen2 families and compares them with test/Reference/numpy/llama.py.

Every configuration is run on one batch of sequences of different lengths and on one sequence that fills all positions.
Relative L2 of all logits against float64 over the stored weights and cache must be at most 1e-5, more where a cache of
fewer bits can round the other way, and the rows behind a sequence's
end must be 0; compiled code must give the same bits with 1, 2 and 7 threads. Compiled models also continue a prompt greedily,
one token a step through the cache, and must give numpy's tokens.
"""

import os
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import cachetypes  # noqa: E402
import llama  # noqa: E402
import llama_chat  # noqa: E402
import random_models  # noqa: E402
from random_models import run  # noqa: E402

SEED = 11
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32}
YARN = {"rope_type": "yarn", "factor": 4.0, "beta_fast": 8.0, "original_max_position_embeddings": 32}
MISTRAL = {"model_type": "mistral", "num_key_value_heads": 2, "max_position_embeddings": 150}
QWEN2 = {"model_type": "qwen2", "num_key_value_heads": 2, "tie_word_embeddings": True}

# Those with a tokenizer and a chat template of their family; qwen2's embedding has rows that are no token.
CHATS = ("one-key-head", "mistral-window", "qwen2-types")
PIECES = llama_chat.FORMS["llama"][0].size

# The models whose code differs, and not the checkpoint alone.
FEW = ("one-key-head", "llama3-v5", "mistral-window-64", "mistral-f16", "qwen2-types")

# name -> (config, options of llama.makeModel and the type of the cache)
CASES = {
    "plain": ({}, {}),
    "one-layer-tied": ({"num_hidden_layers": 1, "tie_word_embeddings": True}, {"bare": True}),
    "grouped": ({"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 12, "hidden_size": 60}, {}),
    "one-key-head": ({"num_attention_heads": 5, "num_key_value_heads": 1, "head_dim": 6, "hidden_size": 35, "vocab_size": PIECES}, {"bare": True}),
    "wide-head": ({"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 80, "hidden_size": 48}, {"dtype": "F16"}),
    "head-2": ({"num_attention_heads": 3, "head_dim": 2, "hidden_size": 31, "intermediate_size": 1}, {}),
    "biases": ({"attention_bias": True, "mlp_bias": True, "intermediate_size": 77, "num_key_value_heads": 2}, {}),
    "attention-bias": ({"attention_bias": True, "hidden_size": 40, "vocab_size": 1}, {"buffers": True}),
    "gelu": ({"hidden_act": "gelu", "rms_norm_eps": 0.1}, {}),
    "relu": ({"hidden_act": "relu", "num_hidden_layers": 5, "hidden_size": 32, "num_attention_heads": 2}, {}),
    "linear": ({"rope_scaling": {"type": "linear", "factor": 2.5}, "rope_theta": 500.0}, {"buffers": True}),
    "llama3": ({"rope_scaling": LLAMA3, "rope_theta": 500000.0, "max_position_embeddings": 200, "head_dim": 32}, {}),
    "llama3-v5": (
        {"rope_parameters": {**LLAMA3, "rope_theta": 1000.0}, "max_position_embeddings": 200, "head_dim": 32},
        {"dtype": "BF16", "shards": 3},
    ),
    "yarn": ({"rope_scaling": {**YARN, "attention_factor": 1.5}, "max_position_embeddings": 128, "head_dim": 32}, {}),
    "yarn-mscale": ({"rope_parameters": {**YARN, "rope_theta": 500.0, "mscale": 0.7, "mscale_all_dim": 1.2, "truncate": False, "beta_slow": 2},
                     "max_position_embeddings": 96}, {}),
    "yarn-plain": ({"model_type": "qwen2", "rope_scaling": {"type": "yarn", "original_max_position_embeddings": 16}}, {}),
    "dynamic": ({"rope_scaling": {"type": "dynamic", "factor": 2.0}, "rope_theta": 300.0}, {}),
    "longrope": ({"rope_scaling": {"type": "longrope", "factor": 8.0, "short_factor": [1 + i / 8 for i in range(8)], "long_factor": [4.0] * 8,
                                   "original_max_position_embeddings": 64}}, {}),
    "bf16": ({"num_key_value_heads": 2, "num_hidden_layers": 3}, {"dtype": "BF16", "shards": 2}),
    "f16": ({"num_key_value_heads": 1}, {"dtype": "F16"}),
    "mistral-window": ({**MISTRAL, "sliding_window": 7, "vocab_size": PIECES}, {"cache": "bf16"}),
    "mistral-f16": ({**MISTRAL, "sliding_window": 30, "num_hidden_layers": 1}, {"dtype": "F16", "cache": "f32"}),
    "mistral-window-1": ({**MISTRAL, "sliding_window": 1, "num_hidden_layers": 1}, {}),
    "mistral-window-64": ({**MISTRAL, "sliding_window": 64}, {"dtype": "BF16"}),
    "mistral-null": ({**MISTRAL, "sliding_window": None}, {}),
    "mistral-default": ({"model_type": "mistral", "num_attention_heads": 8, "max_position_embeddings": 40}, {}),
    "qwen2": (QWEN2, {}),
    "qwen2-untied": ({**QWEN2, "tie_word_embeddings": False, "sliding_window": 3, "hidden_size": 56}, {"dtype": "BF16", "cache": "int8"}),
    "qwen2-later-layers": (
        {**QWEN2, "use_sliding_window": True, "sliding_window": 5, "max_window_layers": 2, "num_hidden_layers": 5}, {},
    ),
    "qwen2-f16": ({**QWEN2, "num_hidden_layers": 1, "hidden_size": 40}, {"dtype": "F16"}),
    "qwen2-types": (
        {**QWEN2, "vocab_size": llama_chat.FORMS["qwen2"][0].size + 3, "max_position_embeddings": 100, "use_sliding_window": True, "sliding_window": 9, "num_hidden_layers": 3,
         "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}, {"bare": True, "cache": "int8"},
    ),
}


def inputs(config):
    """[(name, ids [batch, length], mask or None)]"""
    random, positions, vocabulary = numpy.random.RandomState(3), config["max_position_embeddings"], config["vocab_size"]
    length = min(positions, 41)
    ragged = random.randint(0, vocabulary, (3, length))
    mask = numpy.zeros((3, length), numpy.int64)
    for row, used in enumerate((9, length, 1)):
        mask[row, :used] = 1
    return [("ragged", ragged, mask), ("whole", random.randint(0, vocabulary, (1, positions)), None)]


def greedy(model, prompt, count, tokens):
    cache, ids = model.emptyCache(), list(prompt)
    logits = model.logits(ids, cache)
    for _ in range(count):
        ids.append(int(logits[-1, :tokens].argmax()))
        logits = model.logits(ids[-1:], cache)
    return ids[len(prompt) :]


def checkDecode(library, model, options, tokens=None):
    """The tokens after a prompt, each computed alone over what the cache holds; `tokens` are fewer than the embedding's rows."""
    config = model.config
    prompt = numpy.random.RandomState(5).randint(0, config["vocab_size"], 11).tolist()
    count = min(25, config["max_position_embeddings"] - len(prompt))
    printed = run([options.rapt_run, library, "--tokens", ",".join(map(str, prompt)), "-n", str(count), "--temperature",
                   "0", "--repetition-penalty", "1", "--ignore-eos"])
    found = [int(word) for word in printed.replace(",", " ").split()]
    expected = greedy(model, prompt, count, tokens)
    assert found == expected, f"decode gives {found}, expected {expected}"


def check(name, options, directory):
    """Raises AssertionError with what is wrong, or returns the largest relative L2."""
    model = os.path.join(directory, "model")
    made, flags, cache = cachetypes.split(CASES[name][1])
    config = llama.makeModel(model, CASES[name][0], SEED, **made)
    reference, library = llama.load(model), os.path.join(directory, "model.so")
    reference.stored = cachetypes.ROUNDING[cache]
    family = config["model_type"]
    if name in CHATS:
        llama_chat.write(family, model)
    command = random_models.program(options, model, directory, flags)
    # The rows of these narrow models have few numbers to average over: they come to 1.2e-2.
    tolerance = random_models.decoder_tolerance(options, made.get("dtype", "F32"), cache, sums=1.5e-2)
    worst = random_models.check_decoder(options, command, directory, inputs(config), reference, tolerance)
    if options.rapt_run:
        checkDecode(library, reference, options, llama_chat.FORMS[family][0].size if name in CHATS else None)
    if options.rapt_run and name in CHATS:
        llama_chat.check(family, options.rapt_run, library)
    return worst


MODELS = random_models.Models(check, CASES, FEW, generic=(), cuda=(), cells=("prefill", "decode"))
