"""status.py N COMMAND...: runs the command and succeeds when its exit status is N (-S for signal S)."""
import subprocess
import sys

status = subprocess.run(sys.argv[2:]).returncode
sys.exit(0 if status == int(sys.argv[1]) else f"exit status {status}, not {sys.argv[1]}")
