#!/usr/bin/env python3
"""The baseline tiny-gpt is held against: interpolated Kneser-Ney models of byte trigrams, trained on the same text.

    trigram.py --train train.txt --heldout heldout.txt

Prints the bits per byte of every byte of the held-out text under two models: one discount an order, D = n1/(n1+2 n2)
(Kneser and Ney 1995), and three discounts an order (Chen and Goodman 1999). Lower orders count distinct left
contexts; below the unigrams stands the uniform distribution over 256 bytes. Two newlines stand before each text.
"""

import argparse

import numpy


def discounts(counts, modified):
    """The discounts of counts 0, 1, 2 and 3 or more, by how many n-grams occur once to four times."""
    n = [int(numpy.count_nonzero(counts == i)) for i in range(5)]
    y = n[1] / (n[1] + 2 * n[2]) if n[1] else 0.5
    if not modified or not all(n[1:]):
        return numpy.array([0, y, y, y])
    return numpy.array([0, 1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3]])


def interpolate(counts, lower, modified):
    """Probabilities of the last axis given the ones before it; `lower` are the next shorter context's."""
    discount = discounts(counts, modified)[numpy.minimum(counts, 3)]
    total = counts.sum(-1, keepdims=True, dtype=numpy.float64)
    freed = discount.sum(-1, keepdims=True)
    seen = total > 0
    share = numpy.where(seen, freed / numpy.maximum(total, 1), 1.0)
    return (counts - discount) / numpy.maximum(total, 1) + share * lower


def model(data, modified):
    """float64 [256, 256, 256]: the probability of the third byte after the first two."""
    padded = numpy.frombuffer(b"\n\n" + data, numpy.uint8).astype(numpy.int64)
    keys = (padded[:-2] << 16) | (padded[1:-1] << 8) | padded[2:]
    trigrams = numpy.bincount(keys, minlength=1 << 24).reshape(256, 256, 256)
    bigrams = numpy.count_nonzero(trigrams, axis=0)
    unigrams = numpy.count_nonzero(bigrams, axis=0)
    one = interpolate(unigrams, numpy.full(256, 1 / 256), modified)
    two = interpolate(bigrams, one[None, :], modified)
    return interpolate(trigrams, two[None, :, :], modified)


def bitsPerByte(probabilities, data):
    padded = numpy.frombuffer(b"\n\n" + data, numpy.uint8)
    return float(-numpy.log2(probabilities[padded[:-2], padded[1:-1], padded[2:]]).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", required=True)
    parser.add_argument("--heldout", required=True)
    options = parser.parse_args()
    with open(options.train, "rb") as file:
        train = file.read()
    with open(options.heldout, "rb") as file:
        held = file.read()
    for name, modified in (("interpolated Kneser-Ney byte trigram, one discount an order", False),
                           ("interpolated Kneser-Ney byte trigram, three discounts an order", True)):
        probabilities = model(train, modified)
        drift = numpy.abs(probabilities.sum(-1) - 1).max()
        assert drift < 1e-9, f"probabilities sum to 1 within {drift}"
        print(f"{name}: {bitsPerByte(probabilities, held):.4f} bits per byte")


if __name__ == "__main__":
    main()
