"""Random models of a family, compiled or evaluated, against float64: what all the scripts that make such models share."""

import os

import cachetypes
import numpy

import passed
import processor
import resident

TOLERANCE = {"F32": 1e-5, "BF16": 1e-2, "F16": 1e-3}
THREADS = "1,2,7"


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
    done = resident.run(command)
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


def outputs(options, command, paths):
    """{name: array} that the program writes to `paths`; rapt-run fails unless the code gives the same bits with each number of threads."""
    run([*command, *(part for name, path in paths.items() for part in ("--output", f"{name}={path}")), *([] if options.rapt_reference else ["--threads", THREADS])])
    return {name: numpy.load(path) for name, path in paths.items()}


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
        found = outputs(options, [*command, *inputs], {"logits": at("logits")})["logits"]
        worst = max(worst, compare(f"{label}: logits", found, reference.batch(ids, mask), mask, tolerance))
    return worst


class Models:
    """The random models of a script, each of which registry.py makes a case of in every column.

    `check(name, tools, directory)` raises AssertionError with what is wrong, or returns the largest relative L2. The evaluator takes those of `evaluated`,
    every day; compiled code of `few`, `generic` and `cuda` runs every day and that of the others with `check --full`, where there is such a column. `cells` of
    the family's table are shown by code of the CPU besides the type of the weights and the head; None: `check` notes what it shows."""

    def __init__(self, check, names, few, generic=None, cuda=None, evaluated=None, cells=("prefill",)):
        self.check, self.names, self.cells = check, list(names), cells
        self.evaluated = list(self.names if evaluated is None else evaluated)
        self.daily = {column: tuple(chosen) for column, chosen in (("cpu", few), ("generic", generic), ("cuda", cuda)) if chosen is not None}
        assert set().union(*self.daily.values()) <= set(self.names), "a daily model is none of the script's"

    def run(self, name, tools):
        directory = os.path.join(tools.scratch, name)
        print(f"{name}: relative L2 {self.check(name, tools, directory):.1e}", flush=True)
        if self.cells is not None:
            way, shown = ("compiled", self.cells) if tools.rapt_run else ("reference", ())
            passed.model(way, os.path.join(directory, "model"), tools.raptc, *shown)
