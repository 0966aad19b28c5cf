"""Compares librapt_text with other tokenizers, line by line. Run by hand; no test needs it.

    npm install --prefix REFS tokenizers@0.23.2 @huggingface/tokenizers@0.2.0
    apt-get install python3-sentencepiece
    /usr/bin/python3 make_lines.py lines.jsonl TEXT ...
    /usr/bin/python3 make_tokenizers.py FOLDER TEXT ...
    NODE_REFERENCES=REFS /usr/bin/python3 compare.py librapt_text.so lines.jsonl rust|js|sentencepiece FOLDER/*.json

rust is Hugging Face's own library (tokenizers 0.23.2 with Oniguruma): ids, token types and decoded text must be equal.
js is its rewrite for browsers and sentencepiece the original of two models; where they differ from the Rust library,
Rapt follows the Rust library. A file with the members tokenizer and config is one of ../vectors. Prints, for each
tokenizer, how many lines differ and the first of them."""
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


class View(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class Files(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t)] + [
        (name, View) for name in ("json", "config", "map", "added", "vocab", "merges", "lines")]


class Rapt:
    """One tokenizer through the C interface."""

    def __init__(self, library, content):
        self.library, self.message = library, ctypes.create_string_buffer(400)
        files = Files(ctypes.sizeof(Files))
        files.json = View(content, len(content))
        self.handle = ctypes.c_void_p()
        if library.rapt_tokenizer_open(ctypes.byref(files), ctypes.byref(self.handle), self.message, 400):
            raise SystemExit(self.message.value.decode())

    def answer(self, entry):
        text, pair = entry["text"].encode(), entry.get("pair", None)
        second = None if pair is None else pair.encode()
        capacity = 4 * (len(text) + len(second or b"")) + 4096
        ids, types = (ctypes.c_int32 * capacity)(), (ctypes.c_int32 * capacity)()
        count = ctypes.c_size_t()
        if self.library.rapt_tokenizer_encode_pair(self.handle, text, ctypes.c_size_t(len(text)), second,
                                                   ctypes.c_size_t(len(second or b"")), None, ids, types,
                                                   ctypes.c_size_t(capacity), ctypes.byref(count), self.message, 400):
            return {"error": self.message.value.decode()}
        decoded, size = ctypes.create_string_buffer(32 * capacity), ctypes.c_size_t()
        if self.library.rapt_tokenizer_decode(self.handle, ids, count, 0, decoded, ctypes.c_size_t(32 * capacity),
                                              ctypes.byref(size), self.message, 400):
            return {"error": self.message.value.decode()}
        return {"ids": ids[:count.value], "types": types[:count.value], "decoded": decoded.raw[:size.value].decode()}


def answers_of_node(kind, content, lines, folder):
    path, result = Path(folder) / "tokenizer.json", Path(folder) / "result.jsonl"
    path.write_bytes(content)
    script = Path(__file__).parent / "reference.mjs"
    subprocess.run(["node", str(script), kind, str(path), lines, str(result)], check=True)
    with open(result, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def answers_of_sentencepiece(name, entries):
    import sentencepiece
    processor = sentencepiece.SentencePieceProcessor()
    processor.Load(re.sub(r"(-first)?\.json$", ".model", name))
    for entry in entries:
        yield {"ids": processor.EncodeAsIds(entry["text"])}


def compare(ours, theirs, entries, only_text):
    """(lines compared, lines of which ids, types, text differ, the first difference)."""
    lines, different, first = 0, {"ids": 0, "types": 0, "decoded": 0, "error": 0}, None
    for entry, their in zip(entries, theirs):
        if only_text:
            entry = {"text": entry["text"]}
        own = ours(entry)
        lines += 1
        wrong = [key for key in different if key in their and own.get(key) != their[key]]
        wrong = ["error"] if ("error" in own) != ("error" in their) else [key for key in wrong if key != "error"]
        for key in wrong:
            different[key] += 1
        if wrong and first is None:
            first = {"entry": entry, "rapt": own.get(wrong[0], own), "reference": their.get(wrong[0], their)}
    return lines, different, first


def main():
    library, lines, kind, names = ctypes.CDLL(os.path.abspath(sys.argv[1])), sys.argv[2], sys.argv[3], sys.argv[4:]
    entries = [json.loads(line) for line in open(lines, encoding="ascii")]
    total = bad = 0
    for name in names:
        content = Path(name).read_bytes()
        vector = json.loads(content)
        if "tokenizer" in vector:
            content = json.dumps(vector["tokenizer"]).encode()
        rapt = Rapt(library, content)
        with tempfile.TemporaryDirectory() as folder:
            if kind == "sentencepiece":
                # SentencePiece cuts no special tokens out and adds none.
                bare = json.loads(content)
                bare["post_processor"], bare["added_tokens"] = None, []
                rapt = Rapt(library, json.dumps(bare).encode())
                theirs = answers_of_sentencepiece(name, entries)
            else:
                theirs = answers_of_node(kind, content, lines, folder)
            count, different, first = compare(rapt.answer, theirs, entries, kind == "sentencepiece")
        total, bad = total + count, bad + max(different.values())
        print(f"{Path(name).stem}: {count} lines, different: " + ", ".join(f"{k} {n}" for k, n in different.items()))
        if first:
            print("   first:", json.dumps(first)[:900])
        sys.stdout.flush()
    print(f"{kind}: {total} lines, {bad} different")


main()
