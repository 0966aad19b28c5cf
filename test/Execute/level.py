"""The level of code generation (raptc's --codegen) that a case of a test is compiled at.

Code of the level `quick` computes the same numbers and is compiled faster. Tests that check numbers alone compile a fifth of their cases as they are
shipped, drawn by a seed, and all of them in `tools/dev/check --full`. Tests that read instructions or measure do not ask: they get `shipped`.
By the same seed a fifth of the cases of this folder are drawn that are compiled for AVX2, too.
"""

import functools
import hashlib
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools" / "dev"))  # behind this folder, which has modules of the same names
import daily  # noqa: E402

SHARE = 5  # one case in so many is compiled as shipped


@functools.cache
def seed_of_run():
    return daily.seed(ROOT)


def draw(case, seed):
    return int.from_bytes(hashlib.sha256(f"{seed} {case}".encode()).digest()[:8], "little")


def drawn(cases, seed=None):
    """A fifth of the cases, of which each day draws others."""
    seed = seed_of_run() if seed is None else seed
    return set(sorted(cases, key=lambda case: draw(case, seed))[:-(-len(cases) // SHARE)])


def level_of(case, seed=None):
    """`shipped` or `quick`, for a case by its name; the seed is that of the run where none is given."""
    if os.environ.get("RAPT_FULL") == "1":
        return "shipped"
    return "quick" if draw(case, seed_of_run() if seed is None else seed) % SHARE else "shipped"


def levels_of(groups, seed=None):
    """{case: its level} for cases and the group that each is in: of every group at least one is compiled as shipped."""
    seed = seed_of_run() if seed is None else seed
    first = {}
    for case, group in groups.items():
        first[group] = min(first.get(group, case), case, key=lambda name: draw(name, seed))
    return {case: "shipped" if first[group] == case else level_of(case, seed) for case, group in groups.items()}


def summary(levels):
    """Words for a line on a test: the levels of its cases."""
    levels = list(levels)
    return f"{levels.count('shipped')} of {len(levels)} compiled as shipped, the others quick"
