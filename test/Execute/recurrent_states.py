#!/usr/bin/env python3
"""Checks the states that sequences of a recurrent language model, and of a neural probabilistic one, keep, through the C interface;
date_translator.py does so for an encoder-decoder with `translator`.

    recurrent_states.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run --runtime build/lib/librapt_runtime.so

Steps of any lengths equal the whole in test/Reference/numpy/recurrent.py and feedforward.py; forks go their own ways; states are saved and
loaded; a state cannot be cut; a failed or canceled step changes nothing; greedy tokens of rapt-run are numpy's.
"""

import argparse
import ctypes
import os
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import feedforward  # noqa: E402
import recurrent  # noqa: E402
import report  # noqa: E402
from context import Context  # noqa: E402
from encoder_decoder_generation import run  # noqa: E402

CONFIG = {**recurrent.LM, "cell": "lstm", "vocab_size": 37, "embedding_size": 9, "hidden_size": 21, "num_layers": 3, "max_length": 96}
PROBABILISTIC = {**feedforward.LM, "vocab_size": 37, "embedding_size": 9, "hidden_size": 21, "context_size": 4, "direct_connections": True}
WHOLE = [5, 9, 30, 1, 17, 17, 2, 36, 0, 8, 21, 13]


def near(found, expected):
    return found.shape == expected.shape and bool(numpy.linalg.norm(found - expected) <= 1e-5 * numpy.linalg.norm(expected))


def truncate(context, sequence, length):
    return context.call("sequence_truncate", context.context, ctypes.c_uint64(sequence), ctypes.c_int64(length))


def refusal(context, status, name, text):
    found = f"{context.lib.rapt_status_name(status).decode()}: {context.message.value.decode()}"
    return found.startswith(name) and text in found, found


def stepped(context, pairs):
    logits, status = context.step(pairs)
    context.must(status)
    return logits


def canceled(context, sequence, tokens):
    """A canceled step leaves the sequence as it was."""
    context.lib.rapt_cancel(context.context)
    _, status = context.step([(sequence, tokens)])
    return refusal(context, status, "CANCELLED", "")


def languageModel(context, model):
    whole = model.forward(WHOLE)
    a, b, c = (context.sequence() for _ in range(3))
    first = stepped(context, [(a, WHOLE[:5]), (b, WHOLE), (c, WHOLE[:1])])
    yield "prefill beside prefill", near(first[0], whole[:5]) and near(first[1], whole) and near(first[2], whole[:1]), "logits"
    second = stepped(context, [(c, WHOLE[1:8]), (a, WHOLE[5:6])])
    yield "steps of any lengths", near(second[0], whole[1:8]) and near(second[1], whole[5:6]), "logits"
    fork = context.fork(a)
    other = model.forward(WHOLE[:6] + [33, 3])
    third = stepped(context, [(fork, [33]), (a, WHOLE[6:8])])
    yield "a fork goes its own way", near(third[0], other[6:7]) and near(third[1], whole[6:8]), "logits"
    yield ("a canceled step", *canceled(context, a, WHOLE[8:]))
    _, status = context.step([(a, WHOLE[8:]), (fork, [37])])
    yield ("a step with a wrong token", *refusal(context, status, "INVALID", "chunk 1: token 0 is 37"))
    fourth = stepped(context, [(a, WHOLE[8:]), (fork, [3])])
    yield "neither changed a state", near(fourth[0], whole[8:]) and near(fourth[1], other[7:]), "logits"
    yield ("a state cannot be cut", *refusal(context, truncate(context, a, 3), "UNSUPPORTED", "cannot truncate to 3 tokens"))
    context.must(truncate(context, a, len(WHOLE)))
    context.must(truncate(context, fork, 0))
    yield "forgetting all", near(stepped(context, [(fork, WHOLE)])[0], whole), "logits"

    size = ctypes.c_size_t()
    save = lambda buffer, capacity: context.call("sequence_save", context.context, ctypes.c_uint64(c), buffer, ctypes.c_size_t(capacity), ctypes.byref(size))
    context.must(save(None, 0))
    buffer = ctypes.create_string_buffer(size.value)
    context.must(save(buffer, size.value))
    loaded = ctypes.c_uint64()
    load = lambda bytes_: context.call("sequence_load", context.context, bytes_, ctypes.c_size_t(len(bytes_)), ctypes.byref(loaded))
    context.must(load(buffer.raw))
    copy = loaded.value
    both = stepped(context, [(copy, WHOLE[8:]), (c, WHOLE[8:])])
    yield "a loaded state", near(both[0], whole[8:]) and numpy.array_equal(both[0], both[1]), f"{size.value} bytes"
    damaged = bytearray(buffer.raw)
    damaged[-1] ^= 1
    yield ("a damaged state", *refusal(context, load(bytes(damaged)), "BAD_FILE", "checksum"))
    many = [context.sequence() for _ in range(150)]  # more than there was room for at first
    rows = [row for begin in range(0, 150, 50) for row in stepped(context, [(s, WHOLE[:2]) for s in many[begin:begin + 50]])]
    yield "many sequences", all(near(row, whole[:2]) for row in rows), "150"
    for sequence in (a, b, c, fork, copy, *many):
        context.free(sequence)


def translator(context, model, first, second):
    """Checks of an encoder-decoder whose step takes one token of each row, as (what, whether it holds, the figures)."""
    texts, hidden = [[1, 13, 10, 4, 20], [1, 30]], []
    a, b = context.sequence(), context.sequence()
    _, status = context.step([(a, [1])])
    yield ("a step without a source", *refusal(context, status, "INVALID", "has no source"))
    context.must(context.encode([(a, first), (b, second)]))
    wanted = []
    for source, text in zip((first, second), texts):
        hidden = model.encode(source)
        wanted.append(model.decode(text + [7, 8], hidden))
    found = stepped(context, [(a, texts[0]), (b, texts[1])])
    yield "several tokens of each row", near(found[0], wanted[0][:5]) and near(found[1], wanted[1][:2]), "logits"
    fork = context.fork(a)
    after = stepped(context, [(b, [7]), (fork, [7])])
    yield "a fork of a decoder", near(after[0], wanted[1][2:3]) and near(after[1], wanted[0][5:6]), "logits"
    size, loaded = ctypes.c_size_t(), ctypes.c_uint64()
    save = lambda buffer, capacity: context.call("sequence_save", context.context, ctypes.c_uint64(b), buffer, ctypes.c_size_t(capacity), ctypes.byref(size))
    context.must(save(None, 0))
    buffer = ctypes.create_string_buffer(size.value)
    context.must(save(buffer, size.value))
    context.must(context.call("sequence_load", context.context, buffer, size, ctypes.byref(loaded)))
    after = stepped(context, [(loaded.value, [8])])
    yield "a loaded decoder", near(after[0], wanted[1][3:]), f"{size.value} bytes"
    context.free(loaded.value)
    yield ("a canceled decoder", *canceled(context, b, [8, 9, 10]))
    after = stepped(context, [(a, [7, 8]), (b, [8])])
    yield "a decoder after it", near(after[0], wanted[0][5:]) and near(after[1], wanted[1][3:]), "logits"
    yield ("a decoder's state cannot be cut", *refusal(context, truncate(context, a, 0), "UNSUPPORTED", "cannot truncate to 0 tokens"))
    for sequence in (a, b, fork):
        context.free(sequence)
    yield "blocks come back", context.available() == 256, f"{context.available()} tokens"


def greedy(model, ids, count):
    made = []
    while len(made) < count:
        made.append(int(model.forward(ids + made)[-1].argmax()))
    return ",".join(map(str, made))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("raptc", "rapt-run", "runtime"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    results, notes = [], []
    with tempfile.TemporaryDirectory(prefix="rapt-states-") as work:
        for family, config in ((recurrent, CONFIG), (feedforward, PROBABILISTIC)):
            name = config["model_type"]
            directory, library = os.path.join(work, name), os.path.join(work, name + ".so")
            family.make(directory, config, 5)
            model = family.load(directory)
            run(options.raptc, directory, "-o", library)
            context = Context(options.runtime, library, config["vocab_size"], max_step_tokens=40)
            results += [(f"{name}: {check}", *found) for check, *found in languageModel(context, model)]
            found, wanted = run(options.rapt_run, library, "--tokens", "5,9,30", "-n", "12", "--ignore-eos"), greedy(model, [5, 9, 30], 12)
            results.append((f"{name}: greedy tokens", found == wanted, f"{found}, expected {wanted}"))
            notes.append(f"family {name} decode")
    report.finish(results, *notes)


if __name__ == "__main__":
    main()
