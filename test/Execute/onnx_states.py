#!/usr/bin/env python3
"""LinearAttention and CausalConvWithState of ONNX (opset 27) as kernels: their layouts, update rules, gates and states, compiled and evaluated, against
the operators' definitions written here, and with --data against the project's node tests of release 1.22, which the definitions are compared with, too.

A node's tensors become a kernel's: sequences lie one behind the other, channels last, and states are rows of their own."""

import dataclasses
import tarfile

import numpy as np

import kernels
from state_kernels import DECLARATIONS, LinearAttention, ShortConv

PREFIXES = {"LinearAttention": "test_linear_attention_", "CausalConvWithState": "test_causal_conv_with_state_"}
INPUTS = {"LinearAttention": ("query", "key", "value", "past_state", "decay", "beta"), "CausalConvWithState": ("input", "weight", "bias", "past_state")}
TYPES = {1: np.float32, 10: np.float16, 11: np.float64}  # TensorProto.DataType


@dataclasses.dataclass
class Node:
    name: str
    op: str
    attributes: dict
    inputs: dict
    outputs: list = None  # as the node tests have them

    def get(self, key, otherwise):
        return self.attributes.get(key, otherwise)


# ---- definitions -----------------------------------------------------------------------------------------------------

def heads(x, count):
    """[batch, tokens, heads x channels] with heads of their own, in float64."""
    return x.astype(np.float64).reshape(*x.shape[:2], count, -1)


def scale_of(node, channels):
    return node.get("scale", 0.0) or channels**-0.5


def linear_attention(node):
    """Token by token. A state is [batch, heads of keys, key channels, value channels]; queries that share one are neighbors."""
    queries, count, rule = node.attributes["q_num_heads"], node.attributes["kv_num_heads"], node.get("update_rule", "gated_delta")
    q, k, v = (heads(node.inputs[name], n) for name, n in (("query", queries), ("key", count), ("value", count)))
    batch, tokens, _, dk = k.shape
    state = node.inputs.get("past_state", np.zeros((batch, count, dk, v.shape[-1]))).astype(np.float64)
    output = np.zeros((batch, tokens, queries, v.shape[-1]))
    for t in range(tokens):
        if "gated" in rule:
            state = state * np.exp(heads(node.inputs["decay"], count)[:, t, :, :, None])
        change = v[:, t]
        if "delta" in rule:
            change = node.inputs["beta"].astype(np.float64)[:, t, :, None] * (change - np.einsum("bhk,bhkv->bhv", k[:, t], state))
        state = state + k[:, t, :, :, None] * change[:, :, None, :]
        output[:, t] = scale_of(node, dk) * np.einsum("bhk,bhkv->bhv", q[:, t], np.repeat(state, queries // count, 1))
    return [output.reshape(batch, tokens, -1), state]


def causal_conv(node):
    """Position by position, of channels [batch, channels, positions]; the state has the last inputs, those before a short text too."""
    x, weight = (node.inputs[name].astype(np.float64) for name in ("input", "weight"))
    taps = weight.shape[-1]
    before = node.inputs.get("past_state", np.zeros((*x.shape[:2], taps - 1))).astype(np.float64)
    padded = np.concatenate([before, x], -1)
    y = np.stack([(padded[..., at:at + taps] * weight[:, 0]).sum(-1) for at in range(x.shape[-1])], -1)
    y = y + node.inputs["bias"].astype(np.float64)[:, None] if "bias" in node.inputs else y
    return [y / (1 + np.exp(-y)) if node.get("activation", "none") in ("silu", "swish") else y, padded[..., x.shape[-1]:]]


# ---- kernels ---------------------------------------------------------------------------------------------------------

def packed(x, *extents):
    """[batch, tokens, ...] as tokens one behind the other."""
    return np.ascontiguousarray(x).reshape(x.shape[0] * x.shape[1], *extents)


def begin_of(batch, tokens):
    return (tokens * np.arange(batch + 1)).astype(np.int32)


def of_linear_attention(node, label):
    """The kernel, its arrays, and what makes a node's outputs of its results."""
    q, k, v = (node.inputs[name] for name in ("query", "key", "value"))
    (batch, tokens, _), queries, count = q.shape, node.attributes["q_num_heads"], node.attributes["kv_num_heads"]
    dk, dv, rule = k.shape[2] // count, v.shape[2] // count, node.get("update_rule", "gated_delta")
    element, given = "f16" if q.dtype == np.float16 else "f32", {"q": packed(q, queries, dk), "k": packed(k, count, dk), "v": packed(v, count, dv)}
    decay = ""
    if "gated" in rule:
        decay = "head" if node.inputs["decay"].shape[2] == count else "channel"
        given["decay"] = packed(node.inputs["decay"], count, *([dk] if decay == "channel" else [])).astype(np.float32)
    if "delta" in rule:
        given["beta"] = packed(np.broadcast_to(node.inputs["beta"], (batch, tokens, count)), count).astype(np.float32)
    given |= {"begin": begin_of(batch, tokens), "state": node.inputs.get("past_state", np.zeros((batch, count, dk, dv))).astype(np.float32)}
    kernel = LinearAttention(rule, queries, count, count, (dk, dv), decay, dtype=element, scale=scale_of(node, dk), label=label)
    return kernel, given, lambda output, state: [output.reshape(batch, tokens, -1), state]


def of_causal_conv(node, label):
    x, weight = node.inputs["input"], node.inputs["weight"]
    (batch, channels, length), taps = x.shape, weight.shape[-1]
    given = {"x": packed(x.swapaxes(1, 2), channels), "w": np.ascontiguousarray(weight[:, 0].T).astype(np.float32)}
    given |= {"b": node.inputs["bias"].astype(np.float32)} if "bias" in node.inputs else {}
    past = node.inputs.get("past_state", np.zeros((batch, channels, taps - 1)))
    given |= {"begin": begin_of(batch, length), "state": np.ascontiguousarray(past.swapaxes(1, 2)).astype(np.float32)}
    activation = {"none": "", "swish": "silu"}.get(node.get("activation", "none"), node.get("activation", "none"))
    kernel = ShortConv(channels, taps, 1, activation, "bias" in node.inputs, "rows", "f16" if x.dtype == np.float16 else "f32", label)
    return kernel, given, lambda output, state: [output.reshape(batch, length, channels).swapaxes(1, 2), state.swapaxes(1, 2)]


DEFINITIONS = {"LinearAttention": linear_attention, "CausalConvWithState": causal_conv}
KERNELS = {"LinearAttention": of_linear_attention, "CausalConvWithState": of_causal_conv}


# ---- nodes -----------------------------------------------------------------------------------------------------------

def drawn():
    """Nodes of which the node tests have few or none: the delta rule alone, decays by head, a scale, states of several queries, one token."""
    random = np.random.default_rng(31)
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)

    def attention(name, rule, batch, tokens, queries, count, dk, dv, past=True, decay="head", betas=None, **attributes):
        k = normal(batch, tokens, count, dk)
        inputs = {"query": normal(batch, tokens, queries * dk), "key": (k / np.linalg.norm(k, axis=-1, keepdims=True)).reshape(batch, tokens, -1), "value": normal(batch, tokens, count * dv)}
        inputs |= {"past_state": normal(batch, count, dk, dv)} if past else {}
        inputs |= {"decay": -np.abs(normal(batch, tokens, count * (dk if decay == "channel" else 1)))} if "gated" in rule else {}
        inputs |= {"beta": random.uniform(0, 2, (batch, tokens, betas or count)).astype(np.float32)} if "delta" in rule else {}
        return Node(name, "LinearAttention", {"q_num_heads": queries, "kv_num_heads": count, "update_rule": rule, **attributes}, inputs)

    def conv(name, batch, channels, length, taps, past=True, bias=True, **attributes):
        inputs = {"input": normal(batch, channels, length), "weight": normal(channels, 1, taps)} | ({"bias": normal(channels)} if bias else {})
        return Node(name, "CausalConvWithState", attributes, inputs | ({"past_state": normal(batch, channels, taps - 1)} if past else {}))

    return [attention("linear_scale", "linear", 2, 5, 4, 2, 3, 7, scale=0.5), attention("gated_channels", "gated", 2, 65, 2, 2, 16, 8, decay="channel"),
            attention("delta", "delta", 3, 17, 2, 2, 8, 16), attention("delta_queries", "delta", 1, 9, 6, 2, 5, 4, past=False, betas=1, scale=-1.0),
            attention("gated_delta_channels", "gated_delta", 2, 33, 3, 3, 13, 32, decay="channel"), attention("token", "gated_delta", 2, 1, 4, 1, 32, 32, betas=1),
            attention("zero_scale", "gated", 1, 3, 1, 1, 4, 4, past=False, scale=0.0), conv("swish", 2, 33, 9, 4, activation="swish"),
            conv("short", 3, 7, 1, 5), conv("plain", 1, 64, 40, 2, past=False, bias=False, activation="none")]


def fields(data):
    """(number, value) of the fields of a protobuf message: integers, or bytes."""
    at, end = 0, len(data)

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
            if byte < 128:
                return value

    while at < end:
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        yield key >> 3, data[at:at + size]
        at += size


def all_of(data, number):
    return [value for found, value in fields(data) if found == number]


def array_of(data):
    """A TensorProto whose numbers are raw."""
    known = dict(fields(data))
    extents = [value for number, value in fields(data) if number == 1 and isinstance(value, int)]
    for part in (value for number, value in fields(data) if number == 1 and not isinstance(value, int)):  # they may be packed
        extents += [value for value in part if value < 128]
    return np.frombuffer(known[9], TYPES[known[2]]).reshape(extents)


def attribute_of(data):
    """(name, value) of an AttributeProto: a float, an integer or a text."""
    known = dict(fields(data))
    value = np.frombuffer(known[2], np.float32)[0].item() if 2 in known else known[3] if 3 in known else known[4].decode()
    return known[1].decode(), value


def read(archive):
    """The nodes of the node tests, but for the cases that have the operator's function body in its place."""
    with tarfile.open(archive) as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar if member.isfile() and member.name.startswith(tuple(PREFIXES.values()))}
    for folder in sorted({name.split("/")[0] for name in files}):
        if folder.endswith("_expanded"):
            continue
        graph = all_of(files[f"{folder}/model.onnx"], 7)[0]
        node = all_of(graph, 1)[0]
        op, attributes = all_of(node, 4)[0].decode(), dict(map(attribute_of, all_of(node, 5)))
        tensor = lambda kind, n: array_of(files[f"{folder}/test_data_set_0/{kind}_{n}.pb"])
        given = {all_of(value, 1)[0].decode(): tensor("input", n) for n, value in enumerate(all_of(graph, 11))}
        inputs = {role: given[name.decode()] for role, name in zip(INPUTS[op], all_of(node, 1)) if name}
        yield Node(folder, op, attributes, inputs, [tensor("output", n) for n in range(len(all_of(graph, 12)))])


def main():
    tools = kernels.tools(__doc__, lambda parser: parser.add_argument("--data", help="node-tests.tar.gz of the node tests"))
    checks = kernels.Checks()
    nodes = drawn() if not tools.data else list(read(tools.data))
    made = [KERNELS[node.op](node, f"n{number}") for number, node in enumerate(nodes)]
    program = kernels.Program(tools, "onnx_states", DECLARATIONS + "".join(kernel.text() for kernel, _, _ in made))
    for node, (kernel, given, back) in zip(nodes, made):
        defined, wide = DEFINITIONS[node.op](node), 1e-5 if kernel.dtype == "f32" else 2e-3
        for number, output in enumerate(node.outputs or ()):
            checks.near(f"{node.name}: the definition's output {number}", defined[number], output, 1e-5 if output.dtype == np.float32 else 2e-3)
        for way, found in (("compiled", kernel.run(program, given)), *([("evaluated", kernel.evaluated(program, given))] if not tools.options else [])):
            for number, output in enumerate(back(*found)):
                checks.near(f"{node.name}: {way} output {number}", output, defined[number], wide)
    print(f"{len(nodes)} nodes: " + ", ".join(f"{sum(node.op == op for node in nodes)} of {op}" for op in PREFIXES))
    checks.finish()


if __name__ == "__main__":
    main()
