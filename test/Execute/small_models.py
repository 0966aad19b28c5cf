#!/usr/bin/env python3
"""Compiles the small trained models of docs/Tutorial and compares them with what PyTorch computed when they were trained.

    small_models.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run [--only NAME ...]

Each directory of test/models that is named below has expected.json and the texts or vectors that the model was not trained on, and must be
good at its task. Prints "N passed, N failed"; exit status 1 if any failed.
"""

import argparse
import json
import os
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import feedforward  # noqa: E402
import random_models  # noqa: E402
import report  # noqa: E402
import tensorfiles  # noqa: E402

MODELS = os.path.join(HERE, "..", "models")
LARGEST = 200_000
# Texts of the classifier, and the share of them that must be right.
TEXTS = {"mood-averager": 0.95, "negation-reader": 0.98, "dispatcher": 0.98}


def run(*command):
    return random_models.run(list(command))


def vectors(options, directory, library, work):
    """(the numbers that the compiled model gives for the inputs of expected.json, expected.json)"""
    with open(os.path.join(directory, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    name = "outputs" if "outputs" in expected else "logits"
    inputs, outputs = (os.path.join(work, part + ".npy") for part in ("inputs", name))
    rows = []
    for at in range(0, len(expected["inputs"]), 64):  # the largest batch
        numpy.save(inputs, numpy.array(expected["inputs"][at:at + 64], numpy.float32))
        run(options.rapt_run, library, "--input", f"inputs={inputs}", "--output", f"{name}={outputs}")
        rows.append(numpy.load(outputs))
    return numpy.concatenate(rows), expected


def near(found, wanted):
    error = numpy.linalg.norm(found - wanted) / numpy.linalg.norm(wanted)
    return found.shape == wanted.shape and error <= random_models.TOLERANCE["F32"], f"relative L2 {error:.1e}"


def leds(options, directory, library, work):
    found, expected = vectors(options, directory, library, work)
    yield ("logits", *near(found, numpy.array(expected["logits"])))
    yield "a clear digit", list(found.argmax(1)) == list(range(10)), f"{found.argmax(1)}"
    share = expected["right"]
    yield "expected.json: digits", expected["best"] - 0.005 < share <= expected["best"], f"{share:.4f}, the best possible is {expected['best']:.4f}"


def spirals(options, directory, library, work):
    found, expected = vectors(options, directory, library, work)
    yield ("logits", *near(found, numpy.array(expected["logits"])))
    right = int((found.argmax(1) == expected["labels"]).sum())
    yield "points between those learned", [right, len(found)] == expected["between"] and right >= 0.97 * len(found), f"{right} of {len(found)}"
    right, points = expected["learned"]
    yield "expected.json: learned points", right == points == 194, f"{right} of {points}"


def curve(options, directory, library, work):
    found, expected = vectors(options, directory, library, work)
    yield ("outputs", *near(found, numpy.array(expected["outputs"])))
    x = numpy.array(expected["inputs"])
    error = numpy.sqrt(((found - 2 * numpy.sin(x) - x ** 0.8) ** 2).mean())
    yield "error", error < 0.6 * expected["noise"] and abs(error - expected["error"]) < 1e-4, f"{error:.4f}, of an example {expected['noise']}"


def maps(options, directory, work, arguments, wanted):
    """The attention that rapt-run draws, of each row, beside what it is to be."""
    library, folder = os.path.join(work, "maps.so"), os.path.join(work, "maps")
    run(options.raptc, directory, "--attention-weights", "-o", library)
    run(options.rapt_run, library, *arguments, "--attention-weights", folder)
    for i, row in enumerate(wanted):
        files = [os.path.join(folder, f"row{i}-attentions-layer0-head0.{end}") for end in ("npy", "svg", "png")]
        found = numpy.load(files[0])
        yield f"attention {i}", found.shape == (1, len(row)) and numpy.abs(found[0] - row).max() < 1e-6 and all(map(os.path.exists, files)), f"{found}, expected {row}"


def softmax(scores):
    powers = numpy.exp(scores - scores.max())
    return powers / powers.sum()


def neighbors(options, directory, library, work):
    """How much each example counts, by the distances."""
    yield from curve(options, directory, library, work)
    keys, bandwidth = tensorfiles.readDirectory(directory)["keys"].astype(float), json.load(open(os.path.join(directory, "config.json")))["bandwidth"]
    wanted = [softmax(-((keys[:, 0] - x) ** 2) / (2 * bandwidth ** 2)) for x in (1, 2)]
    yield from maps(options, directory, work, ("--vector", "1", "--vector", "2"), wanted)


def urgencies(options, directory, library, work):
    """How much each word counts, by the dot products with the query."""
    yield from texts(options, directory, library, work)
    tensors = tensorfiles.readDirectory(directory)
    scores = tensors["embedding.weight"].astype(float) @ tensors["attention.query.weight"][0].astype(float)
    held = ("loud music and smoke", "water in the street")
    ids = [json.loads(run(options.rapt_run, library, text, "--tokenize", "--json"))["tokens"] for text in held]
    yield from maps(options, directory, work, ("-p", held[0], "-p", held[1]), [softmax(scores[row]) for row in ids])


def writer(options, directory, library, work):
    with open(os.path.join(directory, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    for text in expected["greedy"]:
        found = run(options.rapt_run, library, "-p", text["prompt"], "-n", "64", "--json")
        yield f"text behind {text['prompt']!r}", json.loads(found)["text"] == text["text"] and text["lead"] > 1e-3, f"{found!r}, expected {text}"
    found = json.loads(run(options.rapt_run, library, "--perplexity", os.path.join(directory, "heldout.txt"), "--json"))
    yield "loss", abs(found["nats_per_token"] - expected["loss"]) < 1e-4 and expected["bits_per_character"] < 2.9, f"{found}, expected {expected['loss']}"


def texts(options, directory, library, work):
    with open(os.path.join(directory, "heldout.tsv"), encoding="utf-8") as file:
        held = [line.rstrip("\n").split("\t") for line in file]
    with open(os.path.join(directory, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    path = os.path.join(work, "texts.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(text + "\n" for text, *_ in held)
    found = json.loads(run(options.rapt_run, library, "-f", path, "--top-k", "1", "--json"))["results"]
    yield "texts", len(found) == len(held) == expected["texts"], f"{len(found)} of {len(held)}"
    labels = [row[0]["label"] for row in found]
    wrong = [(row[0], text) for row, text in zip(labels, held) if row != text[2]]
    yield "labels of PyTorch", not wrong, f"{wrong[:3]}"
    apart = max(abs(row[0]["score"] - float(text[3])) for row, text in zip(found, held))
    yield "probabilities", apart < random_models.TOLERANCE["F32"], f"{apart:.1e}"
    right = sum(label == text[1] for label, text in zip(labels, held))
    least = TEXTS[os.path.basename(directory)] * len(held)
    yield "right", right == expected["right"] and right >= least, f"{right} of {len(held)}, at least {least:.0f}"


CASES = {"led-digits": leds, "two-spirals": spirals, "noisy-curve": neighbors, "verse-writer": writer, **{name: texts for name in TEXTS}, "dispatcher": urgencies}


def reference(directory):
    """The first logits or outputs by numpy, so that PyTorch's model and the page's equations are the same."""
    model = feedforward.load(directory)
    with open(os.path.join(directory, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    if "inputs" not in expected:
        return
    wanted = numpy.array(expected.get("outputs", expected.get("logits")))
    found = numpy.array([model.forward(numpy.float32(x).astype(float)) for x in expected["inputs"]])
    yield ("equations", *near(found, wanted))


def checks(options, name, work):
    """(what, whether it holds, the figures)"""
    directory, library = os.path.join(MODELS, name), os.path.join(work, name + ".so")
    yield report.directory_size(directory, LARGEST)
    yield from reference(directory)
    run(options.raptc, directory, "-o", library)
    yield from CASES[name](options, directory, library, work)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("raptc", "rapt-run"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--only", nargs="*", choices=list(CASES))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rapt-small-") as work:
        results = [(f"{name}: {check}", *found) for name in options.only or CASES for check, *found in checks(options, name, work)]
    report.finish(results)


if __name__ == "__main__":
    main()
