"""The processes of test/Perf/compare: each holds one engine, and answers how long a case took, or why it cannot run it."""

import functools
import math
import os
import subprocess
import sys
import tempfile
import time
import typing

import numpy as np

import peers
from peers import Lacks
from compare_rows import DECODERS, FASTEST, ONNX_F32  # makes modules of test/Execute known

import processor

LEAST = 0.03  # seconds of a repetition
HERE = peers.HERE


class Timing(typing.NamedTuple):
    """Seconds of a repetition, of other processes meanwhile, and of one run; and how slow the probe was beside it (compare_pairs.py)."""

    wall: float
    foreign: float
    run: float = 0
    probe: float = 0


class Engine:
    """A process that holds one engine, idle until it is asked, `rest` seconds after another one, whose threads spin so long. One that ended is started
    again for the next question. `countsRuns`: whether a case is asked for in runs; `tolerance`: of a decoder's logits."""

    last = None  # that was asked

    def __init__(self, name, command, environment=None, countsRuns=True, tolerance=0):
        self.name, self.countsRuns, self.tolerance, self.rest = name, countsRuns, tolerance, 0
        self.command, self.environment = command, {**os.environ, **(environment or {})}
        self.start()

    def start(self):
        self.errors = tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace")
        try:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True, env=self.environment)
        except OSError as error:
            raise Lacks(f"does not start: {error}") from None
        self.settings = self.process.stdout.readline().strip()
        if not self.settings:
            raise Lacks(f"does not start: {self.ending()}")

    def ending(self):
        """The last words of the process that ended."""
        status = self.process.wait()
        self.errors.seek(0)
        lines = [line.strip() for line in self.errors if line.strip()]
        return lines[-1] if lines else f"exit status {status}"

    def ask(self, line):
        time.sleep(0 if Engine.last is self else self.rest)
        Engine.last = self
        if self.process.poll() is not None:
            self.start()
        before = peers.processor_seconds()
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it ended, and has no answer
        answer = self.process.stdout.readline().strip()
        if not answer:
            raise Lacks(f"ended: {self.ending()}")
        if answer.startswith("lacks "):
            raise Lacks(answer.removeprefix("lacks "))
        wall, own = map(float, answer.split())
        return Timing(wall, peers.processor_seconds() - before - own)

    def runsFor(self, case):
        """As many runs as take a repetition's time."""
        return math.ceil(LEAST / self.ask(f"time 1 {case}").wall) if self.countsRuns else 1

    def time(self, case, runs):
        timing = self.ask(f"time {runs} {case}" if self.countsRuns else case)
        return timing._replace(run=timing.wall / runs)

    def result(self, case, path):
        self.ask(f"write {path} {case}")
        return np.fromfile(path, np.float32)

    def limit(self, case, work, path):
        """The time of `work` operations or bytes at the rate that `case` measures."""
        timing = self.ask(f"write {path} {case}")
        rate = np.fromfile(path, np.float32)[0]
        return timing._replace(run=work / float(rate) if rate > 0 else 0)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Held:
    """How peers are kept to the instructions that Rapt's code has, where the machine has wider vectors. `features`: of the code, by LLVM's names."""

    def __init__(self, cache, features):
        self.isNeeded = "avx512f" in processor.flags and "avx512f" not in features
        isa, library = ("AVX2_VNNI", "alderlake") if "avxvnni" in features else ("AVX2", "haswell")
        core = "SkylakeX" if "avx512f" in features else "Haswell"
        self.environment = {"OPENBLAS_CORETYPE": core, **({"ONEDNN_MAX_CPU_ISA": isa, "ATEN_CPU_CAPABILITY": "avx2"} if self.isNeeded else {})}
        self.backends = peers.backends(cache)
        self.leavesOut = {}
        if self.isNeeded:
            self.backends = self.only(cache, library)
            self.leavesOut = {"ONNX Runtime": "its rows are left out: it asks the processor itself, so that nothing holds it to AVX2 on a machine with AVX-512"}

    def only(self, cache, library):
        """A folder with one of llama.cpp's libraries, of which it takes the best."""
        folder = os.path.join(cache, f"llama-{library}")
        os.makedirs(folder, exist_ok=True)
        for name in ("libggml-base.so", f"libggml-cpu-{library}.so"):
            if not os.path.exists(link := os.path.join(folder, name)):
                os.symlink(os.path.join(self.backends, name), link)
        return folder


def start(group, threads, cache, names, held):
    """({name: engine} of `names`, {name: why it does not run})."""
    count = str(threads)
    if group == "kernels":
        environment = {"OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count, **held.environment}
        onnx = functools.cache(lambda: Engine("ONNX Runtime", ["node", f"{cache}/compare_onnx.js", cache, count]))
        onednn = functools.cache(lambda: Engine("oneDNN", [f"{cache}/compare_onednn"], environment))
        ggml = functools.cache(lambda: Engine("llama.cpp", [f"{cache}/compare_ggml", held.backends, count]))
        makers = {"Rapt": lambda: Engine("Rapt", [f"{cache}/compare_rapt", f"{cache}/kernels.so", cache, count]),
                  "OpenBLAS": lambda: Engine("OpenBLAS", [f"{cache}/compare_openblas"], environment),
                  "PyTorch": lambda: Engine("PyTorch", [sys.executable, os.path.join(HERE, "compare_torch.py"), count], environment),
                  **{name: maker for name in names for peer, maker in (("oneDNN", onednn), ("llama.cpp", ggml), ("ONNX Runtime", onnx)) if name.startswith(peer)}}
    else:
        makers = decoder_engines(DECODERS[group], cache, count, held)
    engines, missing = {}, {}
    for name in names:
        try:
            engines[name] = makers[name]()
        except Lacks as problem:
            missing[name] = str(problem)
    return engines, missing


def limits_of(threads, cache, features):
    """The engine that measures what the machine reaches by these features."""
    return Engine("the limit", [f"{cache}/compare_rapt", f"{cache}/kernels.so", cache, str(threads), ",".join(features)])


def decoder_engines(decoder, cache, count, held):
    """{name: what starts an engine}; tolerances are those of the coarser of two widths."""
    fast = next(other for other in DECODERS.values() if (other.model, other.type) == (decoder.model, peers.Q4_0))

    def llama(width, flash):
        return Engine("llama.cpp", [f"{cache}/peers_llama", f"{cache}/{width.key}.gguf", count, held.backends, flash, width.cache],
                      countsRuns=False, tolerance=max(width.tolerance, decoder.tolerance))

    def onnx():
        return Engine("ONNX Runtime", ["node", f"{cache}/peers_onnx.js", f"{cache}/gpt2.onnx", count, *map(str, peers.SIZES.values())],
                      countsRuns=False, tolerance=decoder.tolerance)

    return {"Rapt": lambda: Engine("Rapt", [f"{cache}/peers_rapt", f"{cache}/{decoder.key}.so", count, str(decoder.vocabulary)], countsRuns=False),
            "llama.cpp, flash attention": lambda: llama(decoder, "1"), "llama.cpp, plain attention": lambda: llama(decoder, "0"),
            "ONNX Runtime": onnx, ONNX_F32: onnx, FASTEST: lambda: llama(fast, "1")}
