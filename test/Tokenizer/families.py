#!/usr/bin/env python3
"""Notes which families' tokenizers were compared: runs the tests of vectors/ and sentencepiece/, and for each vector that passed
notes the families that it names, with the vector's name or the file that its model is in. tools/dev/generate-docs makes the
tokenizer column of docs/generated/Support.md from the notes."""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "Execute"))
import passed  # noqa: E402

HERE = Path(__file__).parent


def passed_vectors(program, suite, folder):
    """The vectors of a folder that a test program passed by name, and the names of the others."""
    done = subprocess.run([program, f"--gtest_filter=Small/{suite}.*"], capture_output=True, text=True)
    names = set(re.findall(rf"^\[       OK \] Small/{suite}\.\w+/(\w+)", done.stdout, re.MULTILINE))
    vectors = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted((HERE / folder).glob("*.json"))}
    missing = [name for name in vectors if name.replace("-", "_") not in names]
    if missing or done.returncode:
        print(done.stdout[-4000:])
    return {name: vector for name, vector in vectors.items() if name not in missing}, missing + [suite] * (done.returncode != 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", help="the folder of the programs TokenizerTests and HuggingFaceTests")
    options = parser.parse_args()
    own, missing = passed_vectors(f"{options.tests}/TokenizerTests", "OwnVectors", "vectors")
    models, others = passed_vectors(f"{options.tests}/HuggingFaceTests", "SentencePieceVectors", "sentencepiece")
    missing += others
    notes = [f"family {family} tokenizer {vector['kind']} ({name})" for name, vector in own.items() for family in vector.get("families", [])]
    notes += [f"family {family} tokenizer {vector['kind']} ({next(iter(vector['files']))})"
              for vector in models.values() for family in vector["families"]]
    print(f"{len(own) + len(models)} vectors passed, {len(notes)} notes of families; not passed: {', '.join(missing) or 'none'}")
    if missing:
        sys.exit(1)
    passed.note("compiled", *notes)


main()
