"""streams.py MODEL...: every tool tells in one line that its standard output is full or closed; raptc compiles a model the same whichever of its three
streams are closed."""

import itertools
import subprocess
import sys

TOOLS = {"raptc": ["--help", "--version", "--list-families", "--mcpu=help"], "rapt-run": ["--help", "--version"],
         "rapt-bench": ["--help", "--version"], "rapt-reference": ["--help", "--version"], "rapt-opt": ["--help", "--version", "--show-dialects"],
         "rapt-reduce": ["--help", "--version"], "rapt-lsp-server": ["--help", "--version"]}


def expect(good, *what):
    if not good:
        sys.exit(" ".join(map(str, what)))


for tool, options in TOOLS.items():
    for option in options:
        for where, reason in ((">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")):
            done = subprocess.run(["sh", "-c", f'exec {tool} {option} {where}'], capture_output=True, text=True)
            expect(done.returncode == 1 and done.stderr.startswith(f"{tool}: error: ") and done.stderr.endswith(f": {reason}\n") and
                   done.stderr.count("\n") == 1, tool, option, where, done.returncode, done.stderr)

libraries = set()
for closed in itertools.chain.from_iterable(itertools.combinations(("<&-", ">&-", "2>&-"), count) for count in range(4)):
    done = subprocess.run(["sh", "-c", f'exec raptc "$@" {" ".join(closed)}', "sh", *sys.argv[1:], "-o", "closed.so"], capture_output=True, text=True)
    expect(done.returncode == 0, closed, done.returncode, done.stderr)
    libraries.add(open("closed.so", "rb").read())
expect(len(libraries) == 1, "the libraries differ")
