"""choose.py TREE BUILD [--since REV] [--seconds N] [PATH...]: prints what `tools/dev/check --changed` runs for a tree, without running it; with
paths, for a change of each of these files, which are restored."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools/dev"))

import changed  # noqa: E402
import run_checks  # noqa: E402


def printing(what):
    def step(build, jobs, *names):
        print(f"{what}:", *(" ".join(part) if isinstance(part, list) else part for part in names))
        return run_checks.Tally() if what != "build" else 0
    return step


parser = argparse.ArgumentParser()
parser.add_argument("tree", type=Path)
parser.add_argument("build", type=Path)
parser.add_argument("paths", nargs="*")
parser.add_argument("--since", dest="changed", default="")
parser.add_argument("--seconds", dest="changed_seconds", type=float, default=100)
parser.add_argument("--jobs", type=int, default=1)
args = parser.parse_intermixed_args()
run_checks.ROOT = args.tree.resolve()
run_checks.lit_program = lambda build: str(build / "lit")
run_checks.compile_all, run_checks.unit, run_checks.lit = printing("build"), printing("unit"), printing("lit")
run_checks.lint = lambda build, jobs, chosen: printing("lint")(build, 1, [" ".join((name, *options)) for name, options in chosen.items()])
for path in args.paths:
    text = (args.tree / path).read_text(encoding="utf-8")
    (args.tree / path).write_text(text + "\n", encoding="utf-8")
    changed.run(args, args.build.resolve(), run_checks)
    (args.tree / path).write_text(text, encoding="utf-8")
sys.exit(0 if args.paths else changed.run(args, args.build.resolve(), run_checks))
