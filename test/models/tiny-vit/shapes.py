#!/usr/bin/python3
"""Draws the pictures that tiny-vit is trained on: one light shape of any color, size, place and turn
before a dark background.

    shapes.py DIR [--seed N] [--count N]    writes them as PNG, named by number and class; needs python3-pil

Picture i of a seed depends on both numbers alone. Distances to the outlines are signed, in pixels; coverage is linear
within half a pixel of the outline.
"""

import argparse
import os

import numpy

CLASSES = ("circle", "ring", "crescent", "square", "frame", "triangle", "star", "cross")
SIDE = 64
TRAINING, HELD_OUT = 1, 2  # seeds


def star(x, y):
    """Five points; the valleys lie at 0.45 of the points' radius."""
    angle, radius = numpy.arctan2(x, y), numpy.hypot(x, y)
    folded = numpy.abs((angle + numpy.pi / 5) % (2 * numpy.pi / 5) - numpy.pi / 5)
    u, v = radius * numpy.cos(folded), radius * numpy.sin(folded)
    a = 0.45 * numpy.cos(numpy.pi / 5), 0.45 * numpy.sin(numpy.pi / 5)
    length = numpy.hypot(1 - a[0], a[1])
    return ((u - 1) * a[1] + v * (1 - a[0])) / length


def distance(kind, x, y):
    """To the outline of a shape that a circle of radius 1 encloses; negative inside."""
    radius, side = numpy.hypot(x, y), numpy.maximum(abs(x), abs(y))
    if kind == "circle":
        return radius - 0.9
    if kind == "ring":
        return abs(radius - 0.78) - 0.2
    if kind == "crescent":
        return numpy.maximum(radius - 1, 0.8 - numpy.hypot(x - 0.5, y))
    if kind == "square":
        return side - 0.75
    if kind == "frame":
        return abs(side - 0.62) - 0.16
    if kind == "triangle":
        return numpy.maximum.reduce([numpy.cos(t) * x + numpy.sin(t) * y for t in numpy.pi * numpy.array([0.5, 7 / 6, 11 / 6])]) - 0.5
    if kind == "star":
        return star(x, y)
    bar = lambda p, q: numpy.maximum(abs(p) - 0.95, abs(q) - 0.28)
    return numpy.minimum(bar(x, y), bar(y, x))


def draw(seed, number):
    """(pixels uint8 [64, 64, 3], class)"""
    random = numpy.random.RandomState([seed, number])
    kind = random.randint(len(CLASSES))
    size = random.uniform(14, 26)
    place = random.uniform(size + 1, SIDE - 1 - size, 2)
    turn = random.uniform(0, 2 * numpy.pi)
    ground, paint = random.uniform(0, 110, 3), random.uniform(140, 255, 3)
    slope = random.uniform(-40, 40, (2, 3))
    grid = (numpy.arange(SIDE) + 0.5) / SIDE - 0.5
    picture = ground + grid[:, None, None] * slope[0] + grid[None, :, None] * slope[1]
    y, x = numpy.meshgrid(numpy.arange(SIDE) + 0.5 - place[0], numpy.arange(SIDE) + 0.5 - place[1], indexing="ij")
    turned = numpy.cos(turn) * x + numpy.sin(turn) * y, numpy.cos(turn) * y - numpy.sin(turn) * x
    cover = numpy.clip(0.5 - size * distance(CLASSES[kind], turned[0] / size, turned[1] / size), 0, 1)[..., None]
    picture = picture * (1 - cover) + paint * cover + random.normal(0, 6, (SIDE, SIDE, 3))
    return numpy.clip(numpy.rint(picture), 0, 255).astype(numpy.uint8), kind


def main():
    import PIL.Image

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--seed", type=int, default=HELD_OUT)
    parser.add_argument("--count", type=int, default=16)
    options = parser.parse_args()
    os.makedirs(options.directory, exist_ok=True)
    for number in range(options.count):
        pixels, kind = draw(options.seed, number)
        PIL.Image.fromarray(pixels).save(os.path.join(options.directory, f"{number:04}-{CLASSES[kind]}.png"))


if __name__ == "__main__":
    main()
