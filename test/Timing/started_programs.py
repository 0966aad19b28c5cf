"""Notes the programs that a Python process starts, for the time table of the test command: a line each, appended to a file.

lit's workers and the Python scripts of tests are watched (measured_tests.py, sitecustomize.py). Programs that compiled programs and shell scripts
start are not seen. Each line is appended at once, since a process may be killed or leave by os._exit.
"""

import os
import sys

_file = None


def program(words):
    """The program of a command line, by the last part of its path: what `env` and `not` start is meant, and a script is named as such."""
    words = [os.fsdecode(word) for word in words]
    name = os.path.basename(words.pop(0))
    while name in ("env", "not") and words:
        while words and (words[0].startswith("-") or (name == "env" and "=" in words[0])):
            if words.pop(0) in ("-u", "-C") and words:
                words.pop(0)
        if not words:
            break
        name = os.path.basename(words.pop(0))
    return name


def _note(event, values):
    try:
        if event == "subprocess.Popen":
            name = program(values[1])
        elif event == "os.exec":
            name = program(values[1])
        elif event == "os.system":
            name = "sh"
        elif event in ("os.fork", "os.forkpty"):
            name = "python3 (fork)"
        else:
            return
        file = os.open(_file, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            os.write(file, f"{name}\n".encode())
        finally:
            os.close(file)
    except Exception:  # an exception of a hook would be the watched call's
        pass


def watch(file):
    """Notes what this process and the Python processes that it forks start in `file`, which exists; without one, nothing."""
    global _file
    if file and not _file:
        sys.addaudithook(_note)
    _file = file
