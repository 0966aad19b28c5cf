"""The dinov3_vit family in float64 with numpy alone, from the formulas of Siméoni et al. 2025 and the details of Hugging Face's DINOv3ViTModel."""

import math

import numpy

import layers
import stages
from bert import ACTIVATIONS

SMALL = {
    "architectures": ["DINOv3ViTModel"], "model_type": "dinov3_vit", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 96, "image_size": 32, "patch_size": 8,
}
DEFAULTS = {
    "num_channels": 3, "layer_norm_eps": 1e-5, "rope_theta": 100.0, "num_register_tokens": 0, "query_bias": True, "key_bias": False,
    "value_bias": True, "proj_bias": True, "mlp_bias": True, "use_gated_mlp": False, "hidden_act": "gelu",
}


def shapes(config):
    s, table = {**DEFAULTS, **config}, stages.Shapes()
    width, inner, patch = s["hidden_size"], s["intermediate_size"], s["patch_size"]
    table["embeddings.cls_token"] = ((1, 1, width), "embedding", 1)
    if s["num_register_tokens"]:
        table["embeddings.register_tokens"] = ((1, s["num_register_tokens"], width), "embedding", 1)
    table.convolution("embeddings.patch_embeddings", width, s["num_channels"], patch)
    for layer in range(s["num_hidden_layers"]):
        at = f"layer.{layer}."
        for part in ("norm1", "norm2"):
            table.norm(at + part, width)
        for part in ("query", "key", "value"):
            table.dense(f"{at}attention.{part[0]}_proj", width, width, s[part + "_bias"])
        table.dense(at + "attention.o_proj", width, width, s["proj_bias"])
        for part in ("gate", "up") if s["use_gated_mlp"] else ("up",):
            table.dense(f"{at}mlp.{part}_proj", inner, width, s["mlp_bias"])
        table.dense(at + "mlp.down_proj", width, inner, s["mlp_bias"])
        for number in (1, 2):
            table[f"{at}layer_scale{number}.lambda1"] = ((width,), "norm", 1)
    table.norm("norm", width)
    return table


class Model(stages.Model):
    def __init__(self, config, tensors):
        super().__init__({**DEFAULTS, **config}, tensors)

    def rotation(self, rows, columns):
        """Angles [patches, channels / 2] of a head."""
        s = self.settings
        channels = s["hidden_size"] // s["num_attention_heads"]
        frequencies = s["rope_theta"] ** -numpy.arange(0, 1, 4 / channels)
        center = lambda count: (numpy.arange(count) + 0.5) / count * 2 - 1
        of_row = numpy.repeat(center(rows), columns)[:, None] * frequencies
        of_column = numpy.tile(center(columns), rows)[:, None] * frequencies
        return 2 * math.pi * numpy.concatenate([of_row, of_column], 1)

    def rotated(self, x, angles):
        """x [heads, tokens, channels], whose last tokens are the patches."""
        learned = x.shape[1] - len(angles)
        cosines, sines = numpy.cos(angles), numpy.sin(angles)
        first, second = numpy.split(x[:, learned:], 2, axis=-1)
        turned = numpy.concatenate([first * cosines - second * sines, second * cosines + first * sines], -1)
        return numpy.concatenate([x[:, :learned], turned], 1)

    def feed_forward(self, x, at):
        s = self.settings
        active = ACTIVATIONS[s["hidden_act"]](self.dense(x, at + ("gate_proj" if s["use_gated_mlp"] else "up_proj")))
        if s["use_gated_mlp"]:
            active = active * self.dense(x, at + "up_proj")
        return self.dense(active, at + "down_proj")

    def forward(self, pixels):
        s = self.settings
        patches = self.convolve(pixels, "embeddings.patch_embeddings", s["patch_size"])
        rows, columns = patches.shape[:2]
        learned = [self.weight("embeddings.cls_token")[0]]
        if s["num_register_tokens"]:
            learned.append(self.weight("embeddings.register_tokens")[0])
        x = numpy.concatenate([*learned, patches.reshape(rows * columns, -1)])
        angles = self.rotation(rows, columns)
        for layer in range(s["num_hidden_layers"]):
            at = f"layer.{layer}."
            normed = self.norm(x, at + "norm1")
            q, k, v = (layers.heads(self.dense(normed, f"{at}attention.{part}_proj"), s["num_attention_heads"]) for part in "qkv")
            q, k = self.rotated(q, angles), self.rotated(k, angles)
            mixed = layers.mix(q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1]), v)
            x = x + self.weight(at + "layer_scale1.lambda1") * self.dense(mixed, at + "attention.o_proj")
            x = x + self.weight(at + "layer_scale2.lambda1") * self.feed_forward(self.norm(x, at + "norm2"), at + "mlp.")
        x = self.norm(x, "norm")
        return {"last_hidden_state": x, "pooler_output": x[0]}
