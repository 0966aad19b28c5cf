"""bounded.py TEXT COMMAND...: the command ends within ten seconds and 2 GB of address space, with exit status 1 and one line on stderr that
has TEXT; notes and source lines of rapt-opt below its line do not count."""

import resource
import subprocess
import sys

text, command = sys.argv[1], sys.argv[2:]
limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=10, preexec_fn=limit)
errors = [line for line in done.stderr.splitlines() if "error: " in line]
if done.returncode != 1 or len(errors) != 1 or text not in errors[0]:
    sys.exit(f"expected exit status 1 and one line with '{text}'; exit status {done.returncode}:\n{done.stderr[:2000]}")
