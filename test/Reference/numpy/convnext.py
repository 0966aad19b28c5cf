"""The convnext and convnextv2 families in float64 with numpy alone, from the formulas of Liu et al. 2022 and Woo et al. 2023 and the details of
Hugging Face's ConvNextModel and ConvNextV2Model."""

import numpy

import stages
from bert import ACTIVATIONS

SMALL = {
    "architectures": ["ConvNextModel"], "model_type": "convnext", "num_stages": 3, "hidden_sizes": [8, 24, 36], "depths": [1, 2, 1],
}
DEFAULTS = {"num_channels": 3, "patch_size": 4, "layer_norm_eps": 1e-12, "layer_scale_init_value": 1e-6, "hidden_act": "gelu"}
SIDE, EPSILON = 7, 1e-6


def shapes(config):
    s, table, hasResponses = {**DEFAULTS, **config}, stages.Shapes(), config["model_type"] == "convnextv2"
    widths = s["hidden_sizes"]
    table.convolution("embeddings.patch_embeddings", widths[0], s["num_channels"], s["patch_size"])
    table.norm("embeddings.layernorm", widths[0])
    for stage, (width, depth) in enumerate(zip(widths, s["depths"])):
        at = f"encoder.stages.{stage}."
        if stage:
            table.norm(at + "downsampling_layer.0", widths[stage - 1])
            table.convolution(at + "downsampling_layer.1", width, widths[stage - 1], 2)
        for layer in range(depth):
            own = f"{at}layers.{layer}."
            table.convolution(own + "dwconv", width, 1, SIDE)
            table.norm(own + "layernorm", width)
            table.dense(own + "pwconv1", 4 * width, width)
            table.dense(own + "pwconv2", width, 4 * width)
            if hasResponses:
                for part in ("weight", "bias"):
                    table[f"{own}grn.{part}"] = ((1, 1, 1, 4 * width), "norm", 1)
            elif s["layer_scale_init_value"] > 0:
                table[own + "layer_scale_parameter"] = ((width,), "norm", 1)
    table.norm("layernorm", widths[-1])
    if stages.labels(config):
        table.dense("classifier", stages.labels(config), widths[-1])
    return table


class Model(stages.Model):
    def __init__(self, config, tensors):
        super().__init__({**DEFAULTS, **config}, tensors)

    def depthwise(self, x, name):
        """x [height, width, channels] with zeros around it."""
        kernel, border = self.weight(name + ".weight")[:, 0], SIDE // 2
        padded = numpy.pad(x, ((border, border), (border, border), (0, 0)))
        sums = numpy.zeros(x.shape) + self.weight(name + ".bias")
        for i in range(SIDE):
            for j in range(SIDE):
                sums += padded[i : i + x.shape[0], j : j + x.shape[1]] * kernel[:, i, j]
        return sums

    def layer(self, x, at):
        y = self.norm(self.depthwise(x, at + "dwconv"), at + "layernorm", EPSILON)
        y = ACTIVATIONS[self.settings["hidden_act"]](self.dense(y, at + "pwconv1"))
        if at + "grn.weight" in self.tensors:
            lengths = numpy.sqrt((y**2).sum((0, 1)))
            y = self.weight(at + "grn.weight")[0] * y * lengths / (lengths.mean() + 1e-6) + self.weight(at + "grn.bias")[0] + y
        y = self.dense(y, at + "pwconv2")
        scale = at + "layer_scale_parameter"
        return x + (self.weight(scale) * y if scale in self.tensors else y)

    def forward(self, pixels):
        s = self.settings
        x = self.convolve(pixels, "embeddings.patch_embeddings", s["patch_size"])
        x = self.norm(x, "embeddings.layernorm", EPSILON)
        for stage, depth in enumerate(s["depths"]):
            at = f"encoder.stages.{stage}."
            if stage:
                x = self.norm(x, at + "downsampling_layer.0", EPSILON)
                x = self.convolve(x.transpose(2, 0, 1), at + "downsampling_layer.1", 2)
            for layer in range(depth):
                x = self.layer(x, f"{at}layers.{layer}.")
        pooled = self.norm(x.mean((0, 1)), "layernorm")
        if "classifier.weight" in self.tensors:
            return {"logits": self.dense(pooled, "classifier")}
        return {"last_hidden_state": x.transpose(2, 0, 1), "pooler_output": pooled}
