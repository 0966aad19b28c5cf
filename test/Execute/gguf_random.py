"""Compiles random models of GGUF files and compares them with numpy in float64 over the directories that the files are made from: those whose programs are not
the directory's, and one of each way in which a file's tensors differ. test/Import/GGUF/families.py compares the others with directories, byte for byte."""

import os
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import gguf_models  # noqa: E402
import gpt2  # noqa: E402
import gpt2_random  # noqa: E402
import llama  # noqa: E402
import llama_random  # noqa: E402
import make_model  # noqa: E402
import random_models  # noqa: E402
import decoder_random  # noqa: E402
from decoder_families import FAMILIES  # noqa: E402
from decoders import common  # noqa: E402

SEED = 23
GROUPED = {"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 12, "hidden_size": 60}
LLAMA3 = {"rope_scaling": llama_random.LLAMA3, "rope_theta": 500000.0, "max_position_embeddings": 200, "head_dim": 32}

# name -> (the script whose models it is of, configuration or name of a case, options of gguf_models.convert)
CASES = {
    "gpt2": (gpt2_random, {}, {}),
    "gpt2-f16": (gpt2_random, {}, {"dtype": "F16"}),
    "llama": (llama_random, GROUPED, {}),
    "llama-fused-parts": (llama_random, GROUPED, {"fused": True, "parts": 2}),
    "llama3": (llama_random, LLAMA3, {}),
    "gemma2": (decoder_random, ("gemma2", {"query_pre_attn_scalar": 16}), {}),
    "falcon-groups": (decoder_random, ("falcon", FAMILIES["falcon"].CASES["groups"]), {}),
    "stablelm-norms": (decoder_random, ("stablelm", {}), {}),
    "phi3-long-texts": (decoder_random, ("phi3", FAMILIES["phi3"].CASES["long-texts"]), {}),
}


def make(name, directory):
    """Writes the directory. Returns the model in numpy and its inputs."""
    script, what, options = CASES[name]
    dtype = options.get("dtype", "F32")
    if script is gpt2_random:
        config = make_model.makeModel(directory, what, SEED, dtype=dtype)
        return gpt2.load(directory), gpt2_random.inputs(config)
    if script is llama_random:
        config = llama.makeModel(directory, what, SEED, dtype=dtype)
        return llama.load(directory), llama_random.inputs(config)
    family, changes = what
    facts = FAMILIES[family]
    facts.CASES["gguf"] = changes
    config = common.make(facts, directory, "gguf", SEED, dtype)
    return common.load(facts, directory), decoder_random.inputs(config)


def check(name, options, directory):
    """Raises AssertionError with what is wrong, or returns the largest relative L2."""
    reference, batches = make(name, os.path.join(directory, "model"))
    _, _, how = CASES[name]
    stem = os.path.join(directory, "file")
    file = gguf_models.convert(os.path.join(directory, "model"), stem if "parts" in how else stem + ".gguf", **how)[0]
    dtype = how.get("dtype", "F32")
    cache = "f16" if dtype == "F16" else "f32"
    reference.stored = random_models.cachetypes.ROUNDING[cache]
    command = random_models.program(options, file, directory)
    return random_models.check_decoder(options, command, directory, batches, reference, random_models.decoder_tolerance(options, dtype, cache))


MODELS = random_models.Models(check, CASES, ("gpt2", "llama-fused-parts", "llama3", "gemma2", "phi3-long-texts"), evaluated=(), cells=None)
