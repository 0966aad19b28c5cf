#!/usr/bin/env python3
"""Attention's weights and log-sum-exp as outputs, on a random model of the llama family (grouped queries, a window, a cache of several blocks) and one of vit.

    attention_weights.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run --rapt-reference build/bin/rapt-reference

Compiled weights and log-sum-exp equal those of the reference evaluator in float64 to 1e-5, and rows of weights sum to 1 as exactly; the files of
`rapt-run --attention-weights` are the same numbers with pictures beside them, of greedy text and of beams. bert_tasks.py,
t5_generation.py and alignment.py use `compare` and `check_files` for encoders and for cross attention.
"""

import argparse
import json
import os
import re
import resource
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import llama  # noqa: E402
import passed  # noqa: E402
import vit  # noqa: E402

TOLERANCE = 1e-5
IMAGES = os.path.join(HERE, "..", "Image", "data")


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return done.stdout


def compare(tools, work, library, source, inputs, masks, names, *flags, more=("logits",)):
    """`names`: {output: the mask of its queries}. `more`: outputs that the entry
    must be asked for. Gives the compiled weights [batch, length, layers, heads, positions], and log-sum-exp without the positions."""
    text, weights = os.path.join(work, "imported.mlir"), [f"--weights={source}"]
    if any(flag.startswith("--random-weights") for flag in flags):
        weights = [flag for flag in flags if flag.startswith("--random-weights")]
    run(tools.raptc, source, *flags, "--emit=imported", "-o", text)
    arguments = []
    for name, array in {**inputs, **masks}.items():
        path = os.path.join(work, f"in-{name}.npy")
        numpy.save(path, array.astype(numpy.float32 if array.dtype == numpy.float32 else numpy.int64))
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
        tolerance = TOLERANCE * max(1, numpy.abs(wanted).max())
        assert numpy.abs(got - wanted).max() <= tolerance, (name, numpy.abs(got - wanted).max())
        if name.endswith("attentions"):
            assert numpy.abs(got[mask == 1].sum(-1) - 1).max() <= TOLERANCE, f"{name}: rows do not sum to 1"
        else:
            assert got[mask == 1].all(), f"{name} is 0 for a query"
        assert not got[mask == 0].any(), f"{name} behind a row's end is not 0"
    return found["compiled"]


def read_png(path):
    """The pixels of a picture, [height, width, 3]."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0]
        parts[kind] = parts.get(kind, b"") + body
        at += 12 + size
    width, height, *rest = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert rest == [8, 2, 0, 0, 0]
    lines = numpy.frombuffer(zlib.decompress(parts[b"IDAT"]), numpy.uint8).reshape(height, 3 * width + 1)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(height, width, 3)


# viridis, as lib/Drawing/ColorScale.h has it
VIRIDIS = ((0.2777273272234177, 0.005407344544966578, 0.3340998053353061), (0.1050930431085774, 1.404613529898575, 1.384590162594685),
           (-0.3308618287255563, 0.214847559468213, 0.09509516302823659), (-4.634230498983486, -5.799100973351585, -19.33244095627987),
           (6.228269936347081, 14.17993336680509, 56.69055260068105), (4.776384997670288, -13.74514537774601, -65.35303263337234),
           (-5.435455855934631, 4.645852612178535, 26.3124352495832))


def colors(weights):
    """The color of each weight, of a scale up to the largest one."""
    top = weights.max()
    share = (weights / (top if top > 0 else 1)).astype(numpy.float32).astype(float)[..., None]
    mixed = sum(numpy.array(c) * share ** power for power, c in enumerate(VIRIDIS))
    return numpy.floor(numpy.clip(mixed, 0, 1) * 255 + 0.5).astype(int)


CELL, MARGIN = 24, 12  # pixels of a picture with text on its axes


def label(token):
    """The text of a token on an axis."""
    return token.replace(" ", "\u2423").replace("\t", "\u21e5").replace("\n", "\u21b5")


def same(found, wanted):
    """Equal but for rounding."""
    return found.shape == wanted.shape and numpy.abs(found.astype(int) - wanted).max() <= 1


def check_picture(path, weights, queries, keys):
    """The cells, and that text is where a token is."""
    picture = read_png(path)
    rows, columns = weights.shape
    side = min(4096 // max(weights.shape), CELL)
    cells = colors(weights).repeat(side, 0).repeat(side, 1)
    if side < 10:  # no room for text
        assert same(picture, cells)
        return
    height, width = picture.shape[:2]
    left, top = width - MARGIN - columns * side, height - MARGIN - rows * side
    assert left > MARGIN < top and same(picture[top:-MARGIN, left:-MARGIN], cells)
    dark = picture.max(-1) < 128
    for i, token in enumerate(queries):
        assert dark[top + i * side:top + (i + 1) * side, :left - 2].any() == bool(token), (i, token)
    for i, token in enumerate(keys):
        assert dark[MARGIN + 40:top - 2, left + i * side:left + (i + 1) * side].any() == bool(token), (i, token)
    assert dark[:MARGIN + 14, 6:].any(), "the title"


def check_svg(path, weights, queries, keys):
    with open(path, encoding="utf-8") as file:
        svg = file.read()
    escape = lambda text: label(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    labels = re.findall(r"<text transform[^>]*>([^<]*)</text>", svg), re.findall(r'text-anchor="end">([^<]*)</text>', svg)
    assert labels == ([escape(key) for key in keys], [escape(query) for query in queries]), labels
    shades = [[int(part) for part in cell] for cell in re.findall(r'fill="rgb\((\d+),(\d+),(\d+)\)', svg)]
    assert same(numpy.array(shades), colors(weights).reshape(-1, 3))
    assert 'fill="url(#scale)"' in svg and f">{float(weights.max()):.3g}</text>" in svg, "the bar"


def check_files(folder, name, weights, layers, heads, queries, keys):
    """`weights` [length, layers, heads, positions] of one row; `queries` and `keys`: the tokens on the axes."""
    for l, layer in enumerate(layers):
        for h, head in enumerate(heads):
            path = os.path.join(folder, f"{name}-layer{layer}-head{head}")
            drawn = numpy.load(path + ".npy")
            assert drawn.shape == (len(queries), len(keys))
            assert numpy.abs(drawn - weights[:len(queries), l, h, :len(keys)]).max() <= 1e-6
            check_picture(path + ".png", drawn, queries, keys)
            check_svg(path + ".svg", drawn, queries, keys)
        sheet = read_png(os.path.join(folder, f"{name}-layer{layer}.png"))
        assert sheet.shape[1] > 256 and len(numpy.unique(sheet.reshape(-1, 3), axis=0)) > 20, "the overview of the heads"


def check_generation(tools, work):
    """A decoder: what rapt-run draws after generating is of the prompt and what it made."""
    model, library = os.path.join(work, "model"), os.path.join(work, "model.so")
    config = llama.makeModel(model, {"model_type": "mistral", "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 12,
                                     "hidden_size": 60, "sliding_window": 70, "max_position_embeddings": 530, "num_hidden_layers": 4}, 11)
    flags = ["--attention-weights=1-2/0,3,5", "--attention-log-sum-exp=0,3/0,2-3"]
    run(tools.raptc, model, *flags, "-o", library)
    random, lengths = numpy.random.RandomState(3), (131, 1, 64, 0)
    ids = random.randint(0, config["vocab_size"], (4, 131))
    mask = (numpy.arange(131)[None] < numpy.array(lengths)[:, None]).astype(int)
    got = compare(tools, work, library, model, {"input_ids": ids}, {"attention_mask": mask}, {"attentions": mask, "log_sum_exp": mask}, *flags)
    assert got["attentions"].shape == (4, 131, 2, 3, 530) and got["log_sum_exp"].shape == (4, 131, 2, 3)
    assert got["attentions"][0, 130, :, :, :61].max() == 0 < got["attentions"][0, 130, :, :, 61:131].min(), "the window"
    maps, prompt = os.path.join(work, "maps"), ids[0, :5].tolist()
    look = [tools.rapt_run, library, "--tokens", ",".join(map(str, prompt)), "-n", "3", "--ignore-eos", "--attention-weights"]
    for search in ([], ["--beams", "3", "--returns", "2"]):
        made = run(*look, maps, *search).split("\n")[0]
        whole = prompt + [int(token) for token in made.split(",")]
        every = numpy.ones((1, 8), int)
        got = compare(tools, work, library, model, {"input_ids": numpy.array([whole])}, {}, {"attentions": every}, *flags)
        labels = [str(token) for token in whole]
        assert len(os.listdir(maps)) == 2 * (3 * 3 + 1)
        check_files(maps, "attentions", got["attentions"][0], (1, 2), (0, 3, 5), labels, labels)
    some = os.path.join(work, "some")
    run(*look, some)
    # A run removes the files of the one before, of however many texts or images; names that no run gives stay, and what is no file.
    older = ["row12-encoder_attentions-layer0-head10.svg", "image0-attentions-layer3-overlay.png", "cross_attentions-layer0.png"]
    kept = ["attentions-layer1-head0.npy.bak", "attentions-layer1-head.npy", "my-attentions-layer1.png", "row-attentions-layer1.png",
            "attentions-layer1.svg", "Attentions-layer1.png", "notes.txt", "attentions-layer7.png"]
    for name in older + kept[:-1]:
        Path(some, name).touch()
    os.symlink("notes.txt", os.path.join(some, kept[-1]))
    run(*look, some, "--attention-layers", "2", "--attention-heads", "3,5")
    for name in kept:
        os.remove(os.path.join(some, name))
    assert sorted({name.split(".")[0] for name in os.listdir(some)}) == ["attentions-layer2", *(f"attentions-layer2-head{head}" for head in (3, 5))]
    refuse(look + [os.path.join(work, "none"), "--attention-layers", "0-1"],
           "--attention-layers: 0 is asked for; the layers that model gives are those of attentions with 1-2")
    refuse(look + [os.path.join(work, "none"), "--attention-heads", "0,6"],
           "--attention-heads: 6 is asked for; the heads that model gives are those of attentions with 0,3,5")
    check_large(look, ids[:4].flatten()[:520], os.path.join(work, "large"))
    with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
        return json.load(file)["model_type"]


def refuse(command, message, **how):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, **how)
    assert done.returncode == 1 and not done.stdout and done.stderr == f"rapt-run: error: {message}\n", done


def check_large(look, ids, maps):
    """More tokens than the output holds."""
    look = [*look[:3], ",".join(map(str, ids)), "-n", "0", "--attention-weights", maps, "--attention-layers", "1", "--attention-heads", "0"]
    done = subprocess.run(look, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=True)
    for told in ("attentions: 520 x 520 tokens are more than the 262,144 cells of an .svg, which is not written\n",
                 "attentions: 520 x 520 tokens leave cells of 7 pixels in a .png: too small for the tokens' text\n"):
        assert done.stderr.count(told) == 1, done.stderr
    path = os.path.join(maps, "attentions-layer1-head0")
    assert sorted(os.listdir(maps)) == [os.path.basename(path) + end for end in (".npy", ".png")]
    check_picture(path + ".png", numpy.load(path + ".npy"), (), ())


def check_memory(tools, work):
    """Weights of 3000 rows of 530 tokens take 20 GB."""
    numpy.save(os.path.join(work, "many.npy"), numpy.ones((3000, 530), numpy.int32))
    out = os.path.join(work, "many-out.npy")
    refuse([tools.rapt_run, os.path.join(work, "model.so"), "--input", f"input_ids={work}/many.npy", "--output", f"attentions={out}"],
           "no memory for attentions, 20.2 GB", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 33, 1 << 33)))
    assert not os.path.exists(out)


def check_images(tools, work):
    """A vision transformer, on images of its own size and of smaller ones; the axes are the class token and patches."""
    model, library = os.path.join(work, "vit"), os.path.join(work, "vit.so")
    vit.make(model, {"hidden_size": 66, "num_attention_heads": 3, "intermediate_size": 97, "image_size": 35, "patch_size": 5}, 5)
    with open(os.path.join(model, "preprocessor_config.json"), "w", encoding="utf-8") as file:
        json.dump({"image_processor_type": "ViTImageProcessor", "do_resize": True, "size": {"height": 15, "width": 40}, "resample": 2,
                   "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": False}, file)
    flags = ["--attention-weights=all/0,2", "--attention-log-sum-exp"]
    run(tools.raptc, model, *flags, "-o", library)
    random = numpy.random.RandomState(3)
    for images, height, width in ((2, 35, 40), (9, 11, 23), (1, 5, 5)):
        pixels, tokens = random.standard_normal((images, 3, height, width)).astype(numpy.float32), height // 5 * (width // 5) + 1
        every = numpy.ones((images, tokens), int)
        both = compare(tools, work, library, model, {"pixel_values": pixels}, {}, {"attentions": every, "log_sum_exp": every}, *flags,
                       more=("last_hidden_state",))
        assert both["log_sum_exp"].shape == (images, tokens, 2, 3)
        got = both["attentions"]
        assert got.shape[:2] == (images, tokens) and got.shape[3:] == (2, 57) and not got[..., tokens:].any(), got.shape
    numpy.save(os.path.join(work, "wide.npy"), numpy.zeros((1, 3, 35, 41), numpy.float32))
    refuse([tools.rapt_run, library, "--input", f"pixel_values={work}/wide.npy", "--output", f"attentions={work}/wide-out.npy"],
           "width is 41; the model is compiled for 5 to 40")
    maps, picture = os.path.join(work, "image-maps"), os.path.join(IMAGES, "color2-8.png")
    weights = os.path.join(work, "image.npy")
    run(tools.rapt_run, library, "--image", picture, "--image", picture, "--attention-weights", maps, "--attention-layers", "1",
        "--output", f"attentions={weights}")
    assert len(os.listdir(maps)) == 2 * (2 * 3 + 2)
    overlay = read_png(os.path.join(maps, "image1-attentions-layer1-overlay.png"))
    assert min(overlay.shape[:2]) > 100 and len(numpy.unique(overlay.reshape(-1, 3), axis=0)) > 20, "the image below its patches' weights"
    labels = ["cls"] + [f"{y},{x}" for y in range(3) for x in range(8)]
    check_files(maps, "image1-attentions", numpy.load(weights)[1][:, 1:], (1,), (0, 2), labels, labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("raptc", "rapt-run", "rapt-reference"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--limited", action="store_true", help="limit memory, too (not with sanitizers, which take all addresses)")
    tools = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rapt-attention-") as work:
        family = check_generation(tools, work)
        with open(os.path.join(work, "imported.mlir"), encoding="utf-8") as file:
            passed.ops("compiled", file.read())
        if tools.limited:
            check_memory(tools, work)
        check_images(tools, work)
        print(f"{family}, vit: weights and pictures as expected")


if __name__ == "__main__":
    main()
