#!/usr/bin/env python3
"""Times the attention programs and matmuls of a bundle of tools/dev/gpu-check on GPU 0, beside PyTorch's, a matmul of 8192 and a copy.

    speed.py BUNDLE RESULTS [--only REGEX] [--lengths N,...] [--budget SECONDS] [--rounds N] [--copy-bytes N]

Each program runs in a process of its own, forked from one that has imported PyTorch and has not touched the GPU, so that a fault ends the measurement of one
program. All that is timed alternates: a round runs each operation once, the next round begins with the next one, and nothing waits until the last round. So clocks,
heat and caches are those of all. Figures are medians. A result is compared with float64 before it is timed. RESULTS gets a line of JSON for each length."""

import argparse
import ctypes
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "Execute"), str(HERE)]

import device  # noqa: E402
import peers_torch  # noqa: E402
import programs  # noqa: E402

MATMUL = 8192  # rows, columns and depth
LEAST_ROUNDS, WARM_ROUNDS = 5, 3
SECONDS = 0.6  # that the rounds of one length may take


def alternate(gpu, operations, most, warm=WARM_ROUNDS):
    """{name: [milliseconds]} of operations that rounds run in rotating order."""
    events, order = {name: [] for name in operations}, list(operations.items())
    begun = time.perf_counter()
    for number in range(warm + most):
        shift = number % len(order)
        for name, operation in order[shift:] + order[:shift]:
            begin = gpu.event()
            operation()
            events[name].append((begin, gpu.event()))
        if number == warm - 1:  # how long a round takes
            gpu.wait()
            round_seconds = (time.perf_counter() - begun) / warm
        if number >= warm and number + 1 - warm >= max(LEAST_ROUNDS, SECONDS / round_seconds):
            break
    gpu.wait()
    return {name: [gpu.milliseconds(*pair) for pair in pairs][warm:] for name, pairs in events.items()}


def summary(times):
    ordered = sorted(times)
    return {"ms": statistics.median(ordered), "least": ordered[0], "p10": ordered[len(ordered) // 10], "p90": ordered[9 * len(ordered) // 10], "rounds": len(ordered)}


def clocks():
    """A process that tells the GPU's clocks while it works, or None."""
    query = "clocks.sm,clocks.mem,temperature.gpu,power.draw"
    try:
        return subprocess.Popen(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return None


class Call:
    """One compiled program, its operands on the GPU and its result."""

    def __init__(self, gpu, program, library, sizes, arrays):
        batch, tokens, heads = sizes
        self.gpu, self.library, self.shape = gpu, ctypes.CDLL(str(library)), program.shapes(*sizes)[3]
        self.entry, extents = program.entry, program.extents(batch, tokens, heads)
        self.extents = (ctypes.c_int64 * len(extents))(*extents)
        self.count = 2 * int(np.prod(self.shape))
        self.inputs = [gpu.memory(array.nbytes) for array in arrays]
        for address, array in zip(self.inputs, arrays):
            gpu.write(address, array)
        self.own = [gpu.memory(self.count), gpu.memory(gpu.scratch_bytes(self.library, self.entry, self.extents))]

    def __call__(self):
        self.gpu.start(self.library, self.entry, self.inputs + self.own, self.extents)

    def result(self):
        """The bits of the result, which was NaN before."""
        array = np.full(self.shape, 0xFFFF, np.uint16)
        self.gpu.write(self.own[0], array)
        self()
        self.gpu.read(self.own[0], array)
        return array

    def free(self):
        for address in self.inputs + self.own:
            self.gpu.free(address)


def checked(program, arrays, call):
    """The error of a call, and what is wrong with its result."""
    first = call.result()
    error = program.error(arrays, first)
    wrong = [f"relative L2 error {error:.2e}, over {programs.TOLERANCE:.0e}"] if not error <= programs.TOLERANCE else []
    infinite = int(((first & 0x7F80) == 0x7F80).sum())
    if infinite:
        wrong.append(f"{infinite} of {first.size} elements are not finite")
    if not np.array_equal(first, call.result()):
        wrong.append("a second run gives other bits")
    return error, wrong


def measure_length(gpu, program, libraries, tokens, base, torch, options):
    """The record of one length."""
    batch, heads = program.sizes(tokens)
    if options.heads:
        batch, heads = 1, options.heads
    arrays = program.operands(batch, tokens, heads)
    record = {"program": program.name, "tokens": tokens, "batch": batch, "heads": heads, "errors": {}, "wrong": {}, "missing": {}}
    calls = {f"Rapt {arch}": Call(gpu, program, library, (batch, tokens, heads), arrays) for arch, library in libraries.items()}
    for name, call in calls.items():
        record["errors"][name], wrong = checked(program, arrays, call)
        if wrong:
            record["wrong"][name] = "; ".join(wrong)
    peers = {}
    for name, peer in peers_torch.peers(torch, program, arrays).items() if torch else ():
        try:
            error = program.error(arrays, peers_torch.bits(torch, peer()).reshape(program.shapes(batch, tokens, heads)[3]))
            if not error <= programs.TOLERANCE:
                raise RuntimeError(f"computes something else: relative L2 error {error:.2e}")
            record["errors"][name], peers[name] = error, peer
        except Exception as problem:  # a back end that does not take these operands
            record["missing"][name] = re.sub(r"\s+", " ", f"{type(problem).__name__}: {problem}")[:300]
    gpu.wait()
    smi = clocks()
    times = alternate(gpu, {**base, **calls, **peers}, options.rounds)
    record["clocks"] = smi.communicate()[0].strip() if smi else ""
    record["times"] = {name: summary(values) for name, values in times.items()}
    record["operations"], record["bytes"] = program.operations(batch, tokens, heads, arrays), program.bytes(batch, tokens, heads)
    for call in calls.values():
        call.free()
    return record


def measure(bundle, name, packed, options, torch, write):
    """All lengths of one program, in a process of its own."""
    if torch:
        torch.zeros(1, device="cuda")
    gpu = device.Device()
    program = programs.program(name)
    libraries = {arch: bundle / path for arch, path in packed.items() if device.fits(arch, gpu.capability())}
    if not libraries:
        raise RuntimeError(f"the bundle has no code for sm_{gpu.capability()}")
    source, target = gpu.memory(options.copy_bytes), gpu.memory(options.copy_bytes)
    base = {"copy": lambda: gpu.copy(target, source, options.copy_bytes)}
    if torch:
        base["matmul"] = peers_torch.matmul(torch, MATMUL)
    for tokens in options.lengths or program.lengths:
        record = measure_length(gpu, program, libraries, tokens, base, torch, options)
        write({**record, "copy_bytes": options.copy_bytes, "matmul": MATMUL})


def forked(function, write, name, limit):
    """Runs `function` in a process of its own, which ends after `limit` seconds."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setsid()
            function()
            status = 0
        except BaseException as problem:
            write({"program": name, "failure": re.sub(r"\s+", " ", f"{type(problem).__name__}: {problem}")[:600]})
        finally:
            os._exit(status)
    end = time.monotonic() + limit
    while (done := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)  # a process that the driver holds ends later
            return write({"program": name, "failure": f"stopped after {limit:.0f} s"})
        time.sleep(0.02)
    if os.WIFSIGNALED(done[1]):
        write({"program": name, "failure": f"ended by {signal.Signals(os.WTERMSIG(done[1])).name}"})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", default="", help="programs whose name matches")
    parser.add_argument("--lengths", type=lambda text: [int(word) for word in text.split(",")], help="instead of 512 to 16k")
    parser.add_argument("--heads", type=int, default=0, help="with one sequence, instead of 16k tokens")
    parser.add_argument("--budget", type=float, default=300, help="seconds")
    parser.add_argument("--limit", type=float, default=100, help="seconds for a program")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--copy-bytes", type=int, default=256 << 20)
    options = parser.parse_args()
    end = time.monotonic() + options.budget

    def write(record):
        with open(options.results, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    torch, found = peers_torch.load()
    write({"peers": found})
    packed = json.loads((options.bundle / "manifest.json").read_text())["programs"]
    for name in packed:
        left = end - time.monotonic()
        if not re.search(options.only, name):
            continue
        if left < 10:
            write({"program": name, "failure": "not measured: the time is over"})
            continue
        forked(lambda: measure(options.bundle, name, packed[name], options, torch, write), write, name, min(left, options.limit))


if __name__ == "__main__":
    main()
