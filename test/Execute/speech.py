#!/usr/bin/env python3
"""Sources that are features of sound, on the recorded model of whisper (test/Reference/transformers), which recorded_models.py compares with
the transformers package.

    speech.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run --rapt-reference build/bin/rapt-reference --runtime build/lib/librapt_runtime.so

Weights of the three kinds of attention are the reference evaluator's; logits of a batch are those of its rows, with the same bits for any number of
threads. Through the C interface, cached decode equals decode of all tokens at once, forks share a source, a saved sequence comes back
with it, blocks come back, and each misuse is told. Quantized weights and activations of 16 bits stay near those of f32.
"""

import argparse
import ctypes
import os
import subprocess
import tempfile

import numpy

import attention_weights
import recorded_models
from context import Context

CHANNELS, FRAMES, POSITIONS, WIDTH, VOCABULARY, TARGETS = 8, 60, 30, 48, 61, 40
# Relative L2 of logits against those of f32. The model is random and small: errors do not average out as in one that was trained.
NEAR = {"--quantize=w8a8": 0.05, "--quantize=w8": 0.05, "--quantize=w4": 0.3, "--activations=bf16": 0.03, "--activations=f16": 0.004, "--cache-dtype=int8": 0.05}
full = os.environ.get("RAPT_FULL") == "1"
FEW = ("--quantize=w8a8", "--cache-dtype=int8")  # elsewhere each flag is compared on other models


def run(*command, fails=None):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    if fails:
        assert done.returncode == 1 and fails in done.stderr and done.stderr.count("\n") == 1, (command, done)
    else:
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return done.stdout


def close(found, expected, what, tolerance=1e-5):
    assert found.shape == expected.shape, f"{what}: {found.shape}, expected {expected.shape}"
    error = numpy.linalg.norm(found - expected) / numpy.linalg.norm(expected)
    assert error <= tolerance, f"{what}: relative L2 {error:.1e}"


def compiled(options, work, source, name, *flags):
    library = os.path.join(work, name + ".so")
    run(options.raptc, source, *flags, "-o", library)
    return library


def forward(options, work, library, features, tokens, *flags, output="logits"):
    paths = {name: os.path.join(work, name + ".npy") for name in ("features", "tokens", "output", "other")}
    numpy.save(paths["features"], features)
    numpy.save(paths["tokens"], tokens)
    run(options.rapt_run, library, "--input", f"input_features={paths['features']}", "--input", f"decoder_input_ids={paths['tokens']}",
        *(part for name in sorted({"logits", output}) for part in ("--output", f"{name}={paths['output' if name == output else 'other']}")), *flags)
    return numpy.load(paths["output"])


def check_forward(options, work, library, features, tokens):
    """The logits of the batch, once they are known to be those of its rows."""
    whole = forward(options, work, library, features, tokens, "--threads", "1,2,7")
    for row in range(len(features)):
        close(forward(options, work, library, features[row : row + 1], tokens[row : row + 1]), whole[row : row + 1], f"row {row} alone")
    hidden = forward(options, work, library, features, tokens, output="encoder_last_hidden_state")
    assert hidden.shape == (len(features), POSITIONS, WIDTH)
    return whole, hidden


def check_faults(options, work, library, features, tokens):
    paths = {name: os.path.join(work, f"fault-{name}.npy") for name in ("short", "ids", "tokens", "good")}
    numpy.save(paths["short"], features[:, :, :10])
    numpy.save(paths["good"], features[:2])
    numpy.save(paths["ids"], tokens)
    numpy.save(paths["tokens"], tokens)
    give = lambda *pairs: [part for name, file in pairs for part in ("--input", f"{name}={paths[file]}")]
    for inputs, message in ((give(("input_features", "short"), ("decoder_input_ids", "tokens")), f"input_features is [3, {CHANNELS}, 10]; f32 [batch, {CHANNELS}, {FRAMES}] with dense rows is needed"),
                            (give(("input_ids", "ids"), ("decoder_input_ids", "tokens")), "forward has no tensor input_ids; it has input_features, decoder_input_ids"),
                            (give(("input_features", "good"), ("decoder_input_ids", "tokens")), "decoder_input_ids has 3 rows, input_features 2"),
                            (give(("decoder_input_ids", "tokens")), "forward needs input_features")):
        run(options.rapt_run, library, *inputs, "--output", f"logits={os.path.join(work, 'none.npy')}", fails=message)


def check_sequences(options, library, features, tokens, logits, hidden):
    context = Context(options.runtime, library, VOCABULARY, cache_tokens=64 * 8)
    a, b = context.sequence(), context.sequence()
    output = numpy.zeros((POSITIONS, WIDTH), numpy.float32)
    context.must(context.encode([(a, features[0]), (b, features[1])], [output]))
    assert context.available() == 64 * 6
    close(output, hidden[0], "the encoder's output")
    half = tokens.shape[1] // 2
    found, status = context.step([(a, tokens[0][:half]), (b, tokens[1][:3])])
    context.must(status)
    close(found[0], logits[0][:half], "prefill")
    for at in range(half, tokens.shape[1]):
        found, status = context.step([(b, tokens[1][at - half + 3 : at - half + 4]), (a, tokens[0][at : at + 1])])
        context.must(status)
        close(found[0], logits[1][at - half + 3 : at - half + 4], f"decode {at}, source 1")
        close(found[1], logits[0][at : at + 1], f"decode {at}")
    fork = context.fork(a)
    context.must(context.call("sequence_truncate", context.context, ctypes.c_uint64(fork), ctypes.c_int64(half)))
    context.free(a)
    found, status = context.step([(fork, tokens[0][half:])])
    context.must(status)
    close(found[0], logits[0][half:], "a fork after its origin")

    size = ctypes.c_size_t()
    context.must(context.call("sequence_save", context.context, ctypes.c_uint64(b), None, ctypes.c_size_t(0), ctypes.byref(size)))
    state = ctypes.create_string_buffer(size.value)
    context.must(context.call("sequence_save", context.context, ctypes.c_uint64(b), state, size, ctypes.byref(size)))
    other = Context(options.runtime, library, VOCABULARY, cache_tokens=64 * 2)
    loaded, next = other.load(state.raw), [[5]]
    here, there = context.step([(b, next[0])]), other.step([(loaded, next[0])])
    context.must(here[1])
    other.must(there[1])
    assert here[0][0].tobytes() == there[0][0].tobytes(), "a loaded sequence goes on differently"

    fresh, before = context.sequence(), context.available()
    context.refused(context.encode([(fresh, [1, 2, 3])]), "INVALID", "source 0 has tokens; the model plain reads features")
    context.refused(context.encode([(fresh, features[0][:, :-1])]), "INVALID", f"bytes of floats [{CHANNELS}, {FRAMES}] are needed")
    context.refused(context.encode([(fork, features[0])]), "INVALID", "its sequence has a source already")
    context.refused(context.encode([(fresh, features[0]), (fresh, features[0])]), "INVALID", "source 1 names a sequence that another source of the call names")
    context.refused(context.encode([(fresh, features[0])], [numpy.zeros((3, WIDTH), numpy.float32)]), "INVALID", "source 0: its hidden has")
    other.refused(other.encode([(other.sequence(), features[0])]), "FULL", "cache blocks of 64 tokens")
    assert context.available() == before
    for sequence in (fork, b, fresh):
        context.free(sequence)
    assert context.available() == 64 * 8


def main():
    parser = argparse.ArgumentParser()
    for name in ("--raptc", "--rapt-run", "--rapt-reference", "--runtime"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    random = numpy.random.RandomState(3)
    features = random.standard_normal((3, CHANNELS, FRAMES)).astype(numpy.float32)
    tokens = random.randint(3, VOCABULARY, (3, 17))
    with tempfile.TemporaryDirectory() as work:
        source = os.path.join(work, "model")
        recorded_models.write(recorded_models.read("whisper"), source)
        library = compiled(options, work, source, "plain")
        logits, hidden = check_forward(options, work, library, features, tokens)
        check_faults(options, work, library, features, tokens)
        check_sequences(options, library, features, tokens, logits, hidden)
        for flag, tolerance in NEAR.items():
            if flag not in FEW and not full:
                continue
            close(forward(options, work, compiled(options, work, source, "near", flag), features, tokens), logits, flag, tolerance)
        flags = ("--attention-weights=0", "--attention-log-sum-exp=1/1,3")
        library = compiled(options, work, source, "maps", *flags)
        given, ones = {"input_features": features, "decoder_input_ids": tokens}, numpy.ones(tokens.shape, int)
        masks = {"encoder": numpy.ones((3, POSITIONS), int), "decoder": ones, "cross": ones}
        outputs = {f"{part}_{what}": mask for part, mask in masks.items() for what in ("attentions", "log_sum_exp")}
        got = attention_weights.compare(options, work, library, source, given, {"decoder_attention_mask": ones}, outputs, *flags)
        assert got["cross_attentions"].shape == (3, 17, 1, 4, POSITIONS) and got["encoder_attentions"].shape == (3, POSITIONS, 1, 4, POSITIONS)
        assert got["decoder_attentions"].shape == (3, 17, 1, 4, TARGETS)
    print("sources of features: ok")


if __name__ == "__main__":
    main()
