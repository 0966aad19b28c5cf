#!/usr/bin/env python3
"""Images in the prompt of a decoder, on the recorded model of llava (test/Reference/transformers), whose logits recorded_models.py compares with the
transformers package.

    image_text.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run --runtime build/lib/librapt_runtime.so

Texts of `rapt-run --image` are the most likely tokens of whole forward passes. Through the C interface, a prompt that runs in parts of a few tokens has the
logits of the whole, sequences with and without images run together, forks and truncation go on, and each misuse is told.
"""

import argparse
import ctypes
import json
import os
import struct
import subprocess
import tempfile
import zlib

import numpy

import passed
import recorded_models
from context import Context

IMAGE, VOCABULARY, WIDTH, SIDE, VECTORS, END = 60, 61, 48, 32, 16, 2
MEAN, DEVIATION = numpy.array([0.48, 0.46, 0.41]), numpy.array([0.27, 0.26, 0.28])
PROCESSOR = {"image_processor_type": "CLIPImageProcessor", "do_resize": False, "do_center_crop": False, "do_rescale": True, "rescale_factor": 1 / 255,
             "do_normalize": True, "image_mean": list(MEAN), "image_std": list(DEVIATION)}


def write_model(directory):
    recorded_models.write(recorded_models.read("llava"), directory)
    special = {END: "</s>", IMAGE: "<image>"}
    added = [{"id": id, "content": token, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False} for id, token in special.items()]
    vocabulary = {special.get(id, f"w{id}"): id for id in range(VOCABULARY)}
    tokenizer = {"version": "1.0", "added_tokens": added, "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": None, "truncation": None,
                 "padding": None, "post_processor": None,
                 "model": {"type": "WordPiece", "vocab": vocabulary, "unk_token": "w0", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}}
    for name, content in (("tokenizer", tokenizer), ("preprocessor_config", PROCESSOR)):
        with open(os.path.join(directory, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(content, file)


def write_image(path, pixels):
    """pixels: bytes [height, width, 3]"""
    height, width = pixels.shape[:2]
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    part = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + part(b"IDAT", zlib.compress(lines)) + part(b"IEND", b""))


def values(pixels):
    return ((pixels / 255 - MEAN) / DEVIATION).astype(numpy.float32).transpose(2, 0, 1)


def close(found, expected, what):
    assert found.shape == expected.shape, f"{what}: {found.shape}, expected {expected.shape}"
    error = numpy.linalg.norm(found - expected) / numpy.linalg.norm(expected)
    assert error <= 1e-5, f"{what}: relative L2 {error:.1e}"


class Test:
    def __init__(self, options, work):
        self.options, self.work, self.library = options, work, os.path.join(work, "model.so")

    def run(self, *arguments, fails=None):
        done = subprocess.run([self.options.rapt_run, self.library, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        if fails:
            assert done.returncode == 1 and fails in done.stderr and done.stdout == "", (arguments, done)
        else:
            assert done.returncode == 0, (arguments, done)
        self.said = done.stderr
        return done.stdout

    def tensors(self, output, *flags, **inputs):
        arguments, path = [], os.path.join(self.work, "output.npy")
        for name, array in inputs.items():
            numpy.save(os.path.join(self.work, name + ".npy"), array)
            arguments += ["--input", f"{name}={os.path.join(self.work, name)}.npy"]
        self.run(*flags, *arguments, "--output", f"{output}={path}")
        return numpy.load(path)

    def vectors(self, pixels):
        return self.tensors("image_embeddings", "--entry=encode_image", pixel_values=pixels)

    def logits(self, ids, vectors):
        more = {} if vectors is None else {"image_embeddings": vectors}
        return self.tensors("logits", input_ids=numpy.array([ids]), **more)[0]

    def greedy(self, ids, vectors, count):
        made = []
        while len(made) < count:
            logits = self.logits(ids + made, vectors)[-1]
            logits[IMAGE] = -numpy.inf
            made.append(int(logits.argmax()))
            if made[-1] == END:
                return made[:-1]
        return made


def check_text(test, paths, pixels):
    vectors = test.vectors(numpy.stack([values(one) for one in pixels]))
    assert vectors.shape == (len(pixels), VECTORS, WIDTH)
    words = lambda ids: " ".join("<image>" if id == IMAGE else f"w{id}" for id in ids)
    spread = lambda ids: [id for one in ids for id in [one] * (VECTORS if one == IMAGE else 1)]
    seen = set()
    for prompt, images in (([1, 5, IMAGE, 7], [0]), ([IMAGE, 3], [1]), ([9, IMAGE, 4, IMAGE, 8], [1, 0]), ([3, 4, 5], [])):
        given = vectors[images] if images else None
        wanted = test.greedy(spread(prompt), given, 9)
        flags = [part for i in images for part in ("--image", paths[i])]
        found = json.loads(test.run("-p", words(prompt), *flags, "-n", "9", "--json"))
        assert found["tokens"] == wanted and found["prompt_tokens"] == len(spread(prompt)), (prompt, found, wanted)
        one = json.loads(test.run("-p", words(prompt), *flags, "-n", "9", "--json", "--beams", "1"))["sequences"][0]
        assert one["tokens"] == wanted, (prompt, one, wanted)
        seen.add(tuple(wanted))
    assert len(seen) == 4, "the images make no difference"
    test.run("-p", "w5 w6", "--image", paths[0], fails='the prompt has 0 times <image> for 1 image: each image needs one, where it belongs')
    test.run("-p", "w5 <image>", fails='the prompt has 1 times <image> for 0 images')
    test.run("--image", paths[0], fails="model reads images within a text: give one with -p")
    test.run("-p", "<image>", "--image", paths[0], "--attention-weights", test.work, fails="--attention-weights")
    test.run("-p", "<image>", "--image", test.library, fails="model.so")
    return vectors


def check_chat(test, paths):
    """The template writes the images' tokens, ahead of the text."""
    template = "{% for m in messages %}{% for part in m['content'] %}{% if part['type'] == 'image' %}<image> {% else %}{{ part['text'] }} {% endif %}{% endfor %}{% endfor %}w9"
    tokens = lambda *arguments: json.loads(test.run(*arguments, "-n", "5", "--json"))
    with open(os.path.join(test.work, "model", "chat_template.jinja"), "w", encoding="utf-8") as file:
        file.write(template)
    library, test.library = test.library, os.path.join(test.work, "chat.so")
    subprocess.run([test.options.raptc, os.path.join(test.work, "model"), "-o", test.library], check=True, capture_output=True)
    for images in (1, 2):
        flags = [part for path in paths[:images] for part in ("--image", path)]
        plain = tokens("--raw", "-p", "<image> " * images + "w5 w6 w9", *flags)
        found = tokens("--chat", "-p", "w5 w6", *flags)
        assert (found["tokens"], found["prompt_tokens"]) == (plain["tokens"], plain["prompt_tokens"]), (found, plain)
    assert tokens("--chat", "-p", "w5 w6")["tokens"] == tokens("--raw", "-p", "w5 w6 w9")["tokens"]
    test.library = library


def check_sequences(test, vectors):
    context = Context(test.options.runtime, test.library, VOCABULARY, cache_tokens=64 * 8, max_step_tokens=7)
    text = [1, 5] + [IMAGE] * VECTORS + [7, 8] + [IMAGE] * VECTORS + [9]
    plain = [4, 5, 6, 7, 8, 9, 10, 11, 12]
    whole, other = test.logits(text, vectors[:2]), test.logits(plain, None)
    a, b = context.sequence(), context.sequence()
    both = numpy.ascontiguousarray(vectors[:2].reshape(-1, WIDTH))
    found, status = context.step([(a, text), (b, plain)], [both])
    context.must(status)
    close(found[0], whole, "a prompt in parts")
    close(found[1], other, "a text beside it")
    fork = context.fork(a)
    context.must(context.call("sequence_truncate", context.context, ctypes.c_uint64(fork), ctypes.c_int64(10)))
    found, status = context.step([(fork, text[10:]), (b, [3])], [numpy.ascontiguousarray(both[8:])])
    context.must(status)
    close(found[0], whole[10:], "the rest behind a part of an image")
    before = context.available()
    for given, message in ((None, f"chunk 0 has {VECTORS} image tokens and 0 bytes of vectors"), (both[: VECTORS - 1], f"bytes of floats [{VECTORS}, {WIDTH}] are needed")):
        _, status = context.step([(b, [IMAGE] * VECTORS)], [given])
        context.refused(status, "INVALID", message)
    assert context.available() == before


def check_longer_texts(test, source, work, vectors):
    """Rotary embedding by the length of the text, with the same frequencies for all lengths: a text with images is long from its first step on, or not at all."""
    with open(os.path.join(source, "config.json")) as file:
        config = json.load(file)
    config["text_config"] |= {"rope_parameters": {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0] * 6, "long_factor": [1.0] * 6,
                                                  "attention_factor": 1.0, "original_max_position_embeddings": 20}}
    longer, library = os.path.join(work, "longer"), os.path.join(work, "longer.so")
    os.mkdir(longer)
    os.symlink(os.path.join(source, "model.safetensors"), os.path.join(longer, "model.safetensors"))
    with open(os.path.join(longer, "config.json"), "w") as file:
        json.dump(config, file)
    subprocess.run([test.options.raptc, longer, "--target=generic", "-o", library], check=True, capture_output=True)
    context = Context(test.options.runtime, library, VOCABULARY, max_step_tokens=7)
    text, one = [1] + [IMAGE] * VECTORS + [7, 8, 9, 10], numpy.ascontiguousarray(vectors[0])
    whole = test.logits(text, vectors[:1])
    a, b = context.sequence(), context.sequence()
    found, status = context.step([(a, text)], [one])
    context.must(status)
    close(found[0], whole, "a long text with an image")
    found, status = context.step([(b, text[:-2])], [one])
    context.must(status)
    close(found[0], whole[:-2], "a short text with an image")
    context.refused(context.step([(b, text[-2:])])[1], "UNSUPPORTED", "a sequence with images outgrows 20 tokens, for which its images would be needed again: give all of the text to a new sequence in one step")
    context.close()


def main():
    parser = argparse.ArgumentParser()
    for name in ("--raptc", "--rapt-run", "--runtime"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        test, source = Test(options, work), os.path.join(work, "model")
        write_model(source)
        subprocess.run([options.raptc, source, "-o", test.library], check=True, capture_output=True)
        random, paths = numpy.random.RandomState(5), [os.path.join(work, f"{i}.png") for i in range(2)]
        pixels = [random.randint(0, 256, (SIDE, SIDE, 3)).astype(numpy.uint8) for _ in paths]
        for path, one in zip(paths, pixels):
            write_image(path, one)
        vectors = check_text(test, paths, pixels)
        passed.model("compiled", source, options.raptc, "decode")
        check_sequences(test, vectors)
        check_longer_texts(test, source, work, vectors)
        check_chat(test, paths)
        ids = numpy.array([[1] + [IMAGE] * VECTORS + [5], [IMAGE] * VECTORS + [6, 7]])
        rows = test.tensors("logits", input_ids=ids, image_embeddings=vectors)
        for row in range(2):
            close(rows[row], test.logits(list(ids[row]), vectors[row : row + 1]), f"row {row} of a batch")
        numpy.save(os.path.join(work, "ids.npy"), ids)
        numpy.save(os.path.join(work, "one.npy"), vectors[:1])
        arguments = ["--input", f"input_ids={work}/ids.npy", "--output", f"logits={work}/none.npy"]
        test.run(*arguments, "--input", f"image_embeddings={work}/one.npy", fails=f"input_ids has {2 * VECTORS} image tokens, image_embeddings {VECTORS} vectors")
        test.run(*arguments, "--input", f"image_embeddings={work}/ids.npy", fails="image_embeddings")
        numpy.save(os.path.join(work, "more.npy"), numpy.concatenate([vectors, vectors]))
        test.run(*arguments, "--input", f"image_embeddings={work}/more.npy", fails=f"input_ids has {2 * VECTORS} image tokens, image_embeddings {4 * VECTORS} vectors")
        test.run(*arguments, "--output", f"image_embeddings={work}/other.npy", fails="image_embeddings is an input, and it is not given")
        profile = os.path.join(work, "profile.json")
        test.run("-p", "<image>", "--image", paths[0], "-n", "2", "--profile=" + profile)
        with open(profile) as file:
            assert {"encode_image", "step"} <= {row["entry"] for row in next(value for value in json.load(file).values() if isinstance(value, list))}
        test.run("-p", "w5", "--image", paths[0], "--profile=" + profile, fails="each image needs one")
        library = os.path.join(work, "quantized.so")
        subprocess.run([options.raptc, source, "--attention-weights", "-o", library], check=True, capture_output=True)
        whole, test.library = numpy.stack([values(one) for one in pixels]), library
        maps = test.tensors("attentions", "--entry=encode_image", pixel_values=whole)
        assert maps.shape[:4] == (2, VECTORS + 1, 2, 4) and numpy.allclose(maps.sum(-1), 1, atol=1e-5), maps.shape
        # Each flag is compared on other models as well.
        for flags in (["--quantize=w8"], *([["--activations=bf16"], ["--dtype=bf16"], ["--cache-dtype=int8"]] if os.environ.get("RAPT_FULL") == "1" else [])):
            subprocess.run([options.raptc, source, *flags, "-o", library], check=True, capture_output=True)
            test.library = library
            near = test.tensors("logits", input_ids=ids, image_embeddings=vectors)
            error = numpy.linalg.norm(near - rows) / numpy.linalg.norm(rows)
            assert error < 0.05, f"{flags}: relative L2 {error:.1e}"
    print("images in texts: ok")


if __name__ == "__main__":
    main()
