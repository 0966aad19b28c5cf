"""Runs the entries of a program on an NVIDIA GPU, through the driver's library: the real one, or a simulated one that LD_LIBRARY_PATH finds first."""

import ctypes

import numpy as np

WORKERS = 4096  # RAPT_DEVICE_WORKERS
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
JIT_ERRORS, JIT_ERRORS_BYTES, LOG_BYTES = 5, 6, 8192  # CU_JIT_ERROR_LOG_BUFFER and its size
CAPABILITY_MAJOR, CAPABILITY_MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
GUARD = 256  # bytes behind a buffer
MOST_FILLED = 8 << 20  # bytes of a buffer: threads' scratch can have hundreds of MB, of which the slices of the first threads are used most


class Image(ctypes.Structure):
    _fields_ = [("arch", ctypes.c_char_p), ("bytes", ctypes.c_void_p), ("size", ctypes.c_uint64), ("form", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class Code(ctypes.Structure):
    _fields_ = [("device", ctypes.c_uint32), ("image_count", ctypes.c_uint32), ("images", ctypes.POINTER(Image)), ("kernel_count", ctypes.c_uint64)]


class Kernel(ctypes.Structure):
    _fields_ = [("code", ctypes.POINTER(Code)), ("name", ctypes.c_char_p), ("index", ctypes.c_uint32), ("threads", ctypes.c_uint32),
                ("shared_bytes", ctypes.c_uint32), ("argument_bytes", ctypes.c_uint32)]


LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(Kernel), ctypes.c_void_p, ctypes.c_int64)


class Boxes(ctypes.Structure):
    """An array that is copied in boxes: rapt_boxes of rapt/artifact.h."""
    _fields_ = [("data", ctypes.c_void_p), ("extents", ctypes.c_int64 * 5), ("strides", ctypes.c_int64 * 5), ("box", ctypes.c_int32 * 5),
                ("rank", ctypes.c_int32), ("element_bytes", ctypes.c_int32), ("swizzle_bytes", ctypes.c_int32)]


TENSOR_MAP = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(Boxes), ctypes.c_void_p)
UNSIGNED = {1: 0, 2: 1, 4: 2}  # CU_TENSOR_MAP_DATA_TYPE_UINT* of so many bytes
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}  # CU_TENSOR_MAP_SWIZZLE_*
PROMOTE_128B = 2  # CU_TENSOR_MAP_L2_PROMOTION_L2_128B


class Env(ctypes.Structure):
    _fields_ = [("user", ctypes.c_void_p), ("parallel_for", ctypes.c_void_p), ("workers", ctypes.c_int64), ("launch", LAUNCH), ("tensor_map", TENSOR_MAP)]


def fits(arch, capability):
    """Whether a GPU of compute capability `capability`, such as 90, runs code for `arch`: "sm_90a" is for 90 alone."""
    number = int("".join(digit for digit in arch if digit.isdigit()))
    return capability == number if arch.endswith("a") else capability >= number


class Device:
    """GPU 0, by its primary context, which PyTorch uses as well. `stream`: a stream's handle; None is the default stream."""

    def __init__(self, stream=None):
        self.driver, self.stream = ctypes.CDLL("libcuda.so.1"), stream
        self.modules, self.functions, context, self.device = {}, {}, ctypes.c_void_p(), ctypes.c_int()
        self.call("cuInit", ctypes.c_uint(0))
        self.call("cuDeviceGet", ctypes.byref(self.device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self.call("cuCtxPushCurrent_v2", context)
        self.launch = LAUNCH(self._launch)
        self.tensor_map = TENSOR_MAP(self._tensor_map)
        self.env = Env(None, None, WORKERS, self.launch, self.tensor_map)
        self.problem = None
        self.maps = 0  # how many arrays had one

    def capability(self):
        """90 for compute capability 9.0."""
        numbers = [ctypes.c_int(), ctypes.c_int()]
        for number, attribute in zip(numbers, (CAPABILITY_MAJOR, CAPABILITY_MINOR)):
            self.call("cuDeviceGetAttribute", ctypes.byref(number), attribute, self.device)
        return 10 * numbers[0].value + numbers[1].value

    def version(self):
        """The driver's: 12040 is CUDA 12.4."""
        number = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(number))
        return number.value

    def name(self):
        text = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", text, 256, self.device)
        return text.value.decode()

    def call(self, name, *arguments):
        result = getattr(self.driver, name)(*arguments)
        if result:
            text = ctypes.c_char_p()
            self.driver.cuGetErrorString(result, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'').decode()} ({result})")

    def _load(self, image):
        """A module. The driver's compiler of PTX tells why it takes none."""
        module, log = ctypes.c_void_p(), ctypes.create_string_buffer(LOG_BYTES)
        names, values = (ctypes.c_int * 2)(JIT_ERRORS, JIT_ERRORS_BYTES), (ctypes.c_void_p * 2)(ctypes.addressof(log), LOG_BYTES)
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module), ctypes.c_void_p(image.bytes), ctypes.c_uint(2), names, values)
        except RuntimeError as problem:
            raise RuntimeError(f"{problem}: {log.value.decode(errors='replace').strip()}") from None
        return module

    def _function(self, kernel):
        code = ctypes.addressof(kernel.code.contents)
        if (code, kernel.index) not in self.functions:
            if code not in self.modules:
                self.modules[code] = self._load(kernel.code.contents.images[0])
            function = ctypes.c_void_p()
            self.call("cuModuleGetFunction", ctypes.byref(function), self.modules[code], kernel.name)
            self.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, kernel.shared_bytes)
            self.functions[code, kernel.index] = function
        return self.functions[code, kernel.index]

    def _launch(self, user, kernel, arguments, blocks):
        try:
            kernel = kernel.contents
            if blocks:
                parameters = (ctypes.c_void_p * 1)(arguments)
                self.call("cuLaunchKernel", self._function(kernel), ctypes.c_uint(blocks), 1, 1, kernel.threads, 1, 1, kernel.shared_bytes, self.stream, parameters, None)
            return 0
        except RuntimeError as problem:
            self.problem = problem
            return 1

    def _tensor_map(self, user, boxes, to):
        boxes = boxes.contents
        rank, size = boxes.rank, boxes.element_bytes
        strides = [stride * size if extent > 1 else 16 for stride, extent in zip(boxes.strides[1:rank], boxes.extents[1:rank])]
        if (boxes.data or 0) % 16 or boxes.strides[0] != 1 or any(stride % 16 or stride >= 1 << 40 for stride in strides) or any(extent < 1 for extent in boxes.extents[:rank]):
            return 0
        numbers = [(ctypes.c_uint64 * rank)(*boxes.extents[:rank]), (ctypes.c_uint64 * max(1, rank - 1))(*strides), (ctypes.c_uint32 * rank)(*boxes.box[:rank]), (ctypes.c_uint32 * rank)(*[1] * rank)]
        if self.driver.cuTensorMapEncodeTiled(ctypes.c_void_p(to), UNSIGNED[size], ctypes.c_uint32(rank), ctypes.c_void_p(boxes.data), *numbers, 0, SWIZZLES[boxes.swizzle_bytes], PROMOTE_128B, 0):
            return 0
        self.maps += 1
        return 1

    def memory(self, count):
        """Bytes of the GPU's memory; a pattern of NaNs is in the first and behind them."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(1, count) + GUARD))
        filled = min(count, MOST_FILLED)
        self.write(address, np.full(filled + GUARD, 0xFF, np.uint8))
        if filled < count:
            self.write(ctypes.c_uint64(address.value + count), np.full(GUARD, 0xFF, np.uint8))
        return address

    def write(self, address, array):
        if array.nbytes:
            self.call("cuMemcpyHtoDAsync_v2", address, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), self.stream)

    def read(self, address, array):
        self.call("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(array.ctypes.data), address, ctypes.c_size_t(array.nbytes), self.stream)
        self.wait()

    def free(self, address):
        self.call("cuMemFree_v2", address)

    def copy(self, to, source, count):
        self.call("cuMemcpyDtoDAsync_v2", to, source, ctypes.c_size_t(count), self.stream)

    def wait(self):
        self.call("cuStreamSynchronize", self.stream)

    def event(self):
        """A point in time of the stream, behind what was started."""
        event = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), 0)
        self.call("cuEventRecord", event, self.stream)
        return event

    def milliseconds(self, begin, end):
        """Between two events that have passed. They are gone after that."""
        elapsed = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(elapsed), begin, end)
        for event in (begin, end):
            self.call("cuEventDestroy_v2", event)
        return elapsed.value

    def scratch_bytes(self, library, entry, extents):
        scratch_of = getattr(library, entry + "_scratch")
        scratch_of.restype = ctypes.c_int64
        return scratch_of(extents, ctypes.c_int64(WORKERS))

    def status_of(self, library, entry, buffers, extents):
        *pointers, scratch = [ctypes.c_void_p(buffer.value) for buffer in buffers]
        return getattr(library, entry)(ctypes.byref(self.env), *pointers, extents, scratch)

    def start(self, library, entry, buffers, extents):
        """Starts the kernels of an entry. `buffers`: the GPU's memory for its arrays in order, and for its scratch."""
        self.check(self.status_of(library, entry, buffers, extents), entry)

    def check(self, status, entry):
        """Raises the problem of a launch, if there was one."""
        if self.problem:
            problem, self.problem = self.problem, None
            raise problem
        assert status == 0, f"{entry} returned {status}"

    def run(self, library, entry, arrays, extents, shifts=None):
        """`arrays` of the entry, in order: they are copied to the GPU and back. Whether nothing was written beyond them is checked. `shifts`: how many bytes behind
        a multiple of 64 each begins."""
        scratch = self.scratch_bytes(library, entry, extents)
        self.call_with(arrays, scratch, lambda buffers: self.status_of(library, entry, buffers, extents), entry, shifts)

    def call_with(self, arrays, scratch, start, entry, shifts=None):
        """Calls `start` with the GPU's memory for copies of `arrays` and for so many bytes of scratch, which starts kernels and returns a status."""
        sizes = [array.nbytes for array in arrays] + [scratch]
        shifts = [*(shifts or [0] * len(arrays)), 0]
        buffers = [self.memory(size + shift) for size, shift in zip(sizes, shifts)]
        addresses = [ctypes.c_uint64(buffer.value + shift) for buffer, shift in zip(buffers, shifts)]
        for address, array in zip(addresses, arrays):
            self.write(address, np.ascontiguousarray(array))
        self.check(start(addresses), entry)
        for buffer, address, array, size in zip(buffers, addresses, arrays + [None], sizes):
            begin = size if array is None else 0  # of scratch, what is behind it
            copy = np.empty(size + GUARD - begin, np.uint8)
            self.read(ctypes.c_uint64(address.value + begin), copy)
            assert (copy[size - begin:] == 0xFF).all(), f"{entry} wrote beyond a buffer of {size} bytes"
            if array is not None:
                array[...] = copy[:size].view(array.dtype).reshape(array.shape)
            self.free(buffer)
