"""The level of code generation (raptc's --codegen) that a case of a test is compiled at.

Code of the level `quick` computes the same numbers and is compiled faster. Tests that check numbers alone compile a fifth of their cases as they are
shipped, drawn by a seed, and all of them in `tools/dev/check --full`. Tests that read instructions or measure do not ask: they get `shipped`.
"""

import hashlib
import os

SHARE = 5  # one case in so many is compiled as shipped


def level_of(case, seed=None):
    """`shipped` or `quick`, for a case by its name; the seed is RAPT_SEED where none is given."""
    if os.environ.get("RAPT_FULL") == "1":
        return "shipped"
    seed = os.environ.get("RAPT_SEED", "1") if seed is None else seed
    drawn = hashlib.sha256(f"{seed} {case}".encode()).digest()
    return "quick" if int.from_bytes(drawn[:8], "little") % SHARE else "shipped"


def summary(levels):
    """Words for a line on a test: the levels of its cases."""
    levels = list(levels)
    return f"{levels.count('shipped')} of {len(levels)} compiled as shipped, the others quick"
