#!/usr/bin/env python3
"""Compiled linear attention against its closed form in float64: sums over pairs of tokens, and for the delta rule a triangular system, where
the op is a recurrence. Rows of all lengths, heads shared in both directions, decays by head and by channel, states in slots; the same
bits for any number of workers, and for a text in pieces of a multiple of 8 tokens, or of 64 where these are computed at once. What no row may read is
NaN."""

import dataclasses

import numpy as np

import kernels
from state_kernels import DECLARATIONS
from state_kernels import LinearAttention as Kernel

tools = kernels.tools(__doc__)
MATMUL = next((option.partition("=")[2] for option in tools.options if option.startswith("--f32-matmul=")), "")
checks = kernels.Checks()
random = np.random.default_rng(23)


def is_chunked(kernel):
    """Whether a GPU's tensor cores compute 64 tokens at once."""
    return "--target=cuda" in tools.options and kernel.decay != "channel" and (kernel.dtype != "f32" or MATMUL != "")


def bounds(kernel, exact):
    """Of outputs and of states: `exact` in f32. Chunks have a state of tf32."""
    state = 2e-3 if is_chunked(kernel) and (kernel.dtype != "f32" or MATMUL == "tf32") else exact
    return (1e-2 if kernel.dtype != "f32" else state), state


def check(kernel, lengths, decays=(-2, 0)):
    label = f"{kernel.name}, rows of {lengths}"
    given, source, target = kernel.inputs(random, lengths, decays=decays)
    found = kernel.run(program, given)
    kernel.compare(checks, label, given, target, found, kernel.expected(given, source, target), *bounds(kernel, 2e-5))
    for workers in (1, 7) if not tools.device else ():
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
    for what, got, expected, bound in zip(("output", "state"), (np.concatenate(pieces), state), (whole, last), bounds(kernel, 2e-6)):
        name = f"{kernel.name}: {what} of {length} tokens, cut at {cut}"
        checks.equal(name, got, expected) if isWhole else checks.near(name, got, expected, bound)


def check_forgetting(kernel, length):
    """A decay of minus infinity is one whose exponential is 0."""
    given, *_ = kernel.inputs(random, [length], spare=0)
    given["decay"][7::11] = -np.inf
    results = kernel.run(program, given)
    finite = kernel.run(program, given | {"decay": np.maximum(given["decay"], -1e5)})
    for what, first, second in zip(("output", "state"), results, finite):
        if first is not None:
            checks.equal(f"{kernel.name}: {what} behind decays of minus infinity", first, second)
    checks.equal(f"{kernel.name}: numbers behind decays of minus infinity", np.isfinite(results[0]), np.ones(results[0].shape, bool))


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
if "--target=cuda" in tools.options:
    # Chunks: a head each of all kinds, channels that no tile has, several queries and slices, a whole and a last chunk, and one that is too short.
    KERNELS = ([kernel for kernel in KERNELS if kernel.dtype == "f32"] if not MATMUL else []) + [
        dataclasses.replace(kernel, dtype="f32" if MATMUL else kernel.dtype) for kernel in (
            Kernel("linear", 2, 1, 1, (7, 5), state="none", scale=0.5, dtype="f16"), Kernel("gated", 1, 1, 1, (16, 33), "head", state="layer", dtype="bf16"),
            Kernel("delta", 1, 1, 1, (33, 16), state="slots", dtype="bf16"), Kernel("gated_delta", 1, 1, 1, (40, 32), "head", dtype="bf16"))]
    LENGTHS = (*LENGTHS[:-1], [63, 0, 65, 32, 129])
    if MATMUL == "3xtf32":  # every day: one of them
        KERNELS, LENGTHS = [dataclasses.replace(KERNELS[-1], channels=(16, 16))], ([32, 0, 65],)
program = kernels.Program(tools, "linear_attention", DECLARATIONS + "".join(kernel.text() for kernel in KERNELS))
for kernel in KERNELS:
    for lengths in LENGTHS:
        check(kernel, lengths)
    if kernel.decay:
        check(kernel, [40], decays=(-30, -20))  # the exponential of their sum alone is 0 or overflows
        check(kernel, [40], decays=(-1e-6, 0))
        check_forgetting(kernel, 40)
    if kernel.state == "rows":
        at_once = 64 if is_chunked(kernel) else 8
        for cut in (1, 3 * at_once, 4 * at_once) if at_once == 8 else (1, at_once):
            check_pieces(kernel, 4 * at_once + 1 if at_once == 8 else at_once + 30, cut, cut != 1)
checks.finish()
