"""Kernels of one op that keeps a state of each sequence, linear attention or a short convolution: their text, inputs, and results by the formulas of
linear_attention_formula.py."""

import dataclasses
import sys
from pathlib import Path

import numpy as np

import kernels

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Reference" / "numpy"))

from linear_attention_formula import closed_form, convolved  # noqa: E402

DECLARATIONS = "".join(f"attn.dim @{dim} min 0 max 65536\n" for dim in ("tokens", "rows", "slots"))
LAYERS = 3  # of states of a layer; the kernel's is the second


def tensor(*shape, element="f32"):
    return "tensor<" + "x".join(str(n) for n in shape) + f"x{element}>"


class Kernel:
    """What both have in common. `state`: none, rows (one for each), slots, layer (slots of states of several layers)."""

    def function(self, op, operands, arguments, output, words, state):
        """The text of an entry. `arguments`: (name, type, dim or None) of all before the rows; `output`: type and dim; `state`: extents of one."""
        arguments = [*arguments, ("begin", tensor("?", element="i32"), "rows+1")]
        results, words = [("y", *output)], words + " rows(%begin)"
        if self.state != "none":
            kind = tensor("?", *([LAYERS] if self.state == "layer" else []), *state)
            arguments.append(("state", kind, "rows" if self.state == "rows" else "slots"))
            results.append(arguments[-1])
            words += f" state(%state : {kind})" + (" layer(%one)" if self.state == "layer" else "")
        if self.state in ("slots", "layer"):
            arguments += [(name, "tensor<?xi32>", "rows") for name in ("from", "to")]
            words += " slots(%from : tensor<?xi32>, %to : tensor<?xi32>)"
        shown = lambda mark, name, kind, dim: f'{mark}{kind} {{attn.name = "{name}"' + (f', attn.dims = ["{dim}"]' if dim else "") + "}"
        made, types = ["%y", "%new"][:len(results)], [kind for name, kind, _ in arguments if name in operands]
        return f"""
func.func @{self.name}({", ".join(shown(f"%{each[0]}: ", *each) for each in arguments)}) -> ({", ".join(shown("", *each) for each in results)}) attributes {{attn.entry}} {{
  %one = arith.constant 1 : index
  {", ".join(made)} = attn.{op} {", ".join(f"%{name}" for name in operands)}{words}{self.last_words()} : {", ".join([*types, "tensor<?xi32>"])}
  return {", ".join(made)} : {", ".join(kind for _, kind, _ in results)}
}}
"""

    def last_words(self):
        return ""

    def states_given(self, random, rows, shape):
        """The arrays of the states and slots, where each row begins and what it writes. Some rows go on in their slot, others begin in one that they leave
        as it is, all in slot 0. Slots that no row reads are NaN."""
        source = target = np.arange(rows, dtype=np.int32)
        if self.state == "none":
            return {}, source, target
        slots = rows if self.state == "rows" else 2 * rows + 3
        state = random.standard_normal((slots, *([LAYERS] if self.state == "layer" else []), *shape)).astype(np.float32)
        if self.state == "rows":
            return {"state": state}, source, target
        target = (1 + random.permutation(slots - 1).astype(np.int32))[:rows]
        source = np.where(np.arange(rows) % 2 == 0, target, 0).astype(np.int32)
        state[np.setdiff1d(np.arange(slots), np.concatenate([source, [0]]))] = np.nan
        return {"state": state, "from": source, "to": target}, source, target

    def own_states(self, states):
        return states[:, 1] if self.state == "layer" else states

    def run(self, program, given, workers=2, executor=kernels.backwards):
        """The output and the new states (or None) of compiled code."""
        place = list(given).index("state") if "state" in given else None
        tokens, slots = len(next(iter(given.values()))), len(given["state"]) if self.state in ("slots", "layer") else 0
        made = program.compiled(self.name, list(given.values()), [self.output_of(given)], (tokens, len(given["begin"]) - 1, slots), executor, workers, () if place is None else (place,))
        return kernels.widened(made[0]), made[1] if place is not None else None

    def evaluated(self, program, given):
        """The same of the evaluator, in float64."""
        found = program.reference(self.name, given, ["y"] + ["state"] * (self.state != "none"))
        return found[0], found[1] if len(found) > 1 else None

    def compare(self, checks, label, given, target, found, expected, tolerance, of_states):
        """What a run has found with the formula's results; what a row does not write is as it was."""
        (got, after), (output, states) = found, expected
        checks.near(f"{label}: output", got, output, tolerance)
        if after is None:
            return
        mine, before = self.own_states(after), self.own_states(given["state"])
        written = np.isin(np.arange(len(mine)), target)
        checks.near(f"{label}: state", mine[written], states[written], of_states)
        checks.equal(f"{label}: other slots", mine[~written].astype(np.float32), before[~written])
        if self.state == "layer":
            checks.equal(f"{label}: other layers", after[:, [0, 2]].astype(np.float32), given["state"][:, [0, 2]])


@dataclasses.dataclass(frozen=True)
class LinearAttention(Kernel):
    kind: str
    queries: int
    keys: int
    values: int
    channels: tuple  # of keys, of values
    decay: str = ""  # by head, by channel
    pairing: str = "neighbors"
    state: str = "rows"
    dtype: str = "f32"
    scale: float = 1.0
    label: str = ""  # before the name

    @property
    def states(self):
        return max(self.keys, self.values)

    @property
    def outputs(self):
        return max(self.states, self.queries)

    @property
    def name(self):
        pieces = [self.label, self.kind, self.queries, self.keys, self.values, *self.channels, self.decay, self.pairing[0], self.state, self.dtype]
        return "_".join(str(piece) for piece in pieces if piece != "")

    def paired(self, head, every, shared):
        return head // (every // shared) if self.pairing == "neighbors" else head % shared

    def last_words(self):
        return f" scale {self.scale}" * (self.scale != 1) + " pairing remainder" * (self.pairing != "neighbors")

    def text(self):
        (dk, dv), element = self.channels, self.dtype
        arguments = [(name, tensor("?", heads, channels, element=element), "tokens")
                     for name, heads, channels in (("q", self.queries, dk), ("k", self.keys, dk), ("v", self.values, dv))]
        words = ""
        if self.decay:
            arguments.append(("decay", tensor("?", self.states, *([dk] if self.decay == "channel" else [])), "tokens"))
            words += f" decay(%decay : {arguments[-1][1]})"
        if "delta" in self.kind:
            arguments.append(("beta", tensor("?", self.states), "tokens"))
            words += f" beta(%beta : {arguments[-1][1]})"
        output = tensor("?", self.outputs, dv, element=element), "tokens"
        return self.function(f"linear_attention {self.kind}", "qkv", arguments, output, words, (self.states, dk, dv))

    def output_of(self, given):
        return (len(given["q"]), self.outputs, self.channels[1]), given["q"].dtype

    def inputs(self, random, lengths, spare=2, decays=(-2, 0), betas=(0, 2)):
        """Arrays by name, in the order of arguments, and the slots that rows read and write; tokens of no row are NaN."""
        (dk, dv), tokens = self.channels, sum(lengths) + spare

        def normal(*shape):
            return random.standard_normal(shape).astype(np.float32)

        given = {"q": normal(tokens, self.queries, dk), "k": normal(tokens, self.keys, dk), "v": normal(tokens, self.values, dv)}
        given["k"] /= np.maximum(np.linalg.norm(given["k"], axis=-1, keepdims=True), 1e-6)
        given = {name: kernels.stored(array, self.dtype) for name, array in given.items()}
        if self.decay:
            given["decay"] = random.uniform(*decays, (tokens, self.states, *([dk] if self.decay == "channel" else []))).astype(np.float32)
        if "delta" in self.kind:
            given["beta"] = random.uniform(*betas, (tokens, self.states)).astype(np.float32)
        for array in given.values():
            array[sum(lengths):] = np.nan if array.dtype == np.float32 else 0x7FC0
        given["begin"] = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        states, source, target = self.states_given(random, len(lengths), (self.states, dk, dv))
        return given | states, source, target

    def expected(self, given, source, target):
        """The op's results in float64, of states those of the kernel's layer; tokens of no row give zeros."""
        q, k, v = (np.nan_to_num(kernels.widened(given[name])) for name in "qkv")
        begin, output = given["begin"], np.zeros((len(q), self.outputs, self.channels[1]))
        old = self.own_states(given["state"]) if self.state != "none" else np.zeros((len(begin) - 1, self.states, *self.channels))
        new = old.astype(np.float64)
        for row, (first, end) in enumerate(zip(begin, begin[1:])):
            own = slice(first, end)
            for o in range(self.outputs):
                s = o // (self.outputs // self.states)
                heads = q[own, self.paired(o, self.outputs, self.queries)], k[own, self.paired(s, self.states, self.keys)], v[own, self.paired(s, self.states, self.values)]
                decay, beta = (given[name][own, s] if name in given else None for name in ("decay", "beta"))
                output[own, o], new[target[row], s] = closed_form(*heads, decay, None if beta is None else beta.astype(np.float64), old[source[row], s], self.scale)
        return output, new


@dataclasses.dataclass(frozen=True)
class ShortConv(Kernel):
    channels: int
    taps: int
    dilation: int = 1
    activation: str = ""
    bias: bool = False
    state: str = "slots"
    dtype: str = "f32"
    label: str = ""  # before the name

    @property
    def reach(self):
        return (self.taps - 1) * self.dilation

    @property
    def name(self):
        pieces = [self.label, "conv", self.channels, self.taps, self.dilation, self.activation, "bias" * self.bias, self.state, self.dtype]
        return "_".join(str(piece) for piece in pieces if piece != "")

    def text(self):
        x, vector = tensor("?", self.channels, element=self.dtype), tensor(self.channels)
        arguments = [("x", x, "tokens"), ("w", tensor(self.taps, self.channels), None)] + [("b", vector, None)] * self.bias
        words = f" bias(%b : {vector})" * self.bias + (f" activation {self.activation}" if self.activation else "") + f" dilation {self.dilation}"
        return self.function("short_conv", "xw", arguments, (x, "tokens"), words, (self.reach, self.channels))

    def output_of(self, given):
        return given["x"].shape, given["x"].dtype

    def inputs(self, random, lengths, spare=2, **_):
        normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
        given = {"x": kernels.stored(normal(sum(lengths) + spare, self.channels), self.dtype), "w": normal(self.taps, self.channels)}
        given |= {"b": normal(self.channels)} if self.bias else {}
        given["x"][sum(lengths):] = np.nan if self.dtype == "f32" else 0x7FC0
        given["begin"] = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        states, source, target = self.states_given(random, len(lengths), (self.reach, self.channels))
        return given | states, source, target

    def expected(self, given, source, target):
        x, begin = kernels.widened(given["x"]), given["begin"]
        y = np.zeros(x.shape)
        old = self.own_states(given["state"]) if self.state != "none" else np.zeros((len(begin) - 1, self.reach, self.channels))
        new = old.astype(np.float64)
        for row, (first, end) in enumerate(zip(begin, begin[1:])):
            y[first:end], new[target[row]] = convolved(x[first:end], given["w"], given.get("b", 0), old[source[row]], self.dilation)
        if self.activation:
            own = slice(0, begin[-1])
            y[own] = y[own] / (1 + np.exp(-y[own])) if self.activation == "silu" else np.tanh(y[own])
        return y, new
