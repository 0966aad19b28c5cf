"""Compiles random models of the transformer family, runs them and compares them with test/Reference/numpy/transformer.py.

Each configuration runs on a batch of sources and targets of unequal lengths. Relative L2 of the logits and of the
encoder's output against float64 over the stored weights, and what stands behind a row's end, which must be 0.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import encoder_decoder  # noqa: E402
import small_tokenizers  # noqa: E402
import transformer  # noqa: E402

READER, WRITER = small_tokenizers.ByteLevelBPE(), small_tokenizers.Unigram()
SEPARATE = {"share_embeddings": False, "tie_word_embeddings": False}

# name: (configuration, storage)
CASES = {
    "paper": ({"final_norm": False}, "F32"),
    "torch": (SEPARATE, "F32"),
    "torch_norm_first": ({**SEPARATE, "norm_first": True, "activation": "gelu"}, "F32"),
    "norm_first_alone": ({"norm_first": True, "final_norm": False}, "F32"),
    "tied_to_target": ({"share_embeddings": False}, "F32"),
    "shared_untied": ({"tie_word_embeddings": False, "generator_bias": False}, "F32"),
    "tied_with_bias": ({"generator_bias": True, "activation": "gelu"}, "F32"),
    "unscaled": ({"scale_embedding": False}, "F32"),
    "odd_sizes": ({"d_model": 39, "nhead": 3, "dim_feedforward": 71, "vocab_size": 103}, "F32"),
    "odd_heads": ({**SEPARATE, "d_model": 100, "nhead": 5}, "F32"),
    "one_head": ({"d_model": 33, "nhead": 1, "layer_norm_eps": 1e-2}, "F32"),
    "wide_heads": ({"d_model": 128, "nhead": 2, "dim_feedforward": 33}, "F32"),
    "one_layer": ({"num_encoder_layers": 1, "num_decoder_layers": 1}, "F32"),
    "more_decoder": ({"num_encoder_layers": 1, "num_decoder_layers": 3}, "F32"),
    "more_encoder": ({"num_encoder_layers": 3, "num_decoder_layers": 1}, "F32"),
    "two_vocabularies": ({"d_model": 39, "nhead": 3, "dim_feedforward": 71, "tie_word_embeddings": False, "vocab_size": READER.size, "decoder_vocab_size": WRITER.size}, "F32"),
    "larger_source": ({"decoder_vocab_size": 33, "generator_bias": True}, "F32"),
    "equal_vocabularies": ({"decoder_vocab_size": 101}, "F32"),
    "bf16": (SEPARATE, "BF16"),
    "f16": ({"d_model": 48, "nhead": 2}, "F16"),
}
# transformer_generation.py compiles a tied one with a bias.
FEW = ("two_vocabularies", "bf16", "f16")
TEXTS = {"two_vocabularies": (READER, WRITER, ("hi 12 hi-hi", "I'S e\u0301\u00e9!\n x"))}


def build(name, directory):
    config, storage = CASES[name]
    transformer.make(directory, config, 7, storage)
    return transformer.load(directory)


MODELS = encoder_decoder.models(CASES, FEW, build, {name: case[1] for name, case in CASES.items()}, TEXTS, generic=("bf16",), cuda=())
