#!/usr/bin/env python3
"""Compiled linear attention against its closed form in float64: sums over pairs of tokens, and for the delta rule a triangular system, where
the op is a recurrence. Rows of all lengths, heads shared in both directions, decays by head and by channel, states in slots; the same
bits for any number of workers, and for a text in pieces of a multiple of 8 tokens, or of 64 where these are computed at once. What no row may read is
NaN."""

import dataclasses

import numpy as np

import kernels
from linear_attention_formula import closed_form

tools = kernels.tools(__doc__)
MATMUL = next((option.partition("=")[2] for option in tools.options if option.startswith("--f32-matmul=")), "")
checks = kernels.Checks()
random = np.random.default_rng(23)


@dataclasses.dataclass(frozen=True)
class Kernel:
    kind: str
    queries: int
    keys: int
    values: int
    channels: tuple  # of keys, of values
    decay: str = ""  # by head, by channel
    pairing: str = "neighbors"
    state: str = "rows"  # none, rows, slots, layer
    dtype: str = "f32"
    scale: float = 1.0

    @property
    def states(self):
        return max(self.keys, self.values)

    @property
    def outputs(self):
        return max(self.states, self.queries)

    @property
    def is_chunked(self):
        """Whether a GPU's tensor cores compute 64 tokens at once."""
        return "--target=cuda" in tools.options and self.decay != "channel" and (self.dtype != "f32" or MATMUL != "")

    def bounds(self, exact):
        """Of outputs and of states: `exact` in f32. Chunks have a state of tf32."""
        state = 2e-3 if self.is_chunked and (self.dtype != "f32" or MATMUL == "tf32") else exact
        return (1e-2 if self.dtype != "f32" else state), state

    @property
    def name(self):
        pieces = [self.kind, self.queries, self.keys, self.values, *self.channels, self.decay, self.pairing[0], self.state, self.dtype]
        return "_".join(str(piece) for piece in pieces if piece != "")

    def paired(self, head, every, shared):
        return head // (every // shared) if self.pairing == "neighbors" else head % shared

    def text(self):
        def tensor(*shape, element="f32"):
            return "tensor<" + "x".join(str(n) for n in shape) + f"x{element}>"

        (dk, dv), element = self.channels, self.dtype
        types = [tensor("?", self.queries, dk, element=element), tensor("?", self.keys, dk, element=element), tensor("?", self.values, dv, element=element)]
        arguments = [(name, kind, "tokens") for name, kind in zip("qkv", types)]
        words = ""
        if self.decay:
            kind = tensor("?", self.states, *([dk] if self.decay == "channel" else []))
            arguments.append(("decay", kind, "tokens"))
            words += f" decay(%decay : {kind})"
        if "delta" in self.kind:
            arguments.append(("beta", tensor("?", self.states), "tokens"))
            words += f" beta(%beta : {arguments[-1][1]})"
        arguments.append(("begin", tensor("?", element="i32"), "rows+1"))
        words += " rows(%begin)"
        results = [("y", tensor("?", self.outputs, dv, element=element), "tokens")]
        if self.state != "none":
            kind, dim = tensor("?", *([3] if self.state == "layer" else []), self.states, dk, dv), "rows" if self.state == "rows" else "slots"
            arguments.append(("state", kind, dim))
            results.append(arguments[-1])
            words += f" state(%state : {kind})" + (" layer(%one)" if self.state == "layer" else "")
        if self.state in ("slots", "layer"):
            arguments += [(name, "tensor<?xi32>", "rows") for name in ("from", "to")]
            words += " slots(%from : tensor<?xi32>, %to : tensor<?xi32>)"
        words += f" scale {self.scale}" * (self.scale != 1) + " pairing remainder" * (self.pairing != "neighbors")
        shown = lambda mark, name, kind, dim: f'{mark}{kind} {{attn.name = "{name}", attn.dims = ["{dim}"]}}'
        made = ["%y", "%new"][:len(results)]
        return f"""
func.func @{self.name}({", ".join(shown(f"%{each[0]}: ", *each) for each in arguments)}) -> ({", ".join(shown("", *each) for each in results)}) attributes {{attn.entry}} {{
  %one = arith.constant 1 : index
  {", ".join(made)} = attn.linear_attention {self.kind} %q, %k, %v{words} : {", ".join([*types, "tensor<?xi32>"])}
  return {", ".join(made)} : {", ".join(kind for _, kind, _ in results)}
}}
"""


def expected(kernel, given, begin, source, target):
    """The op's results in float64; source and target are slots of the state's rows."""
    q, k, v = given["q"], given["k"], given["v"]
    output = np.zeros((len(q), kernel.outputs, kernel.channels[1]))
    state = given["state"].astype(np.float64) if kernel.state != "none" else np.zeros((len(begin) - 1, kernel.states, *kernel.channels))
    old, new = (state[:, 1], state[:, 1].copy()) if kernel.state == "layer" else (state, state.copy())
    for row, (first, end) in enumerate(zip(begin, begin[1:])):
        for s in range(kernel.states):
            own = slice(first, end)
            for o in range(kernel.outputs):
                if o // (kernel.outputs // kernel.states) != s:
                    continue
                heads = q[own, kernel.paired(o, kernel.outputs, kernel.queries)], k[own, kernel.paired(s, kernel.states, kernel.keys)], v[own, kernel.paired(s, kernel.states, kernel.values)]
                output[own, o], new[target[row], s] = closed_form(*heads, given["decay"][own, s] if kernel.decay else None,
                                                                  given["beta"][own, s].astype(np.float64) if "beta" in given else None, old[source[row], s], kernel.scale)
    if kernel.state == "layer":
        state = state.copy()
        state[:, 1] = new
        new = state
    return output, new


def inputs_of(kernel, lengths, spare=2, decays=(-2, 0)):
    """Arrays by name, in the order of arguments; tokens of no row are NaN."""
    (dk, dv), tokens, rows = kernel.channels, sum(lengths) + spare, len(lengths)
    begin = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)

    def normal(*shape):
        return random.standard_normal(shape).astype(np.float32)

    given = {"q": normal(tokens, kernel.queries, dk), "k": normal(tokens, kernel.keys, dk), "v": normal(tokens, kernel.values, dv)}
    given["k"] /= np.maximum(np.linalg.norm(given["k"], axis=-1, keepdims=True), 1e-6)
    given = {name: kernels.stored(array, kernel.dtype) for name, array in given.items()}
    if kernel.decay:
        given["decay"] = random.uniform(*decays, (tokens, kernel.states, *([dk] if kernel.decay == "channel" else []))).astype(np.float32)
    if "delta" in kernel.kind:
        given["beta"] = random.uniform(0, 2, (tokens, kernel.states)).astype(np.float32)
    for array in given.values():
        array[sum(lengths):] = np.nan if array.dtype == np.float32 else 0x7FC0
    given["begin"] = begin
    source = target = np.arange(rows, dtype=np.int32)
    if kernel.state != "none":
        slots = rows if kernel.state == "rows" else 2 * rows + 3
        given["state"] = normal(slots, *([3] if kernel.state == "layer" else []), kernel.states, dk, dv)
    if kernel.state in ("slots", "layer"):
        # Some rows go on in their slot, others begin in one that they leave as it is, all in slot 0.
        order = 1 + random.permutation(slots - 1).astype(np.int32)
        target = order[:rows]
        source = np.where(np.arange(rows) % 2 == 0, target, 0).astype(np.int32)
        unused = np.setdiff1d(np.arange(slots), np.concatenate([source, [0]]))
        given["state"][unused] = np.nan
        given |= {"from": source, "to": target}
    return given, source, target


def run(kernel, given, workers=2, executor=kernels.backwards):
    arrays, (tokens, rows) = list(given.values()), (len(given["q"]), len(given["begin"]) - 1)
    shape = (tokens, kernel.outputs, kernel.channels[1])
    place = list(given).index("state") if "state" in given else None
    slots = len(given["state"]) if kernel.state in ("slots", "layer") else 0
    made = program.compiled(kernel.name, arrays, [(shape, given["q"].dtype)], (tokens, rows, slots), executor, workers, () if place is None else (place,))
    return kernels.widened(made[0]), made[1] if place is not None else None


def check(kernel, lengths, decays=(-2, 0)):
    label = f"{kernel.name}, rows of {lengths}"
    given, source, target = inputs_of(kernel, lengths, decays=decays)
    wide = {name: kernels.widened(array) if name in "qkv" else array for name, array in given.items()}
    wide = {name: np.nan_to_num(array) if array.dtype == np.float32 and name != "state" else array for name, array in wide.items()}
    output, state = expected(kernel, wide, given["begin"], source, target)
    got, new = run(kernel, given)
    checks.near(f"{label}: output", got, output, kernel.bounds(2e-5)[0])
    if new is not None:
        written = np.zeros(len(new), bool)
        written[target] = True
        own = (slice(None), 1) if kernel.state == "layer" else slice(None)
        checks.near(f"{label}: state", new[own][written], state[own][written], kernel.bounds(2e-5)[1])
        checks.equal(f"{label}: other slots", new[~written], given["state"][~written])
        if kernel.state == "layer":
            checks.equal(f"{label}: other layers", new[:, [0, 2]], given["state"][:, [0, 2]])
    for workers in (1, 7) if not tools.device else ():
        again = run(kernel, given, workers, kernels.threads(workers))
        for name, first, second in zip(("output", "state"), (got, new), again):
            if first is not None:
                checks.equal(f"{label}: {name} of {workers} workers", second, first)


def check_pieces(kernel, length, cut, isWhole):
    """A text in two pieces gives the bits of the whole one where they are cut between tokens that are taken at once, and nearly so elsewhere."""
    given, *_ = inputs_of(kernel, [length], spare=0)
    whole, last = run(kernel, given)
    pieces, state = [], given["state"]
    for own in (slice(0, cut), slice(cut, length)):
        part = {name: array[own] if name in ("q", "k", "v", "decay", "beta") else array for name, array in given.items()}
        output, state = run(kernel, part | {"begin": np.array([0, own.stop - own.start], np.int32), "state": state})
        pieces.append(output)
    for what, got, expected, bound in zip(("output", "state"), (np.concatenate(pieces), state), (whole, last), kernel.bounds(2e-6)):
        name = f"{kernel.name}: {what} of {length} tokens, cut at {cut}"
        checks.equal(name, got, expected) if isWhole else checks.near(name, got, expected, bound)


def check_forgetting(kernel, length):
    """A decay of minus infinity is one whose exponential is 0."""
    given, *_ = inputs_of(kernel, [length], spare=0)
    given["decay"][7::11] = -np.inf
    results = run(kernel, given)
    finite = run(kernel, given | {"decay": np.maximum(given["decay"], -1e5)})
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
declarations = "".join(f"attn.dim @{dim} min 0 max 65536\n" for dim in ("tokens", "rows", "slots"))
program = kernels.Program(tools, "linear_attention", declarations + "".join(kernel.text() for kernel in KERNELS))
for kernel in KERNELS:
    for lengths in LENGTHS:
        check(kernel, lengths)
    if kernel.decay:
        check(kernel, [40], decays=(-30, -20))  # the exponential of their sum alone is 0 or overflows
        check(kernel, [40], decays=(-1e-6, 0))
        check_forgetting(kernel, 40)
    if kernel.state == "rows":
        at_once = 64 if kernel.is_chunked else 8
        for cut in (1, 3 * at_once, 4 * at_once) if at_once == 8 else (1, at_once):
            check_pieces(kernel, 4 * at_once + 1 if at_once == 8 else at_once + 30, cut, cut != 1)
checks.finish()
