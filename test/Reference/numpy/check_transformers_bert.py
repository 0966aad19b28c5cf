#!/usr/bin/env python3
"""Checks bert.py against the transformers package, on every configuration of test/Execute/bert_random.py that has a checkpoint:
every output of its head, on batches of unequal lengths. Run by hand where `import transformers` works; the test command needs
neither it nor PyTorch.

    check_transformers_bert.py      prints the largest relative L2 of each; exit status 1 above 1e-6
"""

import os
import sys
import tempfile

import numpy
import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "Execute"))
import bert_random  # noqa: E402

# Outputs that transformers does not have, and its name for the logits of a model for pretraining.
OWN = {"sentence_embedding"}
PRETRAINING = {"logits": "prediction_logits"}
ALLOWED = 1e-6


def compare(model, theirs):
    """The largest relative L2, and the outputs compared."""
    worst, compared, random = 0.0, set(), numpy.random.RandomState(3)
    for _, lengths, typed in bert_random.batches(model.settings):
        shape = (len(lengths), max(lengths))
        ids = random.randint(0, model.settings["vocab_size"], shape)
        types = random.randint(0, model.settings["type_vocab_size"], shape) if typed else None
        given = {"input_ids": ids, "attention_mask": (numpy.arange(shape[1])[None] < numpy.array(lengths)[:, None]).astype(int)}
        if typed:
            given["token_type_ids"] = types
        with torch.no_grad():
            outputs = theirs(**{name: torch.tensor(values) for name, values in given.items()})
        for name, ours in bert_random.expected(model, ids, types, lengths).items():
            if name in OWN:
                continue
            theirName = PRETRAINING.get(name, name) if model.settings["head"] == "BertForPreTraining" else name
            known = ~numpy.isnan(ours)
            found = outputs[theirName].numpy().reshape(ours.shape)
            worst = max(worst, numpy.linalg.norm((found - ours)[known]) / numpy.linalg.norm(ours[known]))
            compared.add(name)
    return worst, compared


def main():
    torch.set_num_threads(1)
    failed = 0
    for name, (_, how) in bert_random.CASES.items():
        if how == "seeded":
            continue
        with tempfile.TemporaryDirectory() as directory:
            model = bert_random.build(name, directory)
            kind = getattr(transformers, model.settings["head"])
            theirs = kind.from_pretrained(directory, torch_dtype=torch.float64).eval()
            worst, compared = compare(model, theirs)
        print(f"{name}: {worst:.1e} in {', '.join(sorted(compared)) or 'nothing'}", flush=True)
        failed += worst > ALLOWED or not compared
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
