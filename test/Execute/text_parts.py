#!/usr/bin/env python3
"""Compiles the text part of models that take images, too: mistral3, and llava with a pixtral. Their texts are those of test/Reference/transformers, whose tensors have
the names of a part here, and so must be the logits. One line says that images are left out."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "Reference", "numpy"), os.path.join(HERE, "..", "Reference", "transformers")]

import encoders  # noqa: E402
import passed  # noqa: E402
import random_models  # noqa: E402
import recorded_models  # noqa: E402
import tensorfiles  # noqa: E402
import weights  # noqa: E402

WHOLES = {"mistral3": "Mistral3ForConditionalGeneration", "llava": "LlavaForConditionalGeneration"}
# Names of the package's versions 4 and 5.
NAMES = {4: ("language_model.model.", "language_model.lm_head", ""), 5: ("model.language_model.", "lm_head", "model.")}


def write(recorded, directory, whole, version, isTied):
    os.makedirs(directory, exist_ok=True)
    part, head, other = NAMES[version]
    tensors = {name: weights.tensor(name, shape) for name, shape in recorded["tensors"].items()}
    if isTied:
        del tensors["lm_head.weight"]
    renamed = {(head + name.removeprefix("lm_head")) if name.startswith("lm_head") else part + name.removeprefix("model."): values for name, values in tensors.items()}
    renamed[other + "vision_tower.patch_conv.weight"] = numpy.ones((4, 3, 2, 2), numpy.float32)
    renamed[other + "multi_modal_projector.linear_1.weight"] = numpy.ones((48, 4), numpy.float32)
    text = {key: value for key, value in recorded["config"].items() if key not in ("architectures", "transformers_version", "eos_token_id")}
    config = {"model_type": whole, "architectures": [WHOLES[whole]], "text_config": text | {"tie_word_embeddings": isTied}, "vision_config": {"model_type": "pixtral"},
              "image_token_index": 10, "projector_hidden_act": "gelu", "vision_feature_layer": -1, "torch_dtype": "float32"}
    config |= {"spatial_merge_size": 2, "multimodal_projector_bias": False} if whole == "mistral3" else {}
    with open(os.path.join(directory, "config.json"), "w") as file:
        json.dump(config, file)
    tensorfiles.write(os.path.join(directory, "model.safetensors"), renamed, "F32")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run")
    parser.add_argument("--rapt-reference")
    options = parser.parse_args()
    if bool(options.rapt_reference) == bool(options.rapt_run):
        parser.error("give one of --rapt-run and --rapt-reference")
    with tempfile.TemporaryDirectory() as work:
        for name, whole, version, isTied in (("ministral3", "mistral3", 4, False), ("mistral", "mistral3", 5, False), ("ministral3", "mistral3", 5, True), ("mistral", "llava", 4, False)):
            recorded = recorded_models.read(name)
            directory = os.path.join(work, f"{name}-{whole}-{version}", "model")
            write(recorded, directory, whole, version, isTied)
            library = directory + ".so"
            done = subprocess.run([options.raptc, directory, "-o", library], capture_output=True, text=True)
            assert done.returncode == 0 and done.stderr.count("the text part is compiled, which takes no images") == 1, done.stderr
            assert "warning" not in done.stderr.replace("warning: " + directory + "/config.json: the text part is compiled", ""), done.stderr
            case = recorded["cases"][-1]
            inputs = {key: numpy.array(value) for key, value in case["inputs"].items()}
            command = random_models.program(options, directory, os.path.dirname(directory)) if options.rapt_reference else [options.rapt_run, library]
            found = encoders.run_batch(options, command, name, os.path.dirname(directory), inputs, ["logits"])["logits"]
            wanted = recorded_models.decoded(case["outputs"]["logits"])
            error = numpy.linalg.norm(found - wanted) / numpy.linalg.norm(wanted)
            # A tied head is another model: its logits are compared with those of the text alone.
            if isTied:
                alone = os.path.join(work, "alone")
                recorded_models.write(recorded | {"config": recorded["config"] | {"tie_word_embeddings": True}, "tensors": {key: value for key, value in recorded["tensors"].items() if key != "lm_head.weight"}}, alone)
                command = random_models.program(options, alone, work)
                wanted = encoders.run_batch(options, command, "alone", work, inputs, ["logits"])["logits"]
                assert found.tobytes() == wanted.tobytes(), "a tied head differs"
            else:
                assert error <= random_models.TOLERANCE["F32"], f"{directory}: relative L2 {error:.1e}"
            way, shown = ("compiled", ("prefill",)) if options.rapt_run else ("reference", ())
            passed.model(way, directory, options.raptc, *shown)
            print(f"{name} in {whole}, names of version {version}: {'the bits of the text alone' if isTied else f'relative L2 {error:.1e}'}")


main()
