#!/usr/bin/env python3
"""Checks t5.py against the transformers package, on every configuration of test/Execute/t5_random.py, and
test/models/number-speller: logits, the encoder's output, greedy decoding and beam search. Run by hand where `import
transformers` works; the test command needs neither it nor PyTorch.

    check_transformers_t5.py        prints the largest difference of each; exit status 1 above 1e-4 or for another token
"""

import os
import sys
import tempfile

import numpy
import torch
import transformers

import t5

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "Execute"), os.path.join(HERE, "..", "..", "Unit", "Generation")]
import beam_search  # noqa: E402
import t5_random  # noqa: E402

SPELLER = os.path.join(HERE, "..", "..", "models", "number-speller")
LENGTH = 12


def compare(directory, model, source, target):
    """The largest relative L2 of states and logits, and whether greedy tokens and those of three beams are the same."""
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(directory, torch_dtype=torch.float32).eval()
    hidden = model.encode(source)
    with torch.no_grad():
        outputs = theirs(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target]))
        given = {"max_new_tokens": LENGTH, "do_sample": False, "decoder_start_token_id": 0, "eos_token_id": 1, "pad_token_id": 0}
        found = [theirs.generate(torch.tensor([source]), num_beams=beams, **given)[0, 1:].tolist() for beams in (1, 3)]
    logits = lambda tokens: list(model.decode(numpy.array(tokens), hidden)[-1])
    searched = [beam_search.beam_search(logits, [0], beams, 1, LENGTH, [1])[0][0] for beams in (1, 3)]
    apart = lambda ours, other: numpy.linalg.norm(ours - other.numpy()) / numpy.linalg.norm(ours)
    worst = max(apart(hidden, outputs.encoder_last_hidden_state[0]), apart(model.decode(target, hidden), outputs.logits[0]))
    return worst, all(one[: len(other)] == other for one, other in zip(found, searched))


def main():
    torch.set_num_threads(1)
    failed, random = 0, numpy.random.RandomState(1)
    with tempfile.TemporaryDirectory() as work:
        cases = {name: os.path.join(work, name) for name in t5_random.CASES}
        for name, directory in cases.items():
            t5_random.build(name, directory)
        for name, directory in {**cases, "number-speller": SPELLER}.items():
            model = t5.load(directory)
            ids = [random.randint(2, model.settings["vocab_size"], length) for length in (70, 33)]
            worst, same = compare(directory, model, *ids)
            print(f"{name}: {worst:.1e}, {'the same' if same else 'other'} tokens", flush=True)
            failed += worst > 1e-4 or not same
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
