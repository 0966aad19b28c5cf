"""Configurations that together show every quirk of the gpt2 family; shared by the tests that use random models.

CASES: name -> (config, options of make_model.makeModel, and the type of the cache where it is not the weights').
FEW: names of those that differ in the code that is made, not in the checkpoint alone.
SEEDED: name -> config of models that get their weights from --random-weights.
"""

CASES = {
    "one-layer": ({"n_layer": 1}, {}),
    "deep": ({"n_layer": 7, "n_embd": 32, "n_head": 2}, {"prefix": True}),
    "head-16": ({"n_embd": 48, "n_head": 3}, {}),
    "head-20": ({"n_embd": 60, "n_head": 3}, {"prefix": True}),
    "head-33": ({"n_embd": 66, "n_head": 2}, {}),
    "head-64": ({"n_embd": 128, "n_head": 2}, {}),
    "head-80": ({"n_embd": 160, "n_head": 2}, {"prefix": True}),
    "head-128": ({"n_embd": 128, "n_head": 1}, {}),
    "inner-odd": ({"n_inner": 77}, {}),
    "inner-null": ({"n_inner": None, "scale_attn_weights": True, "reorder_and_upcast_attn": False}, {}),
    "inner-narrow": ({"n_inner": 8}, {"prefix": True}),
    "vocab-1": ({"vocab_size": 1}, {}),
    "vocab-31": ({"vocab_size": 31}, {}),
    "vocab-1009": ({"vocab_size": 1009}, {"prefix": True}),
    "gelu": ({"activation_function": "gelu"}, {}),
    "relu": ({"activation_function": "relu"}, {}),
    "silu": ({"activation_function": "silu"}, {"prefix": True}),
    "no-scale": ({"scale_attn_weights": False, "n_embd": 32, "n_head": 2}, {}),
    "inverse-layer": ({"scale_attn_by_inverse_layer_idx": True, "n_layer": 4}, {}),
    "no-scale-inverse-layer": (
        {"scale_attn_weights": False, "scale_attn_by_inverse_layer_idx": True, "n_layer": 3, "n_embd": 32, "n_head": 2}, {},
    ),
    "epsilon-large": ({"layer_norm_epsilon": 0.1}, {}),
    "epsilon-small": ({"layer_norm_epsilon": 1e-12}, {}),
    "untied": ({"tie_word_embeddings": False}, {}),
    "untied-prefix": ({"tie_word_embeddings": False, "vocab_size": 97}, {"prefix": True}),
    "sharded": ({"n_layer": 3}, {"shards": 3, "prefix": True}),
    "f16": ({}, {"dtype": "F16"}),
    "bf16": ({}, {"dtype": "BF16"}),
    "bf16-sharded-untied": (
        {"tie_word_embeddings": False, "n_embd": 80, "n_head": 4}, {"dtype": "BF16", "shards": 2, "prefix": True},
    ),
    "buffers": ({}, {"buffers": True, "prefix": True}),
    "long": ({"n_positions": 300, "n_embd": 32, "n_head": 2}, {"cache": "int8"}),
}

SEEDED = {
    "seeded": {"n_layer": 3, "n_embd": 96, "n_head": 3, "vocab_size": 301},
    "seeded-untied": {"tie_word_embeddings": False, "n_inner": 99, "activation_function": "gelu"},
}

FEW = ["head-33", "head-128", "vocab-1", "f16", "bf16-sharded-untied", "long", "seeded-untied"]
