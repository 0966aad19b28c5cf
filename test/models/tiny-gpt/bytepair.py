"""Byte-level byte-pair encoding for ASCII text: trains a vocabulary and writes it as Hugging Face's tokenizer.json.

Ids: 0..255 the bytes in the order of GPT-2's byte alphabet, then one id a merge, then <|endoftext|> as the last one.
Only ASCII text is encoded here, so Python's `re` can stand in for the pattern's \\p{L} and \\p{N}.
"""

import collections
import json
import re

END_OF_TEXT = "<|endoftext|>"
WORDS = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")


def byteAlphabet():
    """The character that stands for each byte: printable ones stand for themselves, the others follow from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in printable]
    table = {b: chr(b) for b in printable}
    table.update({b: chr(0x100 + i) for i, b in enumerate(others)})
    return table, printable + others


class BytePairs:
    def __init__(self, merges):
        """merges: pairs of byte strings, in the order of their ranks."""
        self.alphabet, order = byteAlphabet()
        self.pieces = [bytes([b]) for b in order] + [a + b for a, b in merges]
        self.ids = {piece: i for i, piece in enumerate(self.pieces)}
        self.merges = merges
        self.ranks = {pair: i for i, pair in enumerate(merges)}
        self.endOfText = len(self.pieces)
        self.cache = {}

    def word(self, word):
        """The ids of one pre-token: the lowest rank is merged first, leftmost first."""
        if word not in self.cache:
            parts = [word[i : i + 1] for i in range(len(word))]
            while len(parts) > 1:
                rank, at = min((self.ranks.get(pair, len(self.ranks)), i) for i, pair in enumerate(zip(parts, parts[1:])))
                if rank == len(self.ranks):
                    break
                parts[at : at + 2] = [parts[at] + parts[at + 1]]
            self.cache[word] = [self.ids[p] for p in parts]
        return self.cache[word]

    def encode(self, data):
        """Ids of ASCII bytes, without special tokens."""
        return [i for word in WORDS.findall(data.decode("ascii")) for i in self.word(word.encode("ascii"))]

    def decode(self, ids):
        return b"".join(self.pieces[i] for i in ids if i != self.endOfText)

    def text(self, piece):
        return "".join(self.alphabet[b] for b in piece)

    def save(self, path):
        """Writes tokenizer.json as the tokenizers library does for GPT-2."""
        level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        vocab = {self.text(piece): i for i, piece in enumerate(self.pieces)}
        vocab[END_OF_TEXT] = self.endOfText
        model = {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "",
            "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": vocab,
            "merges": [f"{self.text(a)} {self.text(b)}" for a, b in self.merges],
        }
        added = {
            "id": self.endOfText, "content": END_OF_TEXT, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": True,
        }
        document = {
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": [added], "normalizer": None,
            "pre_tokenizer": level, "post_processor": dict(level, trim_offsets=False), "decoder": level, "model": model,
        }
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file, ensure_ascii=False, indent=1)
            file.write("\n")


def train(data, vocabulary):
    """BytePairs of `vocabulary` ids in all. The most frequent pair is merged; of equals the lexicographically smallest."""
    counts = collections.Counter(WORDS.findall(data.decode("ascii")))
    words = [([bytes([b]) for b in word.encode("ascii")], n) for word, n in sorted(counts.items())]
    pairs, places = collections.Counter(), collections.defaultdict(set)
    for i, (parts, n) in enumerate(words):
        for pair in zip(parts, parts[1:]):
            pairs[pair] += n
            places[pair].add(i)
    merges = []
    while len(merges) < vocabulary - 257:
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        for i in sorted(places.pop(best)):
            parts, n = words[i]
            for pair in zip(parts, parts[1:]):
                pairs[pair] -= n
            at = 0
            while at + 1 < len(parts):
                if (parts[at], parts[at + 1]) == best:
                    parts[at : at + 2] = [parts[at] + parts[at + 1]]
                at += 1
            for pair in zip(parts, parts[1:]):
                pairs[pair] += n
                places[pair].add(i)
        pairs = +pairs
    return BytePairs(merges)


def load(path):
    with open(path, encoding="utf-8") as file:
        model = json.load(file)["model"]
    table = {character: bytes([b]) for b, character in byteAlphabet()[0].items()}
    piece = lambda text: b"".join(table[c] for c in text)
    return BytePairs([tuple(piece(half) for half in merge.split(" ")) for merge in model["merges"]])
