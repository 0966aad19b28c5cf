"""Repetitions of Rapt beside those of another engine, and the ratios that they give."""

import ctypes
import functools
import os
import statistics
import subprocess
import time

from peers import Lacks

TICKS, FOREIGN, AGREE, FEWEST = 0.02, 0.1, 0.1, 4
QUIET, SHARED = 1.07, 1.2  # how slow the probe may be where a core is ours alone, and is at least where another guest has half of it
LIMIT = "the limit"


class Probe:
    """How slow the processors of `threads` are at a loop that needs all of a core, against the fastest run so far: 1 on a core that is ours alone. Keeps this
    process, and those that it starts, on one processor where there is one thread."""

    best = float("inf")  # seconds
    every = sorted(os.sched_getaffinity(0))

    def __init__(self, cache, threads):
        self.processors = Probe.every[-threads:]
        os.sched_setaffinity(0, self.processors)
        self.run = ctypes.CDLL(os.path.join(cache, "probe.so")).probe
        self.run.restype = ctypes.c_double

    @staticmethod
    def build(here, cache):
        subprocess.run(["clang-22", "-O2", "-shared", "-fPIC", f"{here}/compare_probe.c", "-o", f"{cache}/probe.so"], check=True)

    def seconds(self):
        """The seconds of the slowest processor."""
        if len(self.processors) == 1:
            took = [self.run()]
        else:
            took = []
            for one in self.processors:
                os.sched_setaffinity(0, [one])
                took.append(self.run())
            os.sched_setaffinity(0, self.processors)
        Probe.best = min(Probe.best, *took)
        return max(took)

    def beside(self, timer):
        """The timing of `timer`, with the slower of two probes right before and after it."""
        before = self.seconds()
        timing = timer()
        return timing._replace(probe=max(before, self.seconds()))


class Duel:
    """Repetitions of Rapt and of another engine, or of the limit, each right before or after the other's: what slows one of them for
    longer slows both."""

    def __init__(self):
        self.pairs = []  # seconds of Rapt's, of the other's, and of the slowest probe

    def add(self, mine, other):
        """Unless other processes ran; the clock of all of them together counts in steps."""
        foreign = mine.foreign + other.foreign - TICKS
        if foreign <= FOREIGN * (mine.wall + other.wall) and mine.run > 0 and other.run > 0:
            self.pairs.append((mine.run, other.run, max(mine.probe, other.probe)))

    def ratio(self, pairs=None):
        """How many times longer the other takes: the median of the half of the pairs in which the one of the two that was slowed more,
        against its fastest, was slowed least."""
        pairs = self.pairs if pairs is None else pairs
        fastest = [min(times) for times in list(zip(*pairs))[:2]]
        kept = sorted(pairs, key=lambda pair: max(time / best for time, best in zip(pair, fastest)))[:(len(pairs) + 1) // 2]
        return statistics.median(other / mine for mine, other, _ in kept)

    def of_state(self, least, most):
        """The medians of Rapt's seconds, of the other's and of the ratios, and how many pairs there are, of those whose slowest probe was in between."""
        pairs = [pair for pair in self.pairs if least <= pair[2] / Probe.best < most]
        return (*(statistics.median(values) for values in zip(*((mine, other, other / mine) for mine, other, _ in pairs))), len(pairs)) if pairs else None

    def states(self):
        """{"quiet": of_state, "shared": of_state} of what there are pairs of."""
        found = {"quiet": self.of_state(0, QUIET), "shared": self.of_state(SHARED, float("inf"))}
        return {name: state for name, state in found.items() if state}

    def runs(self):
        """The ratios of the pairs' first half and of their second; none of too few."""
        half = len(self.pairs) // 2
        return [self.ratio(pairs) for pairs in (self.pairs[:half], self.pairs[half:])] if half >= FEWEST else []

    def doubt(self):
        """The remark about a ratio whose runs disagree."""
        runs = self.runs()
        if not runs:
            return f", unresolved ({len(self.pairs)} pairs)"
        return f", unresolved ({runs[0]:.2f} and {runs[1]:.2f})" if max(runs) > (1 + AGREE) * min(runs) else ""


def figure(values):
    """The median of what is within a tenth of the fastest."""
    return statistics.median(value for value in values if value <= (1 + AGREE) * min(values))


def race(row, engines, limits, probe, folder, turns, seconds):
    """({peer or LIMIT: its duel}, Rapt's timings, {peer: why it ran no further}); `limits` is the engine that measures them. Lacks where Rapt fails."""
    timers, failed = {}, {}
    for name, case in row.cases.items():
        try:
            timers[name] = functools.partial(engines[name].time, case, engines[name].runsFor(case))
        except Lacks as problem:
            if name == "Rapt":
                raise
            failed[name] = str(problem)
    if row.work:
        timers[LIMIT] = functools.partial(limits.limit, row.limit, row.work, os.path.join(folder, "rate"))
    rapt = timers.pop("Rapt")
    measure = lambda: probe.beside(rapt)
    duels, end = {name: Duel() for name in timers}, time.monotonic() + seconds
    before = measure()
    own = [before]
    for turn in range(turns):
        for name, timer in list(timers.items()):
            if time.monotonic() > end:
                return duels, own, failed
            try:
                other = probe.beside(timer)
            except Lacks as problem:
                if name == LIMIT:
                    raise
                failed[name] = str(problem)
                del timers[name], duels[name]
                continue
            after = measure()
            duels[name].add(after if turn % 2 else before, other)
            own.append(after)
            before = after
    return duels, own, failed
