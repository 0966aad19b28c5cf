#!/usr/bin/env python3
"""Compiled recurrent cells against PyTorch's formulas in float64, on rows of all lengths, and with the same bits for any number
of workers. Also states that are updated in place, and activations side by side."""

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks = kernels.Checks()
random = np.random.default_rng(5)
PARTS = {"rnn_tanh": 1, "rnn_relu": 1, "gru": 3, "lstm": 4}
# Cells of each kind: h, whether it has a bias, whether it runs backwards, the weight's type. Cells with h = 1 start from zeros.
CELLS = [(kind, h, kind == "gru" or h == 7, backwards, "f32") for kind in PARTS for h, backwards in ((1, False), (7, True), (33, False), (33, True))]
if tools.options:  # another instruction set: one of each kind
    CELLS = [shape for shape in CELLS if shape[1] == 33 and shape[3]]
CELLS += [("lstm", 512, False, False, "f32"), ("gru", 512, True, True, "f32"), ("lstm", 33, True, False, "bf16")]
LENGTHS = {0: [], 1: [13], 2: [0, 1], 5: [3, 0, 9, 1, 4], 8: [2] * 8, 17: [0, 6, 1, 1, 0, 3, 11, 2, 5, 4, 7, 1, 0, 9, 2, 3, 1]}


PANELS = kernels.takes_panels(tools)
LAYOUT = "{layout = #attn_cpu.panels<columns = 32, interleave = 1>}" if PANELS else ""


def pad(n):
    """Columns in memory, where weights come in panels."""
    return (n + 31) // 32 * 32 if PANELS else n


def grouped(x, columns):
    """The last dim in groups of `columns`, each padded with zeros."""
    parts = x.shape[-1] // columns
    wide = np.zeros(x.shape[:-1] + (parts, pad(columns)), x.dtype)
    wide[..., :columns] = x.reshape(x.shape[:-1] + (parts, columns))
    return wide.reshape(x.shape[:-1] + (parts * pad(columns),))


def panels(w):
    return np.ascontiguousarray(w.reshape(w.shape[0], -1, 32).transpose(1, 0, 2)) if PANELS else w


def weight(k, n, element="f32"):
    """The type of a weight."""
    return f"tensor<{n // 32}x{k}x32x{element}>" if PANELS else f"tensor<{k}x{n}x{element}>"


def bf16(x):
    bits = x.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def name_of(kind, h, bias, backwards, dtype):
    return f"{kind}_{h}_{'bias' if bias else 'plain'}_{'reverse' if backwards else 'forward'}_{dtype}"


def cell(kind, h, bias, backwards, dtype):
    """The kernel's text."""
    width, parts = pad(h), PARTS[kind]
    tensor = lambda *shape, element="f32": "tensor<" + "x".join(str(n) for n in shape) + f"x{element}>"
    arguments = [("x", tensor("?", parts * width), "tokens"), ("w", weight(h, parts * width, dtype), None),
                 ("begin", tensor("?", element="i32"), "rows+1")]
    arguments += [("b", tensor(parts * width), None)] if bias else []
    states = ["h", "c"] if kind == "lstm" else ["h"]
    state = tensor("?", width)
    initial = states if h != 1 else []
    arguments += [(name, state, "rows") for name in initial]
    results = [("y", state, "tokens")] + [(name + "n", state, "rows") for name in states]
    show = lambda name, type_, dim, mark: f'{mark}{type_} {{attn.name = "{name}"' + (f', attn.dims = ["{dim}"]' if dim else "") + "}"
    return f"""
func.func @{name_of(kind, h, bias, backwards, dtype)}({", ".join(show(*a, f"%{a[0]}: ") for a in arguments)})
    -> ({", ".join(show(*r, "") for r in results)}) attributes {{attn.entry}} {{
  %y, %s:{len(states)} = attn.recurrence {kind} %x, %w {f"bias(%b : {tensor(parts * width)})" if bias else ""} rows(%begin)
    {f"init({', '.join('%' + s for s in initial)})" if initial else ""} {"reverse" if backwards else ""} {LAYOUT}
    : {", ".join([arguments[0][1], arguments[1][1], "tensor<?xi32>"] + [state] * len(initial))}
  return %y, {", ".join(f"%s#{i}" for i in range(len(states)))} : {", ".join([state] * (1 + len(states)))}
}}
"""


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def formula(kind, x, w, b, begin, state, backwards):
    """torch.nn.RNN, GRU and LSTM, one row after the other: output and last states, float64."""
    h_size, out, last = w.shape[0], np.zeros((len(x), w.shape[0])), [s.astype(np.float64) for s in state]
    for row, (first, end) in enumerate(zip(begin, begin[1:])):
        h, c = last[0][row], last[-1][row]
        for t in range(end - 1, first - 1, -1) if backwards else range(first, end):
            own, p = np.split(x[t].astype(np.float64), PARTS[kind]), np.split(h @ w + b, PARTS[kind])
            if kind == "lstm":
                i, f, g, o = (u + v for u, v in zip(own, p))
                c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
                h = sigmoid(o) * np.tanh(c)
            elif kind == "gru":
                r, z = sigmoid(own[0] + p[0]), sigmoid(own[1] + p[1])
                n = np.tanh(own[2] + r * p[2])
                h = (1 - z) * n + z * h
            else:
                h = np.tanh(own[0] + p[0]) if kind == "rnn_tanh" else np.maximum(own[0] + p[0], 0)
            out[t] = h
        last[0][row] = h
        if kind == "lstm":
            last[1][row] = c
    return [out, *last]


def check_cell(kind, h, bias, backwards, dtype, lengths):
    label = f"{name_of(kind, h, bias, backwards, dtype)} {len(lengths)} rows"
    columns, rows = PARTS[kind] * h, len(lengths)
    begin = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    spare = 2  # tokens of no row
    x = random.standard_normal((begin[-1] + spare, columns)).astype(np.float32)
    w = (random.standard_normal((h, columns)) / np.sqrt(h)).astype(np.float32)
    b = random.standard_normal(columns).astype(np.float32) if bias else np.zeros(columns, np.float32)
    state = [random.standard_normal((rows, h)).astype(np.float32) * (h != 1) for _ in range(2 if kind == "lstm" else 1)]
    packed = panels(grouped(w, h))
    if dtype == "bf16":
        packed = bf16(packed)
        w = (bf16(w).astype(np.uint32) << 16).view(np.float32)
    want = formula(kind, x, w.astype(np.float64), b, begin, state, backwards)
    inputs = [grouped(x, h), packed, begin, *([grouped(b, h)] if bias else []), *(grouped(s, h) for s in state if h != 1)]
    first = None
    for workers in (1, 2, 7):
        outputs = program.compiled(name_of(kind, h, bias, backwards, dtype), inputs, [value.shape[:-1] + (pad(h),) for value in want],
                                   (len(x), rows, 0), kernels.threads(workers), workers)
        if first is None:
            first = outputs
            for name, got, value in zip(("output", "h", "c"), outputs, want):
                checks.near(f"{label} {name}", got, grouped(value, h), 3e-6)  # zeros in the padding, too
        else:
            for name, got, value in zip(("output", "h", "c"), outputs, first):
                checks.equal(f"{label} {name} of {workers} workers", got, value)


# Kernels that keep the last states alone, a stack of three bidirectional layers that share their weights, and states.
STATE = f"""
func.func @last(%x: tensor<?x{pad(20)}xf32> {{attn.name = "x", attn.dims = ["tokens"]}}, %w: {weight(20, pad(20))} {{attn.name = "w"}}, %begin: tensor<?xi32> {{attn.name = "begin", attn.dims = ["rows+1"]}}) -> (tensor<?x{pad(20)}xf32> {{attn.name = "h", attn.dims = ["rows"]}}) attributes {{attn.entry}} {{
  %y, %h = attn.recurrence rnn_tanh %x, %w rows(%begin) {LAYOUT} : tensor<?x{pad(20)}xf32>, {weight(20, pad(20))}, tensor<?xi32>
  return %h : tensor<?x{pad(20)}xf32>
}}
func.func @stack(%x: tensor<?x64xf32> {{attn.name = "x", attn.dims = ["tokens"]}}, %wi: {weight(64, 32)} {{attn.name = "wi"}}, %w: {weight(32, 32)} {{attn.name = "w"}}, %begin: tensor<?xi32> {{attn.name = "begin", attn.dims = ["rows+1"]}}) -> (tensor<?x64xf32> {{attn.name = "y", attn.dims = ["tokens"]}}) attributes {{attn.entry}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0 = scf.for %layer = %c0 to %c3 step %c1 iter_args(%a = %x) -> (tensor<?x64xf32>) {{
    %g = attn.linear %a, %wi {LAYOUT} : tensor<?x64xf32>, {weight(64, 32)} -> tensor<?x32xf32>
    %y, %h = attn.recurrence rnn_tanh %g, %w rows(%begin) {LAYOUT} : tensor<?x32xf32>, {weight(32, 32)}, tensor<?xi32>
    %z, %k = attn.recurrence rnn_tanh %g, %w rows(%begin) reverse {LAYOUT} : tensor<?x32xf32>, {weight(32, 32)}, tensor<?xi32>
    %both = attn.concat %y, %z : tensor<?x32xf32>, tensor<?x32xf32>
    scf.yield %both : tensor<?x64xf32>
  }}
  return %0 : tensor<?x64xf32>
}}
"""
STATE += """func.func @step_33(%s: tensor<?x3x33xf32> {attn.name = "s", attn.dims = ["slots"]}, %v: tensor<?x33xf32> {attn.name = "v", attn.dims = ["tokens"]}, %rows: tensor<?xi32> {attn.name = "rows", attn.dims = ["tokens"]}) -> (tensor<?x3x33xf32> {attn.name = "s", attn.dims = ["slots"]}) attributes {attn.entry} {
  %c1 = arith.constant 1 : index
  %0 = attn.update_rows %s[%c1], %v, %rows : tensor<?x3x33xf32>, tensor<?x33xf32>, tensor<?xi32>
  return %0 : tensor<?x3x33xf32>
}
func.func @step_64(%s: tensor<?x2x64xf32> {attn.name = "s", attn.dims = ["slots"]}, %v: tensor<?x64xf32> {attn.name = "v", attn.dims = ["tokens"]}, %rows: tensor<?xi32> {attn.name = "rows", attn.dims = ["tokens"]}) -> (tensor<?x2x64xf32> {attn.name = "s", attn.dims = ["slots"]}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %0 = scf.for %layer = %c0 to %c2 step %c1 iter_args(%state = %s) -> (tensor<?x2x64xf32>) {
    %old = attn.select_rows %state[%layer], %rows : tensor<?x2x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
    %new = arith.addf %old, %v : tensor<?x64xf32>
    %next = attn.update_rows %state[%layer], %new, %rows : tensor<?x2x64xf32>, tensor<?x64xf32>, tensor<?xi32>
    scf.yield %next : tensor<?x2x64xf32>
  }
  return %0 : tensor<?x2x64xf32>
}
"""
CONCATS = [(33, 32), (1, 1), (31, 1, 64), (7, 64, 33), (64, 32), (96,)]


def concat(columns):
    name, dim = "concat_" + "_".join(map(str, columns)), ', attn.dims = ["tokens"]}'
    types = [f"tensor<?x{pad(n)}xf32>" for n in columns]
    result = f"tensor<?x{pad(sum(columns))}xf32>"
    return f"""
func.func @{name}({", ".join(f'%x{i}: {t} {{attn.name = "x{i}"{dim}' for i, t in enumerate(types))}) -> ({result} {{attn.name = "y"{dim}) attributes {{attn.entry}} {{
  %y = attn.concat {", ".join(f"%x{i}" for i in range(len(types)))} columns [{", ".join(map(str, columns))}] width {pad(sum(columns))} : {", ".join(types)}
  return %y : {result}
}}
"""


def check_stacks():
    begin = np.array([0, 4, 4, 13], np.int32)
    x, w = random.standard_normal((15, 20), np.float32), (random.standard_normal((20, 20)) / 4).astype(np.float32)
    got, = program.compiled("last", [grouped(x, 20), panels(grouped(w, 20)), begin], [(3, pad(20))], (15, 3, 0))
    checks.near("last states alone", got, grouped(formula("rnn_tanh", x, w, 0, begin, [np.zeros((3, 20))], False)[1], 20), 3e-6)
    x, wi, w = (random.standard_normal((rows, columns), np.float32) / np.float32(np.sqrt(rows)) for rows, columns in ((15, 64), (64, 32), (32, 32)))
    got, = program.compiled("stack", [x, panels(wi), panels(w), begin], [(15, 64)], (15, 3, 0))
    for _ in range(3):
        gates = x.astype(np.float64) @ wi
        x = np.concatenate([formula("rnn_tanh", gates, w, 0, begin, [np.zeros((3, 32))], backwards)[0] for backwards in (False, True)], 1)
    checks.near("a stack of layers", got, x, 3e-6)


def check_states():
    for tokens, slots in ((0, 4), (1, 1), (5, 9)):
        rows = random.permutation(slots)[:tokens].astype(np.int32)
        for name, layers, columns in (("step_33", 3, 33), ("step_64", 2, 64)):
            state, values = random.standard_normal((slots, layers, columns), np.float32), random.standard_normal((tokens, columns), np.float32)
            want = state.copy()
            if name == "step_33":
                want[rows, 1] = values
            else:
                want[rows] += values[:, None]
            got, = program.compiled(name, [state, values, rows], [], (tokens, 0, slots), in_place=(0,))
            checks.equal(f"{name} of {tokens} rows", got, want)
    for columns in CONCATS:
        for tokens in (0, 1, 5):
            parts = [random.standard_normal((tokens, n), np.float32) for n in columns]
            got, = program.compiled("concat_" + "_".join(map(str, columns)), [grouped(p, p.shape[1]) for p in parts],
                                    [(tokens, pad(sum(columns)))], (tokens, 0, 0))
            checks.equal(f"concat of {columns}, {tokens} rows", got, grouped(np.concatenate(parts, 1), sum(columns)))


declarations = "attn.dim @tokens min 0 max 65536\nattn.dim @rows min 0 max 65536\nattn.dim @slots min 0 max 65536\n"
program = kernels.Program(tools, "recurrence", declarations + "".join(cell(*c) for c in CELLS) + STATE + "".join(map(concat, CONCATS)))
for shape in CELLS:
    for number, lengths in LENGTHS.items():
        if shape[1] != 512 or number in (1, 5):
            check_cell(*shape, lengths)
check_stacks()
check_states()
checks.finish()
