"""expect.py STATUS TEXT COMMAND...: the command exits with STATUS and writes one line to stderr, which holds TEXT; below an error in a text may be the
line of the text and a caret."""

import re
import subprocess
import sys

status, text, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
first, *rest = done.stderr.splitlines() or [""]
isPlaced = re.match(r"[^ ]+:\d+:\d+: error: ", first)
good = not rest if not isPlaced else not rest or len(rest) == 2 and rest[1].strip() == "^" and len(rest[0]) >= len(rest[1]) - 1
if (done.returncode != status or not good or text not in first or not (isPlaced or first.startswith("raptc: error: ")) or
        max(map(len, [first, *rest])) > 5000):
    sys.exit(f"expected exit status {status} and one line with '{text}'; exit status {done.returncode}:\n{done.stderr[:2000]}")
