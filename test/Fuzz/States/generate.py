#!/usr/bin/env python3
"""Draws kernels of the ops that keep a state of each sequence, linear attention and short convolutions, compiles them and compares them with their formulas
in numpy in float64, a few of them with the reference evaluator too.

    generate.py --raptc build/bin/raptc --reference build/bin/rapt-reference --scratch DIR [--seed N] [--count N] [--jobs N]
    generate.py ... --seed N --only INDEX        one of them, which is printed and reduced where it fails

Every case follows from the seed and its index: kind, heads, pairing, channels, decays from 0 to -30, betas from 0 to 2, rows of any lengths, empty ones
too, states in slots, texts in two pieces. Compiled code has the same bits with any executor. Prints what failed with the command that repeats it, and
counts; exit status 1 if a kernel failed."""

import argparse
import contextlib
import io
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "Execute"), str(HERE.parents[1] / "Reference" / "numpy")]

import cases  # noqa: E402
import kernels  # noqa: E402
import level  # noqa: E402
from outcomes import Outcome, add_case_options, add_level_option, case_indices, failed, in_child  # noqa: E402
from state_kernels import DECLARATIONS  # noqa: E402

BATCH = 36  # cases whose kernels are compiled in one call of raptc
EVALUATED = 25  # one case in so many runs in the evaluator
ROUNDED = {"f32": 2e-5, "bf16": 1e-2, "f16": 2e-3}  # an output of the type, relative to the largest
MODES = (["--mcpu=native"], ["--mcpu=x86-64-v3"], ["--mcpu=native"], ["--target=generic"])  # of batches, in turn


class Noted(kernels.Checks):
    """The first thing that was wrong."""

    why = None

    def near(self, *arguments):
        self.note(super().near, *arguments)

    def equal(self, *arguments):
        self.note(super().equal, *arguments)

    def note(self, check, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            check(*arguments)
        self.why = self.why or said.getvalue().removeprefix("FAIL ").strip() or None


def mode_of(options, index):
    number = index // BATCH
    codegen = options.codegen or level.level_of(f"states {number}", options.seed)
    return [*MODES[number % len(MODES)], f"--codegen={codegen}"], codegen


def run_case(program, case, isEvaluated):
    """What is wrong with a compiled kernel, or None."""
    kernel, checks, random = case.kernel, Noted(), np.random.default_rng(case.seed)
    given, source, target = kernel.inputs(random, list(case.lengths), spare=0 if case.cut else 2, decays=case.decays, betas=case.betas)
    expected, found = kernel.expected(given, source, target), kernel.run(program, given)
    kernel.compare(checks, "compiled", given, target, found, expected, ROUNDED[kernel.dtype], ROUNDED["f32"])
    for name, first, again in zip(("output", "state"), found, kernel.run(program, given, 1, kernels.at_once)):
        if first is not None:
            checks.equal(f"{name} of one worker", again, first)
    if case.cut:
        pieces, state = [], given["state"]
        for own in (slice(0, case.cut), slice(case.cut, case.lengths[0])):
            part = {name: array[own] if name in ("q", "k", "v", "decay", "beta", "x") else array for name, array in given.items()}
            output, state = kernel.run(program, part | {"begin": np.array([0, own.stop - own.start], np.int32), "state": state})
            pieces.append(output)
        kernel.compare(checks, f"in pieces, cut at {case.cut}", given, target, (np.concatenate(pieces), state), expected, ROUNDED[kernel.dtype], ROUNDED["f32"])
        if case.cut % 8 == 0:
            checks.equal("output in pieces", np.concatenate(pieces), found[0])
    if isEvaluated:
        kernel.compare(checks, "evaluated", given, target, kernel.evaluated(program, given), expected, 1e-9 if kernel.dtype == "f32" else ROUNDED[kernel.dtype], 1e-9)
    return failed(checks.why.split(":")[0], checks.why) if checks.why else Outcome("passed")


def compiled(options, mode, batch, folder):
    """The program of {index: case}, or an Outcome."""
    tools = argparse.Namespace(raptc=options.raptc, reference=options.reference, scratch=folder, options=[*mode, "-j1"])
    texts = dict.fromkeys(case.kernel.text() for case in batch.values())
    try:
        return kernels.Program(tools, "states", DECLARATIONS + "".join(texts))
    except subprocess.CalledProcessError as error:
        return failed("compiler", f"raptc: exit status {error.returncode}: {(Path(folder) / 'log').read_text()[-800:]}")


def check(options, mode, batch, folder):
    """{index: Outcome} of {index: case}: together in a process of their own, and each in its own where that one dies or the batch does not compile."""
    folder.mkdir(parents=True, exist_ok=True)

    def work():
        log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(log, stream)  # what raptc says
        program = compiled(options, mode, batch, folder)
        if isinstance(program, Outcome):
            return program
        return {index: run_case(program, case, index % EVALUATED == 0) for index, case in batch.items()}

    found = in_child(work)
    if isinstance(found, Outcome):
        return {index: found for index in batch} if len(batch) == 1 else {
            index: outcome for own in batch.items() for index, outcome in check(options, mode, dict([own]), folder).items()}
    return found


def check_batch(job):
    options, indices = job
    folder = Path(options.scratch) / f"batch{indices[0]}"
    outcomes = check(options, mode_of(options, indices[0])[0], {index: cases.draw(options.seed, index) for index in indices}, folder)
    shutil.rmtree(folder, ignore_errors=True)
    return list(outcomes.items())


def reduce(options, index, case, outcome):
    """A smaller case that fails in the same way, and how."""
    end, folder, tried, found = time.monotonic() + options.reduce_seconds, Path(options.scratch) / f"reduce{index}", set(), True
    while found:
        found = False
        for candidate in cases.smaller(case):
            if time.monotonic() > end:
                return case, outcome
            if candidate in tried:
                continue
            tried.add(candidate)
            result = check(options, mode_of(options, index)[0], {index: candidate}, folder)[index]
            if result.status == "failed" and result.kind == outcome.kind:
                case, outcome, found = candidate, result, True
                break
    return case, outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--raptc", "--reference", "--scratch"):
        parser.add_argument(name, required=True)
    add_case_options(parser, count=100, reduced=3, seconds=30)
    add_level_option(parser)
    options = parser.parse_args()
    begin, counts, failures, indices = time.monotonic(), Counter(), [], case_indices(options)
    batches = {}
    for index in indices:
        batches.setdefault(index // BATCH, []).append(index)
    with multiprocessing.Pool(options.jobs) as pool:
        for results in pool.imap(check_batch, [(options, batch) for batch in batches.values()]):
            for index, outcome in results:
                counts[outcome.status] += 1
                if outcome.status == "failed":
                    mode, codegen = mode_of(options, index)
                    print(f"FAIL {index} ({mode[0]}): {outcome.why.strip()}\n  again: {Path(__file__).name} --seed {options.seed} --only {index} --codegen {codegen}\n"
                          f"  {cases.draw(options.seed, index)}", flush=True)
                    failures.append((index, outcome))
    for index, outcome in failures[:options.reduce]:
        case, outcome = reduce(options, index, cases.draw(options.seed, index), outcome)
        print(f"  {index} reduced: {outcome.why.strip()}\n  {case}\n{case.kernel.text()}", flush=True)
    print(f"generated: kernels that keep states: {len(indices)}, seed {options.seed}: {counts['passed']} right, {counts['failed']} wrong, {time.monotonic() - begin:.0f} s; "
          f"{level.summary(mode_of(options, index)[1] for index in indices)}")
    sys.exit(counts["failed"] > 0)


if __name__ == "__main__":
    main()
