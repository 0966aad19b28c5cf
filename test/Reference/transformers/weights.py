"""Values of the tensors of recorded models, from their names and shapes alone (docs/RandomWeights.md has the hash)."""

import os
import sys

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "numpy"))
import randomweights  # noqa: E402

SEED = 5


def uniform(name, shape):
    """float64 values in (-1, 1), multiples of 2^-24."""
    count = int(numpy.prod(shape, dtype=numpy.int64))
    m = 2 * (randomweights.bits(SEED, name, 0, count) >> numpy.uint64(40)).astype(numpy.int64) + 1 - (1 << 24)
    return (m.astype(numpy.float64) * 2.0**-24).reshape(shape)


def tensor(name, shape):
    """A matrix keeps the variance of its input; gains are around 1, biases around 0, tables of embeddings within 1/2."""
    values = uniform(name, shape)
    last = name.rsplit(".", 1)[-1]
    if "logit_scale" in name:
        values = 1 + values
    elif len(shape) < 2:
        isGain = last != "bias" and any(part in name.lower() for part in ("norm", "ln_", "lambda", "layer_scale"))
        values = 1 + values / 8 if isGain else values / 4
    elif "embed" in name or "shared" in name or last in ("wte", "wpe") or ".wte." in name or ".wpe." in name or "token" in last:
        values = values / 2
    else:
        values = values * numpy.sqrt(3.0 / int(numpy.prod(shape[1:])))
    return numpy.asarray(values, numpy.float32)


def signal(name, shape):
    """A picture or a sound: float32 values in (-1, 1)."""
    return uniform("input " + name, shape).astype(numpy.float32)
