#!/usr/bin/env python3
"""Images of any size in the prompt of qwen3_vl or qwen3_5, on a random model: vectors of the encoder and logits against float64 (test/Reference/numpy/qwen_vision.py).

    image_grids.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run --runtime build/lib/librapt_runtime.so --model qwen3_vl
    image_grids.py --raptc build/bin/raptc --rapt-reference build/bin/rapt-reference

Tokens of an image have positions of rows and columns, and the text behind goes on from the largest. Through the C interface, a prompt that runs in parts has the
logits of the whole, also where parts, steps, forks, truncations and saved states divide an image; each misuse is told. Texts of `rapt-run --image` are the most
likely tokens of whole forward passes.
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import image_text  # noqa: E402
import passed  # noqa: E402
import qwen_vision  # noqa: E402
import random_models  # noqa: E402
from context import Allocator, Context  # noqa: E402

IMAGE, END, VOCABULARY, CELL = qwen_vision.IMAGE, qwen_vision.END, 97, 8
PROCESSOR = {"image_processor_type": "Qwen2VLImageProcessorFast", "size": {"shortest_edge": 64, "longest_edge": 4096}, "patch_size": 4, "merge_size": 2,
             "temporal_patch_size": 2, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "do_convert_rgb": True}
SIZES = [(24, 40), (8, 16), (40, 8)]  # height and width: grids of 3 x 5, 1 x 2 and 5 x 1 vectors


def write_model(directory, kind):
    qwen_vision.write(directory, kind)
    special = {IMAGE: "<image>", END: "</s>"}
    added = [{"id": id, "content": token, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False} for id, token in special.items()]
    tokenizer = {"version": "1.0", "added_tokens": added, "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": None, "truncation": None,
                 "padding": None, "post_processor": None,
                 "model": {"type": "WordPiece", "vocab": {special.get(id, f"w{id}"): id for id in range(VOCABULARY)}, "unk_token": "w0",
                           "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}}
    for name, content in (("tokenizer", tokenizer), ("preprocessor_config", PROCESSOR)):
        with open(os.path.join(directory, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(content, file)


def grid(size):
    return size[0] // CELL, size[1] // CELL


def spread(prompt, sizes):
    """Each image token of the prompt as often as its image has vectors."""
    images = iter(sizes)
    return [id for one in prompt for id in [one] * (numpy.prod(grid(next(images))) if one == IMAGE else 1)]


def close(found, wanted, what):
    image_text.close(found, wanted.astype(numpy.float32), what)


class Test(image_text.Test):
    def __init__(self, options, work, command, kind):
        super().__init__(options, work)
        self.command = command
        self.tower, self.text = qwen_vision.models(kind)
        random = numpy.random.RandomState(5)
        self.pixels = [random.randint(0, 256, (*size, 3)).astype(numpy.uint8) for size in SIZES]
        self.values = [((one / 255 - 0.5) / 0.5).astype(numpy.float32).transpose(2, 0, 1) for one in self.pixels]
        self.vectors = [self.tower.vectors(one) for one in self.values]
        self.columns = self.vectors[0].shape[1]  # of the embedding, and of the vectors for the first layers

    def run(self, *arguments, fails=None):
        done = subprocess.run([*self.command, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        expected = done.returncode == 1 and fails in done.stderr and done.stdout == "" if fails else done.returncode == 0
        assert expected, (arguments, done)
        return done.stdout

    def wanted(self, ids, images):
        """The logits of float64."""
        vectors = numpy.concatenate([numpy.zeros((0, self.columns)), *[self.vectors[i] for i in images]])
        return self.text.logits(ids, vectors, [grid(SIZES[i]) for i in images])

    def given(self, images):
        """Vectors and grids as a caller has them."""
        if not images:
            return None, None
        return (numpy.ascontiguousarray(numpy.concatenate([self.vectors[i] for i in images]), numpy.float32),
                numpy.array([grid(SIZES[i]) for i in images], numpy.int32))


def check_entries(test):
    for one, wanted in zip(test.values, test.vectors):
        batch = numpy.stack([one, one[:, ::-1]])
        found = test.tensors("image_embeddings", "--entry=encode_image", pixel_values=batch)
        close(found[0], wanted, f"an image of {one.shape[1]} x {one.shape[2]}")
        close(found[1], test.tower.vectors(batch[1]), "another one beside it")
    images = [0, 1]
    ids = spread([5, IMAGE, 7, 8, IMAGE, 9, 11, 3], [SIZES[i] for i in images])
    vectors, grids = test.given(images)
    found = test.tensors("logits", input_ids=numpy.array([ids]), image_embeddings=vectors[None], image_grids=grids)
    close(found[0], test.wanted(ids, images), "two images in a text")
    rows = [spread([IMAGE, 3, 4], [SIZES[2]]), [1, 2, *[IMAGE] * 5]]  # of one length, one image each
    vectors, grids = test.given([2, 2])
    found = test.tensors("logits", input_ids=numpy.array(rows), image_embeddings=vectors[None], image_grids=grids.astype(numpy.int64))
    for row, ids in enumerate(rows):
        close(found[row], test.wanted(ids, [2]), f"row {row} of a batch")


def check_entry_faults(test):
    """Those of the last texts of check_entries."""
    path = lambda name: os.path.join(test.work, name + ".npy")
    given = ["--input", f"input_ids={path('input_ids')}", "--input", f"image_embeddings={path('image_embeddings')}", "--output", f"logits={path('output')}"]
    for name, values, message in (("wrong", [[5, 2], [5, 1]], "image_grids are not of 10 vectors, as image_embeddings has"),
                                  ("none", [[5, 1], [5, 0]], "image_grids[1, 1] is 0; 1 to 10 is accepted"),
                                  ("far", [[5, 1], [11, 1]], "image_grids[1, 0] is 11; 1 to 10 is accepted"),
                                  ("flat", [[5, 1, 1]], "image_grids is [1, 3]; integers [images, 2] are needed")):
        numpy.save(path(name), numpy.array(values))
        test.run(*given, "--input", f"image_grids={path(name)}", fails=message)
    test.run(*given, fails="begins an image, but image_grids has those of 0 images")
    test.run(*given, "--output", f"image_grids={path('other')}", fails="image_grids is an input")


def check_sequences(test):
    options = dict(cache_tokens=64 * 8, max_step_tokens=7, keep_states_every=5)
    context = Context(test.options.runtime, test.library, VOCABULARY, **options)
    images = [0, 1, 2]
    ids = spread([5, IMAGE, 7, 8, IMAGE, IMAGE, 9, 11, 3, 4], [SIZES[i] for i in images])
    plain = [4, 5, 6, 7, 8, 9, 10]
    vectors, grids = test.given(images)
    whole, other = test.wanted(ids, images), test.wanted(plain, [])

    def step(pairs, *images):
        """Logits of chunks, the first of which have these vectors and grids."""
        found, status = context.step(pairs, [one[0] for one in images], [one[1] for one in images])
        context.must(status)
        return found

    a, b = context.sequence(), context.sequence()
    found = step([(a, ids), (b, plain)], (vectors, grids))
    close(found[0], whole, "a prompt in parts")
    close(found[1], other, "a text beside it")
    again = context.load(context.save(a))
    for one in (a, again):
        close(step([(one, [12])])[0], test.wanted([*ids, 12], images)[-1:], "a token behind images")
    for cut in (1, 3, 10, 16, 18, 20, 21):  # ahead of images, within them, behind them, between two without a text
        c = context.sequence()
        ahead = ids[:cut].count(IMAGE)
        begun = sum(cut > ids_before for ids_before in (1, 18, 20))
        close(step([(c, ids[:cut])], (vectors[:ahead], grids[:begun]))[0], whole[:cut], f"{cut} tokens")
        sequences = [c, context.fork(c), context.load(context.save(c))]
        for sequence in sequences:
            close(step([(sequence, ids[cut:])], (numpy.ascontiguousarray(vectors[ahead:]), grids[begun:]))[0], whole[cut:], f"what follows {cut} tokens")
        for sequence in sequences:
            context.free(sequence)
    for length in (20, 10, 5, 0):  # within images, where the sequence keeps states
        context.must(context.truncate(a, length))
        ahead, begun = ids[:length].count(IMAGE), sum(length > before for before in (1, 18, 20))
        close(step([(a, ids[length:])], (numpy.ascontiguousarray(vectors[ahead:]), grids[begun:]))[0], whole[length:], f"truncated to {length} tokens")
    check_faults(test, context, ids, vectors, grids)
    check_states(test, context, a)
    context.close()


def check_memory(test):
    """An application without memory for the grids of many images."""
    allocator = Allocator()
    context = Context(test.options.runtime, test.library, VOCABULARY, cache_tokens=64, max_step_tokens=7, allocator=ctypes.addressof(allocator))
    ids, logits, grids = numpy.array([[5, 7]]), numpy.zeros((1, 2, VOCABULARY), numpy.float32), numpy.ones((1 << 20, 2), numpy.int32)
    allocator.most = grids.nbytes - 1
    context.refused(context.run("forward", input_ids=ids, image_grids=grids, logits=logits), "NOMEM", "no memory for the grids of 1048576 images")
    context.must(context.run("forward", input_ids=ids, logits=logits))
    close(logits[0], test.wanted([5, 7], []), "a text after it")
    context.close()


def check_faults(test, context, ids, vectors, grids):
    c, free = context.sequence(), context.available()
    far = numpy.array([[1 << 20, 1 << 20]], numpy.int32)
    for tokens, given, message in (
            (ids, grids[:2], "chunk 0: token 20 begins an image, but image_grids has those of 2 images: give rows and columns of each"),
            ([IMAGE, 2], numpy.array([[1, 1], [1, 1]], numpy.int32), "chunk 0: image_grids has those of 2 images, but 1 begin in it"),
            ([IMAGE, IMAGE, 3], numpy.array([[3, 1]], numpy.int32), "chunk 0: token 2 is 3, but 1 more vectors of an image belong ahead of it: each has a token 90"),
            ([IMAGE], numpy.array([[0, 1]], numpy.int32), "chunk 0: the grid of image 0 has 0 rows and 1 columns, not 1 to 2048 vectors"),
            ([IMAGE], far, "chunk 0: the grid of image 0 has 1048576 rows and 1048576 columns, not 1 to 2048 vectors")):
        _, status = context.step([(c, tokens)], [vectors], [given])
        context.refused(status, "INVALID", message)
    _, status = context.step([(c, [IMAGE])], [vectors], [grids.view(numpy.int8).reshape(-1)[:12]])
    context.refused(status, "INVALID", "chunk 0 has 12 bytes of grids")
    many = 1025
    _, status = context.step([(c, [IMAGE] * many)], [numpy.zeros((many, test.columns), numpy.float32)], [numpy.ones((many, 2), numpy.int32)])
    context.refused(status, "TOO_LONG", "chunk 0: its sequence would have more than 1024 images")
    assert context.available() == free
    context.free(c)


def with_checksum(state):
    """The state with the checksum in its header that is right: of what follows the header, seeded by that of the header without one."""
    size, at, xxh = 144, 136, ctypes.CDLL("libxxhash.so")
    for name in ("XXH3_64bits", "XXH3_64bits_withSeed"):
        getattr(xxh, name).restype = ctypes.c_uint64
    state[at:size] = bytes(size - at)
    seed = xxh.XXH3_64bits(bytes(state[:size]), ctypes.c_size_t(size))
    rest = bytes(state[size:])
    state[at:size] = xxh.XXH3_64bits_withSeed(rest, ctypes.c_size_t(len(rest)), ctypes.c_uint64(seed)).to_bytes(8, "little")
    return bytes(state)


def check_states(test, context, sequence):
    """Saved images that no sequence can have."""
    state = context.save(sequence)
    context.must(context.truncate(sequence, 0))
    context.free(sequence)
    known = bytes(state)
    at = known.index(numpy.array([3, 1, 3, 5, 18, 1, 2, 20, 5, 1], numpy.int32).tobytes())

    def refused(offset, value, message, write=bytes):
        changed = bytearray(known)
        changed[at + offset : at + offset + 4] = numpy.int32(value).tobytes()
        changed, made = write(changed), ctypes.c_uint64(1)
        context.refused(context.call("sequence_load", context.context, changed, ctypes.c_size_t(len(changed)), ctypes.byref(made)), "BAD_FILE", message)
        assert not made.value, message

    for offset, value, message in ((0, 2000, "has not 0 to 1024 images"), (0, 2, "the saved state has "), (4, 30, "wrong: it is damaged")):
        refused(offset, value, message)
    free = context.available()
    for offset, value in ((4, -1), (16, 15), (28, 1 << 20), (8, 0), (12, -3), (8, 1 << 15)):  # before the text, within the image ahead, behind the text, sizes
        refused(offset, value, "the saved state has images that its 29 tokens do not have", with_checksum)
    assert context.available() == free
    context.free(context.load(with_checksum(bytearray(known))))


def check_batch(test):
    """Texts with images, in which tokens of several parts of a step stand for them, beside texts without: prefill and decoding in one step."""
    context = Context(test.options.runtime, test.library, VOCABULARY, cache_tokens=64 * 8, max_step_tokens=64)
    texts = [(spread([3, IMAGE, 4], [SIZES[1]]), [1]), ([5, 6, 7], []), (spread([IMAGE, IMAGE, 8], [SIZES[2], SIZES[1]]), [2, 1])]
    given = [test.given(images) for _, images in texts]
    sequences = [context.sequence() for _ in texts]
    one = context.sequence()
    context.must(context.step([(one, [9, 10])])[1])
    found, status = context.step([*zip(sequences, (ids for ids, _ in texts)), (one, [11])], [vectors for vectors, _ in given], [grids for _, grids in given])
    context.must(status)
    for at, (ids, images) in enumerate(texts):
        close(found[at], test.wanted(ids, images), f"text {at} of a batch")
    close(found[-1], test.wanted([9, 10, 11], [])[-1:], "a text that continues beside them")
    found, status = context.step([(sequence, [12 + at]) for at, sequence in enumerate(sequences)])  # without images
    context.must(status)
    for at, (ids, images) in enumerate(texts):
        close(found[at], test.wanted([*ids, 12 + at], images)[-1:], f"the token behind text {at} of a batch")
    context.close()


def check_text(test):
    paths = [os.path.join(test.work, f"{i}.png") for i in range(len(SIZES))]
    for path, one in zip(paths, test.pixels):
        image_text.write_image(path, one)
    words = lambda ids: " ".join("<image>" if id == IMAGE else f"w{id}" for id in ids)
    seen = set()
    for prompt, images in (([1, 5, IMAGE, 7], [0]), ([IMAGE, 3], [1]), ([9, IMAGE, 4, IMAGE, 8], [2, 0])):
        ids, wanted = spread(prompt, [SIZES[i] for i in images]), []
        while len(wanted) < 6:
            logits = test.wanted(ids + wanted, images)[-1]
            logits[IMAGE] = -numpy.inf
            wanted.append(int(logits.argmax()))
            if wanted[-1] == END:
                wanted.pop()
                break
        flags = [part for i in images for part in ("--image", paths[i])]
        found = json.loads(test.run("-p", words(prompt), *flags, "-n", "6", "--json"))
        assert found["tokens"] == wanted and found["prompt_tokens"] == len(ids), (prompt, found, wanted)
        beam = json.loads(test.run("-p", words(prompt), *flags, "-n", "6", "--json", "--beams", "1"))["sequences"][0]
        assert beam["tokens"] == wanted, (prompt, beam, wanted)
        seen.add(tuple(wanted))
    assert len(seen) == 3, "the images make no difference"
    video = f"w{qwen_vision.VIDEO}"
    refused = ", which stands for a video: videos are not supported; give frames of it as images (--image)"
    test.run("-p", f"{video} w5 {video}", fails=f"the prompt has 2 times {video}{refused}")
    test.run("-p", f"<image> {video}", "--image", paths[0], fails=f"the prompt has 1 times {video}{refused}")
    long = os.path.join(test.work, "long.png")
    image_text.write_image(long, numpy.zeros((1, 201, 3), numpy.uint8))
    test.run("-p", "<image>", "--image", long, fails="long.png: an image of 201 x 1 pixels is more than 200 times as long as wide, which the model's processor refuses")


def check(options, kind, work):
    source = os.path.join(work, "model")
    write_model(source, kind)
    test = Test(options, work, random_models.program(options, source, work), kind)
    check_entries(test)
    if options.rapt_reference:
        return passed.model("reference", source, options.raptc)
    passed.model("compiled", source, options.raptc, "decode")
    check_entry_faults(test)
    check_sequences(test)
    check_memory(test)
    check_batch(test)
    check_text(test)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--model", nargs="+", choices=qwen_vision.KINDS, default=["qwen3_5-deep"])
    for name in ("--rapt-run", "--rapt-reference", "--runtime"):
        parser.add_argument(name)
    options = parser.parse_args()
    for kind in options.model:
        with tempfile.TemporaryDirectory() as work:
            check(options, kind, work)
        print(f"images of any size in texts of {kind}: ok")


if __name__ == "__main__":
    main()
