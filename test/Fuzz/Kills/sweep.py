#!/usr/bin/env python3
"""Kills a command that writes files into a folder at its system calls, and checks what it leaves.

    sweep.py --tool kill-at-call --folder OUT [--keeps PATH]... [--last NAME [--loads COMMAND]] [--json NAME] [--some N | --every N] -- COMMAND...

The command is killed before and after each call that changes files, and before and after every N-th call of any kind (--every), or at N of these
points (--some). Whatever point that is:
  - the files PATH have the bytes that they had;
  - each file of the folder has its old bytes or those that the whole command writes, or, if it is the one of --json, any whole JSON text;
  - the file NAME is written last: while it is the old one, all other old files that the command does not replace are there, once it is the new one,
    all other files are the new ones; COMMAND of --loads then prints what it prints for the whole old or the whole new set, or, where there is no
    file NAME, says so in one line;
  - the same command succeeds and leaves the new files and no temporary one. An old file that the command replaces by one of another name stays if it
    was killed between the two.
Prints the counts; exit status 1 at the first point that breaks a promise."""

import argparse
import collections
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from outcomes import run  # noqa: E402

TEMPORARY = re.compile(r"\.rapt-\d+-\d+\.tmp")


def contents(path, differing=None):
    """{name: bytes} of a file, or of all files below a folder; a folder has None. JSON text of the file `differing` is b"JSON"."""
    if path.is_file():
        return {path.name: path.read_bytes()}
    found = {str(file.relative_to(path)): None if file.is_dir() else file.read_bytes() for file in path.rglob("*")}
    if differing in found:
        try:
            json.loads(found[differing])
            found[differing] = b"JSON"
        except ValueError:
            pass
    return found


class Sweep:
    def __init__(self, options):
        self.options, self.folder, self.report = options, options.folder, options.folder.with_suffix(".report")
        self.old, self.inputs = self.outputs(), [contents(path) for path in options.keeps]
        self.old_output = self.load().stdout if options.last in self.old else None
        whole, self.calls, self.changes, _ = self.run_until([])
        assert whole.returncode == 0, whole
        self.new = self.outputs()
        self.new_output = self.load().stdout if options.last else None
        assert self.new != self.old, "the command changes nothing"
        assert not options.last or self.old.get(options.last) != self.new[options.last], f"{options.last} does not change"
        assert not options.loads or self.old_output != self.new_output, "the old and the new set print the same"
        self.states, self.names = collections.Counter(), collections.Counter()

    def run_until(self, where):
        """The finished process, how many calls it made, how many of them change files, and the name of that at which it was killed."""
        done = run([self.options.tool, self.report, *where, *self.options.command])
        counted = re.fullmatch(r"calls (\d+) changes (\d+) (?:killed (\S+)|status \d+)\n", self.report.read_text())
        return done, int(counted[1]), int(counted[2]), counted[3]

    def outputs(self):
        return contents(self.folder, self.options.json)

    def load(self):
        return run(shlex.split(self.options.loads)) if self.options.loads else subprocess.CompletedProcess([], 0, "", "")

    def put(self, files):
        if self.outputs() == files:
            return
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        for name in sorted(files):  # a folder before what is in it
            if files[name] is None:
                (self.folder / name).mkdir()
            else:
                (self.folder / name).write_bytes(files[name])

    def label(self, found):
        """A name for what is in the folder: which files differ from the old ones."""
        changed = sorted(TEMPORARY.sub(".rapt-*", name) for name in found.keys() | self.old.keys() if found.get(name) != self.old.get(name))
        return "old" if not changed else "new" if found == self.new else " ".join(changed)

    def fault_of_files(self, found):
        for name, data in found.items():
            if not TEMPORARY.fullmatch(os.path.basename(name)) and data not in [files[name] for files in (self.old, self.new) if name in files]:
                return f"{name} is neither old nor new"
        last = self.options.last
        if last and found.get(last) == self.new[last]:
            missing = [name for name, data in self.new.items() if found.get(name) != data]
            return f"{last} is new, but not {missing}" if missing else None
        missing = [name for name in self.old if name not in found and not TEMPORARY.fullmatch(os.path.basename(name))]
        return f"{missing} are gone" if missing else None

    def fault_of_loading(self, found):
        last = self.options.last
        if not self.options.loads:
            return None
        done = self.load()
        if last not in found:
            return None if done.returncode == 1 and len(done.stderr.splitlines()) == 1 else f"without {last}: {done}"
        expected = self.new_output if found[last] == self.new[last] else self.old_output
        return None if done.returncode == 0 and done.stdout == expected else f"expected {expected!r}: {done}"

    def fault_of_next(self, found):
        """The same command once more."""
        done = run(self.options.command)
        after, last = self.outputs(), self.options.last
        replaced = set(self.old) - set(self.new) if last and found.get(last) == self.new[last] else set()
        left = {name: data for name, data in after.items() if name not in replaced}
        return None if done.returncode == 0 and left == self.new else f"the next command leaves {sorted(after)}: {done}"

    def kill(self, where):
        self.put(self.old)
        done, _, _, name = self.run_until(where)
        found = self.outputs()
        state = self.label(found)
        fault = None
        if [contents(path) for path in self.options.keeps] != self.inputs:
            fault = "an input has changed"
        elif name is None and (done.returncode or found != self.new):  # it ended before the call, the number of which differs a little
            fault = f"not killed, but {done}"
        # The other faults follow from the files alone, so that each state is looked at once.
        elif not self.states[state]:
            fault = self.fault_of_files(found) or self.fault_of_loading(found) or self.fault_of_next(found)
        if fault:
            sys.exit(f"FAIL kill-at-call {' '.join(where)}, killed at {name}; {state}: {fault}")
        self.states[state] += 1
        self.names[name or "its end"] += 1

    def points(self):
        changes = [[f"--{when}={k}", "--changes"] for k in range(1, self.changes + 1) for when in ("before", "after")]
        others = [[f"--{when}={k}"] for k in range(1, self.calls + 1, self.options.every) for when in ("before", "after")]
        if not self.options.some:
            return changes, others
        draw = random.Random(self.options.seed)
        some = min(self.options.some, len(changes))
        return draw.sample(changes, some - some // 4), draw.sample(others, some // 4)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--keeps", type=Path, action="append", default=[])
    parser.add_argument("--last")
    parser.add_argument("--loads")
    parser.add_argument("--json")
    parser.add_argument("--some", type=int, default=0)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def main():
    os.environ.pop("RAPT_PHASES", None)  # a note of the test command, not an output
    begin, sweep = time.monotonic(), Sweep(parse())
    changes, others = sweep.points()
    for where in changes + others:
        sweep.kill(where)
    sweep.put(sweep.new)
    print(f"generated: kills of {os.path.basename(sweep.options.command[0])}: {len(changes) + len(others)}, seed {sweep.options.seed}: {len(changes)} before or after "
          f"its {sweep.changes} calls that change files, {len(others)} at the others of its {sweep.calls}, {time.monotonic() - begin:.0f} s")
    for kind, counts in (("killed at", sweep.names), ("left", sweep.states)):
        print(f"{kind}: {', '.join(f'{name}: {count}' for name, count in counts.most_common())}")


if __name__ == "__main__":
    main()
