#!/usr/bin/env python3
"""Writes a small random model of the gpt2 family as a Hugging Face directory, for tests.

    make_model.py DIR --config '{"n_embd": 96, ...}' [--seed N] [--dtype F32|F16|BF16] [--shards N] [--prefix]
                  [--buffers] [--spec-weights]

Keys that --config leaves out get SMALL's values. The default weights are numpy's: every bias and every gain differs
from 0 and 1, so that a forgotten one shows. --spec-weights takes those of docs/RandomWeights.md instead. --prefix
writes "transformer." before the names (never before lm_head.weight); --buffers adds the attention masks that old
checkpoints carry.
"""

import argparse
import json
import math
import os

import numpy

import gpt2
import tensorfiles

SMALL = {
    "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": 211, "n_positions": 64, "n_embd": 64,
    "n_layer": 2, "n_head": 4, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
}


def shapes(config):
    """Tensor name without prefix -> shape, in the order of GPT-2's published files."""
    s = gpt2.settings(config)
    width, inner = s["n_embd"], s["n_inner"]
    table = {"wte.weight": (s["vocab_size"], width), "wpe.weight": (s["n_positions"], width)}
    for layer in range(s["n_layer"]):
        parts = {
            "ln_1": (width,), "attn.c_attn": (width, 3 * width), "attn.c_proj": (width, width), "ln_2": (width,),
            "mlp.c_fc": (width, inner), "mlp.c_proj": (inner, width),
        }
        for name, shape in parts.items():
            table[f"h.{layer}.{name}.weight"] = shape
            table[f"h.{layer}.{name}.bias"] = shape[-1:]
    table.update({"ln_f.weight": (width,), "ln_f.bias": (width,)})
    if not s["tie_word_embeddings"]:
        table["lm_head.weight"] = (s["vocab_size"], width)
    return table


def weights(config, seed):
    """{name: float32 array}: matmuls keep the variance of their input, so that deep models stay finite."""
    random, result = numpy.random.RandomState(seed), {}
    for name, shape in shapes(config).items():
        values = random.standard_normal(shape)
        if name.endswith("bias"):
            values *= 0.1
        elif len(shape) == 1:
            values = 1 + 0.1 * values
        elif name in ("wte.weight", "wpe.weight"):
            values *= 0.5
        elif name == "lm_head.weight":
            values /= math.sqrt(shape[1])
        else:
            values /= math.sqrt(shape[0])
        result[name] = values.astype(numpy.float32)
    return result


def makeConfig(directory, config):
    """Writes config.json alone and returns the full configuration."""
    config = {**SMALL, **config}
    for role in ("bos_token_id", "eos_token_id"):
        config.setdefault(role, config["vocab_size"] - 1)
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=2)
    return config


def makeModel(directory, config, seed=0, dtype="F32", shards=1, prefix=False, buffers=False, specWeights=False):
    """Writes the directory and returns its full configuration."""
    config = makeConfig(directory, config)
    if specWeights:
        import randomweights

        tensors = randomweights.tensors(config, seed)
    else:
        tensors = weights(config, seed)
    if buffers:
        positions = config["n_positions"]
        mask = numpy.tril(numpy.ones((1, 1, positions, positions), numpy.float32))
        for layer in range(config["n_layer"]):
            tensors[f"h.{layer}.attn.bias"] = mask
            tensors[f"h.{layer}.attn.masked_bias"] = numpy.array(-1e4, numpy.float32)
    if prefix:
        tensors = {(name if name == "lm_head.weight" else "transformer." + name): t for name, t in tensors.items()}
    tensorfiles.writeDirectory(directory, tensors, dtype, shards)
    return config


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--config", default="{}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", choices=["F32", "F16", "BF16"], default="F32")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--prefix", action="store_true")
    parser.add_argument("--buffers", action="store_true")
    parser.add_argument("--spec-weights", action="store_true")
    o = parser.parse_args()
    makeModel(o.directory, json.loads(o.config), o.seed, o.dtype, o.shards, o.prefix, o.buffers, o.spec_weights)


if __name__ == "__main__":
    main()
