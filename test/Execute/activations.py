#!/usr/bin/env python3
"""Whole models with activations of bf16 and f16, by the reference in float64, the CPU target and the generic target.

    activations.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run --rapt-reference build/bin/rapt-reference --models test/models

Outputs differ from those with f32 activations by the relative L2 norm that the table of tolerances allows, or by twice that of the reference
with the same roundings: a number that f32's error moves to another neighbor moves those behind it. The roundings show in the reference."""

import argparse
import itertools
import os
import subprocess
import sys
import tempfile

import numpy

import report

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Reference", "numpy"))

import llama  # noqa: E402
import tensorfiles  # noqa: E402

full = os.environ.get("RAPT_FULL") == "1"  # else each model with one element type on each target
TOLERANCE = {"bf16": 1e-2, "f16": 1e-3}  # of relative L2 norms


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"


def ragged(random, vocabulary, lengths):
    mask = (numpy.arange(max(lengths))[None, :] < numpy.array(lengths)[:, None]).astype(numpy.int64)
    return random.randint(1, vocabulary, mask.shape).astype(numpy.int64) * mask, mask


def texts(vocabulary, lengths, more=()):
    random = numpy.random.RandomState(3)
    names, arrays = ("input_ids", "attention_mask"), ragged(random, vocabulary, lengths)
    if more:
        names, arrays = (*names, "decoder_input_ids", "decoder_attention_mask"), (*arrays, *ragged(random, vocabulary, more))
    return dict(zip(names, arrays))


def pictures(height, width):
    return {"pixel_values": numpy.random.RandomState(4).randn(2, 3, height, width).astype(numpy.float32)}


# Sequences of one token, a prime and more than a cache block; pictures of another size than the model's, whose positions are resized.
MODELS = {
    "tiny-gpt": [texts(1536, (71, 1, 13))],
    "tiny-vit": [pictures(32, 32), pictures(41, 24)],
    "number-speller": [texts(53, (5, 1, 37), (9, 1, 33))],
    "date-translator": [texts(40, (5, 1, 17), (9, 1, 10))],
}


def outputs(command, work, inputs):
    line = []
    for name, array in inputs.items():
        path = os.path.join(work, f"{name}.npy")
        numpy.save(path, array)
        line += ["--input", f"{name}={path}"]
    out = os.path.join(work, "logits.npy")
    run(*command, *line, "--output", f"logits={out}")
    return numpy.load(out).astype(numpy.float64)


def reference(options, model, flags, work, inputs):
    text = os.path.join(work, "imported.mlir")
    run(options.raptc, model, *flags, "--emit=imported", "-o", text)
    return [outputs([options.rapt_reference, text, f"--weights={model}", "--precision=f64"], work, given) for given in inputs]


def apart(got, right):
    return numpy.linalg.norm(got - right) / numpy.linalg.norm(right)


def checks(options, work):
    for name, inputs in MODELS.items():
        model = os.path.join(options.models, name)
        plain = reference(options, model, [], work, inputs)
        for element, tolerance in TOLERANCE.items():
            flag = f"--activations={element}"
            right = reference(options, model, [flag], work, inputs)
            rounded = max(map(apart, right, plain))
            yield f"{name} {element} reference", 0.01 * tolerance < rounded <= 2 * tolerance, f"{rounded:.1e}"
            allowed = max(tolerance, 2 * rounded)
            for number, target in enumerate(("cpu", "generic")):
                if not full and (list(MODELS).index(name) + list(TOLERANCE).index(element) + number) % 2:
                    continue
                library = os.path.join(work, f"{target}.so")
                run(options.raptc, model, flag, f"--target={target}", "-o", library)
                found = [outputs([options.rapt_run, library], work, given) for given in inputs]
                error = max(map(apart, found, plain))
                yield f"{name} {element} {target}", 0.01 * tolerance < error <= allowed, f"{error:.1e} apart, {allowed:.0e} allowed, {max(map(apart, found, right)):.1e} from the reference"


def overflows(options, work):
    """Numbers beyond f16's 65504, of activations and of cached values, are no text and no logits, but one line."""
    model, library = os.path.join(work, "large"), os.path.join(work, "large.so")
    config = llama.makeModel(model, {"num_hidden_layers": 2}, 5)
    tensors = tensorfiles.readDirectory(model)
    for tensor, flag, what in (("model.layers.0.mlp.down_proj.weight", "--activations=f16", "activations"), ("model.layers.1.self_attn.v_proj.weight", "--cache-dtype=f16", "cached keys and values")):
        changed = tensors | {tensor: tensors[tensor] * 1e7}
        tensorfiles.writeModel(model, config, changed, "F32")
        for given in (flag, flag.replace("f16", "bf16")):
            run(options.raptc, model, given, "--target=generic", "-o", library)
            done = subprocess.run([options.rapt_run, library, "--tokens", "3,5,7", "-n", "2", "--temperature", "0"], capture_output=True, text=True)
            if given == flag:
                told = f"logits has numbers that are not finite: {what} are f16, which holds numbers up to 65504; compile the model with bf16 or f32 instead"
                yield f"overflow with {given}", done.returncode == 1 and told in done.stderr and not done.stdout, done.stderr
            else:
                yield f"no overflow with {given}", done.returncode == 0, done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--raptc", "--rapt-run", "--rapt-reference", "--models"):
        parser.add_argument(flag, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        report.finish(itertools.chain(checks(options, work), overflows(options, work)))


if __name__ == "__main__":
    main()
