#!/usr/bin/env python3
"""Checks generation behind the encoder, on a random model of the t5 family: see encoder_decoder_generation.py. A text prompt is the
source; the weights of its three kinds of attention are the reference evaluator's, and are drawn.

    t5_generation.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run --rapt-reference build/bin/rapt-reference
                     --runtime build/lib/librapt_runtime.so
"""

import json
import os
import subprocess
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import attention_weights  # noqa: E402
import passed  # noqa: E402
import t5  # noqa: E402
from encoder_decoder_generation import greedy, run, runProgram  # noqa: E402

CONFIG = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "d_model": 52, "d_kv": 12, "num_heads": 5, "eos_token_id": 1, "n_positions": 200}
FLAGS = ("--attention-weights=0", "--attention-log-sum-exp=1/1,3-4")
PIECES = [["<pad>", 0], ["</s>", 0], ["<unk>", 0], ["\u2581", -3]] + [[c, -4 - i / 64] for i, c in enumerate("abcdefghijklmnopqrstuvwxyz.,")]
PIECES += [["\u2581the", -2.5], ["\u2581a", -2.25], ["in", -3.5], ["er", -3.25]]
PIECES += [[f"<{i}>", -50] for i in range(101 - len(PIECES))]


def tokenizer(directory):
    """A Unigram tokenizer of T5's form: Metaspace, and </s> behind every text."""
    space = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    added = [{"id": i, "content": PIECES[i][0], "special": True, "normalized": False, "lstrip": False, "rstrip": False, "single_word": False} for i in range(3)]
    single = [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}]
    pair = single + [{"Sequence": {"id": "B", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}]
    post = {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": {"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}}}
    content = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None, "pre_tokenizer": space,
               "post_processor": post, "decoder": space, "model": {"type": "Unigram", "unk_id": 2, "vocab": PIECES, "byte_fallback": False}}
    with open(os.path.join(directory, "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump(content, file)


def checkText(options, library, model):
    """The prompt is the source, with </s>; what is made begins with the decoder's own token and is text again."""
    names = [piece for piece, _ in PIECES]
    numbers = lambda tokens: [names.index(token) for token in tokens]
    source = numbers(["\u2581the", "\u2581", "c", "a", "t", "</s>"])
    made = greedy(model, source, 12)
    made = made[: made.index(1)] if 1 in made else made
    found = json.loads(run(options.rapt_run, library, "-p", "the cat", "-n", "12", "--json"))
    assert found["tokens"] == made and found["prompt_tokens"] == len(source), f"{found}, expected {made}"
    text = "".join(names[i] for i in made if i > 2).replace("\u2581", " ")
    assert found["text"].strip() == text.strip(), f"{found['text']!r}, expected {text!r}"
    for line in (("--beams", "3", "--returns", "2"), ("--temperature", "0.8", "--seed", "5")):
        once, again = (run(options.rapt_run, library, "-p", "the cat", "-n", "6", *line) for _ in range(2))
        assert once == again, f"{line}: {once!r}, then {again!r}"
    refused = subprocess.run([options.rapt_run, library, "-p", " ".join("a" * 200), "-n", "2"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert refused.returncode == 1 and "the prompt has 201 tokens; the model's positions hold 200" in refused.stderr, refused.stderr


def checkAttention(options, library, model):
    """Checks the attention of the source, of the text, and of the text to the source."""
    names = [piece for piece, _ in PIECES]
    work = os.path.dirname(library)
    directory = os.path.join(work, "model")
    random, outputs = numpy.random.RandomState(4), {}
    masks = [(numpy.arange(max(lengths))[None] < numpy.array(lengths)[:, None]).astype(int) for lengths in ((70, 3, 1), (5, 67, 0))]
    inputs = {name: random.randint(0, 101, mask.shape) for name, mask in zip(("input_ids", "decoder_input_ids"), masks)}
    parts = (("encoder", masks[0]), ("decoder", masks[1]), ("cross", masks[1]))
    outputs = {f"{part}_{what}": mask for part, mask in parts for what in ("attentions", "log_sum_exp")}
    given = {"attention_mask": masks[0], "decoder_attention_mask": masks[1]}
    got = attention_weights.compare(options, work, library, directory, inputs, given, outputs, *FLAGS)
    assert got["cross_log_sum_exp"].shape[2:] == (1, 3)
    assert not got["cross_attentions"][1, :, :, :, 3:].any() and got["cross_attentions"].shape[2:4] == (1, 5)
    maps = os.path.join(work, "maps")
    look = (options.rapt_run, library, "-p", "the cat", "-n", "4", "--ignore-eos", "--attention-weights", maps, "--json")
    source = [names.index(token) for token in ("\u2581the", "\u2581", "c", "a", "t", "</s>")]
    whole = {"encoder_attentions": numpy.ones((1, 6)), "decoder_attentions": numpy.ones((1, 4)), "cross_attentions": numpy.ones((1, 4))}
    for search in (["--beams", "3"], []):
        result = json.loads(run(*look, *search))
        made = result["sequences"][0]["tokens"] if search else result["tokens"]
        inputs = {"input_ids": numpy.array([source]), "decoder_input_ids": numpy.array([[0, *made[:-1]]])}
        got = attention_weights.compare(options, work, library, directory, inputs, {}, whole, *FLAGS)
        for name, queries, keys in (("encoder_attentions", 6, 6), ("decoder_attentions", 4, 4), ("cross_attentions", 4, 6)):
            drawn = numpy.load(os.path.join(maps, f"{name}-layer0-head4.npy"))
            assert numpy.abs(drawn - got[name][0, :queries, 0, 4, :keys]).max() <= 1e-6, name
    with open(os.path.join(maps, "cross_attentions-layer0-head0.svg"), encoding="utf-8") as file:
        svg = file.read()
    assert all(f">{label}</text>" in svg for label in ("\u2423the", "\u2423", "c", "a", "t", "&lt;/s&gt;")), svg[:2000]


def build(directory):
    t5.make(directory, CONFIG, 5)
    tokenizer(directory)
    return t5.load(directory)


if __name__ == "__main__":
    runProgram(__doc__, build, (checkText, checkAttention), *FLAGS)
    passed.note("compiled", "family t5 decode", "family t5 tokenizer Unigram")
