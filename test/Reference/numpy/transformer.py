#!/usr/bin/env python3
"""The transformer family (docs/Transformer.md) in float64 with numpy alone: independent of Rapt's code, written from the
formulas of Vaswani et al. 2017 and the documentation of torch.nn.Transformer.

    transformer.py DIR    writes a small random model there

    model = transformer.Model(config, tensors);  hidden = model.encode(ids);  logits = model.decode(tokens, hidden)

make(directory, config, seed) writes a random model as a model directory; tensors(config, seed) gives the values of
docs/RandomWeights.md.
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
    "d_model": 512, "nhead": 8, "num_encoder_layers": 6, "num_decoder_layers": 6, "dim_feedforward": 2048, "activation": "relu",
    "layer_norm_eps": 1e-5, "norm_first": False, "final_norm": True, "scale_embedding": True, "share_embeddings": None,
    "tie_word_embeddings": True, "generator_bias": None, "n_positions": 512, "vocab_size": None, "decoder_vocab_size": None,
}
SMALL = {
    "model_type": "transformer", "vocab_size": 101, "d_model": 64, "nhead": 4, "dim_feedforward": 96, "num_encoder_layers": 2,
    "num_decoder_layers": 2, "n_positions": 256, "eos_token_id": 1, "pad_token_id": 0, "decoder_start_token_id": 0,
}


def settings(config):
    result = {key: config.get(key, value) for key, value in DEFAULTS.items()}
    if result["share_embeddings"] is None:
        result["share_embeddings"] = result["decoder_vocab_size"] is None
    if result["decoder_vocab_size"] is None:
        result["decoder_vocab_size"] = result["vocab_size"]
    result["labels"] = config.get("num_labels", 0)
    if result["generator_bias"] is None:
        result["generator_bias"] = not result["tie_word_embeddings"]
    return result


def shapes(config):
    """Tensor name -> (shape, kind, fan in)."""
    s = settings(config)
    width, inner, table = s["d_model"], s["dim_feedforward"], {}

    def dense(name, out, count, weight=".weight", bias=".bias"):
        table[name + weight] = ((out, count), "weight", count)
        table[name + bias] = ((out,), "bias", 1)

    def norm(name):
        table[name + ".weight"], table[name + ".bias"] = ((width,), "norm", 1), ((width,), "bias", 1)

    for name in ("embedding",) if s["share_embeddings"] else ("src_embedding", "tgt_embedding"):
        table[name + ".weight"] = ((s["decoder_vocab_size" if name == "tgt_embedding" else "vocab_size"], width), "embedding", 1)
    for side in ("encoder", "decoder"):
        if not s[f"num_{side}_layers"]:
            continue
        hasCross = side == "decoder" and s["num_encoder_layers"] > 0
        for layer in range(s[f"num_{side}_layers"]):
            at = f"{side}.layers.{layer}."
            for name in ("self_attn", "multihead_attn") if hasCross else ("self_attn",):
                dense(at + name, 3 * width, width, ".in_proj_weight", ".in_proj_bias")
                dense(at + name + ".out_proj", width, width)
            dense(at + "linear1", inner, width)
            dense(at + "linear2", width, inner)
            for number in range(1, 4 if hasCross else 3):
                norm(f"{at}norm{number}")
        if s["final_norm"]:
            norm(side + ".norm")
    if s["labels"]:
        dense("classifier", s["labels"], width)
    if not s["num_decoder_layers"]:
        return table
    if not s["tie_word_embeddings"]:
        table["generator.weight"] = ((s["decoder_vocab_size"], width), "weight", width)
    if s["generator_bias"]:
        table["generator.bias"] = ((s["decoder_vocab_size"],), "bias", 1)
    return table


def tensors(config, seed):
    return {name: randomweights.values(seed, name, shape, kind, fan) for name, (shape, kind, fan) in shapes(config).items()}


def weights(config, seed):
    """Values for tests: every gain differs from 1, every bias from 0; embeddings are as large as the sinusoids."""
    s = settings(config)
    return layers.draw(shapes(config), seed, bias=0.1, embedding=1 / math.sqrt(s["d_model"]) if s["scale_embedding"] else 1)


def make(directory, config, seed=0, dtype="F32", extra=None):
    """Writes the directory and returns its full configuration."""
    config = {**SMALL, **config}
    tensorfiles.writeModel(directory, config, {**weights(config, seed), **(extra or {})}, dtype)
    return config


def sinusoids(positions, width):
    """PE(pos, 2i) = sin(pos / 10000^(2i / width)), PE(pos, 2i + 1) the cosine."""
    table = numpy.zeros((len(positions), width))
    for column in range(width):
        angle = positions / 10000 ** (2 * (column // 2) / width)
        table[:, column] = numpy.cos(angle) if column % 2 else numpy.sin(angle)
    return table


class Model:
    def __init__(self, config, tensors, kind=numpy.float64):
        self.settings, self.kind, self.tensors = settings(config), kind, tensors
        self.act = gpt2.ACTIVATIONS[self.settings["activation"]]

    def tensor(self, name):
        return self.tensors[name].astype(self.kind)

    def linear(self, x, name):
        return x @ self.tensor(name + ".weight").T + self.tensor(name + ".bias")

    def norm(self, x, name):
        return layers.layerNorm(x, self.tensor(name + ".weight"), self.tensor(name + ".bias"), self.settings["layer_norm_eps"])

    def embed(self, ids, is_target, past=0):
        s = self.settings
        name = "embedding" if s["share_embeddings"] else "tgt_embedding" if is_target else "src_embedding"
        x = self.tensor(name + ".weight")[ids] * (math.sqrt(s["d_model"]) if s["scale_embedding"] else 1)
        return x + sinusoids(past + numpy.arange(len(ids)), s["d_model"])

    def project(self, x, at, which):
        """Query (0), key (1) or value (2) of x: rows of in_proj_weight."""
        width = self.settings["d_model"]
        rows = slice(which * width, (which + 1) * width)
        return x @ self.tensor(at + ".in_proj_weight")[rows].T + self.tensor(at + ".in_proj_bias")[rows]

    def heads(self, x):
        return layers.heads(x, self.settings["nhead"])

    def attend(self, x, keys, values, at, causal=False):
        q, k, v = self.heads(self.project(x, at, 0)), self.heads(keys), self.heads(values)
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[2])
        return self.linear(layers.mix(layers.causal(scores) if causal else scores, v), at + ".out_proj")

    def sublayer(self, x, norm, f):
        return x + f(self.norm(x, norm)) if self.settings["norm_first"] else self.norm(x + f(x), norm)

    def feedForward(self, x, at):
        return self.linear(self.act(self.linear(x, at + "linear1")), at + "linear2")

    def encode(self, ids):
        x = self.embed(ids, False)
        for layer in range(self.settings["num_encoder_layers"]):
            at = f"encoder.layers.{layer}."
            own = at + "self_attn"
            x = self.sublayer(x, at + "norm1", lambda y: self.attend(y, self.project(y, own, 1), self.project(y, own, 2), own))
            x = self.sublayer(x, at + "norm2", lambda y: self.feedForward(y, at))
        return self.norm(x, "encoder.norm") if self.settings["final_norm"] else x

    def logits(self, ids):
        """Logits behind each token, by a decoder without an encoder."""
        s, x = self.settings, self.embed(ids, True)
        for layer in range(s["num_decoder_layers"]):
            at = f"decoder.layers.{layer}."
            own = at + "self_attn"
            x = self.sublayer(x, at + "norm1", lambda y: self.attend(y, self.project(y, own, 1), self.project(y, own, 2), own, causal=True))
            x = self.sublayer(x, at + "norm2", lambda y: self.feedForward(y, at))
        x = self.norm(x, "decoder.norm") if s["final_norm"] else x
        logits = x @ self.tensor("embedding.weight" if s["tie_word_embeddings"] else "generator.weight").T
        return logits + self.tensor("generator.bias") if s["generator_bias"] else logits

    def classes(self, ids):
        """Logits of a text's classes, by an encoder without a decoder."""
        return self.linear(self.encode(ids).mean(0), "classifier")

    def decode(self, tokens, hidden, cache=None):
        """[len(tokens), vocab]; `cache` is a list that grows: pass [] and go on from it later."""
        s = self.settings
        cache = [] if cache is None else cache
        if not cache:
            nothing = numpy.zeros((0, s["d_model"]), self.kind)
            cache += [(nothing, nothing)] * s["num_decoder_layers"]
        x = self.embed(tokens, True, len(cache[0][0]))
        for layer in range(s["num_decoder_layers"]):
            at = f"decoder.layers.{layer}."
            own, cross = at + "self_attn", at + "multihead_attn"

            def attendOwn(y):
                cache[layer] = tuple(numpy.concatenate([cache[layer][i], self.project(y, own, i + 1)]) for i in range(2))
                return self.attend(y, *cache[layer], own, causal=True)

            def attendSource(y):
                if not len(hidden):
                    return numpy.zeros_like(y) + self.tensor(cross + ".out_proj.bias")
                return self.attend(y, self.project(hidden, cross, 1), self.project(hidden, cross, 2), cross)

            x = self.sublayer(x, at + "norm1", attendOwn)
            x = self.sublayer(x, at + "norm2", attendSource)
            x = self.sublayer(x, at + "norm3", lambda y: self.feedForward(y, at))
        if s["final_norm"]:
            x = self.norm(x, "decoder.norm")
        table = "generator" if not s["tie_word_embeddings"] else "embedding" if s["share_embeddings"] else "tgt_embedding"
        logits = x @ self.tensor(table + ".weight").T
        return logits + self.tensor("generator.bias") if s["generator_bias"] else logits


def load(directory, kind=numpy.float64):
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    return Model(config, tensorfiles.readDirectory(directory), kind)


if __name__ == "__main__":
    make(sys.argv[1], {})
