"""Compiles random recurrent models, runs them and compares them with test/Reference/numpy/recurrent.py.

Every cell with every head and attention, on batches of unequal lengths. Relative L2 of every output against float64 over
the stored weights; what stands behind a row's end must be 0; compiled code must give the same bits with 1, 2 and 7
threads.
"""

import json
import os
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import encoder_decoder  # noqa: E402
import encoders  # noqa: E402
import passed  # noqa: E402
import random_models  # noqa: E402
import recurrent  # noqa: E402
import small_tokenizers  # noqa: E402
from encoder_decoder import vocabularies  # noqa: E402

TOKENIZER = small_tokenizers.ByteLevelBPE()
CELLS = ("rnn_tanh", "rnn_relu", "gru", "lstm")
ATTENTIONS = ("none", "bahdanau", "luong_dot", "luong_general")
ODD = {"vocab_size": 37, "embedding_size": 9, "hidden_size": 21}


def cases():
    """name: (configuration, storage)."""
    lm, classifier, tagger, base, seq2seq = recurrent.LM, recurrent.CLASSIFIER, recurrent.TAGGER, recurrent.BASE, recurrent.SEQ2SEQ
    for cell in CELLS:
        yield f"lm_{cell}", {**lm, **ODD, "cell": cell, "num_layers": 2}, "F32"
        yield f"classifier_{cell}", {**classifier, **ODD, "cell": cell, "num_layers": 3, "bidirectional": True}, "F32"
        yield f"tagger_{cell}", {**tagger, **ODD, "cell": cell, "num_layers": 2, "bidirectional": cell != "gru"}, "F32"
        yield f"reversed_{cell}", {**seq2seq, **ODD, "cell": cell, "encoder_layers": 1 + (cell == "lstm"), "reverse_source": True}, "F32"
        for attention in ATTENTIONS:
            yield f"{attention}_{cell}", {**seq2seq, "cell": cell, "attention": attention}, "F32"
        # Several layers, two directions, odd sizes.
        both = {**seq2seq, **ODD, "cell": cell, "encoder_layers": 3, "bidirectional": True}
        yield f"both_none_{cell}", {**both, "encoder_hidden_size": 11, "decoder_layers": 1}, "F32"
        yield f"both_bahdanau_{cell}", {**both, "attention": "bahdanau", "encoder_hidden_size": 33}, "F32"
        yield f"both_luong_general_{cell}", {**both, "attention": "luong_general", "encoder_hidden_size": 7, "decoder_layers": 3}, "F32"
    yield "lm_one", {**lm, "num_layers": 1, "embedding_size": 1}, "F32"
    yield "lm_tied", {**lm, "tie_word_embeddings": True, "cell": "gru"}, "F32"
    yield "lm_unbiased", {**lm, "bias": False, "num_layers": 3, "hidden_size": 1}, "F32"
    yield "classifier_mean", {**classifier, "pooling": "mean", "bidirectional": True, "num_labels": 1}, "F32"
    yield "classifier_max", {**classifier, "pooling": "max", "cell": "gru"}, "F32"
    yield "projected_lm", {**lm, **ODD, "proj_size": 6, "num_layers": 3}, "F32"
    yield "projected_tied", {**lm, "proj_size": 9, "embedding_size": 9, "tie_word_embeddings": True, "bias": False}, "F32"
    yield "projected_F16", {**classifier, **ODD, "proj_size": 13, "num_layers": 3, "bidirectional": True}, "F16"
    yield "tagger_one_label", {**tagger, "num_labels": 1, "cell": "rnn_tanh", "bias": False}, "F32"
    both = {**seq2seq, **ODD, "encoder_layers": 2, "bidirectional": True, "encoder_hidden_size": 11, "reverse_source": True}
    yield "reversed_both", {**both, "decoder_layers": 1}, "F32"
    yield "reversed_bahdanau", {**both, "attention": "bahdanau", "cell": "gru"}, "F32"
    yield "reversed_luong", {**seq2seq, "attention": "luong_dot", "reverse_source": True}, "F32"
    yield "copies_both", {**seq2seq, "encoder_hidden_size": 16, "bidirectional": True, "bridge": "copy", "encoder_layers": 3}, "F32"
    yield "dense_bridge", {**seq2seq, "bridge": "dense", "decoder_layers": 2, "cell": "gru"}, "F32"
    yield "one_key", {**seq2seq, **ODD, "attention": "bahdanau", "encoder_hidden_size": 17, "bidirectional": True, "attention_size": 34}, "F32"
    yield "luong_dot_both", {**seq2seq, "attention": "luong_dot", "encoder_hidden_size": 16, "bidirectional": True, "bridge": "dense"}, "F32"
    yield "unfed_dot", {**seq2seq, "attention": "luong_dot", "input_feeding": False, "encoder_layers": 2}, "F32"
    yield "unfed_general", {**seq2seq, **ODD, "attention": "luong_general", "input_feeding": False, "encoder_hidden_size": 33, "bridge": "dense"}, "F32"
    yield "shared_tied", {**seq2seq, "share_embeddings": True, "tie_word_embeddings": True, "attention": "luong_dot", "bias": False}, "F32"
    yield "unfed_F16", {**seq2seq, **ODD, "attention": "luong_general", "input_feeding": False, "encoder_hidden_size": 33, "bridge": "dense"}, "F16"
    for storage in ("BF16", "F16"):
        yield f"lm_{storage}", {**lm, "num_layers": 3, "vocab_size": TOKENIZER.size}, storage
        yield f"classifier_{storage}", {**classifier, "cell": "gru"}, storage
        yield f"tagger_{storage}", {**tagger, **ODD, "bidirectional": True}, storage
        yield f"bahdanau_{storage}", {**seq2seq, **ODD, "attention": "bahdanau", "bidirectional": True, "decoder_vocab_size": 45}, storage
    yield "base", {**base, **ODD, "num_layers": 2}, "F32"
    yield "base_F16", {**base, **ODD, "cell": "gru", "bidirectional": True}, "F16"
    yield "two_vocabularies", {**seq2seq, "decoder_vocab_size": 83}, "F32"
    yield "two_tied", {**seq2seq, "decoder_vocab_size": 19, "tie_word_embeddings": True, "attention": "luong_dot"}, "F32"


CASES = {name: (config, storage) for name, config, storage in cases()}
TEXT = "lm_BF16"
FEW = ("lm_BF16", "classifier_lstm", "both_bahdanau_lstm", "unfed_F16", "tagger_F16", "reversed_bahdanau")
# Lengths of sources and targets: 1, primes, a cache block and one more.
LENGTHS = ((5, 67, 1), (9, 1, 33))


def build(name, directory):
    config, storage = CASES[name]
    recurrent.make(directory, config, 7, storage)
    return recurrent.load(directory)


def whole(model, inputs):
    """Every output of a batch, NaN behind a row's end."""
    lengths = lambda mask: inputs[mask].sum(1)
    outputs = {}

    def put(name, row, values, length):
        shape = (len(inputs["input_ids"]), *((length,) if values.ndim == 2 else ()), values.shape[-1])
        place = outputs.setdefault(name, numpy.full(shape, numpy.nan))
        place[row if values.ndim == 1 else (row, slice(len(values)))] = values

    for row, length in enumerate(lengths("attention_mask")):
        ids = inputs["input_ids"][row, :length]
        if model.settings["architectures"] == ["RecurrentModel"]:
            states = model.states(ids)
            put("last_hidden_state", row, states, inputs["input_ids"].shape[1])
            put("sentence_embedding", row, states.mean(0), None)
            continue
        if "decoder_input_ids" not in inputs:
            put("logits", row, model.forward(ids), inputs["input_ids"].shape[1])
            continue
        put("encoder_last_hidden_state", row, model.encode(ids), inputs["input_ids"].shape[1])
        target = inputs["decoder_input_ids"][row, :lengths("decoder_attention_mask")[row]]
        put("logits", row, model.decode(target, None), inputs["decoder_input_ids"].shape[1])
    return outputs


def checkText(rapt_run, library, model):
    """A language model continues a text."""
    for text in ("hi 12 hi-hi", "I'S \u00e9e\u0301!\n x"):
        ids = TOKENIZER.ids(text)
        for _ in range(9):
            ids.append(int(model.forward(ids)[-1].argmax()))
        found = json.loads(random_models.run([rapt_run, library, "-p", text, "-n", "9", "--ignore-eos", "--json"]))
        expected = (len(ids) - 9, ids[-9:], TOKENIZER.text(ids[-9:]))
        assert (found["prompt_tokens"], found["tokens"], found["text"]) == expected, f"{text!r}: {found}, expected {expected}"
    passed.note("compiled", "family recurrent decode", f"family recurrent tokenizer {TOKENIZER.KIND}")


def check(name, options, directory):
    source = os.path.join(directory, "model")
    model = build(name, source)
    if name == TEXT:
        TOKENIZER.write(source)
    command = random_models.program(options, source, directory)
    random, inputs = numpy.random.RandomState(3), {}
    isDecoder = model.settings["model_type"] != "recurrent"
    for prefix, lengths, size in zip(("", "decoder_")[:1 + isDecoder], LENGTHS, vocabularies(model.settings)):
        ids, mask = encoder_decoder.batch(lengths, size, random)
        inputs[prefix + "input_ids"], inputs[prefix + "attention_mask"] = ids, mask
    if name == TEXT and options.rapt_run:
        checkText(*command, model)
    return encoders.check_batch(options, command, "ragged", directory, inputs, whole(model, inputs), random_models.TOLERANCE[CASES[name][1]])


MODELS = random_models.Models(check, CASES, FEW, generic=("both_bahdanau_lstm",), cuda=("lm_BF16",))
