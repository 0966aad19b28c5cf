"""Compares `rapt-run --beams` with the search of beam_search.py, which asks for the logits of whole sequences."""

import functools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "Unit/Generation"))
from beam_search import beam_search  # noqa: E402

model, folder = sys.argv[1], Path(sys.argv[2])


@functools.cache
def logits_of(sequence):
    np.save(folder / "ids.npy", np.array([sequence], np.int64))
    subprocess.run(["rapt-run", model, "--input", f"input_ids={folder}/ids.npy", "--output", f"logits={folder}/l.npy"],
                   check=True)
    return np.load(folder / "l.npy")[0, -1].tolist()


def compare(prompt, most, beams, penalty, early, ends):
    line = ["rapt-run", model, "--tokens", ",".join(map(str, prompt)), "-n", str(most), "--beams", str(beams),
            "--returns", str(beams), "--length-penalty", str(penalty), "--early-stopping", str(early).lower(), "--json"]
    output = subprocess.run(line + ([] if ends else ["--ignore-eos"]), check=True, capture_output=True, text=True)
    found = json.loads(output.stdout)["sequences"]
    expected = beam_search(lambda sequence: logits_of(tuple(sequence)), prompt, beams, beams, most, ends, penalty, early)
    assert len(found) == len(expected), (found, expected)
    for one, (tokens, score) in zip(found, expected):
        if tokens[-1] in ends:
            assert one["reason"] == "end"
            tokens = tokens[:-1]
        assert one["tokens"] == tokens, (found, expected)
        assert abs(one["score"] - score) < 1e-5, (one, score)


manifest = json.loads(subprocess.run(["rapt-run", model, "--info", "--json"], check=True, capture_output=True).stdout)
eos = manifest["model"]["eos"]
compare([5, 6, 7], 6, 3, 1.0, False, eos)
compare(list(range(62)), 5, 4, 2.0, "never", [])  # over the end of a block of the cache
compare([9], 4, 2, -1.0, True, eos)
