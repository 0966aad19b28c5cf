"""status.py STATUS COMMAND...: the command exits with STATUS (negative: by that signal)."""

import subprocess
import sys

found = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL).returncode
if found != int(sys.argv[1]):
    sys.exit(f"expected exit status {sys.argv[1]}, not {found}")
