"""Random encoders, compiled or evaluated, against float64: what bert_random.py, recurrent_random.py and vit_random.py share."""

import os

import numpy

import random_models


def run_batch(options, command, label, directory, inputs, names):
    """Runs one batch: inputs are {name: array}, as are the outputs of those names that it gives."""
    at = lambda part: os.path.join(directory, f"{label}-{part}.npy")
    command = list(command)
    for name, array in inputs.items():
        numpy.save(at(name), array)
        command += ["--input", f"{name}={at(name)}"]
    return random_models.outputs(options, command, {name: at(name) for name in names})


def expected(model, ids, lengths, classifies_texts):
    """Every output of model.forward for a batch, NaN behind a row's end. Outputs of a whole text are sentence_embedding, pooler_output and,
    of a model that `classifies_texts`, all."""
    outputs = {}
    for row, length in enumerate(lengths):
        for name, values in model.forward(ids[row, :length]).items():
            whole = name in ("sentence_embedding", "pooler_output") or classifies_texts
            shape = (len(lengths), *values.shape) if whole else (*ids.shape, *values.shape[1:])
            place = outputs.setdefault(name, numpy.full(shape, numpy.nan))
            place[row if whole else (row, slice(length))] = values
    return outputs


def check_batch(options, command, label, directory, inputs, wanted, tolerance):
    """Runs one batch: inputs and the wanted outputs are {name: array}. Gives the largest relative L2."""
    return check_outputs(label, run_batch(options, command, label, directory, inputs, wanted), wanted, tolerance)


def check_outputs(label, found, wanted, tolerance):
    """Compares outputs {name: array}. Gives the largest relative L2."""
    worst = 0.0
    for name, expected in wanted.items():
        got = found[name]
        assert got.dtype == numpy.float32, f"{label}: {name} is {got.dtype}, expected float32"
        assert got.shape == expected.shape, f"{label}: {name} is {got.shape}, expected {expected.shape}"
        assert not got[numpy.isnan(expected)].any(), f"{label}: {name} is not 0 behind a row's end"
        known = numpy.nan_to_num(expected)
        error = numpy.linalg.norm(got - known) / numpy.linalg.norm(known)
        assert error <= tolerance, f"{label}: {name} has relative L2 {error:.2e}, allowed {tolerance:.0e}"
        worst = max(worst, error)
    return worst
