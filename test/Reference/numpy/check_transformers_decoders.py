#!/usr/bin/env python3
"""Checks gpt2.py and llama.py (llama, mistral, qwen2) against the transformers package, on every configuration of
test/Execute/gpt2_random.py and llama_random.py: logits of a ragged batch and of a whole one, and greedy tokens through the cache.
Run by hand where `import transformers` works; the test command needs neither it nor PyTorch.

    check_transformers_decoders.py [NAME ...]    prints the largest relative L2 of each; exit status 1 above 1e-4 (norms,
                                                 rotations and softmax of transformers are f32) or for another token
"""

import os
import sys
import tempfile

import numpy
import torch
import transformers

import cachetypes
import cases
import gpt2
import llama
import make_model

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "Execute"))
import gpt2_random  # noqa: E402
import llama_random  # noqa: E402

FAMILIES = ((make_model.makeModel, gpt2.load, cases.CASES, gpt2_random.inputs, "n_positions"),
            (llama.makeModel, llama.load, llama_random.CASES, llama_random.inputs, "max_position_embeddings"))
ALLOWED = 1e-4


def compare(model, theirs, batches, positions):
    """The largest relative L2 of the logits, and whether the tokens after a prompt are the same."""
    worst = 0.0
    with torch.no_grad():
        for _, ids, mask in batches:
            given = {} if mask is None else {"attention_mask": torch.tensor(mask)}
            found, ours = theirs(input_ids=torch.tensor(ids), **given).logits.numpy(), model.batch(ids, mask)
            if mask is not None:
                found = found * mask[..., None]
            worst = max(worst, numpy.linalg.norm(found - ours) / numpy.linalg.norm(ours))
        prompt = batches[0][1][1][:11].tolist()
        count = min(25, positions - len(prompt))
        made = theirs.generate(torch.tensor([prompt]), max_new_tokens=count, min_new_tokens=count, do_sample=False, pad_token_id=0,
                               eos_token_id=None)[0, len(prompt) :].tolist()
    return worst, made == llama_random.greedy(model, prompt, count, None)


def main():
    torch.set_num_threads(1)
    failed, only = 0, set(sys.argv[1:])
    for make, load, configurations, inputs, positions in FAMILIES:
        for name, (keys, how) in configurations.items():
            if only and name not in only:
                continue
            with tempfile.TemporaryDirectory() as directory:
                config = make(directory, keys, 7, **cachetypes.split(how)[0])
                model = load(directory)
                theirs = transformers.AutoModelForCausalLM.from_pretrained(directory, torch_dtype=torch.float64).eval()
                worst, same = compare(model, theirs, inputs(config), config[positions])
            print(f"{name}: {worst:.1e}, {'the same' if same else 'other'} tokens", flush=True)
            failed += worst > ALLOWED or not same
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
