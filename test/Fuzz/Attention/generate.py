#!/usr/bin/env python3
"""Draws attention kernels, compiles them and compares them with the reference evaluator in float64.

    generate.py --raptc build/bin/raptc --reference build/bin/rapt-reference --scratch DIR [--seed N] [--count N] [--jobs N]
    generate.py ... --seed N --only INDEX        one of them, which is printed and reduced where it fails

Every case follows from the seed and its index. A kernel that fails is reduced: parts are left out, and numbers made smaller, as long as it
fails in the same way, and written to DIR. Prints what failed with the command that repeats it, and counts; exit status 1 if a kernel failed or too many were
refused."""

import argparse
import json
import multiprocessing
import os
import shutil
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import cases  # noqa: E402
import execute  # noqa: E402
import kernel_text  # noqa: E402

import level  # noqa: E402
import processor  # noqa: E402
from outcomes import add_case_options, add_level_option, case_indices  # noqa: E402

BATCH = 16
MOST_REFUSED = 0.25
MOST_ON_GPU = 1500  # similarities in a call: most GPUs are simulated
REDUCE_GROUP = 8  # cases that are tried together


class Mode:
    """raptc's options; `pairs`: whether attention on keys in bf16 rounds both operands of its matmuls."""

    def __init__(self, name, options, pairs, gpu=False):
        self.name, self.options, self.pairs, self.gpu = name, options, pairs, gpu


NATIVE = Mode("native", ["--mcpu=native"], processor.HAS_BF16_MATMUL)
AVX2 = Mode("x86-64-v3", ["--mcpu=x86-64-v3"], False)
DOT = Mode("emulated bf16", ["--mcpu=native", "--emulate=bf16"], True)
GENERIC = Mode("generic", ["--target=generic"], False)
TILES = Mode("emulated amx", ["--mcpu=native", "--emulate=amx"], True)


def level_of(options, index):
    """The level of code generation: cases of a batch have the same."""
    return options.codegen or level.level_of(f"batch {index // BATCH}", options.seed)


def mode_of(options, index):
    """The processor and level that a case is compiled for: cases of a batch have the same."""
    mode = processor_of(options, index)
    return Mode(mode.name, [*mode.options, f"--codegen={level_of(options, index)}"], mode.pairs, mode.gpu)


def processor_of(options, index):
    if options.gpu_arch:
        return Mode(options.gpu_arch, ["--target=cuda", f"--gpu-arch={options.gpu_arch}"], True, True)
    number = index // BATCH
    return TILES if number % 25 == 19 else DOT if number % 10 == 9 else AVX2 if number % 4 == 3 else GENERIC if number % 3 == 1 else NATIVE


def case_of(options, index):
    if options.gpu_arch:
        cases.MOST = MOST_ON_GPU
    case = cases.draw(options.seed, index)
    return cases.for_gpu(case, options.seed, index, 0 if options.floats else 0.85) if options.gpu_arch else case


def check_batch(job):
    options, indices = job
    batch = {f"k{index}": case_of(options, index) for index in indices}
    folder = Path(options.scratch) / f"batch{indices[0]}"
    outcomes = execute.check(options, mode_of(options, indices[0]), batch, folder)
    execute.resident.close()
    shutil.rmtree(folder, ignore_errors=True)
    return [(index, outcomes[f"k{index}"]) for index in indices]


def candidates(case, tried):
    """Cases that are one step simpler and were not tried, in groups that are compiled together."""
    group = []
    for candidate in cases.smaller(case):
        try:
            candidate = cases.repaired(candidate)
            kernel_text.compiled_text(candidate, "k")
        except (IndexError, KeyError, TypeError, ValueError):  # not a kernel
            continue
        key = json.dumps(candidate)
        if key in tried:
            continue
        tried.add(key)
        group.append(candidate)
        if len(group) == REDUCE_GROUP:
            yield group
            group = []
    yield group


def reduce(options, index, case, outcome):
    """A smaller case that fails in the same way, and how."""
    end, folder = time.monotonic() + options.reduce_seconds, Path(options.scratch) / f"reduce{index}"
    tried, found = {json.dumps(case)}, True
    while found:
        found = None
        for group in candidates(case, tried):
            if time.monotonic() > end:
                break
            outcomes = execute.check(options, mode_of(options, index), {f"k{n}": candidate for n, candidate in enumerate(group)}, folder)
            found = next((n for n in range(len(group)) if outcomes[f"k{n}"].status == "failed" and outcomes[f"k{n}"].kind == outcome.kind), None)
            if found is not None:
                case, outcome, found = group[found], outcomes[f"k{found}"], True
                break
    shutil.rmtree(folder, ignore_errors=True)
    return case, outcome


def of_gpu(options):
    return f" --gpu-arch {options.gpu_arch}" + " --floats" * options.floats if options.gpu_arch else ""


def report(options, index, outcome):
    print(f"FAIL {index} ({mode_of(options, index).name}): {outcome.why.strip()}", flush=True)
    print(f"  again: {Path(__file__).name} --seed {options.seed} --only {index} --codegen {level_of(options, index)}" + of_gpu(options), flush=True)


def report_reduced(options, index, case, outcome):
    text = kernel_text.compiled_text(case, f"k{index}")
    file = Path(options.scratch) / f"reduced{index}.mlir"
    file.parent.mkdir(parents=True, exist_ok=True)
    dims = [line for line in kernel_text.HEAD.splitlines() if f'"{line.split()[1][1:]}' in text]
    file.write_text("\n".join([f"// {outcome.why.strip()}", f"// {json.dumps(case['data'])}", *dims, text]))
    print(f"  reduced: {outcome.why.strip()}\n  data: {json.dumps(case['data'])}\n  file: {file}")
    print("\n".join("  | " + line for line in text.splitlines()), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--raptc", "--reference", "--scratch"):
        parser.add_argument(name, required=True)
    add_case_options(parser, count=150, reduced=4, seconds=30)
    add_level_option(parser)
    parser.add_argument("--gpu-arch", help="kernels run on a GPU, or a simulated one, through libcuda.so.1; most operands have 16 bits")
    parser.add_argument("--floats", action="store_true", help="with --gpu-arch, operands are f32 or of the types that are drawn")
    options = parser.parse_args()
    begin, counts, refusals, failures = time.monotonic(), Counter(), Counter(), []
    indices = case_indices(options)
    batches = {}
    for index in indices:
        batches.setdefault(index // BATCH, []).append(index)
    with multiprocessing.Pool(options.jobs) as pool:
        for results in pool.imap(check_batch, [(options, batch) for batch in batches.values()]):
            for index, outcome in results:
                counts[outcome.status] += 1
                if outcome.status == "refused":
                    refusals[f"{outcome.kind}: " + outcome.why.splitlines()[0][-110:]] += 1
                if outcome.status == "failed":
                    report(options, index, outcome)
                    failures.append((index, outcome))
    for index, outcome in failures[:options.reduce]:
        report_reduced(options, index, *reduce(options, index, case_of(options, index), outcome))
    for message, number in refusals.most_common():
        print(f"refused {number}: {message}")
    name = "attention kernels" + (f" for {options.gpu_arch}" if options.gpu_arch else "") + (", of floats" if options.floats else "")
    print(f"generated: {name}: {len(indices)}, seed {options.seed}: {counts['passed']} right, {counts['refused']} refused, {counts['failed']} wrong, "
          f"{time.monotonic() - begin:.0f} s; {level.summary(level_of(options, index) for index in indices)}")
    if len(indices) > 20 and counts["refused"] > MOST_REFUSED * len(indices):
        sys.exit(f"more than {MOST_REFUSED:.0%} of the kernels were refused")
    sys.exit(counts["failed"] > 0)


if __name__ == "__main__":
    main()
