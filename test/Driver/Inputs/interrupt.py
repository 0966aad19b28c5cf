"""interrupt.py PATTERN COMMAND...: Ctrl-C once a file matches PATTERN; the command ends by SIGINT, as shells report with 130."""

import glob
import signal
import subprocess
import sys
import time

process = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL)
deadline = time.monotonic() + 60
while not glob.glob(sys.argv[1]) and process.poll() is None and time.monotonic() < deadline:
    time.sleep(0.01)
if not glob.glob(sys.argv[1]):
    process.kill()
    sys.exit(f"no file matches {sys.argv[1]}")
process.send_signal(signal.SIGINT)
if process.wait(60) != -signal.SIGINT:
    sys.exit(f"expected an end by SIGINT, not {process.returncode}")
