#!/usr/bin/env python3
"""Draws directories in which two files contradict each other. Each must give what one gives whose files agree on the value
that counts (docs/generated/DirectoryKeys.md); and what it gives should differ from that of the value that does not count,
which it does for most draws.

    generate.py --build build --scratch DIR [--count N] [--seed N]
"""

import argparse
import json
import os
import random
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
IMAGE = os.path.join(HERE, "..", "..", "models", "tiny-vit", "golden", "0.png")
TOKENS = ["<s>", "</s>", "<pad>"] + [chr(c) for c in range(97, 107)] + ["\u0120", "\u0120a", "\u0120b", "ab", "cd"]
GPT2 = {"model_type": "gpt2", "n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 64, "vocab_size": len(TOKENS), "bos_token_id": None, "eos_token_id": None}
BERT = {"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 16, "max_position_embeddings": 24}
VIT = {"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "image_size": 32, "patch_size": 8,
       "id2label": {"0": "a", "1": "b", "2": "c"}}
T5 = {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": 32, "d_kv": 16, "d_ff": 32, "num_layers": 1, "num_heads": 2, "vocab_size": 40, "relative_attention_num_buckets": 8,
      "is_encoder_decoder": True, "pad_token_id": 0, "eos_token_id": 1}


def byte_pairs(prefix=False, frame=()):
    """A tokenizer.json of a few letters; `frame` are the tokens around a text, None where it stands."""
    parts = [{"Sequence": {"id": "A", "type_id": 0}} if token is None else {"SpecialToken": {"id": token, "type_id": 0}} for token in frame or [None]]
    marks = {token: {"id": token, "ids": [TOKENS.index(token)], "tokens": [token]} for token in frame if token}
    return {"added_tokens": [{"id": i, "content": TOKENS[i], "special": True, "normalized": False} for i in range(3)],
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": prefix}, "decoder": {"type": "ByteLevel"},
            "post_processor": {"type": "TemplateProcessing", "single": parts, "pair": [], "special_tokens": marks},
            "model": {"type": "BPE", "vocab": {token: i for i, token in enumerate(TOKENS)}, "merges": ["\u0120 a", "\u0120 b", "a b", "c d"]}}


def word_pieces(lower):
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "red", "Red", "fox", "Fox", "RED", "FOX"]
    return {"normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": lower},
            "pre_tokenizer": {"type": "BertPreTokenizer"}, "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {word: i for i, word in enumerate(words)}}}


# A kind gives, for one draw, the directories that contradict themselves, that agree on what counts, and that agree on what does
# not; and the arguments of rapt-run.

def prefix_space(draw):
    counts = draw.random() < 0.5
    make = lambda inside, flag: {"config.json": GPT2, "tokenizer.json": byte_pairs(inside), "tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": flag}}
    return make(not counts, counts), make(counts, counts), make(not counts, not counts), ["-p", draw.choice(["ab", "a", "bcd"]), "-n", "4"]


def frames(draw):
    flags = {"add_bos_token": draw.random() < 0.5, "add_eos_token": draw.random() < 0.5}
    roles = {"tokenizer_class": draw.choice(["GPT2Tokenizer", "GPTNeoXTokenizer", "PreTrainedTokenizerFast"]), "bos_token": "<s>", "eos_token": "</s>"}
    counts = ["<s>"] * flags["add_bos_token"] + [None] + ["</s>"] * flags["add_eos_token"]
    other = draw.choice([frame for frame in ([None], ["<s>", None], [None, "</s>"], ["<s>", None, "</s>"]) if frame != counts])
    make = lambda frame, more: {"config.json": GPT2, "tokenizer.json": byte_pairs(False, frame), "tokenizer_config.json": {"bos_token": "<s>", "eos_token": "</s>", **more}}
    return make(other, {**roles, **flags}), make(counts, {"tokenizer_class": "PreTrainedTokenizerFast"}), make(other, {"tokenizer_class": "PreTrainedTokenizerFast"}), ["-p", "ab", "-n", "4", "--ignore-eos"]


def roles(draw):
    counts, other = draw.sample(["<s>", "</s>", "<pad>"], 2)
    make = lambda config, mapped=None: {"config.json": GPT2, "tokenizer.json": byte_pairs(), **({"special_tokens_map.json": {"bos_token": mapped}} if mapped else {}),
                                        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "add_bos_token": True, **config}}
    of_map = {"bos_token": other}, counts
    of_config = {"bos_token": counts, "added_tokens_decoder": {"2": {"content": "<pad>", "special": True}}}, other
    return make(*draw.choice([of_map, of_config])), make({"bos_token": counts}), make({"bos_token": other}), ["-p", "ab", "-n", "4", "--ignore-eos"]


def generation(draw):
    keys = [{"repetition_penalty": 3.0}, {"no_repeat_ngram_size": 1}, {"bad_words_ids": [[i] for i in range(len(TOKENS)) if i % 3]}, {"suppress_tokens": list(range(9))}]
    counts, other = draw.sample(keys, 2)
    make = lambda of_config, of_file: {"config.json": {**GPT2, **of_config}, **({"generation_config.json": of_file} if of_file else {})}
    if draw.random() < 0.5:  # of config.json alone
        return make(counts, None), make({}, counts), make({}, other), ["--tokens", "3,4,5", "-n", "8"]
    return make(other, counts), make({}, counts), make({}, other), ["--tokens", "3,4,5", "-n", "8"]


def first_token(draw):
    counts, other = draw.sample(range(2, 40), 2)
    make = lambda config, file: {"config.json": {**T5, "decoder_start_token_id": config}, "generation_config.json": {"decoder_start_token_id": file}}
    return make(other, counts), make(counts, counts), make(other, other), ["--tokens", "3,9,12,1", "-n", "6", "--ignore-eos"]


def case(draw):
    counts = draw.random() < 0.5
    make = lambda inside, flag: {"config.json": BERT, "tokenizer.json": word_pieces(inside), "tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "do_lower_case": flag}}
    return make(not counts, counts), make(counts, counts), make(not counts, not counts), ["-p", draw.choice(["Red fox", "red Fox", "RED FOX"])]


def processors(draw):
    own = lambda: {"image_processor_type": "ViTImageProcessor", "size": {"height": 32, "width": 32}, "image_mean": [round(draw.random(), 2) for _ in range(3)], "image_std": [0.25, 0.25, 0.25]}
    counts, other = own(), own()
    make = lambda file, nested=None: {"config.json": VIT, "preprocessor_config.json": file, **({"processor_config.json": {"image_processor": nested}} if nested else {})}
    return make(other, counts), make(counts), make(other), ["--image", IMAGE, "--json"]


def templates(draw):
    counts, other = draw.sample(["{{ messages[0].content }}", "a{{ messages[0].content }}b", "{% for m in messages %}cd{{ m.content }}{% endfor %}", "{{ messages[0].role[0] and 'dd' }}{{ messages[0].content }}"], 2)
    make = lambda config, **files: {"config.json": GPT2, "tokenizer.json": byte_pairs(), "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": config},
                                    **{f"chat_template.{kind}": content for kind, content in files.items()}}
    # Tokenizers read no chat_template.json, which is a processor's.
    if draw.random() < 0.3:  # the folder's come before the configuration's, and its "default" before chat_template.jinja
        folder = {"additional_chat_templates/tool_use.jinja": other, **draw.choice([{"chat_template.jinja": counts}, {"chat_template.jinja": other, "additional_chat_templates/default.jinja": counts}])}
        return {**make(other), **folder}, make(counts), make(other), ["--chat", "-p", "ab", "-n", "4"]
    of_file, of_config = draw.choice([({"jinja": counts}, other), ({"json": {"chat_template": other}}, counts), ({"jinja": counts, "json": {"chat_template": other}}, other)])
    return make(of_config, **of_file), make(counts), make(other), ["--chat", "-p", "ab", "-n", "4"]


KINDS = [prefix_space, frames, roles, generation, first_token, case, processors, templates]


def write(directory, files):
    for name, content in files.items():
        os.makedirs(os.path.dirname(os.path.join(directory, name)), exist_ok=True)
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))


def answer(options, directory, files, arguments):
    """The text that rapt-run prints for the directory."""
    write(directory, files)
    library = directory + ".so"
    for command in ([os.path.join(options.build, "bin", "raptc"), directory, "--random-weights=7", "-o", library],
                    [os.path.join(options.build, "bin", "rapt-run"), library, *arguments]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return f"exit {done.returncode}: {done.stderr[-300:]}"
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw, differing = random.Random(options.seed), 0
    for number in range(options.count):
        kind = KINDS[number % len(KINDS)] if number < len(KINDS) else draw.choice(KINDS)
        *directories, arguments = kind(draw)
        got, right, other = (answer(options, os.path.join(options.scratch, f"{number}-{name}"), files, arguments)
                             for name, files in zip(("contradicts", "agrees", "agrees-on-the-other"), directories))
        assert not right.startswith("exit "), (kind.__name__, right)
        assert got == right, f"draw {number} (--seed {options.seed}), {kind.__name__}: {got!r}, not {right!r}; the other value gives {other!r}"
        differing += right != other
    assert differing * 2 >= options.count, f"only {differing} of {options.count} draws tell the values apart"
    print(f"generated: directories with contradicting files: {options.count}, seed {options.seed}: {differing} of which another precedence would change")


sys.exit(main())
