"""interrupt.py SIGNAL WHEN COMMAND...: sends the signal once a file WHEN exists, or, where WHEN is a folder, once the command has a file without a name
there. The command must end by it."""

import os
import signal
import subprocess
import sys
import time

number, when = getattr(signal, sys.argv[1]), sys.argv[2]
process = subprocess.Popen(sys.argv[3:], stdin=subprocess.DEVNULL)


def is_ready():
    if not os.path.isdir(when):
        return os.path.exists(when)
    folder = f"/proc/{process.pid}/fd"
    try:
        targets = [os.readlink(os.path.join(folder, name)) for name in os.listdir(folder)]
    except OSError:
        return False
    return any(target.startswith(os.path.realpath(when) + "/") and target.endswith(" (deleted)") for target in targets)


deadline = time.monotonic() + 60
while not (ready := is_ready()) and process.poll() is None and time.monotonic() < deadline:
    time.sleep(0.01)
if not ready:
    process.kill()
    sys.exit(f"nothing is in {when}")
process.send_signal(number)
if process.wait(60) != -number:
    sys.exit(f"expected an end by {sys.argv[1]}, not {process.returncode}")
