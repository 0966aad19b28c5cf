"""Calls a function in a child of this process, which has the modules that this one imported, and a process group, an environment and outputs of its own."""

import ctypes
import dataclasses
import faulthandler
import gc
import os
import select
import signal
import sys
import tempfile
import traceback

import resident

PR_SET_PDEATHSIG = 1


@dataclasses.dataclass
class Outcome:
    """`status` is as a shell has it: 128 and the number of the signal that ended the process. `seconds` are of processor time, with all processes that the function started
    and waited for."""
    status: int
    isTimeout: bool
    seconds: float
    output: str


def exit_status(function):
    """The status that the process of a script would exit with which is `function`; it tells why, as Python does."""
    try:
        function()
        return 0
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:  # also a KeyboardInterrupt must not reach the code that forked
        traceback.print_exc()
        return 1


def become(log, environment, parent):
    """Makes the child a process like one that was started: nothing of the parent's is written or waited for."""
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # nobody would end it
    if os.getppid() != parent:
        os._exit(1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.stdin = open(0, closefd=False)
    sys.stdout, sys.stderr = (open(number, "w", buffering=1, closefd=False, encoding="utf-8", errors="backslashreplace") for number in (1, 2))
    faulthandler.enable(2)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # TMPDIR may be another one


def run(function, environment, timeout=None):
    """The Outcome of a call. A child that takes longer than `timeout` seconds is killed with all that it started, as is what it leaves behind."""
    with tempfile.TemporaryFile() as log:
        parent = os.getpid()
        # Garbage collection in the child would write to every object of the parent, and so copy its pages.
        gc.freeze()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                become(log.fileno(), environment, parent)
                status = exit_status(function)
                resident.close()
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(status)
        isTimeout = False
        ended = os.pidfd_open(child)
        try:
            isTimeout = not select.select([ended], [], [], timeout)[0]
        finally:  # the child is no zombie that was waited for yet, so that the number of its group is its own
            os.close(ended)
            for kill in (os.killpg, os.kill):  # it may not have made its group yet
                try:
                    kill(child, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            _, status, usage = os.wait4(child, 0)
        log.seek(0)
        output = log.read().decode(errors="replace")
    code = os.waitstatus_to_exitcode(status)
    return Outcome(128 - code if code < 0 else code, isTimeout, usage.ru_utime + usage.ru_stime, output)
