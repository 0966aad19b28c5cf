#!/usr/bin/env python3
"""The bert family in float64 with numpy alone: independent of Rapt's code, written from the formulas of Devlin et al. 2019
and the details of Hugging Face's BertModel and its heads.

    bert.py DIR    writes a small random model there

    model = bert.Model(config, tensors);  outputs = model.forward(ids, types)

make(directory, config, seed, ...) writes a random model as a Hugging Face directory; tensors(config, seed) gives the
values of docs/RandomWeights.md.
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
    "vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
    "hidden_act": "gelu", "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
    "tie_word_embeddings": True, "architectures": ["BertModel"],
}
SMALL = {
    "architectures": ["BertModel"], "model_type": "bert", "vocab_size": 101, "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 96, "max_position_embeddings": 160, "pad_token_id": 0,
}
ACTIVATIONS = {
    **gpt2.ACTIVATIONS, "tanh": numpy.tanh, "quick_gelu": lambda x: x / (1 + numpy.exp(-1.702 * x)),
    "sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
}


def settings(config):
    result = {key: config.get(key, value) for key, value in DEFAULTS.items()}
    result["labels"] = len(config["id2label"]) if "id2label" in config else config.get("num_labels", 2)
    result["head"] = result["architectures"][0]
    return result


def shapes(config, pooler=True):
    """Tensor name of a model with a head -> (shape, kind, fan in)."""
    s = settings(config)
    width, inner, head, table = s["hidden_size"], s["intermediate_size"], s["head"], {}

    def dense(name, rows, columns):
        table[name + ".weight"], table[name + ".bias"] = ((rows, columns), "weight", columns), ((rows,), "bias", 1)

    def norm(name):
        table[name + ".weight"], table[name + ".bias"] = ((width,), "norm", 1), ((width,), "bias", 1)

    for part, rows in (("word", "vocab_size"), ("position", "max_position_embeddings"), ("token_type", "type_vocab_size")):
        table[f"bert.embeddings.{part}_embeddings.weight"] = ((s[rows], width), "embedding", 1)
    norm("bert.embeddings.LayerNorm")
    for layer in range(s["num_hidden_layers"]):
        at = f"bert.encoder.layer.{layer}."
        for part in ("query", "key", "value"):
            dense(at + "attention.self." + part, width, width)
        dense(at + "attention.output.dense", width, width)
        norm(at + "attention.output.LayerNorm")
        dense(at + "intermediate.dense", inner, width)
        dense(at + "output.dense", width, inner)
        norm(at + "output.LayerNorm")
    if head in ("BertForSequenceClassification", "BertForPreTraining") or (head == "BertModel" and pooler):
        dense("bert.pooler.dense", width, width)
    if head in ("BertForMaskedLM", "BertForPreTraining"):
        dense("cls.predictions.transform.dense", width, width)
        norm("cls.predictions.transform.LayerNorm")
        table["cls.predictions.bias"] = ((s["vocab_size"],), "bias", 1)
        if not s["tie_word_embeddings"]:
            table["cls.predictions.decoder.weight"] = ((s["vocab_size"], width), "weight", width)
    if head == "BertForPreTraining":
        dense("cls.seq_relationship", 2, width)
    if head in ("BertForSequenceClassification", "BertForTokenClassification"):
        dense("classifier", s["labels"], width)
    if head == "BertForQuestionAnswering":
        dense("qa_outputs", 2, width)
    return table


def tensors(config, seed):
    return {name: randomweights.values(seed, name, shape, kind, fan) for name, (shape, kind, fan) in shapes(config).items()}


def write(directory, name, content):
    path = os.path.join(directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2)


DENSE = {"tanh": ("torch.nn.modules.activation.Tanh", numpy.tanh), "relu": ("torch.nn.modules.activation.ReLU", lambda x: numpy.maximum(x, 0)),
         "identity": ("torch.nn.modules.linear.Identity", lambda x: x)}


def denseTensors(number, width, out, hasBias):
    """The weights of the number-th linear layer behind the pooling."""
    random = numpy.random.default_rng(number + 17)
    tensors = {"linear.weight": random.standard_normal((out, width)).astype(numpy.float32) / numpy.float32(math.sqrt(width))}
    if hasBias:
        tensors["linear.bias"] = random.standard_normal(out).astype(numpy.float32)
    return tensors


def writeModules(directory, pooling, normalize, dense=(), width=64):
    """The files of sentence-transformers; `pooling` is cls_token, mean_tokens, max_tokens or lasttoken; `dense` has columns, whether
    there is a bias, and the activation of each linear layer."""
    kinds = ["Transformer", "Pooling"] + ["Dense"] * len(dense) + ["Normalize"] * normalize
    for number, (out, hasBias, activation) in enumerate(dense):
        folder = f"{number + 2}_Dense"
        write(directory, folder + "/config.json", {"in_features": width, "out_features": out, "bias": hasBias, "activation_function": DENSE[activation][0]})
        tensorfiles.write(os.path.join(directory, folder, "model.safetensors"), denseTensors(number, width, out, hasBias), "F32")
        width = out
    path = lambda i, kind: f"{i}_{kind}" if i else ""
    write(directory, "modules.json", [{"idx": i, "name": str(i), "path": path(i, kind), "type": f"sentence_transformers.models.{kind}"}
                                      for i, kind in enumerate(kinds)])
    modes = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")
    write(directory, "1_Pooling/config.json", {"word_embedding_dimension": 1, "include_prompt": True,
                                               **{f"pooling_mode_{mode}": mode == pooling for mode in modes}})


def make(directory, config, seed=0, dtype="F32", prefix=True, pooler=True, oldNames=False, extra=None, modules=None):
    """Writes the directory and returns its full configuration. `oldNames` are those converted from TensorFlow; `prefix`
    tells whether a model without head has "bert." before its names; `modules` are writeModules's arguments."""
    if modules:
        writeModules(directory, *modules)
    config = {**SMALL, **config}
    stored = {**layers.draw(shapes(config, pooler), seed), **(extra or {})}
    if oldNames:
        old = lambda name: name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        stored = {old(name): values for name, values in stored.items()}
    if not prefix:
        stored = {name.removeprefix("bert."): values for name, values in stored.items()}
    tensorfiles.writeModel(directory, config, stored, dtype)
    return config


class Model:
    """tensors: {name: array}, names with or without "bert.", norms with weight and bias or gamma and beta."""

    def __init__(self, config, tensors, kind=numpy.float64, modules=("mean_tokens", False)):
        self.settings, self.kind, self.modules = settings(config), kind, modules
        new = lambda name: name.removeprefix("bert.").replace(".gamma", ".weight").replace(".beta", ".bias")
        self.tensors = {new(name): values for name, values in tensors.items()}
        self.act = ACTIVATIONS[self.settings["hidden_act"]]

    def weight(self, name):
        return self.tensors[name].astype(self.kind)

    def dense(self, x, name):
        return x @ self.weight(name + ".weight").T + self.weight(name + ".bias")

    def norm(self, x, name):
        return layers.layerNorm(x, self.weight(name + ".weight"), self.weight(name + ".bias"), self.settings["layer_norm_eps"])

    def attention(self, x, at):
        cut = lambda part: layers.heads(self.dense(x, at + "self." + part), self.settings["num_attention_heads"])
        q, k, v = cut("query"), cut("key"), cut("value")
        return self.dense(layers.mix(q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1]), v), at + "output.dense")

    def hidden(self, ids, types):
        table = lambda part: self.weight(f"embeddings.{part}_embeddings.weight")
        x = self.norm(table("word")[ids] + table("position")[: len(ids)] + table("token_type")[types], "embeddings.LayerNorm")
        for layer in range(self.settings["num_hidden_layers"]):
            at = f"encoder.layer.{layer}."
            x = self.norm(x + self.attention(x, at + "attention."), at + "attention.output.LayerNorm")
            wide = self.act(self.dense(x, at + "intermediate.dense"))
            x = self.norm(x + self.dense(wide, at + "output.dense"), at + "output.LayerNorm")
        return x

    def sentence(self, x):
        pooling, normalize, *dense = self.modules
        pooled = {"mean_tokens": x.mean(0), "max_tokens": x.max(0), "cls_token": x[0], "lasttoken": x[-1]}[pooling]
        for number, (out, hasBias, activation) in enumerate(dense[0] if dense else ()):
            tensors = denseTensors(number, len(pooled), out, hasBias)
            pooled = DENSE[activation][1](tensors["linear.weight"].astype(self.kind) @ pooled + tensors.get("linear.bias", 0))
        return pooled / numpy.linalg.norm(pooled) if normalize else pooled

    def forward(self, ids, types=None):
        """{name: array} of the outputs for one text without padding: [length, ...], or [...] for the whole text."""
        x = self.hidden(ids, numpy.zeros_like(ids) if types is None else types)
        head = self.settings["head"]
        pooled = lambda: numpy.tanh(self.dense(x[0], "pooler.dense"))
        if head == "BertModel":
            outputs = {"last_hidden_state": x, "sentence_embedding": self.sentence(x)}
            if "pooler.dense.weight" in self.tensors:
                outputs["pooler_output"] = pooled()
            return outputs
        if head in ("BertForMaskedLM", "BertForPreTraining"):
            pair = {"seq_relationship_logits": self.dense(pooled(), "cls.seq_relationship")} if head == "BertForPreTraining" else {}
            x = self.norm(self.act(self.dense(x, "cls.predictions.transform.dense")), "cls.predictions.transform.LayerNorm")
            tied = self.settings["tie_word_embeddings"]
            table = self.weight("embeddings.word_embeddings.weight" if tied else "cls.predictions.decoder.weight")
            return {"logits": x @ table.T + self.weight("cls.predictions.bias")} | pair
        if head == "BertForSequenceClassification":
            return {"logits": self.dense(pooled(), "classifier")}
        if head == "BertForTokenClassification":
            return {"logits": self.dense(x, "classifier")}
        both = self.dense(x, "qa_outputs")
        return {"start_logits": both[:, 0], "end_logits": both[:, 1]}


def load(directory, kind=numpy.float64):
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    return Model(config, tensorfiles.readDirectory(directory), kind)


if __name__ == "__main__":
    make(sys.argv[1], json.loads(sys.argv[2]) if len(sys.argv) > 2 else {})
