"""Compiles random models of the vit family, runs them and compares them with test/Reference/numpy/vit.py.

Each configuration runs on batches of images of its own size, of other sizes, and of sizes that are no multiple of a
patch. Relative L2 of every output against float64 over the stored weights; compiled code must give the same bits with
1, 2 and 7 threads.
"""

import os
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import encoders  # noqa: E402
import random_models  # noqa: E402
import vit  # noqa: E402

SEED = 5
ODD = {"hidden_size": 66, "num_attention_heads": 3, "intermediate_size": 97, "image_size": [35, 20], "patch_size": 5}
MASK_TOKEN = {"vit.embeddings.mask_token": numpy.ones((1, 1, 64), numpy.float32)}


def classifier(labels, **config):
    return {"architectures": ["ViTForImageClassification"], "num_labels": labels, **config}


# name: (configuration, how its checkpoint is written: see vit.make, or "seeded" for one without weights)
CASES = {
    "base": ({}, {"extra": MASK_TOKEN}),
    "base_without_prefix": ({"num_attention_heads": 1, "pooler_act": "relu"}, {"prefix": False}),
    "base_without_pooler": ({"num_hidden_layers": 1}, {"prefix": False, "pooler": False}),
    "base_narrow_pooler": ({"pooler_output_size": 24}, {}),
    "classifier": (classifier(10), {}),
    "classifier_named": ({"architectures": ["ViTForImageClassification"], "id2label": {"0": "a", "1": "b", "2": "c"}}, {}),
    "classifier_mean": (classifier(5, use_mean_pooling=True), {}),
    "without_query_bias": (classifier(3, qkv_bias=False, hidden_act="relu"), {}),
    "one_layer_one_label": (classifier(1, num_hidden_layers=1, layer_norm_eps=1e-3), {}),
    "gray": (classifier(4, num_channels=1, hidden_act="gelu_new"), {}),
    "many_channels": ({"num_channels": 5, "patch_size": 4, "image_size": 12}, {}),
    "one_patch": (classifier(3, image_size=8), {}),
    "pixels_as_patches": (classifier(3, image_size=5, patch_size=1), {}),
    "upright": (classifier(3, image_size=[44, 29], patch_size=[7, 7]), {}),
    "lying": ({"image_size": [16, 56]}, {}),
    "one_row": (classifier(3, use_mean_pooling=True, image_size=[8, 80]), {}),
    "wide_patches": (classifier(3, image_size=80, patch_size=37), {}),
    "odd_base": (ODD, {}),
    "odd_classifier": (classifier(33, **ODD), {}),
    "odd_mean": (classifier(7, use_mean_pooling=True, **ODD), {}),
    "deep": (classifier(3, num_hidden_layers=7), {}),
    "bf16": (classifier(9), {"dtype": "BF16"}),
    "bf16_mean": (classifier(9, use_mean_pooling=True, **ODD), {"dtype": "BF16"}),
    "bf16_odd": (ODD, {"dtype": "BF16"}),
    "f16": ({}, {"dtype": "F16"}),
    "f16_odd": (classifier(5, **ODD), {"dtype": "F16"}),
    "seeded_classifier": (classifier(6), "seeded"),
    "seeded_base": (ODD, "seeded"),
}
FEW = ("odd_base", "bf16_mean")


def build(name, directory):
    config, how = CASES[name]
    if how != "seeded":
        vit.make(directory, config, SEED, **how)
        return vit.load(directory)
    config = vit.make(directory, config)
    os.remove(os.path.join(directory, "model.safetensors"))
    return vit.Model(config, vit.tensors(config, SEED))


def batches(settings):
    """[(label, images, height, width)]: the model's own size, larger, smaller and not square, one patch, ragged sides."""
    patch, (height, width) = settings["patch_size"], settings["image_size"]
    return [("own", 2, height, width), ("larger", 1, height + 3 * patch, width + patch), ("small", 3, patch, 2 * patch),
            ("ragged", 1, height + patch - 1, max(width - 1, patch)), ("many", 11, patch, patch)]


def check(name, options, directory):
    source = os.path.join(directory, "model")
    model = build(name, source)
    storage = "F32" if CASES[name][1] == "seeded" else CASES[name][1].get("dtype", "F32")
    flags = [f"--random-weights={SEED}"] if CASES[name][1] == "seeded" else []
    command = random_models.program(options, source, directory, flags)
    worst, random = 0.0, numpy.random.RandomState(3)
    for label, images, height, width in batches(model.settings):
        if options.rapt_reference and label in ("small", "many"):
            continue  # they are for the runtime, which splits batches
        shape = (images, model.settings["num_channels"], height, width)
        pixels = random.standard_normal(shape).astype(numpy.float32)
        each = [model.forward(image) for image in pixels]
        wanted = {output: numpy.stack([outputs[output] for outputs in each]) for output in each[0]}
        error = encoders.check_batch(options, command, label, directory, {"pixel_values": pixels}, wanted, random_models.TOLERANCE[storage])
        worst = max(worst, error)
    return worst


MODELS = random_models.Models(check, CASES, FEW, generic=(), cuda=(), evaluated=[name for name, case in CASES.items() if case[1] != "seeded"])
