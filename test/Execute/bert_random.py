"""Compiles random models of the bert family, runs them and compares them with test/Reference/numpy/bert.py.

Each configuration runs on batches of unequal lengths, with token types and without. Relative L2 of every output of the
head against float64 over the stored weights; what stands behind a row's end must be 0; compiled code must give the same
bits with 1, 2 and 7 threads.
"""

import os
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import bert  # noqa: E402
import encoders  # noqa: E402
import random_models  # noqa: E402

SEED = 7
ODD = {"hidden_size": 66, "num_attention_heads": 3, "intermediate_size": 97, "vocab_size": 131, "max_position_embeddings": 37,
       "type_vocab_size": 3}
POSITION_IDS = {"bert.embeddings.position_ids": numpy.arange(160)[None]}


def head(name, **config):
    return {"architectures": ["BertFor" + name], **config}


# name: (configuration, how its checkpoint is written: see bert.make, or "seeded" for one without weights)
CASES = {
    "base": ({}, {"extra": POSITION_IDS}),
    "base_without_prefix": ({"num_attention_heads": 1}, {"prefix": False}),
    "base_without_pooler": ({"num_hidden_layers": 1}, {"prefix": False, "pooler": False}),
    "masked": (head("MaskedLM"), {"extra": POSITION_IDS}),
    "masked_untied": (head("MaskedLM", tie_word_embeddings=False, hidden_act="relu"), {}),
    "masked_old_names": (head("MaskedLM", num_hidden_layers=1), {"oldNames": True}),
    "pretraining": (head("PreTraining", layer_norm_eps=1e-3), {"oldNames": True}),
    "sequence": (head("SequenceClassification", id2label={"0": "a", "1": "b", "2": "c"}), {}),
    "sequence_one_label": (head("SequenceClassification", num_labels=1, num_hidden_layers=1), {}),
    "tokens": (head("TokenClassification", num_labels=5, hidden_act="gelu_new"), {}),
    "question": (head("QuestionAnswering", num_attention_heads=2), {}),
    "odd_base": (ODD, {}),
    "odd_masked": (head("MaskedLM", **ODD), {}),
    "odd_sequence": (head("SequenceClassification", num_labels=7, **ODD), {}),
    "odd_tokens": (head("TokenClassification", num_labels=33, **ODD), {}),
    "odd_question": (head("QuestionAnswering", **ODD), {}),
    "one_type_one_layer": ({"type_vocab_size": 1, "num_hidden_layers": 1, "hidden_act": "silu"}, {}),
    "deep": ({"num_hidden_layers": 7}, {}),
    "bf16": (head("MaskedLM"), {"dtype": "BF16"}),
    "bf16_odd": (head("TokenClassification", num_labels=3, **ODD), {"dtype": "BF16"}),
    "f16": (head("QuestionAnswering"), {"dtype": "F16"}),
    "f16_odd": (ODD, {"dtype": "F16", "modules": ("cls_token", True)}),
    "sentence_mean": ({"num_hidden_layers": 1}, {"modules": ("mean_tokens", True)}),
    "sentence_max": ({"num_hidden_layers": 1}, {"modules": ("max_tokens", False)}),
    "sentence_dense": ({"num_hidden_layers": 1}, {"modules": ("mean_tokens", True, ((130, True, "tanh"), (7, False, "identity"), (33, True, "relu")))}),
    "sentence_last": (ODD, {"modules": ("lasttoken", True)}),
    "seeded_masked": (head("MaskedLM", tie_word_embeddings=False), "seeded"),
    "seeded_base": (ODD, "seeded"),
}
# bert_tasks.py compiles each head of a seeded model besides.
FEW = ("odd_tokens", "odd_question", "bf16", "sentence_dense")


def build(name, directory):
    config, how = CASES[name]
    if how != "seeded":
        bert.make(directory, config, SEED, **how)
        model = bert.load(directory)
        model.modules = how.get("modules", model.modules)
        return model
    config = bert.make(directory, config)
    os.remove(os.path.join(directory, "model.safetensors"))
    return bert.Model(config, bert.tensors(config, SEED))


def batches(settings):
    """[(label, lengths, with token types)]: 1, primes, a tile of keys and one more, all positions."""
    most = settings["max_position_embeddings"]
    lengths = lambda *wanted: [min(length, most) for length in wanted]
    return [("ragged", lengths(13, 70, 1, 33), True), ("untyped", lengths(5, 2), False), ("whole", [most], True)]


def expected(model, ids, types, lengths):
    """Every output of the batch, NaN behind a row's end."""
    outputs = {}
    for row, length in enumerate(lengths):
        for name, values in model.forward(ids[row, :length], None if types is None else types[row, :length]).items():
            whole = name in ("sentence_embedding", "pooler_output", "seq_relationship_logits") or model.settings["head"] == "BertForSequenceClassification"
            shape = (len(lengths), *values.shape) if whole else (*ids.shape, *values.shape[1:])
            place = outputs.setdefault(name, numpy.full(shape, numpy.nan))
            place[row if whole else (row, slice(length))] = values
    return outputs


def check(name, options, directory):
    source = os.path.join(directory, "model")
    model = build(name, source)
    storage = "F32" if CASES[name][1] == "seeded" else CASES[name][1].get("dtype", "F32")
    flags = [f"--random-weights={SEED}"] if CASES[name][1] == "seeded" else []
    command = random_models.program(options, source, directory, flags)
    worst, random = 0.0, numpy.random.RandomState(3)
    for label, lengths, typed in batches(model.settings):
        shape = (len(lengths), max(lengths))
        inputs = {"input_ids": random.randint(0, model.settings["vocab_size"], shape).astype(numpy.int64)}
        if len(lengths) > 1:
            inputs["attention_mask"] = (numpy.arange(shape[1])[None] < numpy.array(lengths)[:, None]).astype(numpy.int64)
        if typed:
            inputs["token_type_ids"] = random.randint(0, model.settings["type_vocab_size"], shape).astype(numpy.int64)
        wanted = expected(model, inputs["input_ids"], inputs.get("token_type_ids"), lengths)
        worst = max(worst, encoders.check_batch(options, command, label, directory, inputs, wanted, random_models.TOLERANCE[storage]))
    return worst


MODELS = random_models.Models(check, CASES, FEW, generic=(), cuda=(), evaluated=[name for name, case in CASES.items() if case[1] != "seeded"])
