"""Compiles random attention captioners, runs them and compares them with test/Reference/numpy/captioner.py.

Every cell, gate and output; grids of one position and of more than a cache block; kernels, strides, borders and pools that leave pixels
out. Relative L2 of every output against float64 over the stored weights; what stands behind a row's end must be 0; compiled code must give
the same bits with 1, 2 and 7 threads.
"""

import os
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import captioner  # noqa: E402
import encoder_decoder  # noqa: E402
import encoders  # noqa: E402
import random_models  # noqa: E402

SMALL = captioner.SMALL
LENGTHS = (9, 1, 33)
FLAGS = {"generic_pool": ("--target=generic",), "generic_vector": ("--target=generic",)}


def cases():
    """name: (configuration, storage)."""
    for cell in ("rnn_tanh", "rnn_relu", "gru", "lstm"):
        yield f"cell_{cell}", {**SMALL, "cell": cell}, "F32"
        yield f"layers_{cell}", {**SMALL, "cell": cell, "decoder_layers": 3, "hidden_size": 21, "gate": "none"}, "F32"
    yield "vector", {**SMALL, "gate": "vector"}, "F32"
    yield "shallow", {**SMALL, "deep_output": False, "gate": "none"}, "F32"
    yield "shallow_tied", {**SMALL, "deep_output": False, "hidden_size": 20, "tie_word_embeddings": True}, "F32"
    yield "tied", {**SMALL, "tie_word_embeddings": True, "bias": False}, "F32"
    yield "one_position", {**SMALL, "image_size": 5, "conv_channels": [13], "conv_kernel": [5], "conv_stride": [1], "conv_padding": [0], "conv_pool": [1]}, "F32"
    yield "one_pixel", {**SMALL, "image_size": 1, "num_channels": 1, "conv_channels": [1], "conv_kernel": [1], "conv_stride": [1], "conv_padding": [0],
                        "conv_pool": [1], "attention_size": 1, "hidden_size": 1, "embedding_size": 1, "gate": "vector"}, "F32"
    wide = {**SMALL, "image_size": [13, 23], "num_channels": 2}
    yield "many_positions", {**wide, "conv_channels": [33], "conv_kernel": [3], "conv_stride": [1], "conv_padding": [1], "conv_pool": [1]}, "F32"
    yield "odd", {**wide, "conv_channels": [3, 31, 67], "conv_kernel": [4, 2, 3], "conv_stride": [1, 3, 1], "conv_padding": [3, 1, 2], "conv_pool": [1, 1, 3],
                  "attention_size": 67}, "F32"
    yield "wide_keys", {**SMALL, "attention_size": 129, "hidden_size": 96}, "F32"
    plain = {key: value for key, value in SMALL.items() if key not in ("conv_kernel", "conv_stride", "conv_padding", "conv_pool", "embedding_size", "attention_size")}
    yield "defaults", plain, "F32"
    yield "generic_pool", {**SMALL, "decoder_layers": 2}, "F32"
    yield "generic_vector", {**SMALL, "gate": "vector", "cell": "gru", "image_size": [13, 11]}, "F32"
    for storage in ("BF16", "F16"):
        yield f"stored_{storage}", {**SMALL, "decoder_layers": 2}, storage


CASES = {name: (config, storage) for name, config, storage in cases()}
FEW = ("cell_lstm", "vector", "shallow_tied", "many_positions", "generic_pool", "stored_F16")


def check(name, options, directory):
    config, storage = CASES[name]
    source = os.path.join(directory, "model")
    captioner.make(source, config, 7, storage)
    model, random = captioner.load(source), numpy.random.RandomState(3)
    size = config["image_size"]
    height, width = size if isinstance(size, list) else (size, size)
    pixels = random.standard_normal((len(LENGTHS), config["num_channels"], height, width)).astype(numpy.float32)
    ids, mask = encoder_decoder.batch(LENGTHS, config["vocab_size"], random)
    grids = [model.encode(image) for image in pixels]
    logits = numpy.full((*ids.shape, config["vocab_size"]), numpy.nan)
    for row, length in enumerate(LENGTHS):
        logits[row, :length] = model.decode(ids[row, :length], grids[row])
    command = random_models.program(options, source, directory, () if options.rapt_reference else FLAGS.get(name, ()))
    inputs = {"pixel_values": pixels, "decoder_input_ids": ids, "decoder_attention_mask": mask}
    wanted = {"logits": logits, "encoder_last_hidden_state": numpy.array(grids)}
    return encoders.check_batch(options, command, "ragged", directory, inputs, wanted, random_models.TOLERANCE[storage])


MODELS = random_models.Models(check, CASES, FEW)
