#!/usr/bin/env python3
"""Compiled short convolutions against sums of shifted rows in float64: rows shorter and longer than the reach, states in slots and of
a layer, dilation, activations; the same bits for any number of workers, and for a text in pieces. What no row may read is NaN."""

import numpy as np

import kernels
from state_kernels import DECLARATIONS
from state_kernels import ShortConv as Kernel

tools = kernels.tools(__doc__)
checks = kernels.Checks()
random = np.random.default_rng(29)


def check(kernel, lengths):
    label = f"{kernel.name}, rows of {lengths}"
    given, source, target = kernel.inputs(random, lengths)
    found = kernel.run(program, given)
    kernel.compare(checks, label, given, target, found, kernel.expected(given, source, target), 1e-2 if kernel.dtype != "f32" else 1e-6, 0)
    for name, first, again in zip(("output", "state"), found, kernel.run(program, given, 7, kernels.threads(7))):
        if first is not None:
            checks.equal(f"{label}: {name} of 7 workers", again, first)


def check_pieces(kernel, length, cut):
    given, *_ = kernel.inputs(random, [length], spare=0)
    whole, last = kernel.run(program, given)
    pieces, state = [], given["state"]
    for own in (slice(0, cut), slice(cut, length)):
        output, state = kernel.run(program, given | {"x": given["x"][own], "begin": np.array([0, own.stop - own.start], np.int32), "state": state})
        pieces.append(output)
    checks.equal(f"{kernel.name}: output of {length} tokens, cut at {cut}", np.concatenate(pieces), whole)
    checks.equal(f"{kernel.name}: state of {length} tokens, cut at {cut}", state, last)


KERNELS = [Kernel(1, 2), Kernel(32, 1, state="none"), Kernel(33, 4, activation="silu", bias=True), Kernel(64, 4, activation="silu", state="rows"), Kernel(96, 4, 3, bias=True, state="layer"),
           Kernel(128, 3, state="none", activation="tanh"), Kernel(160, 4, activation="silu", state="rows", dtype="bf16"), Kernel(32, 3, 9, state="layer"), Kernel(7, 5, 2, state="rows", dtype="f16")]
if tools.options:  # another instruction set
    KERNELS = [KERNELS[i] for i in (2, 3, 4, 6)]
program = kernels.Program(tools, "short_conv", DECLARATIONS + "".join(kernel.text() for kernel in KERNELS))
for kernel in KERNELS:
    for lengths in ([], [1], [0, 3, 0, 17], [2, 1, 0, 5, 30]):
        check(kernel, lengths)
    if kernel.state == "rows":
        check_pieces(kernel, 20, 1)
        check_pieces(kernel, 20, 13)
checks.finish()
