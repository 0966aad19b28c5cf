#!/usr/bin/python3
"""Every held-out number through rapt-run: its words must be PyTorch's. Needs python3-numpy, and python3-torch unless
--stored is given.

    compare.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run             PyTorch computes beside it
    compare.py --raptc ... --rapt-run ... --stored                               what it computed is in expected.json

Prints how many agree; exit status 1 if one differs.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

import spelling

HERE = os.path.dirname(os.path.abspath(__file__))


def theirs(numbers):
    import torch
    import train

    torch.set_num_threads(1)
    rows = train.predict(train.load(), numbers)[0]
    return ["".join(spelling.PIECES[i] for i in row if i > spelling.UNKNOWN).replace(spelling.SPACE, " ").strip() for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run", required=True)
    parser.add_argument("--stored", action="store_true")
    options = parser.parse_args()
    with open(os.path.join(HERE, "expected.json"), encoding="utf-8") as file:
        wanted = json.load(file)["predictions"]
    numbers = spelling.held_out()
    assert [str(number) for number in numbers] == list(sorted(wanted, key=int)), "expected.json has other numbers"
    if not options.stored:
        wanted = dict(zip(map(str, numbers), theirs(numbers)))
    with tempfile.TemporaryDirectory(prefix="rapt-number-speller-") as work:
        library = os.path.join(work, "number-speller.so")
        subprocess.run([options.raptc, HERE, "-o", library], check=True, stderr=subprocess.DEVNULL)

        def ours(number):
            command = [options.rapt_run, library, "-p", str(number), "-n", "16", "--threads", "1"]
            done = subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            return done.stdout.strip()

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = list(pool.map(ours, numbers))
    differ = [(number, text, wanted[str(number)]) for number, text in zip(numbers, found) if text != wanted[str(number)]]
    for number, text, expected in differ[:10]:
        print(f"{number}: {text!r}, PyTorch {expected!r}")
    right = sum(text == spelling.text(number) for number, text in zip(numbers, found))
    print(f"{len(numbers) - len(differ)} of {len(numbers)} texts are PyTorch's; {right} are right")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
