#!/usr/bin/env python3
"""Compiles test/models/tiny-gpt in f32 and quantized and compares perplexity on heldout.txt and the bytes of weights.

    quantized_perplexity.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run

int8 may be 0.5 % above f32, int4 3 %. Weights of int8 may take 0.28 of f32's bytes, of int4 0.17 where the vocabulary's table, which stays in
8 bits, is not a large part of the model: here it is 22 %, and w4 may take what follows from 4.5 and 8.5 bits a weight. Prints
"N passed, N failed"; exit status 1 if any failed.
"""

import argparse
import json
import os
import subprocess
import tempfile

import compiled
import report

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models", "tiny-gpt")
# mode: perplexity over f32's and bytes over f32's, at most
LIMITS = {"w8a8": (1.005, 0.28), "w8": (1.005, 0.28), "w4": (1.03, 0.182)}


def measure(options, work, flags):
    """(perplexity, bytes of weights) of the model compiled with the flags."""
    if flags:
        library = os.path.join(work, "tiny.so")
        subprocess.run([options.raptc, MODEL, *flags, "-o", library], check=True, capture_output=True)
    else:
        library = compiled.library(options.raptc, MODEL, work)
    card = json.loads(subprocess.run([options.rapt_run, library, "--json"], check=True, capture_output=True, text=True).stdout)
    printed = subprocess.run([options.rapt_run, library, "--json", "--perplexity", os.path.join(MODEL, "heldout.txt")], check=True, capture_output=True, text=True)
    return json.loads(printed.stdout)["perplexity"], card["weights"]["bytes"]


def checks(options, work):
    """(what, whether it holds, the figures)"""
    plain, size = measure(options, work, [])
    for mode, (most, share) in LIMITS.items():
        perplexity, own = measure(options, work, [f"--quantize={mode}"])
        yield f"{mode}: perplexity", perplexity <= most * plain, f"{perplexity:.4f}, f32's {plain:.4f}: {100 * (perplexity / plain - 1):.2f} %"
        yield f"{mode}: bytes", own <= share * size, f"{own} of {size}: {own / size:.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rapt-quantized-") as work:
        report.finish(checks(options, work))


if __name__ == "__main__":
    main()
