"""Checks generation behind the encoder, on one random model of a family, for t5_generation.py and transformer_generation.py.

Greedy tokens of rapt-run and those of beam searches equal those of the family's numpy implementation in float64, one by
one; logits have the same bits with 1, 2 and 7 threads; through the C interface, cached decode equals decode of all tokens
at once, forks share a source, saved sequences come back with it, blocks come back, and each misuse is told.
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Unit", "Generation"))

import beam_search  # noqa: E402
from context import Context  # noqa: E402

SOURCE = [7, 99, 3, 14, 15, 92, 65, 35, 89, 79, 32, 38, 46]
INVALID, TOO_LONG, FULL, BAD_FILE, CANCELLED = "INVALID", "TOO_LONG", "FULL", "BAD_FILE", "CANCELLED"
# (beams, returned, further options): the last with equal hypotheses at both ends of the scale.
BEAMS = ((1, 1, {}), (4, 3, {}), (3, 2, {"length_penalty": 0.0, "early_stopping": True}), (5, 5, {"length_penalty": 2.0, "repetition_penalty": 1.3}))


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return done.stdout.strip()


def greedy(model, source, count):
    hidden, cache, tokens, made = model.encode(numpy.array(source)), [], [0], []
    while len(made) < count:
        made.append(int(model.decode(numpy.array(tokens), hidden, cache)[-1].argmax()))
        tokens = made[-1:]
    return made


def checkBeams(options, library, model, count):
    hidden = model.encode(numpy.array(SOURCE))
    for beams, returned, more in BEAMS:
        expected = beam_search.beam_search(lambda tokens: list(model.decode(numpy.array(tokens), hidden)[-1]), [0], beams, returned, count, [1], **more)
        line = [part for key, value in more.items() for part in ("--" + key.replace("_", "-"), str(value).lower())]
        found = run(options.rapt_run, library, "--tokens", ",".join(map(str, SOURCE)), "-n", str(count), "--beams", str(beams), "--returns", str(returned),
                    "--json", *line)
        found = json.loads(found)
        results = found["sequences"]
        assert len(results) == len(expected), f"{beams} beams: {results}, expected {expected}"
        for one, (tokens, score) in zip(results, expected):
            tokens = [token for token in tokens if token != 1]
            assert one["tokens"] == tokens, f"{beams} beams {more}: {results}, expected {expected}"
            assert abs(one["score"] - score) <= 1e-4 * abs(score), f"{beams} beams {more}: score {one['score']}, expected {score}"


def close(found, expected, what):
    assert found.shape == expected.shape, f"{what}: {found.shape}, expected {expected.shape}"
    error = numpy.linalg.norm(found - expected) / numpy.linalg.norm(expected)
    assert error <= 1e-5, f"{what}: relative L2 {error:.1e}"


def checkSaved(runtime, library, model, context, sequence, text, reference):
    """A sequence, its source with it, goes on in another context as it would have here."""
    size, limit = ctypes.c_size_t(), ctypes.c_size_t(0)
    context.must(context.call("sequence_save", context.context, ctypes.c_uint64(sequence), None, limit, ctypes.byref(size)))
    state = ctypes.create_string_buffer(size.value)
    context.must(context.call("sequence_save", context.context, ctypes.c_uint64(sequence), state, size, ctypes.byref(size)))
    other = Context(runtime, library, model.settings["vocab_size"], cache_tokens=64 * 3, max_step_tokens=40)
    loaded = other.load(state.raw)
    assert other.available() == 64 and other.lib.rapt_sequence_length(other.context, ctypes.c_uint64(loaded)) == len(text)
    for token in (77, 12):
        text = text + [token]
        here, there = context.step([(sequence, [token])]), other.step([(loaded, [token])])
        context.must(here[1])
        other.must(there[1])
        assert here[0][0].tobytes() == there[0][0].tobytes(), "a loaded sequence goes on differently"
        close(there[0][0], model.decode(numpy.array(text), reference)[-1:], "a loaded sequence")
    other.free(other.fork(loaded))
    other.refused(other.encode([(loaded, SOURCE)]), INVALID, "source 0: its sequence has a source already")
    twice = numpy.frombuffer(state.raw, numpy.uint8)
    for at in (0, 90, 99, 110, len(twice) // 2, len(twice) - 1):
        damaged = twice.copy()
        damaged[at] ^= 0x10
        assert other.call("sequence_load", other.context, damaged.tobytes(), size, ctypes.byref(ctypes.c_uint64())), f"byte {at}"
    other.refused(other.call("sequence_load", other.context, state.raw[:-1], ctypes.c_size_t(size.value - 1), ctypes.byref(ctypes.c_uint64())), BAD_FILE,
                  "tokens and 13 of a source take")
    other.refused(other.call("sequence_load", other.context, state.raw, size, ctypes.byref(ctypes.c_uint64())), FULL, "need 2 cache blocks, 1 of 3 are free")
    for at, what in ((104, "has 201 tokens, the model 200 positions"), (128, "has a source of 201 tokens, the model 200 positions")):
        longer = state.raw[:at] + (201).to_bytes(8, "little") + state.raw[at + 8 :]
        other.refused(other.call("sequence_load", other.context, longer, size, ctypes.byref(ctypes.c_uint64())), TOO_LONG, what)
    other.free(loaded)
    assert other.available() == 192
    # A sequence with a source alone, and one with nothing.
    alone, nothing = context.sequence(), context.sequence()
    context.must(context.encode([(alone, SOURCE)]))
    for one, blocks in ((alone, 1), (nothing, 0)):
        context.must(context.call("sequence_save", context.context, ctypes.c_uint64(one), state, ctypes.c_size_t(len(state)), ctypes.byref(size)))
        again = other.load(state.raw[: size.value])
        assert other.available() == 192 - 64 * blocks
        if not blocks:
            other.must(other.encode([(again, SOURCE)]))
        logits, status = other.step([(again, [0])])
        other.must(status)
        close(logits[0], model.decode(numpy.array([0]), reference), "a source that was loaded")
        other.free(again)
        context.free(one)


def checkSequences(runtime, library, model):
    vocabulary, width = model.settings["vocab_size"], model.settings["d_model"]
    context = Context(runtime, library, vocabulary, cache_tokens=64 * 8, max_step_tokens=40)
    assert context.available() == 512
    a, b = context.sequence(), context.sequence()
    other = list(range(2, 72))  # longer than a part of a step
    _, status = context.step([(a, [0])])
    context.refused(status, INVALID, "chunk 0: its sequence has no source: give it one with rapt_encode first")
    hidden = numpy.zeros((len(SOURCE), width), numpy.float32)
    context.must(context.encode([(a, SOURCE), (b, other)], [hidden]))
    assert context.available() == 512 - 64 - 128
    references = [model.encode(numpy.array(SOURCE)), model.encode(numpy.array(other))]
    close(hidden, references[0], "the encoder's output")

    # Prefill beside prefill, then one by one, against all at once.
    texts, caches = [[0, 5, 9, 11, 4], [0] + list(range(60, 2, -1))], [[], []]
    logits, status = context.step([(a, texts[0]), (b, texts[1])])
    context.must(status)
    for i in range(2):
        close(logits[i], model.decode(numpy.array(texts[i]), references[i], caches[i]), f"prefill {i}")
    for token in (8, 13, 21):
        logits, status = context.step([(b, [token]), (a, [token])])
        context.must(status)
        for i in range(2):
            texts[i].append(token)
            close(logits[1 - i], model.decode(numpy.array([token]), references[i], caches[i]), f"decode {i}")
            close(logits[1 - i][-1], model.decode(numpy.array(texts[i]), references[i])[-1], f"decode {i} against all")

    # A fork shares the source; truncation keeps it; the blocks live as long as one of the two.
    fork = context.fork(a)
    context.must(context.call("sequence_truncate", context.context, ctypes.c_uint64(fork), ctypes.c_int64(2)))
    logits, status = context.step([(fork, [50])])
    context.must(status)
    close(logits[0], model.decode(numpy.array(texts[0][:2] + [50]), references[0])[-1:], "a fork")
    context.free(a)
    logits, status = context.step([(fork, [51])])
    context.must(status)
    close(logits[0], model.decode(numpy.array(texts[0][:2] + [50, 51]), references[0])[-1:], "a fork after its origin")

    # Misuse, and what does not fit, changes nothing.
    before = context.available()
    context.refused(context.encode([(fork, SOURCE)]), INVALID, "source 0: its sequence has a source already")
    fresh, second = context.sequence(), context.sequence()
    context.refused(context.encode([(fresh, [3, vocabulary])]), INVALID, f"source 0: token 1 is {vocabulary}; the model's vocabulary is 0 to {vocabulary - 1}")
    context.refused(context.encode([(fresh, SOURCE), (fresh, SOURCE)]), INVALID, "source 1 names a sequence that another source of the call names")
    context.refused(context.encode([(fresh, [3] * 201)]), TOO_LONG, "source 0 has 201 tokens; the model has 200 positions")
    context.refused(context.encode([(fresh, [3] * 200), (second, [3] * 100)]), FULL, "cache blocks of 64 tokens")
    context.refused(context.encode([(999, SOURCE)]), INVALID, "sequence 999 does not exist")
    short = numpy.zeros((2, width), numpy.float32)
    context.refused(context.encode([(fresh, SOURCE)], [short]), INVALID, "source 0: its hidden has")
    assert context.available() == before
    # A cancel that is pending when a call is refused is spent by it; one that hits an encode leaves no source.
    for tokens, expected in (([3] * 201, TOO_LONG), (SOURCE, None)):
        context.lib.rapt_cancel(context.context)
        context.refused(context.encode([(fresh, tokens)]), CANCELLED, "canceled")
        assert context.available() == before
        status = context.encode([(fresh, tokens)])
        if expected:
            context.refused(status, expected, "")
    context.must(status)
    context.free(fresh)
    fresh = context.sequence()
    context.lib.rapt_cancel(context.context)
    context.refused(context.step([(b, [3] * 600)])[1], CANCELLED, "canceled")
    context.must(context.encode([(fresh, SOURCE)]))
    context.free(fresh)
    fresh = context.sequence()
    assert context.available() == before
    checkSaved(runtime, library, model, context, fork, texts[0][:2] + [50, 51], references[0])
    for sequence in (fork, b, fresh, second):
        context.free(sequence)
    assert context.available() == 512, context.available()


def checkThreads(options, library, work, vocabulary):
    ids, tokens = os.path.join(work, "ids.npy"), os.path.join(work, "tokens.npy")
    random = numpy.random.RandomState(1)
    numpy.save(ids, random.randint(0, vocabulary, (3, 71)))
    numpy.save(tokens, random.randint(0, vocabulary, (3, 37)))
    run(options.rapt_run, library, "--threads", "1,2,7", "--input", f"input_ids={ids}", "--input", f"decoder_input_ids={tokens}",
        "--output", f"logits={os.path.join(work, 'logits.npy')}", "--output", f"encoder_last_hidden_state={os.path.join(work, 'hidden.npy')}")


def runProgram(description, build, further=(), *flags):
    """build(directory) writes a model there and gives its numpy implementation; `further` are functions of the options, the
    library and the model; `flags` are raptc's."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("raptc", "rapt-run", "runtime"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--rapt-reference")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rapt-generation-") as work:
        directory, library = os.path.join(work, "model"), os.path.join(work, "model.so")
        model = build(directory)
        run(options.raptc, directory, *flags, "-o", library)
        source, expected = ",".join(map(str, SOURCE)), greedy(model, SOURCE, 20)
        found = run(options.rapt_run, library, "--tokens", source, "-n", "20", "--ignore-eos")
        assert found == ",".join(map(str, expected)), f"greedy: {found}, expected {expected}"
        one = run(options.rapt_run, library, "--tokens", source, "-n", "20", "--ignore-eos", "--beams", "1")
        assert one == found, f"one beam: {one}, expected {found}"
        checkThreads(options, library, work, model.settings["vocab_size"])
        checkBeams(options, library, model, 12)
        for check in further:
            check(options, library, model)
        checkSequences(options.runtime, library, model)
    print("generation: all as expected")
