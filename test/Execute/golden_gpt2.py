#!/usr/bin/env python3
"""Compiles GPT-2 124M with seeded weights, runs it on the sequences of the golden files and checks its logits.

    golden_gpt2.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run [--prompts 128 1000] [--work DIR]

The bound is relative L2 1e-5 against float64 (test/Reference/numpy/compare.py). Needs about 3 GB of disk and memory.
Prints "N passed, N failed"; exit status 1 if any failed.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
NUMPY = os.path.join(HERE, "..", "Reference", "numpy")
MODEL = os.path.join(HERE, "..", "models", "gpt2")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run", required=True)
    parser.add_argument("--prompts", nargs="*", default=["128", "1000"])
    parser.add_argument("--work", help="keep the library and the logits in this folder")
    options = parser.parse_args()
    work, failed = options.work or tempfile.mkdtemp(prefix="rapt-golden-"), 0
    os.makedirs(work, exist_ok=True)
    at = lambda name: os.path.join(work, name)
    try:
        for prompt in options.prompts:
            golden = os.path.join(NUMPY, f"gpt2-124m-{prompt}.json")
            with open(golden, encoding="utf-8") as file:
                seed = json.load(file)["seed"]
            compare = [sys.executable, os.path.join(NUMPY, "compare.py"), golden]
            commands = [
                [*compare, "--ids", at("ids.npy")],
                [options.rapt_run, at("gpt2.so"), "--input", f"input_ids={at('ids.npy')}", "--output",
                 f"logits={at('logits.npy')}"],
                [*compare, at("logits.npy")],
            ]
            if not os.path.exists(at("gpt2.so")):
                commands.insert(0, [options.raptc, MODEL, f"--random-weights={seed}", "-o", at("gpt2.so")])
            wrong = next((c for c in commands if subprocess.run(c, stdin=subprocess.DEVNULL).returncode), None)
            print(f"FAIL {prompt}: {' '.join(wrong)}" if wrong else f"PASS {prompt}", flush=True)
            failed += wrong is not None
    finally:
        if not options.work:
            shutil.rmtree(work)
    print(f"{len(options.prompts) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
