#!/usr/bin/python3
"""Checks vit.py against torch.nn modules in float64: Conv2d, LayerNorm, MultiheadAttention, Linear, and torch's own bicubic
interpolation. Run by hand, with Debian's python3-torch; the test command needs no PyTorch. Prints the largest difference.
"""

import tempfile

import numpy
import torch
import torch.nn.functional as F
from torch import nn

import vit

CASES = {
    "base": {}, "classifier": {"architectures": ["ViTForImageClassification"], "num_labels": 5},
    "mean": {"architectures": ["ViTForImageClassification"], "num_labels": 5, "use_mean_pooling": True},
    "without bias": {"qkv_bias": False, "hidden_act": "relu"}, "odd": {"hidden_size": 66, "num_attention_heads": 3, "image_size": [35, 20], "patch_size": 5},
}
SIZES = ((0, 0), (3, 1), (-1, 4), (11, 7))  # patches more than the model's own, down and across
ACTIVATIONS = {"gelu": F.gelu, "relu": F.relu}


class Torch:
    def __init__(self, model):
        self.s, self.w = model.settings, {name: torch.tensor(values, dtype=torch.float64) for name, values in model.tensors.items()}

    def dense(self, x, name):
        return F.linear(x, self.w[name + ".weight"], self.w.get(name + ".bias"))

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.w[name + ".weight"], self.w[name + ".bias"], self.s["layer_norm_eps"])

    def attention(self, x, at):
        width, heads = self.s["hidden_size"], self.s["num_attention_heads"]
        module = nn.MultiheadAttention(width, heads, batch_first=True).double()
        parts = [at + "attention." + part for part in ("query", "key", "value")]
        module.in_proj_weight.data = torch.cat([self.w[part + ".weight"] for part in parts])
        module.in_proj_bias.data = torch.cat([self.w.get(part + ".bias", torch.zeros(width, dtype=torch.float64)) for part in parts])
        module.out_proj.weight.data, module.out_proj.bias.data = self.w[at + "output.dense.weight"], self.w[at + "output.dense.bias"]
        return module(x, x, x, need_weights=False)[0]

    def forward(self, pixels):
        grid, patch = self.s["grid"], self.s["patch_size"]
        kernel = "embeddings.patch_embeddings.projection."
        cut = F.conv2d(pixels, self.w[kernel + "weight"], self.w[kernel + "bias"], stride=patch)
        table = self.w["embeddings.position_embeddings"]
        square = table[:, 1:].reshape(1, *grid, -1).permute(0, 3, 1, 2)
        resized = F.interpolate(square, size=cut.shape[2:], mode="bicubic", align_corners=False)
        first = (self.w["embeddings.cls_token"] + table[:, :1]).expand(len(pixels), -1, -1)
        x = torch.cat([first, (cut + resized).flatten(2).transpose(1, 2)], 1)
        for layer in range(self.s["num_hidden_layers"]):
            at = f"encoder.layer.{layer}."
            x = x + self.attention(self.norm(x, at + "layernorm_before"), at + "attention.")
            wide = ACTIVATIONS[self.s["hidden_act"]](self.dense(self.norm(x, at + "layernorm_after"), at + "intermediate.dense"))
            x = x + self.dense(wide, at + "output.dense")
        x = self.norm(x, "layernorm")
        if self.s["head"] == "ViTForImageClassification":
            return {"logits": self.dense(x[:, 1:].mean(1) if self.s["use_mean_pooling"] else x[:, 0], "classifier")}
        return {"last_hidden_state": x, "pooler_output": torch.tanh(self.dense(x[:, 0], "pooler.dense"))}


def main():
    worst, random = 0.0, numpy.random.RandomState(1)
    for name, config in CASES.items():
        with tempfile.TemporaryDirectory() as directory:
            vit.make(directory, config, 2)
            model = vit.load(directory)
        s = model.settings
        for down, across in SIZES:
            shape = (2, s["num_channels"], s["image_size"][0] + down * s["patch_size"], s["image_size"][1] + across * s["patch_size"] + 2)
            pixels = random.standard_normal(shape)
            theirs = Torch(model).forward(torch.tensor(pixels))
            for row, image in enumerate(pixels):
                for output, values in model.forward(image).items():
                    worst = max(worst, abs(values - theirs[output][row].detach().numpy()).max())
    print(f"{len(CASES) * len(SIZES)} cases: at most {worst:.1e} apart")
    assert worst < 1e-11


if __name__ == "__main__":
    main()
