#!/usr/bin/env python3
"""Runs every pass of Rapt on the text of every stage, and on mutants of it: the text without some of its ops.

    generate.py --build build --scratch DIR [--seed N] [--count N] [--jobs N]
    generate.py ... --only MODEL          one model or kernel

A pass must end with a valid module or with an error that has a message. Before the --count mutants that are drawn of a text come the text itself and the text
without the attribute attn.stage, so that no pass refuses it for its stage. Each finding is printed with the command that repeats it, reduced by
deleting more ops; exit status 1 if there is one. `build/test/survive TEXT --delete=... --print` prints a mutant."""

import argparse
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from outcomes import add_draw_options, run  # noqa: E402

SOURCE = Path(__file__).resolve().parents[3]
MODELS = {
    "tiny-gpt": SOURCE / "test/models/tiny-gpt",
    "date-translator": SOURCE / "test/models/date-translator",  # recurrent, with additive attention
    "tiny-vit": SOURCE / "test/models/tiny-vit",
    "attention": SOURCE / "test/Examples/attention.mlir",
    "elements": SOURCE / "test/Fuzz/Passes/Inputs/elements.mlir",  # tensors of index and of odd integers
}
FOREIGN = SOURCE / "test/Fuzz/Passes/Inputs/foreign.mlir"  # valid MLIR of element types that no stage has
OPTIONS = [["--mcpu=x86-64-v3"], ["--mcpu=x86-64-v4", "--dtype=bf16", "--emulate=amx"], ["--mcpu=x86-64-v4", "--quantize=w8a8"], ["--target=generic"], ["--target=cuda"]]
STAGES = ["imported", "canonical", "laid-out", "tiled", "backend", "llvm-dialect"]
FEW = {"tiny-gpt": ["canonical"], "date-translator": ["imported"], "tiny-vit": ["laid-out"], "attention": ["tiled", "llvm-dialect"], "elements": ["backend"]}
LARGE = {"tiled": 2, "backend": 8, "llvm-dialect": 8}  # has so many times fewer mutants
WITH_OPTIONS = ["attn-select-storage{dtype=bf16}", "attn-quantize-weights{mode=w4}"]
TOTALS = re.compile(r"survive: (\d+) runs, (\d+) refused, (\d+) findings, (\d+) invalid mutants")


def passes_of(build):
    """The passes that rapt-opt lists, all of those that the sources define among them."""
    found = re.findall(r"^\s+--(attn-[\w-]+)", run([build / "bin/rapt-opt", "--help"], check=True).stdout, re.MULTILINE)
    defined = {name for file in (SOURCE / "lib").rglob("Passes.td") for name in re.findall(r': Pass<"([\w-]+)"', file.read_text(encoding="utf-8"))}
    if missing := defined - set(found):
        sys.exit(f"rapt-opt does not list {', '.join(sorted(missing))}")
    of_kernels = {name for file in (SOURCE / "lib").rglob("Passes.td") for name in re.findall(r': Pass<"([\w-]+)", "::mlir::gpu::GPUModuleOp"', file.read_text(encoding="utf-8"))}
    return sorted(f"gpu.module({name})" if name in of_kernels else name for name in set(found)) + WITH_OPTIONS


def texts_of(options, name):
    """The texts of a model's stages as raptc emits them, for each set of options that it accepts; with a small count, one stage of each model, and two of
    a kernel, so that each stage has a text."""
    if name == FOREIGN.stem:
        yield "imported", FOREIGN
        return
    for number, flags in enumerate(OPTIONS[:1] if options.count < 10 else OPTIONS):
        for stage in STAGES if options.count >= 10 else FEW[name]:
            text = Path(options.scratch) / f"{name}{number}.{stage}.mlir"
            made = run([options.build / "bin/raptc", MODELS[name], *flags, f"--emit={stage}", "-o", text])
            if made.returncode == 0:
                yield stage, text
            elif number == 0:
                sys.exit(made.stderr)


def drawn(stage, count):
    """How many mutants a text of this stage has."""
    return max(min(2, count), count // LARGE.get(stage, 1))


def survive(options, passes, job):
    stage, text = job
    command = [options.build / "test/survive", text, f"--seed={options.seed}", f"--count={2 + drawn(stage, options.count)}", f"--reduce-seconds={options.reduce_seconds}"]
    return run([*command, *(f"--passes={name}" for name in passes)], timeout=None)  # it bounds each of its runs itself


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--only", choices=[*MODELS, FOREIGN.stem])
    add_draw_options(parser, count=2, seconds=10)  # mutants of each text; of large texts there are fewer
    options = parser.parse_args()
    options.build = options.build.resolve()
    Path(options.scratch).mkdir(parents=True, exist_ok=True)
    return options


def main():
    options, begin = parse(), time.monotonic()
    passes = passes_of(options.build)
    jobs = [job for name in ([options.only] if options.only else [*MODELS, FOREIGN.stem]) for job in texts_of(options, name)]
    runs = refused = findings = invalid = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for (_, text), done in zip(jobs, pool.map(lambda job: survive(options, passes, job), jobs)):
            totals = TOTALS.search(done.stdout)
            if not totals:
                sys.exit(f"{text}: survive ends with {done.returncode}: {done.stderr.strip()[-800:]}")
            print(done.stdout[:totals.start()], end="", flush=True)
            runs, refused, findings, invalid = (total + int(more) for total, more in zip((runs, refused, findings, invalid), totals.groups()))
    fewer = "".join(f", {number} of those of {stage}" for stage in LARGE if (number := drawn(stage, options.count)) != options.count)
    print(f"generated: mutants of each stage's text, for every pass: {options.count}, seed {options.seed}: {runs} runs of {len(passes)} passes on {len(jobs)} texts{fewer}, "
          f"{refused} refused, {findings} findings, {invalid} invalid mutants, {time.monotonic() - begin:.0f} s")
    if runs < 2 * len(jobs) * len(passes):
        sys.exit("too few runs: mutants are invalid, or passes missing")
    sys.exit(findings > 0)


if __name__ == "__main__":
    main()
