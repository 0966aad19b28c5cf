"""batch_cases.py MODELS SMALL: commands end as in processes of their own when they are lines of a batch; a batch that is killed takes its command along."""

import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import batch

MODELS, SMALL = sys.argv[1:]
SEED = ["--random-weights=1"]
COMMANDS = [
    ["--help"], ["--help-hidden"], ["--list-families"], ["--mcpu=help"], ["--emti=so"], ["absent"],
    [SMALL, *SEED, "--emit=canonical"],
    [SMALL, *SEED, "-o", "a b'c\"d\\e.so"],
    *([SMALL, *SEED, f"--inject-fault={kind}@tiled", "-o", "crash.so"] for kind in ("segv", "abort", "overflow", "fail", "verify")),
    [SMALL, *SEED, "--inject-fault=abort@object", "-o", "crash.so"],
    [SMALL, *SEED, "-o", "absent/x.so"],
    [os.path.join(MODELS, "tiny-gpt"), "--dry-run"],
]


def same(text):
    """A text without what differs from run to run: times, memory, and the folder that a crash leaves."""
    return re.sub(r"raptc-bug-\d+-\d+", "raptc-bug", re.sub(r"\b[\d.]+ m?s\b|peak memory [\d.]+ MB", "N", text))


def compare():
    answers = batch.run("raptc", COMMANDS)
    for command, answer in zip(COMMANDS, answers):
        alone = subprocess.run(["raptc", *command], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        expected = alone.returncode, same(alone.stdout), same(alone.stderr)
        found = answer["status"], same(answer["stdout"]), same(answer["stderr"])
        if found != expected:
            sys.exit(f"raptc {command}: alone {expected}, in a batch {found}")
        for folder in re.findall(r"the module is in (\S+),", answer["stderr"]):
            if not os.path.isfile(os.path.join(folder, "module.mlir")):
                sys.exit(f"raptc {command}: left no {folder}/module.mlir")
    crashes = [answer["status"] for command, answer in zip(COMMANDS, answers) if any("inject" in word for word in command)]
    assert crashes == [3] * 6, crashes
    assert sorted(name for name in os.listdir() if name.endswith(".so")) == ["a b'c\"d\\e.so"], os.listdir()


def until(what, found):
    """Waits for the result of a function that is true."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if result := found():
                return result
        except (OSError, IndexError):  # not there yet
            pass
        time.sleep(0.01)
    sys.exit(f"waited for {what} in vain")


def waiting_child(process):
    """The command of a batch, once it has the packed weights open, a file without a name."""
    with open(f"/proc/{process}/task/{process}/children") as file:
        child = int(file.read().split()[0])
    targets = [os.readlink(f"/proc/{child}/fd/{name}") for name in os.listdir(f"/proc/{child}/fd")]
    return child if any("memfd" not in target and target.endswith(" (deleted)") for target in targets) else None


def has_ended(process):
    """Whether a process is gone, or nobody has asked yet how it ended."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def start():
    """A batch whose first command waits forever, and that command's process."""
    process = subprocess.Popen(["raptc", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdin.write(batch.line([SMALL, *SEED, "-o", "waits.so", "--inject-fault=wait@object"]) + "\n--version\n")
    process.stdin.flush()
    return process, until("a command", lambda: waiting_child(process.pid))


def kill():
    process, child = start()
    os.kill(child, signal.SIGKILL)
    out, _ = process.communicate()
    assert '"line":1,"status":137,"stdout":"",' in out and '"line":2,"status":0' in out and process.returncode == 0, out
    process, child = start()
    process.kill()
    process.communicate()
    until("the command of a killed batch to end", lambda: has_ended(child))


os.environ["TMPDIR"] = os.getcwd()
compare()
kill()
