#!/usr/bin/env python3
"""Compiled linear attention against its closed form in float64: sums over pairs of tokens, and for the delta rule a triangular system, where
the op is a recurrence. Rows of all lengths, heads shared in both directions, decays by head and by channel, states in slots; the same
bits for any number of workers, and for a text in pieces of a multiple of 8 tokens. What no row may read is NaN."""

import numpy as np

import kernels
from state_kernels import DECLARATIONS
from state_kernels import LinearAttention as Kernel

tools = kernels.tools(__doc__)
checks = kernels.Checks()
random = np.random.default_rng(23)


def check(kernel, lengths, decays=(-2, 0)):
    label = f"{kernel.name}, rows of {lengths}"
    given, source, target = kernel.inputs(random, lengths, decays=decays)
    found = kernel.run(program, given)
    kernel.compare(checks, label, given, target, found, kernel.expected(given, source, target), 1e-2 if kernel.dtype != "f32" else 2e-5, 2e-5)
    for workers in (1, 7):
        again = kernel.run(program, given, workers, kernels.threads(workers))
        for name, first, second in zip(("output", "state"), found, again):
            if first is not None:
                checks.equal(f"{label}: {name} of {workers} workers", second, first)


def check_pieces(kernel, length, cut, isWhole):
    """A text in two pieces gives the bits of the whole one where they are cut between tokens that are taken at once, and nearly so elsewhere."""
    given, *_ = kernel.inputs(random, [length], spare=0)
    whole, last = kernel.run(program, given)
    pieces, state = [], given["state"]
    for own in (slice(0, cut), slice(cut, length)):
        part = {name: array[own] if name in ("q", "k", "v", "decay", "beta") else array for name, array in given.items()}
        output, state = kernel.run(program, part | {"begin": np.array([0, own.stop - own.start], np.int32), "state": state})
        pieces.append(output)
    compare = checks.equal if isWhole else lambda name, got, expected: checks.near(name, got, expected, 1e-2 if kernel.dtype != "f32" else 2e-6)
    compare(f"{kernel.name}: output of {length} tokens, cut at {cut}", np.concatenate(pieces), whole)
    compare(f"{kernel.name}: state of {length} tokens, cut at {cut}", state, last)


KERNELS = [
    Kernel("linear", 1, 1, 1, (1, 1)), Kernel("linear", 4, 2, 2, (5, 7), state="none"), Kernel("linear", 6, 1, 3, (16, 33), state="slots", scale=0.25),
    Kernel("gated", 2, 2, 2, (64, 64), "head"), Kernel("gated", 1, 1, 5, (16, 40), "head", state="slots"), Kernel("gated", 3, 3, 3, (7, 32), "channel", state="layer"),
    Kernel("delta", 2, 2, 4, (8, 8), pairing="remainder"), Kernel("delta", 4, 2, 2, (33, 31), state="none", scale=0.5),
    Kernel("gated_delta", 2, 2, 6, (32, 48), "head", scale=0.125), Kernel("gated_delta", 3, 3, 6, (17, 32), "head", "remainder", "slots"),
    Kernel("gated_delta", 2, 2, 2, (13, 64), "channel", state="layer"), Kernel("gated_delta", 2, 4, 1, (9, 3), "channel"),
    Kernel("gated_delta", 1, 1, 2, (128, 128), "head", dtype="bf16"), Kernel("gated", 2, 2, 2, (32, 32), "channel", state="none", dtype="f16"),
]
LENGTHS = ([], [1], [0, 3, 0, 17], [5, 1, 0, 2, 64])
if tools.options:  # another instruction set: one of each kind
    KERNELS = [KERNELS[i] for i in (1, 4, 6, 9, 10, 12)]
program = kernels.Program(tools, "linear_attention", DECLARATIONS + "".join(kernel.text() for kernel in KERNELS))
for kernel in KERNELS:
    for lengths in LENGTHS:
        check(kernel, lengths)
    if kernel.decay:
        check(kernel, [40], decays=(-30, -20))  # the exponential of their sum alone is 0 or overflows
        check(kernel, [40], decays=(-1e-6, 0))
    if kernel.state == "rows":
        check_pieces(kernel, 33, 1, False)
        check_pieces(kernel, 33, 24, True)
        check_pieces(kernel, 33, 32, True)
checks.finish()
