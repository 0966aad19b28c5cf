"""Writes a tokenizer.json as the keys of a GGUF file, as llama.cpp's converter does. Written from the format's description, so that it is independent of the
reader under test."""

import base64
import json
import re

import gguf

SPACE = "\u2581"
NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = 1, 2, 3, 4, 5, 6


def first_and_last(tokenizer, config):
    """The special tokens before and behind one text, and whether another stands between two."""
    if config.get("add_bos_token"):
        return [config["bos_token"]["content"]], [], False
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


def roles_of(tokens, tokenizer, unknown, config=None):
    before, behind, separates = first_and_last(tokenizer, config or {})
    keys = {"bos_token_id": before[0] if len(before) == 1 else None, "eos_token_id": behind[0] if len(behind) == 1 else None, "unknown_token_id": unknown,
            "seperator_token_id": behind[0] if separates else None,
            "mask_token_id": next((token for token in ("<mask>", "[MASK]") if token in tokens), None)}
    numbers = {f"tokenizer.ggml.{key}": tokens.index(token) for key, token in keys.items() if token in tokens}
    flags = {"tokenizer.ggml.add_bos_token": len(before) == 1, "tokenizer.ggml.add_eos_token": len(behind) == 1}
    return {**numbers, **flags}


def of_bytes(tokenizer, pre, config):
    model = tokenizer["model"]
    tokens = tokens_of(model["vocab"], tokenizer)
    merges = [" ".join(merge) if isinstance(merge, list) else merge for merge in model["merges"]]
    keys = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": pre, "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.merges": merges,
            "tokenizer.ggml.token_type": kinds_of(tokens, tokenizer), **roles_of(tokens, tokenizer, model["unk_token"], config)}
    if '"add_prefix_space": true' in json.dumps(tokenizer["pre_tokenizer"]):
        keys["tokenizer.ggml.add_space_prefix"] = True
    return keys


def adds_prefix(tokenizer):
    text = json.dumps([tokenizer.get("normalizer"), tokenizer.get("pre_tokenizer")])
    return '"Prepend"' in text or '"prepend_scheme": "always"' in text or '"prepend_scheme": "first"' in text


def of_pieces(tokenizer, areListed=False):
    """Byte pairs over characters. The score of a piece tells when the first merge that makes it comes, if the merges are not listed, as Gemma 4's are."""
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
    scores = [-1000.0] * len(tokens) if areListed else [-float(ranks.get(token, 10000)) for token in tokens]
    listed = {"tokenizer.ggml.merges": [" ".join(merge) if isinstance(merge, list) else merge for merge in model["merges"]]} if areListed else {}
    return {"tokenizer.ggml.model": "gemma4" if areListed else "llama", **listed, "tokenizer.ggml.pre": "default", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.scores": scores,
            "tokenizer.ggml.token_type": kinds, "tokenizer.ggml.add_space_prefix": adds_prefix(tokenizer),
            **roles_of(tokens, tokenizer, model["unk_token"])}


def of_words(tokenizer):
    """BERT's: pieces lose their ##, and the fronts of words get a mark."""
    model = tokenizer["model"]
    tokens = tokens_of(model["vocab"], tokenizer)
    kinds = kinds_of(tokens, tokenizer)
    marked = [token if kind == CONTROL else token[2:] if token.startswith("##") else SPACE + token for token, kind in zip(tokens, kinds)]
    before, behind, _ = first_and_last(tokenizer, {})
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


def keys_of(tokenizer, pre=None, config=None):
    """`pre` is the rule's name of byte pairs of bytes; `config` the tokenizer_config.json."""
    if tokenizer["model"]["type"] == "WordPiece":
        return of_words(tokenizer)
    if tokenizer["model"]["type"] == "Unigram":
        return of_likelihoods(tokenizer)
    return of_bytes(tokenizer, pre, config) if pre else of_pieces(tokenizer)
