"""Writes tokenizer.json files for a comparison: one for each component, and models that SentencePiece trains.

    /usr/bin/python3 make_tokenizers.py FOLDER text ...

Files named probe-* expose one component: their ids tell each byte of its result, or where it cuts. Files named
sentence-* belong to a FOLDER/sentence-*.model of the same vocabulary, for comparing with SentencePiece itself.
Needs Debian's python3-sentencepiece."""
import base64
import json
import math
import struct
import sys
from pathlib import Path

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


def spellings():
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table, free = {}, 0x100
    for byte in range(256):
        if byte in printable:
            table[byte] = chr(byte)
        else:
            table[byte] = chr(free)
            free += 1
    return table


def added(number, content, **flags):
    return {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": True, **flags}


def file(model, **parts):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
            "pre_tokenizer": None, "post_processor": None, "decoder": None, **parts, "model": model}


def template(single, pair, ids):
    def piece(text):
        name, type_id = text.split(":")
        kind = "Sequence" if name in "AB" else "SpecialToken"
        return {kind: {"id": name, "type_id": int(type_id)}}
    return {"type": "TemplateProcessing", "single": [piece(p) for p in single], "pair": [piece(p) for p in pair],
            "special_tokens": {n: {"id": n, "ids": [i], "tokens": [n]} for n, i in ids.items()}}


def byte_names():
    return [f"<0x{byte:02X}>" for byte in range(256)]


def normalizer_probe(normalizer):
    """Ids are the bytes of the normalized text."""
    vocab = {name: number for number, name in enumerate(["<unk>", *byte_names()])}
    model = {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": True, "ignore_merges": False,
             "vocab": vocab, "merges": []}
    return file(model, normalizer=normalizer)


def splitter_probe(*pre_tokenizers):
    """Ids are the bytes of the pieces; the first byte of a piece has an id of its own."""
    table = spellings()
    # The prefix is a character that no byte is spelled with.
    vocab = {prefix + table[byte]: number * 256 + byte for number, prefix in enumerate(("", "\u2016")) for byte in range(256)}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "\u2016",
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
             "vocab": vocab, "merges": []}
    bytes_only = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    stages = list(pre_tokenizers)
    if not any(stage["type"] == "ByteLevel" for stage in stages):
        stages.append(bytes_only)
    return file(model, pre_tokenizer={"type": "Sequence", "pretokenizers": stages})


def split(pattern, behavior, invert=False):
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def probes():
    for kind in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt"):
        yield kind.lower(), normalizer_probe({"type": kind})
    yield "strip", normalizer_probe({"type": "Strip", "strip_left": True, "strip_right": True})
    yield "prepend-replace", normalizer_probe({"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        {"type": "Replace", "pattern": {"Regex": r"\s{2,}|[\p{P}&&[^▁]]+"}, "content": "#"}]})
    bert = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
    yield "bert-uncased", normalizer_probe({**bert, "lowercase": True})
    yield "bert-cased", normalizer_probe({**bert, "lowercase": False})
    for kind in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer"):
        yield kind.lower(), splitter_probe({"type": kind})
    yield "digits", splitter_probe({"type": "Digits", "individual_digits": False})
    yield "digits-individual", splitter_probe({"type": "Digits", "individual_digits": True})
    yield "delimiter", splitter_probe({"type": "CharDelimiterSplit", "delimiter": "e"})
    for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        yield f"punctuation-{behavior.lower()}", splitter_probe({"type": "Punctuation", "behavior": behavior})
        yield f"split-{behavior.lower()}", splitter_probe(split({"String": "e"}, behavior))
        yield f"split-inverted-{behavior.lower()}", splitter_probe(split({"Regex": r"\w+"}, behavior, True))
    yield "llama-3", splitter_probe(split({"Regex": LLAMA3}, "Isolated"))
    yield "qwen-2", splitter_probe(split({"Regex": QWEN2}, "Isolated"))
    yield "byte-level", splitter_probe({"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True})


def bert_like(texts):
    """Every word of the texts that comes often, and every character of the Basic Multilingual Plane's letters."""
    frequency = {}
    for word in " ".join(texts).lower().split():
        frequency[word] = frequency.get(word, 0) + 1
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocab = {token: number for number, token in enumerate(specials)}
    characters = [chr(c) for c in [*range(0x21, 0xD800), *range(0xE000, 0x20000)] if chr(c).isprintable()]
    for token in [*characters, *("##" + c for c in characters), *(w for w, n in frequency.items() if n > 3),
                  *("##" + w[k:] for w, n in frequency.items() if n > 3 for k in (1, 2, 3) if k < len(w))]:
        vocab.setdefault(token, len(vocab))
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
             "max_input_chars_per_word": 100, "vocab": vocab}
    normalizer = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                  "lowercase": True}
    return file(model, added_tokens=[added(i, t) for t, i in zip(specials, range(5))], normalizer=normalizer,
                pre_tokenizer={"type": "BertPreTokenizer"}, decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
                post_processor=template(["[CLS]:0", "A:0", "[SEP]:0"], ["[CLS]:0", "A:0", "[SEP]:0", "B:1", "[SEP]:1"],
                                        {"[CLS]": 2, "[SEP]": 3}))


def fields(message):
    """(number, value) of a protocol-buffer message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        size = {0: None, 1: 8, 5: 4}.get(key & 7, -1)
        if size is None:
            yield key >> 3, varint()
            continue
        size = varint() if size < 0 else size
        yield key >> 3, message[at:at + size]
        at += size


def read_sentence_model(path):
    """([(piece, score, type)], charsmap)."""
    pieces, charsmap = [], b""
    for number, value in fields(path.read_bytes()):
        if number == 1:
            piece = dict(fields(value))
            pieces.append((piece[1].decode(), struct.unpack("<f", piece[2])[0], piece.get(3, 1)))
        elif number == 3:
            charsmap = dict(fields(value)).get(2, b"")
    return pieces, charsmap


def shortest(score):
    """The number that Python's bindings write for a 32-bit score."""
    return score if math.isfinite(score) else 0.0


def convert_unigram(path, byte_fallback):
    pieces, charsmap = read_sentence_model(path)
    model = {"type": "Unigram", "unk_id": next(i for i, p in enumerate(pieces) if p[2] == 2),
             "vocab": [[piece, shortest(score)] for piece, score, _ in pieces], "byte_fallback": byte_fallback}
    normalizers = [{"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}] if charsmap else []
    normalizers += [{"type": "Strip", "strip_left": False, "strip_right": True},
                    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}]
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    return file(model, normalizer={"type": "Sequence", "normalizers": normalizers}, pre_tokenizer=metaspace, decoder=metaspace,
                added_tokens=[added(i, p[0]) for i, p in enumerate(pieces) if p[2] in (2, 3)],
                post_processor=template(["A:0", "</s>:0"], ["A:0", "</s>:0", "B:0", "</s>:0"], {"</s>": 2}))


def convert_bpe(path, legacy):
    pieces, _ = read_sentence_model(path)
    vocab = {piece: number for number, (piece, _, _) in enumerate(pieces)}
    scores = {piece: score for piece, score, _ in pieces}
    merges = []
    for piece, score, kind in pieces:
        if kind != 1:
            continue
        for cut in range(1, len(piece)):
            left, right = piece[:cut], piece[cut:]
            if left in vocab and right in vocab:
                merges.append((-score, vocab[left], vocab[right], left, right))
    merges.sort()
    model = {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False, "vocab": vocab,
             "merges": [[l, r] for *_, l, r in merges] if legacy else [f"{l} {r}" for *_, l, r in merges]}
    assert all(piece in scores for piece in vocab)
    parts = {"added_tokens": [added(i, p[0]) for i, p in enumerate(pieces) if p[2] in (2, 3)],
             "post_processor": template(["<s>:0", "A:0"], ["<s>:0", "A:0", "<s>:1", "B:1"], {"<s>": 1}),
             "decoder": {"type": "Sequence", "decoders": [
                 {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
                 {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}}
    if legacy:
        parts["normalizer"] = {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}
    else:
        parts["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
    return file(model, **parts)


def train(folder, name, texts, **options):
    import sentencepiece
    corpus = folder / "corpus.txt"
    corpus.write_text("\n".join(texts))
    sentencepiece.SentencePieceTrainer.Train(
        input=str(corpus), model_prefix=str(folder / name), vocab_size=2000, hard_vocab_limit=False,
        character_coverage=0.9995, minloglevel=2, num_threads=1, unk_id=0, bos_id=1, eos_id=2, **options)
    return folder / f"{name}.model"


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    texts = [line for path in sys.argv[2:] for line in Path(path).read_text(errors="ignore").split("\n") if line.strip()]

    def write(name, content):
        (folder / f"{name}.json").write_text(json.dumps(content, ensure_ascii=False))

    for name, content in probes():
        write(f"probe-{name}", content)
    write("bert-like", bert_like(texts))
    plain = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    bpe = train(folder, "sentence-bpe", texts, model_type="bpe", byte_fallback=True, **plain)
    write("sentence-bpe", convert_bpe(bpe, legacy=True))
    write("sentence-bpe-first", convert_bpe(bpe, legacy=False))
    for rule in ("nmt_nfkc", "nfkc_cf"):
        path = train(folder, f"sentence-unigram-{rule}", texts, model_type="unigram", normalization_rule_name=rule)
        write(f"sentence-unigram-{rule}", convert_unigram(path, False))
    path = train(folder, "sentence-unigram-bytes", texts, model_type="unigram", byte_fallback=True)
    write("sentence-unigram-bytes", convert_unigram(path, True))


main()
