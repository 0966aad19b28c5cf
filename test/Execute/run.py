#!/usr/bin/env python3
"""Runs cases of registry.py by hand; those that are not daily too.

    test/Execute/run.py 'bert_random/odd_*.cpu' --build build

Prints what each case says. Exit status 1 if any failed, 2 if a pattern has no case."""

import argparse
import fnmatch
import os
import re
import sys
import tempfile
from pathlib import Path

if "--full" in sys.argv:  # the registry chooses the level of each case by it
    os.environ["RAPT_FULL"] = "1"
import forked  # noqa: E402
import registry  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="+", metavar="CASE", help="a name, in which * stands for anything")
    parser.add_argument("--build", default="build", type=os.path.abspath, help="folder of a build (%(default)s)")
    parser.add_argument("--full", action="store_true", help="scripts compare as much as with check --full")
    parser.add_argument("--keep", metavar="FOLDER", type=os.path.abspath, help="leave the files of each case there")
    parser.add_argument("--list", action="store_true", help="print the names alone")
    for program in ("raptc", "rapt-run"):
        parser.add_argument("--" + program, metavar="FILE", help="this program instead of the build's")
    return parser.parse_args()


def settings(build):
    """The C compiler of the build, and the folder of LLVM's tools."""
    cache = Path(build, "CMakeCache.txt")
    if not cache.exists():
        sys.exit(f"{build} is no folder of a build")
    found = dict(re.findall(r"^(\w+):\w+=(.*)$", cache.read_text(), re.MULTILINE))
    return found["CMAKE_C_COMPILER"], os.path.dirname(found["RAPT_LIT"])


def main():
    options = arguments()
    chosen = []
    for pattern in options.patterns:
        names = fnmatch.filter(registry.CASES, pattern)
        if not names:
            print(f"no case is named {pattern}", file=sys.stderr)
            return 2
        chosen += names
    if options.list:
        print("\n".join(chosen))
        return 0
    clang, tools = settings(options.build)
    path = os.pathsep.join([os.path.join(options.build, "bin"), tools, os.environ["PATH"]])
    environment = dict(os.environ, PATH=path)
    replaced = {name: os.path.abspath(path) for name, path in (("raptc", options.raptc), ("rapt-run", options.rapt_run)) if path}
    failed = 0
    with tempfile.TemporaryDirectory(prefix="rapt-cases-") as folder:
        for name in chosen:
            case, scratch = registry.CASES[name], os.path.join(options.keep or folder, name)
            os.makedirs(scratch, exist_ok=True)
            case_tools = registry.Tools(case, options.build, scratch, clang, **replaced)
            outcome = forked.run(lambda: case.run(case_tools), case_tools.environment(environment))
            print(f"{outcome.output}{'FAIL' if outcome.status else 'PASS'} {name}: {outcome.seconds:.1f} s of processor time", flush=True)
            failed += outcome.status != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
