#!/usr/bin/env python3
"""Writes small image files and what Pillow and NumPy make of them: data/*.jpg, data/*.png, data/*.webp and data/expected.json.

    make-fixtures.py [--to DIR] [--random N] [--seed S]

Needs Debian's python3-pil and python3-numpy. With --random, N further cases of each kind; ImageTests reads another folder
than data/ from the environment variable RAPT_IMAGE_DATA."""

import argparse
import io
import json
import random
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps


def hashed(data):
    """FNV-1a, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in bytes(data):
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return f"{value:016x}"


def pattern(seed, count):
    """Bytes that the test makes in the same way."""
    state, result = seed, bytearray()
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
        result.append(state >> 56)
    return bytes(result)


def picture(rng, width, height, mode):
    """Smooth colors with some noise, so that JPEG has both to do."""
    bands = len(Image.new(mode, (1, 1)).getbands())
    y, x = np.mgrid[0:height, 0:width]
    planes = []
    for _ in range(bands):
        a, b, c = (rng.uniform(-9, 9) for _ in range(3))
        noise = np.frombuffer(pattern(rng.randrange(1 << 30), width * height), np.uint8).reshape(height, width)
        planes.append((128 + 90 * np.sin(a * x / width + b * y / height + c) + noise / 7).clip(0, 255).astype(np.uint8))
    return Image.merge(mode, [Image.fromarray(plane) for plane in planes]) if bands > 1 else Image.fromarray(planes[0])


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, depth, color, seed, interlaced=False, more=b""):
    """A PNG of random samples; Pillow cannot write all kinds."""
    bits = depth * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color]
    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    rows = b""
    for left, top, across, down in passes if interlaced else [(0, 0, 1, 1)]:
        columns = len(range(left, width, across))
        for row in range(top, height, down) if columns else []:
            rows += b"\0" + pattern(seed + row, (columns * bits + 7) // 8)
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + more + chunk(b"IDAT", zlib.compress(rows, 9)) +
            chunk(b"IEND", b""))


def exif(orientation, big=False):
    order = ">" if big else "<"
    return ((b"MM\0*" if big else b"II*\0") + struct.pack(order + "IH", 8, 1) +
            struct.pack(order + "HHIHHI", 0x112, 3, 1, orientation, 0, 0))


def jpeg(image, **options):
    file = io.BytesIO()
    image.save(file, "JPEG", **options)
    return file.getvalue()


def files(rng):
    """Every kind of file, by name."""
    def size():
        return rng.randrange(1, 40), rng.randrange(1, 40)

    for name, options in {"420": {"subsampling": 2}, "422": {"subsampling": 1}, "444": {"subsampling": 0, "quality": 95},
                          "progressive": {"progressive": True}, "restart": {"quality": 30}}.items():
        yield f"rgb-{name}.jpg", jpeg(picture(rng, *size(), "RGB"), **options)
    yield "gray.jpg", jpeg(picture(rng, *size(), "L"))
    yield "cmyk.jpg", jpeg(picture(rng, *size(), "CMYK"))
    width, height = rng.randrange(2, 9), rng.randrange(9, 16)
    for orientation in range(1, 9):
        turned = picture(rng, width, height, "RGB")
        yield f"turned-{orientation}.jpg", jpeg(turned, quality=40, exif=b"Exif\0\0" + exif(orientation, orientation % 2))
    for color, depths in {0: (1, 2, 4, 8, 16), 2: (8, 16), 4: (8, 16), 6: (8, 16)}.items():
        for depth in depths:
            yield f"color{color}-{depth}.png", png(*size(), depth, color, rng.randrange(1 << 30))
    for depth in (1, 2, 4, 8):
        palette = chunk(b"PLTE", pattern(depth, 3 * (1 << depth)))
        yield f"palette-{depth}.png", png(*size(), depth, 3, rng.randrange(1 << 30), more=palette)
    clear = chunk(b"PLTE", pattern(9, 3 * 16)) + chunk(b"tRNS", pattern(5, 7))
    yield "palette-clear.png", png(*size(), 4, 3, rng.randrange(1 << 30), more=clear)
    yield "interlaced.png", png(*size(), 8, 2, rng.randrange(1 << 30), interlaced=True)
    yield "interlaced-bits.png", png(*size(), 1, 0, rng.randrange(1 << 30), interlaced=True)
    yield "turned.png", png(5, 3, 8, 2, rng.randrange(1 << 30), more=chunk(b"eXIf", exif(6)))


def webp(image, **options):
    file = io.BytesIO()
    image.save(file, "WEBP", **options)
    return file.getvalue()


def webp_files(rng):
    """They come of numbers of their own, so that the other files stay what they were."""
    for mode in ("RGB", "RGBA"):
        for lossless in (False, True):
            size = rng.randrange(1, 40), rng.randrange(1, 40)
            yield f"{mode.lower()}-{'lossless' if lossless else 'lossy'}.webp", webp(picture(rng, *size, mode), lossless=lossless, exact=True)
    yield "turned-6.webp", webp(picture(rng, 7, 12, "RGB"), exif=exif(6))
    yield "turned-8.webp", webp(picture(rng, 9, 4, "RGB"), lossless=True, exif=exif(8, big=True))


def decoded(data):
    return ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")


def resize_case(rng, most):
    seed, width, height, to_width, to_height = (rng.randrange(1, most) for _ in range(5))
    choice = rng.randrange(6)
    image = Image.frombytes("RGB", (width, height), pattern(seed, width * height * 3))
    result = image.resize((to_width, to_height), choice)
    return {"seed": seed, "width": width, "height": height, "to_width": to_width, "to_height": to_height,
            "filter": choice, "hash": hashed(result.tobytes())}


def crop(pixels, height, width):
    """Hugging Face's center_crop, black where the image is too small."""
    top, left = (pixels.shape[0] - height) // 2, (pixels.shape[1] - width) // 2
    if top >= 0 and left >= 0:
        return pixels[top:top + height, left:left + width]
    new_height, new_width = max(height, pixels.shape[0]), max(width, pixels.shape[1])
    padded = np.zeros((new_height, new_width, 3), np.uint8)
    top_pad, left_pad = -(-(new_height - pixels.shape[0]) // 2), -(-(new_width - pixels.shape[1]) // 2)
    padded[top_pad:top_pad + pixels.shape[0], left_pad:left_pad + pixels.shape[1]] = pixels
    top, left = top + top_pad, left + left_pad
    return padded[max(0, top):min(new_height, top + height), max(0, left):min(new_width, left + width)]


def preprocessed(data, config):
    """The steps of Hugging Face's image processors in NumPy."""
    image = decoded(data)
    if config["do_resize"]:
        size = config["size"]
        if "shortest_edge" in size:
            short, long = sorted(image.size)
            edge, longer = size["shortest_edge"], int(size["shortest_edge"] * long / short)
            image = image.resize((edge, longer) if image.width <= image.height else (longer, edge), config["resample"])
        else:
            image = image.resize((size["width"], size["height"]), config["resample"])
    pixels = np.array(image)
    if config["do_center_crop"]:
        pixels = crop(pixels, config["crop_size"]["height"], config["crop_size"]["width"])
    if config["do_rescale"]:
        pixels = (pixels.astype(np.float64) * config["rescale_factor"]).astype(np.float32)
    pixels = pixels.astype(np.float32)
    if config["do_normalize"]:
        mean, std = (np.array(config[key], np.float32) for key in ("image_mean", "image_std"))
        pixels = (pixels - mean) / std
    return pixels.transpose(2, 0, 1)


def preprocess_case(rng, names, contents):
    side = lambda: rng.randrange(1, 30)
    config = {"do_resize": rng.random() < 0.8, "do_center_crop": rng.random() < 0.6, "do_rescale": rng.random() < 0.8,
              "do_normalize": rng.random() < 0.8, "resample": rng.randrange(6), "rescale_factor": 1 / rng.choice([255, 127.5]),
              "size": {"shortest_edge": side()} if rng.random() < 0.5 else {"height": side(), "width": side()},
              "crop_size": {"height": side(), "width": side()},
              "image_mean": [rng.uniform(0, 1) for _ in range(3)], "image_std": [rng.uniform(0.1, 1) for _ in range(3)]}
    name = rng.choice(names)
    values = preprocessed(contents[name], config)
    return {"file": name, "config": json.dumps(config), "height": values.shape[1], "width": values.shape[2],
            "hash": hashed(np.ascontiguousarray(values, "<f4").tobytes())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=Path(__file__).parent / "data")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    args.to.mkdir(parents=True, exist_ok=True)
    contents = dict(files(rng))
    for copy in range(args.random):
        contents.update((f"{copy}-{name}", data) for name, data in files(rng))
    names = list(contents)
    contents.update(webp_files(random.Random(args.seed)))
    cases = {"decode": [], "resize": [], "preprocess": []}
    for name, data in contents.items():
        (args.to / name).write_bytes(data)
        image = decoded(data)
        cases["decode"].append({"file": name, "width": image.width, "height": image.height,
                                "hash": hashed(image.tobytes())})
    cases["resize"] = [resize_case(rng, most) for most in (3, 10, 40, 90) for _ in range(10 + args.random)]
    cases["preprocess"] = [preprocess_case(rng, names, contents) for _ in range(24 + 10 * args.random)]
    lines = ",\n".join(f' "{kind}": [\n' + ",\n".join("  " + json.dumps(case) for case in list_) + "\n ]"
                       for kind, list_ in cases.items())
    (args.to / "expected.json").write_text("{\n" + lines + "\n}\n")


main()
