#!/usr/bin/env python3
"""Sounds of gemma4 in float64, as transformers computes them: in chunks of queries with the keys of their context, padded, and with masks. Sounds of
gemma4_unified, which have no encoder.

Without arguments it checks itself: each rule switched off changes the vectors of a sound, padding changes none, and every tensor is read. Prints
"N passed, N failed"; exit status 1 if any failed.
"""

import math
import sys

import numpy

from decoders import common
from decoders.common import layer_norm, rms_norm
from gemma4_images import BOUNDS

LINEARS = {"feed_forward1.ffw_layer_1": (4, 1), "feed_forward1.ffw_layer_2": (1, 4), "self_attn.q_proj": (1, 1), "self_attn.k_proj": (1, 1),
           "self_attn.v_proj": (1, 1), "self_attn.post": (1, 1), "lconv1d.linear_start": (2, 1), "lconv1d.linear_end": (1, 1),
           "feed_forward2.ffw_layer_1": (4, 1), "feed_forward2.ffw_layer_2": (1, 4)}
NORMS = ("feed_forward1.pre_layer_norm", "feed_forward1.post_layer_norm", "norm_pre_attn", "norm_post_attn", "lconv1d.pre_layer_norm", "lconv1d.conv_norm",
         "feed_forward2.pre_layer_norm", "feed_forward2.post_layer_norm", "norm_out")
DEFAULTS = {"hidden_act": "silu", "residual_weight": 0.5, "attention_context_right": 0, "attention_logit_cap": 50.0, "attention_invalid_logits_value": -1e9,
            "use_clipped_linears": True, "rms_norm_eps": 1e-6, "gradient_clipping": 1e10}


def silu(x):
    return x / (1 + numpy.exp(-x))


class Conformer(common.Base):
    """`config` is audio_config. `without` names rules that are left out."""

    def get(self, key):
        return self.config.get(key, DEFAULTS.get(key))

    def at(self, name):
        return self.weight("model.audio_tower." + name)

    def linear(self, x, name):
        if not self.get("use_clipped_linears"):
            return x @ self.at(name + ".linear.weight").T
        least, most, below, above = (float(self.at(f"{name}.{bound}")) for bound in BOUNDS)
        x = numpy.clip(x, least if self.has("input_min") else -numpy.inf, most if self.has("input_max") else numpy.inf)
        y = x @ self.at(name + ".linear.weight").T
        return numpy.clip(y, below if self.has("output_min") else -numpy.inf, above if self.has("output_max") else numpy.inf)

    def norm(self, x, name, epsilon=1e-6):
        return rms_norm(x, self.at(name + ".weight"), epsilon) if self.has(name.rpartition(".")[2]) else x

    def clipped(self, x):
        bound = self.get("gradient_clipping") if self.has("gradient clipping") else numpy.inf
        return numpy.clip(x, -bound, bound)

    def convolved(self, x, mask, name):
        """x [frames, bins, channels] and the mask of its frames, both at half the rate."""
        x = x * mask[:, None, None]
        kernel = self.at(name + ".conv.weight")
        frames, bins = (-(-extent // 2) for extent in x.shape[:2])
        padded = numpy.pad(x, ((1, 1), (1, 1), (0, 0)))
        y = numpy.zeros((frames, bins, len(kernel)))
        for i in range(3):
            for j in range(3):
                y += padded[i : i + 2 * frames - 1 : 2, j : j + 2 * bins - 1 : 2] @ kernel[:, :, i, j].T
        y = layer_norm(y, self.at(name + ".norm.weight"), 0, self.get("rms_norm_eps"))
        return (numpy.maximum(y, 0) if self.has("relu") else y), mask[::2]

    def half_step(self, x, name):
        y = self.norm(self.clipped(x), name + ".pre_layer_norm")
        y = self.linear(y, name + ".ffw_layer_1")
        y = self.linear(silu(y) if self.has("activation") else y, name + ".ffw_layer_2")
        y = self.norm(self.clipped(y), name + ".post_layer_norm")
        return x + y * (self.get("residual_weight") if self.has("half steps") else 1)

    def blocks(self, x):
        """x [tokens, heads, channels] in chunks of queries: [chunks, chunk, heads, channels]."""
        chunk = self.config["attention_chunk_size"]
        padded = numpy.pad(x, ((0, -len(x) % chunk), (0, 0), (0, 0)))
        return padded.reshape(-1, chunk, *x.shape[1:])

    def contexts(self, x):
        """The keys of each chunk: those before it, its own and those behind."""
        chunk, size, past = self.config["attention_chunk_size"], self.context(), self.config["attention_context_left"] - 1
        padded = numpy.pad(x, ((past, self.get("attention_context_right") + chunk - 1), (0, 0), (0, 0)))
        return numpy.stack([padded[begin : begin + size] for begin in range(0, len(x), chunk)])

    def context(self):
        return self.config["attention_chunk_size"] + self.config["attention_context_left"] - 1 + self.get("attention_context_right")

    def positions(self):
        """Sines and cosines of the positions of half of a context, from the last one to 0."""
        pairs = self.config["hidden_size"] // 2
        rates = numpy.exp(numpy.arange(pairs) * -(math.log(10000) / max(pairs - 1, 1))).astype(numpy.float32).astype(numpy.float64)
        angles = numpy.arange(self.context() // 2, -1, -1)[:, None] * rates
        return numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], -1)

    def shifted(self, x):
        """x [..., chunk, positions] to [..., chunk, context]: position p of query i is that of key p + i (Dai et al. 2019, appendix B)."""
        size = self.context()
        padded = numpy.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, size + 1 - x.shape[-1])])
        flat = padded.reshape(*x.shape[:-2], -1)[..., : x.shape[-2] * size]
        return flat.reshape(*x.shape[:-1], size)

    def seen(self, mask):
        """Which keys of its context each query of a chunk sees: [chunks, chunk, context]."""
        left, right, past = self.config["attention_context_left"] - 1, self.get("attention_context_right"), self.config["attention_context_left"] - 1
        count, chunk = len(mask), self.config["attention_chunk_size"]
        distance = numpy.arange(count)[:, None] - numpy.arange(count)
        window = left if self.has("window") else count
        all_pairs = ((distance >= 0) & (distance < window) | (distance < 0) & (-distance < right)) & mask.astype(bool)
        padded = numpy.pad(all_pairs, ((0, -count % chunk), (past, right + chunk)))
        rows = padded.reshape(-1, chunk, padded.shape[-1])
        return numpy.stack([rows[i][:, i * chunk : i * chunk + self.context()] for i in range(len(rows))])

    def attention(self, x, mask):
        heads = self.config["num_attention_heads"]
        query, key, value = (self.linear(x, f"self_attn.{part}_proj").reshape(len(x), heads, -1) for part in "qkv")
        size = query.shape[-1]
        factor = numpy.log1p(numpy.exp(self.at("self_attn.per_dim_scale"))) if self.has("per_dim_scale") else 1
        query = self.blocks(query * factor * (size**-0.5 / math.log(2) if self.has("scale of queries") else 1))
        key = self.contexts(key * (math.log(1 + math.e) / math.log(2) if self.has("scale of keys") else 1))
        relative = (self.positions() @ self.at("self_attn.relative_k_proj.weight").T).reshape(-1, heads, size)
        scores = numpy.einsum("cqhd,ckhd->chqk", query, key)
        if self.has("relative keys"):
            scores = scores + self.shifted(numpy.einsum("cqhd,phd->chqp", query, relative))
        cap = self.get("attention_logit_cap")
        scores = numpy.tanh(scores / cap) * cap if self.has("soft cap") else scores
        scores = numpy.where(self.seen(mask)[:, None], scores, self.get("attention_invalid_logits_value"))
        powers = numpy.exp(scores - scores.max(-1, keepdims=True))
        mixed = numpy.einsum("chqk,ckhd->cqhd", powers / powers.sum(-1, keepdims=True), self.contexts(value))
        return self.linear(mixed.reshape(-1, heads * size)[: len(x)], "self_attn.post")

    def convolution(self, x):
        y = self.linear(self.norm(x, "lconv1d.pre_layer_norm", self.get("rms_norm_eps")), "lconv1d.linear_start")
        value, gate = numpy.split(y, 2, -1)
        y = value / (1 + numpy.exp(-gate)) if self.has("gate") else value
        taps = self.config["conv_kernel_size"]
        padded = numpy.pad(y, ((taps - 1, 0), (0, 0)) if self.has("causal convolution") else ((taps // 2, taps - 1 - taps // 2), (0, 0)))
        kernel = self.at("lconv1d.depthwise_conv1d.weight")[:, 0]
        y = sum(padded[tap : tap + len(y)] * kernel[:, tap] for tap in range(taps)) if self.has("convolution") else y
        y = self.norm(self.clipped(y), "lconv1d.conv_norm", self.get("rms_norm_eps"))
        return self.linear(silu(y), "lconv1d.linear_end")

    def layer(self, x, mask):
        x = self.half_step(x, self.path + "feed_forward1")
        y = self.norm(self.clipped(x), self.path + "norm_pre_attn")
        x = x + self.norm(self.clipped(self.attention(y, mask)), self.path + "norm_post_attn")
        x = x + self.convolution(x)
        return self.norm(self.clipped(self.half_step(x, self.path + "feed_forward2")), self.path + "norm_out")

    def vectors(self, features, padding=0):
        """Those of features [frames, bins], computed beside `padding` frames that are none."""
        x = numpy.pad(features, ((0, padding), (0, 0)))[:, :, None]
        mask = numpy.repeat([1, 0], [len(features), padding])
        for i in range(2):
            x, mask = self.convolved(x, mask, f"subsample_conv_projection.layer{i}")
        x = x.reshape(len(x), -1) @ self.at("subsample_conv_projection.input_proj_linear.weight").T
        for layer in range(self.config["num_hidden_layers"]):
            x = Layer(self, layer).layer(x, mask)
        x = x @ self.at("output_proj.weight").T + self.at("output_proj.bias")
        x = rms_norm(x, 1, self.get("rms_norm_eps")) if self.has("norm ahead of the projection") else x
        return (x @ self.weight("model.embed_audio.embedding_projection.weight").T)[mask.astype(bool)]


class Layer(Conformer):
    """One layer, whose tensors have names of its own."""

    path = ""

    def __init__(self, whole, number):
        super().__init__(whole.config, whole.tensors, whole.without)
        self.read, self.own = whole.read, f"layers.{number}."

    def at(self, name):
        return super().at(self.own + name)


class Frames(common.Base):
    """Sounds of gemma4_unified."""

    def vectors(self, features, padding=0):
        x = rms_norm(features, 1, self.get("rms_norm_eps", 1e-6)) if self.has("norm ahead of the projection") else features
        return x @ self.weight("model.embed_audio.embedding_projection.weight").T


def conformer_shapes(config, text_width):
    width, heads, channels, at = config["hidden_size"], config["num_attention_heads"], config["subsampling_conv_channels"], "model.audio_tower."
    table = {}
    for i, (out, before) in enumerate(zip(channels, (1, channels[0]))):
        name = f"{at}subsample_conv_projection.layer{i}."
        table |= {name + "conv.weight": (out, before, 3, 3), name + "norm.weight": (out,)}
    table[at + "subsample_conv_projection.input_proj_linear.weight"] = (width, channels[0] // 4 * channels[1])
    for layer in range(config["num_hidden_layers"]):
        own = f"{at}layers.{layer}."
        for name, (out, before) in LINEARS.items():
            table[f"{own}{name}.linear.weight"] = (out * width, before * width)
            for bound in BOUNDS if config.get("use_clipped_linears", True) else ():
                table[f"{own}{name}.{bound}"] = ()
        for name in NORMS:
            table[f"{own}{name}.weight"] = (width,)
        table |= {own + "self_attn.relative_k_proj.weight": (width, width), own + "self_attn.per_dim_scale": (width // heads,),
                  own + "lconv1d.depthwise_conv1d.weight": (width, 1, config["conv_kernel_size"])}
    return table | {at + "output_proj.weight": (config["output_proj_dims"], width), at + "output_proj.bias": (config["output_proj_dims"],),
                    "model.embed_audio.embedding_projection.weight": (text_width, config["output_proj_dims"])}


def draw(config, text_width, seed):
    """Bounds are such that each of them changes some numbers of each matmul; scores are of a few."""
    random, isTower = numpy.random.RandomState(seed), config["model_type"] == "gemma4_audio"
    shapes = conformer_shapes(config, text_width) if isTower else {"model.embed_audio.embedding_projection.weight": (text_width, config["audio_embed_dim"])}
    tensors = common.draw({name: shape for name, shape in shapes.items() if shape}, seed)
    for name in shapes:
        if name.endswith(BOUNDS):
            tensors[name] = numpy.float32((-1 if name.endswith("min") else 1) * random.uniform(0.7, 1.6))
        if name.endswith("conv.weight"):
            tensors[name] = tensors[name] * numpy.float32(0.7)
        if name.endswith("relative_k_proj.weight"):
            tensors[name] = tensors[name] * numpy.float32(1.5)
    return tensors


def model_of(config, tensors, without=()):
    return (Frames if config["model_type"] == "gemma4_unified_audio" else Conformer)(config, tensors, without)


def vectors_of(frames):
    return -(-frames // 4)


# Chunks of one less than the context's tokens, as published, and of as many; bins that halve to odd numbers.
CHUNKED = {"model_type": "gemma4_audio", "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "subsampling_conv_channels": [20, 6],
           "conv_kernel_size": 3, "attention_chunk_size": 4, "attention_context_left": 5, "attention_logit_cap": 2.0, "output_proj_dims": 20,
           "residual_weight": 0.4, "gradient_clipping": 1.6, "rms_norm_eps": 1e-2}
WIDER = {**CHUNKED, "attention_chunk_size": 7, "attention_context_left": 4, "use_clipped_linears": False, "conv_kernel_size": 4}
PLAIN = {"model_type": "gemma4_unified_audio", "audio_embed_dim": 40, "rms_norm_eps": 1e-2}
RULES = ("input_min", "input_max", "output_min", "output_max", "gradient clipping", "relu", "activation", "half steps", "window", "per_dim_scale", "scale of queries",
         "scale of keys", "relative keys", "soft cap", "gate", "causal convolution", "convolution", "norm ahead of the projection",
         *sorted({name.rpartition(".")[2] for name in NORMS}))


def self_test():
    faults, checks = [], 0

    def expect(condition, what):
        nonlocal checks
        checks += 1
        if not condition:
            faults.append(what)

    differ = lambda a, b: a.shape != b.shape or numpy.linalg.norm(a - b) / numpy.linalg.norm(b) > 1e-3
    random = numpy.random.RandomState(3)
    for config in (CHUNKED, WIDER):
        tensors = draw(config, 20, 5)
        model = model_of(config, tensors)
        for frames in (1, 3, 4, 5, 15, 16, 17, 60):
            features = random.standard_normal((frames, config["subsampling_conv_channels"][0]))
            vectors = model.vectors(features)
            expect(vectors.shape == (vectors_of(frames), 20) and numpy.isfinite(vectors).all(), f"vectors {vectors.shape} of {frames} frames")
            for padding in (1, 2, 3, 30):
                expect(numpy.allclose(model.vectors(features, padding), vectors, rtol=0, atol=1e-12), f"{padding} frames behind {frames} change vectors")
        expect(model.read == set(tensors), f"tensors that nothing reads: {sorted(set(tensors) - model.read)}")
        for rule in RULES if config is CHUNKED else ():
            expect(differ(model_of(config, tensors, {rule}).vectors(features), vectors), f"no sound shows '{rule}'")
    tensors, features = draw(PLAIN, 20, 5), random.standard_normal((7, 40)) * 0.2
    expect(differ(model_of(PLAIN, tensors, {"norm ahead of the projection"}).vectors(features), model_of(PLAIN, tensors).vectors(features)), "no frame shows the norm")
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{checks - len(faults)} passed, {len(faults)} failed")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(self_test())
