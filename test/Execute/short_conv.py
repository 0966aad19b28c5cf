#!/usr/bin/env python3
"""Compiled short convolutions against sums of shifted rows in float64: rows shorter and longer than the reach, states in slots and of
a layer, dilation, activations; the same bits for any number of workers, and for a text in pieces. What no row may read is NaN."""

import dataclasses

import numpy as np

import kernels
from linear_attention_formula import convolved

tools = kernels.tools(__doc__)
checks = kernels.Checks()
random = np.random.default_rng(29)


@dataclasses.dataclass(frozen=True)
class Kernel:
    channels: int
    taps: int
    dilation: int = 1
    activation: str = ""
    bias: bool = False
    state: str = "slots"  # none, rows, slots, layer
    dtype: str = "f32"

    @property
    def reach(self):
        return (self.taps - 1) * self.dilation

    @property
    def name(self):
        pieces = ["conv", self.channels, self.taps, self.dilation, self.activation, "bias" * self.bias, self.state, self.dtype]
        return "_".join(str(piece) for piece in pieces if piece != "")

    def text(self):
        x, w, begin = f"tensor<?x{self.channels}x{self.dtype}>", f"tensor<{self.taps}x{self.channels}xf32>", "tensor<?xi32>"
        arguments = [("x", x, "tokens"), ("w", w, None)] + [("b", f"tensor<{self.channels}xf32>", None)] * self.bias + [("begin", begin, "rows+1")]
        words = f" bias(%b : tensor<{self.channels}xf32>)" * self.bias + (f" activation {self.activation}" if self.activation else "")
        words += f" dilation {self.dilation} rows(%begin)"
        results = [("y", x, "tokens")]
        if self.state != "none":
            kind = f"tensor<?x{'2x' * (self.state == 'layer')}{self.reach}x{self.channels}xf32>"
            arguments.append(("state", kind, "rows" if self.state == "rows" else "slots"))
            results.append(arguments[-1])
            words += f" state(%state : {kind})" + " layer(%one)" * (self.state == "layer")
        if self.state in ("slots", "layer"):
            arguments += [(name, "tensor<?xi32>", "rows") for name in ("from", "to")]
            words += " slots(%from : tensor<?xi32>, %to : tensor<?xi32>)"
        shown = lambda mark, name, kind, dim: f'{mark}{kind} {{attn.name = "{name}"' + (f', attn.dims = ["{dim}"]' if dim else "") + "}"
        made = ["%y", "%new"][:len(results)]
        return f"""
func.func @{self.name}({", ".join(shown(f"%{each[0]}: ", *each) for each in arguments)}) -> ({", ".join(shown("", *each) for each in results)}) attributes {{attn.entry}} {{
  %one = arith.constant 1 : index
  {", ".join(made)} = attn.short_conv %x, %w{words} : {x}, {w}, {begin}
  return {", ".join(made)} : {", ".join(kind for _, kind, _ in results)}
}}
"""


def run(kernel, given, workers=2, executor=kernels.backwards):
    place = list(given).index("state") if "state" in given else None
    slots = len(given["state"]) if kernel.state in ("slots", "layer") else 0
    made = program.compiled(kernel.name, list(given.values()), [(given["x"].shape, given["x"].dtype)], (len(given["x"]), len(given["begin"]) - 1, slots), executor, workers,
                            () if place is None else (place,))
    return kernels.widened(made[0]), made[1] if place is not None else None


def inputs_of(kernel, lengths, spare=2):
    rows, tokens = len(lengths), sum(lengths) + spare
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
    given = {"x": kernels.stored(normal(tokens, kernel.channels), kernel.dtype), "w": normal(kernel.taps, kernel.channels)}
    given |= {"b": normal(kernel.channels)} if kernel.bias else {}
    given["x"][sum(lengths):] = np.nan if kernel.dtype == "f32" else 0x7FC0
    given["begin"] = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    source = target = np.arange(rows, dtype=np.int32)
    if kernel.state != "none":
        slots = rows if kernel.state == "rows" else 2 * rows + 3
        given["state"] = normal(slots, *([2] if kernel.state == "layer" else []), kernel.reach, kernel.channels)
    if kernel.state in ("slots", "layer"):
        order = 1 + random.permutation(slots - 1).astype(np.int32)
        target, source = order[:rows], np.where(np.arange(rows) % 2 == 0, order[:rows], 0).astype(np.int32)
        given["state"][np.setdiff1d(np.arange(slots), np.concatenate([source, [0]]))] = np.nan
        given |= {"from": source, "to": target}
    return given, source, target


def check(kernel, lengths):
    label = f"{kernel.name}, rows of {lengths}"
    given, source, target = inputs_of(kernel, lengths)
    x, begin, y = kernels.widened(given["x"]), given["begin"], np.zeros(given["x"].shape)
    state = given.get("state")
    own = state[:, 1] if kernel.state == "layer" else state
    new = None if own is None else own.astype(np.float64)
    for row, (first, end) in enumerate(zip(begin, begin[1:])):
        before = np.zeros((kernel.reach, kernel.channels)) if own is None else own[source[row]]
        y[first:end], last = convolved(x[first:end], given["w"], given.get("b", 0), before, kernel.dilation)
        if new is not None:
            new[target[row]] = last
    if kernel.activation:
        inside = slice(0, begin[-1])
        y[inside] = y[inside] / (1 + np.exp(-y[inside])) if kernel.activation == "silu" else np.tanh(y[inside])
    got, after = run(kernel, given)
    checks.near(f"{label}: output", got, y, 1e-2 if kernel.dtype != "f32" else 1e-6)
    if after is not None:
        mine = after[:, 1] if kernel.state == "layer" else after
        written = np.isin(np.arange(len(mine)), target)
        checks.equal(f"{label}: state", mine[written], new[written].astype(np.float32))
        checks.equal(f"{label}: other slots", mine[~written], own[~written])
        if kernel.state == "layer":
            checks.equal(f"{label}: other layer", after[:, 0], state[:, 0])
    for name, first, again in zip(("output", "state"), (got, after), run(kernel, given, 7, kernels.threads(7))):
        if first is not None:
            checks.equal(f"{label}: {name} of 7 workers", again, first)


def check_pieces(kernel, length, cut):
    given, *_ = inputs_of(kernel, [length], spare=0)
    whole, last = run(kernel, given)
    pieces, state = [], given["state"]
    for own in (slice(0, cut), slice(cut, length)):
        output, state = run(kernel, given | {"x": given["x"][own], "begin": np.array([0, own.stop - own.start], np.int32), "state": state})
        pieces.append(output)
    checks.equal(f"{kernel.name}: output of {length} tokens, cut at {cut}", np.concatenate(pieces), whole)
    checks.equal(f"{kernel.name}: state of {length} tokens, cut at {cut}", state, last)


KERNELS = [Kernel(1, 2), Kernel(32, 1, state="none"), Kernel(33, 4, activation="silu", bias=True), Kernel(64, 4, activation="silu", state="rows"), Kernel(96, 4, 3, bias=True, state="layer"),
           Kernel(128, 3, state="none", activation="tanh"), Kernel(160, 4, activation="silu", state="rows", dtype="bf16"), Kernel(32, 3, 9, state="layer"), Kernel(7, 5, 2, state="rows", dtype="f16")]
if tools.options:  # another instruction set
    KERNELS = [KERNELS[i] for i in (2, 3, 4, 6)]
declarations = "".join(f"attn.dim @{dim} min 0 max 65536\n" for dim in ("tokens", "rows", "slots"))
program = kernels.Program(tools, "short_conv", declarations + "".join(kernel.text() for kernel in KERNELS))
for kernel in KERNELS:
    for lengths in ([], [1], [0, 3, 0, 17], [2, 1, 0, 5, 30]):
        check(kernel, lengths)
    if kernel.state == "rows":
        check_pieces(kernel, 20, 1)
        check_pieces(kernel, 20, 13)
checks.finish()
