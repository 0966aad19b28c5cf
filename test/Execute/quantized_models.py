#!/usr/bin/env python3
"""Compiles random models of the families with quantized weights and compares their outputs with those of the reference evaluator, which runs
the same quantized program.

    quantized_models.py --raptc build/bin/raptc --rapt-opt build/bin/rapt-opt --rapt-run build/bin/rapt-run --rapt-reference build/bin/rapt-reference

Inputs are those of the families' own scripts, *_random.py; compiled code must give the same bits with 1, 2 and 7 threads. Activations differ in
their last bits, so that once in about 40,000 numbers a code is another one; what follows from it is rounded apart, as far as 8 bits of activations are from
f32. So relative L2 of all outputs may be 3e-2, while that of the first token of the first sequence must be 1e-5. Prints "N passed, N failed"; exit status 1 if any failed.
"""

import argparse
import importlib
import os
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import random_models  # noqa: E402
import report  # noqa: E402

TOLERANCE, OF_FIRST = 3e-2, 1e-5
plain_outputs = random_models.outputs
# script, one of its models, mode
CASES = [("llama_random", "wide-head", "w8"), ("bert_random", "odd_tokens", "w8a8"), ("recurrent_random", "both_bahdanau_lstm", "w4"),
         ("feed_forward_random", "averaging", "w8"), ("feed_forward_random", "convolution_deep", "w8a8"), ("gguf_random", "gpt2-q8", "stored"),
         ("gguf_random", "llama-q3-k-m-fused-parts", "stored"), ("gguf_random", "gemma2-iq4-xs", "stored"), ("gguf_random", "qwen3-moe-q4-k-m", "stored"), ("gguf_random", "gpt-oss-mxfp4", "stored")]


def passes(mode):
    """The pipeline from imported to quantized IR."""
    return f"builtin.module(attn-fuse-epilogues,attn-inline-calls,symbol-dce,attn-quantize-weights{{mode={mode}}})"


def outputs(script, name, mode, options, directory):
    """All that a model gives: [array]."""
    found = []

    def program(options, source, directory, flags=()):
        if options.rapt_reference:
            imported, quantized = (os.path.join(directory, part) for part in ("imported.mlir", "quantized.mlir"))
            random_models.run([options.raptc, source, "--emit=imported", *flags, "-o", imported])
            random_models.run([options.rapt_opt, imported, f"--pass-pipeline={passes(mode)}", "-o", quantized])
            return [options.rapt_reference, quantized, f"--weights={source}"]
        library = os.path.join(directory, "model.so")
        random_models.run([options.raptc, source, *([] if mode == "stored" else [f"--quantize={mode}"]), *flags, "-o", library])
        return [options.rapt_run, library]

    def recorded(*given):
        arrays = plain_outputs(*given)
        found.extend(arrays.values())
        return arrays

    random_models.program, random_models.outputs = program, recorded
    random_models.compare = lambda *arguments: 0.0  # with the weights as they were, or the rows
    random_models.TOLERANCE.update({storage: 1.0 for storage in random_models.TOLERANCE})
    module = importlib.import_module(script)
    for decode in ("checkDecode", "checkText"):
        setattr(module, decode, lambda *arguments: None)
    module.check(name, options, directory)
    return found


def checks(arguments, work):
    """(what, whether it holds, the figures)"""
    for script, name, mode in CASES:
        results = []
        for which in ("rapt_reference", "rapt_run"):
            options = argparse.Namespace(**{**vars(arguments), "rapt_reference": None, "rapt_run": None, which: getattr(arguments, which)})
            results.append(outputs(script, name, mode, options, os.path.join(work, which, script)))
        expected, got = results
        yield f"{script} {name}, {mode}: outputs", len(expected) == len(got) > 0, f"{len(got)} of {len(expected)}"
        for i, (right, array) in enumerate(zip(expected, got)):
            error = numpy.linalg.norm(array - right) / numpy.linalg.norm(right)
            yield f"{script} {name}, {mode}, output {i}", array.shape == right.shape and error <= TOLERANCE, f"relative L2 {error:.1e}"
            first = (0,) * (array.ndim - 1)
            error = numpy.linalg.norm(array[first] - right[first]) / numpy.linalg.norm(right[first])
            yield f"{script} {name}, {mode}, output {i}, first token", error <= OF_FIRST, f"relative L2 {error:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--raptc", "--rapt-opt", "--rapt-run", "--rapt-reference"):
        parser.add_argument(name, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rapt-quantized-") as work:
        report.finish(checks(arguments, work))


if __name__ == "__main__":
    main()
