"""Makes llava's directories with random weights, and of each a GGUF file of the language model and one of the tower of images. Both files together must become the
program that the directory becomes, and one pair is run beside it; other files are refused.

    images.py SCRATCH RAPTC RAPT-RUN"""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", ".."), os.path.join(HERE, "..", "..", "Reference", "numpy")]
import batch  # noqa: E402
import families  # noqa: E402
import gguf_models  # noqa: E402
import numpy  # noqa: E402

TEXT = {**families.SIZES, "model_type": "llama"}
TOWER = {"model_type": "clip_vision_model", "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 4, "num_attention_heads": 3, "image_size": 24, "patch_size": 8,
         "layer_norm_eps": 1e-5}
PROCESSOR = {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 24}, "crop_size": {"height": 24, "width": 24}, "image_mean": [0.5, 0.25, 0.75],
             "image_std": [0.5, 0.5, 0.25]}
TOKENS = {"tokenizer.ggml.model": "no_vocab"}


def exchanged(tensors):
    """Names of feed-forwards as they should be."""
    return {name.replace("ffn_up", "ffn").replace("ffn_down", "ffn_up").replace(".ffn.", ".ffn_down."): array for name, array in tensors.items()}


def squares(tensors):
    return {name: array.reshape(24, 40) if "ffn_down.weight" in name else array for name, array in tensors.items()}


# name -> (members of vision_config, options of convertImages)
CASES = {
    "llava": ({}, {}),
    "llava-names": ({}, {"changes": exchanged}),
    "llava-gelu": ({"hidden_act": "gelu"}, {"keys": {"clip.vision.feature_layer": [3]}}),
}
# name -> (options of convertImages, of convertText, words of the message)
FAULTS = {
    "projector": ({"keys": {"clip.projector_type": "ldp"}}, {}, ('"clip.projector_type"', '"ldp" is not supported')),
    "grid": ({"keys": {"clip.vision.image_grid_pinpoints": [1, 2]}}, {}, ('"clip.vision.image_grid_pinpoints"', "several parts")),
    "features": ({"keys": {"clip.vision.feature_layer": [1, 3]}}, {}, ('"clip.vision.feature_layer"', "must be the last layer of the file, 3, alone")),
    "size": ({"keys": {"clip.vision.patch_size": 0}}, {}, ('"clip.vision.patch_size"', "its value is 0")),
    "no-size": ({"keys": {"clip.vision.image_size": None}}, {}, ('"clip.vision.image_size"', "does not have it")),
    "no-epsilon": ({"keys": {"clip.vision.attention.layer_norm_epsilon": None}}, {}, ('"clip.vision.attention.layer_norm_epsilon"', "does not have it")),
    "means": ({"keys": {"clip.vision.image_mean": [0.5]}}, {}, ('"clip.vision.image_mean"', "must be 3 numbers")),
    "type-of-key": ({"keys": {"clip.vision.image_size": "24"}}, {}, ('"clip.vision.image_size"', "string")),
    "missing": ({"changes": lambda tensors: {name: array for name, array in tensors.items() if name != "v.blk.1.ln2.bias"}}, {},
                ('"v.blk.1.ln2.bias"', "layers.1.layer_norm2.bias")),
    "further": ({"changes": lambda tensors: tensors | {"v.blk.3.ln1.bias": tensors["v.blk.0.ln1.bias"]}}, {}, ("v.blk.3.ln1.bias",)),
    "newline": ({"changes": lambda tensors: tensors | {"model.image_newline": tensors["v.class_embd"]}}, {}, ("model.image_newline",)),
    "both": ({"changes": lambda tensors: tensors | {"language_model.model.norm.weight": tensors["v.class_embd"]}}, {},
             ('"language_model.model.norm.weight"', "is the language model's")),
    "text": ({}, {"family": "qwen2"}, ("language models of the type llama",)),
}


def run(raptc, *arguments):
    return batch.run(raptc, [list(arguments)])[0]


def answers(program, rapt_run):
    """The vectors that a program makes of an image, and the tokens that it makes of some."""
    pixels, vectors = (os.path.join(os.path.dirname(program), name) for name in ("pixels.npy", "vectors.npy"))
    numpy.save(pixels, numpy.random.RandomState(5).standard_normal((1, 3, 24, 24)).astype(numpy.float32))
    found = b""
    for words in (["--entry", "encode_image", "--input", f"pixel_values={pixels}", "--output", f"image_embeddings={vectors}"],
                  ["--tokens", "5,7,9", "-n", "5", "--temperature", "0"]):
        done = subprocess.run([rapt_run, program, *words], capture_output=True)
        found += done.stdout if done.returncode == 0 else done.stderr
    return found + families.read(vectors)


def main():
    scratch, raptc, rapt_run = sys.argv[1:]
    checks = families.Checks(scratch, raptc)
    configs = {name: ({"model_type": "llava", "text_config": TEXT, "vision_config": {**TOWER, **tower}, "image_token_index": 0}, {}) for name, (tower, _) in CASES.items()}
    checks.directories(configs)
    texts, made = {}, {}
    for name, (_, options) in CASES.items():
        with open(checks.path(name, "dir", "preprocessor_config.json"), "w", encoding="utf-8") as file:
            json.dump(PROCESSOR, file)
        directory, language, images = checks.path(name, "dir"), checks.path(name, "files", "text.gguf"), checks.path(name, "files", "mmproj.gguf")
        gguf_models.convertText(directory, language, keys=TOKENS)
        gguf_models.convertImages(directory, images, **options)
        for kind, source in {"file": [language, f"--mmproj={images}"], "directory": [directory]}.items():
            text, program = checks.path(name, kind, "imported.mlir"), checks.path(name, kind, "model.so")
            isRun = name == "llava"
            for arguments in (["--emit=imported", "-o", text], ["--codegen=quick", "-o", program])[:1 + isRun]:
                answer = run(raptc, *source, *arguments)
                if answer["status"]:
                    checks.fail(name, answer["stderr"])
            texts[kind], made[kind] = families.read(text), answers(program, rapt_run) if isRun else b""
        if texts["file"] != texts["directory"]:
            checks.fail(name, "the program differs from the directory's")
        if made["file"] != made["directory"] or isRun and len(made["file"]) < 9 * 48 * 4:
            checks.fail(name, f"an image and a text become {made['file'][:300]}")
    for name, (ofImages, ofText, words) in FAULTS.items():
        language, images = checks.path("faults", name, "text.gguf"), checks.path("faults", name, "mmproj.gguf")
        gguf_models.convertText(checks.path("llava", "dir"), language, **{"keys": TOKENS, **ofText})
        gguf_models.convertImages(checks.path("llava", "dir"), images, **ofImages)
        answer = run(raptc, language, f"--mmproj={images}", "-o", checks.path("faults", name, "x.so"))
        message = answer["stderr"].strip().split("\n")[-1]
        if answer["status"] != 1 or any(word not in message for word in words):
            checks.fail(name, f"status {answer['status']}: {answer['stderr']}")
    print(f"{len(CASES)} models, {len(FAULTS)} faults, {checks.failures} failures")
    sys.exit(checks.failures != 0)


if __name__ == "__main__":
    main()
