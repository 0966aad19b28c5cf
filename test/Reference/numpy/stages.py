"""Parts of references of vision models in float64: shapes of tensors, norms, matmuls and strided convolutions."""

import json
import os

import numpy

import layers
import tensorfiles


class Shapes(dict):
    """Tensor name -> (shape, kind, fan in)."""

    def dense(self, name, rows, columns, bias=True):
        self[name + ".weight"] = ((rows, columns), "weight", columns)
        if bias:
            self[name + ".bias"] = ((rows,), "bias", 1)

    def norm(self, name, width):
        self[name + ".weight"], self[name + ".bias"] = ((width,), "norm", 1), ((width,), "bias", 1)

    def convolution(self, name, out, channels, side):
        self[name + ".weight"] = ((out, channels, side, side), "weight", channels * side * side)
        self[name + ".bias"] = ((out,), "bias", 1)


def pair(size):
    return size if isinstance(size, list) else [size, size]


def labels(config):
    return config["num_labels"] if config["architectures"][0].endswith("ForImageClassification") else 0


def prefix(config):
    return config["model_type"] + "."


def make(directory, config, shapes, prefix, seed, dtype="F32"):
    """Writes a random model; a head is outside of the prefix."""
    values = layers.draw(shapes, seed)
    stored = {name if name.startswith("classifier.") else prefix + name: value for name, value in values.items()}
    tensorfiles.writeModel(directory, config, stored, dtype)


def read(directory):
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        return json.load(file), tensorfiles.readDirectory(directory)


class Model:
    """tensors: {name: array}, names with or without the prefix."""

    def __init__(self, settings, tensors):
        self.settings = settings
        self.tensors = {name.removeprefix(prefix(settings)): values for name, values in tensors.items()}

    def weight(self, name):
        return self.tensors[name].astype(numpy.float64)

    def dense(self, x, name):
        product = x @ self.weight(name + ".weight").T
        return product + self.weight(name + ".bias") if name + ".bias" in self.tensors else product

    def norm(self, x, name, epsilon=None):
        epsilon = self.settings["layer_norm_eps"] if epsilon is None else epsilon
        return layers.layerNorm(x, self.weight(name + ".weight"), self.weight(name + ".bias"), epsilon)

    def convolve(self, pixels, name, side):
        """[channels, height, width] -> [rows, columns, out]: windows beside each other, without what fills none."""
        rows, columns = pixels.shape[1] // side, pixels.shape[2] // side
        kernel, result = self.weight(name + ".weight"), []
        for y in range(rows):
            windows = [pixels[:, y * side : (y + 1) * side, x * side : (x + 1) * side] for x in range(columns)]
            result.append([numpy.einsum("ocij,cij->o", kernel, window) for window in windows])
        return numpy.array(result) + self.weight(name + ".bias")
