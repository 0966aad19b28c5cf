"""Tokenizers of a few hundred pieces, in the forms that families have. Each writes its tokenizer.json, and gives ids and texts by the
rules of that form: independent of Rapt's code.

    tokenizer.write(directory, prefix);  ids = tokenizer.ids(text);  text = tokenizer.text(ids)
"""

import json
import os
import unicodedata

SPACE = "\u2581"


def special(i, content):
    return {"id": i, "content": content, "special": True, "normalized": False, "lstrip": False, "rstrip": False, "single_word": False}


def template(before, after):
    """A post-processor that puts special tokens, (content, id), around one text."""
    token = lambda content: {"SpecialToken": {"id": content, "type_id": 0}}
    single = [*(token(content) for content, _ in before), {"Sequence": {"id": "A", "type_id": 0}}, *(token(content) for content, _ in after)]
    names = {content: {"id": content, "ids": [i], "tokens": [content]} for content, i in (*before, *after)}
    return {"type": "TemplateProcessing", "single": single, "pair": single, "special_tokens": names}


def merged(pieces, ranks):
    """Byte-pair encoding of one word: the earliest merge of all, leftmost first, until there is none."""
    while True:
        found = [(ranks[pair], at) for at, pair in enumerate(zip(pieces, pieces[1:])) if pair in ranks]
        if not found:
            return pieces
        at = min(found)[1]
        pieces = [*pieces[:at], pieces[at] + pieces[at + 1], *pieces[at + 2:]]


class Written:
    def write(self, directory, prefix="", config=None):
        """tokenizer.json, and tokenizer_config.json where there is a config."""
        files = {"tokenizer.json": {"version": "1.0", "truncation": None, "padding": None, **self.content()}, "tokenizer_config.json": config}
        for name, value in files.items():
            if value is not None:
                with open(os.path.join(directory, prefix + name), "w", encoding="utf-8") as file:
                    json.dump(value, file)


class SentencePieceBPE(Written):
    """LLaMA's and Mistral's form, with byte fallback. `marks`: "all" puts a blank before every stretch of text between special tokens
    (LLaMA 2's normalizer), "first" before a text that begins with none (the Metaspace of later files)."""

    KIND = "SentencePiece BPE"

    def __init__(self, marks):
        self.marks = marks
        self.pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)] + [SPACE] + list("[]/INSTabcdefghij") + ["hi", SPACE + "hi"]
        self.merges = [("h", "i"), (SPACE, "hi")]
        self.size = len(self.pieces)

    def content(self):
        blanks = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
        normalizer = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": SPACE}, blanks]} if self.marks == "all" else None
        first = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "first", "split": False} if self.marks == "first" else None
        decoders = [{"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
                    {"type": "Strip", "content": " ", "start": 1, "stop": 0}]
        model = {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, "merges": [" ".join(pair) for pair in self.merges],
                 "vocab": {piece: i for i, piece in enumerate(self.pieces)}}
        return {"added_tokens": [special(i, self.pieces[i]) for i in range(3)], "normalizer": normalizer, "pre_tokenizer": first, "model": model,
                "decoder": {"type": "Sequence", "decoders": decoders}, "post_processor": template([("<s>", 1)], [])}

    def ids(self, text, begins=True):
        """The ids of a stretch between special tokens; `begins`: it is the first of its text."""
        marked = (SPACE if begins or self.marks == "all" else "") + text.replace(" ", SPACE)
        found = []
        for piece in merged(list(marked), {pair: rank for rank, pair in enumerate(self.merges)}):
            known = piece in self.pieces[259:]
            found += [self.pieces.index(piece)] if known else [self.pieces.index(f"<0x{byte:02X}>") for byte in piece.encode()]
        return found

    def text(self, ids):
        found = b""
        for i in ids:
            piece = self.pieces[i]
            found += b"" if i < 3 else bytes([i - 3]) if i < 259 else piece.replace(SPACE, " ").encode()
        return found.decode(errors="replace").removeprefix(" ")


# Qwen2's words: contractions in any case, letters with one sign before them, single digits, signs with the line ends behind them, blanks.
QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def words(text):
    """The matches of QWEN2 one after another, as they follow from the expression: re knows no \\p."""
    kind = lambda c: "L" if unicodedata.category(c)[0] == "L" else "N" if unicodedata.category(c)[0] == "N" else " " if c.isspace() else "."
    kinds, at = [kind(c) for c in text], 0

    def run(begin, wanted):
        end = begin
        while end < len(text) and wanted(end):
            end += 1
        return end

    def match():
        contraction = next((c for c in ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d") if text[at:at + len(c)].lower() == c), None)
        if contraction:
            return at + len(contraction)
        letters = at + (kinds[at] in " ." and text[at] not in "\r\n")
        if (end := run(letters, lambda i: kinds[i] == "L")) > letters:
            return end
        if kinds[at] == "N":
            return at + 1
        signs = at + (text[at] == " ")
        if (end := run(signs, lambda i: kinds[i] == ".")) > signs:
            return run(end, lambda i: text[i] in "\r\n")
        blanks = run(at, lambda i: kinds[i] == " ")
        lines = max((i + 1 for i in range(at, blanks) if text[i] in "\r\n"), default=at)
        if lines > at:
            return lines
        return blanks if blanks == len(text) or blanks == at + 1 else blanks - 1

    while at < len(text):
        end = match()
        yield text[at:end]
        at = end


def alphabet():
    """Byte -> the character that stands for it in byte-level vocabularies."""
    plain = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {**{byte: chr(byte) for byte in plain}, **{byte: chr(256 + i) for i, byte in enumerate(others)}}


class ByteLevelBPE(Written):
    """Qwen2's form: NFC, its own words, bytes."""

    KIND = "ByteLevel BPE"
    SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    # Each can be made only by words that are cut as they should be, or must not be: two digits are two words, and so are "i" and "-".
    MERGES = ("h i", "\u0120 hi", "1 2", "' S", "- h", "-h i", "i -", "\u00c3 \u00a9", "! \u010a", "\u0120 \u0120")

    def __init__(self):
        self.merges = [tuple(merge.split(" ")) for merge in self.MERGES]
        self.characters = alphabet()
        self.pieces = [self.characters[byte] for byte in range(256)] + ["".join(pair) for pair in self.merges] + list(self.SPECIAL)
        self.size = len(self.pieces)

    def content(self):
        first = self.size - len(self.SPECIAL)
        split = {"type": "Split", "pattern": {"Regex": QWEN2}, "behavior": "Isolated", "invert": False}
        level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
        model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": False,
                 "byte_fallback": False, "merges": [list(pair) for pair in self.merges], "vocab": {piece: i for i, piece in enumerate(self.pieces[:first])}}
        return {"added_tokens": [special(first + i, content) for i, content in enumerate(self.SPECIAL)], "normalizer": {"type": "NFC"},
                "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]}, "model": model, "post_processor": level, "decoder": level}

    def find(self, piece):
        return self.pieces.index(piece)

    def ids(self, text):
        ranks, found = {pair: rank for rank, pair in enumerate(self.merges)}, []
        for word in words(unicodedata.normalize("NFC", text)):
            found += [self.find(piece) for piece in merged([self.characters[byte] for byte in word.encode()], ranks)]
        return found

    def text(self, ids):
        byte_of = {character: byte for byte, character in self.characters.items()}
        pieces = "".join(self.pieces[i] for i in ids if self.pieces[i] not in self.SPECIAL)
        return bytes(byte_of[character] for character in pieces).decode(errors="replace")


class Unigram(Written):
    """T5's form: a blank before every word, the likeliest pieces, </s> behind them."""

    KIND = "Unigram"
    PIECES = {SPACE: -2.5, "a": -3.0, "b": -3.25, "c": -3.5, "d": -4.0, "ab": -5.0, SPACE + "ab": -6.5, "bc": -5.5, "abc": -9.0, "cd": -8.5, SPACE + "d": -6.0,
              "\u00e9": -6.25}

    def __init__(self):
        self.scores = {"<pad>": 0.0, "</s>": 0.0, "<unk>": 0.0, **self.PIECES}
        self.pieces = list(self.scores)
        self.size = len(self.pieces)

    def content(self):
        space = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True}
        return {"added_tokens": [special(i, self.pieces[i]) for i in range(3)], "normalizer": None, "pre_tokenizer": space, "decoder": space,
                "model": {"type": "Unigram", "unk_id": 2, "byte_fallback": False, "vocab": list(self.scores.items())},
                "post_processor": template([], [("</s>", 1)])}

    def ids(self, text):
        """The best way to cut each word, by its end; one unknown token for neighbors."""
        found, unknown = [], min(self.PIECES.values()) - 10
        for word in (SPACE + word for word in text.split(" ")):
            best = [(0.0, [])]
            for end in range(1, len(word) + 1):
                ways = [(best[begin][0] + self.PIECES[word[begin:end]], best[begin][1] + [self.pieces.index(word[begin:end])])
                        for begin in range(end) if word[begin:end] in self.PIECES]
                ways.append((best[end - 1][0] + unknown, best[end - 1][1] + [2]))
                best.append(max(ways, key=lambda way: way[0]))
            found += [i for at, i in enumerate(best[-1][1]) if i != 2 or best[-1][1][at - 1:at] != [2]]
        return found + [1]

    def text(self, ids):
        return "".join(self.pieces[i] for i in ids if i > 2).replace(SPACE, " ").removeprefix(" ")
