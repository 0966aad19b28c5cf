#!/usr/bin/env python3
"""The gpt2 family in float64 with numpy alone: an implementation independent of Rapt's, written from the formulas.

    gpt2.py DIR --tokens ids.npy [--mask mask.npy] [--prefill N] --logits out.npy
    gpt2.py DIR --random-weights SEED ...

ids: integers [batch, length]; mask: ones then zeros in each row, [batch, length]; logits: float64 [batch, length,
vocab], 0 behind a row's end. --prefill N computes the first N positions at once and the others one by one through the
cache. Matmuls, norms and softmax are computed in float64 over the weights as stored.
"""

import argparse
import json
import math
import os

import numpy

import layers
import tensorfiles

ALIASES = {
    "n_embd": "hidden_size", "n_positions": "max_position_embeddings", "n_head": "num_attention_heads",
    "n_layer": "num_hidden_layers",
}
DEFAULTS = {
    "vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": None,
    "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False, "tie_word_embeddings": True,
}

erfc = numpy.vectorize(math.erfc, otypes=[numpy.float64])


def gelu(x):
    return 0.5 * x * erfc(x * -math.sqrt(0.5))


def geluNew(x):
    return 0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def relu(x):
    return numpy.maximum(x, 0)


def silu(x):
    return x / (1 + numpy.exp(-x))


ACTIVATIONS = {
    "gelu": gelu, "gelu_new": geluNew, "gelu_pytorch_tanh": geluNew, "relu": relu, "silu": silu, "swish": silu,
}


def settings(config):
    """The configuration with defaults filled in and aliases resolved."""
    result = dict(DEFAULTS)
    for key in DEFAULTS:
        alias = ALIASES.get(key)
        if alias in config:
            result[key] = config[alias]
        if key in config:
            result[key] = config[key]
    if result["n_inner"] is None:
        result["n_inner"] = 4 * result["n_embd"]
    return result


class Model:
    """tensors: {name: array} with or without the prefix "transformer."; `kind` is the type computed in."""

    def __init__(self, config, tensors, kind=numpy.float64):
        self.stored = lambda x: x  # what a key or value, the last dim, becomes in the cache
        self.settings, self.kind = settings(config), kind
        prefix = len("transformer.")
        self.tensors = {(n[prefix:] if n.startswith("transformer.") else n): t for n, t in tensors.items()}

    def weight(self, name):
        return self.tensors[name].astype(self.kind)

    def norm(self, x, name):
        epsilon = self.kind(self.settings["layer_norm_epsilon"])
        return layers.layerNorm(x, self.weight(name + ".weight"), self.weight(name + ".bias"), epsilon)

    def linear(self, x, name):
        return x @ self.weight(name + ".weight") + self.weight(name + ".bias")

    def attention(self, x, layer, cache):
        """x [new, width]; cache[layer] = (keys, values), each [past, width], grows by the new rows."""
        width, heads = self.settings["n_embd"], self.settings["n_head"]
        size, new = width // heads, len(x)
        q, k, v = numpy.split(self.linear(x, f"h.{layer}.attn.c_attn"), 3, axis=-1)
        past = len(cache[layer][0])
        k, v = (self.stored(x.reshape(new, heads, size)).reshape(new, width) for x in (k, v))
        k, v = cache[layer] = numpy.concatenate([cache[layer][0], k]), numpy.concatenate([cache[layer][1], v])
        scale = 1.0
        if self.settings["scale_attn_weights"]:
            scale /= math.sqrt(size)
        if self.settings["scale_attn_by_inverse_layer_idx"]:
            scale /= layer + 1
        visible = numpy.arange(past + new)[None, :] <= past + numpy.arange(new)[:, None]
        mixed = numpy.empty_like(x)
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            scores = numpy.where(visible, q[:, part] @ k[:, part].T * self.kind(scale), -numpy.inf)
            powers = numpy.exp(scores - scores.max(-1, keepdims=True))
            mixed[:, part] = powers @ v[:, part] / powers.sum(-1, keepdims=True)
        return self.linear(mixed, f"h.{layer}.attn.c_proj")

    def emptyCache(self):
        nothing = numpy.zeros((0, self.settings["n_embd"]), self.kind)
        return [(nothing, nothing) for _ in range(self.settings["n_layer"])]

    def hidden(self, ids, cache):
        """The last norm's output [len(ids), width] of tokens that follow those in the cache."""
        past = len(cache[0][0])
        if past + len(ids) > self.settings["n_positions"]:
            raise ValueError(f"{past + len(ids)} positions of {self.settings['n_positions']}")
        places = numpy.arange(past, past + len(ids))
        x = self.tensors["wte.weight"][ids].astype(self.kind) + self.tensors["wpe.weight"][places].astype(self.kind)
        act = ACTIVATIONS[self.settings["activation_function"]]
        for layer in range(self.settings["n_layer"]):
            at = f"h.{layer}."
            x = x + self.attention(self.norm(x, at + "ln_1"), layer, cache)
            x = x + self.linear(act(self.linear(self.norm(x, at + "ln_2"), at + "mlp.c_fc")), at + "mlp.c_proj")
        return self.norm(x, "ln_f")

    def logits(self, ids, cache=None):
        """[len(ids), vocab]; pass a list from emptyCache() to go on from it later."""
        head = "wte.weight" if self.settings["tie_word_embeddings"] else "lm_head.weight"
        return self.hidden(numpy.asarray(ids), self.emptyCache() if cache is None else cache) @ self.weight(head).T

    def batch(self, ids, mask=None, prefill=None):
        """[batch, length, vocab]; rows are computed alone, positions behind a row's end are 0."""
        result = numpy.zeros((*ids.shape, self.settings["vocab_size"]), self.kind)
        for row, tokens in enumerate(ids):
            length = len(tokens) if mask is None else int(mask[row].sum())
            cache, first = self.emptyCache(), length if prefill is None else min(prefill, length)
            pieces = [tokens[:first], *([t] for t in tokens[first:length])]
            for piece in pieces:
                if len(piece):
                    begin = len(cache[0][0])
                    result[row, begin : begin + len(piece)] = self.logits(piece, cache)
        return result


def readConfig(directory):
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        return json.load(file)


def load(directory, kind=numpy.float64):
    return Model(readConfig(directory), tensorfiles.readDirectory(directory), kind)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--tokens", required=True)
    parser.add_argument("--mask")
    parser.add_argument("--prefill", type=int)
    parser.add_argument("--logits", required=True)
    parser.add_argument("--random-weights", type=int)
    options = parser.parse_args()
    if options.random_weights is None:
        model = load(options.directory)
    else:
        import randomweights

        config = readConfig(options.directory)
        model = Model(config, randomweights.tensors(config, options.random_weights))
    mask = numpy.load(options.mask) if options.mask else None
    numpy.save(options.logits, model.batch(numpy.load(options.tokens), mask, options.prefill))


if __name__ == "__main__":
    main()
