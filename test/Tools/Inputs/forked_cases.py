"""Calls of forked.run: what becomes of the child, and of what it starts."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Execute"))

import forked  # noqa: E402

changed = ["nothing"]


def show(name, function, environment=None):
    outcome = forked.run(function, environment or os.environ)
    lines = outcome.output.splitlines() or [""]
    print(f"{name}: {outcome.status}, {lines[-1] if 'Segmentation' not in outcome.output else 'Segmentation fault'}", flush=True)


def change():
    print(*changed)
    changed[0] = "something"


def fail():
    raise ValueError("what is wrong")


def leave():
    print("said before", flush=True)
    sys.exit(7)


def tell():
    sys.exit("why")


def interrupt():
    raise KeyboardInterrupt


def crash():
    ctypes.string_at(0)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def is_gone(pid):
    """Whether the process ends within a few seconds."""
    for _ in range(500):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def start(isWaited):
    child = subprocess.Popen(["sleep", "100"])
    print(child.pid, flush=True)
    if isWaited:
        child.wait()


def burn():
    subprocess.run([sys.executable, "-c", "sum(range(3_000_000))"], check=True)


show("a value of the parent", change)
show("an exception", fail)
show("a status", leave)
show("a message", tell)
show("an interrupt", interrupt)
show("a crash", crash)
show("a kill", die)
show("the environment", lambda: print(*os.environ.values()), {"OWN": "only ours"})
waited = forked.run(lambda: start(True), os.environ, timeout=1)
assert waited.isTimeout and waited.status == 137, waited
print("a timeout:", "killed with what it started" if is_gone(int(waited.output)) else "something goes on")
left = forked.run(lambda: start(False), os.environ)
assert not left.isTimeout and left.status == 0, left
print("what is left behind:", "killed" if is_gone(int(left.output)) else "it goes on")
print("a busy child:", "seconds of it are counted" if forked.run(burn, os.environ).seconds > 0.02 else "nothing is counted")
show("the next one", change)
