"""Weights of a model whose steps are timed: they are drawn on the machine that measures, because no time depends on them."""

import struct

import numpy as np

MAGIC, VERSION, ALIGNMENT = 0x0054475754504152, 1, 4096  # lib/Runtime/include/rapt/artifact.h
DEVIATION = 0.02  # of weights, as models begin their training


def write_weights(path, interface, size):
    """A weight file of bf16 with `size` bytes of weights, for a library that was compiled without weights."""
    drawn = (np.random.default_rng(1).standard_normal(1 << 20) * DEVIATION).astype(np.float32)
    block = (drawn.view(np.uint32) >> 16).astype(np.uint16).tobytes()
    header = struct.pack("<QII16s16sQ", MAGIC, VERSION, 1, bytes.fromhex(interface), b"drawn weights...", ALIGNMENT + size)
    section = struct.pack("<64sQQ", b"weights", ALIGNMENT, size)
    with open(path, "wb") as out:
        out.write((header + section).ljust(ALIGNMENT, b"\0"))
        for first in range(0, size, len(block)):
            out.write(block[:size - first])
