"""Compiled models through the C interface of rapt.h, for tests that need more of it than rapt-run."""

import ctypes

import numpy


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("cache_tokens", ctypes.c_int64), ("max_step_tokens", ctypes.c_int64), ("max_step_rows", ctypes.c_int64),
                ("pool", ctypes.c_void_p), ("executor", ctypes.c_void_p), ("allocator", ctypes.c_void_p), ("log", ctypes.c_void_p),
                ("progress", ctypes.c_void_p), ("user", ctypes.c_void_p), ("window_slack", ctypes.c_int64), ("adapter", ctypes.c_char_p), ("keep_states_every", ctypes.c_int64)]


class Memory(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("weights", ctypes.c_uint64), ("cache", ctypes.c_uint64), ("workspace", ctypes.c_uint64), ("per_worker", ctypes.c_uint64),
                ("other", ctypes.c_uint64), ("most_cache", ctypes.c_uint64)]


class Source(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("sequence", ctypes.c_uint64), ("tokens", ctypes.c_void_p), ("count", ctypes.c_int64),
                ("hidden", ctypes.c_void_p), ("hidden_bytes", ctypes.c_size_t), ("features", ctypes.c_void_p), ("feature_bytes", ctypes.c_size_t)]


class Chunk(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("sequence", ctypes.c_uint64), ("tokens", ctypes.c_void_p), ("count", ctypes.c_int64),
                ("want", ctypes.c_int32), ("output", ctypes.c_void_p), ("output_bytes", ctypes.c_size_t), ("logits", ctypes.c_void_p),
                ("embeddings", ctypes.c_void_p), ("embedding_bytes", ctypes.c_size_t), ("image_grids", ctypes.c_void_p), ("image_grid_bytes", ctypes.c_size_t)]


class Tensor(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("rank", ctypes.c_int32), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p)]


class Allocator(ctypes.Structure):
    """The system's memory, in pieces of at most `most` bytes where it is set."""

    ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int32)
    FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int32)
    _fields_ = [("size", ctypes.c_size_t), ("user", ctypes.c_void_p), ("alloc", ALLOCATE), ("free", FREE)]
    most = None

    def __init__(self):
        libc = ctypes.CDLL(None)
        libc.aligned_alloc.restype = ctypes.c_void_p
        fits = lambda size: self.most is None or size <= self.most
        super().__init__(
            size=ctypes.sizeof(Allocator), free=self.FREE(lambda _, memory, *__: libc.free(ctypes.c_void_p(memory))),
            alloc=self.ALLOCATE(lambda _, size, alignment, __: libc.aligned_alloc(ctypes.c_size_t(alignment), ctypes.c_size_t(size)) if fits(size) else None))


class Context:
    """The C interface, with numpy arrays. `threads`: of a pool; the caller's thread alone without it."""

    def __init__(self, runtime, library, vocabulary, threads=None, **options):
        self.lib, self.vocabulary = ctypes.CDLL(runtime), vocabulary
        self.lib.rapt_status_name.restype = ctypes.c_char_p
        self.lib.rapt_context_available.restype = ctypes.c_int64
        self.message = ctypes.create_string_buffer(512)
        self.module, self.context, self.pool = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        if threads:
            self.must(self.call("pool_new", ctypes.c_int64(threads), ctypes.byref(self.pool)))
        self.must(self.lib.rapt_module_open(library.encode(), None, ctypes.byref(self.module), self.message, ctypes.c_size_t(512)))
        self.must(self.call("context_new", self.module, ctypes.byref(Options(size=ctypes.sizeof(Options), pool=self.pool, **options)), ctypes.byref(self.context)))

    def close(self):
        self.lib.rapt_context_free(self.context)
        self.lib.rapt_pool_free(self.pool)
        self.lib.rapt_module_release(self.module)

    def call(self, name, *arguments):
        return getattr(self.lib, "rapt_" + name)(*arguments, self.message, ctypes.c_size_t(512))

    def must(self, status):
        assert status == 0, self.message.value

    def refused(self, status, name, text):
        found = self.lib.rapt_status_name(status).decode()
        assert found == name and text in self.message.value.decode(), f"{found}: {self.message.value.decode()}; expected {name}: {text}"

    def available(self):
        return self.lib.rapt_context_available(self.context)

    def sequence(self):
        made = ctypes.c_uint64()
        self.must(self.call("sequence_new", self.context, ctypes.byref(made)))
        return made.value

    def fork(self, sequence):
        made = ctypes.c_uint64()
        self.must(self.call("sequence_fork", self.context, ctypes.c_uint64(sequence), ctypes.byref(made)))
        return made.value

    def truncate(self, sequence, length):
        """The status."""
        return self.call("sequence_truncate", self.context, ctypes.c_uint64(sequence), ctypes.c_int64(length))

    def save(self, sequence):
        size = ctypes.c_size_t()
        self.must(self.call("sequence_save", self.context, ctypes.c_uint64(sequence), None, ctypes.c_size_t(0), ctypes.byref(size)))
        state = ctypes.create_string_buffer(size.value)
        self.must(self.call("sequence_save", self.context, ctypes.c_uint64(sequence), state, size, ctypes.byref(size)))
        return state

    def memory(self, **options):
        """Sizes of a context with these options."""
        memory = Memory(size=ctypes.sizeof(Memory))
        self.must(self.call("context_memory", self.module, ctypes.byref(Options(size=ctypes.sizeof(Options), **options)), ctypes.byref(memory)))
        return memory

    def run(self, entry, **arrays):
        """The status of an entry on these tensors, inputs and outputs."""
        names, tensors = (ctypes.c_char_p * len(arrays))(*[name.encode() for name in arrays]), (Tensor * len(arrays))()
        shapes = [numpy.array(array.shape, numpy.int64) for array in arrays.values()]
        for tensor, array, shape in zip(tensors, arrays.values(), shapes):
            assert array.flags.c_contiguous
            tensor.size, tensor.data, tensor.device_type, tensor.rank, tensor.shape = ctypes.sizeof(Tensor), array.ctypes.data, 1, array.ndim, shape.ctypes.data
            tensor.code, tensor.bits, tensor.lanes = {"i": 0, "u": 1, "f": 2}[array.dtype.kind], 8 * array.itemsize, 1
        return self.call("run", self.context, entry.encode(), ctypes.c_size_t(len(arrays)), names, tensors)

    def free(self, sequence):
        self.must(self.call("sequence_free", self.context, ctypes.c_uint64(sequence)))

    def load(self, state):
        made = ctypes.c_uint64()
        self.must(self.call("sequence_load", self.context, state, ctypes.c_size_t(len(state)), ctypes.byref(made)))
        return made.value

    def encode(self, pairs, hidden=()):
        """pairs: [(sequence, tokens or an array of features)]; the arrays of `hidden` take the outputs of the first ones."""
        isSound = [isinstance(t, numpy.ndarray) and t.dtype == numpy.float32 for _, t in pairs]
        given = [numpy.ascontiguousarray(t, numpy.float32 if sound else numpy.int32) for (_, t), sound in zip(pairs, isSound)]
        sources = (Source * len(pairs))()
        for source, (sequence, _), array, sound in zip(sources, pairs, given, isSound):
            source.size, source.sequence = ctypes.sizeof(Source), sequence
            if sound:
                source.features, source.feature_bytes = array.ctypes.data, array.nbytes
            else:
                source.tokens, source.count = array.ctypes.data, len(array)
        for source, array in zip(sources, hidden):
            source.hidden, source.hidden_bytes = array.ctypes.data, array.nbytes
        return self.call("encode", self.context, sources, ctypes.c_size_t(len(pairs)))

    def step(self, pairs, images=(), grids=()):
        """All logits of each chunk, and the status. `images`: f32 arrays of vectors, or None, of the first chunks; `grids`: i32 [images, 2] of them, or None."""
        tokens = [numpy.array(t, numpy.int32) for _, t in pairs]
        logits = [numpy.zeros((len(t), self.vocabulary), numpy.float32) for t in tokens]
        chunks = (Chunk * len(pairs))(*[Chunk(ctypes.sizeof(Chunk), s, t.ctypes.data, len(t), 2, l.ctypes.data, l.nbytes) for (s, _), t, l in zip(pairs, tokens, logits)])
        for chunk, vectors in zip(chunks, images):
            if vectors is not None:
                chunk.embeddings, chunk.embedding_bytes = vectors.ctypes.data, vectors.nbytes
        for chunk, given in zip(chunks, grids):
            if given is not None:
                chunk.image_grids, chunk.image_grid_bytes = given.ctypes.data, given.nbytes
        return logits, self.call("step", self.context, chunks, ctypes.c_size_t(len(pairs)))
