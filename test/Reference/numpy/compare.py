#!/usr/bin/env python3
"""Checks logits against a golden file of golden.py.

    compare.py golden.json --ids ids.npy                   writes the sequence, i64 [1, length], to run the model on
    compare.py golden.json logits.npy [--first N] [--tolerance 1e-5]

logits.npy: [length, vocab] or [1, length, vocab], the positions from N (0 unless told) on. Checked are relative L2 of
the sampled columns, together and of each position; every row's norm and log-sum-exp to the same relative error; every
row's argmax where its lead is larger than twice the error allowed in the row's norm. Exit status 1 if one differs.
"""

import argparse
import json
import sys

import numpy


def faults(golden, logits, first, tolerance):
    """(what differs as a list of lines, relative L2 of the samples, the number of sampled positions)."""
    result, last = [], first + len(logits)
    positions, columns = numpy.array(golden["positions"]), golden["columns"]
    inside = (positions >= first) & (positions < last)
    if last > len(golden["ids"]) or not inside.any():
        return [f"positions {first} to {last - 1} do not hold any sampled ones of 0 to {len(golden['ids']) - 1}"], 0.0, 0
    if not numpy.isfinite(logits).all():
        return ["not all logits are finite"], numpy.inf, 0
    expected = numpy.array(golden["logits"])[inside]
    sampled = logits[positions[inside] - first][:, columns]
    error = numpy.linalg.norm(sampled - expected) / numpy.linalg.norm(expected)
    if error > tolerance:
        result.append(f"relative L2 {error:.2e} of all samples")
    for position, ours, theirs in zip(positions[inside], sampled, expected):
        one = numpy.linalg.norm(ours - theirs) / numpy.linalg.norm(theirs)
        if one > tolerance:
            result.append(f"position {position}: relative L2 {one:.2e}")
    top = logits.max(-1)
    ours = {
        "norm": numpy.linalg.norm(logits, axis=-1),
        "logsumexp": top + numpy.log(numpy.exp(logits - top[:, None]).sum(-1)),
    }
    for name, values in ours.items():
        theirs = numpy.array(golden[name])[first:last]
        for row in numpy.flatnonzero(abs(values - theirs) > tolerance * abs(theirs)):
            result.append(f"position {first + row}: {name} {values[row]:.9g}, expected {theirs[row]:.9g}")
    argmax, lead = logits.argmax(-1), numpy.array(golden["lead"])[first:last]
    certain = lead > 2 * tolerance * numpy.array(golden["norm"])[first:last]
    for row in numpy.flatnonzero(certain & (argmax != numpy.array(golden["argmax"])[first:last])):
        result.append(f"position {first + row}: argmax {argmax[row]}, expected {golden['argmax'][first + row]}")
    return result, error, int(inside.sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("golden")
    parser.add_argument("logits", nargs="?")
    parser.add_argument("--ids")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--tolerance", type=float, default=1e-5)
    options = parser.parse_args()
    with open(options.golden, encoding="utf-8") as file:
        golden = json.load(file)
    if options.ids:
        numpy.save(options.ids, numpy.array([golden["ids"]], numpy.int64))
    if not options.logits:
        return
    logits = numpy.load(options.logits).astype(numpy.float64)
    logits = logits.reshape(-1, logits.shape[-1])
    wrong, error, count = faults(golden, logits, options.first, options.tolerance)
    for line in wrong[:20]:
        print(f"{options.logits}: {line}")
    print(f"{len(logits)} positions, {count} sampled: relative L2 {error:.2e}, {len(wrong)} differences")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
