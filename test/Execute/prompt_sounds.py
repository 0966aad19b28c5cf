#!/usr/bin/env python3
"""Sounds in the texts of gemma4, beside images, on random models, compared with test/Reference/numpy/gemma4_sounds.py.

    prompt_sounds.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run --rapt-reference build/bin/rapt-reference [--only CASE]

tower: a model whose sounds have an encoder, with bounds that count. Vectors of sounds of lengths around a vector's, a window's and a chunk's frames; a text with two
sounds and an image in it, through `rapt-run --audio --image` as well, from sound files on; chat; each misuse is told. unified: a model whose sounds have no encoder.
evaluated: both through the reference evaluator. alone: a model without images. bf16, f16, w8, w4: with activations, or weights, of few bits; the
evaluator rounds the weights as well.
"""

import argparse
import importlib.util
import json
import os
import sys
import tempfile
import wave

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import gemma4_images  # noqa: E402
import gemma4_sounds  # noqa: E402
import gemma4_whole  # noqa: E402
import image_squares  # noqa: E402
import image_text  # noqa: E402
import passed  # noqa: E402
import tensorfiles  # noqa: E402
from image_squares import BEGIN, END, IMAGE, close  # noqa: E402

specification = importlib.util.spec_from_file_location("fixtures", os.path.join(HERE, "..", "Audio", "make-fixtures.py"))
fixtures = importlib.util.module_from_spec(specification)
specification.loader.exec_module(fixtures)

AUDIO, AUDIO_BEGIN, AUDIO_END = 91, 89, 93
RATE = 16000
# Relative L2 against float64 without rounding: of vectors, and of logits. The models are random and small: errors do not average out.
TYPES = {"bf16": ("activations=bf16", 0.01), "f16": ("activations=f16", 0.002), "w8": ("quantize=w8", 0.1), "w4": ("quantize=w4", 0.6)}
WAYS = {"generic": "target=generic", "cuda": "target=cuda"}
CASES = ("tower", "evaluated", "unified", "alone", *TYPES, *(f"{name}-{way}" for name in ("tower", "unified") for way in WAYS))
WORDS = {89: "<|audio>", IMAGE: "<|image|>", AUDIO: "<|audio|>", BEGIN: "<|image>", AUDIO_END: "<audio|>", END: "<image|>"}
CHAT = ("{% for m in messages %}{% for part in m['content'] %}{% if part['type'] == 'image' %}<|image|> {% elif part['type'] == 'audio' %}<|audio|> "
        "{% else %}{{ part['text'] }} {% endif %}{% endfor %}{% endfor %}w9")


class Test(image_squares.Test):
    def __init__(self, options, work, isUnified=False, hasImages=True, **changes):
        image_text.Test.__init__(self, options, work)
        self.vision = gemma4_images.PLAIN if isUnified else image_squares.TOWER
        self.sound = gemma4_sounds.PLAIN if isUnified else gemma4_sounds.CHUNKED
        config, self.text, self.tensors = gemma4_whole.whole(isUnified, self.vision, self.sound, pad_token_id=3, **image_squares.LAYERS, **changes)
        if not hasImages:
            config["vision_config"] = None
        self.source, self.work, self.isUnified, self.hasImages = os.path.join(work, "model"), work, isUnified, hasImages
        tensorfiles.writeModel(self.source, config, self.tensors, "F32")
        self.side = self.vision["patch_size"] * self.vision["pooling_kernel_size"]
        self.bins = self.sound["audio_embed_dim"] if isUnified else self.sound["subsampling_conv_channels"][0]
        self.isEvaluated, self.program, self.threads = False, [options.rapt_run, self.library], ["--threads", image_squares.random_models.THREADS]

    def features(self, frames, seed=1):
        return numpy.random.RandomState(seed).standard_normal((frames, self.bins)).astype(numpy.float32) * numpy.float32(0.2 if self.isUnified else 1)

    def wanted_sound(self, features):
        return gemma4_sounds.model_of(self.sound, self.tensors).vectors(features.astype(numpy.float64))

    def found_sounds(self, features, *flags):
        """Vectors of a batch."""
        return self.tensors_of("audio_embeddings", "--entry=encode_audio", *flags, input_features=features)

    def wanted_logits(self, ids, vectors, **changes):
        names = {name.replace("language_model.", "", 1): values for name, values in self.tensors.items() if name.startswith("model.language_model.")}
        return gemma4_images.Text(self.text | changes, names).logits_of(ids, vectors, IMAGE if self.hasImages else None, AUDIO)


def check_sounds(test, most=1e-5):
    """Lengths of a vector's frames, those of a window of tokens, and of chunks."""
    chunk = 1 if test.isUnified else 4 * test.sound["attention_chunk_size"]
    for frames in (1, 2, 4, 5, chunk - 1, chunk, chunk + 1, 61):
        if frames:
            features = test.features(frames, frames)
            close(test.found_sounds(features[None], *test.threads)[0], test.wanted_sound(features), f"{frames} frames", most)


def check_batch(test):
    two = numpy.stack([test.features(23, seed) for seed in (4, 5)])
    both = test.found_sounds(two)
    assert all(numpy.allclose(both[i], test.found_sounds(two[[i]])[0], atol=1e-5) for i in range(2)), "sounds of a batch differ from the same alone"


def lay(sounds, image):
    """Ids of a text with the sounds and the image in it."""
    spread = lambda begin, id, end, vectors: [begin, *[id] * len(vectors), end]
    ids = [2, *spread(AUDIO_BEGIN, AUDIO, AUDIO_END, sounds[0]), 7]
    if image is not None:
        ids += [*spread(BEGIN, IMAGE, END, image), 8]
    return [*ids, *spread(AUDIO_BEGIN, AUDIO, AUDIO_END, sounds[1]), 11]


def check_text(test, most=1e-5):
    """Two sounds of different lengths and an image in one text: vectors are in the order of its tokens."""
    sounds = [test.wanted_sound(test.features(frames, frames)) for frames in (9, 22)]
    image = test.wanted_vectors(test.draw(2, 3)) if test.hasImages else None
    ids = lay(sounds, image)
    vectors = numpy.concatenate([part for part in (sounds[0], image, sounds[1]) if part is not None])
    wanted = test.wanted_logits(ids, vectors)
    close(test.found_logits(ids, vectors), wanted, "a text with two sounds" + (" and an image" if test.hasImages else ""), most)
    other = test.wanted_logits(ids, numpy.concatenate([vectors[len(sounds[0]) :], vectors[: len(sounds[0])]]))
    assert numpy.linalg.norm(other - wanted) > 1e-2 * numpy.linalg.norm(wanted), "the order of vectors makes no difference"


def write_sound(path, count, seed, rate=RATE):
    """Noise and a tone, as integers of 16 bits; gives the samples."""
    random = numpy.random.RandomState(seed)
    time = numpy.arange(count) / rate
    samples = 0.4 * numpy.sin(2 * numpy.pi * (300 + 500 * seed) * time) + 0.1 * random.standard_normal(count)
    whole = numpy.rint(samples * 32767).clip(-32768, 32767).astype("<i2")
    with wave.open(path, "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(whole.tobytes())
    return whole / 32768


def write_files(test):
    """The processor, whose frames have the encoder's numbers, and a tokenizer."""
    bins = test.bins
    extractor = {"feature_extractor_type": "Gemma4UnifiedAudioFeatureExtractor", "feature_size": bins} if test.isUnified else {"feature_size": bins, "per_bin_mean": [0.5] * bins}
    files = {"feature_extractor": extractor, "audio_seq_length": 750, "audio_ms_per_token": 40}
    if test.hasImages:
        files["image_processor"] = image_squares.PROCESSOR | {key: test.vision[key] for key in ("patch_size", "pooling_kernel_size")}
    test.write("processor_config.json", files)
    added = [{"id": id, "content": word, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False} for id, word in WORDS.items()]
    vocabulary = {WORDS.get(id, f"w{id}"): id for id in range(test.text["vocab_size"])}
    test.write("tokenizer.json", {"version": "1.0", "added_tokens": added, "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": None,
                                  "truncation": None, "padding": None, "post_processor": None,
                                  "model": {"type": "WordPiece", "vocab": vocabulary, "unk_token": "w0", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}})
    test.write("tokenizer_config.json", {"chat_template": CHAT})
    return extractor


def check_prompt(test, extractor):
    """From files to new tokens, as numpy's features, vectors and logits give them."""
    paths = [os.path.join(test.work, f"{i}.wav") for i in range(2)]
    counts = (3 * test.bins - 7, 11 * test.bins) if test.isUnified else (1700, 7000)
    samples = [write_sound(path, count, i) for i, (path, count) in enumerate(zip(paths, counts))]
    extract = fixtures.FRAMES[extractor.get("feature_extractor_type", "Gemma4AudioFeatureExtractor")]
    sounds = [test.wanted_sound(extract(one, extractor)) for one in samples]
    image, flags = None, ["--audio", paths[0], "--audio", paths[1]]
    if test.hasImages:
        pixels, path = test.draw(2, 3), os.path.join(test.work, "image.png")
        image_text.write_image(path, pixels)
        image, flags = test.wanted_vectors(pixels), [*flags, "--image", path]
    ids = lay(sounds, image)
    vectors = numpy.concatenate([part for part in (sounds[0], image, sounds[1]) if part is not None])
    made = list(ids)
    for _ in range(4):
        logits = test.wanted_logits(made, vectors)[-1].copy()
        logits[[AUDIO, IMAGE] if test.hasImages else AUDIO] = -numpy.inf
        made.append(int(logits.argmax()))
    written = {AUDIO_BEGIN: "<|audio|>", BEGIN: "<|image|>"}
    prompt = " ".join(written.get(id, f"w{id}") for id in ids if id not in (AUDIO, AUDIO_END, IMAGE, END))
    generate = lambda *arguments: json.loads(test.run(*arguments, "-n", "4", "--json", "--ignore-eos", "--temperature", "0"))
    found = generate("--raw", "-p", prompt, *flags)
    assert found["prompt_tokens"] == len(ids) and found["tokens"] == made[-4:], (found, len(ids), made[-4:])
    # The template has images first, then sounds, then the text.
    images = "<|image|> " if test.hasImages else ""
    assert generate("--chat", "-p", "w5", *flags)["tokens"] == generate("--raw", "-p", images + "<|audio|> <|audio|> w5 w9", *flags)["tokens"]
    return paths


def check_misuse(test, paths):
    assert '"abi":[1,11]' in "".join(test.run("--info", "--json").split()), "older runtimes, which know no tokens of sounds, would run the library"
    test.run("--raw", "-p", "w5 w6", "--audio", paths[0], fails="the prompt has 0 times <|audio|> for 1 sound: each sound needs one, where it belongs")
    test.run("--raw", "-p", "w5 <|audio|>", fails="the prompt has 1 times <|audio|> for 0 sounds")
    test.run("--audio", paths[0], fails="model reads sounds within a text: give one with -p")
    test.run("--raw", "-p", "<|audio|>", "--audio", test.library, fails="model.so")
    short = os.path.join(test.work, "short.wav")
    write_sound(short, 160, 1)
    if not test.isUnified:
        test.run("--raw", "-p", "<|audio|>", "--audio", short, fails="short.wav: the sound has 160 samples, but a frame of it needs 161")
    small = numpy.zeros((1, 4, test.bins - 1), numpy.float32)
    numpy.save(os.path.join(test.work, "small.npy"), small)
    test.run("--entry=encode_audio", "--input", f"input_features={test.work}/small.npy", "--output", f"audio_embeddings={test.work}/none.npy", fails=f"{test.bins - 1}")
    numpy.save(os.path.join(test.work, "ids.npy"), numpy.array([[2, AUDIO, AUDIO]]))
    test.run("--input", f"input_ids={test.work}/ids.npy", "--output", f"logits={test.work}/none.npy", fails="input_ids has 2 image and audio tokens, image_embeddings 0 vectors")


def check_long(test):
    """The beginning of a sound that is longer than the processor reads."""
    path = os.path.join(test.work, "long.wav")
    rest = numpy.random.RandomState(2).standard_normal(1600) * 0.1
    for count, name in ((480000, "limit"), (481600, "long")):
        samples = numpy.zeros(count)
        samples[:16000] = 0.3
        samples[480000:] = rest[: count - 480000]
        with wave.open(os.path.join(test.work, name + ".wav"), "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes(numpy.rint(samples * 32767).astype("<i2").tobytes())
    run = lambda name: json.loads(test.run("--raw", "-p", "<|audio|> w5", "--audio", os.path.join(test.work, name + ".wav"), "-n", "2", "--json", "--ignore-eos", "--temperature", "0"))
    limit, long = run("limit"), run("long")
    assert limit["prompt_tokens"] == 753 and long["prompt_tokens"] == 753 and long["tokens"] == limit["tokens"], (limit, long)
    assert "long.wav: the sound takes 30.1 s, of which the first 30.0 s are read" in test.said, test.said


def run(options, work, name, flags):
    test = Test(options, work, isUnified=name == "unified", hasImages=name != "alone", **({"max_position_embeddings": 1024} if name == "tower" else {}))
    if name == "unified":
        test.text |= {"use_bidirectional_attention": "vision", "hidden_size_per_layer_input": 0}  # defaults of the class
    extractor = write_files(test)
    test.isEvaluated = "--evaluated" in flags
    test.compile(*flags)
    check_sounds(test)
    check_text(test)
    if test.isEvaluated:
        return passed.model("reference", test.source, options.raptc)
    check_batch(test)
    if not flags:
        paths = check_prompt(test, extractor)
        check_misuse(test, paths)
        if name == "tower":
            check_long(test)
    return passed.model("compiled", test.source, options.raptc, "prefill", "decode")


def run_types(options, work, name):
    flag, most = TYPES[name]
    test = Test(options, work)
    test.compile("--" + flag)
    check_sounds(test, most)
    check_text(test, most)
    if flag.startswith("quantize"):
        features = test.features(37)[None]
        found = test.found_sounds(features)
        test.program = image_squares.random_models.program(options, test.source, work, ["--" + flag, "--emit=canonical"])
        close(found, test.found_sounds(features), "vectors of the evaluator, which rounds weights in the same way", 2e-6)


def main():
    parser = argparse.ArgumentParser()
    for name in ("--raptc", "--rapt-run", "--rapt-reference"):
        parser.add_argument(name, required=True)
    parser.add_argument("--only", choices=CASES)
    options = parser.parse_args()
    for case in [options.only] if options.only else CASES[:4]:
        name, _, way = case.partition("-")
        for one in ("tower", "unified") if name == "evaluated" else (name,):
            with tempfile.TemporaryDirectory() as work:
                if one in TYPES:
                    run_types(options, work, one)
                else:
                    run(options, work, one, ["--evaluated"] if name == "evaluated" else ["--" + WAYS[way]] if way else [])


if __name__ == "__main__":
    main()
