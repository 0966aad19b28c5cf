"""Compiles random models of encoder families, runs them and compares them with test/Reference/numpy/encoder_families.py.

Each family and head runs on batches of unequal lengths, and on one text that fills all positions. Relative L2 of every output against float64
over the stored weights; compiled code must give the same bits with 1, 2 and 7 threads.
"""

import os
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import encoder_families  # noqa: E402
import encoders  # noqa: E402
import random_models  # noqa: E402

SEED = 7
HEADS = ("Model", "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering")
ODD = {"num_labels": 5, "pad_token_id": 3}

# name -> (configuration, storage of the weights)
CASES = {f"{kind}-{head.removeprefix('For')}": (encoder_families.small(kind, head, **(ODD if "Classification" in head else {})), "F32")
         for kind in ("roberta", "distilbert", "electra") for head in HEADS}
for kind in ("xlm-roberta", "camembert"):
    CASES[f"{kind}-MaskedLM"] = encoder_families.small(kind, "ForMaskedLM"), "F32"
for kind in encoder_families.FAMILIES:
    CASES[f"{kind}-bf16"] = encoder_families.small(kind, "ForSequenceClassification"), "BF16"
CASES["electra-as-wide"] = encoder_families.small("electra", "ForMaskedLM", embedding_size=48, hidden_act="relu"), "F32"
CASES["distilbert-relu"] = encoder_families.small("distilbert", "ForMaskedLM", activation="relu"), "F32"
CASES["roberta-one-type"] = encoder_families.small("roberta", "ForMaskedLM", type_vocab_size=1), "F32"

FEW = ("roberta-MaskedLM", "distilbert-SequenceClassification", "electra-MaskedLM", "xlm-roberta-bf16", "camembert-bf16", "roberta-bf16", "distilbert-bf16",
       "electra-bf16", "xlm-roberta-MaskedLM", "camembert-MaskedLM")


def check(name, options, directory):
    source, (config, dtype) = os.path.join(directory, "model"), CASES[name]
    model = encoder_families.make(source, config, SEED, dtype)
    most = config["max_position_embeddings"] - (config["pad_token_id"] + 1 if model.settings["first"] else 0)
    command = random_models.program(options, source, directory, ())
    worst, random = 0.0, numpy.random.RandomState(3)
    for label, lengths in (("ragged", (13, 61, 1, 33)), ("whole", (most,))):
        ids = random.randint(0, config["vocab_size"], (len(lengths), max(lengths))).astype(numpy.int64)
        inputs = {"input_ids": ids}
        if len(lengths) > 1:
            inputs["attention_mask"] = (numpy.arange(ids.shape[1])[None] < numpy.array(lengths)[:, None]).astype(numpy.int64)
        wanted = encoders.expected(model, ids, lengths, model.settings["head"].endswith("SequenceClassification"))
        worst = max(worst, encoders.check_batch(options, command, label, directory, inputs, wanted, random_models.TOLERANCE[dtype]))
    return worst


MODELS = random_models.Models(check, CASES, FEW)
