#!/usr/bin/env python3
"""Models that rotate by rows and columns of images, with activations and weights of few bits: outputs near those of float64 (test/Reference/numpy).

    image_types.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run [--only CASE]

dinov3: an encoder of images; grids: qwen3_vl, whose text rotates by places of images as well, and whose layers read vectors of theirs; squares: gemma4. Of the last
two, vectors of an image and logits of a text that has float64's vectors.
"""

import argparse
import os
import tempfile

import numpy

import image_grids  # finds the folders of the next ones
import dinov3_vit
import image_squares
import random_models
import stages

# Relative L2 against float64 without rounding. The models are random and small: errors do not average out as in one that was trained.
NEAR = {"activations=bf16": 0.03, "activations=f16": 0.004, "dtype=bf16": 0.03, "quantize=w8": 0.1, "quantize=w4": 0.3}


def dinov3(options, work, flag):
    source, config = os.path.join(work, "model"), {**dinov3_vit.SMALL, "num_register_tokens": 1}
    stages.make(source, config, dinov3_vit.shapes(config), stages.prefix(config), 11)
    pixels = numpy.random.RandomState(3).standard_normal((1, 3, config["image_size"], config["image_size"] + 3 * config["patch_size"])).astype(numpy.float32)
    wanted = dinov3_vit.Model(*stages.read(source)).forward(pixels[0].astype(numpy.float64))
    paths = {name: os.path.join(work, name + ".npy") for name in ("pixel_values", *wanted)}
    numpy.save(paths["pixel_values"], pixels)
    command = random_models.program(options, source, work, [flag])
    found = random_models.outputs(options, [*command, "--input", "pixel_values=" + paths.pop("pixel_values")], paths)
    for name, expected in wanted.items():
        yield name, found[name][0], expected


def grids(options, work, flag):
    source = os.path.join(work, "model")
    image_grids.write_model(source, "qwen3_vl")
    test = image_grids.Test(options, work, random_models.program(options, source, work, [flag]), "qwen3_vl")
    yield "vectors", test.tensors("image_embeddings", "--entry=encode_image", pixel_values=test.values[0][None])[0], test.vectors[0]
    ids = image_grids.spread([5, image_grids.IMAGE, 7, 8], [image_grids.SIZES[0]])
    vectors, sizes = test.given([0])
    yield "logits", test.tensors("logits", input_ids=numpy.array([ids]), image_embeddings=vectors[None], image_grids=sizes)[0], test.wanted(ids, [0])


def squares(options, work, flag):
    test = image_squares.Test(options, work, image_squares.TOWER, use_bidirectional_attention="vision")
    test.compile(flag)
    pixels = test.draw(2, 3)
    vectors = test.wanted_vectors(pixels)
    yield "vectors", test.found_vectors(pixels, *test.threads), vectors
    ids = [2, image_squares.BEGIN, *[image_squares.IMAGE] * len(vectors), image_squares.END, 7]
    yield "logits", test.found_logits(ids, vectors), test.wanted_logits(ids, vectors)


CASES = [f"{model}-{flag.partition('=')[0]}-{flag.partition('=')[2]}" for model in ("dinov3", "grids", "squares") for flag in NEAR]


def main():
    parser = argparse.ArgumentParser()
    for name in ("--raptc", "--rapt-run"):
        parser.add_argument(name, required=True)
    parser.add_argument("--only", choices=CASES)
    options = parser.parse_args()
    options.rapt_reference = options.runtime = None
    for case in [options.only] if options.only else CASES:
        model, kind, value = case.split("-")
        with tempfile.TemporaryDirectory() as work:
            for what, found, wanted in globals()[model](options, work, f"--{kind}={value}"):
                assert found.shape == wanted.shape, f"{case}: {what} are {found.shape}, expected {wanted.shape}"
                error = numpy.linalg.norm(found - wanted) / numpy.linalg.norm(wanted)
                print(f"{case}: {what} have relative L2 {error:.1e}")
                assert error <= NEAR[f"{kind}={value}"], f"{case}: {what} have relative L2 {error:.1e}"


if __name__ == "__main__":
    main()
