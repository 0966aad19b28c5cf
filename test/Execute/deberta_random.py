"""Compiles random models of the deberta-v2 family, runs them and compares them with test/Reference/numpy/deberta.py.

Texts of unequal lengths in one batch, and one that fills all positions. Relative L2 of every output against float64 over the stored weights;
compiled code must give the same bits with 1, 2 and 7 threads. The case `formulas` compares deberta.py with the recorded model of the transformers package.
"""

import os
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import deberta  # noqa: E402
import encoder_random  # noqa: E402
import encoders  # noqa: E402
import layers  # noqa: E402
import random_models  # noqa: E402
import recorded_models  # noqa: E402

SEED = 11
small = deberta.small
OWN = {"share_att_key": False, "norm_rel_ebd": "none"}

# name -> (configuration, storage of the weights)
CASES = {head.removeprefix("For"): (small(head), "F32") for head in encoder_random.HEADS}
CASES |= {name: (small(**changes), "F32") for name, changes in {
    "own-projections": OWN,
    "keys": {"pos_att_type": ["c2p"], **OWN},
    "queries": {"pos_att_type": "p2c", **OWN},
    "shared-keys": {"pos_att_type": ["c2p"]},
    "no-terms": {"pos_att_type": None},
    "absolute": {"relative_attention": False, "position_biased_input": True, "norm_rel_ebd": "none"},
    "both": {"position_biased_input": True, "type_vocab_size": 2},
    "distances": {"position_buckets": -1},
    "near": {"position_buckets": -1, "max_relative_positions": 9},
    "near-buckets": {"position_buckets": 11, "max_relative_positions": 20},
    "far-buckets": {"position_buckets": 32, "max_relative_positions": 500},
    "two-buckets": {"position_buckets": 2},
    "aliasing": {"position_buckets": -1, "max_position_embeddings": 64, "num_attention_heads": 8},  # rows of tables have 4096 bytes
    "one-head": {"num_attention_heads": 1},
    "convolution": {"conv_kernel_size": 3, "conv_act": "gelu"},
    "one-layer-convolution": {"conv_kernel_size": 7, "num_hidden_layers": 1},  # wider than the shortest text
    "pointwise": {"conv_kernel_size": 1, "conv_act": "relu", "num_hidden_layers": 3},
    "many-heads": {"num_attention_heads": 12, "hidden_act": "relu"},
}.items()}
CASES["narrow"] = small("ForMaskedLM", embedding_size=20, type_vocab_size=3), "F32"
CASES["new-head"] = small("ForMaskedLM", legacy=False, hidden_act="relu"), "F32"
CASES["classes"] = small("ForSequenceClassification", num_labels=5, pooler_hidden_act="relu"), "F32"
CASES["bf16"] = small("ForMaskedLM", **OWN), "BF16"
CASES["f16"] = small("ForMaskedLM"), "F16"

FEW = ("own-projections", "near-buckets", "aliasing", "bf16", "convolution")


def check(name, options, directory):
    source, (config, dtype) = os.path.join(directory, "model"), CASES[name]
    model = deberta.make(source, config, SEED, dtype)
    command = random_models.program(options, source, directory, ())
    worst, random = 0.0, numpy.random.RandomState(3)
    for label, lengths in (("ragged", (13, 61, 1, 33)), ("whole", (config["max_position_embeddings"],))):
        ids = random.randint(0, config["vocab_size"], (len(lengths), max(lengths))).astype(numpy.int64)
        inputs = {"input_ids": ids}
        if len(lengths) > 1:
            inputs["attention_mask"] = (numpy.arange(ids.shape[1])[None] < numpy.array(lengths)[:, None]).astype(numpy.int64)
        wanted = encoders.expected(model, ids, lengths, model.settings["head"].endswith("SequenceClassification"))
        worst = max(worst, encoders.check_batch(options, command, label, directory, inputs, wanted, random_models.TOLERANCE[dtype]))
    return worst


def distance(found, wanted):
    return max(numpy.linalg.norm(found[name] - wanted[name]) / numpy.linalg.norm(wanted[name]) for name in wanted)


def check_formulas():
    """deberta.py gives what the package gave, and each of its quirks has an effect."""
    recorded, worst = recorded_models.read("deberta-v2"), 0.0
    tensors = {name: recorded_models.weights.tensor(name, shape) for name, shape in recorded["tensors"].items()}
    for case in recorded["cases"]:
        wanted = recorded_models.decoded(case["outputs"]["logits"])
        for ids, row in zip(case["inputs"]["input_ids"], wanted):
            found = deberta.Model(recorded["config"], tensors).forward(numpy.array(ids))["logits"]
            worst = max(worst, numpy.linalg.norm(found - row) / numpy.linalg.norm(row))
    print(f"recorded deberta-v2: relative L2 {worst:.1e}")
    assert worst < 1e-6
    ids = numpy.random.RandomState(5).randint(0, 101, 60)
    for quirk in deberta.QUIRKS:
        seen = []
        for name, (config, _) in CASES.items():
            if quirk == "projections" and config["share_att_key"]:
                continue  # which have no tensors of the other kind
            drawn = layers.draw(deberta.shapes(config), SEED)
            seen.append(distance(deberta.Model(config, drawn, (quirk,)).forward(ids), deberta.Model(config, drawn).forward(ids)))
        print(f"without {quirk}: relative L2 up to {max(seen):.1e}, {sum(value > 1e-3 for value in seen)} of {len(seen)} cases")
        assert max(seen) > 1e-3


MODELS = random_models.Models(check, CASES, FEW)
