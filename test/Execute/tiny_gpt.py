#!/usr/bin/env python3
"""Compiles test/models/tiny-gpt and compares it with what PyTorch computed (expected.json, docs/TinyGPT.md).

    tiny_gpt.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run

Checked are the loss of heldout.txt and its bits per byte to 1e-4, the counts of tokens and bytes, the greedy ids and
their text after two prompts, that the loss is at least 15 % below the best byte trigram's, and that the model's
directory holds at most 4 MB. Prints "N passed, N failed"; exit status 1 if any failed.
"""

import argparse
import json
import os
import subprocess
import tempfile

import compiled
import report

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models", "tiny-gpt")
TRIGRAM = 2.5436  # bits per byte of models/tiny-gpt/trigram.py on heldout.txt
LARGEST = 4_000_000
TOLERANCE = 1e-4


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise AssertionError(f"exit status {done.returncode} of {' '.join(command)}\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout


def equal(name, ours, expected):
    return name, ours == expected, f"{ours!r}, expected {expected!r}"


def near(name, ours, expected):
    return name, abs(ours - expected) <= TOLERANCE, f"{ours:.7f}, expected {expected:.7f}"


def checks(options, library):
    """(what, whether it holds, the figures)"""
    with open(os.path.join(MODEL, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    yield report.directory_size(MODEL, LARGEST)
    compiled.library(options.raptc, MODEL, os.path.dirname(library))
    measured = json.loads(run(options.rapt_run, library, "--json", "--perplexity", os.path.join(MODEL, "heldout.txt")))
    yield equal("predicted tokens", measured["predicted_tokens"], expected["predicted_tokens"])
    yield equal("predicted bytes", measured["predicted_bytes"], expected["predicted_bytes"])
    yield near("loss", measured["nats_per_token"], expected["loss"])
    yield near("bits per byte", measured["bits_per_byte"], expected["bits_per_byte"])
    bits = measured["bits_per_byte"]
    yield "15 % below the trigram", bits <= 0.85 * TRIGRAM, f"{bits:.4f} against {TRIGRAM} bits per byte"
    yield equal("prompts", len(expected["greedy"]), 2)
    for case in expected["greedy"]:
        ids, continuation = case["prompt_ids"], case["continuation_ids"]
        common = [options.rapt_run, library, "-n", str(len(continuation)), "--ignore-eos", "--temperature", "0"]
        printed = run(*common, "--tokens", ",".join(map(str, ids))).strip()
        yield equal(f"ids after {case['prompt']!r}", [int(i) for i in printed.split(",")], continuation)
        text = run(*common, "-p", case["prompt"])
        yield equal(f"text after {case['prompt']!r}", text.rstrip("\n"), case["continuation"].rstrip("\n"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rapt-tiny-gpt-") as work:
        report.finish(checks(options, os.path.join(work, "tiny-gpt.so")), "family gpt2 decode", "family gpt2 tokenizer ByteLevel BPE")


if __name__ == "__main__":
    main()
