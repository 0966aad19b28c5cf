"""--logprobs of fake_artifact.c's model, whose logits are those of perplexity.py, before what the choice does with them."""
import json
import subprocess
import sys

import numpy as np

library = sys.argv[1]
run = lambda *arguments: subprocess.run(["rapt-run", library, "-p", "Hello", "-n", "9", *arguments], capture_output=True, text=True, check=True).stdout
sampled = ("--temperature", "0.7", "--top-k", "5", "--repetition-penalty", "1.3", "--seed", "3")
for arguments in ((), sampled):
    result = json.loads(run("--logprobs=3", "--json", *arguments))
    tokens = [one["token"] for one in result["logprobs"]]
    assert tokens == result["tokens"] and len(tokens) == 9, result
    text, v = list(b"Hello") + tokens, np.arange(257, dtype=np.uint64) * 2654435761 % 2**32
    h = 42
    for i, token in enumerate(text[:-1]):
        h = (h * 31 + token * 1000003 + i) % 2**32
        if i < 4:
            continue
        logits = ((np.uint64(h) ^ v) * np.uint64(2246822519) % 2**32 >> np.uint64(8)) / 2.0**20
        wanted = logits - np.logaddexp.reduce(logits)
        one = result["logprobs"][i - 4]
        best = np.argsort(-wanted[:256], kind="stable")[:3]
        assert abs(one["logprob"] - wanted[text[i + 1]]) < 1e-5, (i, one, wanted[text[i + 1]])
        assert [other["token"] for other in one["top"]] == best.tolist(), (i, one, best)
        assert np.allclose([other["logprob"] for other in one["top"]], wanted[best], atol=1e-5), (i, one)
    assert "".join(one["piece"] for one in result["logprobs"]).isascii(), result

# As text: the text as ever, then a line for each token and indented ones for the likeliest.
text, _, table = run("--logprobs=1").rpartition("\n\n")
assert text + "\n" == run(), (text, run())
lines = table.splitlines()
assert len(lines) == 18 and all(line.split("\t") == other.split("\t")[1:] for line, other in zip(lines[::2], lines[1::2])), table
assert run("--logprobs").count("\n") < len(lines), "no number asks for the tokens alone"
