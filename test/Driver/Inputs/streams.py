"""streams.py MODEL...: raptc compiles a model the same whichever of its three streams are closed."""


import itertools
import subprocess
import sys


def expect(good, *what):
    if not good:
        sys.exit(" ".join(map(str, what)))


libraries = set()
for closed in itertools.chain.from_iterable(itertools.combinations(("<&-", ">&-", "2>&-"), count) for count in range(4)):
    done = subprocess.run(["sh", "-c", f'exec raptc "$@" {" ".join(closed)}', "sh", *sys.argv[1:], "-o", "closed.so"], capture_output=True, text=True)
    expect(done.returncode == 0, closed, done.returncode, done.stderr)
    libraries.add(open("closed.so", "rb").read())
expect(len(libraries) == 1, "the libraries differ")
