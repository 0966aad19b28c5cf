"""A compiled library with a packed weight file, called without the runtime, as rapt/artifact.h says, on the host or on a GPU."""

import ctypes
import json
import mmap
import re
import struct
import subprocess

import numpy as np

import device
import kernels
import processor


class Entry(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("run", ctypes.c_void_p), ("workspace", ctypes.c_void_p)]


class Artifact(ctypes.Structure):
    _fields_ = [("magic", ctypes.c_uint64), ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manifest", ctypes.c_void_p),
                ("manifest_size", ctypes.c_uint64), ("entries", ctypes.POINTER(Entry)), ("entry_count", ctypes.c_uint64)]


processor.ask_for_tiles()  # as the runtime does
MANY = 65  # rows from which on a GPU takes tiles of 128x128: more than one tile of 64


class Model:
    """`library` is a Path; its name without suffix is the prefix of its symbol and of its weight file's name. `gpu`: the device.Device of code for one, where
    the weights are copied to."""

    def __init__(self, library, gpu=None):
        self.library = ctypes.CDLL(str(library))
        artifact = Artifact.in_dll(self.library, f"{library.stem}_module")
        self.entries = {artifact.entries[i].name.decode(): artifact.entries[i] for i in range(artifact.entry_count)}
        file, = library.parent.glob(f"{library.stem}-*.weights")
        with open(file, "rb") as opened:
            self.file = mmap.mmap(opened.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
        # magic, version, sections, two ids, size; then the first section's name and place
        offset, size = struct.unpack_from("<QQ", self.file, 8 + 4 + 4 + 16 + 16 + 8 + 64)
        self.weights, self.gpu = ctypes.addressof(ctypes.c_char.from_buffer(self.file)) + offset, gpu
        if gpu:
            self.on_gpu = gpu.memory(size)
            gpu.write(self.on_gpu, np.frombuffer(self.file, np.uint8, size, offset))

    def run(self, name, arrays, dims, workers):
        """`workers` are threads of the host: a GPU has the number that belongs to the ABI."""
        entry, dims = self.entries[name], (ctypes.c_int64 * len(dims))(*dims)
        workspace_of = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(entry.workspace)
        if self.gpu:
            return self.run_on_gpu(entry, arrays, dims, workspace_of(dims, device.WORKERS))
        size = workspace_of(dims, workers)
        workspace, _ = kernels.aligned((size,), np.int8)
        executor = kernels.threads(workers)
        env = kernels.Env(None, executor, workers)
        pointers = [self.weights, workspace.ctypes.data] + [array.ctypes.data for array in arrays]
        run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(entry.run)
        assert run(ctypes.byref(env), (ctypes.c_void_p * len(pointers))(*pointers), dims) == 0

    def run_on_gpu(self, entry, arrays, dims, workspace):
        def start(buffers):
            pointers = [self.on_gpu.value, buffers[-1].value, *(buffer.value for buffer in buffers[:-1])]
            run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(entry.run)
            return run(ctypes.byref(self.gpu.env), (ctypes.c_void_p * len(pointers))(*pointers), dims)

        self.gpu.call_with(arrays, workspace, start, entry.name.decode())


def compile_with_large_tiles(tools, program, weights, flags, library):
    """The library of a program for a GPU, whose matmuls have large tiles from MANY rows on. Schedules are in the text of the stage laid-out."""
    command = [tools.raptc, f"--weights={weights}", *tools.options]
    laid_out = program.with_suffix(".laid-out.mlir")
    subprocess.run([*command, *flags, str(program), "--emit=laid-out", "-o", str(laid_out)], check=True, capture_output=True)
    text, count = re.subn(r"\bleast = \d+", f"least = {MANY}", laid_out.read_text())
    assert count, f"{program} has no schedule for many rows"
    laid_out.write_text(text)
    subprocess.run([*command, str(laid_out), "-o", str(library)], check=True, capture_output=True)


def placed(array):
    copy, _ = kernels.aligned(array.shape, array.dtype)
    copy[...] = array
    return copy


def write_weights(directory, weights):
    """A model directory of f32 tensors {name: array}, with a configuration that says nothing."""
    header, data = {}, b""
    for name, value in weights.items():
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(data), len(data) + value.nbytes]}
        data += value.tobytes()
    text = json.dumps(header).encode()
    directory.mkdir(exist_ok=True)
    (directory / "config.json").write_text("{}")
    (directory / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
