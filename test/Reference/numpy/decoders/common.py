"""Parts of decoders, in float64: norms, rotations, attention of whole sequences, activations, random tensors.

A family's module has SMALL (a tiny config.json), CASES (name -> changes of it), QUIRKS (facts that `without` switches off, so that a
test can show that each one changes the logits), `shapes(config)` ({tensor name: shape} as the family's files have them) and Model.
Model.logits computes all positions at once, without a cache: it shares no assumption with decoding. Frequencies of rotations are
float32, as Hugging Face's inv_freq.
"""

import json
import math
import os

import numpy

import tensorfiles

F32 = numpy.float32
erf = numpy.vectorize(math.erf, otypes=[numpy.float64])


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def silu(x):
    return x / (1 + numpy.exp(-x))


def relu(x):
    return numpy.maximum(x, 0)


ACTIVATIONS = {"gelu": gelu, "gelu_new": gelu_tanh, "gelu_pytorch_tanh": gelu_tanh, "silu": silu, "relu": relu}


def rms_norm(x, weight, epsilon):
    return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight


def layer_norm(x, weight, bias, epsilon):
    x = x - x.mean(-1, keepdims=True)
    return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight + bias


def frequencies(theta, channels):
    """float32 [channels / 2], radians a position"""
    exponents = numpy.arange(0, channels, 2).astype(F32) / F32(channels)
    return F32(1) / numpy.power(float(F32(theta)), exponents.astype(numpy.float64)).astype(F32)


def rotate(x, rates, interleaved=False, magnitude=1.0):
    """Rotates the first 2 * len(rates) channels of x [length, heads, channels] by angles of each position; pairs are halves, or neighbors."""
    count = len(rates)
    angles = numpy.arange(len(x))[:, None, None] * numpy.asarray(rates, numpy.float64)
    cosines, sines = magnitude * numpy.cos(angles), magnitude * numpy.sin(angles)
    result = x.copy()
    first = slice(0, 2 * count, 2) if interleaved else slice(0, count)
    second = slice(1, 2 * count, 2) if interleaved else slice(count, 2 * count)
    result[..., first] = x[..., first] * cosines - x[..., second] * sines
    result[..., second] = x[..., second] * cosines + x[..., first] * sines
    return result


def alibi_slopes(heads, most=8):
    """Slopes of ALiBi: a geometric sequence for a power of two, else that of the power below and every second one of the power above."""
    below = 2 ** int(math.floor(math.log2(heads)))
    slopes = [2.0 ** (-most * (i + 1) / below) for i in range(below)]
    slopes += [2.0 ** (-most * (2 * i + 1) / (2 * below)) for i in range(heads - below)]
    return numpy.array(slopes)


def attend(query, key, value, scale, window=None, cap=None, slopes=None, around=False):
    """Causal attention of query [length, heads, channels] to key and value [length, groups, channels]: [length, heads * channels of a value].
    `around`: queries see the keys behind them as well, and a window's on either side."""
    length, heads = query.shape[:2]
    distance = numpy.arange(length)[:, None] - numpy.arange(length)[None, :]
    visible = numpy.ones_like(distance, bool) if around else distance >= 0
    if window is not None:
        visible &= abs(distance) < window
    mixed = numpy.empty((length, heads, value.shape[-1]))
    for head in range(heads):
        group = head // (heads // key.shape[1])
        scores = query[:, head] @ key[:, group].T * scale
        if cap is not None:
            scores = cap * numpy.tanh(scores / cap)
        if slopes is not None:
            scores = scores - slopes[head] * distance
        scores = numpy.where(visible, scores, -numpy.inf)
        powers = numpy.exp(scores - scores.max(-1, keepdims=True))
        mixed[:, head] = powers @ value[:, group] / powers.sum(-1, keepdims=True)
    return mixed.reshape(length, -1)


class Base:
    """A model of a family: subclasses say what a layer computes. `without` names quirks that are left out."""

    def __init__(self, config, tensors, without=()):
        self.config, self.tensors, self.without = config, tensors, set(without)
        self.stored = lambda x: x  # what a key or value, the last dim, becomes in the cache
        self.around = False  # whether tokens see those behind them
        self.read = set()

    def has(self, quirk):
        return quirk not in self.without

    def get(self, key, otherwise=None):
        value = self.config.get(key)
        return otherwise if value is None else value

    def weight(self, name):
        self.read.add(name)
        return self.tensors[name].astype(numpy.float64)

    def dense(self, x, name):
        """x times NAME.weight [out, in], plus NAME.bias where there is one."""
        y = x @ self.weight(name + ".weight").T
        return y + self.weight(name + ".bias") if name + ".bias" in self.tensors else y

    def rms(self, x, name, epsilon):
        return rms_norm(x, self.weight(name + ".weight"), epsilon)

    def layer_norm(self, x, name, epsilon):
        bias = self.weight(name + ".bias") if name + ".bias" in self.tensors else 0
        return layer_norm(x, self.weight(name + ".weight"), bias, epsilon)

    def attend(self, query, key, value, scale, **options):
        return attend(query, self.stored(key), self.stored(value), scale, around=self.around, **options)

    def head(self, x, head, table):
        """Logits by `head`, or by the embedding `table` where the file has no head."""
        return x @ self.weight(table if head not in self.tensors else head).T

    def states(self, ids):
        """The states that the head is given: [length, width]."""
        kept, self.head = [], lambda x, *names: kept.append(x) or numpy.zeros((len(x), self.config["vocab_size"]))
        self.logits(ids)
        del self.head
        return kept[0]

    def batch(self, ids, mask=None):
        """[batch, length, vocabulary]; rows are computed alone, positions behind a row's end are 0."""
        rows = [self.logits(tokens if mask is None else tokens[: int(mask[row].sum())]) for row, tokens in enumerate(ids)]
        result = numpy.zeros((*ids.shape, rows[0].shape[-1]))
        for row, logits in enumerate(rows):
            result[row, : len(logits)] = logits
        return result


def linear_shapes(table, name, out, columns, bias=False):
    table[name + ".weight"] = (out, columns)
    if bias:
        table[name + ".bias"] = (out,)


def norm_shapes(table, name, width, bias=False):
    table[name + ".weight"] = (width,)
    if bias:
        table[name + ".bias"] = (width,)


def draw(shapes, seed, around_one=()):
    """{name: float32 array}: norms around their neutral value (0 of names that end with one of `around_one`), biases that are not 0,
    and queries and keys large enough that positions, windows and groups show in the scores. Rates and steps of recurrences are such that
    nearly all decays of a token are between 1e-3 and 0.9999; the first step is so small that log(1 + e^x) would be 0 in f32."""
    random, result = numpy.random.RandomState(seed), {}
    for name, shape in shapes.items():
        if name.endswith(("A_log", "dt_bias")):
            result[name] = random.uniform(*((0, 2) if name.endswith("A_log") else (-5, -2)), shape).astype(F32)
            if name.endswith("dt_bias"):
                result[name].flat[0] = -20
            continue
        values = random.standard_normal(shape)
        if name.endswith("bias"):
            values *= 0.3
        elif len(shape) == 1:
            values = 0.2 * values + (0 if around_one and name.endswith(tuple(around_one)) else 1)
        elif any(part in name for part in ("embed", "wte", "wpe")) and "embed_out" not in name:
            values *= 0.5
        else:
            values *= (1.5 if any(part in name for part in ("q_proj", "k_proj", "qkv", "query_key_value", "c_attn")) else 1) / math.sqrt(shape[-1])
        result[name] = values.astype(F32)
    return result


def tensors_of(family, config, seed):
    """Random ones of a family's module, as it wants them."""
    tensors = draw(family.shapes(config), seed, getattr(family, "AROUND_ONE", ()))
    for name in tensors:
        tensors[name] *= F32(next((factor for end, factor in getattr(family, "FACTORS", {}).items() if name.endswith(end)), 1))
    return tensors


def make(family, directory, case, seed=0, dtype="F32"):
    """Writes a random model of the family and gives its full configuration."""
    config = {**family.SMALL, **family.CASES[case]}
    config = {key: value for key, value in config.items() if value != "absent"}
    config.setdefault("eos_token_id", config["vocab_size"] - 1)
    config["torch_dtype"] = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}[dtype]
    tensors = tensors_of(family, config, seed)
    kinds = {name: "F32" for name in tensors if name.endswith(getattr(family, "F32", ()))}
    tensorfiles.writeModel(directory, config, tensors, dtype, kinds=kinds)
    return config


def load(family, directory):
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        return family.Model(json.load(file), tensorfiles.readDirectory(directory))
