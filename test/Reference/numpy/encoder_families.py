#!/usr/bin/env python3
"""The roberta, distilbert and electra families in float64 with numpy alone, as Hugging Face's classes compute them.

Each family is a table of names of tensors, and what its head computes; `Encoder` has what they share. Each module-level FAMILIES entry
has SMALL, HEADS (architecture -> what is asked of it), shapes(config) and Model. Hugging Face's roberta counts positions from the row
behind pad_token_id; its relatives xlm-roberta and camembert have other names of classes alone.
"""

import json
import math
import os

import numpy

import gpt2
import layers
import tensorfiles

ACTIVATIONS = gpt2.ACTIVATIONS
BERT = {"path": "encoder.layer.{}.", "qkv": ("attention.self.query", "attention.self.key", "attention.self.value"), "out": "attention.output.dense",
        "first": "attention.output.LayerNorm", "up": "intermediate.dense", "down": "output.dense", "second": "output.LayerNorm"}
DISTILBERT = {"path": "transformer.layer.{}.", "qkv": ("attention.q_lin", "attention.k_lin", "attention.v_lin"), "out": "attention.out_lin",
              "first": "sa_layer_norm", "up": "ffn.lin1", "down": "ffn.lin2", "second": "output_layer_norm"}


def roberta(prefix):
    return {"prefix": "roberta.", "layer": BERT, "masked": ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"), "first": True, "types": True,
            "pooler": True, "classes": ("classifier.dense", "tanh", "classifier.out_proj"), "architecture": prefix,
            "keys": ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act")}


FAMILIES = {
    "roberta": roberta("Roberta"), "xlm-roberta": roberta("XLMRoberta"), "camembert": roberta("Camembert"),
    "distilbert": {"prefix": "distilbert.", "layer": DISTILBERT, "masked": ("vocab_transform", "vocab_layer_norm", "vocab_projector.bias"), "first": False,
                   "types": False, "pooler": False, "classes": ("pre_classifier", "relu", "classifier"), "architecture": "DistilBert",
                   "keys": ("dim", "n_layers", "n_heads", "hidden_dim", "activation")},
    "electra": {"prefix": "electra.", "layer": BERT, "masked": ("generator_predictions.dense", "generator_predictions.LayerNorm", "generator_lm_head.bias"),
                "first": False, "types": True, "pooler": False, "classes": ("classifier.dense", "gelu", "classifier.out_proj"), "architecture": "Electra",
                "keys": ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act")},
}


def settings(config):
    family = FAMILIES[config["model_type"]]
    width, depth, heads, inner, act = family["keys"]
    return {**family, "width": config[width], "depth": config[depth], "heads": config[heads], "inner": config[inner], "act": config.get(act, "gelu"),
            "narrow": config.get("embedding_size", config[width]), "epsilon": config.get("layer_norm_eps", 1e-12), "head": config["architectures"][0],
            "labels": len(config["id2label"]) if "id2label" in config else config.get("num_labels", 2)}


def small(kind, head, **changes):
    """A tiny configuration of a family; `head` is behind the name of its classes."""
    family = FAMILIES[kind]
    values = dict(zip(family["keys"], (48, 2, 3, 72, "gelu")))
    config = {"model_type": kind, "architectures": [family["architecture"] + head], "vocab_size": 101, "max_position_embeddings": 70, "pad_token_id": 1, **values}
    if family["types"]:
        config["type_vocab_size"] = 2
    if kind == "electra":
        config["embedding_size"] = 20
    return {**config, **changes}


def shapes(config):
    """Tensor name -> (shape, kind, fan in)."""
    s, table = settings(config), {}

    def dense(name, rows, columns):
        table[name + ".weight"], table[name + ".bias"] = ((rows, columns), "weight", columns), ((rows,), "bias", 1)

    def norm(name, width):
        table[name + ".weight"], table[name + ".bias"] = ((width,), "norm", 1), ((width,), "bias", 1)

    at = s["prefix"]
    tables = {"word": config["vocab_size"], "position": config["max_position_embeddings"], **({"token_type": config["type_vocab_size"]} if s["types"] else {})}
    for part, rows in tables.items():
        table[f"{at}embeddings.{part}_embeddings.weight"] = ((rows, s["narrow"]), "embedding", 1)
    norm(at + "embeddings.LayerNorm", s["narrow"])
    if s["narrow"] != s["width"]:
        dense(at + "embeddings_project", s["width"], s["narrow"])
    parts = s["layer"]
    for layer in range(s["depth"]):
        path = at + parts["path"].format(layer)
        for name in (*parts["qkv"], parts["out"]):
            dense(path + name, s["width"], s["width"])
        dense(path + parts["up"], s["inner"], s["width"])
        dense(path + parts["down"], s["width"], s["inner"])
        norm(path + parts["first"], s["width"])
        norm(path + parts["second"], s["width"])
    head = s["head"].removeprefix(s["architecture"])
    if head == "Model" and s["pooler"]:
        dense(at + "pooler.dense", s["width"], s["width"])
    if head == "ForMaskedLM":
        dense(s["masked"][0], s["narrow"], s["width"])
        norm(s["masked"][1], s["narrow"])
        table[s["masked"][2]] = ((config["vocab_size"],), "bias", 1)
    if head == "ForSequenceClassification":
        dense(s["classes"][0], s["width"], s["width"])
        dense(s["classes"][2], s["labels"], s["width"])
    if head == "ForTokenClassification":
        dense("classifier", s["labels"], s["width"])
    if head == "ForQuestionAnswering":
        dense("qa_outputs", 2, s["width"])
    return table


class Model:
    def __init__(self, config, tensors, without=()):
        self.config, self.settings, self.tensors, self.without = config, settings(config), tensors, without

    def weight(self, name):
        return self.tensors[name].astype(numpy.float64)

    def dense(self, x, name):
        return x @ self.weight(name + ".weight").T + self.weight(name + ".bias")

    def norm(self, x, name):
        return layers.layerNorm(x, self.weight(name + ".weight"), self.weight(name + ".bias"), self.settings["epsilon"])

    def hidden(self, ids, types):
        s = self.settings
        at, parts = s["prefix"], s["layer"]
        table = lambda part: self.weight(f"{at}embeddings.{part}_embeddings.weight")
        positions, pad = numpy.arange(len(ids)), self.config["pad_token_id"]
        if s["first"] and "positions" not in self.without:  # tokens of padding are not counted, and have the row of pad
            isToken = numpy.asarray(ids) != pad
            positions = numpy.cumsum(isToken) * isToken + pad
        x = table("word")[ids] + table("position")[positions]
        if s["types"]:
            x = x + table("token_type")[types]
        x = self.norm(x, at + "embeddings.LayerNorm")
        if s["narrow"] != s["width"]:
            x = self.dense(x, at + "embeddings_project")
        for layer in range(s["depth"]):
            path = at + parts["path"].format(layer)
            q, k, v = (layers.heads(self.dense(x, path + name), s["heads"]) for name in parts["qkv"])
            mixed = layers.mix(q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1]), v)
            x = self.norm(x + self.dense(mixed, path + parts["out"]), path + parts["first"])
            wide = ACTIVATIONS[s["act"]](self.dense(x, path + parts["up"]))
            x = self.norm(x + self.dense(wide, path + parts["down"]), path + parts["second"])
        return x

    def forward(self, ids, types=None):
        """{name: array} of the outputs for one text without padding: [length, ...], or [...] for the whole text."""
        s = self.settings
        x = self.hidden(ids, numpy.zeros_like(ids) if types is None else types)
        head = s["head"].removeprefix(s["architecture"])
        if head == "Model":
            outputs = {"last_hidden_state": x, "sentence_embedding": x.mean(0)}
            if s["pooler"]:
                outputs["pooler_output"] = numpy.tanh(self.dense(x[0], s["prefix"] + "pooler.dense"))
            return outputs
        if head == "ForMaskedLM":
            act = ACTIVATIONS[s["act"] if self.config["model_type"] == "distilbert" else "gelu"]
            x = self.norm(act(self.dense(x, s["masked"][0])), s["masked"][1])
            return {"logits": x @ self.weight(s["prefix"] + "embeddings.word_embeddings.weight").T + self.weight(s["masked"][2])}
        if head == "ForSequenceClassification":
            name, act, last = s["classes"]
            act = numpy.tanh if act == "tanh" else ACTIVATIONS[act]
            return {"logits": self.dense(act(self.dense(x[0], name)), last)}
        if head == "ForTokenClassification":
            return {"logits": self.dense(x, "classifier")}
        both = self.dense(x, "qa_outputs")
        return {"start_logits": both[:, 0], "end_logits": both[:, 1]}


def make(directory, config, seed=0, dtype="F32"):
    tensorfiles.writeModel(directory, config, layers.draw(shapes(config), seed), dtype)
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        return Model(json.load(file), tensorfiles.readDirectory(directory))
