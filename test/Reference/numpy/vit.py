#!/usr/bin/env python3
"""The vit family in float64 with numpy alone: independent of Rapt's code, written from the formulas of Dosovitskiy et al.
2021 and the details of Hugging Face's ViTModel and ViTForImageClassification.

    vit.py DIR    writes a small random model there

    model = vit.Model(config, tensors);  outputs = model.forward(pixels)

make(directory, config, seed, ...) writes a random model as a Hugging Face directory; tensors(config, seed) gives the
values of docs/RandomWeights.md.
"""

import json
import math
import os
import sys

import numpy

import layers
import randomweights
import tensorfiles
from bert import ACTIVATIONS

DEFAULTS = {
    "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "hidden_act": "gelu",
    "image_size": 224, "patch_size": 16, "num_channels": 3, "layer_norm_eps": 1e-12, "qkv_bias": True,
    "use_mean_pooling": False, "pooler_act": "tanh", "architectures": ["ViTModel"],
}
SMALL = {
    "architectures": ["ViTModel"], "model_type": "vit", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 96, "image_size": 32, "patch_size": 8,
}


def settings(config):
    result = {key: config.get(key, value) for key, value in DEFAULTS.items()}
    result["labels"] = len(config["id2label"]) if "id2label" in config else config.get("num_labels", 2)
    result["head"] = result["architectures"][0]
    result["pooler_output_size"] = config.get("pooler_output_size", result["hidden_size"])
    pair = lambda size: size if isinstance(size, list) else [size, size]
    result["patch_size"] = pair(result["patch_size"])[0]
    result["grid"] = [side // result["patch_size"] for side in pair(result["image_size"])]
    result["image_size"] = pair(result["image_size"])
    return result


def shapes(config, pooler=True):
    """Tensor name of a model with a head -> (shape, kind, fan in)."""
    s = settings(config)
    width, inner, patch, table = s["hidden_size"], s["intermediate_size"], s["patch_size"], {}

    def dense(name, rows, columns, bias=True):
        table[name + ".weight"] = ((rows, columns), "weight", columns)
        if bias:
            table[name + ".bias"] = ((rows,), "bias", 1)

    def norm(name):
        table[name + ".weight"], table[name + ".bias"] = ((width,), "norm", 1), ((width,), "bias", 1)

    table["vit.embeddings.cls_token"] = ((1, 1, width), "embedding", 1)
    table["vit.embeddings.position_embeddings"] = ((1, s["grid"][0] * s["grid"][1] + 1, width), "embedding", 1)
    kernel, pixels = "vit.embeddings.patch_embeddings.projection", s["num_channels"] * patch * patch
    table[kernel + ".weight"] = ((width, s["num_channels"], patch, patch), "weight", pixels)
    table[kernel + ".bias"] = ((width,), "bias", 1)
    for layer in range(s["num_hidden_layers"]):
        at = f"vit.encoder.layer.{layer}."
        norm(at + "layernorm_before")
        for part in ("query", "key", "value"):
            dense(at + "attention.attention." + part, width, width, s["qkv_bias"])
        dense(at + "attention.output.dense", width, width)
        norm(at + "layernorm_after")
        dense(at + "intermediate.dense", inner, width)
        dense(at + "output.dense", width, inner)
    norm("vit.layernorm")
    if s["head"] == "ViTForImageClassification":
        dense("classifier", s["labels"], width)
    elif pooler:
        dense("vit.pooler.dense", s["pooler_output_size"], width)
    return table


def tensors(config, seed):
    return {name: randomweights.values(seed, name, shape, kind, fan) for name, (shape, kind, fan) in shapes(config).items()}


def make(directory, config, seed=0, dtype="F32", prefix=True, pooler=True, extra=None):
    """Writes the directory and returns its full configuration. `prefix` tells whether a model without head has "vit."
    before its names."""
    config = {**SMALL, **config}
    stored = {**layers.draw(shapes(config, pooler), seed), **(extra or {})}
    if not prefix:
        stored = {name.removeprefix("vit."): values for name, values in stored.items()}
    tensorfiles.writeModel(directory, config, stored, dtype)
    return config


def interpolation(old, new):
    """[new, old]: each row has the weights of torch's bicubic interpolation (a = -0.75, align_corners False)."""
    a, matrix = -0.75, numpy.zeros((new, old))
    for i in range(new):
        place = (i + 0.5) * old / new - 0.5
        low = math.floor(place)
        for tap in range(low - 1, low + 3):
            t = abs(place - tap)
            weight = (a + 2) * t**3 - (a + 3) * t**2 + 1 if t <= 1 else a * (t**3 - 5 * t**2 + 8 * t - 4)
            matrix[i, min(max(tap, 0), old - 1)] += weight
    return matrix


class Model:
    """tensors: {name: array}, names with or without "vit."."""

    def __init__(self, config, tensors, kind=numpy.float64):
        self.settings, self.kind = settings(config), kind
        self.tensors = {name.removeprefix("vit."): values for name, values in tensors.items()}

    def weight(self, name):
        return self.tensors[name].astype(self.kind)

    def dense(self, x, name):
        product = x @ self.weight(name + ".weight").T
        return product + self.weight(name + ".bias") if name + ".bias" in self.tensors else product

    def norm(self, x, name):
        return layers.layerNorm(x, self.weight(name + ".weight"), self.weight(name + ".bias"), self.settings["layer_norm_eps"])

    def embed(self, pixels):
        """[channels, height, width] -> [1 + patches, width]: the convolution as it is written, patch by patch."""
        s = self.settings
        patch, grid, kernel = s["patch_size"], s["grid"], self.weight("embeddings.patch_embeddings.projection.weight")
        rows, columns = pixels.shape[1] // patch, pixels.shape[2] // patch
        tokens = []
        for y in range(rows):
            for x in range(columns):
                part = pixels[:, y * patch : (y + 1) * patch, x * patch : (x + 1) * patch]
                tokens.append(numpy.einsum("ocij,cij->o", kernel, part))
        tokens = numpy.array(tokens) + self.weight("embeddings.patch_embeddings.projection.bias")
        positions = self.weight("embeddings.position_embeddings")[0]
        table = positions[1:].reshape(*grid, -1)
        resized = numpy.einsum("ym,xn,mnc->yxc", interpolation(grid[0], rows), interpolation(grid[1], columns), table)
        first = self.weight("embeddings.cls_token")[0] + positions[:1]
        return numpy.concatenate([first, tokens + resized.reshape(rows * columns, -1)])

    def attention(self, x, at):
        cut = lambda part: layers.heads(self.dense(x, at + "attention." + part), self.settings["num_attention_heads"])
        q, k, v = cut("query"), cut("key"), cut("value")
        return self.dense(layers.mix(q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1]), v), at + "output.dense")

    def forward(self, pixels):
        """{name: array} of the outputs for one image [channels, height, width]."""
        s = self.settings
        x = self.embed(pixels.astype(self.kind))
        for layer in range(s["num_hidden_layers"]):
            at = f"encoder.layer.{layer}."
            x = x + self.attention(self.norm(x, at + "layernorm_before"), at + "attention.")
            wide = ACTIVATIONS[s["hidden_act"]](self.dense(self.norm(x, at + "layernorm_after"), at + "intermediate.dense"))
            x = x + self.dense(wide, at + "output.dense")
        x = self.norm(x, "layernorm")
        if s["head"] == "ViTForImageClassification":
            return {"logits": self.dense(x[1:].mean(0) if s["use_mean_pooling"] else x[0], "classifier")}
        outputs = {"last_hidden_state": x}
        if "pooler.dense.weight" in self.tensors:
            outputs["pooler_output"] = ACTIVATIONS[s["pooler_act"]](self.dense(x[0], "pooler.dense"))
        return outputs


def load(directory, kind=numpy.float64):
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    return Model(config, tensorfiles.readDirectory(directory), kind)


if __name__ == "__main__":
    make(sys.argv[1], json.loads(sys.argv[2]) if len(sys.argv) > 2 else {})
