"""The golden files of models of real size: what golden.py computes in float64 and test/Execute/golden_models.py compares.

CASES: name -> model of test/models, and the rows it runs on:
    prompts: tokens of each sequence of a decoder, followed by STEPS more, each computed alone
    lengths: tokens of each text of an encoder
    sources: tokens of each source of an encoder-decoder; prompts are its decoder's
    images:  height and width of each
dtype: torch_dtype of the weights, float32 where it is not told.
"""

import json
import os

import numpy

import randomweights

HERE = os.path.dirname(os.path.abspath(__file__))
SEED, STEPS, COLUMNS = 1, 16, 512
TOLERANCE = 1e-5  # of relative L2; weights of 16 bits are the same for both, everything else is f32

CASES = {
    "gpt2-128": {"model": "gpt2", "prompts": [128]},
    "gpt2-1000": {"model": "gpt2", "prompts": [1000]},
    "bert-base": {"model": "bert-base", "lengths": [128, 37]},
    "bert-large": {"model": "bert-large", "lengths": [128, 37]},
    "vit-base": {"model": "vit-base", "images": [[224, 224], [272, 176]]},
    "vit-large": {"model": "vit-large", "images": [[224, 224], [272, 176]]},
    "t5-small": {"model": "t5-small", "sources": [128, 37], "prompts": [8, 3]},
    "t5-base": {"model": "t5-base", "sources": [128, 37], "prompts": [8, 3]},
    "llama-1.1b-f32": {"model": "tinyllama-1.1b", "prompts": [100, 19]},
    "llama-1.1b-bf16": {"model": "tinyllama-1.1b", "prompts": [100, 19], "dtype": "bfloat16"},
}


def golden_path(name):
    return os.path.join(HERE, "..", "golden", name + ".json")


def read_config(case):
    with open(os.path.join(HERE, "..", "..", "models", case["model"], "config.json"), encoding="utf-8") as file:
        return json.load(file)


def rows(case, config):
    """The inputs of each row. Ids follow one another in randomweights.tokens(), row after row, a source before its target;
    the second half of a text is of the second type. Pixels are uniform in (-1, 1)."""
    taken = 0

    def take(count):
        nonlocal taken
        taken += count
        return randomweights.tokens(SEED, taken, config["vocab_size"])[taken - count :]

    if "images" in case:
        shape = lambda size: (config["num_channels"], *size)
        image = lambda row, size: randomweights.values(SEED, f"pixels.{row}", shape(size), "embedding") * numpy.float32(16)
        return [{"pixel_values": image(row, size)} for row, size in enumerate(case["images"])]
    if "lengths" in case:
        return [{"input_ids": take(n), "token_type_ids": (numpy.arange(n) >= n // 2).astype(numpy.int64)} for n in case["lengths"]]
    if "sources" in case:
        return [{"input_ids": take(source), "decoder_input_ids": take(prompt + STEPS)}
                for source, prompt in zip(case["sources"], case["prompts"])]
    return [{"input_ids": take(prompt + STEPS)} for prompt in case["prompts"]]


def places(count, lengths, prompts):
    """About `count` positions in rows of `lengths` that follow one another: first, middle and last ones of what is computed at
    once, and three of the steps."""
    chosen, begin = [], 0
    for length, prompt in zip(lengths, prompts):
        all_places = [0, 1, prompt // 4, prompt // 2, prompt - 1, prompt, prompt + STEPS // 2, prompt + STEPS - 1]
        own = all_places[:: max(1, len(all_places) * len(lengths) // count)]
        chosen += [begin + place for place in sorted({min(place, length - 1) for place in own})]
        begin += length
    return chosen
