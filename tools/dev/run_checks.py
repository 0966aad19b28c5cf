#!/usr/bin/env python3
"""Configures, builds and tests a checkout; the part of tools/dev/check that comes after installing packages.

Tests that generate their cases draw them by a seed, which is the day of the last commit (daily.py) or that of --seed: `%seed` in a RUN
line, RAPT_SEED for other programs. With --full they make more of them: `%quick:150%full:3000` is 3000, other programs read RAPT_FULL=1.
Afterwards the presets whose vendor field "rapt/check" of CMakePresets.json lists phases are built and tested too, with the quick counts.
The draws of the tests are shown and compared with docs/Reliability.md (draws.py), and the times of the run are recorded (times.py).
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from concurrent import futures
from pathlib import Path

import changed
import daily
import draws
import stamps
import times

ROOT = Path(__file__).resolve().parents[2]
PHASES = ["configure", "build", "unit", "lit", "fuzz", "lint"]
TIMEOUT, FULL_TIMEOUT = 600, 4 * 3600  # seconds of one test


def timeout():
    return FULL_TIMEOUT if os.environ.get("RAPT_FULL") == "1" else TIMEOUT


class Tally:
    """Test outcomes of one runner. `details` are lines worth showing: what failed, what was skipped, what was slow."""

    SLOW = 10.0  # seconds

    def __init__(self):
        self.passed, self.failed, self.skipped, self.details = 0, 0, 0, []

    def note_time(self, name, seconds):
        if seconds >= self.SLOW:
            self.details.append(f"  {seconds:.0f} s: {name}")

    def add(self, outcome, name=""):
        setattr(self, outcome, getattr(self, outcome) + 1)
        if outcome != "passed":
            self.details.append(f"  {outcome}: {name}")

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


class Clock:
    """Wall and processor seconds of this process' children between two readings."""

    def __init__(self):
        self.rows = []
        self.mark()

    def mark(self):
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.wall, self.cpu = time.monotonic(), usage.ru_utime + usage.ru_stime

    def record(self, phase):
        wall, cpu = self.wall, self.cpu
        self.mark()
        self.rows.append((phase, self.wall - wall, self.cpu - cpu))
        print(f"== {phase}: {self.wall - wall:.1f} s, {self.cpu - cpu:.1f} s of processor time", flush=True)


def run(command, log=None, **options):
    """Runs a command in the checkout; with a log, its output goes there and is shown only if the command fails."""
    if not log:
        return subprocess.run(command, cwd=ROOT, **options).returncode
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "w") as out:
        status = subprocess.run(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, **options).returncode
    if status:
        lines = log.read_text(errors="replace").splitlines()
        errors = [line for line in lines if "error:" in line or "FAILED:" in line]
        print("\n".join(errors[:40] + ["..."] + lines[-60:]))
    return status


def configure(build, preset):
    return run(["cmake", "--preset", preset, "-B", str(build)], build / "check" / "configure.log")


def compile_all(build, jobs, *options):
    log = build / "check" / "build.log"
    status = run(["cmake", "--build", str(build), "-j", str(jobs), *options], log)
    warnings = sorted({line for line in log.read_text(errors="replace").splitlines() if " warning: " in line})
    if warnings:
        print("\n".join([*warnings[:20], f"{len(warnings)} warnings"]))
    if shutil.which("ccache"):
        statistics = subprocess.run(["ccache", "-s"], capture_output=True, text=True).stdout
        print("\n".join(line for line in statistics.splitlines() if "Hits:" in line or "Misses:" in line))
    return status


def gtest_outcomes(file, tally):
    for suite in ElementTree.parse(file).getroot().iter("testsuite"):
        for case in suite.iter("testcase"):
            name = f"{suite.get('name')}.{case.get('name')}"
            if case.find("failure") is not None:
                tally.add("failed", name)
            elif case.find("skipped") is not None or case.get("status") == "notrun":
                tally.add("skipped", name)
            else:
                tally.add("passed")


def unit(build, jobs, names=None):
    """Everything that CTest knows apart from lit and the checks of the sources, which have phases of their own, or programs of these names. A
    gtest program counts as its test cases, any other program as one."""
    tally = Tally()
    cases, junit = build / "check" / "gtest", build / "check" / "ctest.xml"
    shutil.rmtree(cases, ignore_errors=True)
    junit.unlink(missing_ok=True)
    environment = dict(os.environ, GTEST_OUTPUT=f"xml:{cases}/", GTEST_COLOR="no")
    chosen = ["-R", f"^({'|'.join(map(re.escape, names))})$"] if names else []
    run(["ctest", "--test-dir", str(build), "-j", str(jobs), *chosen, "-LE", "^(lit|lint)$", "--output-on-failure", "--timeout",
         str(timeout()), "--output-junit", str(junit)], build / "check" / "ctest.log", env=environment)
    if not junit.exists():
        return tally
    for test in ElementTree.parse(junit).getroot().iter("testcase"):
        name, status = test.get("name"), test.get("status")
        tally.note_time(name, float(test.get("time") or 0))
        changed.Seconds(build).add({name: float(test.get("time") or 0)})
        outcomes = cases / f"{name}.xml"
        before = tally.failed
        if outcomes.exists():
            gtest_outcomes(outcomes, tally)
        if status == "fail" and tally.failed == before:
            tally.add("failed", name)
        elif not outcomes.exists() and status != "fail":
            tally.add("passed" if status == "run" else "skipped", name)
    return tally


def lit_program(build):
    cache = subprocess.run(["cmake", "-L", "-N", str(build)], capture_output=True, text=True).stdout
    return next(line.split("=", 1)[1] for line in cache.splitlines() if line.startswith("RAPT_LIT:"))


def lit(build, jobs, filters):
    tally = Tally()
    results = build / "check" / "lit.json"
    results.unlink(missing_ok=True)
    if not filters:
        shutil.rmtree(build / "test" / "passed", ignore_errors=True)
    workers = str(jobs + 1)  # tests wait for files, timers and each other: one more of them keeps the processors at work
    command = [lit_program(build), "-s", "-v", "-j", workers, "-o", str(results), "--timeout", str(timeout()), str(build / "test")]
    if filters:
        command[1:1] = ["--filter", filters]
    run(command, build / "check" / "lit.log", env=times.environment(build))
    if not results.exists():
        tally.add("failed", "lit itself (see check/lit.log)")
        return tally
    outcomes = {"PASS": "passed", "FLAKYPASS": "passed", "XFAIL": "passed", "UNSUPPORTED": "skipped"}
    tests, table = json.loads(results.read_text())["tests"], draws.rows(ROOT)
    changed.record(build, tests)
    for test in tests:
        problems = list(draws.problems_of_test(table, test, os.environ.get("RAPT_FULL") == "1"))
        tally.note_time(test["name"], test["elapsed"] or 0)
        tally.details += draws.told(test["output"]) + problems
        if test["code"] not in ("EXCLUDED", "SKIPPED"):
            tally.add("failed" if problems else outcomes.get(test["code"], "failed"), test["name"])
    return tally


def fuzz(build, jobs):
    """Builds the fuzz targets, instrumented, below the build folder and runs each of them: 5 seconds, or 10 minutes with --full,
    where the compiler is instrumented too and each goes on from the inputs it kept."""
    tally, isFull, log = Tally(), os.environ.get("RAPT_FULL") == "1", build / "check" / "fuzz.log"
    log.unlink(missing_ok=True)
    make = lambda preset: configure(build / preset, preset) or compile_all(build / preset, jobs, "--target", "fuzzers")
    status, lines = stamps.make(stamps.Stamp("fuzz", ROOT, build), lambda: make("fuzz"))
    print("".join(f"{line}\n" for line in lines), end="", flush=True)
    if status or (isFull and make("fuzz-compiler")):
        tally.add("failed", f"build of preset {'fuzz' if status else 'fuzz-compiler'}")
        return tally
    command = [sys.executable, str(ROOT / "test/Fuzz/run.py"), "--build", str(build), "--jobs", str(jobs), "--seed", os.environ["RAPT_SEED"]]
    if isFull:
        command += ["--seconds", "600", "--keep", str(build / "fuzz" / "kept"),
                    "--compiler", str(build / "fuzz-compiler" / "bin")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    log.write_text(done.stdout + done.stderr)
    tally.details = (done.stdout + done.stderr).rstrip().splitlines()
    outcome = re.search(r"^(\d+) passed, (\d+) failed$", done.stdout, re.MULTILINE)
    tally.passed, tally.failed = (int(outcome[1]), int(outcome[2])) if outcome else (0, 1)
    for problem in draws.problems_of_lines(draws.rows(ROOT), draws.told(done.stdout), isFull):
        tally.add("failed", problem)
    return tally


def lint(build, jobs, chosen=None):
    """Each tools/dev/check-* is one test, or each of `chosen`, with these options; its exit status 77 means that it could not run here."""
    tally = Tally()
    scripts = [path for path in sorted((ROOT / "tools" / "dev").glob("check-*")) if chosen is None or path.name in chosen]

    def check(script):
        begin = time.monotonic()
        done = subprocess.run([str(script), "--build", str(build), *(chosen or {}).get(script.name, ())], cwd=ROOT, capture_output=True, text=True)
        return done, time.monotonic() - begin

    with futures.ThreadPoolExecutor(jobs) as pool:
        for script, (done, seconds) in zip(scripts, pool.map(check, scripts)):
            outcome = {0: "passed", 77: "skipped"}.get(done.returncode, "failed")
            tally.add(outcome, script.name)
            if not chosen:
                changed.Seconds(build).add({script.name: round(seconds, 2)})
            output = (done.stdout + done.stderr).rstrip().splitlines()
            print("\n".join(output[-60:] if outcome != "failed" else output[-200:]), flush=True)
    return tally


def full_presets():
    """{preset: (phases, filter of lit tests or None)}: what --full builds and tests besides."""
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    chosen = {preset["name"]: preset.get("vendor", {}).get("rapt/check") for preset in presets}
    return {name: (what["phases"], what.get("filter")) for name, what in chosen.items() if what}


def folder_of(preset):
    return ROOT / ("build" if preset == "dev" else f"build-{preset}")


def check_build(preset, build, args, phases, filters, clock, prefix=""):
    """Configures, builds and tests one build folder: {phase: Tally}, None where it cannot be built."""
    steps = (("configure", lambda: configure(build, preset)), ("build", lambda: compile_all(build, args.jobs)))
    for phase, action in steps:
        status = action()
        clock.record(prefix + phase)
        if status:
            print(f"{prefix}{phase} failed (see {build}/check/{phase}.log)")
            return None
    tallies = {}
    runners = {"unit": lambda: unit(build, args.jobs), "lit": lambda: lit(build, args.jobs, filters),
               "fuzz": lambda: fuzz(build, args.jobs), "lint": lambda: lint(build, args.jobs)}
    for phase in phases:
        tally = tallies[prefix + phase] = runners[phase]()
        clock.record(prefix + phase)
        print("\n".join(tally.details + [f"{prefix}{phase}: {tally}"]), flush=True)
    return tallies


def check_presets(args, clock):
    """The builds of full_presets(), as check_build; a build that fails counts as a failed test."""
    tallies = {}
    for preset, (phases, filters) in full_presets().items():
        made = check_build(preset, folder_of(preset), args, phases, filters, clock, f"{preset} ")
        if made is None:
            made = {f"{preset} build": Tally()}
            made[f"{preset} build"].add("failed", f"build of preset {preset}")
        tallies.update(made)
    return tallies


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tools/dev/check", description="Installs what is needed, builds, and tests.")
    parser.add_argument("--no-install", action="store_true", help="take the machine's packages as they are")
    parser.add_argument("--preset", default="dev", help="configuration of CMakePresets.json (dev, asan)")
    parser.add_argument("--build", help="build folder instead of the preset's")
    parser.add_argument("--only", choices=PHASES[2:], action="append", help="run only these of the tests")
    parser.add_argument("--filter", help="run only lit tests whose name matches this regular expression")
    parser.add_argument("--changed", nargs="?", const="", metavar="REV",
                        help="run what can be reached by what differs from REV (default: by what is not committed, else by the last commit)")
    parser.add_argument("--changed-seconds", type=float, default=changed.SECONDS,
                        help="how long all of --changed may take, by the seconds that tests took last; default: %(default)s")
    parser.add_argument("--full", action="store_true",
                        help="hours: generated tests make their full count of cases, then the sanitized presets are tested; "
                             "with --only or --filter the sanitized presets are left out")
    parser.add_argument("--seed", type=int, default=daily.seed_of_day(ROOT),
                        help="of the cases that tests generate, to repeat a run (default: the day of the last commit)")
    parser.add_argument("--times", action="store_true", help="run nothing: print where the time of the last whole run went, and what it drew")
    parser.add_argument("--part", action="store_true", help="with --times: of the last run of a part (--only, --filter) instead")
    parser.add_argument("--write", action="store_true", help="with --times: put the table into docs/Reliability.md")
    parser.add_argument("-j", "--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--install-seconds", type=float, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.changed is not None and (args.full or args.only or args.filter):
        parser.error("--changed chooses the tests itself: leave out --full, --only and --filter")
    if (args.part or args.write) and not args.times or args.part and args.write:
        parser.error("--part and --write are options of --times, and --write takes the last whole run")
    return args


def part_of(args):
    """The part of the checks that the options ask for, for the record of the run; "whole" for all of them."""
    chosen = [*(f"--only {phase}" for phase in args.only or []), *([f"--filter {args.filter}"] if args.filter else []),
              *([f"--preset {args.preset}"] if args.preset != "dev" else [])]
    return " ".join(chosen) or "whole"


def main():
    args = parse_arguments()
    build = Path(args.build).resolve() if args.build else folder_of(args.preset)
    if args.times:
        return times.show(ROOT, build, args.part, args.write)
    # Read by sanitized builds alone; LLVM's own libraries are not instrumented (test/lit.cfg.py says what follows).
    os.environ.setdefault("ASAN_OPTIONS", "allow_user_poisoning=0:detect_leaks=0:use_sigaltstack=0")
    os.environ.setdefault("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")  # else a finding is printed and the test passes
    os.environ["RAPT_SEED"] = str(args.seed)
    # A version manager's `python3` is a shell script that takes longer than most checks of the sources.
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    if args.full:
        os.environ["RAPT_FULL"] = "1"
    print(f"{'full' if args.full else 'daily'} counts, --seed {args.seed}", flush=True)
    clock, begin = Clock(), time.time()
    clock.rows.append(("install", args.install_seconds, 0.0))
    if args.changed is not None:
        return changed.run(args, build, sys.modules[__name__])
    facts = {"covers": part_of(args), "full": args.full, "seed": args.seed}
    phases = args.only or [phase for phase in PHASES[2:] if phase != "fuzz" or args.preset == "dev"]
    tallies = check_build(args.preset, build, args, phases, args.filter, clock)
    if tallies is None:
        return 1
    if args.full and not args.only and not args.filter:
        os.environ.pop("RAPT_FULL")
        tallies.update(check_presets(args, clock))

    times.finish(ROOT, build, clock.rows, phases, facts)
    passed, failed, skipped = (sum(getattr(tally, key) for tally in tallies.values())
                               for key in ("passed", "failed", "skipped"))
    for line in stamps.summary(build, begin):
        print(line)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    failures = {phase: re.findall(r"^  failed: (.*)$", "\n".join(tally.details), re.MULTILINE) for phase, tally in tallies.items() if tally.failed}
    print("".join(f"to repeat: {command}\n" for command in daily.repetitions(args.seed, args.full, args.preset, args.build, failures)), end="")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
