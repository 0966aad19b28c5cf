#!/usr/bin/python3
"""Draws the pictures that shape-captioner is trained on: two or three colored shapes side by side or one above the other, and says
what is in them.

    scenes.py DIR [--seed N] [--count N]    writes them as PNG with their captions beside them; needs python3-pil

Picture i of a seed depends on both numbers alone.
"""

import argparse
import os

import numpy

SIDE = 64
COLORS = {"red": (214, 48, 49), "green": (46, 160, 67), "blue": (45, 98, 214), "yellow": (232, 195, 40), "purple": (142, 68, 173), "white": (236, 236, 236)}
SHAPES = ("circle", "square", "triangle", "cross", "ring")
WORDS = ("<pad>", "<s>", "</s>", "<unk>", "a", "left", "of", "above", *COLORS, *SHAPES)
TRAINING, HELD_OUT = 1, 2  # seeds


def distance(shape, x, y):
    """To the outline of a shape that a circle of radius 1 encloses; negative inside."""
    radius, side = numpy.hypot(x, y), numpy.maximum(abs(x), abs(y))
    if shape == "circle":
        return radius - 0.9
    if shape == "ring":
        return abs(radius - 0.72) - 0.24
    if shape == "square":
        return side - 0.75
    if shape == "triangle":
        return numpy.maximum.reduce([numpy.cos(t) * x + numpy.sin(t) * y for t in numpy.pi * numpy.array([0.5, 7 / 6, 11 / 6])]) - 0.5
    bar = lambda p, q: numpy.maximum(abs(p) - 0.95, abs(q) - 0.3)
    return numpy.minimum(bar(x, y), bar(y, x))


def scene(seed, number):
    """(pixels uint8 [64, 64, 3], words of the caption, boxes [(left, top, right, bottom)] of its shapes, and for each word the number of the
    shape that it is about, -1 for none)"""
    random = numpy.random.RandomState([seed, number])
    count, isRow = random.randint(2, 4), random.randint(2)
    sizes, kinds = random.uniform(7.5, 9.5, count), [(random.choice(list(COLORS)), random.choice(SHAPES)) for _ in range(count)]
    free = SIDE - 2 * sizes.sum() - 2
    gaps = numpy.sort(random.uniform(0, free, count))
    along = 1 + gaps + 2 * numpy.cumsum(sizes) - sizes
    across = random.uniform(sizes + 1, SIDE - 1 - sizes)
    grid = (numpy.arange(SIDE) + 0.5) / SIDE - 0.5
    slope = random.uniform(-24, 24, (2, 3))
    picture = random.uniform(20, 80, 3) + grid[:, None, None] * slope[0] + grid[None, :, None] * slope[1]
    words, about, boxes = [], [], []
    for i, (color, shape) in enumerate(kinds):
        column, row = (along[i], across[i]) if isRow else (across[i], along[i])
        y, x = numpy.meshgrid(numpy.arange(SIDE) + 0.5 - row, numpy.arange(SIDE) + 0.5 - column, indexing="ij")
        cover = numpy.clip(0.5 - sizes[i] * distance(shape, x / sizes[i], y / sizes[i]), 0, 1)[..., None]
        paint = numpy.array(COLORS[color]) + random.uniform(-16, 16, 3)
        picture = picture * (1 - cover) + paint * cover
        boxes.append((column - sizes[i], row - sizes[i], column + sizes[i], row + sizes[i]))
        relation = [] if i == 0 else ["left", "of"] if isRow else ["above"]
        words += [*relation, "a", color, shape]
        about += [-1] * (len(relation) + 1) + [i, i]
    picture = picture + random.normal(0, 5, (SIDE, SIDE, 3))
    return numpy.clip(numpy.rint(picture), 0, 255).astype(numpy.uint8), words, boxes, about


def main():
    import PIL.Image

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--seed", type=int, default=HELD_OUT)
    parser.add_argument("--count", type=int, default=16)
    options = parser.parse_args()
    os.makedirs(options.directory, exist_ok=True)
    with open(os.path.join(options.directory, "captions.tsv"), "w", encoding="utf-8") as file:
        for number in range(options.count):
            pixels, words, _, _ = scene(options.seed, number)
            PIL.Image.fromarray(pixels).save(os.path.join(options.directory, f"{number:04}.png"))
            file.write(f"{number:04}.png\t{' '.join(words)}\n")


if __name__ == "__main__":
    main()
