#!/usr/bin/python3
"""Checks vit.py against the transformers package itself, in float64, on images of the model's own size and of others. Run by
hand on a machine that has transformers and PyTorch; neither is a prerequisite of Rapt. Prints the largest difference.
"""

import tempfile

import numpy
import torch
import transformers

import vit

CLASSES = {"ViTModel": transformers.ViTModel, "ViTForImageClassification": transformers.ViTForImageClassification}
CASES = (
    {}, {"architectures": ["ViTForImageClassification"], "num_labels": 5}, {"qkv_bias": False, "hidden_act": "relu"},
    {"hidden_size": 66, "num_attention_heads": 3, "intermediate_size": 97, "image_size": 35, "patch_size": 5},
)
SIZES = ((0, 0), (3, 1), (-1, 4))  # patches more than the model's own, down and across


def main():
    worst, random = 0.0, numpy.random.RandomState(1)
    for config in CASES:
        with tempfile.TemporaryDirectory() as directory:
            architecture = vit.make(directory, config, 2)["architectures"][0]
            model = vit.load(directory)
            theirs = CLASSES[architecture].from_pretrained(directory, torch_dtype=torch.float64).eval()
        s = model.settings
        for down, across in SIZES:
            sides = [side + more * s["patch_size"] for side, more in zip(s["image_size"], (down, across))]
            pixels = random.standard_normal((2, s["num_channels"], *sides))
            with torch.no_grad():
                outputs = theirs(pixel_values=torch.tensor(pixels), interpolate_pos_encoding=down != 0 or across != 0)
            for row, image in enumerate(pixels):
                for name, values in model.forward(image).items():
                    worst = max(worst, abs(values - outputs[name][row].numpy()).max())
    print(f"{len(CASES) * len(SIZES)} cases with transformers {transformers.__version__}: at most {worst:.1e} apart")


if __name__ == "__main__":
    main()
