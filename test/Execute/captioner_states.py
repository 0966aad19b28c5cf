#!/usr/bin/env python3
"""Sources that are images, on random attention captioners (test/Reference/numpy/captioner.py).

    captioner_states.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run --rapt-reference build/bin/rapt-reference --runtime build/lib/librapt_runtime.so

Through the C interface, steps of any lengths equal numpy's, forks share an image, a saved sequence comes back with it, blocks come back, and each
misuse is told; a context's default cache holds an image with more positions than a text may have. Attention probabilities and log-sum-exp are
the reference evaluator's. Quantized weights and activations of 16 bits stay near those of f32.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import attention_weights  # noqa: E402
import captioner  # noqa: E402
import recurrent_states  # noqa: E402
import report  # noqa: E402
from context import Context  # noqa: E402

# A grid of 6 x 7 in one block of the cache, and one of 13 x 23 in five, of a model whose texts are short.
CONFIG = {**captioner.SMALL, "image_size": [12, 14], "conv_channels": [9], "conv_kernel": [3], "conv_stride": [1], "conv_padding": [1], "conv_pool": [2], "decoder_layers": 2}
MANY = {**CONFIG, "image_size": [13, 23], "conv_pool": [1], "max_length": 8}
WORDS, POSITIONS, WIDTH = CONFIG["vocab_size"], 42, 9
# Relative L2 of logits against those of f32.
NEAR = {"--quantize=w8a8": 0.05, "--quantize=w8": 0.05, "--quantize=w4": 0.3, "--activations=bf16": 0.03, "--activations=f16": 0.004, "--cache-dtype=bf16": 0.01}
FEW = ("--quantize=w8a8", "--cache-dtype=bf16")  # each flag is compared on other models as well


def run(*command, fails=None):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    if fails:
        assert done.returncode == 1 and fails in done.stderr and done.stderr.count("\n") == 1, (command, done)
    else:
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return done.stdout


def forward(options, work, library, pixels, tokens):
    paths = {name: os.path.join(work, name + ".npy") for name in ("pixels", "tokens", "logits")}
    numpy.save(paths["pixels"], pixels)
    numpy.save(paths["tokens"], tokens)
    run(options.rapt_run, library, "--input", f"pixel_values={paths['pixels']}", "--input", f"decoder_input_ids={paths['tokens']}", "--output", f"logits={paths['logits']}")
    return numpy.load(paths["logits"])


def sequences(options, library, model, pixels):
    context = Context(options.runtime, library, WORDS, cache_tokens=64 * 4, max_step_tokens=40)
    yield from recurrent_states.translator(context, model, pixels[0], pixels[1])
    fresh, told = context.sequence(), lambda status, name, text: recurrent_states.refusal(context, status, name, text)
    yield ("tokens for an image", *told(context.encode([(fresh, [1, 2, 3])]), "INVALID", "source 0 has tokens; the model plain reads images"))
    yield ("a part of an image", *told(context.encode([(fresh, pixels[0][:, :-1])]), "INVALID", "bytes of floats [3, 12, 14] are needed"))
    short = numpy.zeros((3, WIDTH), numpy.float32)
    yield ("no memory for annotations", *told(context.encode([(fresh, pixels[0])], [short]), "INVALID", "source 0: its hidden has"))
    grid = numpy.zeros((POSITIONS, WIDTH), numpy.float32)
    context.must(context.encode([(fresh, pixels[2])], [grid]))
    yield "annotations", recurrent_states.near(grid, model.encode(pixels[2])), "relative L2"
    yield ("a second image", *told(context.encode([(fresh, pixels[0])]), "INVALID", "its sequence has a source already"))
    context.free(fresh)
    yield "its blocks come back", context.available() == 256, f"{context.available()} tokens"
    context.close()


def manyPositions(options, library, model, pixels):
    """A default context holds one image."""
    context = Context(options.runtime, library, WORDS)
    yield "capacity", context.available() == 320, f"{context.available()} tokens"
    one = context.sequence()
    context.must(context.encode([(one, pixels)]))
    logits, status = context.step([(one, [1, 7, 3])])
    context.must(status)
    yield "logits of an image in five blocks", recurrent_states.near(logits[0], model.decode([1, 7, 3], model.encode(pixels))), "relative L2"
    context.close()


def faults(options, work, library, pixels, tokens):
    paths = {name: os.path.join(work, f"fault-{name}.npy") for name in ("short", "flat", "tokens", "good")}
    for name, array in (("short", pixels[:, :, :10]), ("flat", pixels[0]), ("good", pixels[:2]), ("tokens", tokens)):
        numpy.save(paths[name], array)
    give = lambda *pairs: [part for name, file in pairs for part in ("--input", f"{name}={paths[file]}")]
    for inputs, message in ((give(("pixel_values", "short"), ("decoder_input_ids", "tokens")), "pixel_values is [3, 3, 10, 14]; f32 [batch, 3, 12, 14] with dense rows is needed"),
                            (give(("pixel_values", "flat"), ("decoder_input_ids", "tokens")), "pixel_values: has rank 3, not 4"),
                            (give(("input_ids", "tokens"), ("decoder_input_ids", "tokens")), "forward has no tensor input_ids; it has pixel_values, decoder_input_ids"),
                            (give(("pixel_values", "good"), ("decoder_input_ids", "tokens")), "decoder_input_ids has 3 rows, pixel_values 2"),
                            (give(("decoder_input_ids", "tokens")), "forward needs pixel_values")):
        run(options.rapt_run, library, *inputs, "--output", f"logits={os.path.join(work, 'none.npy')}", fails=message)
    yield "tensors that do not fit", True, "told"


def checks(options, work):
    random, library = numpy.random.RandomState(3), os.path.join(work, "plain.so")
    pixels, tokens = random.standard_normal((3, 3, 12, 14)).astype(numpy.float32), random.randint(3, WORDS, (3, 17))
    source = os.path.join(work, "model")
    captioner.make(source, CONFIG, 5)
    model = captioner.load(source)
    run(options.raptc, source, "-o", library)
    yield from sequences(options, library, model, pixels)
    yield from faults(options, work, library, pixels, tokens)

    logits, near = forward(options, work, library, pixels, tokens), os.path.join(work, "near.so")
    for flag, tolerance in NEAR.items():
        if flag not in FEW and os.environ.get("RAPT_FULL") != "1":
            continue
        run(options.raptc, source, flag, "-o", near)
        error = numpy.linalg.norm(forward(options, work, near, pixels, tokens) - logits) / numpy.linalg.norm(logits)
        yield flag, 0 < error <= tolerance, f"relative L2 {error:.1e}, allowed {tolerance}"

    flags, ones = ("--attention-weights", "--attention-log-sum-exp"), numpy.ones(tokens.shape, int)
    run(options.raptc, source, *flags, "-o", near)
    outputs = {"cross_attentions": ones, "cross_log_sum_exp": ones}
    got = attention_weights.compare(options, work, near, source, {"pixel_values": pixels, "decoder_input_ids": tokens}, {"decoder_attention_mask": ones}, outputs, *flags)
    looks = numpy.array([model.looks(row, model.encode(image)) for row, image in zip(tokens, pixels)])
    shape = got["cross_attentions"].shape
    yield "attention probabilities", shape == (3, 17, 1, 1, POSITIONS) and numpy.abs(got["cross_attentions"][:, :, 0, 0] - looks).max() <= 1e-5, f"{shape}"

    captioner.make(source, MANY, 5)
    run(options.raptc, source, "-o", near)
    yield from manyPositions(options, near, captioner.load(source), random.standard_normal((3, 13, 23)).astype(numpy.float32))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("raptc", "rapt-run", "rapt-reference", "runtime"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rapt-captions-") as work:
        report.finish(checks(options, work), "family captioner decode")


if __name__ == "__main__":
    main()
