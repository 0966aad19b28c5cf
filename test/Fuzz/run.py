#!/usr/bin/env python3
"""Runs the fuzz targets of a build folder, two at a time, and tells what they did.

    run.py --build build [--compiler build/fuzz-compiler/bin] [--seconds 5] [--jobs 2] [--only TARGET ...] [--seed N] [--keep FOLDER]

Each target begins with the inputs of test/Fuzz/Corpus/TARGET, which once broke something or reach code that is hard to
reach, and with those of make_seeds.py. Where reading them takes longer than half of its time, it begins with some that are drawn. Its findings are written to BUILD/fuzz/findings and told with the command that
repeats it. With --keep, the inputs that reach something new stay in FOLDER/TARGET for the next run.
"""

import argparse
import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
MEGABYTES = 2048
LIMITS = [f"-rss_limit_mb={MEGABYTES}", f"-malloc_limit_mb={MEGABYTES // 2}", "-print_final_stats=1", "-verbosity=1"]
SIZES = {"audio": 8192, "image": 16384, "npy": 4096, "elf": 8192, "weights": 20000, "state": 40000, "compile": 8192}  # bytes of an input; else 32768
RATES = {"compile": 25}  # inputs a second, of targets that would spend their time on reading all of theirs
# LLVM's libraries are not instrumented: memory that instrumented code of its headers poisons would be theirs.
SANITIZERS = {"ASAN_OPTIONS": "allocator_may_return_null=1:allow_user_poisoning=0:detect_leaks=1:symbolize=1", "UBSAN_OPTIONS": "print_stacktrace=1"}


class Target:
    def __init__(self, program, args):
        self.program, self.name = program, program.name.removeprefix("fuzz-")
        self.args, self.executions, self.features, self.output, self.status = args, 0, 0, "", 0
        self.findings = args.build / "fuzz" / "findings"
        self.log = args.build / "check" / f"fuzz-{self.name}.log"

    def run(self):
        corpora = [FOLDER / "Corpus" / self.name, self.args.build / "fuzz" / "seeds" / self.name]
        dictionary = self.args.build / "fuzz" / f"{self.name}.dict"
        environment = dict(os.environ, **SANITIZERS, RAPT_FUZZ_MODELS=str(self.args.build / "fuzz" / "models"))
        self.findings.mkdir(parents=True, exist_ok=True)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as fresh, tempfile.TemporaryDirectory() as drawn:
            kept = self.args.keep / self.name if self.args.keep else Path(fresh)
            kept.mkdir(parents=True, exist_ok=True)
            seconds = 60 if self.args.compiler and self.name == "compile" else 10  # instrumented, a model takes seconds
            # libFuzzer ends when the whole seconds since its start are more than these.
            command = [str(self.program), *LIMITS, f"-timeout={seconds}", f"-max_total_time={max(self.args.seconds - 1, 1)}", f"-seed={self.args.seed}",
                       f"-max_len={SIZES.get(self.name, 32768)}", f"-artifact_prefix={self.findings}/{self.name}-"]
            command += [f"-dict={dictionary}"] if dictionary.exists() else []
            command += [str(kept)] + [str(corpus) for corpus in self.drawn([corpus for corpus in corpora if corpus.is_dir()], Path(drawn))]
            with open(self.log, "wb") as log:
                self.status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment).returncode
        self.output = self.log.read_text(errors="replace")
        self.read_output()
        return self

    def drawn(self, corpora, folder):
        """The corpora; where reading them would take more than half of the time, `folder` with inputs drawn from them."""
        inputs, count = [path for corpus in corpora for path in sorted(corpus.iterdir())], RATES.get(self.name, 10**6) * self.args.seconds // 2
        if len(inputs) <= count:
            return corpora
        for i, path in enumerate(random.Random(self.args.seed).sample(inputs, count)):
            (folder / str(i)).symlink_to(path)
        return [folder]

    def read_output(self):
        found = re.search(r"stat::number_of_executed_units: *(\d+)", self.output)
        self.executions = int(found[1]) if found else 0
        self.rate = re.search(r"stat::average_exec_per_sec: *(\d+)", self.output)
        features = re.findall(r" cov: (\d+)", self.output) if self.name != "compile" else re.findall(r" ft: (\d+)", self.output)
        self.features = int(features[-1]) if features else 0

    def report(self):
        """Lines that tell what was found."""
        what = re.search(r"broken promise:.*|SUMMARY:.*|ERROR: .*", self.output)
        artifact = re.search(r"Test unit written to (\S+)", self.output)
        lines = [f"{self.name}: {what[0] if what else f'exit status {self.status}'} (see {self.log})"]
        if artifact:
            lines.append(f"  repeat: RAPT_FUZZ_MODELS={self.args.build}/fuzz/models {self.program} {artifact[1]}")
        return lines


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=FOLDER.parents[1] / "build")
    parser.add_argument("--compiler", type=Path, help="folder of the compiler's target, instead of BUILD/bin")
    parser.add_argument("--seconds", type=int, default=5, help="of each target, at least 2")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append")
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    args.build = args.build.resolve()
    return args


def main():
    args = arguments()
    subprocess.run([sys.executable, FOLDER / "make_seeds.py", "--raptc", args.build / "bin/raptc", "--out", args.build / "fuzz", "--jobs", str(args.jobs)], check=True)
    programs = sorted((args.compiler or args.build / "bin").glob("fuzz-*")) + sorted((args.build / "fuzz" / "bin").glob("fuzz-*"))  # the slowest first
    targets = [Target(program, args) for program in programs]
    targets = [target for target in targets if not args.only or target.name in args.only]
    shutil.rmtree(args.build / "fuzz" / "findings", ignore_errors=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for target in pool.map(Target.run, targets):
            failed += target.status != 0
            rate = target.executions / max(args.seconds, 1)
            print(f"generated: fuzz target {target.name}: {args.seconds} s, seed {args.seed}: {target.executions:,} inputs, {rate:,.0f}/s, {target.features:,} edges", flush=True)
            if target.status:
                print("\n".join(target.report()), flush=True)
    print(f"{len(targets) - failed} passed, {failed} failed")
    sys.exit(1 if failed or not targets else 0)


if __name__ == "__main__":
    main()
