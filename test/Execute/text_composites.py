"""Compiles and evaluates the text parts of models that take images or sounds too, as published directories hold them: the keys of the text are an object of the
configuration, its tensors have another prefix, and those of towers and of drafts lie beside them. Their logits are those of the text's family in
test/Reference/numpy/decoders. Directories without a tower's configuration have a text part alone."""

import os
import sys
import types

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import decoder_random  # noqa: E402
import gemma4_whole  # noqa: E402
import qwen_vision  # noqa: E402
import random_models  # noqa: E402
import tensorfiles  # noqa: E402
from decoder_families import FAMILIES  # noqa: E402
from decoders import common  # noqa: E402

PART = "model.language_model."
# model -> (family of its text, its class)
CASES = {"gemma4": ("gemma4_text", "Gemma4"), "gemma4_unified": ("gemma4_text", "Gemma4Unified"), **{name: whole[:2] for name, whole in qwen_vision.WHOLES.items()}}


def family_of(name):
    """That of the text: where it is no family of its own, what qwen_vision.py has of it."""
    if CASES[name][0] in FAMILIES:
        return FAMILIES[CASES[name][0]]
    _, _, model, shapes, small, around_one = qwen_vision.WHOLES[name]
    return types.SimpleNamespace(Model=model, shapes=shapes, SMALL={**small, "max_position_embeddings": 64}, AROUND_ONE=around_one)


def gemma(name):
    config, text, tensors = gemma4_whole.whole(name == "gemma4_unified")
    text = {**text, "hidden_size_per_layer_input": 0} if name == "gemma4_unified" else text  # where the key is absent, it is 0 there
    return {key: value for key, value in config.items() if key not in ("vision_config", "audio_config")}, text, tensors


def qwen(name):
    """The configuration, that of the text, and the tensors."""
    kind, family = CASES[name][0], family_of(name)
    text = {**family.SMALL, "model_type": kind, "eos_token_id": 96}
    tensors = {key.replace("model.", PART, 1): values for key, values in common.draw(family.shapes(text), 1, family.AROUND_ONE).items()}
    tensors |= {"model.visual.patch_embed.proj.weight": numpy.ones((4, 3, 2, 2), numpy.float32), "mtp.fc.weight": numpy.ones((2, 2), numpy.float32)}
    config = {"model_type": name, "architectures": [CASES[name][1] + "ForConditionalGeneration"], "text_config": text, "image_token_id": 90, "vision_start_token_id": 91,
              "vision_end_token_id": 92, "tie_word_embeddings": False, "torch_dtype": "float32"}
    return config, text, tensors


def check(name, options, directory):
    family, source = family_of(name), os.path.join(directory, "model")
    config, text, tensors = (gemma if name.startswith("gemma") else qwen)(name)
    tensorfiles.writeModel(source, config, tensors, "F32")
    reference = family.Model(text, {key.replace(PART, "model.", 1): values for key, values in tensors.items()})
    worst = random_models.check_decoder(options, random_models.program(options, source, directory), directory, decoder_random.inputs(text), reference, random_models.TOLERANCE["F32"])
    if options.rapt_run:
        decoder_random.check_decode(os.path.join(directory, "model.so"), reference, options)
    return worst


MODELS = random_models.Models(check, CASES, (), cells=("prefill", "decode"))
