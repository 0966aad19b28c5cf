"""Commands of rapt-reference and raptc, run by one process of each that stays: starting it takes most of a small command's time.

    run([tool, word...]) is subprocess.run(..., capture_output=True, text=True), in the same folder and environment."""

import atexit
import json
import os
import select
import shlex
import shutil
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import batch  # noqa: E402

FLAGS = {"rapt-reference": "--batch", "raptc": "--batch-in-process"}
wrapped = {}  # scripts that run a tool with other arguments: path to a function of them, which gives the command
mine = threading.local()  # a thread has batches of its own: lines are answered in order


class Batch:
    def __init__(self, tool):
        self.owner = os.getpid()
        self.process = subprocess.Popen([tool, FLAGS[os.path.basename(tool)]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        atexit.register(self.close)

    def close(self):
        """Waits for the process, whose processor time then counts as that of a child."""
        if self.owner == os.getpid() and self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait()

    def run(self, command, timeout):
        self.process.stdin.write(batch.line(command[1:]) + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], timeout)[0]:
            self.process.terminate()  # which ends the command, too
            self.process.wait()
            raise subprocess.TimeoutExpired(command, timeout)
        line = self.process.stdout.readline()
        if not line:  # the command ended the batch
            self.process.wait()
            alone = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
            assert alone.returncode, f"a batch ended with {self.process.returncode} at a command that alone is right: {shlex.join(command)}"
            return alone
        answer = json.loads(line)
        return subprocess.CompletedProcess(command, answer["status"], answer["stdout"], answer["stderr"])


def run(command, check=False, timeout=600):
    """The finished command, whose words are strings or paths. CalledProcessError where it fails and `check` is set. Another tool's has a process of its own."""
    command = [str(word) for word in command]
    if command[0] in wrapped:
        command = wrapped[command[0]](command[1:])
    if os.path.basename(command[0]) not in FLAGS or is_script(command[0]):
        return subprocess.run(command, check=check, stdin=subprocess.DEVNULL, capture_output=not check, text=True, timeout=timeout)
    place = (os.getpid(), os.getcwd(), command[0])  # a copy of this process has no part in its batches
    batches = mine.__dict__.setdefault("batches", {})
    if place not in batches or batches[place].process.poll() is not None:
        batches[place] = Batch(command[0])
    done = batches[place].run(command, timeout)
    if check:
        if done.returncode:
            print(done.stderr, end="", flush=True)
        done.check_returncode()
    return done


def is_script(program):
    with open(shutil.which(program), "rb") as file:
        return file.read(2) == b"#!"


def close():
    """Ends the batches of this thread, in a process that does not end as Python's do."""
    for own in mine.__dict__.pop("batches", {}).values():
        own.close()
