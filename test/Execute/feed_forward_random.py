"""Compiles random feed-forward models, neural probabilistic language models and kernel regressions, runs them and compares them with
test/Reference/numpy/feedforward.py.

Batches of texts have unequal lengths, from one token to more than any window. Relative L2 of every output against float64 over the stored weights; what
stands behind a text's end must be 0; compiled code must give the same bits with 1, 2 and 7 threads. A reference without the model's quirk must be
farther away than the tolerance.
"""

import json
import os
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import encoder_decoder  # noqa: E402
import encoders  # noqa: E402
import feedforward  # noqa: E402
import passed  # noqa: E402
import random_models  # noqa: E402
import small_tokenizers  # noqa: E402

TOKENIZER = small_tokenizers.ByteLevelBPE()


def cases():
    """name: (configuration, storage, the quirk that the reference may leave out)."""
    tabular, text, convolution, lm, kernel = (feedforward.MODELS[name] for name in ("tabular", "text", "convolution", "language-model", "kernel"))
    attention = {**text, "pooling": "attention"}
    yield "logistic", tabular, "F32", None
    yield "logistic_one", {**tabular, "num_features": 1, "num_labels": 1}, "F32", None
    yield "perceptron", {**tabular, "num_features": 33, "hidden_sizes": [40, 1, 31], "activation": "tanh"}, "F32", None
    yield "perceptron_leaky", {**tabular, "hidden_sizes": [17], "activation": "leaky_relu"}, "F32", None
    yield "convolution_leaky", {**convolution, "activation": "leaky_relu", "negative_slope": 0.3}, "F32", "largest"
    yield "averaging", {**text, "hidden_sizes": [37, 32]}, "F32", None
    yield "averaging_linear", {**text, "embedding_size": 1}, "F32", None
    yield "averaging_gelu", {**text, "hidden_sizes": [16], "activation": "gelu"}, "F32", None
    yield "attention", attention, "F32", None
    yield "attention_keys", {**attention, "attention_size": 13, "hidden_sizes": [21], "embedding_size": 37}, "F32", "tanh"
    yield "attention_wide", {**attention, "attention_size": 64, "embedding_size": 3}, "F32", "tanh"
    yield "convolution", convolution, "F32", "largest"
    # Outputs below 0, so that a window behind the text's end would be the largest.
    yield "convolution_tanh", {**convolution, "activation": "tanh", "kernel_sizes": [2, 7], "num_filters": 33, "embedding_size": 5}, "F32", "windows"
    yield "convolution_one", {**convolution, "kernel_sizes": [1], "num_filters": 1, "embedding_size": 1}, "F32", None
    yield "convolution_deep", {**convolution, "kernel_sizes": [64, 3], "hidden_sizes": [19], "activation": "sigmoid"}, "F32", None
    yield "language", lm, "F32", "order"
    yield "language_direct", {**lm, "direct_connections": True, "context_size": 5, "embedding_size": 33}, "F32", "direct"
    yield "language_one", {**lm, "context_size": 1, "embedding_size": 1, "hidden_size": 1}, "F32", None
    yield "language_tied", {**lm, "tie_word_embeddings": True, "embedding_size": 20, "activation": "relu", "context_size": 64}, "F32", "order"
    yield "kernel", kernel, "F32", "lengths"
    yield "kernel_one", {**kernel, "num_features": 1, "num_examples": 1, "num_outputs": 1}, "F32", None
    yield "kernel_wide", {**kernel, "num_features": 37, "num_examples": 600, "num_outputs": 33, "bandwidth": 2.5}, "F32", "lengths"
    for storage in ("BF16", "F16"):
        yield f"perceptron_{storage}", {**tabular, "hidden_sizes": [40, 31]}, storage, None
        yield f"averaging_{storage}", {**text, "hidden_sizes": [37]}, storage, None
        yield f"attention_{storage}", {**attention, "attention_size": 13}, storage, "tanh"
        yield f"convolution_{storage}", convolution, storage, "largest"
        yield f"language_{storage}", {**lm, "direct_connections": True, "vocab_size": TOKENIZER.size}, storage, "order"
        yield f"kernel_{storage}", kernel, storage, "lengths"


CASES = {name: (config, storage, quirk) for name, config, storage, quirk in cases()}
TEXT = "language_BF16"
FEW = ("logistic", "convolution_leaky", "averaging_BF16", "attention_keys", "convolution_tanh", "convolution_F16", "language_direct", "language_BF16", "kernel")
# One token, primes, the widest window and more.
LENGTHS = (1, 2, 3, 5, 67, 64, 6)
# Far from the origin, so that squares are large beside distances; numpy.float32 holds these exactly.
ORIGIN = 1024.0


def vectors(config, directory, random):
    """The inputs of a model of vectors. Kernel regression is of keys that are far from the origin."""
    x = random.standard_normal((9, config["num_features"])).astype(numpy.float32)
    if config["model_type"] == "kernel-regression":
        x *= 0.7
    return x


def moveKeys(directory, storage):
    """Stores the keys about ORIGIN instead of 0."""
    path = os.path.join(directory, "model.safetensors")
    tensors = {name: numpy.array(values, numpy.float32) for name, values in feedforward.tensorfiles.read(path).items()}
    tensors["keys"] += numpy.float32(ORIGIN)
    feedforward.tensorfiles.write(path, tensors, storage)


def whole(model, inputs):
    """Every output of a batch, NaN behind a text's end."""
    if "inputs" in inputs:
        name = "outputs" if isinstance(model, feedforward.Regression) else "logits"
        return {name: numpy.array([model.forward(x.astype(numpy.float64)) for x in inputs["inputs"]])}
    ids, lengths = inputs["input_ids"], inputs["attention_mask"].sum(1)
    rows = [model.forward(row[:length]) for row, length in zip(ids, lengths)]
    if not isinstance(model, feedforward.LanguageModel):
        return {"logits": numpy.array(rows)}
    logits = numpy.full((*ids.shape, model.settings["vocab_size"]), numpy.nan)
    for row, (values, length) in enumerate(zip(rows, lengths)):
        logits[row, :length] = values
    return {"logits": logits}


def checkText(rapt_run, library, model):
    """A language model continues a text."""
    for text in ("hi 12 hi-hi", "I'S \u00e9e\u0301!\n x"):
        ids = TOKENIZER.ids(text)
        for _ in range(9):
            ids.append(int(model.forward(ids)[-1].argmax()))
        found = json.loads(random_models.run([rapt_run, library, "-p", text, "-n", "9", "--ignore-eos", "--json"]))
        expected = (len(ids) - 9, ids[-9:], TOKENIZER.text(ids[-9:]))
        assert (found["prompt_tokens"], found["tokens"], found["text"]) == expected, f"{text!r}: {found}, expected {expected}"
    passed.note("compiled", "family neural-probabilistic decode", f"family neural-probabilistic tokenizer {TOKENIZER.KIND}")


def check(name, options, directory):
    config, storage, quirk = CASES[name]
    source = os.path.join(directory, "model")
    feedforward.make(source, config, 7, storage)
    if name == "kernel":
        moveKeys(source, storage)
    if name == TEXT:
        TOKENIZER.write(source)
    model, random = feedforward.load(source), numpy.random.RandomState(3)
    command = random_models.program(options, source, directory)
    if "vocab_size" in config:
        ids, mask = encoder_decoder.batch(LENGTHS, config["vocab_size"], random)
        inputs = {"input_ids": ids, "attention_mask": mask}
    else:
        inputs = {"inputs": vectors(config, source, random) + numpy.float32(ORIGIN if name == "kernel" else 0)}
    if name == TEXT and options.rapt_run:
        checkText(*command, model)
    wanted, tolerance = whole(model, inputs), random_models.TOLERANCE[storage]
    if quirk:
        for output, values in whole(feedforward.load(source, quirk), inputs).items():
            right = numpy.nan_to_num(wanted[output])
            apart = numpy.linalg.norm(numpy.nan_to_num(values) - right) / numpy.linalg.norm(right)
            assert apart > 2 * tolerance, f"without {quirk} {output} is as near as {apart:.1e}"
    return encoders.check_batch(options, command, "ragged", directory, inputs, wanted, tolerance)


MODELS = random_models.Models(check, CASES, FEW, generic=("attention_keys", "convolution_tanh", "language_BF16"))
