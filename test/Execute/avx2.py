#!/usr/bin/env python3
"""Tells how many cases of registry.py are compiled for AVX2, and where they run. Fails if there are not as many as docs/Reliability.md says.

On a machine with more than AVX2 each of them is a test of its own. On one with AVX2 and no more its own code is the same: what runs there anyway."""

import argparse
import os
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, required=True, help="of cases that the page says")
    parser.add_argument("--seed", required=True)
    arguments = parser.parse_args()
    os.environ["RAPT_SEED"] = arguments.seed
    import level
    import processor  # the registry draws by the seed
    import registry

    isFull = os.environ.get("RAPT_FULL") == "1"
    chosen = [case for case in registry.CASES.values() if case.cpu and (case.isDaily or isFull)]
    run = {case.name for case in registry.cases(isFull)}
    if processor.IS_AVX2:
        own = sum(case.column == "cpu" and not case.cpu for case in registry.cases(isFull))
        where = f"this machine has AVX2 and no more: none runs a second time, all {own} cases of compiled code are for it"
    else:
        where = f"{sum(case.name in run for case in chosen)} are tests of this run"
    levels = level.summary(case.level for case in registry.cases(isFull) if case.column not in ("evaluated", "numpy"))
    print(f"generated: cases compiled for AVX2: {len(chosen)}, seed {arguments.seed}: {where}; of all cases {levels}")
    if len(chosen) != arguments.count:
        sys.exit(f"there are {len(chosen)}: test/Execute/avx2.test and the table of counts in docs/Reliability.md say {arguments.count}")


main()
