"""Cases of run.py for ops that keep a state for each sequence."""

import numpy as np
from linear_attention_formula import closed_form, convolved

random = np.random.RandomState(11)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int32)


def linear_attention(case, error):
    def inputs_of(queries, keys, values, channels, tokens, begin, decay=(), beta=False):
        states = max(keys, values)
        given = {"q": normal(tokens, queries, channels[0]), "k": normal(tokens, keys, channels[0]), "v": normal(tokens, values, channels[1]), "begin": begin}
        given.update({"decay": -np.abs(normal(tokens, states, *decay))} if decay is not None else {})
        given.update({"beta": 1 + np.tanh(normal(tokens, states))} if beta else {})
        return given

    def expected(given, heads, state, source, target, scale=1.0):
        """`heads`: of queries, keys and values, and the state, for each output."""
        y, new, begin = np.zeros((len(given["q"]), len(heads), given["v"].shape[2])), state.astype(np.float64), given["begin"]
        for row in range(len(begin) - 1):
            own = slice(begin[row], begin[row + 1])
            for i, (q, k, v, s) in enumerate(heads):
                decay, beta = (given[name][own, s] if name in given else None for name in ("decay", "beta"))
                y[own, i], new[target[row], s] = closed_form(given["q"][own, q], given["k"][own, k], given["v"][own, v], decay, beta, state[source[row], s], scale)
        return y, new

    begin = ints(0, 0, 4, 9)
    given = inputs_of(6, 1, 3, (5, 4), 11, begin, None)
    case("linear attention", "linear_attention", "linear", given, {"result0": expected(given, [(i, 0, i // 2, i // 2) for i in range(6)], np.zeros((3, 3, 5, 4)), range(3), range(3), 0.5)[0]})
    given, state = inputs_of(2, 2, 2, (5, 3), 9, begin), normal(3, 2, 5, 3)
    y, new = expected(given, [(i, i, i, i) for i in range(2)], state, range(3), range(3))
    case("linear attention gated", "linear_attention", "gated", {**given, "state": state}, {"result0": y, "result1": new})
    given, state = inputs_of(2, 2, 4, (4, 6), 9, begin, None, True), normal(5, 4, 4, 6)
    source, target = ints(3, 0, 0), ints(3, 4, 1)
    y, new = expected(given, [(i % 2, i % 2, i, i) for i in range(4)], state, source, target)
    slots = {"from": source, "to": target}
    delta = {**given, "state": state, **slots}
    case("linear attention delta", "linear_attention", "delta", delta, {"result0": y, "result1": new})
    given, state = inputs_of(1, 2, 1, (3, 2), 9, begin, (3,), True), normal(5, 2, 2, 3, 2)
    y, new = expected(given, [(0, i, 0, i) for i in range(2)], state[:, 1], source, target)
    layered = {**given, "state": state, "layer": np.array(1), **slots}
    case("linear attention gated delta", "linear_attention", "gated_delta", layered, {"result0": y, "result1": np.stack([state[:, 0], new], 1)})
    op = "'attn.linear_attention' op "
    error("linear_attention", "delta", {**delta, "begin": ints(0, 4, 3, 9)}, op + "rows[2] is 3, but must be within 4..9")
    error("linear_attention", "delta", {**delta, "v": normal(8, 4, 6)}, op + "has tensors of 9 and 8 tokens")
    error("linear_attention", "delta", {**delta, "from": ints(3, 0)}, op + "has 2 states for 3 rows")
    error("linear_attention", "delta", {**delta, "to": ints(3, 4, 5)}, op + "has slot 5 of row 2, but there are 5")
    error("linear_attention", "delta", {**delta, "to": ints(3, 4, 4)}, op + "writes slot 4 twice (row 2)")
    error("linear_attention", "delta", {**delta, "to": ints(3, 4, 0)}, op + "reads slot 0 for row 1 and writes it for row 2")
    error("linear_attention", "gated_delta", {**layered, "layer": np.array(2)}, op + "has the layer 2 of 2")


def short_conv(case, error):
    begin, x, w = ints(0, 0, 2, 9), normal(11, 3), normal(4, 3)
    y = np.zeros((11, 3))
    for first, end in zip(begin, begin[1:]):
        y[first:end] = convolved(x[first:end], w, 0, np.zeros((3, 3)))[0]
    case("short_conv", "linear_attention", "conv", {"x": x, "w": w, "begin": begin}, {"result0": y / (1 + np.exp(-y))})
    x, w, b, state, source, target = normal(9, 3), normal(3, 3), normal(3), normal(5, 2, 4, 3), ints(3, 0, 0), ints(3, 4, 1)
    y, new = np.zeros((9, 3)), state.astype(np.float64)
    for row in range(3):
        own = slice(begin[row], begin[row + 1])
        y[own], new[target[row], 1] = convolved(x[own], w, b, state[source[row], 1], 2)
    given = {"x": x, "w": w, "b": b, "begin": begin, "state": state, "layer": np.array(1), "from": source, "to": target}
    case("short_conv of a layer", "linear_attention", "conv_layer", given, {"result0": y, "result1": new})
    error("linear_attention", "conv_layer", {**given, "to": ints(3, 4, 4)}, "'attn.short_conv' op writes slot 4 twice (row 2)")
