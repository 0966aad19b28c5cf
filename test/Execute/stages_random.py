"""Compiles random models of dinov3_vit, convnext, convnextv2 and swin, runs them and compares them with test/Reference/numpy.

Images are of the model's own size, and where it takes others of larger ones, and of sizes that are no multiple of its strides.
"""

import os
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import convnext  # noqa: E402
import dinov3_vit  # noqa: E402
import encoders  # noqa: E402
import random_models  # noqa: E402
import stages  # noqa: E402
import swin  # noqa: E402

SEED = 11
CONVNEXT_V2 = {"architectures": ["ConvNextV2Model"], "model_type": "convnextv2"}
CONVNEXT_CLASSES = {"architectures": ["ConvNextForImageClassification"], "num_labels": 7}
SWIN_CLASSES = {"architectures": ["SwinForImageClassification"], "num_labels": 7}

# name: (family, configuration, storage type)
CASES = {
    "dinov3": (dinov3_vit, {"num_register_tokens": 4}, "F32"),
    "dinov3_no_registers": (dinov3_vit, {"rope_theta": 20.0, "key_bias": True}, "F32"),
    "dinov3_gated": (dinov3_vit, {"use_gated_mlp": True, "hidden_act": "silu", "query_bias": False, "value_bias": False}, "F32"),
    "dinov3_no_biases": (dinov3_vit, {"mlp_bias": False, "proj_bias": False, "query_bias": False, "num_register_tokens": 1}, "F32"),
    "dinov3_odd": (dinov3_vit, {"hidden_size": 60, "num_attention_heads": 3, "intermediate_size": 97, "image_size": 35, "patch_size": 5}, "F32"),
    "dinov3_bf16": (dinov3_vit, {"num_register_tokens": 2}, "BF16"),
    "convnext": (convnext, {}, "F32"),
    "convnext_classes": (convnext, CONVNEXT_CLASSES, "F32"),
    "convnext_no_scale": (convnext, {"layer_scale_init_value": 0, "hidden_act": "relu", "layer_norm_eps": 1e-3}, "F32"),
    "convnext_one_stage": (convnext, {"num_stages": 1, "hidden_sizes": [33], "depths": [3], "patch_size": 3, **CONVNEXT_CLASSES}, "F32"),
    "convnext_gray": (convnext, {"num_channels": 1, "patch_size": 2, "hidden_sizes": [5, 65, 7]}, "F32"),
    "convnext_bf16": (convnext, CONVNEXT_CLASSES, "BF16"),
    "convnextv2": (convnext, CONVNEXT_V2, "F32"),
    "convnextv2_classes": (convnext, {**CONVNEXT_V2, "architectures": ["ConvNextV2ForImageClassification"], "num_labels": 3}, "F32"),
    "convnextv2_gray": (convnext, {**CONVNEXT_V2, "num_channels": 1, "patch_size": 2, "hidden_sizes": [5, 33, 7]}, "F32"),
    "convnextv2_f16": (convnext, CONVNEXT_V2, "F16"),
    "swin": (swin, {}, "F32"),
    "swin_classes": (swin, SWIN_CLASSES, "F32"),
    "swin_three_stages": (swin, {"depths": [2, 1, 3], "num_heads": [1, 2, 4], "embed_dim": 12, "qkv_bias": False}, "F32"),
    "swin_lying": (swin, {"image_size": [16, 48], "window_size": 4, "mlp_ratio": 2.5, "layer_norm_eps": 1e-3}, "F32"),
    "swin_odd_window": (swin, {"image_size": [36, 24], "window_size": 3, "depths": [3, 2]}, "F32"),
    "swin_one_window": (swin, {"image_size": [8, 24], "window_size": 4, "depths": [2], "num_heads": [2], **SWIN_CLASSES}, "F32"),
    "swin_bf16": (swin, SWIN_CLASSES, "BF16"),
}
FEW = ("dinov3_odd", "convnext_gray", "convnextv2_gray", "swin_odd_window")


def batches(family, config):
    """[(label, images, height, width)]"""
    if family is swin:
        height, width = stages.pair(config["image_size"])
        return [("own", 2, height, width), ("one", 1, height, width)]
    if family is convnext:
        side = config.get("patch_size", 4) << (config["num_stages"] - 1)
        return [("own", 2, 2 * side, 2 * side), ("large", 1, 4 * side + 1, 3 * side), ("ragged", 1, 2 * side - 1, 3 * side - 1), ("small", 5, side, side)]
    side, patch = config["image_size"], config["patch_size"]
    return [("own", 2, side, side), ("wide", 1, side, side + 3 * patch), ("ragged", 1, side + patch - 1, side - 1), ("small", 5, patch, 2 * patch)]


def check(name, options, directory):
    family, changes, storage = CASES[name]
    config, source = {**family.SMALL, **changes}, os.path.join(directory, "model")
    stages.make(source, config, family.shapes(config), stages.prefix(config), SEED, storage)
    model = family.Model(*stages.read(source))
    command = random_models.program(options, source, directory)
    worst, random = 0.0, numpy.random.RandomState(3)
    for label, images, height, width in batches(family, config):
        pixels = random.standard_normal((images, model.settings["num_channels"], height, width)).astype(numpy.float32)
        each = [model.forward(image.astype(numpy.float64)) for image in pixels]
        wanted = {output: numpy.stack([outputs[output] for outputs in each]) for output in each[0]}
        error = encoders.check_batch(options, command, label, directory, {"pixel_values": pixels}, wanted, random_models.TOLERANCE[storage])
        worst = max(worst, error)
    return worst


MODELS = random_models.Models(check, CASES, FEW, generic=(), cuda=())
