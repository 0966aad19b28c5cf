"""Shared code of the generators of test/Fuzz: their options, what became of a case, and processes that may die."""

import os
import pickle
import resource
import signal
import subprocess
import traceback

SECONDS = 120  # of processor time, of any process: other work may leave it little of the machine


class Outcome:
    """The outcome of a case: "passed", "refused" or "failed"; `why`, in a line; `kind`, which reductions keep."""

    def __init__(self, status, kind="", why=""):
        self.status, self.kind, self.why = status, kind, why


def add_draw_options(parser, count, seconds):
    """Adds the options that every generator has; the numbers are defaults."""
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--reduce-seconds", type=int, default=seconds, help="for each failure")


def add_case_options(parser, count, reduced, seconds):
    """The same for generators whose cases have an index, and options that tell which cases are drawn and how many failures are reduced."""
    add_draw_options(parser, count, seconds)
    parser.add_argument("--first", type=int, default=0, help="index of the first case")
    parser.add_argument("--only", type=int)
    parser.add_argument("--reduce", type=int, default=reduced, help="how many failures to reduce")


def add_level_option(parser):
    """Adds the level of code generation, which is drawn for each case unless it is given (test/Execute/level.py)."""
    parser.add_argument("--codegen", choices=["shipped", "quick"], help="the level of code generation of all cases; default: as they draw it")


def case_indices(options):
    return [options.only] if options.only is not None else list(range(options.first, options.first + options.count))


def failed(kind, why):
    return Outcome("failed", kind, why)


def run(command, timeout=SECONDS, **options):
    """The finished process of a command, which reads nothing. TimeoutExpired where it takes more than `timeout` seconds of processor time,
    or 20 times as long."""
    def bound():
        if timeout:
            resource.setrlimit(resource.RLIMIT_CPU, (timeout, timeout))  # SIGKILL, which no handler sees

    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=timeout and 20 * timeout, preexec_fn=bound, **options)
    if done.returncode == -signal.SIGKILL and timeout:
        raise subprocess.TimeoutExpired(command, timeout)
    return done


def in_child(work, seconds=SECONDS):
    """The result of `work` in a process of its own, or an Outcome, as where it takes more than so many seconds of processor time, or 20 times as long."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, 2 * seconds))  # SIGXCPU
            signal.alarm(20 * seconds)
            result = pickle.dumps(work())
        except AssertionError as error:
            result = pickle.dumps(failed("assertion", str(error)))
        except BaseException:
            result = pickle.dumps(failed("exception", traceback.format_exc()))
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(result)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        result = pipe.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return failed("signal", f"died of {signal.Signals(os.WTERMSIG(status)).name}")
    return pickle.loads(result)
