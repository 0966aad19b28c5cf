#!/usr/bin/env python3
"""Compiles random models of the transformer family that have one side alone, a decoder or an encoder, and compares what rapt-run says with
test/Reference/numpy/transformer.py.

    transformer_alone.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run
"""

import argparse
import json
import os
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import random_models  # noqa: E402
import transformer  # noqa: E402

DECODER, ENCODER = {"num_encoder_layers": 0}, {"num_decoder_layers": 0}
DECODERS = {"tied": DECODER, "untied": {**DECODER, "tie_word_embeddings": False, "norm_first": True, "activation": "gelu"},
            "odd": {**DECODER, "d_model": 39, "nhead": 3, "dim_feedforward": 71, "final_norm": False, "scale_embedding": False}}
ENCODERS = {"base": ENCODER, "norm_first": {**ENCODER, "norm_first": True, "d_model": 33, "nhead": 1}}
CLASSES = {**ENCODER, "architectures": ["TransformerForSequenceClassification"], "num_labels": 5, "final_norm": False}
LENGTHS = (1, 7, 41)


class Test:
    def __init__(self, options, work):
        self.options, self.work = options, work

    def compiled(self, name, config):
        directory, library = os.path.join(self.work, name), os.path.join(self.work, name + ".so")
        transformer.make(directory, config, 5)
        random_models.run([self.options.raptc, directory, "-o", library])
        return library, transformer.load(directory)

    def run(self, library, *arguments):
        return random_models.run([self.options.rapt_run, library, *arguments])


def ids(length, config=transformer.SMALL):
    return numpy.random.RandomState(length).randint(0, config["vocab_size"], length)


def listed(numbers):
    return ",".join(map(str, numbers))


def near(found, wanted):
    error = numpy.linalg.norm(found - wanted) / numpy.linalg.norm(wanted)
    assert found.shape == wanted.shape and error <= 1e-5, error


def check_decoders(test):
    """Log probabilities behind a prompt, and the tokens of greedy decoding through the cache."""
    for name, config in DECODERS.items():
        library, model = test.compiled(name, config)
        for length in LENGTHS:
            text = ids(length).tolist()
            found = json.loads(test.run(library, "--tokens", listed(text), "-n", "9", "--ignore-eos", "--logprobs=101", "--json"))
            for token, judged in zip(found["tokens"], found["logprobs"]):
                logits = model.logits(numpy.array(text))[-1]
                assert token == logits.argmax(), (name, length, token)
                best = {one["token"]: one["logprob"] for one in judged["top"]}
                near(numpy.array([best[i] for i in range(len(logits))]), logits - numpy.logaddexp.reduce(logits))
                text.append(token)


def check_encoders(test):
    """The last states of each text, and their mean, whatever else is in the batch."""
    for name, config in ENCODERS.items():
        library, model = test.compiled(name, config)
        at = lambda part: os.path.join(test.work, part + ".npy")
        texts = [ids(length) for length in LENGTHS]
        padded, mask = (numpy.zeros((len(texts), max(LENGTHS)), numpy.int64) for _ in range(2))
        for row, text in enumerate(texts):
            padded[row, :len(text)], mask[row, :len(text)] = text, 1
        numpy.save(at("input_ids"), padded)
        numpy.save(at("attention_mask"), mask)
        outputs = ("last_hidden_state", "sentence_embedding")
        test.run(library, *(word for part in ("input_ids", "attention_mask") for word in ("--input", f"{part}={at(part)}")),
                 *(word for part in outputs for word in ("--output", f"{part}={at(part)}")))
        states, means = (numpy.load(at(part)) for part in outputs)
        for row, text in enumerate(texts):
            near(states[row, :len(text)], model.encode(text))
            near(means[row], model.encode(text).mean(0))


def check_classes(test):
    library, model = test.compiled("classes", CLASSES)
    for length in LENGTHS:
        [found] = json.loads(test.run(library, "--tokens", listed(ids(length)), "--top-k", "0", "--json"))["results"]
        logits = model.classes(ids(length))
        wanted = numpy.exp(logits - numpy.logaddexp.reduce(logits))
        near(numpy.array([next(one["score"] for one in found if one["label"] == f"LABEL_{i}") for i in range(5)]), wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rapt-alone-") as work:
        for check in (check_decoders, check_encoders, check_classes):
            check(Test(options, work))
            print(check.__name__, "passed")


if __name__ == "__main__":
    main()
