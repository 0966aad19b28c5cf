#!/usr/bin/env python3
"""The deberta-v2 family in float64 with numpy alone, as Hugging Face's DebertaV2Model and its heads compute it (He et al. 2021).

The score of query i and key j is (q_i . k_j + q_i . K_r + k_j . Q_r) / sqrt(channels * factor), where K_r and Q_r are keys and queries of
row r of rel_embeddings, r the bucket of the distance i - j. Where there is a convolution, the first layer's result becomes
norm(result + act(convolution of the embeddings)), with zeros around the text. `without` names quirks that are left out, for checks that each has an effect.
"""

import json
import math
import os

import numpy

import gpt2
import layers
import tensorfiles

ACTIVATIONS = {**gpt2.ACTIVATIONS, "tanh": numpy.tanh}
QUIRKS = ("keys", "queries", "buckets", "norm", "factor", "projections", "clamp", "narrow", "convolution", "centered")


def small(head="Model", **changes):
    """A tiny configuration like those of DeBERTa-v3."""
    config = {"model_type": "deberta-v2", "architectures": ["DebertaV2" + head], "vocab_size": 101, "hidden_size": 48, "num_hidden_layers": 2,
              "num_attention_heads": 3, "intermediate_size": 72, "max_position_embeddings": 70, "type_vocab_size": 0, "relative_attention": True,
              "position_buckets": 16, "norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": "p2c|c2p", "position_biased_input": False}
    return {**config, **changes}


class Settings:
    """The values of a config.json, with the class's defaults."""

    def __init__(self, config):
        get = lambda key, otherwise: otherwise if config.get(key) is None else config[key]
        self.width, self.heads, self.depth = config["hidden_size"], config["num_attention_heads"], config["num_hidden_layers"]
        self.inner, self.narrow, self.act = config["intermediate_size"], get("embedding_size", config["hidden_size"]), get("hidden_act", "gelu")
        self.epsilon, self.types = get("layer_norm_eps", 1e-7), get("type_vocab_size", 0)
        self.hasPositions, self.isRelative = get("position_biased_input", True), get("relative_attention", False)
        names = get("pos_att_type", [])
        self.terms = [name.strip() for name in (names.split("|") if isinstance(names, str) else names)]
        self.buckets, self.reach = get("position_buckets", -1), get("max_relative_positions", -1)
        self.reach = self.reach if self.reach > 0 else config["max_position_embeddings"]
        self.span = self.buckets if self.buckets > 0 else self.reach
        self.isNormed, self.isShared = get("norm_rel_ebd", "none") == "layer_norm", get("share_att_key", False)
        self.kernel, self.convolved = get("conv_kernel_size", 0), get("conv_act", "tanh")
        self.head, self.isLegacy = config["architectures"][0].removeprefix("DebertaV2"), get("legacy", True)
        self.poolerAct, self.labels = get("pooler_hidden_act", "gelu"), config.get("num_labels", 2)

    @property
    def masked(self):
        return ("cls.predictions.", "transform.") if self.isLegacy else ("lm_predictions.lm_head.", "")


def shapes(config):
    """Tensor name -> (shape, kind, fan in)."""
    s, table = Settings(config), {}

    def dense(name, rows, columns, hasBias=True):
        table[name + ".weight"] = (rows, columns), "weight", columns
        if hasBias:
            table[name + ".bias"] = (rows,), "bias", 1

    def norm(name, width):
        table[name + ".weight"], table[name + ".bias"] = ((width,), "norm", 1), ((width,), "bias", 1)

    rows = {"word": config["vocab_size"], **({"position": config["max_position_embeddings"]} if s.hasPositions else {}),
            **({"token_type": s.types} if s.types else {})}
    for part, count in rows.items():
        table[f"deberta.embeddings.{part}_embeddings.weight"] = (count, s.narrow), "embedding", 1
    norm("deberta.embeddings.LayerNorm", s.width)
    if s.narrow != s.width:
        dense("deberta.embeddings.embed_proj", s.width, s.narrow, hasBias=False)
    if s.isRelative:
        table["deberta.encoder.rel_embeddings.weight"] = (2 * s.span, s.width), "embedding", 1
    if s.isNormed:
        norm("deberta.encoder.LayerNorm", s.width)
    if s.kernel:
        path, fan = "deberta.encoder.conv.", s.width * s.kernel
        table[path + "conv.weight"], table[path + "conv.bias"] = ((s.width, s.width, s.kernel), "weight", fan), ((s.width,), "bias", 1)
        norm(path + "LayerNorm", s.width)
    for layer in range(s.depth):
        path = f"deberta.encoder.layer.{layer}."
        own = [] if s.isShared or not s.isRelative else [kind for kind, name in (("pos_key", "c2p"), ("pos_query", "p2c")) if name in s.terms]
        for name in ("query", "key", "value", *own):
            dense(f"{path}attention.self.{name}_proj", s.width, s.width)
        dense(path + "attention.output.dense", s.width, s.width)
        norm(path + "attention.output.LayerNorm", s.width)
        dense(path + "intermediate.dense", s.inner, s.width)
        dense(path + "output.dense", s.width, s.inner)
        norm(path + "output.LayerNorm", s.width)
    if s.head == "ForMaskedLM":
        path, transform = s.masked
        dense(path + transform + "dense", s.narrow, s.width)
        norm(path + transform + "LayerNorm", s.narrow)
        table[path + "bias"] = (config["vocab_size"],), "bias", 1
    if s.head == "ForSequenceClassification":
        dense("pooler.dense", s.width, s.width)
    if s.head.endswith("Classification"):
        dense("classifier", s.labels, s.width)
    if s.head == "ForQuestionAnswering":
        dense("qa_outputs", 2, s.width)
    return table


def bucket(distances, buckets, reach):
    """The signed bucket of each distance; logarithms are taken in f32, as the package does."""
    if buckets <= 0:
        return distances
    middle, size = buckets // 2, abs(distances)
    share = numpy.log(numpy.maximum(size, 1).astype(numpy.float32) / numpy.float32(middle)) / numpy.log(numpy.float32((reach - 1) / middle))
    far = numpy.ceil(share * numpy.float32(middle - 1)).astype(numpy.int64) + middle
    return numpy.where(size <= middle, distances, numpy.sign(distances) * far)


class Model:
    def __init__(self, config, tensors, without=()):
        assert set(without) <= set(QUIRKS)
        self.config, self.s, self.tensors, self.without = config, Settings(config), tensors, without
        self.settings = {"head": self.s.head}

    def weight(self, name):
        return self.tensors[name].astype(numpy.float64)

    def dense(self, x, name, hasBias=True):
        return x @ self.weight(name + ".weight").T + (self.weight(name + ".bias") if hasBias else 0)

    def norm(self, x, name):
        return layers.layerNorm(x, self.weight(name + ".weight"), self.weight(name + ".bias"), self.s.epsilon)

    def embedding(self, ids, types):
        s, at = self.s, "deberta.embeddings."
        x = self.weight(at + "word_embeddings.weight")[ids]
        if s.hasPositions:
            x = x + self.weight(at + "position_embeddings.weight")[: len(ids)]
        if s.types:
            x = x + self.weight(at + "token_type_embeddings.weight")[types]
        if s.narrow != s.width and "narrow" not in self.without:
            x = self.dense(x, at + "embed_proj", hasBias=False)
        elif s.narrow != s.width:  # the norm first
            x = self.dense(layers.layerNorm(x, 1, 0, s.epsilon), at + "embed_proj", hasBias=False)
        return self.norm(x, at + "LayerNorm")

    def relative(self, path, q, k):
        """The terms of distances, which the scores of contents add, [heads, length, length]."""
        s, places = self.s, numpy.arange(q.shape[1])
        rows = self.weight("deberta.encoder.rel_embeddings.weight")
        if s.isNormed and "norm" not in self.without:
            rows = self.norm(rows, "deberta.encoder.LayerNorm")
        signed = bucket(places[:, None] - places[None, :], 0 if "buckets" in self.without else s.buckets, s.reach) + s.span
        index = signed % (2 * s.span) if "clamp" in self.without else numpy.clip(signed, 0, 2 * s.span - 1)
        isShared = s.isShared != ("projections" in self.without)
        project = lambda own, shared: layers.heads(self.dense(rows, path + (shared if isShared else own)), s.heads)
        sums = 0
        if "c2p" in s.terms and "keys" not in self.without:
            table = q @ project("pos_key_proj", "key_proj").transpose(0, 2, 1)
            sums = sums + table[:, places[:, None], index]
        if "p2c" in s.terms and "queries" not in self.without:
            table = k @ project("pos_query_proj", "query_proj").transpose(0, 2, 1)
            sums = sums + table[:, places[None, :], index]
        return sums

    def convolve(self, x):
        """The activation of the sums over the tokens around each token, [length, width]."""
        kernel, middle = self.weight("deberta.encoder.conv.conv.weight"), self.s.kernel // 2
        ahead = 0 if "centered" in self.without else middle
        padded = numpy.concatenate([numpy.zeros((ahead, x.shape[1])), x, numpy.zeros((2 * middle - ahead, x.shape[1]))])
        sums = sum(padded[i : i + len(x)] @ kernel[:, :, i].T for i in range(self.s.kernel))
        return ACTIVATIONS[self.s.convolved](sums + self.weight("deberta.encoder.conv.conv.bias"))

    def hidden(self, ids, types):
        s, x = self.s, self.embedding(ids, types)
        convolved = self.convolve(x) if s.kernel and "convolution" not in self.without else None
        factor = 1 if "factor" in self.without else 1 + len(s.terms)
        for layer in range(s.depth):
            path = f"deberta.encoder.layer.{layer}."
            q, k, v = (layers.heads(self.dense(x, f"{path}attention.self.{name}_proj"), s.heads) for name in ("query", "key", "value"))
            scores = q @ k.transpose(0, 2, 1)
            if s.isRelative:
                scores = scores + self.relative(path + "attention.self.", q, k)
            mixed = layers.mix(scores / math.sqrt(q.shape[-1] * factor), v)
            x = self.norm(x + self.dense(mixed, path + "attention.output.dense"), path + "attention.output.LayerNorm")
            wide = ACTIVATIONS[s.act](self.dense(x, path + "intermediate.dense"))
            x = self.norm(x + self.dense(wide, path + "output.dense"), path + "output.LayerNorm")
            if convolved is not None and layer == 0:
                x = self.norm(x + convolved, "deberta.encoder.conv.LayerNorm")
        return x

    def forward(self, ids, types=None):
        """{name: array} of the outputs for one text without padding: [length, ...], or [...] for the whole text."""
        s = self.s
        x = self.hidden(ids, numpy.zeros_like(ids) if types is None else types)
        if s.head == "Model":
            return {"last_hidden_state": x, "sentence_embedding": x.mean(0)}
        if s.head == "ForMaskedLM":
            path, transform = s.masked
            x = self.norm(ACTIVATIONS[s.act](self.dense(x, path + transform + "dense")), path + transform + "LayerNorm")
            return {"logits": x @ self.weight("deberta.embeddings.word_embeddings.weight").T + self.weight(path + "bias")}
        if s.head == "ForSequenceClassification":
            return {"logits": self.dense(ACTIVATIONS[s.poolerAct](self.dense(x[0], "pooler.dense")), "classifier")}
        if s.head == "ForTokenClassification":
            return {"logits": self.dense(x, "classifier")}
        both = self.dense(x, "qa_outputs")
        return {"start_logits": both[:, 0], "end_logits": both[:, 1]}


def make(directory, config, seed=0, dtype="F32"):
    tensorfiles.writeModel(directory, config, layers.draw(shapes(config), seed), dtype)
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        return Model(json.load(file), tensorfiles.readDirectory(directory))
