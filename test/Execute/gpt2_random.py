#!/usr/bin/env python3
"""Compiles random models of the gpt2 family, runs them and compares their logits with test/Reference/numpy/gpt2.py.

    gpt2_random.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run [--work DIR] [--jobs N] [--only NAME ...]
    gpt2_random.py --raptc ... --rapt-reference build/bin/rapt-reference    the evaluator instead of compiled code

Every configuration of test/Reference/numpy/cases.py is run on one batch of three sequences of different lengths and
on one sequence that fills all positions; those of SEEDED are compiled without a checkpoint, by --random-weights. Relative L2 of all logits against float64 over the stored weights must be at
most 1e-5, and the rows behind a sequence's end must be 0. Prints "N passed, N failed"; exit status 1 if any failed.
"""

import argparse
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import cases  # noqa: E402
import gpt2  # noqa: E402
import make_model  # noqa: E402
import passed  # noqa: E402
import randomweights  # noqa: E402

TOLERANCE = 1e-5
SEED = 7


def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise AssertionError(f"exit status {done.returncode} of {' '.join(command)}\n{done.stdout}{done.stderr}".rstrip())


def inputs(config):
    """[(name, ids [batch, length], mask or None)]"""
    random, positions, vocabulary = numpy.random.RandomState(3), config["n_positions"], config["vocab_size"]
    length = min(positions, 41)
    ragged = random.randint(0, vocabulary, (3, length))
    mask = numpy.zeros((3, length), numpy.int64)
    for row, used in enumerate((9, length, 1)):
        mask[row, :used] = 1
    return [("ragged", ragged, mask), ("whole", random.randint(0, vocabulary, (1, positions)), None)]


def check(name, options, work):
    """Raises AssertionError with what is wrong, or returns the largest relative L2."""
    directory = os.path.join(work, name)
    model = os.path.join(directory, "model")
    seeded = [f"--random-weights={SEED}"] if name in cases.SEEDED else []
    if seeded:
        config = make_model.makeConfig(model, cases.SEEDED[name])
        reference = gpt2.Model(config, randomweights.tensors(config, SEED))
    else:
        config = make_model.makeModel(model, cases.CASES[name][0], SEED, **cases.CASES[name][1])
        reference = gpt2.load(model)
    if options.rapt_reference:
        text = os.path.join(directory, "imported.mlir")
        run([options.raptc, model, "--emit=imported", "-o", text])
        program = [options.rapt_reference, text, f"--weights={model}"]
    else:
        library = os.path.join(directory, "model.so")
        run([options.raptc, model, *seeded, "-o", library])
        program = [options.rapt_run, library]
    worst = 0.0
    for label, ids, mask in inputs(config):
        at = lambda part: os.path.join(directory, f"{label}-{part}.npy")
        numpy.save(at("ids"), ids.astype(numpy.int64))
        command = program + ["--input", f"input_ids={at('ids')}"]
        if mask is not None:
            numpy.save(at("mask"), mask)
            command += ["--input", f"attention_mask={at('mask')}"]
        run(command + ["--output", f"logits={at('logits')}"])
        expected, logits = reference.batch(ids, mask), numpy.load(at("logits"))
        assert logits.dtype == numpy.float32, f"{label}: logits are {logits.dtype}, expected float32"
        assert logits.shape == expected.shape, f"{label}: logits are {logits.shape}, expected {expected.shape}"
        if mask is not None:
            assert not logits[mask == 0].any(), f"{label}: logits behind a row's end are not 0"
        error = numpy.linalg.norm(logits - expected) / numpy.linalg.norm(expected)
        assert error <= TOLERANCE, f"{label}: relative L2 {error:.2e}, allowed {TOLERANCE:.0e}"
        worst = max(worst, error)
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run")
    parser.add_argument("--rapt-reference")
    parser.add_argument("--work", help="keep the models and outputs in this folder")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--few", action="store_true", help="those models alone that code generation tells apart")
    parser.add_argument("--only", nargs="*", choices=[*cases.CASES, *cases.SEEDED])
    options = parser.parse_args()
    if bool(options.rapt_reference) == bool(options.rapt_run):
        parser.error("give one of --rapt-run and --rapt-reference")
    known = list(cases.CASES) + ([] if options.rapt_reference else list(cases.SEEDED))
    names, failed = options.only or (cases.FEW if options.few else known), 0
    work = options.work or tempfile.mkdtemp(prefix="rapt-gpt2-")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = [(name, pool.submit(check, name, options, work)) for name in names]
        for name, result in results:
            try:
                print(f"PASS {name}: relative L2 {result.result():.1e}", flush=True)
                way, cells = ("compiled", ["prefill"]) if options.rapt_run else ("reference", [])
                passed.model(way, os.path.join(work, name, "model"), options.raptc, *cells)
            except AssertionError as error:
                failed += 1
                print(f"FAIL {name}: {error}", flush=True)
            except Exception:
                failed += 1
                print(f"FAIL {name}:\n{traceback.format_exc()}", flush=True)
    if not options.work:
        shutil.rmtree(work)
    print(f"{len(names) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
