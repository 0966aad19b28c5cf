"""Formulas that families have in common, in the type of their arguments, and values for tests of their weights."""

import math

import numpy


def layerNorm(x, gain, bias, epsilon):
    centered = x - x.mean(-1, keepdims=True)
    return centered / numpy.sqrt((centered**2).mean(-1, keepdims=True) + epsilon) * gain + bias


def heads(x, count):
    """[tokens, columns] -> [heads, tokens, columns / heads]"""
    return x.reshape(len(x), count, -1).transpose(1, 0, 2)


def causal(scores):
    """-infinity for keys behind the query; [heads, queries, keys], of which the queries are the last."""
    queries, keys = scores.shape[1:]
    return numpy.where(numpy.arange(keys)[None, :] <= keys - queries + numpy.arange(queries)[:, None], scores, -numpy.inf)


def mix(scores, values):
    """softmax(scores) values, heads side by side: [queries, columns]"""
    powers = numpy.exp(scores - scores.max(-1, keepdims=True))
    mixed = (powers / powers.sum(-1, keepdims=True)) @ values
    return mixed.transpose(1, 0, 2).reshape(scores.shape[1], -1)


def draw(shapes, seed, bias=0.2, embedding=1.0):
    """{name: float32 array} of {name: (shape, kind, fan)}: every gain differs from 1 and every bias from 0; matmuls keep
    their input's variance."""
    random, result = numpy.random.RandomState(seed), {}
    for name, (shape, kind, fan) in shapes.items():
        values = random.standard_normal(shape)
        if kind == "norm":
            values = 1 + 0.2 * values
        else:
            values *= {"weight": 1 / math.sqrt(fan), "bias": bias, "embedding": embedding}[kind]
        result[name] = values.astype(numpy.float32)
    return result
