#!/usr/bin/env python3
"""Makes one model directory a fault, runs a command on each and checks exit status, message and what is left behind.

faults.py SCRATCH [--batch] COMMAND...: all run in one process with --batch. `{model}` in the command is the directory, `{out}` a file that a failure must not leave. A case that fails keeps its
directory and is shown with the command that repeats it."""

import json
import os
import shlex
import shutil
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import batch
from fixture import Model, POSITIONS, VOCABULARY, WIDTH

CASES = []  # (fault, name, function that changes a Model, texts the message must hold or None: it is accepted)


def refused(fault, *texts):
    def register(change):
        CASES.append((fault, change.__name__, change, texts))
        return change
    return register


def accepted(fault):
    def register(change):
        CASES.append((fault, change.__name__, change, None))
        return change
    return register


def raw(fault, name, content, *texts):
    CASES.append((fault, name, lambda model: setattr(model, "raw", content(model)), ("model.safetensors", *texts)))


def entry(fault, name, tensor, change, *texts):
    CASES.append((fault, name, lambda model: model.entries.update({tensor: change}),
                  ("model.safetensors", f'"{tensor}"', *texts)))


def with_length(n):
    return lambda model: struct.pack("<Q", n(model) if callable(n) else n) + model.safetensors()[8:]


def with_header(header):
    return lambda model: struct.pack("<Q", len(header)) + header


END = WIDTH * VOCABULARY * 4
SIZE = len(Model().safetensors())
raw(1, "empty", lambda m: b"", "0 bytes")
raw(2, "seven-bytes", lambda m: b"\x01" * 7, "7 bytes")
raw(3, "length-0", with_length(0), "length 0")
raw(4, "length-2-63", with_length(2**63), "9223372036854775808", "100000000")
raw(4, "length-2-64", with_length(2**64 - 1), "18446744073709551615", "100000000")
raw(5, "length-past-end", with_length(SIZE + 1), str(SIZE + 1), str(SIZE - 8), str(SIZE))
raw(6, "length-cap", with_length(100000001), "100000001", "100000000")
raw(7, "not-utf-8", with_header(b'{"\xff": 1}'), "header", "UTF-8")
raw(8, "not-json", with_header(b"{hello"), "header", "byte 1")
raw(8, "list", with_header(b"[]"), "header", "'['")
raw(8, "garbage", with_header(b"{} x"), "header", "byte 3")
raw(9, "deep", with_header(b'{"a":' + b"[" * 1000000), "nested more than 8")


def duplicate(model):
    model.header = lambda root: json.dumps(root).encode()[:-1] + b', "wte.weight": {}}'


def duplicate_inner(model):
    model.header = lambda root: json.dumps(root).encode().replace(b'"dtype": "F32"', b'"dtype": "F32", "dtype": "F32"', 1)


CASES.append((10, "duplicate-tensor", duplicate, ("model.safetensors", '"wte.weight"', "twice")))
CASES.append((11, "duplicate-key", duplicate_inner, ("model.safetensors", '"dtype"', "twice")))
for label, value, shown in [("float", 0.5, "0.5"), ("negative", -4, "-4"), ("large", 2**53 + 1, str(2**53 + 1)),
                            ("string", "0", '"0"')]:
    entry(12, "offset-" + label, "wte.weight", {"data_offsets": [value, END]}, shown, "2^53")
entry(13, "begin-after-end", "wte.weight", {"data_offsets": [END, 0]}, str(END), "end at 0")
entry(14, "overlap", "wpe.weight", {"data_offsets": [END - 4, END - 4 + POSITIONS * WIDTH * 4]}, str(END - 4), str(END), '"wte.weight"')
entry(15, "gap", "wpe.weight", {"data_offsets": [END + 4, END + 4 + POSITIONS * WIDTH * 4]}, "4 bytes", str(END + 4), str(END))
CASES.append((16, "trailing", lambda m: setattr(m, "tail", b"12345"), ("model.safetensors", "5 bytes follow")))
CASES.append((17, "truncated", lambda m: setattr(m, "cut", SIZE - 100), ("model.safetensors", '"ln_f.bias"', "truncated")))
entry(18, "overflow", "wte.weight", {"shape": [2**32, 2**32, 4]}, "[4294967296, 4294967296, 4]", "overflows")
entry(18, "overflow-bits", "wte.weight", {"shape": [2, 2**63 - 1]}, "9223372036854775807", "overflows")
entry(19, "size", "wte.weight", {"shape": [VOCABULARY, WIDTH + 1]}, str(VOCABULARY * (WIDTH + 1) * 4), str(END))
entry(20, "type", "wte.weight", {"dtype": "F3"}, "F3", "F32, F16, BF16, F8_E4M3 and F8_E5M2")
entry(20, "integers", "wte.weight", {"dtype": "I32"}, "I32", "F32, F16, BF16, F8_E4M3 and F8_E5M2")


@accepted(20)
def buffers(model):
    model.add("h.0.attn.bias", [1], "I64", b"\0" * 8)
    model.add("h.1.attn.bias", [3], "U8", b"\0" * 3)


@accepted(21)
def misaligned(model):
    model.tensors = {"h.0.attn.bias": ("BOOL", [1], b"\1"), **model.tensors}


@accepted(22)
def scalar_and_empty(model):
    model.add("h.0.attn.bias", [], "F32", b"\0" * 4)
    model.add("h.1.attn.bias", [2, 0], "F32", b"")


@refused(23, "model.safetensors", "\\x1b", "\\x0a", "\\x00", "bytes)...")
def hostile_name(model):
    model.add("\x1b[31m\n\0" + "n" * 1000000, [2], "F32", b"\0" * 4)


@refused(24, '"wpe.weight"', "1 values", "NaN", "index 5")
def nan(model):
    dtype, shape, data = model.tensors["wpe.weight"]
    model.tensors["wpe.weight"] = (dtype, shape, data[:20] + struct.pack("<f", float("nan")) + data[24:])


@refused(27, "pytorch_model.bin", "pickle", "safe_serialization=True")
def pickle(model):
    model.files = {"model.safetensors": None, "pytorch_model.bin": b"\x80\x02}q\0."}


raw(27, "pickle-inside", lambda m: b"PK\x03\x04\0\0\x08\x08" + b"\0" * 64, "pickle")


def sharded(model, change=lambda index: None):
    names = list(model.tensors)
    halves = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    index = {"weight_map": {name: file for file, part in halves.items() for name in part}}
    model.files = {"model.safetensors": None, **{file: model.safetensors(part) for file, part in halves.items()}}
    change(index["weight_map"])
    model.files["model.safetensors.index.json"] = json.dumps(index).encode()


for label, name in [("parent", "../a.safetensors"), ("absolute", "/a.safetensors"), ("backslash", "x\\a.safetensors")]:
    CASES.append((28, "shard-" + label, lambda m, name=name: sharded(m, lambda i: i.update({"wte.weight": name})),
                  ("index.json", '"wte.weight"', name)))


def special(make):
    def change(model):
        sharded(model)
        model.files["a.safetensors"] = make
    return change


def linked(model):
    sharded(model)
    content = model.files["a.safetensors"]

    def link(path):
        with open(path + "-blob", "wb") as file:
            file.write(content)
        os.symlink(os.path.basename(path) + "-blob", path)
    model.files["a.safetensors"] = link


CASES.append((28, "shards", sharded, None))
CASES.append((28, "linked", linked, None))
CASES.append((28, "directory", special(os.mkdir), ("a.safetensors", "a directory")))
CASES.append((28, "fifo", special(os.mkfifo), ("a.safetensors", "a FIFO")))
CASES.append((28, "device", special(lambda path: os.symlink("/dev/zero", path)), ("a.safetensors", "a device")))
CASES.append((29, "missing-shard", special(None), ("index.json", '"a.safetensors"', "missing", '"h.0.attn.c_attn.weight"', "14 tensors")))


@refused(30, "index.json", '"absent"', "a.safetensors")
def not_in_shard(model):
    sharded(model, lambda index: index.update({"absent": "a.safetensors"}))


@accepted(30)
def not_in_index(model):
    model.add("h.0.attn.bias", [1], "F32", b"\0" * 4)
    sharded(model, lambda index: index.pop("h.0.attn.bias"))


@refused(31, "model.safetensors", '"wte.weight"', f"[{VOCABULARY}, {WIDTH}]", f"[{VOCABULARY + 1}, {WIDTH}]")
def vocabulary(model):
    model.config["vocab_size"] = VOCABULARY + 1


@refused(32, "2 missing tensors", '"ln_f.weight"', '"h.1.mlp.c_fc.weight"', f"[{WIDTH}]")
def missing(model):
    del model.tensors["ln_f.weight"], model.tensors["h.1.mlp.c_fc.weight"]


for label, value in [("0", 0), ("negative", -1), ("large", 2**31), ("fraction", 1.5), ("string", "32")]:
    for key in ["n_embd", "n_layer"]:
        CASES.append((33, f"{key}-{label}", lambda m, key=key, value=value: m.config.update({key: value}),
                      ("config.json", key, json.dumps(value), "1 to")))
CASES.append((33, "null", lambda m: m.config.update({"n_inner": None}), None))
CASES.append((33, "integral", lambda m: m.config.update({"n_embd": float(WIDTH)}), None))
CASES.append((33, "heads", lambda m: m.config.update({"n_head": 3}), ("config.json", "n_embd 32", "n_head 3")))
CASES.append((33, "epsilon", lambda m: m.config.update({"layer_norm_epsilon": 0}), ("config.json", "layer_norm_epsilon", "above 0")))
CASES.append((35, "custom-code", lambda m: m.config.update({"auto_map": {"AutoModel": "x.X"}}), None))
CASES.append((42, "layers", lambda m: m.config.update({"n_layer": 100000}), ("model.safetensors", "missing tensors", "more")))
CASES.append((93, "max-length", lambda m: m.files.update({"tokenizer_config.json": b'{"model_max_length": 1000000000000000019884624838656}'}), None))
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 548105171\n"
raw(94, "lfs", lambda m: LFS, "Git LFS pointer", "548105171")
raw(94, "html", lambda m: b"\n<!DOCTYPE html><html>", "HTML page")
for name in ["tokenizer.json", "config.json"]:
    CASES.append((94, "lfs-" + name, lambda m, name=name: m.files.update({name: LFS}), (name, "Git LFS pointer")))


@refused(94, "model.safetensors", "dangling symbolic link", "blob", "unfinished")
def dangling(model):
    def link(path):
        os.symlink("blob", path)
        open(os.path.join(os.path.dirname(path), "blob.incomplete"), "wb").close()
    model.files["model.safetensors"] = link


@refused(94, "model.safetensors.incomplete", "unfinished download")
def incomplete(model):
    model.files = {"model.safetensors": None, "model.safetensors.incomplete": b"123"}


CASES.append((95, "nan", lambda m: setattr(m, "config_text", lambda c: json.dumps({**c, "n_embd": float("nan")}).encode()),
              ("config.json", "NaN", "byte")))
CASES.append((95, "mark", lambda m: setattr(m, "config_text", lambda c: b"\xef\xbb\xbf" + json.dumps(c).encode()), None))
CASES.append((96, "consolidated", lambda m: m.files.update({"consolidated.safetensors": b"x"}), None))
CASES.append((96, "foreign-key", lambda m: m.config.update({"rotary_dim": 8}), ("config.json", "rotary_dim", "8", "--ignore-config-key=rotary_dim")))
CASES.append((96, "extra", lambda m: m.add("cls.extra", [1], "F32", b"\0" * 4), None))


def prepare(scratch, command, name, change, texts):
    """Makes the directories of one case; returns the command and the directory that a failure must leave empty."""
    model, directory, out = Model(), os.path.join(scratch, name, "model"), os.path.join(scratch, name, "out")
    change(model)
    model.write(directory)
    os.mkdir(out)
    if texts is None and name != "0-no-fault" and "{out}" in command:  # one fixture is compiled to the end
        command = [*command, "--dry-run"]
    return [word.replace("{model}", directory).replace("{out}", os.path.join(out, "model.so")) for word in command], out


def problem(answer, out, texts):
    """The first thing that is wrong with one case's outcome, or None."""
    message = answer["stderr"].rstrip("\n")
    if texts is None:
        return None if answer["status"] == 0 else f"refused: {message}"
    if answer["status"] != 1:
        return f"exit status {answer['status']}, must be 1: {message}"
    errors = [line for line in message.split("\n") if "error: " in line]
    if len(errors) != 1 or len(errors[0]) > 100000 or not errors[0].isprintable():
        return f"must be one printable line: {message!r}"
    absent = [text for text in texts if text not in errors[0]]
    if absent:
        return f"the message lacks {absent}: {message}"
    return f"left {os.listdir(out)}" if os.listdir(out) else None


def main():
    scratch, command = sys.argv[1], sys.argv[2:]
    run = batch.run_alone
    if command[0] == "--batch":
        run, command = batch.run, command[1:]
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    cases = [(0, "no-fault", lambda model: None, None)] + CASES
    prepared = [prepare(scratch, command, f"{fault}-{name}", change, texts) for fault, name, change, texts in cases]
    answers = run(command[0], [words[1:] for words, _ in prepared])
    failures = 0
    for (fault, name, _, texts), (words, out), answer in zip(cases, prepared, answers):
        if wrong := problem(answer, out, texts):
            print(f"fault {fault}, {name}: {wrong}"[:2000] + f"\n  again: {shlex.join(words)}")
            failures += 1
        else:
            shutil.rmtree(os.path.dirname(out))
    print(f"{len(cases) - failures} of {len(cases)} cases passed")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
