#!/usr/bin/env python3
"""Compares compiled test/models/tiny-vit with what PyTorch computed (its expected.json).

    tiny_vit.py --rapt-run build/bin/rapt-run MODEL.so

Checked are the classes of the golden pictures and their probabilities to 1e-4, that at least 95 % of the held-out pictures
were right and 20 points more than of a linear classifier, and the directory's size. test/models/tiny-vit/compare.py
compares every held-out picture. Prints "N passed, N failed"; exit status 1 if any failed.
"""

import argparse
import json
import os
import subprocess

import report

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models", "tiny-vit")
LARGEST = 500_000
TOLERANCE = 1e-4


def checks(options):
    """(what, whether it holds, the figures)"""
    with open(os.path.join(MODEL, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    with open(os.path.join(MODEL, "config.json"), encoding="utf-8") as file:
        names = json.load(file)["id2label"]
    yield report.directory_size(MODEL, LARGEST)
    right, linear = expected["right"], expected["linear_right"]
    yield "held-out pictures", right >= 0.95 and right >= linear + 0.2, f"{right:.1%} right, {linear:.1%} by a linear classifier"
    images = [part for case in expected["golden"] for part in ("--image", os.path.join(MODEL, case["file"]))]
    done = subprocess.run([options.rapt_run, options.library, "--json", "--top-k=100", *images], capture_output=True, text=True)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stderr}"
    results = json.loads(done.stdout)["results"]
    yield "results", len(results) == len(expected["golden"]), f"{len(results)} of {len(expected['golden'])} pictures"
    for case, labels in zip(expected["golden"], results):
        wanted = {names[str(i)]: chance for i, chance in enumerate(case["probabilities"])}
        found = {entry["label"]: entry["score"] for entry in labels}
        apart = max(abs(found.get(name, 2) - chance) for name, chance in wanted.items())
        yield case["file"], labels[0]["label"] == case["label"] and apart <= TOLERANCE, f"{labels[0]['label']}, {apart:.1e} apart"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--rapt-run", required=True)
    options = parser.parse_args()
    report.finish(checks(options), "family vit f16", "family vit head ViTForImageClassification")


if __name__ == "__main__":
    main()
