"""Runs the entries of a program without a model twice: compiled, and by the reference in float64.

A compiled entry runs one task at a time in falling order, or all in one call; its memory is surrounded by NaN, and what it
writes beyond an output is an error."""

import argparse
import ctypes
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

import device
import passed
import processor  # asks the system for the state of tiles, which code for --mcpu=native may use
import resident

TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
PARALLEL_FOR = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, TASK, ctypes.c_void_p, ctypes.c_int64)
GUARD = 64  # elements behind a buffer


class Env(ctypes.Structure):
    _fields_ = [("user", ctypes.c_void_p), ("parallel_for", PARALLEL_FOR), ("workers", ctypes.c_int64)]


@PARALLEL_FOR
def backwards(user, body, closure, count):
    for i in reversed(range(count)):
        body(closure, i, i + 1, i % 2)
    return 0


@PARALLEL_FOR
def at_once(user, body, closure, count):
    body(closure, 0, count, 0)
    return 0


def threads(workers):
    """An executor with real threads, each of which takes every `workers`-th task."""
    @PARALLEL_FOR
    def run(user, body, closure, count):
        def work(worker):
            for i in range(worker, count, workers):
                body(closure, i, i + 1, worker)
        running = [threading.Thread(target=work, args=(worker,)) for worker in range(workers)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        return 0
    return run


TYPES = {"f32": np.float32, "bf16": np.uint16, "f16": np.float16, "i1": np.bool_, "i8": np.int8, "i32": np.int32, "i64": np.int64}  # of arrays, by elements


def untouched(dtype):
    """An integer that no test expects: of uint16, a NaN of bf16."""
    return 0x7FFF if dtype == np.uint16 else np.iinfo(dtype).min


def stored(x, element):
    """Numbers as an array of `element` has them: bf16 is uint16, rounded to nearest even."""
    if element == "bf16":
        bits = np.asarray(x, np.float32).view(np.uint32).astype(np.int64)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.asarray(x, TYPES[element])


def widened(x):
    """The floats of an array, in f32."""
    return (x.astype(np.uint32) << 16).view(np.float32) if x.dtype == np.uint16 else x.astype(np.float32) if x.dtype == np.float16 else x


def aligned(shape, dtype):
    """An array at 64 bytes with GUARD elements behind it, all NaN or `untouched`; and those elements."""
    count, size = int(np.prod(shape)), np.dtype(dtype).itemsize
    memory = np.zeros((count + GUARD) * size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    array = memory[start:start + (count + GUARD) * size].view(dtype)
    array[:] = np.nan if np.issubdtype(dtype, np.floating) else untouched(dtype)
    return array[:count].reshape(shape), array[count:]


def mark_attention(raptc, options, file, mark):
    """The text of `file` in the stage laid-out, where the attention op of each function that `mark` names has the attribute that it gives."""
    laid_out = file.with_suffix(".laid-out.mlir")
    resident.run([raptc, str(file), "--emit=laid-out", "-o", str(laid_out)] + options, check=True)
    functions = re.split(r"(?=func\.func )", laid_out.read_text().replace('attn.stage = "laid-out", ', ""))
    for i, function in enumerate(functions):
        name = re.match(r"func\.func @(\w+)", function)
        if name and name[1] in mark and mark[name[1]] not in function:  # a pass may have set it
            functions[i], count = re.subn(r"(attn\.attention .*? maps \[.*?\] )\{", rf"\1{{{mark[name[1]]}, ", function)
            assert count, f"no attention in {function}"
    laid_out.write_text("".join(functions))
    chosen = laid_out.with_suffix(".chosen.mlir")
    passes = ["--attn-cpu-schedule", "--attn-set-stage=stage=laid-out"]
    subprocess.run([str(Path(raptc).with_name("rapt-opt")), str(laid_out), "-o", str(chosen)] + passes, check=True)
    return chosen


def edited(raptc, options, file, edit):
    """The text of `file` in the stage laid-out, as the function `edit` changes it: it has schedules."""
    laid_out = file.with_suffix(".laid-out.mlir")
    resident.run([raptc, str(file), "--emit=laid-out", "-o", str(laid_out)] + options, check=True)
    laid_out.write_text(edit(laid_out.read_text()))
    return laid_out


class Program:
    """The entries of `text`, MLIR of the stage imported. `mark` has attributes of the CPU's dialect for the attention ops of entries. They are set in the stage
    laid-out, as code of no target has none; schedules are then chosen for them. `edit` changes the text of this stage, with the schedules that were chosen."""

    made = []  # the texts of all

    def __init__(self, tools, name, text, mark=None, edit=None):
        self.tools, self.file = tools, Path(tools.scratch) / f"{name}.mlir"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(text)
        library = self.file.with_suffix(".so")
        source = mark_attention(tools.raptc, tools.options, self.file, mark) if mark else edited(tools.raptc, tools.options, self.file, edit) if edit else self.file
        resident.run([tools.raptc, str(source), "-o", str(library)] + tools.options, check=True)  # refused where code calls more than memcpy, memmove and memset
        self.library = ctypes.CDLL(str(library))
        Program.made.append(text)

    def used(self, entry, dims):
        """The dims of the entry's own arrays, among all that the program declares: its C function takes them."""
        text = self.file.read_text()
        declared = re.findall(r"attn\.dim @(\w+)", text)
        head = re.search(rf"func\.func @{entry}\((.*?)attributes", text, re.DOTALL)
        if len(declared) != len(dims) or not head:
            return dims
        return [extent for name, extent in zip(declared, dims) if re.search(rf'"{name}(\+1)?"', head[1])]

    def compiled(self, entry, inputs, outputs, dims, parallel_for=backwards, workers=2, in_place=()):
        """`inputs`: arrays in order; `outputs`: shapes, with their type where it is not f32 (uint16: bf16); `dims`: those that the program declares, in order; `in_place`: the
        positions of inputs that are results as well. They follow the outputs in what is returned."""
        dims = self.used(entry, dims)
        extents = (ctypes.c_int64 * max(1, len(dims)))(*dims)
        scratch_of, run = getattr(self.library, entry + "_scratch"), getattr(self.library, entry)
        scratch_of.restype = ctypes.c_int64
        buffers = []
        inputs = list(inputs)
        for array in inputs:
            buffers.append(aligned(array.shape, array.dtype))
            buffers[-1][0][...] = array
        buffers += [aligned(*shape) if len(shape) == 2 and isinstance(shape[0], tuple) else aligned(shape, np.float32) for shape in outputs]
        if "--target=cuda" in self.tools.options:
            start = time.perf_counter()
            self.tools.device.run(self.library, entry, [array for array, _ in buffers], extents)
            self.seconds = time.perf_counter() - start
            return self.results(entry, inputs, buffers, in_place)
        scratch, beyond = aligned((scratch_of(extents, ctypes.c_int64(workers)),), np.int8)
        self.scratch = scratch  # of the last call
        env = Env(None, parallel_for, workers)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array, _ in buffers]
        start = time.perf_counter()
        status = run(ctypes.byref(env), *pointers, extents, ctypes.c_void_p(scratch.ctypes.data))
        self.seconds = time.perf_counter() - start  # of the last call
        assert status == 0, f"{entry} returned {status}"
        for array, guard in buffers + [(scratch, beyond)]:
            same = np.isnan(guard) if np.issubdtype(guard.dtype, np.floating) else guard == untouched(guard.dtype)
            assert same.all(), f"{entry} wrote beyond a buffer {array.shape}"
        return self.results(entry, inputs, buffers, in_place)

    @staticmethod
    def results(entry, inputs, buffers, in_place):
        for i, given in enumerate(inputs):
            assert i in in_place or given.tobytes() == buffers[i][0].tobytes(), f"{entry} wrote to input {i}"
        return [array for array, _ in buffers[len(inputs):]] + [buffers[i][0] for i in in_place]

    def reference(self, entry, named, outputs):
        """`named`: {input: array}; `outputs`: names."""
        command = [self.tools.reference, str(self.file), f"--entry={entry}", "--precision=f64"]
        for name, array in named.items():
            np.save(f"{self.file}.{name}.npy", array)
            command.append(f"--input={name}={self.file}.{name}.npy")
        command += [f"--output={name}={self.file}.{name}.out.npy" for name in outputs]
        resident.run(command, check=True)
        return [np.load(f"{self.file}.{name}.out.npy") for name in outputs]


class Checks:
    """Counts and prints comparisons."""

    def __init__(self):
        self.passed = self.failed = 0

    def near(self, name, got, expected, tolerance):
        """The largest difference is at most `tolerance` times the largest expected magnitude (at least 1)."""
        scale = max(1.0, np.abs(expected).max(initial=0))
        error = np.abs(got - expected).max(initial=0) / scale
        right = got.shape == expected.shape and error <= tolerance  # a NaN is not
        self.passed, self.failed = self.passed + bool(right), self.failed + (not right)
        if not right:
            print(f"FAIL {name}: {error:.2e}, over {tolerance:.0e}")

    def equal(self, name, got, expected):
        """The same bits."""
        right = got.shape == expected.shape and np.ascontiguousarray(got).tobytes() == np.ascontiguousarray(expected).tobytes()
        self.passed, self.failed = self.passed + right, self.failed + (not right)
        if not right:
            print(f"FAIL {name}: differs")

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        if not self.failed:
            passed.ops("compiled", "\n".join(Program.made))
        sys.exit(self.failed > 0 or self.passed == 0)


def takes_panels(tools):
    """Whether weights of texts come in packed panels, for which the CPU has schedules. Other targets take matrices."""
    return not any(option.startswith("--target=") and option != "--target=cpu" for option in tools.options)


def fill_entry(cache, heads, channels):
    """The entry `fill`, which writes keys and values into a cache as the target lays it out."""
    rows = f"tensor<?x{heads}x{channels}xf32>"
    return f"""func.func @fill(%cache: {cache} {{attn.name = "cache", attn.dims = ["blocks"]}}, %k: {rows} {{attn.name = "k", attn.dims = ["queries"]}}, %v: {rows} {{attn.name = "v", attn.dims = ["queries"]}},
    %begin: tensor<?xi32> {{attn.name = "begin", attn.dims = ["rows+1"]}}, %past: tensor<?xi32> {{attn.name = "past", attn.dims = ["rows"]}},
    %table: tensor<?x?xi32> {{attn.name = "table", attn.dims = ["rows", "most"]}}) -> ({cache} {{attn.name = "cache", attn.dims = ["blocks"]}}) attributes {{attn.entry}} {{
  %c0 = arith.constant 0 : index
  %new = attn.kv_append %cache[%c0], %k, %v rows(%begin, %past, %table) : {cache}, {rows}, {rows}, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return %new : {cache}
}}
"""


def filled(program, cache, keys, values, table):
    """The cache with keys and values [length, heads, channels] of each row from position 0 on. `program` has the dims queries, rows, most and blocks."""
    lengths = [len(k) for k in keys]
    arrays = [cache, np.concatenate(keys), np.concatenate(values), np.cumsum([0, *lengths]).astype(np.int32), np.zeros(len(lengths), np.int32), table]
    return program.compiled("fill", arrays, [], (sum(lengths), *table.shape, len(cache)), in_place=(0,))[0]


def tools(description, add_options=None):
    parser = argparse.ArgumentParser(description=description)
    for name in ("--raptc", "--reference", "--clang", "--scratch"):
        parser.add_argument(name, required=True)
    parser.add_argument("--options", nargs="*", default=[], help="for raptc, without the leading dashes")
    if add_options:
        add_options(parser)
    parsed = parser.parse_args()
    parsed.options = ["--" + option for option in parsed.options]
    parsed.device = device.Device() if "--target=cuda" in parsed.options else None
    return parsed
