"""fail_each.py SHIM COMMAND...: fails the command's k-th allocation for each k. It must end with 0 and its usual output, or
with 1 and one line."""
import collections
import os
import subprocess
import sys

shim, command = sys.argv[1], sys.argv[2:]


def run(k):
    environment = dict(os.environ, LD_PRELOAD=shim, FAIL_AT=str(k))
    return subprocess.run(command, env=environment, capture_output=True, text=True)


usual = run(-1)
assert usual.returncode == 0, usual
total = int(usual.stderr.rsplit("allocations ", 1)[1])
ends = collections.Counter()
for k in range(total):
    result = run(k)
    good = result.returncode == 0 and result.stdout == usual.stdout
    told = result.returncode == 1 and result.stderr.startswith("generate: NOMEM: ")
    assert good or told, (k, result)
    ends[result.returncode] += 1
print("failures told:", "many" if ends[1] > 50 else ends[1], "of", total, file=sys.stderr)
print("always told" if ends[1] > 50 else ends)
