"""Compiles random models of the t5 family, runs them and compares them with test/Reference/numpy/t5.py.

Each configuration runs on a batch of sources and targets of unequal lengths. Relative L2 of the logits and of the
encoder's output against float64 over the stored weights, and what stands behind a row's end, which must be 0.
"""

import os
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import encoder_decoder  # noqa: E402
import small_tokenizers  # noqa: E402
import t5  # noqa: E402

TOKENIZER = small_tokenizers.Unigram()
ODD_BUCKETS = {"relative_attention_num_buckets": 13, "relative_attention_max_distance": 37}

# name: (configuration, storage, extra tensors)
CASES = {
    "relu_tied": ({}, "F32", {}),
    "gated_untied": ({"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "dense_act_fn": "gelu_new", "is_gated_act": True}, "F32", {}),
    "mt5": ({"model_type": "mt5", "architectures": ["MT5ForConditionalGeneration"], "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False,
             "vocab_size": TOKENIZER.size, **ODD_BUCKETS}, "F32", {}),
    **{f"mt5_{storage.lower()}": ({"model_type": "mt5", "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}, storage, {})
       for storage in ("BF16", "F16")},
    "odd_sizes": ({"d_model": 37, "d_kv": 20, "num_heads": 3, "d_ff": 71, "vocab_size": 103}, "F32", {}),
    "wide_heads": ({"d_model": 32, "d_kv": 64, "num_heads": 2, "d_ff": 33, "feed_forward_proj": "gated-silu"}, "F32", {}),
    "one_layer": ({"num_layers": 1, "d_kv": 32}, "F32", {}),
    "more_decoder": ({"num_layers": 1, "num_decoder_layers": 3, "feed_forward_proj": "gelu"}, "F32", {}),
    "more_encoder": ({"num_layers": 3, "num_decoder_layers": 1, "layer_norm_epsilon": 1e-3}, "F32", {}),
    "few_buckets": ({"relative_attention_num_buckets": 4, "relative_attention_max_distance": 3}, "F32", {}),
    "odd_buckets": (ODD_BUCKETS, "F32", {}),
    "far_buckets": ({"relative_attention_num_buckets": 64, "relative_attention_max_distance": 200}, "F32", {}),
    "old_tensors": ({"d_kv": 8}, "F32", {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight": (32, 4)}),
    "bf16": ({"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}, "BF16", {}),
    "f16": ({"d_kv": 24}, "F16", {}),
}
# t5_generation.py compiles a gated, untied one.
FEW = ("mt5", "mt5_f16", "bf16")
CACHES = {"f16": "int8", "odd_sizes": "bf16", "wide_heads": "f16"}
TEXTS = {"mt5": (TOKENIZER, TOKENIZER, ("abc d cd", "d\u00e9 xx abcab"))}


def build(name, directory):
    config, storage, extra = CASES[name]
    random = numpy.random.RandomState(9)
    extra = {tensor: random.standard_normal(shape).astype(numpy.float32) for tensor, shape in extra.items()}
    t5.make(directory, config, 7, storage, extra)
    return t5.load(directory)


MODELS = encoder_decoder.models(CASES, FEW, build, {name: case[1] for name, case in CASES.items()}, TEXTS, CACHES, generic=(), cuda=())
