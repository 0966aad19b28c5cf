"""The swin family in float64 with numpy alone, from the formulas of Liu et al. 2021 and the details of Hugging Face's SwinModel."""

import math

import numpy

import layers
import stages
from bert import ACTIVATIONS

SMALL = {
    "architectures": ["SwinModel"], "model_type": "swin", "image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [2, 2],
    "num_heads": [2, 4], "window_size": 4,
}
DEFAULTS = {"num_channels": 3, "mlp_ratio": 4.0, "qkv_bias": True, "layer_norm_eps": 1e-5, "hidden_act": "gelu"}
EPSILON = 1e-5


def shapes(config):
    s, table = {**DEFAULTS, **config}, stages.Shapes()
    table.convolution("embeddings.patch_embeddings.projection", s["embed_dim"], s["num_channels"], s["patch_size"])
    table.norm("embeddings.norm", s["embed_dim"])
    for stage, depth in enumerate(s["depths"]):
        width, at = s["embed_dim"] << stage, f"encoder.layers.{stage}."
        for block in range(depth):
            own = f"{at}blocks.{block}."
            table.norm(own + "layernorm_before", width)
            table[own + "attention.self.relative_position_bias_table"] = (
                ((2 * s["window_size"] - 1) ** 2, s["num_heads"][stage]), "embedding", 1)
            for part in ("query", "key", "value"):
                table.dense(own + "attention.self." + part, width, width, s["qkv_bias"])
            table.dense(own + "attention.output.dense", width, width)
            table.norm(own + "layernorm_after", width)
            table.dense(own + "intermediate.dense", int(s["mlp_ratio"] * width), width)
            table.dense(own + "output.dense", width, int(s["mlp_ratio"] * width))
        if stage + 1 < len(s["depths"]):
            table.norm(at + "downsample.norm", 4 * width)
            table.dense(at + "downsample.reduction", 2 * width, 4 * width, bias=False)
    table.norm("layernorm", width)
    if stages.labels(config):
        table.dense("classifier", stages.labels(config), width)
    return table


class Model(stages.Model):
    def __init__(self, config, tensors):
        super().__init__({**DEFAULTS, **config}, tensors)

    def regions(self, rows, columns, shift):
        """The number of the region of each patch of the shifted grid: patches of one region were neighbors before."""
        side = self.settings["window_size"]
        of = lambda count: numpy.digitize(numpy.arange(count), [count - side, count - shift])
        return of(rows)[:, None] * 3 + of(columns)[None, :]

    def attend(self, x, at, heads, regions):
        """Patches [side * side, channels] of one window, and their regions."""
        side = self.settings["window_size"]
        q, k, v = (layers.heads(self.dense(x, f"{at}self.{part}"), heads) for part in ("query", "key", "value"))
        row, column = numpy.divmod(numpy.arange(side * side), side)
        distance = (row[:, None] - row + side - 1) * (2 * side - 1) + column[:, None] - column + side - 1
        bias = self.weight(at + "self.relative_position_bias_table")[distance].transpose(2, 0, 1)
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1]) + bias
        scores = scores - 100 * (regions[:, None] != regions[None, :])
        return self.dense(layers.mix(scores, v), at + "output.dense")

    def attention(self, x, at, heads, isShifted):
        """x [rows, columns, channels]"""
        side, (rows, columns, width) = self.settings["window_size"], x.shape
        shift = side // 2 if isShifted and min(rows, columns) > side else 0
        x = numpy.roll(x, (-shift, -shift), (0, 1))
        regions = self.regions(rows, columns, shift) if shift else numpy.zeros((rows, columns), int)
        result = numpy.zeros(x.shape)
        for y in range(0, rows, side):
            for z in range(0, columns, side):
                window = numpy.s_[y : y + side, z : z + side]
                mixed = self.attend(x[window].reshape(side * side, width), at, heads, regions[window].ravel())
                result[window] = mixed.reshape(side, side, width)
        return numpy.roll(result, (shift, shift), (0, 1))

    def forward(self, pixels):
        s = self.settings
        x = self.norm(self.convolve(pixels, "embeddings.patch_embeddings.projection", s["patch_size"]), "embeddings.norm", EPSILON)
        for stage, depth in enumerate(s["depths"]):
            at = f"encoder.layers.{stage}."
            for block in range(depth):
                own = f"{at}blocks.{block}."
                x = x + self.attention(self.norm(x, own + "layernorm_before"), own + "attention.", s["num_heads"][stage], block % 2 == 1)
                wide = ACTIVATIONS[s["hidden_act"]](self.dense(self.norm(x, own + "layernorm_after"), own + "intermediate.dense"))
                x = x + self.dense(wide, own + "output.dense")
            if stage + 1 < len(s["depths"]):
                four = numpy.concatenate([x[0::2, 0::2], x[1::2, 0::2], x[0::2, 1::2], x[1::2, 1::2]], -1)
                x = self.dense(self.norm(four, at + "downsample.norm", EPSILON), at + "downsample.reduction")
        x = self.norm(x, "layernorm").reshape(-1, x.shape[-1])
        if "classifier.weight" in self.tensors:
            return {"logits": self.dense(x.mean(0), "classifier")}
        return {"last_hidden_state": x, "pooler_output": x.mean(0)}
