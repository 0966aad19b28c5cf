#!/usr/bin/env python3
"""The t5 and mt5 families in float64 with numpy alone: independent of Rapt's code, written from the formulas of Raffel
et al. 2020 and the details of Hugging Face's T5ForConditionalGeneration.

    t5.py DIR    writes a small random model there

    model = t5.Model(config, tensors);  hidden = model.encode(ids);  logits = model.decode(tokens, hidden)

make(directory, config, seed) writes a random model as a Hugging Face directory; tensors(config, seed) gives the values
of docs/RandomWeights.md.
"""

import json
import math
import os
import sys

import numpy

import gpt2
import layers
import randomweights
import tensorfiles

DEFAULTS = {
    "vocab_size": 32128, "d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6, "num_decoder_layers": None, "num_heads": 8,
    "relative_attention_num_buckets": 32, "relative_attention_max_distance": 128, "feed_forward_proj": "relu",
    "layer_norm_epsilon": 1e-6, "tie_word_embeddings": True, "n_positions": 512,
}
SMALL = {
    "architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "vocab_size": 101, "d_model": 64, "d_kv": 16, "d_ff": 96,
    "num_layers": 2, "num_heads": 4, "n_positions": 256, "eos_token_id": 1, "pad_token_id": 0, "decoder_start_token_id": 0,
}


def settings(config):
    result = {key: config.get(key, value) for key, value in DEFAULTS.items()}
    if result["num_decoder_layers"] is None:
        result["num_decoder_layers"] = result["num_layers"]
    return result


def activation(name):
    """(function, gated)"""
    gated = name.startswith("gated-")
    kind = name[6:] if gated else name
    if name == "gated-gelu":
        kind = "gelu_new"
    return gpt2.ACTIVATIONS[kind], gated


def shapes(config):
    """Tensor name -> (shape, kind, fan in) in the checkpoint's names."""
    s = settings(config)
    width, inner, ff, heads = s["d_model"], s["num_heads"] * s["d_kv"], s["d_ff"], s["num_heads"]
    gated = activation(s["feed_forward_proj"])[1]
    table = {"shared.weight": ((s["vocab_size"], width), "embedding", 1)}
    for side, layers in (("encoder", s["num_layers"]), ("decoder", s["num_decoder_layers"])):
        attentions = ["SelfAttention"] + (["EncDecAttention"] if side == "decoder" else [])
        for layer in range(layers):
            for number, name in enumerate(attentions):
                at = f"{side}.block.{layer}.layer.{number}."
                # Scores are not divided by sqrt(d_kv): queries are as much smaller, as T5's initialization makes them.
                for part, fan in (("q", width * s["d_kv"]), ("k", width), ("v", width)):
                    table[f"{at}{name}.{part}.weight"] = ((inner, width), "weight", fan)
                table[f"{at}{name}.o.weight"] = ((width, inner), "weight", inner)
                table[f"{at}layer_norm.weight"] = ((width,), "norm", 1)
            at = f"{side}.block.{layer}.layer.{len(attentions)}."
            for part in ("wi_0", "wi_1") if gated else ("wi",):
                table[f"{at}DenseReluDense.{part}.weight"] = ((ff, width), "weight", width)
            table[f"{at}DenseReluDense.wo.weight"] = ((width, ff), "weight", ff)
            table[f"{at}layer_norm.weight"] = ((width,), "norm", 1)
        bias = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        table[bias] = ((s["relative_attention_num_buckets"], heads), "embedding", 1)
        table[f"{side}.final_layer_norm.weight"] = ((width,), "norm", 1)
    if not s["tie_word_embeddings"]:
        table["lm_head.weight"] = ((s["vocab_size"], width), "weight", width)
    return table


def tensors(config, seed):
    return {name: randomweights.values(seed, name, shape, kind, fan) for name, (shape, kind, fan) in shapes(config).items()}


def weights(config, seed):
    """Values for tests: every gain differs from 1, every bias table is large enough to matter."""
    return layers.draw(shapes(config), seed)


def make(directory, config, seed=0, dtype="F32", extra=None):
    """Writes the directory and returns its full configuration."""
    config = {**SMALL, **config}
    tensorfiles.writeModel(directory, config, {**weights(config, seed), **(extra or {})}, dtype)
    return config


def bucket(relative, bidirectional, buckets, farthest):
    """relative = key position - query position, an integer array."""
    result = numpy.zeros_like(relative)
    if bidirectional:
        buckets //= 2
        result += (relative > 0) * buckets
        distance = numpy.abs(relative)
    else:
        distance = -numpy.minimum(relative, 0)
    exact = buckets // 2
    ratio = numpy.log(numpy.maximum(distance, 1).astype(numpy.float32) / numpy.float32(exact))
    ratio = ratio / numpy.float32(math.log(farthest / exact)) * numpy.float32(buckets - exact)
    large = numpy.minimum(exact + ratio.astype(numpy.int64), buckets - 1)
    return result + numpy.where(distance < exact, distance, large)


class Model:
    def __init__(self, config, tensors, kind=numpy.float64):
        self.stored = lambda x: x  # what a key or value, the last dim, becomes in the cache
        self.settings, self.kind, self.tensors = settings(config), kind, tensors
        self.act, self.gated = activation(self.settings["feed_forward_proj"])

    def weight(self, name):
        return self.tensors[name + ".weight"].astype(self.kind)

    def norm(self, x, name):
        return x / numpy.sqrt((x**2).mean(-1, keepdims=True) + self.settings["layer_norm_epsilon"]) * self.weight(name)

    def linear(self, x, name):
        return x @ self.weight(name).T

    def heads(self, x):
        return layers.heads(x, self.settings["num_heads"])

    def kept(self, x):
        """Keys or values as the cache has them."""
        return self.stored(x.reshape(len(x), self.settings["num_heads"], -1)).reshape(x.shape)

    def attend(self, x, keys, values, at, bias, causal=False):
        q, k, v = self.heads(self.linear(x, at + ".q")), self.heads(keys), self.heads(values)
        scores = q @ k.transpose(0, 2, 1) + bias
        return self.linear(layers.mix(layers.causal(scores) if causal else scores, v), at + ".o")

    def bias(self, side, queries, keys):
        relative = numpy.arange(keys)[None, :] - queries[:, None]
        numbers = bucket(relative, side == "encoder", self.settings["relative_attention_num_buckets"],
                         self.settings["relative_attention_max_distance"])
        table = self.weight(f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias")
        return table[numbers].transpose(2, 0, 1)

    def feedForward(self, x, at):
        n = self.norm(x, at + "layer_norm")
        if self.gated:
            wide = self.act(self.linear(n, at + "DenseReluDense.wi_0")) * self.linear(n, at + "DenseReluDense.wi_1")
        else:
            wide = self.act(self.linear(n, at + "DenseReluDense.wi"))
        return x + self.linear(wide, at + "DenseReluDense.wo")

    def encode(self, ids):
        x = self.weight("shared")[ids]
        bias = self.bias("encoder", numpy.arange(len(ids)), len(ids))
        for layer in range(self.settings["num_layers"]):
            at = f"encoder.block.{layer}.layer."
            n = self.norm(x, at + "0.layer_norm")
            own = at + "0.SelfAttention"
            x = x + self.attend(n, self.linear(n, own + ".k"), self.linear(n, own + ".v"), own, bias)
            x = self.feedForward(x, at + "1.")
        return self.norm(x, "encoder.final_layer_norm")

    def decode(self, tokens, hidden, cache=None):
        """[len(tokens), vocab]; `cache` is a list that grows: pass [] and go on from it later."""
        cache = [] if cache is None else cache
        if not cache:
            nothing = numpy.zeros((0, self.settings["num_heads"] * self.settings["d_kv"]), self.kind)
            cache += [(nothing, nothing)] * self.settings["num_decoder_layers"]
        past = len(cache[0][0])
        x = self.weight("shared")[tokens]
        bias = self.bias("decoder", past + numpy.arange(len(tokens)), past + len(tokens))
        for layer in range(self.settings["num_decoder_layers"]):
            at = f"decoder.block.{layer}.layer."
            n = self.norm(x, at + "0.layer_norm")
            own, cross = at + "0.SelfAttention", at + "1.EncDecAttention"
            k = numpy.concatenate([cache[layer][0], self.kept(self.linear(n, own + ".k"))])
            v = numpy.concatenate([cache[layer][1], self.kept(self.linear(n, own + ".v"))])
            cache[layer] = (k, v)
            x = x + self.attend(n, k, v, own, bias, causal=True)
            n = self.norm(x, at + "1.layer_norm")
            if len(hidden):
                k, v = (self.kept(self.linear(hidden, cross + part)) for part in (".k", ".v"))
                x = x + self.attend(n, k, v, cross, 0)
            x = self.feedForward(x, at + "2.")
        x = self.norm(x, "decoder.final_layer_norm")
        if self.settings["tie_word_embeddings"]:
            return x * self.settings["d_model"] ** -0.5 @ self.weight("shared").T
        return self.linear(x, "lm_head")


def load(directory, kind=numpy.float64):
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    return Model(config, tensorfiles.readDirectory(directory), kind)


if __name__ == "__main__":
    make(sys.argv[1], {})
