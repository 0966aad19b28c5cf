"""The seed of a day's random draws: run_checks.py and test/lit.cfg.py take it from here."""

import os
import re
import shlex
import subprocess
from pathlib import Path

WITHOUT_COMMIT = 1  # the seed of a tree that git knows no commit of, such as an unpacked archive


def seed_of_day(root):
    """The day (UTC) on which HEAD of the work tree `root` was committed, as the number YYYYMMDD: it changes with the sources, and a run of a
    commit can be repeated. WITHOUT_COMMIT where `root` is no work tree, has no commit, or there is no git."""
    if not (Path(root) / ".git").exists():  # else git would look in the folders above
        return WITHOUT_COMMIT
    command = ["git", "-C", str(root), "show", "--no-patch", "--format=%cd", "--date=format-local:%Y%m%d", "HEAD"]
    try:
        done = subprocess.run(command, env=dict(os.environ, TZ="UTC"), capture_output=True, text=True, check=False)
    except OSError:
        return WITHOUT_COMMIT
    day = done.stdout.strip()
    return int(day) if done.returncode == 0 and day.isdigit() else WITHOUT_COMMIT


def seed(root):
    """The seed of this run: RAPT_SEED, or that of the day."""
    return int(os.environ.get("RAPT_SEED") or seed_of_day(root))


def repetitions(seed, is_full, preset, build, failures):
    """The commands that repeat what failed in a build folder, None for the preset's: `failures` has the names of the tests for each phase, which may be `PRESET PHASE`."""
    for phase, names in failures.items():
        *other, phase = phase.split()
        words = ["tools/dev/check", "--no-install", "--seed", str(seed)]
        words += ["--full"] * (is_full and not other)
        words += ["--preset", *(other or [preset])] * (bool(other) or preset != "dev")
        words += ["--build", build] * bool(build and not other)
        if phase != "build":
            words += ["--only", phase]
        if phase == "lit" and names and not any(name.startswith("lit itself") for name in names):
            words += ["--filter", "|".join(re.escape(name.split(" :: ")[-1]).replace(r"\-", "-") for name in names)]
        yield shlex.join(words)
