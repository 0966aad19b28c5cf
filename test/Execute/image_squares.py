#!/usr/bin/env python3
"""Images of gemma4, which keep their proportions and give as many vectors as they have squares, on random models, compared with
test/Reference/numpy/gemma4_images.py.

    image_squares.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run --rapt-reference build/bin/rapt-reference \
        --runtime build/lib/librapt_runtime.so [--only CASE]

tower: a model whose images have an encoder with all that one may have, and are seen whole in layers with a window, whose layers have inputs of their own. Vectors of
images at three proportions; a text with two images of different sizes in it, through `rapt-run --image` as well, which puts the tokens around an image; steps of
any size that has room for one; each misuse is told. unified: a model whose images have no encoder. evaluated: both through the reference evaluator.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import gemma4_images  # noqa: E402
import gemma4_whole  # noqa: E402
import image_text  # noqa: E402
import passed  # noqa: E402
import random_models  # noqa: E402
import tensorfiles  # noqa: E402
from context import Context  # noqa: E402

CASES = ("tower", "evaluated", "unified", "tower-generic", "unified-generic", "tower-cuda", "unified-cuda")
TOWER = {**gemma4_images.STANDARD, "use_clipped_linears": True}
IMAGE, BEGIN, END = 90, 92, 94
# One of each kind, which are quick to compile.
LAYERS = {"num_hidden_layers": 2, "layer_types": ["sliding_attention", "full_attention"], "num_kv_shared_layers": 0, "use_double_wide_mlp": False}
PROCESSOR = {"image_processor_type": "Gemma4ImageProcessor", "do_resize": False, "patch_size": 4, "pooling_kernel_size": 2, "max_soft_tokens": 70}


class Test(image_text.Test):
    def __init__(self, options, work, vision, isUnified=False, **changes):
        super().__init__(options, work)
        config, self.text, self.tensors = gemma4_whole.whole(isUnified, vision, pad_token_id=3, **LAYERS, **changes)
        self.source, self.vision, self.work = os.path.join(work, "model"), vision, work
        tensorfiles.writeModel(self.source, config, self.tensors, "F32")
        self.side = vision["patch_size"] * vision["pooling_kernel_size"]
        self.isEvaluated, self.program, self.threads = False, [options.rapt_run, self.library], ["--threads", random_models.THREADS]

    def run(self, *arguments, fails=None):
        options, self.options = self.options, argparse.Namespace(rapt_run=self.program[0])
        library, self.library = self.library, self.program[1]
        try:
            return super().run(*self.program[2:], *arguments, fails=fails)
        finally:
            self.options, self.library = options, library

    def write(self, name, content):
        with open(os.path.join(self.source, name), "w", encoding="utf-8") as file:
            json.dump(content, file)

    def compile(self, *flags):
        """Compiles the model, or imports it for the evaluator where the command has one."""
        if self.isEvaluated:
            self.program, self.threads = random_models.program(self.options, self.source, self.work), []
            return
        done = subprocess.run([self.options.raptc, self.source, "-o", self.library, *flags], capture_output=True, text=True)
        assert done.returncode == 0 and "warning" not in done.stderr, done.stderr

    def draw(self, rows, columns, seed=1):
        """Bytes [height, width, 3] of so many squares."""
        return numpy.random.RandomState(seed).randint(0, 256, (rows * self.side, columns * self.side, 3)).astype(numpy.uint8)

    def wanted_vectors(self, pixels):
        return gemma4_images.model_of(self.vision, self.tensors).vectors((pixels / 255).astype(numpy.float32).transpose(2, 0, 1).astype(numpy.float64))

    def found_vectors(self, pixels, *flags):
        return self.vectors((pixels / 255).astype(numpy.float32).transpose(2, 0, 1)[None], *flags)[0]

    def vectors(self, pixels, *flags):
        return self.tensors_of("image_embeddings", "--entry=encode_image", *flags, pixel_values=pixels)

    tensors_of = image_text.Test.tensors

    def wanted_logits(self, ids, vectors, **changes):
        names = {name.replace("language_model.", "", 1): values for name, values in self.tensors.items() if name.startswith("model.language_model.")}
        return gemma4_images.Text(self.text | changes, names).logits_of(ids, vectors, IMAGE)

    def found_logits(self, ids, vectors):
        return self.tensors_of("logits", *self.threads, input_ids=numpy.array([ids]), image_embeddings=vectors[None].astype(numpy.float32))[0]


def close(found, wanted, what, most=1e-5):
    assert found.shape == wanted.shape, f"{what}: {found.shape}, expected {wanted.shape}"
    error = numpy.linalg.norm(found - wanted) / numpy.linalg.norm(wanted)
    assert error <= most, f"{what}: relative L2 {error:.1e}"
    print(f"{what}: relative L2 {error:.1e}")


def check_vectors(test):
    """Images of one, few and many squares in a row; pixels beyond the last whole square are left out."""
    for rows, columns in ((1, 1), (2, 3), (5, 1)):
        pixels = test.draw(rows, columns)
        close(test.found_vectors(pixels, *test.threads), test.wanted_vectors(pixels), f"{rows} x {columns} squares")
    wide = numpy.concatenate([pixels, pixels[:, : test.side - 1]], 1)
    assert numpy.array_equal(test.found_vectors(wide), test.found_vectors(pixels)), "pixels beyond the last square count"
    two = numpy.stack([(test.draw(2, 1, seed) / 255).astype(numpy.float32).transpose(2, 0, 1) for seed in (2, 3)])
    both = test.vectors(two)
    assert all(numpy.allclose(both[i], test.vectors(two[[i]])[0], atol=1e-5) for i in range(2)), "images of a batch differ from the same alone"


def check_text(test):
    """Two images of different sizes in one text."""
    first, second = test.draw(2, 3), test.draw(1, 2, 7)
    vectors = numpy.concatenate([test.wanted_vectors(first), test.wanted_vectors(second)])
    ids = [2, BEGIN, *[IMAGE] * 6, END, 7, BEGIN, *[IMAGE] * 2, END, 11]
    close(test.found_logits(ids, vectors), test.wanted_logits(ids, vectors), "a text with two images")
    return ids, (first, second)


def write_tokenizer(test):
    words = {IMAGE: "<|image|>", BEGIN: "<|image>", END: "<image|>"}
    added = [{"id": id, "content": word, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False} for id, word in words.items()]
    vocabulary = {words.get(id, f"w{id}"): id for id in range(test.text["vocab_size"])}
    test.write("tokenizer.json", {"version": "1.0", "added_tokens": added, "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": None,
                                  "truncation": None, "padding": None, "post_processor": None,
                                  "model": {"type": "WordPiece", "vocab": vocabulary, "unk_token": "w0", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}})


def check_prompt(test, ids, images):
    paths = [os.path.join(test.work, f"{i}.png") for i in range(len(images))]
    for path, pixels in zip(paths, images):
        image_text.write_image(path, pixels)
    vectors = numpy.concatenate([test.wanted_vectors(pixels) for pixels in images])
    wanted, made = 5, list(ids)
    for _ in range(wanted):
        made.append(int(test.wanted_logits(made, vectors)[-1].argmax()))
    prompt = " ".join("<|image|>" if id == BEGIN else f"w{id}" for id in ids if id not in (IMAGE, END))
    found = json.loads(test.run("-p", prompt, *(part for path in paths for part in ("--image", path)), "-n", str(wanted), "--json", "--ignore-eos", "--temperature", "0"))
    assert found["prompt_tokens"] == len(ids) and found["tokens"] == made[-wanted:], (found, len(ids), made[-wanted:])
    image_text.write_image(paths[0], test.draw(2, 2)[:-1])
    test.run("-p", "<|image|>", "--image", paths[0],
             fails=f"an image of {2 * test.side} x {2 * test.side - 1} pixels is not resized (do_resize), but its sides must be multiples of {test.side}")
    small = os.path.join(test.work, "small.npy")
    numpy.save(small, numpy.zeros((1, 3, test.side - 1, test.side), numpy.float32))
    test.run("--entry=encode_image", "--input", "pixel_values=" + small, "--output", f"image_embeddings={test.work}/none.npy", fails=f"{test.side - 1}")


def check_steps(test):
    """Steps that have room for an image give the logits of the whole text, however they cut it."""
    ids = [5, 6, BEGIN, *[IMAGE] * 6, END, 7, 8, 9, 10, 11, 12, BEGIN, *[IMAGE] * 12, END, 13, 14]
    vectors = numpy.random.RandomState(4).standard_normal((18, test.text["hidden_size"])).astype(numpy.float32)
    wanted = test.wanted_logits(ids, vectors.astype(numpy.float64))
    close(test.found_logits(ids, vectors), wanted, "images that are seen whole")
    causal = test.wanted_logits(ids, vectors.astype(numpy.float64), use_bidirectional_attention=None)
    assert numpy.linalg.norm(causal - wanted) > 1e-2 * numpy.linalg.norm(wanted), "the test shows no mask"
    plain, vocabulary = list(range(20, 31)), test.text["vocab_size"]
    for most in (12, 13, 20):
        context = Context(test.options.runtime, test.library, vocabulary, cache_tokens=64 * 8, max_step_tokens=most)
        a, b = context.sequence(), context.sequence()
        found, status = context.step([(b, plain), (a, ids)], [None, vectors])
        context.must(status)
        close(found[1], wanted, f"parts of {most} tokens")
        close(found[0], test.wanted_logits(plain, vectors[:0]), "a text beside it")
        if most == 20:
            check_pieces(context, ids, vectors, wanted)
        context.close()
    context = Context(test.options.runtime, test.library, vocabulary, cache_tokens=64 * 8, max_step_tokens=11)
    context.refused(context.step([(context.sequence(), ids)], [vectors])[1], "TOO_LONG",
                    "chunk 0 has 12 image tokens in a row, which see one another; the context computes 11 tokens together: give it a larger max_step_tokens")
    context.close()


def check_pieces(context, ids, vectors, wanted):
    """Steps of a sequence, a fork and what is saved go on between images, and not within one."""
    a = context.sequence()
    for begin, end, first in ((0, 3, 0), (3, 9, 0), (9, 17, 6), (17, len(ids), 6)):
        if begin == 9:
            for sequence in (a, context.fork(a)):
                context.refused(context.step([(sequence, [IMAGE, 5])], [vectors[:1]])[1], "INVALID",
                                "chunk 0 begins with image tokens, and its sequence ends with some: tokens of an image see one another, so one chunk needs all of them")
        found, status = context.step([(a, ids[begin:end])], [numpy.ascontiguousarray(vectors[first:])])
        context.must(status)
        close(found[0], wanted[begin:end], f"tokens {begin} to {end}")
    behind = context.sequence()
    context.must(context.step([(behind, ids[:11])], [vectors])[1])
    context.refused(context.truncate(behind, 5), "UNSUPPORTED", "cannot truncate to 5 tokens: they end within image tokens that have seen one another; truncate to 3 or to 9")
    context.must(context.truncate(behind, 9))
    for sequence in (behind, context.load(context.save(behind))):
        context.refused(context.step([(sequence, [IMAGE, 5])], [vectors[:1]])[1], "INVALID", "chunk 0 begins with image tokens, and its sequence ends with some")
        found, status = context.step([(sequence, ids[9:17])], [numpy.ascontiguousarray(vectors[6:])])
        context.must(status)
        close(found[0], wanted[9:17], "a text behind an image")
        context.free(sequence)
    context.must(context.truncate(a, 17))
    found, status = context.step([(a, ids[17:])], [numpy.ascontiguousarray(vectors[6:])])
    context.must(status)
    close(found[0], wanted[17:], "an image again")
    b = context.sequence()
    context.must(context.step([(b, ids[:5])], [vectors])[1])
    context.must(context.truncate(b, 3))
    found, status = context.step([(b, ids[3:])], [vectors])
    context.must(status)
    close(found[0], wanted[3:], "a whole image after a part of one")


def run(options, work, name, flags):
    if name == "unified":
        test = Test(options, work, gemma4_images.PLAIN, isUnified=True)
        test.text |= {"use_bidirectional_attention": "vision", "hidden_size_per_layer_input": 0}  # defaults of the class
    else:
        test = Test(options, work, TOWER, use_bidirectional_attention="vision")
        test.write("preprocessor_config.json", PROCESSOR)
        write_tokenizer(test)
    test.isEvaluated = "--evaluated" in flags
    test.compile(*flags)
    check_vectors(test)
    ids, images = check_text(test)
    if test.isEvaluated:
        return passed.model("reference", test.source, options.raptc)
    if name == "tower":
        check_prompt(test, ids, images)
        check_steps(test)
    return passed.model("compiled", test.source, options.raptc, "prefill", "decode")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--raptc", "--rapt-run", "--rapt-reference", "--runtime"):
        parser.add_argument(name, required=True)
    parser.add_argument("--only", choices=CASES)
    options = parser.parse_args()
    for case in [options.only] if options.only else CASES[:3]:
        name, _, target = case.partition("-")
        for one in ("tower", "unified") if name == "evaluated" else (name,):
            with tempfile.TemporaryDirectory() as work:
                run(options, work, one, ["--evaluated"] if name == "evaluated" else [f"--target={target}"] if target else [])


if __name__ == "__main__":
    main()
