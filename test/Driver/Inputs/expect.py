"""expect.py STATUS TEXT COMMAND...: the command exits with STATUS and writes one line to stderr, which holds TEXT."""

import subprocess
import sys

status, text, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
lines = done.stderr.splitlines()
if done.returncode != status or len(lines) != 1 or not lines[0].startswith("raptc: error: ") or text not in lines[0] or len(lines[0]) > 5000:
    sys.exit(f"expected exit status {status} and one line with '{text}'; exit status {done.returncode}:\n{done.stderr[:2000]}")
