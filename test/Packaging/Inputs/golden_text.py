"""golden_text.py EXPECTED PROMPT: standard input must be the text that EXPECTED has after PROMPT, as far as it goes."""

import json
import sys

cases = json.load(open(sys.argv[1], encoding="utf-8"))["greedy"]
golden = next(case["continuation"] for case in cases if case["prompt"] == sys.argv[2])
text = sys.stdin.read().rstrip("\n")
if len(text) < 20 or not golden.startswith(text):
    sys.exit(f"{text!r} is not how the golden text begins: {golden!r}")
