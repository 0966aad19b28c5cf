"""Random models of a family, compiled or evaluated, against float64: what all the scripts that make such models share."""

import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

import cachetypes
import numpy

import passed
import processor

TOLERANCE = {"F32": 1e-5, "BF16": 1e-2, "F16": 1e-3}
THREADS = (1, 2, 7)


def decoder_tolerance(options, storage, cache, sums=TOLERANCE["BF16"]):
    """The tolerance of a decoder with weights of type `storage` and a cache of type `cache`. Sums, and what the cache rounds to other
    neighbors, are all that differs from a reference that has the rounded weights, but in bf16 dot-product matmuls: a matmul rounds
    their other operand. `sums` is allowed of weights in bf16 then."""
    pairs = processor.HAS_BF16_MATMUL and not options.rapt_reference
    if pairs and storage == "BF16":
        return sums
    return TOLERANCE["BF16"] if pairs and cache == "bf16" else cachetypes.TOLERANCE[cache]


def run(command):
    """The output of the command; AssertionError where it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise AssertionError(f"exit status {done.returncode} of {' '.join(command)}\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout


def program(options, source, directory, flags=()):
    """Compiles the model `source`, or imports it where the evaluator is asked for: the command that runs it."""
    if options.rapt_reference:
        text = os.path.join(directory, "imported.mlir")
        run([options.raptc, source, "--emit=imported", *flags, "-o", text])
        return [options.rapt_reference, text, f"--weights={source}"]
    library = os.path.join(directory, "model.so")
    run([options.raptc, source, *flags, "-o", library])
    return [options.rapt_run, library]


def outputs(options, command, paths, label):
    """{name: array} that the program writes to `paths`; compiled code must give the same bits with any number of threads."""
    command = [*command, *(part for name, path in paths.items() for part in ("--output", f"{name}={path}"))]
    first = None
    for threads in (None,) if options.rapt_reference else THREADS:
        run(command + (["--threads", str(threads)] if threads else []))
        found = {name: numpy.load(path) for name, path in paths.items()}
        first = first or found
        for name, array in found.items():
            assert array.tobytes() == first[name].tobytes(), f"{label}: {name} has other bits with {threads} threads than with one"
    return first


def compare(label, found, wanted, mask, tolerance):
    """The relative L2 of [rows, length, columns], whose tokens behind a row's end (mask 0) must be 0; mask None: there are none."""
    assert found.dtype == numpy.float32, f"{label} are {found.dtype}, expected float32"
    assert found.shape == wanted.shape, f"{label} are {found.shape}, expected {wanted.shape}"
    assert mask is None or not found[mask == 0].any(), f"{label} behind a row's end are not 0"
    error = numpy.linalg.norm(found - wanted) / numpy.linalg.norm(wanted)
    assert error <= tolerance, f"{label}: relative L2 {error:.2e}, allowed {tolerance:.0e}"
    return error


def check_decoder(options, command, directory, batches, reference, tolerance):
    """The largest relative L2 of a decoder's logits; `batches` are (name, ids [rows, length], mask or None)."""
    worst = 0.0
    for label, ids, mask in batches:
        at = lambda part: os.path.join(directory, f"{label}-{part}.npy")
        numpy.save(at("ids"), ids.astype(numpy.int64))
        inputs = ["--input", f"input_ids={at('ids')}"]
        if mask is not None:
            numpy.save(at("mask"), mask)
            inputs += ["--input", f"attention_mask={at('mask')}"]
        found = outputs(options, [*command, *inputs], {"logits": at("logits")}, label)["logits"]
        worst = max(worst, compare(f"{label}: logits", found, reference.batch(ids, mask), mask, tolerance))
    return worst


def main(parser, cases, few, check, cells=("prefill",)):
    """Runs the cases that the command line asks for; `cells` of the family's table are shown by compiled code, besides the type of the
    weights and the head; None: `check` notes what it shows.

    `check(name, options, directory)` raises AssertionError with what is wrong, or returns the largest relative L2."""
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run")
    parser.add_argument("--rapt-reference")
    parser.add_argument("--work", help="keep the models and outputs in this folder")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--few", action="store_true", help="only " + ", ".join(few))
    parser.add_argument("--cases", choices=("few", "all"), help="few is --few")
    parser.add_argument("--only", nargs="*", choices=list(cases))
    options = parser.parse_args()
    if bool(options.rapt_reference) == bool(options.rapt_run):
        parser.error("give one of --rapt-run and --rapt-reference")
    names, failed = options.only or list(few if options.few or options.cases == "few" else cases), 0
    work = options.work or tempfile.mkdtemp(prefix="rapt-random-")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = [(name, pool.submit(check, name, options, os.path.join(work, name))) for name in names]
        for name, result in results:
            try:
                print(f"PASS {name}: relative L2 {result.result():.1e}", flush=True)
                if cells is not None:
                    way, shown = ("compiled", cells) if options.rapt_run else ("reference", ())
                    passed.model(way, os.path.join(work, name, "model"), options.raptc, *shown)
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
