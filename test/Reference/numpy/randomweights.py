"""Seeded random weights as docs/RandomWeights.md specifies them, written from that page alone."""

import numpy

import make_model

GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def mix(z):
    """The finalizer of SplitMix64, of an array of uint64."""
    with numpy.errstate(over="ignore"):
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return z ^ (z >> numpy.uint64(31))


def fnv(name):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 & MASK
    return h


def one(value):
    return numpy.array([value & MASK], numpy.uint64)


def bits(seed, name, begin, end):
    """uint64 [end - begin]: numbers `begin` to `end` - 1 of the sequence of a name."""
    key = mix(one(fnv(name) + int(mix(one(seed + GOLDEN))[0])))
    with numpy.errstate(over="ignore"):
        return mix(key + numpy.arange(begin + 1, end + 1, dtype=numpy.uint64) * numpy.uint64(GOLDEN))


def values(seed, name, shape, kind, fanIn=1):
    """float32 `shape`; kind is weight, embedding, norm or bias. `fanIn` of queries that are not scaled: times their channels."""
    scale = numpy.float32(2.0**-28)
    if kind == "weight":
        scale = numpy.float32(numpy.sqrt(3.0 / fanIn)) * numpy.float32(2.0**-24)
    elif kind == "norm":
        scale = numpy.float32(2.0**-27)
    count = int(numpy.prod(shape))
    result = numpy.empty(count, numpy.float32)
    for begin in range(0, count, 1 << 20):
        end = min(count, begin + (1 << 20))
        m = 2 * (bits(seed, name, begin, end) >> numpy.uint64(40)).astype(numpy.int64) + 1 - (1 << 24)
        result[begin:end] = numpy.float32(1 if kind == "norm" else 0) + m.astype(numpy.float32) * scale
    return result.reshape(shape)


def tensors(config, seed):
    """{name without prefix: float32 array} of a configuration of the gpt2 family."""
    result = {}
    for name, shape in make_model.shapes(config).items():
        fanIn = 1
        if name in ("wte.weight", "wpe.weight"):
            kind = "embedding"
        elif name.endswith(".bias"):
            kind = "bias"
        elif len(shape) == 1:
            kind = "norm"
        else:
            kind, fanIn = "weight", shape[1] if name == "lm_head.weight" else shape[0]
        result[name] = values(seed, name, shape, kind, fanIn)
    return result


def tokens(seed, count, vocabulary):
    """int64 [count]: id i is the upper half of number i of the sequence "tokens", times `vocabulary`, over 2^32."""
    upper = bits(seed, "tokens", 0, count) >> numpy.uint64(32)
    return ((upper * numpy.uint64(vocabulary)) >> numpy.uint64(32)).astype(numpy.int64)
