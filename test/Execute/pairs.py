#!/usr/bin/env python3
"""rapt-run with a model of two towers: labels from texts beside images. Scores are the softmax of the logits that the entries give by themselves; texts and images
alone give vectors; lines of a file are texts; what does not go together gives one line."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
import recorded_models  # finds the folders of the next ones

IMAGES = [os.path.join(HERE, "..", "models", "tiny-vit", "golden", f"{number}.png") for number in range(3)]
WORDS = ["a", "photo", "of", "cat", "dog", "circle", "square", "red", "blue"]
END = 60


def write_model(name, directory):
    """The recorded model with a tokenizer of a few words, which ends each text, and an image processor."""
    recorded_models.write(recorded_models.read(name), directory)
    vocabulary = {"[UNK]": 0} | {word: number + 1 for number, word in enumerate(WORDS)} | {"<end>": END}
    tokenizer = {"version": "1.0", "added_tokens": [{"id": END, "content": "<end>", "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}],
                 "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"}, "decoder": None, "truncation": None, "padding": None,
                 "post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<end>", "type_id": 0}}],
                                    "pair": [], "special_tokens": {"<end>": {"id": "<end>", "ids": [END], "tokens": ["<end>"]}}},
                 "model": {"type": "WordPiece", "vocab": vocabulary, "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}}
    processor = {"image_processor_type": "CLIPImageProcessor", "do_resize": True, "size": {"shortest_edge": 32}, "do_center_crop": True, "crop_size": {"height": 32, "width": 32},
                 "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True, "image_mean": [0.48, 0.46, 0.41], "image_std": [0.27, 0.26, 0.28], "resample": 3}
    for name, content in (("tokenizer.json", tokenizer), ("preprocessor_config.json", processor)):
        with open(os.path.join(directory, name), "w") as file:
            json.dump(content, file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        at = lambda name: os.path.join(directory, name)
        write_model("clip", at("model"))
        subprocess.run([options.raptc, at("model"), "-o", at("clip.so")], check=True, capture_output=True)
        run = lambda *flags: subprocess.run([options.rapt_run, at("clip.so"), *flags], check=True, capture_output=True, text=True).stdout

        texts = ["a photo of a cat", "A red circle", "blue square"]
        given = [part for text in texts for part in ("-p", text)] + [part for image in IMAGES for part in ("--image", image)]
        outputs = [part for name in ("text_embeds", "image_embeds", "logits_per_image") for part in ("--output", f"{name}={at(name)}.npy")]
        printed = run(*given, *outputs)
        vectors = {name: numpy.load(at(name + ".npy")) for name in ("text_embeds", "image_embeds", "logits_per_image")}
        for name in ("text_embeds", "image_embeds"):
            assert vectors[name].shape == (3, 24) and numpy.allclose(numpy.linalg.norm(vectors[name], axis=1), 1, atol=1e-6)
        scale = numpy.exp(recorded_models.weights.tensor("logit_scale", [1])[0].astype(numpy.float64))
        logits = scale * vectors["image_embeds"].astype(numpy.float64) @ vectors["text_embeds"].T
        assert numpy.allclose(vectors["logits_per_image"], logits, rtol=1e-5, atol=1e-6)
        assert len({tuple(row) for row in vectors["image_embeds"]}) == 3 and len({tuple(row) for row in vectors["text_embeds"]}) == 3
        scores = numpy.exp(logits - logits.max(1, keepdims=True))
        scores /= scores.sum(1, keepdims=True)
        parts = printed.strip().split("\n\n")
        assert len(parts) == 3
        for image, part, row in zip(IMAGES, parts, scores):
            first, *lines = part.split("\n")
            assert first == image and [line.split("\t")[1] for line in lines] == [texts[i] for i in numpy.argsort(-row, kind="stable")], part
            assert numpy.allclose([float(line.split("\t")[0]) for line in lines], sorted(row, reverse=True), atol=6e-5)

        # ids of the texts through the entry, and the same vectors
        ids = numpy.zeros((3, 6), numpy.int64)
        for row, text in enumerate(texts):
            words = [WORDS.index(word) + 1 for word in text.lower().split()] + [END]
            ids[row, :len(words)] = words
        numpy.save(at("ids.npy"), ids)
        numpy.save(at("mask.npy"), (ids > 0).astype(numpy.int64))
        run("--entry", "encode_text", "--input", f"input_ids={at('ids.npy')}", "--input", f"attention_mask={at('mask.npy')}", "--output", f"text_embeds={at('again.npy')}")
        assert numpy.load(at("again.npy")).tobytes() == vectors["text_embeds"].tobytes()

        # a text's vector is that of its first token of the end, which also fills texts up; a text without it has that of its first token
        filled = numpy.full((3, 12), END, numpy.int64)
        filled[:, :6] = numpy.where(ids > 0, ids, END)
        numpy.save(at("filled.npy"), filled)
        fill = lambda: run("--entry", "encode_text", "--input", f"input_ids={at('filled.npy')}", "--output", f"text_embeds={at('again.npy')}")
        fill()
        assert numpy.allclose(numpy.load(at("again.npy")), vectors["text_embeds"], atol=1e-6)
        numpy.save(at("endless.npy"), [[3, 4], [3, 7]])
        run("--entry", "encode_text", "--input", f"input_ids={at('endless.npy')}", "--output", f"text_embeds={at('again.npy')}")
        assert numpy.allclose(*numpy.load(at("again.npy")), atol=1e-6)

        with open(at("labels.txt"), "w") as file:
            file.write("\r\n".join(texts) + "\n")
        one = json.loads(run("--json", "-f", at("labels.txt"), "--image", IMAGES[1], "--top-k", "2"))
        assert one["task"] == "zero-shot-image-classification" and [entry["label"] for entry in one["results"][0]] == [texts[i] for i in numpy.argsort(-scores[1])[:2]]
        lines = run("-p", texts[1]).split("\n")
        assert numpy.allclose([float(number) for number in lines[0].split()], vectors["text_embeds"][1], atol=1e-5) and lines[1:] == [""]
        alone = json.loads(run("--json", "--image", IMAGES[2]))
        assert numpy.allclose(alone["results"][0], vectors["image_embeds"][2], atol=1e-5)

        def refused(expected, *flags):
            done = subprocess.run([options.rapt_run, at("clip.so"), *flags], capture_output=True, text=True)
            assert done.returncode in (1, 2) and expected in done.stderr.splitlines()[-1], done.stderr
        refused("text 1 has 18 tokens; the model's positions hold 16", "-p", "a " * 17, "--image", IMAGES[0])
        refused("has no use for --max-new-tokens, which belongs to", "-p", "a", "-n", "3")
        refused("has no output last_hidden_state; it has text_embeds, image_embeds and logits_per_image", "-p", "a", "--output", f"last_hidden_state={at('x.npy')}")
        refused("has no use for --pair, which belongs to text-classification and feature-extraction", "-p", "a", "--pair", "b")
        refused("has no use for --attention-weights", "-p", "a", "--attention-weights", at("maps"))
        refused("only one of --prompt, --file", "--image", IMAGES[0], "--tokens", "1,2")
        os.remove(os.path.join(at("model"), "preprocessor_config.json"))
        with open(os.path.join(at("model"), "config.json")) as file:
            config = json.load(file)
        config["text_config"]["eos_token_id"] = 2  # of configs before transformers 4.31: the token of the largest id is meant
        with open(os.path.join(at("model"), "config.json"), "w") as file:
            json.dump(config, file)
        subprocess.run([options.raptc, at("model"), "-o", at("clip.so")], check=True, capture_output=True)
        refused("was compiled without a preprocessor_config.json", "-p", "a", "--image", IMAGES[0])
        fill()
        assert numpy.allclose(numpy.load(at("again.npy")), vectors["text_embeds"], atol=1e-6)
        # tensors of entries whose dims the others do not have
        refused("encode_text has no tensor pixel_values; it has input_ids, text_embeds, attention_mask", "--entry", "encode_text", "--input", f"pixel_values={at('ids.npy')}", "--output", f"text_embeds={at('x.npy')}")
        refused("no entry", "--entry", "forward", "--input", f"input_ids={at('ids.npy')}", "--output", f"text_embeds={at('x.npy')}")

        # texts are filled up to all positions, and each fits or not whatever the others
        write_model("siglip", at("sigmoid"))
        subprocess.run([options.raptc, at("sigmoid"), "-o", at("siglip.so")], check=True, capture_output=True)
        run = lambda *flags: subprocess.run([options.rapt_run, at("siglip.so"), *flags], check=True, capture_output=True, text=True).stdout
        found = json.loads(run("--json", *given, *outputs))
        vectors = {name: numpy.load(at(name + ".npy")) for name in vectors}
        number = lambda name: float(recorded_models.weights.tensor(name, [1])[0])
        logits = numpy.exp(number("logit_scale")) * vectors["image_embeds"].astype(numpy.float64) @ vectors["text_embeds"].T + number("logit_bias")
        for row, entries in zip(1 / (1 + numpy.exp(-logits)), found["results"]):
            assert [entry["label"] for entry in entries] == [texts[i] for i in numpy.argsort(-row, kind="stable")]
            assert numpy.allclose([entry["score"] for entry in entries], sorted(row, reverse=True), atol=1e-6)
        filled = numpy.zeros((3, 16), numpy.int64)  # 0 is the token of padding
        filled[:, :6] = ids
        numpy.save(at("ids.npy"), filled)
        run("--entry", "encode_text", "--input", f"input_ids={at('ids.npy')}", "--output", f"text_embeds={at('again.npy')}")
        assert numpy.load(at("again.npy")).tobytes() == vectors["text_embeds"].tobytes()

        # the token of padding is the tokenizer's where it has one, as in transformers
        with open(os.path.join(at("sigmoid"), "tokenizer_config.json"), "w") as file:
            json.dump({"pad_token": "<end>"}, file)
        subprocess.run([options.raptc, at("sigmoid"), "-o", at("siglip.so")], check=True, capture_output=True)
        run(*given[:6], "--output", f"text_embeds={at('filled.npy')}")
        filled[filled == 0] = END
        numpy.save(at("ids.npy"), filled)
        run("--entry", "encode_text", "--input", f"input_ids={at('ids.npy')}", "--output", f"text_embeds={at('again.npy')}")
        assert numpy.load(at("again.npy")).tobytes() == numpy.load(at("filled.npy")).tobytes() != vectors["text_embeds"].tobytes()

        # the tokenizer's configuration tells the side
        with open(os.path.join(at("sigmoid"), "tokenizer_config.json"), "w") as file:
            json.dump({"padding_side": "left"}, file)
        subprocess.run([options.raptc, at("sigmoid"), "-o", at("siglip.so")], check=True, capture_output=True)
        run(*given[:6], "--output", f"text_embeds={at('filled.npy')}")
        numpy.save(at("ids.npy"), [[0] * (16 - numpy.count_nonzero(row)) + [*row[row > 0]] for row in ids])
        run("--entry", "encode_text", "--input", f"input_ids={at('ids.npy')}", "--output", f"text_embeds={at('again.npy')}")
        assert numpy.load(at("again.npy")).tobytes() == numpy.load(at("filled.npy")).tobytes() != vectors["text_embeds"].tobytes()
    print("PASS labels from texts")


main()
