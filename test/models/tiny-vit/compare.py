#!/usr/bin/python3
"""Every held-out picture through rapt-run: its class must be PyTorch's. Needs python3-numpy, and python3-torch with
python3-pil unless --stored is given.

    compare.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run             PyTorch computes beside it
    compare.py --raptc ... --rapt-run ... --stored                               what it computed is in expected.json

Prints how many agree and how far probabilities are apart; exit status 1 if one class differs.
"""

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy

import shapes

HERE = os.path.dirname(os.path.abspath(__file__))
TOGETHER = 250


def write_png(path, pixels):
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    lines = numpy.concatenate([numpy.zeros((len(pixels), 1), numpy.uint8), pixels.reshape(len(pixels), -1)], 1)
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines.tobytes(), 1)) + chunk(b"IEND", b""))


def ours(options, count, work):
    """[picture, class] probabilities by rapt-run."""
    library = os.path.join(work, "tiny-vit.so")
    subprocess.run([options.raptc, HERE, "-o", library], check=True, stderr=subprocess.DEVNULL)
    paths = []
    for number in range(count):
        paths.append(os.path.join(work, f"{number}.png"))
        write_png(paths[-1], shapes.draw(shapes.HELD_OUT, number)[0])
    rows = []
    for first in range(0, count, TOGETHER):
        images = [part for path in paths[first : first + TOGETHER] for part in ("--image", path)]
        command = [options.rapt_run, library, "--json", f"--top-k={len(shapes.CLASSES)}", *images]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for labels in json.loads(printed)["results"]:
            chances = {entry["label"]: entry["score"] for entry in labels}
            rows.append([chances[name] for name in shapes.CLASSES])
    return numpy.array(rows)


def theirs(count):
    import torch
    import train

    torch.set_num_threads(1)
    model = train.load()
    return train.predict(model, train.pictures(shapes.HELD_OUT, count)[0]).numpy()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run", required=True)
    parser.add_argument("--stored", action="store_true")
    options = parser.parse_args()
    with open(os.path.join(HERE, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    with tempfile.TemporaryDirectory(prefix="rapt-tiny-vit-") as work:
        found = ours(options, expected["pictures"], work)
    kinds, wanted = found.argmax(1), numpy.array([int(digit) for digit in expected["predictions"]])
    if not options.stored:
        chances = theirs(expected["pictures"])
        print(f"probabilities differ by at most {abs(found - chances).max():.1e}")
        wanted = chances.argmax(1)
    print(f"{(kinds == wanted).sum()} of {len(wanted)} classes are PyTorch's")
    sys.exit(0 if (kinds == wanted).all() else 1)


if __name__ == "__main__":
    main()
