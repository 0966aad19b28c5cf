#!/usr/bin/env python3
"""The project's tokenizer vectors as GGUF files: written as a converter would, read back, and asked for the same ids, texts and pairs.

    vectors.py --ids BUILD/test/gguf-ids --scratch FOLDER [--only NAME] [--without CHANGE]

What GGUF cannot hold is said beside the vector in this file: such a vector is left out, or not compared where it differs, and must differ there. --without
spoils every file in one way, which the vectors must find; see CHANGES."""

import argparse
import base64
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "Reference" / "numpy"))
import gguf  # noqa: E402
from gguf_tokenizers import CONTROL, NORMAL, SPACE, UNKNOWN, USER, keys_of, of_pieces  # noqa: E402

# The value of tokenizer.ggml.pre for each vector of byte-level pairs.
PRE = {"added-tokens": "gpt-2", "bloom": "bloom", "byte-level": "gpt-2", "byte-level-prefix-space": "gpt-2", "cl100k": "dbrx", "cohere": "command-r",
       "deepseek-v2": "deepseek-llm", "deepseek-v3": "deepseek-v3", "falcon": "falcon", "gpt-2": "gpt-2", "gpt-neox": "olmo", "gpt-oss": "gpt-4o",
       "llama-3": "llama-bpe", "modernbert": "modern-bert", "opt": "gpt-2", "phi": "phi-2", "qwen-2": "qwen2", "roberta": "roberta-bpe",
       "starcoder": "starcoder", "tekken": "tekken", "tiny-aya": "tiny_aya", "whisper": "gpt-2"}

# What no key can say, so that there are no such files.
LEFT_OUT = {
    "added-normalized": "letters are lowered",
    "albert": "characters are replaced, decomposed and lowered",
    "byte-fallback-affixes": "pieces have a prefix and a suffix",
    "clip": "pieces have a suffix, and letters are lowered",
    "composed-front": "texts are composed and lowered",
    "deberta-v2": "spaces around a text are dropped, those within are not one",
    "nfkc-digits": "texts are composed and lowered",
    "nllb": "byte pairs have a map of characters",
    "siglip": "letters are lowered, punctuation is dropped",
    "strip-metaspace-first": "characters are replaced, and punctuation is cut off",
    "unigram-bytes": "texts are cut at white space, after SentencePiece's older map of characters",
}

# What is another in the vector than in its GGUF file, which cannot say it or says it as SentencePiece does. All of these differ.
SPACES = "tokenizer.json puts no space before a text that begins with one, SentencePiece does"
BYTES = "the vector's decoder writes tokens of bytes as they are called"
WHITE = "tokenizer.json drops all white space at the end of a text, SentencePiece spaces"
CUT = "tokenizer.json cuts texts at white space before it looks for spaces"
DIFFERENT = {
    "added-spaces": {"decoded": BYTES},
    "camembert": {"ids": WHITE, "bare": WHITE},
    "gemma": {"ids": "tokens of several spaces are found in a text that has U+2581 instead", "bare": "the same"},
    "gpt-neox": {"pairs": "the second text has type 0"},
    "mbart": {"ids": "a token of a language stands behind a text", "pairs": "the same", "bare": WHITE},
    "metaspace-always": {"ids": SPACES, "bare": SPACES, "decoded": BYTES},
    "metaspace-first": {"ids": SPACES, "bare": SPACES},
    "metaspace-never": {"decoded": BYTES},
    "modernbert": {"ids": "the mask is looked for before tokens of users, and takes their spaces", "bare": "the same"},
    "mpnet": {"pairs": "two tokens stand between two texts"},
    "no-unknown": {"ids": SPACES, "bare": SPACES},
    "opt": {"pairs": "the token stands before the first text alone"},
    "pegasus": {"ids": CUT, "bare": CUT, "pairs": "nothing stands between two texts"},
    "unigram": {"ids": WHITE, "bare": WHITE},
    "whisper": {"ids": "three tokens stand around a text", "pairs": "the same"},
    "xlm-roberta": {"ids": WHITE, "bare": WHITE},
    "xlm-roberta-words": {"ids": CUT, "bare": CUT},
}

CHANGES = {
    "types": "every token is a normal one",
    "pre": "words are cut as GPT-2's",
    "flags": "nothing is said about tokens around a text",
    "prefix": "whether a space goes before a text is said the other way around",
    "order": "merges are in the opposite order, scores have the opposite sign",
}


def fields_of(data):
    """The fields of a protocol buffer's message: number -> values, of which the last counts."""
    fields, at = {}, 0

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            value = varint()
        else:
            size = varint() if tag & 7 == 2 else {1: 8, 5: 4}[tag & 7]
            value, at = data[at:at + size], at + size
        fields.setdefault(tag >> 3, []).append(value)
    return fields


# Classes whose SentencePiece models converters write: how the tokens become ids, and what stands around a text.
CLASSES = {"llama": {"bos": "<s>", "eos": "</s>", "add": "bos"}, "gemma": {"bos": "<bos>", "eos": "<eos>", "add": "bos"},
           "t5": {"eos": "</s>", "add": "eos", "extra": 100}, "mt5": {"eos": "</s>", "add": "eos"},
           "xlm-roberta": {"bos": "<s>", "eos": "</s>", "sep": "</s>", "mask": "<mask>", "add": "bos eos", "fairseq": True}}


def of_model(name, model):
    """A SentencePiece model's tokens, scores and types as they are, but for fairseq's order of the first ones."""
    file, form = fields_of(model), CLASSES[name]
    trainer, normalizer = fields_of(file[2][-1]), fields_of(file[3][-1])
    isPairs, pieces = trainer.get(3, [1])[-1] == 2, []
    for piece in map(fields_of, file[1]):
        kind = piece.get(3, [NORMAL])[-1]
        text = piece[1][-1].decode()
        pieces.append((text.replace(SPACE, " ") if kind == USER and isPairs else text, struct.unpack("<f", piece.get(2, [bytes(4)])[-1])[0], kind))
    if form.get("fairseq"):
        pieces = [("<s>", 0.0, CONTROL), ("<pad>", 0.0, CONTROL), ("</s>", 0.0, CONTROL), ("<unk>", 0.0, UNKNOWN), *pieces[3:], ("<mask>", 0.0, CONTROL)]
    pieces += [(f"<extra_id_{number}>", -1000.0, CONTROL) for number in reversed(range(form.get("extra", 0)))]
    tokens = [piece[0] for piece in pieces]
    keys = {"model": "llama" if isPairs else "t5", "pre": "default", "tokens": tokens, "scores": [piece[1] for piece in pieces],
            "token_type": [piece[2] for piece in pieces], "add_space_prefix": bool(normalizer.get(3, [1])[-1]),
            "remove_extra_whitespaces": bool(normalizer.get(4, [1])[-1])}
    if normalizer.get(2, [b""])[-1] and not isPairs:
        keys["precompiled_charsmap"] = gguf.Array("u8", normalizer[2][-1])
    for role, key in (("bos", "bos"), ("eos", "eos"), ("sep", "seperator"), ("mask", "mask")):
        if role in form:
            keys[f"{key}_token_id"] = tokens.index(form[role])
    keys.update({f"add_{role}_token": role in form["add"].split() for role in ("bos", "eos")})
    return {f"tokenizer.ggml.{key}": value for key, value in keys.items()}


def own_vectors():
    """The name, the metadata and the cases of each, and what is another in the vector."""
    for path in sorted((HERE.parent / "vectors").glob("*.json")):
        vector = json.loads(path.read_text(encoding="utf-8"))
        if path.stem not in LEFT_OUT:
            metadata = keys_of(vector["tokenizer"], PRE.get(path.stem), vector["config"])
            yield path.stem, {"general.architecture": "llama", **metadata}, vector["cases"], DIFFERENT.get(path.stem, {})
        if path.stem == "gemma":  # Gemma 4's: the same pieces, whose merges are listed
            yield "gemma4", {"general.architecture": "gemma4", **of_pieces(vector["tokenizer"], areListed=True)}, vector["cases"], DIFFERENT["gemma"]
    for name in CLASSES:
        vector = json.loads((HERE.parent / "sentencepiece" / (name + ".json")).read_text(encoding="utf-8"))
        model = next(base64.b64decode(content) for file, content in vector["files"].items() if file.endswith(".model"))
        yield "sentencepiece-" + name, {"general.architecture": "llama", **of_model(name, model)}, vector["cases"], {}


def spoiled(metadata, change):
    metadata = dict(metadata)
    if change == "types":
        metadata["tokenizer.ggml.token_type"] = [NORMAL] * len(metadata["tokenizer.ggml.tokens"])
    elif change == "pre" and metadata["tokenizer.ggml.model"] == "gpt2":
        metadata["tokenizer.ggml.pre"] = "gpt-2"
    elif change == "flags":
        metadata = {key: value for key, value in metadata.items() if not key.startswith("tokenizer.ggml.add_")}
    elif change == "prefix":
        metadata["tokenizer.ggml.add_space_prefix"] = not metadata.get("tokenizer.ggml.add_space_prefix", False)
    elif change == "order":
        metadata.update({key: list(reversed(value)) for key, value in metadata.items() if key.endswith("merges")})
        metadata.update({key: [-score for score in value] for key, value in metadata.items() if key.endswith("scores")})
    return metadata


def differences(cases, answer):
    """What of the cases the answer has otherwise: {"ids", "bare", "decoded", "pairs": [what]}."""
    found, pairs = {}, iter(answer["pairs"])
    for number, case in enumerate(cases):
        if "pair" in case:
            wanted, given = [{"pairs": value} for value in ({"ids": case["ids"], "types": case["types"]}, next(pairs))]
        else:
            wanted = {"ids": case["ids"], "bare": case.get("bare", case["ids"]), "decoded": case.get("decoded", case["text"])}
            given = {key: answer[key][number] for key in wanted}
            if given["bare"] != wanted["bare"] or wanted["decoded"] is None:
                del wanted["decoded"]
        for key, value in wanted.items():
            if given[key] != value:
                found.setdefault(key, []).append(f"{case['text']!r}: {given[key]}, not {value}")
    return found


def ask(program, scratch, vectors):
    requests = []
    for name, metadata, cases, _ in vectors:
        path = os.path.join(scratch, name + ".gguf")
        gguf.write(path, metadata)
        requests.append({"file": path, "texts": [case["text"] for case in cases], "pairs": [[case["text"], case["pair"]] for case in cases if "pair" in case]})
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, encoding="utf-8", check=True)
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ids", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--only")
    parser.add_argument("--without", choices=CHANGES)
    options = parser.parse_args()
    os.makedirs(options.scratch, exist_ok=True)
    vectors = [(name, spoiled(metadata, options.without), cases, expected) for name, metadata, cases, expected in own_vectors() if options.only in (None, name)]
    wrong = []
    for (name, _, cases, expected), answer in zip(vectors, ask(options.ids, options.scratch, vectors), strict=True):
        found = {"error": [answer["error"]]} if "error" in answer else differences(cases, answer)
        bad = {key: lines for key, lines in found.items() if key not in expected}
        bad.update({key: ["is the same, but is said to be another"] for key in expected if key not in found})
        if bad:
            wrong.append(name)
        for key, lines in bad.items():
            print(f"{name}: {key}: {len(lines)} of {len(cases)}: {lines[0][:600]}")
    print(f"{len(vectors)} vectors, {len(LEFT_OUT)} left out, {len(wrong)} wrong" + (": " + ", ".join(wrong) if wrong else ""))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
