"""Random encoders, compiled or evaluated, against float64: what bert_random.py and vit_random.py share."""

import concurrent.futures
import os
import shutil
import sys
import tempfile
import traceback

import numpy

import passed
from encoder_decoder import TOLERANCE, run

THREADS = (1, 2, 7)


def program(options, source, directory, flags=()):
    """Compiles the model `source`, or imports it where the evaluator is asked for: the command that runs it."""
    if options.rapt_reference:
        text = os.path.join(directory, "imported.mlir")
        run([options.raptc, source, "--emit=imported", *flags, "-o", text])
        return [options.rapt_reference, text, f"--weights={source}"]
    library = os.path.join(directory, "model.so")
    run([options.raptc, source, *flags, "-o", library])
    return [options.rapt_run, library]


def check_batch(options, command, label, directory, inputs, wanted, tolerance):
    """Runs one batch: inputs and the wanted outputs are {name: array}. Gives the largest relative L2."""
    at = lambda part: os.path.join(directory, f"{label}-{part}.npy")
    command = list(command)
    for name, array in inputs.items():
        numpy.save(at(name), array)
        command += ["--input", f"{name}={at(name)}"]
    for name in wanted:
        command += ["--output", f"{name}={at(name)}"]
    first, worst = None, 0.0
    for threads in (None,) if options.rapt_reference else THREADS:
        run(command + (["--threads", str(threads)] if threads else []))
        found = {name: numpy.load(at(name)) for name in wanted}
        if first is None:
            first = found
        for name in wanted:
            same = numpy.array_equal(found[name].view(numpy.uint32), first[name].view(numpy.uint32))
            assert same, f"{label}: {name} has other bits with {threads} threads than with one"
    for name, expected in wanted.items():
        got = first[name]
        assert got.dtype == numpy.float32, f"{label}: {name} is {got.dtype}, expected float32"
        assert got.shape == expected.shape, f"{label}: {name} is {got.shape}, expected {expected.shape}"
        assert not got[numpy.isnan(expected)].any(), f"{label}: {name} is not 0 behind a row's end"
        known = numpy.nan_to_num(expected)
        error = numpy.linalg.norm(got - known) / numpy.linalg.norm(known)
        assert error <= tolerance, f"{label}: {name} has relative L2 {error:.2e}, allowed {tolerance:.0e}"
        worst = max(worst, error)
    return worst


def main(parser, cases, few, check):
    """`check(name, options, directory)` raises AssertionError with what is wrong, or returns the largest relative L2."""
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run")
    parser.add_argument("--rapt-reference")
    parser.add_argument("--work", help="keep the models and outputs in this folder")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--few", action="store_true", help="only " + ", ".join(few))
    parser.add_argument("--only", nargs="*", choices=list(cases))
    options = parser.parse_args()
    if bool(options.rapt_reference) == bool(options.rapt_run):
        parser.error("give one of --rapt-run and --rapt-reference")
    names, failed = options.only or (few if options.few else list(cases)), 0
    work = options.work or tempfile.mkdtemp(prefix="rapt-encoders-")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = [(name, pool.submit(check, name, options, os.path.join(work, name))) for name in names]
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
