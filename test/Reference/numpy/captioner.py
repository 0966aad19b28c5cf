#!/usr/bin/env python3
"""Attention captioners in float64 with numpy alone: independent of Rapt's code, written from Xu et al. 2015 ("Show, Attend and Tell", sections
3.1 and 4.2, soft attention), the definitions of torch.nn.Conv2d and torch.nn.MaxPool2d, and the schema of docs/Captioner.md.

    captioner.py DIR    writes a small random model there

    model = captioner.load(directory);  grid = model.encode(pixels);  logits = model.decode(ids, grid)
    model.looks(ids, grid) are the attention probabilities of each token [tokens, positions]

make(directory, config, seed, storage) writes a random model as a model directory.
"""

import json
import os
import sys

import numpy

import recurrent
import tensorfiles

SMALL = {"model_type": "captioner", "architectures": ["CaptionerForConditionalGeneration"], "image_size": [9, 11], "num_channels": 3,
         "conv_channels": [5, 7], "conv_kernel": [3, 3], "conv_stride": [1, 2], "conv_padding": [1, 0], "conv_pool": [2, 1], "cell": "lstm",
         "vocab_size": 41, "hidden_size": 24, "embedding_size": 20, "attention_size": 17, "decoder_start_token_id": 1, "eos_token_id": 2, "max_length": 120}


def layers(config):
    """(channels, kernel, stride, padding, pool) of each convolution."""
    count = len(config["conv_channels"])
    usual = {"conv_kernel": 3, "conv_stride": 1, "conv_padding": 1, "conv_pool": 1}
    return list(zip(config["conv_channels"], *(config.get(key, [value] * count) for key, value in usual.items())))


def convolve(x, weight, bias, stride, padding):
    """x [in, height, width], weight [out, in, kernel, kernel]: what torch.nn.Conv2d makes, one output pixel after another."""
    side = weight.shape[2]
    padded = numpy.pad(x, ((0, 0), (padding, padding), (padding, padding)))
    rows, columns = ((extent - side) // stride + 1 for extent in padded.shape[1:])
    y = numpy.empty((len(weight), rows, columns))
    for row in range(rows):
        for column in range(columns):
            seen = padded[:, row * stride : row * stride + side, column * stride : column * stride + side]
            y[:, row, column] = (weight * seen).sum((1, 2, 3)) + bias
    return y


def pool(x, side):
    rows, columns = (extent // side for extent in x.shape[1:])
    return numpy.array([[x[:, side * r : side * r + side, side * c : side * c + side].max((1, 2)) for c in range(columns)] for r in range(rows)]).transpose(2, 0, 1)


class Captioner:
    def __init__(self, config, tensors):
        self.settings, self.tensors = config, tensors
        self.decoder = recurrent.Stack(tensors, "decoder", config["cell"], config["hidden_size"], config.get("decoder_layers", 1), False)
        self.gate, self.isDeep = config.get("gate", "scalar"), config.get("deep_output", True)

    def encode(self, pixels):
        """Annotations [positions, channels] of pixels [channels, height, width], row by row of the grid."""
        x = pixels.astype(numpy.float64)
        for number, (_, _, stride, padding, side) in enumerate(layers(self.settings)):
            x = numpy.maximum(convolve(x, self.tensors[f"convolutions.{number}.weight"], self.tensors[f"convolutions.{number}.bias"], stride, padding), 0)
            x = pool(x, side)
        return x.reshape(len(x), -1).T

    def first(self, annotations):
        """The decoder's states before its first token, from the mean annotation."""
        t, mean = self.tensors, annotations.mean(0)
        return [tuple(numpy.tanh(t[f"init_{part}_l{layer}.weight"] @ mean + t[f"init_{part}_l{layer}.bias"]) for part in "hc"[: self.decoder.states])
                for layer in range(self.decoder.layers)]

    def advance(self, token, states, annotations):
        """Logits, states and attention probabilities after one token."""
        t, embedded, h = self.tensors, self.tensors["embedding.weight"][token], states[-1][0]
        score = t["attention.score"] if "attention.score" in t else t["attention.score.weight"][0]
        e = numpy.array([score @ numpy.tanh(t["attention.query.weight"] @ h + t["attention.key.weight"] @ a) for a in annotations])
        alpha = numpy.exp(e - e.max())
        alpha /= alpha.sum()
        z = alpha @ annotations
        if self.gate != "none":
            z = recurrent.sigmoid(t["attention.gate.weight"] @ h + t["attention.gate.bias"]) * z
        y, states = self.decoder.advance(numpy.concatenate([embedded, z]), states)
        if self.isDeep:
            y = embedded + t["output.state.weight"] @ y + t["output.context.weight"] @ z
        head = t["embedding.weight"] if self.settings.get("tie_word_embeddings") else t["lm_head.weight"]
        return head @ y + t["lm_head.bias"], states, alpha

    def run(self, ids, annotations):
        states, found = self.first(annotations), []
        for token in ids:
            logits, states, alpha = self.advance(token, states, annotations)
            found.append((logits, alpha))
        return found

    def decode(self, ids, annotations):
        return numpy.array([logits for logits, _ in self.run(ids, annotations)])

    def looks(self, ids, annotations):
        return numpy.array([alpha for _, alpha in self.run(ids, annotations)])


def shapes(config):
    """Tensor name -> shape."""
    c, table, channels, parts = config, {}, config["num_channels"], recurrent.PARTS[config["cell"]]
    for number, (out, kernel, _, _, _) in enumerate(layers(c)):
        table[f"convolutions.{number}.weight"], table[f"convolutions.{number}.bias"] = (out, channels, kernel, kernel), (out,)
        channels = out
    hidden, words = c["hidden_size"], c["vocab_size"]
    width, n = c.get("embedding_size", hidden), c.get("attention_size", hidden)
    table["embedding.weight"] = (words, width)
    inputs = width + channels
    for layer in range(c.get("decoder_layers", 1)):
        for part in "hc" if c["cell"] == "lstm" else "h":
            table[f"init_{part}_l{layer}.weight"], table[f"init_{part}_l{layer}.bias"] = (hidden, channels), (hidden,)
        for kind, shape in (("weight_ih", (parts * hidden, inputs)), ("weight_hh", (parts * hidden, hidden)), ("bias_ih", (parts * hidden,)), ("bias_hh", (parts * hidden,))):
            if len(shape) == 2 or c.get("bias", True):
                table[f"decoder.{kind}_l{layer}"] = shape
        inputs = hidden
    table.update({"attention.query.weight": (n, hidden), "attention.key.weight": (n, channels), "attention.score": (n,)})
    if c.get("gate", "scalar") != "none":
        rows = 1 if c.get("gate", "scalar") == "scalar" else channels
        table["attention.gate.weight"], table["attention.gate.bias"] = (rows, hidden), (rows,)
    if c.get("deep_output", True):
        table["output.state.weight"], table["output.context.weight"] = (width, hidden), (width, channels)
    if not c.get("tie_word_embeddings"):
        table["lm_head.weight"] = (words, width if c.get("deep_output", True) else hidden)
    table["lm_head.bias"] = (words,)
    return table


def make(directory, config, seed=7, storage="F32"):
    """Writes a random model; matmuls keep about the variance of their input, and attention is neither even nor of one position."""
    random, tensors = numpy.random.RandomState(seed), {}
    for name, shape in shapes(config).items():
        values = random.standard_normal(shape)
        if name.endswith("bias") or "bias_" in name:
            values *= 0.2
        elif name == "attention.score":
            values *= 3 / numpy.sqrt(shape[0])
        elif name != "embedding.weight":
            values *= numpy.sqrt((2 if "convolutions" in name else 1) / numpy.prod(shape[1:]))
        tensors[name] = values.astype(numpy.float32)
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=1)
    tensorfiles.write(os.path.join(directory, "model.safetensors"), tensors, storage)


def load(directory):
    """The model over the stored weights, in float64. Vectors are kept in f32 by Rapt, so nothing is rounded again."""
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    return Captioner(config, {name: values.astype(numpy.float64) for name, values in tensorfiles.readDirectory(directory).items()})


if __name__ == "__main__":
    make(sys.argv[1], SMALL)
