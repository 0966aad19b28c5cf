"""The perplexity of fake_artifact.c's model on a text of single-byte tokens: windows of 256, each with as much context as fits,
and 255 tokens scored in each."""
import json
import sys

import numpy as np

text = open(sys.argv[1], "rb").read()
result = json.load(open(sys.argv[2]))
v = np.arange(257, dtype=np.uint64) * 2654435761 % 2**32
nats, scored = 0.0, 1
while scored < len(text):
    end = min(scored + 255, len(text))
    begin = max(end - 256, 0)
    h = 42
    for i, token in enumerate(text[begin:end - 1]):
        h = (h * 31 + token * 1000003 + i) % 2**32
        logits = ((np.uint64(h) ^ v) * np.uint64(2246822519) % 2**32 >> np.uint64(8)) / 2.0**20
        if begin + i + 1 >= scored:
            nats += np.logaddexp.reduce(logits) - logits[text[begin + i + 1]]
    scored = end
assert result["predicted_tokens"] == result["predicted_bytes"] == len(text) - 1, result
assert abs(result["nats_per_token"] / (nats / (len(text) - 1)) - 1) < 1e-9, (result, nats / (len(text) - 1))
assert abs(result["bits_per_byte"] / (nats / np.log(2) / (len(text) - 1)) - 1) < 1e-9, result
