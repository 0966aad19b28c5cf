#!/usr/bin/env python3
"""The project's tokenizer vectors as GGUF files: written as a converter would, read back, and asked for the same ids, texts and pairs.

    vectors.py --ids BUILD/test/gguf-ids --scratch FOLDER [--only NAME] [--without CHANGE]

What GGUF cannot hold is said beside the vector in this file: such a vector is left out, or not compared where it differs, and must differ there. --without
spoils every file in one way, which the vectors must find; see CHANGES."""

import argparse
import base64
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "Reference" / "numpy"))
import gguf  # noqa: E402

SPACE = "\u2581"
NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

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

CHANGES = {
    "types": "every token is a normal one",
    "pre": "words are cut as GPT-2's",
    "flags": "nothing is said about tokens around a text",
    "prefix": "whether a space goes before a text is said the other way around",
    "order": "merges are in the opposite order, scores have the opposite sign",
}


def first_and_last(tokenizer):
    """The special tokens before and behind one text, and between two."""
    processors = [tokenizer.get("post_processor") or {}]
    if processors[0].get("type") == "Sequence":
        processors = processors[0]["processors"]
    for processor in processors:
        if processor.get("type") == "RobertaProcessing":
            return [processor["cls"][0]], [processor["sep"][0]], True
        if processor.get("type") == "TemplateProcessing":
            names = [list(part.values())[0]["id"] for part in processor["single"]]
            pair = [list(part.values())[0]["id"] for part in processor["pair"]]
            text = names.index("A")
            between = pair[pair.index("A") + 1:pair.index("B")] if "B" in pair else []
            return names[:text], names[text + 1:], len(between) == 2 and between[0] == between[1]
    return [], [], False


def kinds_of(tokens, tokenizer):
    """The tokens' types as a converter finds them."""
    kinds = [UNUSED if token.startswith("[PAD") and token != "[PAD]" else NORMAL for token in tokens]
    for token in tokenizer.get("added_tokens") or []:
        kinds[token["id"]] = CONTROL if token["special"] else USER
    return kinds


def tokens_of(vocabulary, tokenizer):
    """The texts by id; ids of no token get texts of their own."""
    numbered = {**{number: token for token, number in vocabulary.items()}, **{token["id"]: token["content"] for token in tokenizer.get("added_tokens") or []}}
    return [numbered.get(number, f"[PAD{number}]") for number in range(max(numbered) + 1)]


def roles_of(tokens, tokenizer, unknown):
    before, behind, separates = first_and_last(tokenizer)
    keys = {"bos_token_id": before[0] if len(before) == 1 else None, "eos_token_id": behind[0] if len(behind) == 1 else None, "unknown_token_id": unknown,
            "seperator_token_id": behind[0] if separates else None,
            "mask_token_id": next((token for token in ("<mask>", "[MASK]") if token in tokens), None)}
    numbers = {f"tokenizer.ggml.{key}": tokens.index(token) for key, token in keys.items() if token in tokens}
    flags = {"tokenizer.ggml.add_bos_token": len(before) == 1, "tokenizer.ggml.add_eos_token": len(behind) == 1}
    return {**numbers, **flags}


def of_bytes(name, tokenizer):
    model = tokenizer["model"]
    tokens = tokens_of(model["vocab"], tokenizer)
    merges = [" ".join(merge) if isinstance(merge, list) else merge for merge in model["merges"]]
    keys = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": PRE[name], "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.merges": merges,
            "tokenizer.ggml.token_type": kinds_of(tokens, tokenizer), **roles_of(tokens, tokenizer, model["unk_token"])}
    if '"add_prefix_space": true' in json.dumps(tokenizer["pre_tokenizer"]):
        keys["tokenizer.ggml.add_space_prefix"] = True
    return keys


def adds_prefix(tokenizer):
    text = json.dumps([tokenizer.get("normalizer"), tokenizer.get("pre_tokenizer")])
    return '"Prepend"' in text or '"prepend_scheme": "always"' in text or '"prepend_scheme": "first"' in text


def of_pieces(tokenizer):
    """Byte pairs over characters. The score of a piece tells when the first merge that makes it comes."""
    model = tokenizer["model"]
    tokens = tokens_of(model["vocab"], tokenizer)
    kinds = kinds_of(tokens, tokenizer)
    ranks = {}
    for rank, merge in enumerate(model["merges"]):
        ranks.setdefault("".join(merge) if isinstance(merge, list) else merge.replace(" ", ""), rank)
    for number, token in enumerate(tokens):
        if token == model["unk_token"]:
            kinds[number] = UNKNOWN
        elif model["byte_fallback"] and re.fullmatch("<0x[0-9A-F]{2}>", token):
            kinds[number] = BYTE
        elif kinds[number] == USER:
            tokens[number] = token.replace(SPACE, " ")
    scores = [-float(ranks.get(token, 10000)) for token in tokens]
    return {"tokenizer.ggml.model": "llama", "tokenizer.ggml.pre": "default", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.scores": scores,
            "tokenizer.ggml.token_type": kinds, "tokenizer.ggml.add_space_prefix": adds_prefix(tokenizer),
            **roles_of(tokens, tokenizer, model["unk_token"])}


def of_words(tokenizer):
    """BERT's: pieces lose their ##, and the fronts of words get a mark."""
    model = tokenizer["model"]
    tokens = tokens_of(model["vocab"], tokenizer)
    kinds = kinds_of(tokens, tokenizer)
    marked = [token if kind == CONTROL else token[2:] if token.startswith("##") else SPACE + token for token, kind in zip(tokens, kinds)]
    before, behind, _ = first_and_last(tokenizer)
    return {"tokenizer.ggml.model": "bert", "tokenizer.ggml.pre": "default", "tokenizer.ggml.tokens": marked, "tokenizer.ggml.token_type": kinds,
            "tokenizer.ggml.token_type_count": 2, "tokenizer.ggml.cls_token_id": tokens.index(before[0]),
            "tokenizer.ggml.seperator_token_id": tokens.index(behind[0]), "tokenizer.ggml.unknown_token_id": tokens.index("[UNK]")}


def of_likelihoods(tokenizer):
    model = tokenizer["model"]
    pieces = dict(map(tuple, model["vocab"]))
    tokens = tokens_of({piece: number for number, piece in enumerate(pieces)}, tokenizer)
    kinds = kinds_of(tokens, tokenizer)
    kinds[model["unk_id"]] = UNKNOWN
    keys = {"tokenizer.ggml.model": "t5", "tokenizer.ggml.pre": "default", "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.scores": [float(pieces.get(token, 0)) for token in tokens], "tokenizer.ggml.token_type": kinds,
            "tokenizer.ggml.add_space_prefix": True, "tokenizer.ggml.remove_extra_whitespaces": True, **roles_of(tokens, tokenizer, tokens[model["unk_id"]])}
    found = re.search('"precompiled_charsmap": "([^"]*)"', json.dumps(tokenizer["normalizer"]))
    if found:
        keys["tokenizer.ggml.precompiled_charsmap"] = gguf.Array("u8", base64.b64decode(found[1]))
    return keys


def metadata_of(name, tokenizer):
    if tokenizer["model"]["type"] == "WordPiece":
        return of_words(tokenizer)
    if tokenizer["model"]["type"] == "Unigram":
        return of_likelihoods(tokenizer)
    return of_bytes(name, tokenizer) if name in PRE else of_pieces(tokenizer)


def own_vectors():
    for path in sorted((HERE.parent / "vectors").glob("*.json")):
        vector = json.loads(path.read_text(encoding="utf-8"))
        if path.stem not in LEFT_OUT:
            yield path.stem, metadata_of(path.stem, vector["tokenizer"]), vector["cases"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ids", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--only")
    parser.add_argument("--without", choices=CHANGES)
    options = parser.parse_args()
    os.makedirs(options.scratch, exist_ok=True)
    vectors = [vector for vector in own_vectors() if options.only in (None, vector[0])]
    requests = []
    for name, metadata, cases in vectors:
        path = os.path.join(options.scratch, name + ".gguf")
        gguf.write(path, {"general.architecture": "test", **metadata})
        requests.append({"file": path, "texts": [case["text"] for case in cases], "pairs": [[case["text"], case["pair"]] for case in cases if "pair" in case]})
    done = subprocess.run([options.ids], input="".join(json.dumps(request) + "\n" for request in requests), capture_output=True, text=True, encoding="utf-8", check=True)
    for (name, _, cases), line in zip(vectors, done.stdout.splitlines()):
        answer = json.loads(line)
        if "error" in answer:
            print(name, "ERROR", answer["error"])
            continue
        bad = {"ids": [], "bare": [], "decoded": [], "pairs": []}
        pairs = iter(answer["pairs"])
        for number, case in enumerate(cases):
            if "pair" in case:
                pair = next(pairs)
                if pair != {"ids": case["ids"], "types": case["types"]}:
                    bad["pairs"].append(case["text"])
                continue
            bare = case.get("bare", case["ids"])
            if answer["ids"][number] != case["ids"]:
                bad["ids"].append(case["text"])
            if answer["bare"][number] != bare:
                bad["bare"].append((case["text"], answer["bare"][number], bare))
            elif case.get("decoded", "") is not None and answer["decoded"][number] != case.get("decoded", case["text"]):
                bad["decoded"].append((case["text"], answer["decoded"][number], case.get("decoded", case["text"])))
        print(name, len(cases), {key: (len(value), value[:2]) for key, value in bad.items() if value}, answer["notes"] or "")


main()
