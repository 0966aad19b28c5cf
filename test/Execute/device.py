"""Runs the entries of a program on an NVIDIA GPU, through the driver's library: the real one, or a simulated one that LD_LIBRARY_PATH finds first."""

import ctypes

import numpy as np

WORKERS = 4096  # RAPT_DEVICE_WORKERS
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
GUARD = 256  # bytes behind a buffer


class Image(ctypes.Structure):
    _fields_ = [("arch", ctypes.c_char_p), ("bytes", ctypes.c_void_p), ("size", ctypes.c_uint64), ("form", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class Code(ctypes.Structure):
    _fields_ = [("device", ctypes.c_uint32), ("image_count", ctypes.c_uint32), ("images", ctypes.POINTER(Image)), ("kernel_count", ctypes.c_uint64)]


class Kernel(ctypes.Structure):
    _fields_ = [("code", ctypes.POINTER(Code)), ("name", ctypes.c_char_p), ("index", ctypes.c_uint32), ("threads", ctypes.c_uint32),
                ("shared_bytes", ctypes.c_uint32), ("argument_bytes", ctypes.c_uint32)]


LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(Kernel), ctypes.c_void_p, ctypes.c_int64)


class Env(ctypes.Structure):
    _fields_ = [("user", ctypes.c_void_p), ("parallel_for", ctypes.c_void_p), ("workers", ctypes.c_int64), ("launch", LAUNCH)]


class Device:
    """GPU 0."""

    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.modules, context, device = {}, ctypes.c_void_p(), ctypes.c_int()
        self.call("cuInit", ctypes.c_uint(0))
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxPushCurrent_v2", context)
        self.launch = LAUNCH(self._launch)
        self.env = Env(None, None, WORKERS, self.launch)
        self.problem = None

    def call(self, name, *arguments):
        result = getattr(self.driver, name)(*arguments)
        if result:
            text = ctypes.c_char_p()
            self.driver.cuGetErrorString(result, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'').decode()} ({result})")

    def _function(self, kernel):
        key = ctypes.addressof(kernel.code.contents)
        if key not in self.modules:
            module = ctypes.c_void_p()
            self.call("cuModuleLoadDataEx", ctypes.byref(module), ctypes.c_void_p(kernel.code.contents.images[0].bytes), 0, None, None)
            self.modules[key] = module
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), self.modules[key], kernel.name)
        self.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, kernel.shared_bytes)
        return function

    def _launch(self, user, kernel, arguments, blocks):
        try:
            kernel = kernel.contents
            if blocks:
                parameters = (ctypes.c_void_p * 1)(arguments)
                self.call("cuLaunchKernel", self._function(kernel), ctypes.c_uint(blocks), 1, 1, kernel.threads, 1, 1, kernel.shared_bytes, None, parameters, None)
            return 0
        except RuntimeError as problem:
            self.problem = problem
            return 1

    def memory(self, count):
        """Bytes of the GPU's memory; a pattern of NaNs is in them."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(1, count) + GUARD))
        self.write(address, np.full(count + GUARD, 0xFF, np.uint8))
        return address

    def write(self, address, array):
        if array.nbytes:
            self.call("cuMemcpyHtoDAsync_v2", address, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), None)

    def read(self, address, array):
        self.call("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(array.ctypes.data), address, ctypes.c_size_t(array.nbytes), None)
        self.call("cuStreamSynchronize", None)

    def run(self, library, entry, arrays, extents, shifts=None):
        """`arrays` of the entry, in order: they are copied to the GPU and back. Whether nothing was written beyond them is checked. `shifts`: how many bytes behind
        a multiple of 64 each begins."""
        scratch_of, entry_of = getattr(library, entry + "_scratch"), getattr(library, entry)
        scratch_of.restype = ctypes.c_int64
        sizes = [array.nbytes for array in arrays] + [scratch_of(extents, ctypes.c_int64(WORKERS))]
        shifts = [*(shifts or [0] * len(arrays)), 0]
        buffers = [self.memory(size + shift) for size, shift in zip(sizes, shifts)]
        addresses = [ctypes.c_uint64(buffer.value + shift) for buffer, shift in zip(buffers, shifts)]
        for address, array in zip(addresses, arrays):
            self.write(address, np.ascontiguousarray(array))
        *pointers, scratch = [ctypes.c_void_p(address.value) for address in addresses]
        status = entry_of(ctypes.byref(self.env), *pointers, extents, scratch)
        if self.problem:
            problem, self.problem = self.problem, None
            raise problem
        assert status == 0, f"{entry} returned {status}"
        for buffer, address, array, size in zip(buffers, addresses, arrays + [None], sizes):
            copy = np.empty(size + GUARD, np.uint8)
            self.read(address, copy)
            assert (copy[size:] == 0xFF).all(), f"{entry} wrote beyond a buffer of {size} bytes"
            if array is not None:
                array[...] = copy[:size].view(array.dtype).reshape(array.shape)
            self.call("cuMemFree_v2", buffer)
