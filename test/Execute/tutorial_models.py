#!/usr/bin/env python3
"""Compiles a trained model of the tutorial (docs/Tutorial.md) and compares it with what PyTorch computed, its expected.json.

    tutorial_models.py NAME --raptc build/bin/raptc --rapt-run build/bin/rapt-run

Checked are the directory's size, the figures of the held-out examples, and each example of the file through rapt-run: labels and
their probabilities, texts, and where an attention's largest weights lie. Prints "N passed, N failed"; exit status 1 if any failed.
"""

import argparse
import json
import os
import tempfile

import numpy

import report
from attention_weights import run

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models")
LARGEST = 1_000_000
SCORES = 1e-4  # of probabilities and losses, both computed in f32
# name: whether the figures of expected.json are good enough
CASES = {
    "bracket-acceptor": lambda e: min(e["right"].values()) >= 0.99,
    "word-tagger": lambda e: e["right"] >= 0.99 * e["words"],
    "grammar-writer": lambda e: e["floor"] < e["loss"] < 1.1 * e["floor"],
    "number-translator": lambda e: e["right"] >= 0.98 * e["numbers"],
    "postfix-writer": lambda e: e["right"] >= 0.98 * e["expressions"] and e["aligned"] >= 0.98 * e["characters"],
    "roman-reader": lambda e: e["right"] >= 0.98 * e["numbers"],
}


class Tester:
    def __init__(self, options, work, model):
        self.options, self.work, self.model = options, work, model
        self.library, self.maps = os.path.join(work, "model.so"), os.path.join(work, "maps")
        with open(os.path.join(model, "expected.json"), encoding="utf-8") as file:
            self.expected = json.load(file)
        self.examples = self.expected["examples"]
        isAligned = "alignment" in self.examples[0]
        run(options.raptc, model, *(["--attention-weights"] if isAligned else []), "-o", self.library)

    def run(self, *arguments):
        return run(self.options.rapt_run, self.library, *arguments)

    def classified(self):
        """The results of a task that does not generate, of all examples."""
        path = os.path.join(self.work, "texts.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(example["text"] + "\n" for example in self.examples)
        return json.loads(self.run("-f", path, "--json"))["results"]

    def texts(self):
        """(what, whether it holds, the figures) of labels of whole texts."""
        for example, found in zip(self.examples, self.classified()):
            best = found[0]
            yield example["text"], best["label"] == example["label"] and abs(best["score"] - example["score"]) <= SCORES, f"{best}, PyTorch {example}"

    def tokens(self):
        """(what, whether it holds, the figures) of labels of each token."""
        for example, found in zip(self.examples, self.classified()):
            labels, words = [token["entity"] for token in found], [example["text"].encode()[token["start"]:token["end"]].decode() for token in found]
            off = max(abs(token["score"] - score) for token, score in zip(found, example["scores"]))
            yield example["text"], (labels, " ".join(words)) == (example["labels"], example["text"]) and off <= SCORES, f"{labels}, {off:.1e} off, PyTorch {example['labels']}"

    def generated(self):
        """(what, whether it holds, the figures) of texts that the model makes, and of their alignment."""
        for example in self.examples:
            maps = ["--attention-weights", self.maps] if "alignment" in example else []
            found = self.run("-p", example["text"], *maps).rstrip("\n")
            yield example["text"], found == example["result"], f"{found!r}, PyTorch {example['result']!r}"
            if maps:
                weights = numpy.load(os.path.join(self.maps, "cross_attentions-layer0-head0.npy"))
                shape, places = (len(example["result"]), len(example["text"])), weights.argmax(-1).tolist()
                yield "its alignment", weights.shape == shape and places == example["alignment"], f"{places}, PyTorch {example['alignment']}"
        if "loss" in self.expected:
            measured = json.loads(self.run("--json", "--perplexity", os.path.join(self.model, "heldout.txt")))
            same = abs(measured["nats_per_token"] - self.expected["loss"]) <= SCORES and measured["predicted_tokens"] == self.expected["characters"]
            yield "loss", same, f"{measured['nats_per_token']:.6f} of {measured['predicted_tokens']} characters, PyTorch {self.expected['loss']:.6f}"

    def checks(self, name):
        figures = {key: value for key, value in self.expected.items() if key != "examples"}
        yield report.directory_size(self.model, LARGEST)
        yield "figures", len(self.examples) >= 5 and CASES[name](self.expected), f"{figures}"
        if "label" in self.examples[0]:
            yield from self.texts()
        elif "labels" in self.examples[0]:
            yield from self.tokens()
        else:
            yield from self.generated()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=CASES)
    for name in ("raptc", "rapt-run"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rapt-tutorial-") as work:
        report.finish(Tester(options, work, os.path.join(MODELS, options.name)).checks(options.name))


if __name__ == "__main__":
    main()
