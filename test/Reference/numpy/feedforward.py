#!/usr/bin/env python3
"""Models without recurrence and without transformer layers, in float64 with numpy alone: independent of Rapt's code, written from Bengio et al. 2003,
Kim 2014, Iyyer et al. 2015, the definition of Nadaraya-Watson regression, and the schema of docs/FeedForward.md.

    feedforward.py DIR NAME         writes the small random model NAME of MODELS there

    model = feedforward.load(directory)
    y = model.forward(x)            of one vector x, of the ids of one text, or of a text's tokens: logits [tokens, vocabulary]

make(directory, config, seed, storage) writes a random model as a model directory. QUIRKS are names of what `load(directory, without=...)` leaves out.
"""

import json
import math
import os
import sys

import numpy

import tensorfiles

TABULAR = {"model_type": "feed-forward", "architectures": ["FeedForwardForTabularClassification"], "num_features": 7, "num_labels": 5}
TEXT = {"model_type": "feed-forward", "architectures": ["FeedForwardForSequenceClassification"], "vocab_size": 61, "embedding_size": 24, "num_labels": 5,
        "max_length": 200}
CONVOLUTION = {**TEXT, "pooling": "convolution", "kernel_sizes": [3, 4, 5], "num_filters": 16}
LM = {"model_type": "neural-probabilistic", "architectures": ["NeuralProbabilisticForCausalLM"], "vocab_size": 61, "context_size": 3, "embedding_size": 12,
      "hidden_size": 20, "max_length": 96}
KERNEL = {"model_type": "kernel-regression", "architectures": ["KernelRegressionForTabularRegression"], "num_features": 3, "num_examples": 41,
          "num_outputs": 2, "bandwidth": 0.7}
MODELS = {"tabular": TABULAR, "text": TEXT, "convolution": CONVOLUTION, "language-model": LM, "kernel": KERNEL}

ACTIVATIONS = {
    "relu": lambda x: numpy.maximum(x, 0),
    "tanh": numpy.tanh,
    "sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
    "gelu": lambda x: numpy.array([v / 2 * (1 + math.erf(v / math.sqrt(2))) for v in numpy.ravel(x)]).reshape(numpy.shape(x)),
}


def activation(config, usual):
    """The function that `activation` names."""
    if config.get("activation") == "leaky_relu":
        return lambda x: numpy.where(x > 0, x, config.get("negative_slope", 0.01) * x)
    return ACTIVATIONS[config.get("activation", usual)]


def softmax(x):
    weights = numpy.exp(x - x.max())
    return weights / weights.sum()


class Classifier:
    """Layers over a vector, which of a text is the mean of its embeddings, the attention of a query, or the largest outputs of convolutions over time."""

    def __init__(self, config, tensors, without):
        self.settings, self.tensors, self.without = config, tensors, without
        self.activation = activation(config, "relu")
        self.pooling = config.get("pooling", "mean")

    def dense(self, part, x):
        return self.tensors[part + ".weight"] @ x + self.tensors[part + ".bias"]

    def attend(self, x):
        keys = x
        if "attention_size" in self.settings:
            keys = x @ self.tensors["attention.key.weight"].T + self.tensors["attention.key.bias"]
            keys = keys if self.without == "tanh" else numpy.tanh(keys)
        return softmax(keys @ self.tensors["attention.query.weight"][0]) @ x

    def convolve(self, x):
        """Kim's c_i = f(w . x_{i:i+h-1} + b), and the largest of each filter; zeros fill up a text that is shorter than h."""
        found = []
        for i, width in enumerate(self.settings.get("kernel_sizes", [3, 4, 5])):
            kernel, bias = self.tensors[f"convolutions.{i}.weight"], self.tensors[f"convolutions.{i}.bias"]
            padded = numpy.concatenate([x, numpy.zeros((max(width - len(x), 0), x.shape[1]))])
            if self.without == "windows":  # that end with the text
                padded = numpy.concatenate([x, numpy.zeros((width - 1, x.shape[1]))])
            windows = [padded[at:at + width] for at in range(len(padded) - width + 1)]
            outputs = [self.activation(numpy.einsum("fcw,wc->f", kernel, window) + bias) for window in windows]
            found.append(numpy.max(outputs, 0) if self.without != "largest" else numpy.mean(outputs, 0))
        return numpy.concatenate(found)

    def pool(self, ids):
        x = self.tensors["embedding.weight"][list(ids)]
        return {"mean": lambda: x.mean(0), "attention": lambda: self.attend(x), "convolution": lambda: self.convolve(x)}[self.pooling]()

    def forward(self, x):
        if "embedding.weight" in self.tensors:
            x = self.pool(x)
        for layer in range(len(self.settings.get("hidden_sizes", []))):
            x = self.activation(self.dense(f"layers.{layer}", x))
        return self.dense("classifier", x)


class LanguageModel:
    """Bengio's y = b + W x + U tanh(d + H x), x the embeddings of the last tokens, the oldest first, zeros before the text."""

    def __init__(self, config, tensors, without):
        self.settings, self.tensors, self.without = config, tensors, without
        self.activation = activation(config, "tanh")

    def forward(self, ids):
        t, n = self.tensors, self.settings["context_size"]
        rows = numpy.concatenate([numpy.zeros((n, t["embedding.weight"].shape[1])), t["embedding.weight"][list(ids)]])
        head = t["embedding.weight"] if self.settings.get("tie_word_embeddings") else t["lm_head.weight"]
        logits = []
        for at in range(1, len(ids) + 1):
            x = rows[at:at + n]
            x = (x[::-1] if self.without == "order" else x).reshape(-1)
            y = head @ self.activation(t["hidden.weight"] @ x + t["hidden.bias"]) + t["lm_head.bias"]
            if "direct.weight" in t and self.without != "direct":
                y = y + t["direct.weight"] @ x
            logits.append(y)
        return numpy.array(logits)


class Regression:
    """y = sum_i K(x - k_i) v_i / sum_i K(x - k_i) with K(u) = exp(-|u|^2 / (2 h^2))."""

    def __init__(self, config, tensors, without):
        self.bandwidth, self.tensors, self.without = config["bandwidth"], tensors, without

    def forward(self, x):
        squares = ((x - self.tensors["keys"]) ** 2).sum(1)
        scores = -squares / (2 * self.bandwidth ** 2)
        if self.without == "lengths":
            scores = self.tensors["keys"] @ x / self.bandwidth ** 2
        return softmax(scores) @ self.tensors["values"]


CLASSES = {"feed-forward": Classifier, "neural-probabilistic": LanguageModel, "kernel-regression": Regression}


def shapes(config):
    """Tensor name -> shape."""
    table, kind = {}, config["model_type"]

    def dense(name, rows, columns):
        table[name + ".weight"], table[name + ".bias"] = (rows, columns), (rows,)

    if kind == "kernel-regression":
        return {"keys": (config["num_examples"], config["num_features"]), "values": (config["num_examples"], config.get("num_outputs", 1))}
    vocabulary, width = config.get("vocab_size"), config.get("embedding_size", config.get("hidden_size"))
    if vocabulary:
        table["embedding.weight"] = (vocabulary, width)
    if kind == "neural-probabilistic":
        dense("hidden", config["hidden_size"], config["context_size"] * width)
        dense("lm_head", vocabulary, config["hidden_size"])
        if config.get("tie_word_embeddings"):
            del table["lm_head.weight"]
        if config.get("direct_connections"):
            table["direct.weight"] = (vocabulary, config["context_size"] * width)
        return table
    columns, pooling = width if vocabulary else config["num_features"], config.get("pooling", "mean")
    if pooling == "attention":
        table["attention.query.weight"] = (1, config.get("attention_size", width))
        if "attention_size" in config:
            dense("attention.key", config["attention_size"], width)
    if pooling == "convolution":
        for i, kernel in enumerate(config["kernel_sizes"]):
            table[f"convolutions.{i}.weight"], table[f"convolutions.{i}.bias"] = (config["num_filters"], width, kernel), (config["num_filters"],)
        columns = len(config["kernel_sizes"]) * config["num_filters"]
    for layer, size in enumerate(config.get("hidden_sizes", [])):
        dense(f"layers.{layer}", size, columns)
        columns = size
    dense("classifier", config["num_labels"], columns)
    return table


def make(directory, config, seed=7, storage="F32"):
    """Writes a random model; matmuls keep about the variance of their input."""
    random, tensors = numpy.random.RandomState(seed), {}
    for name, shape in shapes(config).items():
        values = random.standard_normal(shape)
        if name.endswith("bias"):
            values *= 0.2
        elif name not in ("embedding.weight", "attention.query.weight", "keys", "values"):
            values /= numpy.sqrt(numpy.prod(shape[1:]))
        tensors[name] = values.astype(numpy.float32)
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=1)
    tensorfiles.write(os.path.join(directory, "model.safetensors"), tensors, storage)


def load(directory, without=None):
    """The model over the stored weights, in float64. Vectors are kept in f32 by Rapt, so nothing is rounded again."""
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    tensors = {name: values.astype(numpy.float64) for name, values in tensorfiles.readDirectory(directory).items()}
    return CLASSES[config["model_type"]](config, tensors, without)


if __name__ == "__main__":
    make(sys.argv[1], MODELS[sys.argv[2]])
