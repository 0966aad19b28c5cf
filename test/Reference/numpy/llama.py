#!/usr/bin/env python3
"""The llama, mistral and qwen2 families in float64 with numpy alone, written from the formulas.

    llama.py DIR --config '{"model_type": "llama", ...}' [--seed N] [--dtype F32|F16|BF16] [--shards N] [--bare]
             [--buffers]

writes a small random model as a Hugging Face directory; keys that --config leaves out get SMALL's values. Every bias and
every gain differs from 0 and 1, so that a forgotten one shows. --bare leaves "model." out of the names; --buffers adds the
frequencies that old checkpoints carry.

tensors(config, seed) gives the values of docs/RandomWeights.md. Model(config, tensors) computes logits in float64 over the
weights as stored. The frequencies of rotary embedding are float32, as Hugging Face's inv_freq; angles, cosines and sines
are float64.
"""

import argparse
import json
import math
import os

import numpy

import randomweights
import tensorfiles

SMALL = {
    "model_type": "llama", "vocab_size": 211, "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": 64, "rms_norm_eps": 1e-5,
}
F32 = numpy.float32
erfc = numpy.vectorize(math.erfc, otypes=[numpy.float64])
ACTIVATIONS = {
    "silu": lambda x: x / (1 + numpy.exp(-x)),
    "gelu": lambda x: 0.5 * x * erfc(x * -math.sqrt(0.5)),
    "gelu_pytorch_tanh": lambda x: 0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x: numpy.maximum(x, 0),
}


def sizes(config):
    """(heads, key/value heads, channels of a head)"""
    heads = config["num_attention_heads"]
    groups = config.get("num_key_value_heads")
    if groups is None:
        groups = 8 if config["model_type"] == "mistral" and "num_key_value_heads" not in config else heads
    return heads, groups, config.get("head_dim") or config["hidden_size"] // heads


def windows(config):
    """The window of each layer, None for one that sees everything."""
    layers, kind = config["num_hidden_layers"], config["model_type"]
    window = config.get("sliding_window", 4096)
    if kind == "mistral":
        return [window] * layers
    if kind != "qwen2" or not config.get("use_sliding_window"):
        return [None] * layers
    first = config.get("max_window_layers", 28)
    types = config.get("layer_types") or [
        "sliding_attention" if layer >= first else "full_attention" for layer in range(layers)
    ]
    return [window if name == "sliding_attention" else None for name in types]


def rotary(config):
    """float32 [channels / 2], radians a position, and the factor of cosines and sines."""
    channels = sizes(config)[2]
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    theta = rope.get("rope_theta", config.get("rope_theta", 10000.0))
    exponents = numpy.arange(0, channels, 2).astype(F32) / F32(channels)
    waves = numpy.power(float(F32(theta)), exponents.astype(numpy.float64)).astype(F32)
    plain = F32(1) / waves
    kind, most = rope.get("rope_type", rope.get("type", "default")), config["max_position_embeddings"]
    original = config.get("original_max_position_embeddings", rope.get("original_max_position_embeddings", most))
    factor = F32(rope.get("factor", most / original))
    if kind in ("default", "dynamic"):  # the base of dynamic grows beyond the model's positions only
        return plain, 1
    if kind == "linear":
        return plain / factor, 1
    if kind == "longrope":  # texts are within the original context
        usual = 1 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(original))
        return F32(1) / (numpy.array(rope["short_factor"], F32) * waves), rope.get("attention_factor", usual)
    if kind == "yarn":
        low, high = (channels * math.log(original / (rope.get(key, otherwise) * 2 * math.pi)) / (2 * math.log(theta))
                     for key, otherwise in (("beta_fast", 32), ("beta_slow", 1)))
        if rope.get("truncate", True):
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, channels - 1)
        ramp = numpy.clip((numpy.arange(channels // 2) - low) / (high - low + (0.001 if low == high else 0)), 0, 1).astype(F32)
        scale = lambda times: 1 if factor <= 1 else 0.1 * times * math.log(factor) + 1
        both = rope.get("mscale") and rope.get("mscale_all_dim")
        usual = scale(rope["mscale"]) / scale(rope["mscale_all_dim"]) if both else scale(1)
        return F32(1) / (factor * waves) * ramp + plain * (1 - ramp), rope.get("attention_factor", usual)
    assert kind == "llama3", kind
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    result = []
    for frequency in plain:
        wave = F32(2 * math.pi) / frequency
        if wave > original / low:
            result.append(frequency / factor)
        elif wave < original / high:
            result.append(frequency)
        else:
            smooth = (F32(original) / wave - F32(low)) / F32(high - low)
            result.append((1 - smooth) * frequency / factor + smooth * frequency)
    return numpy.array(result, F32), 1


class Model:
    """tensors: {name: array} with or without the prefix "model."."""

    def __init__(self, config, tensors):
        self.config = config
        self.tensors = {name.removeprefix("model."): tensor for name, tensor in tensors.items()}
        self.stored = lambda x: x  # what a key or value, the last dim, becomes in the cache
        frequencies, self.magnitude = rotary(config)
        self.frequencies, self.windows = frequencies.astype(numpy.float64), windows(config)

    def weight(self, name):
        return self.tensors[name].astype(numpy.float64)

    def norm(self, x, name):
        mean = (x**2).mean(-1, keepdims=True)
        return x / numpy.sqrt(mean + self.config.get("rms_norm_eps", 1e-6)) * self.weight(name + ".weight")

    def dense(self, x, name):
        y = x @ self.weight(name + ".weight").T
        return y + self.weight(name + ".bias") if name + ".bias" in self.tensors else y

    def rotate(self, x, past):
        """x [new, heads, channels]"""
        angles = numpy.arange(past, past + len(x))[:, None] * self.frequencies[None, :]
        c, s = (self.magnitude * turned(angles)[:, None, :] for turned in (numpy.cos, numpy.sin))
        first, second = numpy.split(x, 2, axis=-1)
        return numpy.concatenate([first * c - second * s, second * c + first * s], axis=-1)

    def attention(self, x, layer, cache):
        heads, groups, size = sizes(self.config)
        at, past, new = f"layers.{layer}.self_attn.", len(cache[layer][0]), len(x)
        q = self.rotate(self.dense(x, at + "q_proj").reshape(new, heads, size), past)
        k = self.rotate(self.dense(x, at + "k_proj").reshape(new, groups, size), past)
        v = self.dense(x, at + "v_proj").reshape(new, groups, size)
        k, v = cache[layer] = tuple(numpy.concatenate([old, self.stored(x)]) for old, x in zip(cache[layer], (k, v)))
        distance = past + numpy.arange(new)[:, None] - numpy.arange(past + new)[None, :]
        visible = distance >= 0
        if self.windows[layer] is not None:
            visible &= distance < self.windows[layer]
        mixed = numpy.empty((new, heads, size))
        for head in range(heads):
            group = head // (heads // groups)
            scores = numpy.where(visible, q[:, head] @ k[:, group].T / math.sqrt(size), -numpy.inf)
            powers = numpy.exp(scores - scores.max(-1, keepdims=True))
            mixed[:, head] = powers @ v[:, group] / powers.sum(-1, keepdims=True)
        return self.dense(mixed.reshape(new, heads * size), at + "o_proj")

    def emptyCache(self):
        _, groups, size = sizes(self.config)
        nothing = numpy.zeros((0, groups, size))
        return [(nothing, nothing) for _ in self.windows]

    def logits(self, ids, cache=None):
        """[len(ids), vocab] of tokens that follow those in the cache."""
        cache = self.emptyCache() if cache is None else cache
        x = self.weight("embed_tokens.weight")[numpy.asarray(ids)]
        act = ACTIVATIONS[self.config.get("hidden_act", "silu")]
        for layer in range(self.config["num_hidden_layers"]):
            at = f"layers.{layer}."
            x = x + self.attention(self.norm(x, at + "input_layernorm"), layer, cache)
            y = self.norm(x, at + "post_attention_layernorm")
            y = act(self.dense(y, at + "mlp.gate_proj")) * self.dense(y, at + "mlp.up_proj")
            x = x + self.dense(y, at + "mlp.down_proj")
        head = "embed_tokens.weight" if self.config.get("tie_word_embeddings") else "lm_head.weight"
        return self.norm(x, "norm") @ self.weight(head).T

    def batch(self, ids, mask=None):
        """[batch, length, vocab]; rows are computed alone, positions behind a row's end are 0."""
        result = numpy.zeros((*ids.shape, self.config["vocab_size"]))
        for row, tokens in enumerate(ids):
            length = len(tokens) if mask is None else int(mask[row].sum())
            if length:
                result[row, :length] = self.logits(tokens[:length])
        return result


def shapes(config):
    """Tensor name without prefix -> shape, weights [out, in]."""
    heads, groups, size = sizes(config)
    width, inner, kind = config["hidden_size"], config["intermediate_size"], config["model_type"]
    biased = kind == "llama" and bool(config.get("attention_bias"))
    deep = kind == "llama" and bool(config.get("mlp_bias"))
    table = {"embed_tokens.weight": (config["vocab_size"], width)}
    for layer in range(config["num_hidden_layers"]):
        at = f"layers.{layer}."
        products = {
            "self_attn.q_proj": (heads * size, width, biased or kind == "qwen2"),
            "self_attn.k_proj": (groups * size, width, biased or kind == "qwen2"),
            "self_attn.v_proj": (groups * size, width, biased or kind == "qwen2"),
            "self_attn.o_proj": (width, heads * size, biased), "mlp.gate_proj": (inner, width, deep),
            "mlp.up_proj": (inner, width, deep), "mlp.down_proj": (width, inner, deep),
        }
        for name, (out, columns, bias) in products.items():
            table[f"{at}{name}.weight"] = (out, columns)
            if bias:
                table[f"{at}{name}.bias"] = (out,)
        for name in ("input_layernorm", "post_attention_layernorm"):
            table[f"{at}{name}.weight"] = (width,)
    table["norm.weight"] = (width,)
    if not config.get("tie_word_embeddings"):
        table["lm_head.weight"] = (config["vocab_size"], width)
    return table


def tensors(config, seed):
    """The values of docs/RandomWeights.md."""
    result = {}
    for name, shape in shapes(config).items():
        kind = "embedding" if name == "embed_tokens.weight" else "bias" if name.endswith("bias") else "norm" if len(shape) == 1 else "weight"
        name = name if name == "lm_head.weight" else "model." + name
        result[name] = randomweights.values(seed, name, shape, kind, shape[-1])
    return result


def weights(config, seed):
    random, result = numpy.random.RandomState(seed), {}
    for name, shape in shapes(config).items():
        values = random.standard_normal(shape)
        if name.endswith("bias"):
            values *= 0.3
        elif len(shape) == 1:
            values = 1 + 0.1 * values
        elif name == "embed_tokens.weight":
            values *= 0.5
        else:
            # Queries and keys large enough that positions, windows and groups show in the scores.
            values *= (1.5 if "q_proj" in name or "k_proj" in name else 1) / math.sqrt(shape[1])
        result[name] = values.astype(F32)
    return result


def makeModel(directory, config, seed=0, dtype="F32", shards=1, bare=False, buffers=False):
    """Writes the directory and returns its full configuration."""
    config = {**SMALL, **config}
    config.setdefault("eos_token_id", config["vocab_size"] - 1)
    tensors = weights(config, seed)
    if buffers:
        for layer in range(config["num_hidden_layers"]):
            tensors[f"layers.{layer}.self_attn.rotary_emb.inv_freq"] = rotary(config)[0] * 3
    if not bare:
        tensors = {(n if n == "lm_head.weight" else "model." + n): tensor for n, tensor in tensors.items()}
    tensorfiles.writeModel(directory, config, tensors, dtype, shards)
    return config


def load(directory):
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        return Model(json.load(file), tensorfiles.readDirectory(directory))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--config", default="{}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", choices=["F32", "F16", "BF16"], default="F32")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--buffers", action="store_true")
    o = parser.parse_args()
    makeModel(o.directory, json.loads(o.config), o.seed, o.dtype, o.shards, o.bare, o.buffers)


if __name__ == "__main__":
    main()
