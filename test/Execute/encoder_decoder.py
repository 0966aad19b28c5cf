"""Random encoder-decoders, compiled or evaluated, against float64: what t5_random.py and transformer_random.py share."""

import html
import json
import os
import re
import subprocess

import numpy

import cachetypes
import encoder_decoder_generation
import passed
import random_models
from encoder_decoder_generation import beam_search
from random_models import TOLERANCE, compare, run

# Lengths of sources and targets of each batch: 1, primes, a tile and one more, longer than a cache block.
BATCHES = {"ragged": ((5, 70, 1), (9, 1, 33)), "whole": ((129,), (67,)), "short": ((1, 1), (1, 2))}


def batch(lengths, vocabulary, random):
    ids = random.randint(0, vocabulary, (len(lengths), max(lengths)))
    mask = (numpy.arange(max(lengths))[None, :] < numpy.array(lengths)[:, None]).astype(numpy.int64)
    return ids.astype(numpy.int64), mask


def expected(model, sources, targets, ids, tokens):
    """The encoder's output and the logits, 0 behind each row's end."""
    hidden, logits = None, None
    for row, (source, target) in enumerate(zip(sources, targets)):
        h = model.encode(ids[row, :source])
        l = model.decode(tokens[row, :target], h)
        if hidden is None:
            hidden, logits = numpy.zeros((*ids.shape, h.shape[1])), numpy.zeros((*tokens.shape, l.shape[1]))
        hidden[row, :source], logits[row, :target] = h, l
    return hidden, logits


def vocabularies(settings):
    """Ids of source and target."""
    return settings["vocab_size"], settings.get("decoder_vocab_size") or settings["vocab_size"]


def check_text(command, model, reader, writer, texts, count=9):
    """Compares rapt-run's text for each text, greedily and by beams, to the tokenizers' ids and texts around numpy's tokens."""
    for text in texts:
        ids, found = reader.ids(text), json.loads(run([*command, "-p", text, "-n", str(count), "--ignore-eos", "--json"]))
        tokens = encoder_decoder_generation.greedy(model, ids, count)
        expected = (len(ids), tokens, writer.text(tokens))
        assert (found["prompt_tokens"], found["tokens"], found["text"]) == expected, f"{text!r}: {found}, expected {expected}"
        hidden = model.encode(numpy.array(ids))
        best = beam_search.beam_search(lambda row: list(model.decode(numpy.array(row), hidden)[-1]), [0], 3, 2, count, [])
        found = json.loads(run([*command, "-p", text, "-n", str(count), "--ignore-eos", "--json", "--beams", "3", "--returns", "2"]))["sequences"]
        assert [one["text"] for one in found] == [writer.text(row) for row, _ in best], f"{text!r}: {found}, expected {best}"


def check_axes(command, directory, reader, writer, text):
    """The picture of the cross attention names the source's tokens by their tokenizer and the target's by theirs."""
    maps = os.path.join(directory, "maps")
    made = json.loads(run([*command, "-p", text, "-n", "9", "--ignore-eos", "--json", "--attention-weights", maps]))["tokens"]
    with open(os.path.join(maps, "cross_attentions-layer0-head0.svg"), encoding="utf-8") as file:
        shown = re.findall(r"<text transform[^>]*>([^<]*)</text>|<text x=[^>]*text-anchor[^>]*>([^<]*)</text>", file.read())
    expected = [tokenizer.text([i]) or tokenizer.pieces[i] for tokenizer, ids in ((reader, reader.ids(text)), (writer, made)) for i in ids]
    labels = [html.unescape(key or query).replace("␣", " ") for key, query in shown]
    # A word's mark is shown as the space it stands for; decoding drops that of the first word.
    assert len(labels) == len(expected) and all(a in (b, " " + b) for a, b in zip(labels, expected)), (labels, expected)


def check_ids(command, directory, sizes):
    """Each vocabulary bounds its own ids."""
    names = ("input_ids", "decoder_input_ids")
    for wrong, size in zip((None, *names), (0, *sizes)):
        line = [*command, "--output", f"logits={os.path.join(directory, 'bounds-logits.npy')}"]
        for name, own in zip(names, sizes):
            path = os.path.join(directory, f"bounds-{name}.npy")
            numpy.save(path, numpy.array([[own - (name != wrong)]]))
            line += ["--input", f"{name}={path}"]
        done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        told = f"{wrong}[0, 0] is {size}; the model's vocabulary is 0 to {size - 1}" if wrong else ""
        assert bool(done.returncode) == bool(wrong) and told in done.stderr, (wrong, done.stderr)


def check(name, options, directory, build, storage, text=None, cache=None):
    """Raises AssertionError with what is wrong, or returns the largest relative L2. `text`: (tokenizer of sources, of targets,
    texts), whose vocabularies the model has. `cache`: a type that is not the checkpoint's, which the model then rounds to."""
    source = os.path.join(directory, "model")
    model = build(name, source)
    sizes = vocabularies(model.settings)
    if text:
        text[0].write(source)
        if text[1] is not text[0]:
            text[1].write(source, "target_")
    isSeparate = bool(text) and text[1] is not text[0]
    flags = ["--attention-weights"] if isSeparate and options.rapt_run else []
    tolerance = TOLERANCE[storage]
    if cache:
        flags.append(f"--cache-dtype={cache}")
        model.stored, tolerance = cachetypes.ROUNDING[cache], cachetypes.TOLERANCE[cache]
    program = random_models.program(options, source, directory, flags)
    worst, random = 0.0, numpy.random.RandomState(3)
    for label in ["ragged"] if options.rapt_reference else BATCHES:
        sources, targets = BATCHES[label]
        ids, mask = batch(sources, sizes[0], random)
        tokens, decoderMask = batch(targets, sizes[1], random)
        at = lambda part: os.path.join(directory, f"{label}-{part}.npy")
        command = list(program)
        for part, array in (("input_ids", ids), ("attention_mask", mask), ("decoder_input_ids", tokens), ("decoder_attention_mask", decoderMask)):
            numpy.save(at(part), array)
            command += ["--input", f"{part}={at(part)}"]
        for part in ("logits", "encoder_last_hidden_state"):
            command += ["--output", f"{part}={at(part)}"]
        run(command)
        hidden, logits = expected(model, sources, targets, ids, tokens)
        worst = max(worst, compare(f"{label}: the encoder's outputs", numpy.load(at("encoder_last_hidden_state")), hidden, mask, tolerance))
        worst = max(worst, compare(f"{label}: logits", numpy.load(at("logits")), logits, decoderMask, tolerance))
    if text and options.rapt_run:
        check_text(program, model, *text)
        if isSeparate:
            assert f"vocabulary {text[1].size}, of sources {text[0].size}," in run(program)
            check_ids(program, directory, sizes)
            check_axes(program, directory, *text[:2], text[2][0])
        with open(os.path.join(source, "config.json"), encoding="utf-8") as file:
            family = "family " + json.load(file)["model_type"]
        passed.note("compiled", family + " decode", *(f"{family} tokenizer {one.KIND}" for one in text[:2]))
    return worst


def models(cases, few, build, storage, texts, caches={}, **columns):
    """`storage` names the type of each case's checkpoint; `texts` are those of some cases, and so are `caches`:
    see `check`. `columns` as of random_models.Models."""
    return random_models.Models(lambda name, options, directory: check(name, options, directory, build, storage[name], texts.get(name), caches.get(name)),
                                cases, few, **columns)
