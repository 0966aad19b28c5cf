"""unchanged.py FOLDER TEXT COMMAND...: the command ends with exit status 1 and one line that holds TEXT, and nothing in FOLDER, where it runs, changes."""

import os
import subprocess
import sys

folder, text, command = sys.argv[1], sys.argv[2], sys.argv[3:]


def contents():
    paths = [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names]
    return {path: (os.lstat(path).st_ino, open(path, "rb").read()) for path in paths}


before = contents()
done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=folder)
lines = [line for line in done.stderr.splitlines() if "error: " in line]
if done.returncode != 1 or len(lines) != 1 or text not in lines[0]:
    sys.exit(f"expected exit status 1 and one line with '{text}', not {done.returncode} and\n{done.stderr}")
after = contents()
if changed := sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)):
    sys.exit(f"changed: {changed}")
