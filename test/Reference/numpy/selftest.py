#!/usr/bin/env python3
"""Checks the numpy reference against what others computed: the examples of docs/RandomWeights.md, and PyTorch's greedy
ids of tiny-gpt in test/models/tiny-gpt/expected.json. Prints "N passed, N failed".
"""

import json
import os
import re
import sys

import gpt2
import randomweights

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")


def examples():
    """The rows of the specification's table as (line, holds)."""
    row = re.compile(r"^\| `([\w.]+)` \| (\w+)(?: of queries)?(?:, K = (\d+))?(?:, D = (\d+))? \| ([0-9a-f]{16}) \| ([^|]+) \|$", re.M)
    with open(os.path.join(ROOT, "docs", "RandomWeights.md"), encoding="utf-8") as file:
        rows = row.findall(file.read())
    if len(rows) < 6:
        yield "docs/RandomWeights.md has no table of examples", False
    for name, kind, fanIn, channels, first, values in rows:
        expected = [float.fromhex(value) for value in values.split()]
        ours = randomweights.values(1, name, (len(expected),), kind, int(fanIn or 1) * int(channels or 1))
        same = int(randomweights.bits(1, name, 0, 1)[0]) == int(first, 16) and ours.tolist() == expected
        yield f"example {name}", same


def pieces():
    """A range of a sequence does not depend on where it begins."""
    whole = randomweights.bits(5, "a", 0, 1000)
    yield "bits of a range", (randomweights.bits(5, "a", 400, 700) == whole[400:700]).all()


def greedy():
    directory = os.path.join(ROOT, "test", "models", "tiny-gpt")
    model = gpt2.load(directory)
    with open(os.path.join(directory, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    for case in expected["greedy"]:
        cache, ids, chosen = model.emptyCache(), case["prompt_ids"], []
        for _ in case["continuation_ids"]:
            chosen.append(int(model.logits(ids, cache)[-1].argmax()))
            ids = chosen[-1:]
        yield f"greedy ids after {case['prompt']!r}", chosen == case["continuation_ids"]


def main():
    results = [*examples(), *pieces(), *greedy()]
    for name, holds in results:
        print("PASS" if holds else "FAIL", name)
    failed = sum(not holds for _, holds in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
