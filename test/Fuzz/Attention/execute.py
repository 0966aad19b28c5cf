"""Compiles cases in batches, runs each kernel in a process of its own between pages that cannot be touched, and compares it with the
reference evaluator in float64."""

import ctypes
import mmap
import re
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np

import kernel_text as text
import trees

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2] / "Execute")]
import device  # noqa: E402
import kernels  # noqa: E402
import resident  # noqa: E402
from outcomes import SECONDS, Outcome, failed, in_child, run  # noqa: E402

# Messages of refusals that the text of a kernel may deserve. Every other error is a failure.
REFUSALS = (
    r"A(1|2|25): dim \w+ has \d+ elements? (in|by) ",
    r"which follows from no argument's: a caller cannot know how much memory to give",
    r"has a last extent .\?.: the columns of a kernel.s arrays must be numbers",
    r"more than one element of the dim g; heads with keys and values of their own are the dim hkv",
    r"but the result has no dim b; expected 1",
    r"map must (have|leave)( out)? the dim",
)
libc = ctypes.CDLL(None)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


# ---- memory ----------------------------------------------------------------------------------------------------------

class Memory:
    """An array whose last or first byte is at a page that cannot be touched; what else is on its pages is ones of bits, so NaN or -1."""

    def __init__(self, shape, dtype, at_end, alignment):
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        pages = -(-size // mmap.PAGESIZE) + (size == 0)
        self.map = mmap.mmap(-1, (pages + 2) * mmap.PAGESIZE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.begin, self.end = mmap.PAGESIZE, (pages + 1) * mmap.PAGESIZE
        ctypes.memset(address + self.begin, 0xFF, self.end - self.begin)
        for page in (0, self.end):
            assert libc.mprotect(address + page, mmap.PAGESIZE, 0) == 0
        self.offset = (self.end - size) // alignment * alignment if at_end else self.begin
        self.array = np.frombuffer(self.map, np.uint8, size, self.offset).view(dtype).reshape(shape)
        self.size, self.address = size, address + self.offset

    def around_is_kept(self):
        return not np.any(np.frombuffer(self.map, np.uint8, self.offset - self.begin, self.begin) != 0xFF) and not np.any(
            np.frombuffer(self.map, np.uint8, self.end - self.offset - self.size, self.offset + self.size) != 0xFF)


class Call:
    """Calls of one kernel: `arrays` are (name, values or None, shape, element, whether it is updated in place)."""

    def __init__(self, library, name, header):
        self.name, self.header, self.library = name, header, library
        self.run, self.scratch = getattr(library, name), getattr(library, name + "_scratch")
        self.scratch.restype = ctypes.c_int64

    def dims(self, arrays):
        """The extents that vary, as the header's comment names them."""
        found = {}
        for (_, _, shape, _, _), extents in zip(arrays, self.header["arrays"]):
            for size, dim in zip(shape, extents):
                if not dim.isdigit():
                    found[dim.removesuffix("+1")] = size - dim.endswith("+1")
        return [found[dim] for dim in self.header["dims"]]

    def __call__(self, arrays, executor, at_end):
        given = self.dims(arrays)
        dims = (ctypes.c_int64 * max(1, len(given)))(*given)
        if isinstance(executor, device.Device):
            return self.on_device(arrays, dims, executor, at_end)
        workers = executor.workers if executor else 1
        size = self.scratch(dims, ctypes.c_int64(workers))
        assert size >= 0, f"{size} bytes of scratch for {given}"
        placed = []
        for name, values, shape, element, _ in arrays:
            dtype = text.SCALAR[element]
            placed.append(Memory(shape, dtype, at_end, 64 if name == "pool" else np.dtype(dtype).itemsize))
            if values is not None:
                placed[-1].array[...] = values
        scratch = Memory((size,), np.uint8, at_end, 64)
        status = self.run(ctypes.byref(executor) if executor else None, *(ctypes.c_void_p(m.address) for m in placed), dims, ctypes.c_void_p(scratch.address))
        assert status == 0, f"returned {status}"
        for (name, values, _, _, in_place), memory in zip(arrays, placed):
            assert memory.around_is_kept(), f"wrote beside {name}"
            assert values is None or in_place or values.tobytes() == memory.array.tobytes(), f"wrote to {name}"
        assert scratch.around_is_kept(), "wrote beside its scratch"
        return {name: memory.array.copy() for (name, values, _, _, in_place), memory in zip(arrays, placed) if values is None or in_place}

    def on_device(self, arrays, dims, gpu, is_shifted):
        placed, shifts = [], []
        for name, values, shape, element, _ in arrays:
            dtype = np.dtype(text.SCALAR[element])
            placed.append(np.frombuffer(b"\xFF" * int(np.prod(shape, dtype=np.int64)) * dtype.itemsize, dtype).reshape(shape).copy())
            if values is not None:
                placed[-1][...] = values
            shifts.append(dtype.itemsize if is_shifted and name != "pool" else 0)
        gpu.run(self.library, self.name, placed, dims, shifts)
        for (name, values, _, _, in_place), array in zip(arrays, placed):
            assert values is None or in_place or values.tobytes() == array.tobytes(), f"wrote to {name}"
        return {name: array for (name, values, _, _, in_place), array in zip(arrays, placed) if values is None or in_place}


def executors(mode):
    """No executor; three workers that take indices from the last to the first; all indices at once. A GPU gets arrays at multiples of 64 bytes, and one
    element behind them."""
    if mode.gpu:
        gpu = device.Device()
        return (gpu, gpu)
    return (None, kernels.Env(None, kernels.backwards, 2), kernels.Env(None, kernels.at_once, 1))


def plain_call(case, data, call, executor, at_end):
    arrays, extents = text.plain_arrays(case, data), text.extents_of(case, data)
    given = [(a.name, text.stored(arrays[a.name], a.element), arrays[a.name].shape, a.element, a.name == "p") for a in text.arguments_of(case)]
    return [widened(case, call([*given, *made_arrays(case, extents)], executor, at_end))]


def made_arrays(case, extents):
    return [(a.name, None, a.shape(extents), a.element, False) for a in text.results_of(case)]


def widened(case, results):
    return {a.name: text.widened(results[a.name], a.element) for a in text.returned(case)[1]}


def cached_call(case, data, call, executor, at_end):
    """Both steps. The cache holds keys and values of other sequences before, and one bits where it is stale."""
    steps, table, blocks = text.step_arrays(case, data)
    cache = np.full((blocks, call.header["pages"]), -1 if data["stale"] else 0, np.int8)
    found = []
    for arrays in steps:
        extents = {**text.step_extents(case, data, blocks), "q": arrays["nk"].shape[0]}
        own = [(a.name, text.stored(arrays[a.name], a.element), arrays[a.name].shape, a.element, a.name == "p") for a in text.step_arguments(case)]
        results = call([("pool", cache, cache.shape, "i8", True), ("table", table, table.shape, "i32", False), *own,
                        *made_arrays(case, extents)], executor, at_end)
        cache = results.pop("pool")
        found.append(widened(case, results))
    return found


def run_compiled(mode, case, name, library, header):
    """Results of each call, which are the same bits with any executor."""
    call, found = Call(ctypes.CDLL(str(library)), name, header), []
    for data in case["data"]:
        first = None
        for n, executor in enumerate(executors(mode)):
            got = (cached_call if case["cache"] else plain_call)(case, data, call, executor, at_end=n != 1)
            first = first or got
            for step, results in enumerate(got):
                bits = lambda a: np.where(np.isnan(a), np.nan, a).tobytes()  # of a NaN, GPUs and their simulator choose the bits
                assert all(bits(a) == bits(first[step][result]) for result, a in results.items()), f"has other bits with executor {n}"
        found.append(first)
    return found


# ---- the reference ---------------------------------------------------------------------------------------------------

def run_reference(tools, case, folder):
    """Results of each call in float64, or an Outcome."""
    file = folder / "reference.mlir"
    file.write_text(text.reference_text(case))
    found = []
    for data in case["data"]:
        if case["cache"]:
            steps, table, blocks = text.step_arrays(case, data)
            arrays = {"table": table, **{f"{name}{n}": x for n, step in enumerate(steps) for name, x in step.items()}}
            steps, flags = ["0", "1"], [f"--cache-blocks={blocks}"]
        else:
            arrays, steps, flags = text.plain_arrays(case, data), [""], []
        outputs = [a.name for step in steps for a in text.returned(case, step)[1]]
        command = [tools.reference, str(file), "--entry=f", "--precision=f64", *flags]
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array)
            command.append(f"--input={name}={folder}/{name}.npy")
        command += [f"--output={name}={folder}/{name}.out.npy" for name in outputs]
        done = resident.run(command)
        if done.returncode < 0:
            return failed("reference", f"the reference died of signal {-done.returncode}\n{done.stderr}")
        if done.returncode:
            return Outcome("refused", "reference", done.stderr.strip())
        found.append([{a.name: np.load(folder / f"{a.name}{step}.out.npy") for a in text.returned(case)[1]} for step in steps])
    return found


def finite(x):
    x = np.abs(np.asarray(x, np.float64))
    return x[np.isfinite(x)]


def tolerance(case, arrays, keys, pairs):
    """How far {name: result} may be from float64: DESIGN's table, with errors of scores by trees.error; `pairs` where both matmuls are of
    bf16."""
    q, k, v = (arrays[name] for name in "qkv")
    channels = case["channels"]["dqk"]
    largest = lambda x: np.sqrt(np.nansum(np.where(np.isfinite(x), x, 0).astype(np.float64) ** 2, -1)).max(initial=0)
    slack = abs(case["scale"]) * (np.abs(arrays["w"]).sum() * (2 + finite(q).max(initial=0) + finite(k).max(initial=0)) if case["additive"]
                                  else largest(q) * largest(k))
    if case.get("second"):
        channels += case["second"]["channels"]
        slack += abs(case["scale"]) * largest(arrays["q2"]) * largest(arrays["k2"])
    error = (6 * channels ** 0.5 + 8) * trees.ROUNDING * slack + (2.0 ** -8 * slack if pairs else 0)
    if case["score"]:
        extras = [finite(arrays[f"x{n}"]).max(initial=0) for n in range(len(case["extras"]))]
        error, slack = trees.error(case["score"], error, slack, extras)
    if case.get("sink"):  # one of 1e30 is far from every score
        slack = max(slack, np.max(finite(arrays["sink"]), where=finite(arrays["sink"]) < 1e20, initial=0))
    error += 4 * trees.ROUNDING * slack  # the change of base, and the distance to the largest
    relative = 4 * error + trees.ROUNDING * (4 * keys ** 0.5 + 32) + (2.0 ** -6 if pairs else 0)
    return {"o": relative * finite(v).max(initial=0) + 1e-30, "lse": relative + 4 * trees.ROUNDING * slack, "p": relative + 1e-30}


def expected_arrays(case, data):
    """[(arrays, number of keys)] for each result of a call."""
    if not case["cache"]:
        return [(text.plain_arrays(case, data), text.extents_of(case, data)["kv"])]
    steps, _, _ = text.step_arrays(case, data)
    keys = text.slots_of(case, data) * case["cache"]["block"]
    return [({**step, "k": np.concatenate([s["nk"] for s in steps]), "v": np.concatenate([s["nv"] for s in steps])}, keys) for step in steps]


NEIGHBOR = {"f32": 0, "bf16": 2.0**-7, "f16": 2.0**-10}  # a result is rounded, after errors that may take it to the next neighbor


def neighbor(case, result):
    """The distance of each result to its neighbor of the result's type."""
    return NEIGHBOR[case["types"]["o"]] * np.where(np.isfinite(result), np.abs(result), 0)


def compare(case, found, expected, mode):
    """The first difference between the results, or None."""
    narrow = ("bf16", "f16") if mode.gpu else ("bf16",)
    pairs = mode.pairs and case["types"]["k"] == case["types"]["v"] and case["types"]["k"] in narrow and (not case.get("second") or case["second"]["types"]["k2"] == "bf16")
    special = case["score"] and any(node[0] == "const" and node[1] == "f32" and not abs(node[2]) <= 1e20 for node in trees.nodes(case["score"]))
    for n, data in enumerate(case["data"]):
        for step, (arrays, keys) in enumerate(expected_arrays(case, data)):
            allowed = tolerance(case, arrays, keys, pairs)
            allowed["o"] = allowed["o"] + neighbor(case, expected[n][step]["o"])
            for name, right in expected[n][step].items():
                wrong = difference(found[n][step][name], right, allowed[name], special, name == "lse")
                if wrong:
                    return f"call {n}, step {step}{'' if name == 'o' else ' ' + name} {wrong}"
    return None


def difference(got, right, allowed, special, isLog):
    """The first difference between two arrays, or None. `special`: scores may be infinite, so that a NaN may be multiplied by 0."""
    if got.shape != right.shape:
        return f"has the shape {got.shape}, expected {right.shape}"
    known = np.isfinite(right)
    bad = known & ~(np.abs(got - np.where(known, right, 0)) <= allowed)
    if not special:
        bad |= np.isnan(right) & np.isfinite(got)
        if isLog:  # no key counts
            bad |= np.isneginf(right) & ~np.isneginf(got)
    if not bad.any():
        return None
    where = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"at {where}: {got[where]}, expected {right[where]} within {np.broadcast_to(allowed, bad.shape)[where]:.1e}; {bad.sum()} of {bad.size} are wrong"


# ---- the compiler ----------------------------------------------------------------------------------------------------

def read_header(header):
    """{function: {"arrays": [extents of each], "dims": names, "pages": bytes of a block of its cache}}"""
    found = {}
    for comment, name in re.findall(r"/\*((?:(?!\*/).)*)\*/\s*int32_t (\w+)\(const rapt_env", header, re.DOTALL):
        arrays = [re.findall(r"\[([^\]]+)\]", line) for line in re.findall(r"^ \*   \w+((?:\[[^\]]+\])*): (?:read|written|updated)", comment, re.MULTILINE)]
        pages = re.search(r"pages of (\d+) bytes", comment)
        found[name] = {"arrays": arrays, "dims": re.findall(r"dims\[\d+\]: (\w+)", comment), "pages": int(pages[1]) if pages else 0}
    return found


def compile_once(tools, mode, batch, folder):
    """(library, headers) of {name: case}; (None, {name: Outcome}) of those that are to blame."""
    source, lines, owners = folder / "batch.mlir", [text.HEAD], []
    count = text.HEAD.count("\n")
    for name, case in batch.items():
        lines.append(text.compiled_text(case, name))
        owners += [(count + 1, name)]
        count += lines[-1].count("\n")
    source.write_text("".join(lines))
    library = folder / "batch.so"
    try:
        done = run([tools.raptc, source, "-j1", "-o", library, *mode.options])
    except subprocess.TimeoutExpired:
        return None, {name: failed("compiler", f"the compiler takes more than {SECONDS} s of processor time") for name in batch} if len(batch) == 1 else {}
    if done.returncode == 0:
        return library, read_header((folder / "batch.h").read_text())
    blamed = {}
    for line, message in re.findall(r"batch\.mlir:(\d+):\d+: (?:error: )?(.*)", done.stderr):
        owner = [name for first, name in owners if first <= int(line)][-1:]
        for name in owner:
            blamed.setdefault(name, message)
    if len(batch) == 1 and not blamed:
        blamed = {name: done.stderr.strip()[-800:] or f"exit status {done.returncode}" for name in batch}
    if done.returncode != 1 and len(batch) > 1:
        return None, {}
    outcomes = {}
    for name, message in blamed.items():
        clean = done.returncode == 1 and any(re.search(refusal, message) for refusal in REFUSALS)
        short = re.sub(r"\d+", "N", message)[:60]
        outcomes[name] = Outcome("refused", "compiler", message) if clean else failed(f"compiler: {short}", f"raptc: exit status {done.returncode}: {message}")
    return None, outcomes


def compile_batch(tools, mode, batch, folder):
    """Yields (library, headers, {name: case}) of what compiles, and (None, None, {name: Outcome}) of what does not."""
    while batch:
        library, result = compile_once(tools, mode, batch, folder)
        if library:
            yield library, result, batch
            return
        if not result:  # a crash: which half has it?
            names = list(batch)
            for half in (names[:len(names) // 2], names[len(names) // 2:]):
                sub = folder / f"{len(half)}-{half[0]}"
                sub.mkdir(parents=True, exist_ok=True)
                yield from compile_batch(tools, mode, {name: batch[name] for name in half}, sub)
            return
        yield None, None, result
        batch = {name: case for name, case in batch.items() if name not in result}


def check_one(tools, mode, case, name, library, header, folder):
    expected = run_reference(tools, case, folder)
    if isinstance(expected, Outcome):
        return expected
    found = in_child(lambda: run_compiled(mode, case, name, library, header), (4 if mode.gpu else 1) * SECONDS)  # simulated GPUs are slow
    if isinstance(found, Outcome):
        return found
    difference = compare(case, found, expected, mode)
    return failed("NaN" if ": nan" in difference else "numbers", difference) if difference else Outcome("passed")


def check(tools, mode, batch, folder):
    """{name: Outcome} of {name: case}."""
    folder.mkdir(parents=True, exist_ok=True)
    outcomes = {}
    for library, headers, part in compile_batch(tools, mode, batch, folder):
        for name, case in part.items():
            if library is None:
                outcomes[name] = case
                continue
            try:
                outcomes[name] = check_one(tools, mode, case, name, library, headers[name], folder)
            except subprocess.TimeoutExpired:
                outcomes[name] = failed("reference", f"the reference takes more than {SECONDS} s of processor time")
            except Exception:
                outcomes[name] = failed("generator", traceback.format_exc())
    return outcomes
