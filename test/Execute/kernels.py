"""Runs bare kernels (functions of .mlir text that raptc compiles to an object) on numpy arrays, with any number of workers."""

import ctypes
import subprocess
import threading
from pathlib import Path

import numpy as np

TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
PARALLEL_FOR = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, TASK, ctypes.c_void_p, ctypes.c_int64)


class Env(ctypes.Structure):
    _fields_ = [("user", ctypes.c_void_p), ("parallel_for", PARALLEL_FOR), ("workers", ctypes.c_int64)]


def parallel(workers):
    """An executor that deals indices out one by one, to as many threads as there are workers."""
    def run(_, task, closure, count):
        def work(worker):
            for i in range(worker, count, workers):
                task(closure, i, i + 1, worker)
        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return 0
    return PARALLEL_FOR(run)


def aligned(array):
    """A copy of the array on a boundary of 64 bytes."""
    raw = np.zeros(array.nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    copy = raw[start:start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


class Library:
    """All kernels of one .mlir text."""

    def __init__(self, raptc, clang, text, folder, options=()):
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "kernels.mlir").write_text(text)
        subprocess.run([raptc, str(folder / "kernels.mlir"), "-o", str(folder / "kernels.o"), *options], check=True)
        subprocess.run([clang, "-shared", str(folder / "kernels.o"), "-o", str(folder / "kernels.so"), "-lm"], check=True)
        self.library = ctypes.CDLL(str(folder / "kernels.so"))

    def run(self, name, dims, arrays, workers=1):
        """Calls a kernel with its inputs and outputs in order; those that it writes are written. Scratch is NaN before."""
        dims = (ctypes.c_int64 * len(dims))(*dims)
        size = getattr(self.library, name + "_scratch")
        size.restype = ctypes.c_int64
        scratch = aligned(np.full(size(dims, ctypes.c_int64(workers)) // 4 + 16, np.nan, np.float32))
        executor = parallel(workers)
        env = Env(None, executor, workers)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        status = getattr(self.library, name)(ctypes.byref(env), *pointers, dims, ctypes.c_void_p(scratch.ctypes.data))
        if status:
            raise RuntimeError(f"{name} returned {status}")
