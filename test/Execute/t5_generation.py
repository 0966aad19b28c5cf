#!/usr/bin/env python3
"""What follows the encoder, on a random model of the t5 family.

    t5_generation.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run --rapt-reference build/bin/rapt-reference
                     --runtime build/lib/librapt_runtime.so

Greedy tokens of rapt-run equal those of test/Reference/numpy/t5.py, one by one; logits have the same bits with 1, 2 and
7 threads; through the C interface, cached decode equals decode of all tokens at once, forks share a source, blocks come
back, and each misuse is told; a text prompt is the source. The weights of its three kinds of attention are the reference
evaluator's, and are drawn.
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
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import attention_weights  # noqa: E402
import passed  # noqa: E402
import t5  # noqa: E402

CONFIG = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "d_model": 52, "d_kv": 12, "num_heads": 5, "eos_token_id": 1, "n_positions": 200}
SOURCE = [7, 99, 3, 14, 15, 92, 65, 35, 89, 79, 32, 38, 46]
OK, INVALID, TOO_LONG, FULL, UNSUPPORTED = "OK", "INVALID", "TOO_LONG", "FULL", "UNSUPPORTED"


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return done.stdout.strip()


def tokenizer(directory):
    """A Unigram tokenizer of T5's form: Metaspace, and </s> behind every text."""
    pieces = [["<pad>", 0], ["</s>", 0], ["<unk>", 0], ["\u2581", -3]] + [[c, -4 - i / 64] for i, c in enumerate("abcdefghijklmnopqrstuvwxyz.,")]
    pieces += [["\u2581the", -2.5], ["\u2581a", -2.25], ["in", -3.5], ["er", -3.25]]
    pieces += [[f"<{i}>", -50] for i in range(101 - len(pieces))]
    space = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    added = [{"id": i, "content": pieces[i][0], "special": True, "normalized": False, "lstrip": False, "rstrip": False, "single_word": False} for i in range(3)]
    single = [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}]
    pair = single + [{"Sequence": {"id": "B", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}]
    post = {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": {"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}}}
    content = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None, "pre_tokenizer": space,
               "post_processor": post, "decoder": space, "model": {"type": "Unigram", "unk_id": 2, "vocab": pieces, "byte_fallback": False}}
    with open(os.path.join(directory, "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump(content, file)
    names = [piece for piece, _ in pieces]
    return lambda tokens: [names.index(token) for token in tokens], names


def checkText(options, library, model, numbers, names):
    """The prompt is the source, with </s>; what is made begins with the decoder's own token and is text again."""
    source = numbers(["\u2581the", "\u2581", "c", "a", "t", "</s>"])
    made = greedy(model, source, 12)
    made = made[: made.index(1)] if 1 in made else made
    found = json.loads(run(options.rapt_run, library, "-p", "the cat", "-n", "12", "--json"))
    assert found["tokens"] == made and found["prompt_tokens"] == len(source), f"{found}, expected {made}"
    text = "".join(names[i] for i in made if i > 2).replace("\u2581", " ")
    assert found["text"].strip() == text.strip(), f"{found['text']!r}, expected {text!r}"
    for line in (("--beams", "3", "--returns", "2"), ("--temperature", "0.8", "--seed", "5")):
        once, again = (run(options.rapt_run, library, "-p", "the cat", "-n", "6", *line) for _ in range(2))
        assert once == again, f"{line}: {once!r}, then {again!r}"
    refused = subprocess.run([options.rapt_run, library, "-p", " ".join("a" * 200), "-n", "2"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert refused.returncode == 1 and "the prompt has 201 tokens; the model's positions hold 200" in refused.stderr, refused.stderr


def greedy(model, source, count):
    hidden, cache, tokens, made = model.encode(numpy.array(source)), [], [0], []
    while len(made) < count:
        made.append(int(model.decode(numpy.array(tokens), hidden, cache)[-1].argmax()))
        tokens = made[-1:]
    return made


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("cache_tokens", ctypes.c_int64), ("max_step_tokens", ctypes.c_int64), ("max_step_rows", ctypes.c_int64),
                ("pool", ctypes.c_void_p), ("executor", ctypes.c_void_p), ("allocator", ctypes.c_void_p), ("log", ctypes.c_void_p),
                ("progress", ctypes.c_void_p), ("user", ctypes.c_void_p)]


class Source(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("sequence", ctypes.c_uint64), ("tokens", ctypes.c_void_p), ("count", ctypes.c_int64),
                ("hidden", ctypes.c_void_p), ("hidden_bytes", ctypes.c_size_t)]


class Chunk(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("sequence", ctypes.c_uint64), ("tokens", ctypes.c_void_p), ("count", ctypes.c_int64),
                ("want", ctypes.c_int32), ("output", ctypes.c_void_p), ("output_bytes", ctypes.c_size_t), ("logits", ctypes.c_void_p)]


class Context:
    """The C interface, with numpy arrays."""

    def __init__(self, runtime, library, vocabulary, **options):
        self.lib, self.vocabulary = ctypes.CDLL(runtime), vocabulary
        self.lib.rapt_status_name.restype = ctypes.c_char_p
        self.lib.rapt_context_available.restype = ctypes.c_int64
        self.message = ctypes.create_string_buffer(512)
        self.module, self.context = ctypes.c_void_p(), ctypes.c_void_p()
        self.must(self.lib.rapt_module_open(library.encode(), None, ctypes.byref(self.module), self.message, ctypes.c_size_t(512)))
        self.must(self.call("context_new", self.module, ctypes.byref(Options(size=ctypes.sizeof(Options), **options)), ctypes.byref(self.context)))

    def call(self, name, *arguments):
        return getattr(self.lib, "rapt_" + name)(*arguments, self.message, ctypes.c_size_t(512))

    def must(self, status):
        assert status == 0, self.message.value

    def refused(self, status, name, text):
        found = self.lib.rapt_status_name(status).decode()
        assert found == name and text in self.message.value.decode(), f"{found}: {self.message.value.decode()}; expected {name}: {text}"

    def available(self):
        return self.lib.rapt_context_available(self.context)

    def sequence(self):
        made = ctypes.c_uint64()
        self.must(self.call("sequence_new", self.context, ctypes.byref(made)))
        return made.value

    def fork(self, sequence):
        made = ctypes.c_uint64()
        self.must(self.call("sequence_fork", self.context, ctypes.c_uint64(sequence), ctypes.byref(made)))
        return made.value

    def free(self, sequence):
        self.must(self.call("sequence_free", self.context, ctypes.c_uint64(sequence)))

    def encode(self, pairs, hidden=None):
        """pairs: [(sequence, tokens)]; `hidden` takes the first one's output."""
        tokens = [numpy.array(t, numpy.int32) for _, t in pairs]
        sources = (Source * len(pairs))(*[Source(ctypes.sizeof(Source), s, t.ctypes.data, len(t)) for (s, _), t in zip(pairs, tokens)])
        if hidden is not None:
            sources[0].hidden, sources[0].hidden_bytes = hidden.ctypes.data, hidden.nbytes
        return self.call("encode", self.context, sources, ctypes.c_size_t(len(pairs)))

    def step(self, pairs):
        """All logits of each chunk, and the status."""
        tokens = [numpy.array(t, numpy.int32) for _, t in pairs]
        logits = [numpy.zeros((len(t), self.vocabulary), numpy.float32) for t in tokens]
        chunks = (Chunk * len(pairs))(*[Chunk(ctypes.sizeof(Chunk), s, t.ctypes.data, len(t), 2, l.ctypes.data, l.nbytes) for (s, _), t, l in zip(pairs, tokens, logits)])
        return logits, self.call("step", self.context, chunks, ctypes.c_size_t(len(pairs)))


def close(found, expected, what):
    error = numpy.linalg.norm(found - expected) / numpy.linalg.norm(expected)
    assert error <= 1e-5, f"{what}: relative L2 {error:.1e}"


def checkSequences(runtime, library, model):
    vocabulary, width = model.settings["vocab_size"], model.settings["d_model"]
    context = Context(runtime, library, vocabulary, cache_tokens=64 * 8, max_step_tokens=40)
    assert context.available() == 512
    a, b = context.sequence(), context.sequence()
    other = list(range(2, 72))  # longer than a part of a step
    _, status = context.step([(a, [0])])
    context.refused(status, INVALID, "chunk 0: its sequence has no source: give it one with rapt_encode first")
    hidden = numpy.zeros((len(SOURCE), width), numpy.float32)
    context.must(context.encode([(a, SOURCE), (b, other)], hidden))
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
    context.refused(context.encode([(fresh, SOURCE)], short), INVALID, "source 0: its hidden has")
    size = ctypes.c_size_t()
    context.refused(context.call("sequence_save", context.context, ctypes.c_uint64(fork), None, ctypes.c_size_t(0), ctypes.byref(size)), UNSUPPORTED,
                    "sequences with a source cannot be saved")
    assert context.available() == before
    for sequence in (fork, b, fresh, second):
        context.free(sequence)
    assert context.available() == 512, context.available()


def checkAttention(options, work, library, directory, names):
    """Of the source, of the text, and of the text to the source."""
    random, outputs = numpy.random.RandomState(4), {}
    masks = [(numpy.arange(max(lengths))[None] < numpy.array(lengths)[:, None]).astype(int) for lengths in ((70, 3, 1), (5, 67, 0))]
    inputs = {name: random.randint(0, 101, mask.shape) for name, mask in zip(("input_ids", "decoder_input_ids"), masks)}
    outputs = {"encoder_attentions": masks[0], "decoder_attentions": masks[1], "cross_attentions": masks[1]}
    given = {"attention_mask": masks[0], "decoder_attention_mask": masks[1]}
    got = attention_weights.compare(options, work, library, directory, inputs, given, outputs, "--attention-weights=0")
    assert not got["cross_attentions"][1, :, :, :, 3:].any() and got["cross_attentions"].shape[2:4] == (1, 5)
    maps = os.path.join(work, "maps")
    made = json.loads(run(options.rapt_run, library, "-p", "the cat", "-n", "4", "--ignore-eos", "--attention-weights", maps, "--json"))["tokens"]
    source = [names.index(token) for token in ("\u2581the", "\u2581", "c", "a", "t", "</s>")]
    inputs = {"input_ids": numpy.array([source]), "decoder_input_ids": numpy.array([[0, *made[:-1]]])}
    whole = {"encoder_attentions": numpy.ones((1, 6)), "decoder_attentions": numpy.ones((1, 4)), "cross_attentions": numpy.ones((1, 4))}
    got = attention_weights.compare(options, work, library, directory, inputs, {}, whole, "--attention-weights=0")
    for name, queries, keys in (("encoder_attentions", 6, 6), ("decoder_attentions", 4, 4), ("cross_attentions", 4, 6)):
        drawn = numpy.load(os.path.join(maps, f"{name}-layer0-head4.npy"))
        assert numpy.abs(drawn - got[name][0, :queries, 0, 4, :keys]).max() <= 1e-6, name
    with open(os.path.join(maps, "cross_attentions-layer0-head0.svg"), encoding="utf-8") as file:
        svg = file.read()
    assert all(f">{label}</text>" in svg for label in ("the", "c", "a", "t", "&lt;/s&gt;")), svg[:2000]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("raptc", "rapt-run", "rapt-reference", "runtime"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rapt-t5-") as work:
        directory, library = os.path.join(work, "model"), os.path.join(work, "model.so")
        t5.make(directory, CONFIG, 5)
        numbers, names = tokenizer(directory)
        model = t5.load(directory)
        run(options.raptc, directory, "--attention-weights=0", "-o", library)
        source, expected = ",".join(map(str, SOURCE)), greedy(model, SOURCE, 20)
        found = run(options.rapt_run, library, "--tokens", source, "-n", "20", "--ignore-eos")
        assert found == ",".join(map(str, expected)), f"greedy: {found}, expected {expected}"
        one = run(options.rapt_run, library, "--tokens", source, "-n", "20", "--ignore-eos", "--beams", "1")
        assert one == found, f"one beam: {one}, expected {found}"

        ids, tokens = os.path.join(work, "ids.npy"), os.path.join(work, "tokens.npy")
        random = numpy.random.RandomState(1)
        numpy.save(ids, random.randint(0, 101, (3, 71)))
        numpy.save(tokens, random.randint(0, 101, (3, 37)))
        seen = set()
        for threads in ("1", "2", "7"):
            outputs = [os.path.join(work, f"{name}-{threads}.npy") for name in ("logits", "hidden")]
            run(options.rapt_run, library, "--threads", threads, "--input", f"input_ids={ids}", "--input", f"decoder_input_ids={tokens}",
                "--output", f"logits={outputs[0]}", "--output", f"encoder_last_hidden_state={outputs[1]}")
            seen.add(b"".join(numpy.load(output).tobytes() for output in outputs))
        assert len(seen) == 1, "the bits depend on the number of threads"
        checkText(options, library, model, numbers, names)
        checkAttention(options, work, library, directory, names)
        checkSequences(options.runtime, library, model)
    print("generation: all as expected")
    passed.note("compiled", "family t5 decode", "family t5 tokenizer Unigram")


if __name__ == "__main__":
    main()
