#!/usr/bin/env python3
"""Notes which families' tokenizers were compared: runs the test of vectors/, and for each vector that passed notes the families
that it names. tools/dev/generate-docs makes the tokenizer column of docs/generated/Support.md from the notes."""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "Execute"))
import passed  # noqa: E402

VECTORS = Path(__file__).with_name("vectors")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", help="the program TokenizerTests")
    options = parser.parse_args()
    done = subprocess.run([options.tests, "--gtest_filter=Small/OwnVectors.*"], capture_output=True, text=True)
    names = set(re.findall(r"^\[       OK \] Small/OwnVectors\.\w+/(\w+)", done.stdout, re.MULTILINE))
    notes, missing = [], []
    for file in sorted(VECTORS.glob("*.json")):
        vector = json.loads(file.read_text(encoding="utf-8"))
        if file.stem.replace("-", "_") not in names:
            missing.append(file.stem)
            continue
        notes += [f"family {family} tokenizer {vector['kind']} ({file.stem})" for family in vector.get("families", [])]
    print(f"{len(names)} vectors passed, {len(notes)} notes of families; not passed: {', '.join(missing) or 'none'}")
    if missing or done.returncode:
        print(done.stdout[-4000:])
        sys.exit(1)
    passed.note("compiled", *notes)


main()
