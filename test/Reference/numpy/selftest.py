#!/usr/bin/env python3
"""Checks the numpy reference against what others computed: the examples of docs/RandomWeights.md, and PyTorch's greedy
ids of tiny-gpt in test/models/tiny-gpt/expected.json, and the writer of GGUF files against bytes spelled out by hand. Prints "N passed, N failed".
"""

import json
import os
import re
import sys

import numpy

import gguf
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


def ggufBytes():
    """A file of version 3 with four keys and tensors in another order with a gap."""
    expected = bytes.fromhex(
        "47475546 03000000 0200000000000000 0400000000000000"
        "0100000000000000 61 04000000 07000000"                                                              # a: u32 7
        "0100000000000000 62 08000000 0200000000000000 6869"                                                 # b: string "hi"
        "0100000000000000 63 09000000 05000000 0200000000000000 ffffffff 02000000"                           # c: i32 -1, 2
        "1100000000000000 67656e6572616c2e616c69676e6d656e74 04000000 08000000"                              # general.alignment: u32 8
        "0100000000000000 74 02000000 0300000000000000 0200000000000000 01000000 1000000000000000"           # t: F16, 2 rows of 3, at 16
        "0100000000000000 76 01000000 0100000000000000 1e000000 0000000000000000")
    expected += bytes(-len(expected) % 8)
    expected += bytes.fromhex("803f 000000000000 0000000000000000 0000003c0040004200440045 00000000")        # v: BF16 1, a gap, t: 0..5
    tensors = {"t": numpy.arange(6.0).reshape(2, 3), "v": numpy.ones(1)}
    file = gguf.encode({"a": 7, "b": "hi", "c": [-1, 2], "general.alignment": 8}, tensors, dtype="F16", kinds={"v": "BF16"}, order=["v", "t"], gaps={"t": 1})
    yield "bytes of a GGUF file", file == expected
    yield "a patch of it", gguf.encode({"a": 7}, patches={"a:value": -2})[-4:] == b"\xfe\xff\xff\xff"


def main():
    results = [*examples(), *pieces(), *greedy(), *ggufBytes()]
    for name, holds in results:
        print("PASS" if holds else "FAIL", name)
    failed = sum(not holds for _, holds in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
