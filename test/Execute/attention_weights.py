#!/usr/bin/env python3
"""Attention's weights as outputs, on random models of the llama family: grouped queries, a window, a cache of several blocks.

    attention_weights.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run --rapt-reference build/bin/rapt-reference

Compiled weights equal those of the reference evaluator in float64 to 1e-5, and rows sum to 1 as exactly; the files of
`rapt-run --attention-weights` are the same numbers with pictures beside them. bert_tasks.py and t5_generation.py use `compare`
and `check_files` for encoders and for cross attention.
"""

import argparse
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import llama  # noqa: E402
import passed  # noqa: E402

TOLERANCE = 1e-5


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return done.stdout


def compare(tools, work, library, source, inputs, masks, names, *flags, more=("logits",)):
    """`names`: {output: the mask of its queries}. `more`: outputs that the entry
    must be asked for. Gives the compiled weights [batch, length, layers, heads, positions]."""
    text, weights = os.path.join(work, "imported.mlir"), [f"--weights={source}"]
    if any(flag.startswith("--random-weights") for flag in flags):
        weights = [flag for flag in flags if flag.startswith("--random-weights")]
    run(tools.raptc, source, *flags, "--emit=imported", "-o", text)
    arguments = []
    for name, array in {**inputs, **masks}.items():
        path = os.path.join(work, f"in-{name}.npy")
        numpy.save(path, array.astype(numpy.int64))
        arguments += ["--input", f"{name}={path}"]
    found = {}
    for way, command in (("compiled", [tools.rapt_run, library]), ("reference", [tools.rapt_reference, text, *weights, "--precision=f64"])):
        outputs = {name: os.path.join(work, f"{way}-{name}.npy") for name in (*names, *more)}
        wanted = [part for name, path in outputs.items() for part in ("--output", f"{name}={path}")]
        run(*command, *arguments, *wanted)
        found[way] = {name: numpy.load(outputs[name]) for name in names}
    for name, mask in names.items():
        got, wanted = found["compiled"][name], found["reference"][name]
        assert got.dtype == numpy.float32 and got.shape == wanted.shape, (name, got.shape, wanted.shape)
        assert numpy.abs(got - wanted).max() <= TOLERANCE, (name, numpy.abs(got - wanted).max())
        assert numpy.abs(got[mask == 1].sum(-1) - 1).max() <= TOLERANCE, f"{name}: rows do not sum to 1"
        assert not got[mask == 0].any(), f"{name} behind a row's end is not 0"
    return found["compiled"]


def read_png(path):
    """The pixels of a grey picture."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0]
        parts[kind] = body
        at += 12 + size
    width, height, *rest = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert rest == [8, 0, 0, 0, 0]
    lines = numpy.frombuffer(zlib.decompress(parts[b"IDAT"]), numpy.uint8).reshape(height, width + 1)
    assert not lines[:, 0].any()
    return lines[:, 1:]


def check_files(folder, name, weights, layers, heads, queries, keys):
    """`weights` [length, layers, heads, positions] of one row; `queries` and `keys`: the tokens on the axes."""
    for l, layer in enumerate(layers):
        for h, head in enumerate(heads):
            path = os.path.join(folder, f"{name}-layer{layer}-head{head}")
            wanted = weights[:len(queries), l, h, :len(keys)]
            assert numpy.abs(numpy.load(path + ".npy") - wanted).max() <= 1e-6
            grey = numpy.floor(numpy.load(path + ".npy") * 255 + 0.5)
            side = min(512 // max(wanted.shape), 16)
            assert numpy.array_equal(read_png(path + ".png"), grey.repeat(side, 0).repeat(side, 1))
            with open(path + ".svg", encoding="utf-8") as file:
                svg = file.read()
            escape = lambda text: text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            labels = re.findall(r"<text transform[^>]*>([^<]*)</text>", svg), re.findall(r'text-anchor="end">([^<]*)</text>', svg)
            assert labels == ([escape(key) for key in keys], [escape(query) for query in queries]), labels
            shades = [int(shade) for shade in re.findall(r'fill="rgb\((\d+),', svg)]
            assert shades == grey.astype(int).flatten().tolist()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("raptc", "rapt-run", "rapt-reference"):
        parser.add_argument("--" + name, required=True)
    tools = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rapt-attention-") as work:
        model, library = os.path.join(work, "model"), os.path.join(work, "model.so")
        config = llama.makeModel(model, {"model_type": "mistral", "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 12,
                                         "hidden_size": 60, "sliding_window": 70, "max_position_embeddings": 150, "num_hidden_layers": 4}, 11)
        flags = ["--attention-weights=1-2/0,3,5"]
        run(tools.raptc, model, *flags, "-o", library)
        random, lengths = numpy.random.RandomState(3), (131, 1, 64, 0)
        ids = random.randint(0, config["vocab_size"], (4, 131))
        mask = (numpy.arange(131)[None] < numpy.array(lengths)[:, None]).astype(int)
        got = compare(tools, work, library, model, {"input_ids": ids}, {"attention_mask": mask}, {"attentions": mask}, *flags)
        assert got["attentions"].shape == (4, 131, 2, 3, 150)
        assert got["attentions"][0, 130, :, :, :61].max() == 0 < got["attentions"][0, 130, :, :, 61:131].min(), "the window"
        # What rapt-run draws after generating is of the prompt and what it made.
        maps, prompt = os.path.join(work, "maps"), ids[0, :5].tolist()
        made = run(tools.rapt_run, library, "--tokens", ",".join(map(str, prompt)), "-n", "3", "--ignore-eos", "--attention-weights", maps)
        whole = prompt + [int(token) for token in made.split(",")]
        every = numpy.ones((1, 8), int)
        got = compare(tools, work, library, model, {"input_ids": numpy.array([whole])}, {}, {"attentions": every}, *flags)
        labels = [str(token) for token in whole]
        assert len(os.listdir(maps)) == 2 * 3 * 3
        check_files(maps, "attentions", got["attentions"][0], (1, 2), (0, 3, 5), labels, labels)
        with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
            family = json.load(file)["model_type"]
        with open(os.path.join(work, "imported.mlir"), encoding="utf-8") as file:
            passed.ops("compiled", file.read())
        print(f"{family}: weights and pictures as expected")


if __name__ == "__main__":
    main()
