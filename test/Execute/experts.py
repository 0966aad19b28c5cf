#!/usr/bin/env python3
"""Mixtures of experts, compiled and by the reference, against numpy in float64: tokens of 0, 1, few and many rows; experts that get all tokens, one, or none;
experts whose columns fill no panel; biases, gates, weights [n, k], bf16, NaN, equal scores, groups of experts; and weights of a weight file in every type."""

import subprocess
from pathlib import Path

import numpy as np

import kernels
import packed_model
import passed
import resident

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(41)
# name: kind, logits, experts, chosen, whether there is a bias, (kept, groups, by) or None, whether it is normalized or the floor of the sum, scale
ROUTES = {
    "plain": ("softmax", 128, 128, 8, False, None, False, None),
    "normalized": ("softmax", 8, 8, 2, False, None, True, None),
    "one": ("softmax", 1, 1, 1, False, None, True, None),
    "first_logits": ("softmax", 35, 33, 33, False, None, False, 0.5),
    "sigmoids": ("sigmoid", 60, 60, 6, True, None, True, 2.5),
    "grouped": ("sigmoid", 64, 64, 8, True, (4, 8, 2), True, 2.5),
    "grouped_by_most": ("softmax", 40, 40, 6, False, (3, 8, 1), False, 16.0),
    "biased": ("softmax", 24, 24, 4, True, None, False, None),
    "floored": ("sigmoid", 16, 16, 3, True, None, 0.25, 2.0),
}
# name: rows of the weight that are summed, columns of a matrix, matrices, elements of input and weight, whether weights are [n, k], extra operands, epilogue
LINEARS = {
    "panels": (64, 96, 5, "f32", False, (), ""),
    "biased_panels": (40, 64, 7, "f32", False, ("bias", "residual"), "%0 = arith.addf %sum, %bias : f32\n%1 = arith.mulf %0, %residual : f32"),
    "primes": (37, 67, 3, "f32", False, ("bias",), "%1 = arith.addf %sum, %bias : f32"),
    "rows": (72, 64, 4, "f32", True, (), ""),
    "half": (96, 32, 6, "bf16", False, ("bias",), "%1 = arith.addf %sum, %bias : f32"),
    "half_rows": (33, 20, 6, "bf16", True, ("bias",), "%1 = arith.addf %sum, %bias : f32"),
    "one_matrix": (32, 32, 1, "f32", False, (), ""),
}
# experts, those of a token, and tokens: where a token has several, a kernel alone must know how many rows they are
ORDERS = {"few": (3, 2, 5), "many": (130, 4, 61), "none": (7, 3, 0), "each": (1, 1, "?"), "own": (40, 1, "?")}
# columns, rows of a sum, elements, whether indices say which rows
SUMS = {"wide": (96, 4, "f32", True), "narrow": (20, 3, "f32", True), "halves": (64, 2, "bf16", True), "alone": (32, 1, "f32", True),
        "adjacent": (96, 3, "f32", False), "scaled": (32, 1, "f32", False), "scaled_narrow": (7, 1, "f32", False)}


def route_text(name, kind, logits, experts, chosen, bias, within, normalized, scale):
    biased = f', %bias: tensor<{experts}xf32> {{attn.name = "bias"}}' if bias else ""
    how = f" of {experts}" + (f" within {within[0]} of {within[1]} groups by {within[2]}" if within else "") + (" normalized" if normalized else "") + (f" scale {scale}" if scale else "")
    how += "" if isinstance(normalized, bool) else f" floor {normalized}"
    types = f"tensor<?x{logits}xf32>" + (f", tensor<{experts}xf32>" if bias else "")
    w, e = f"tensor<?x{chosen}xf32>", f"tensor<?x{chosen}xi32>"
    return f"""func.func @route_{name}(%x: tensor<?x{logits}xf32> {{attn.name = "x", attn.dims = ["tokens"]}}{biased}) -> ({w} {{attn.name = "w", attn.dims = ["tokens"]}}, {e} {{attn.name = "e", attn.dims = ["tokens"]}}) attributes {{attn.entry}} {{
%w, %e = attn.route {kind} %x{', %bias' if bias else ''}{how} : {types} -> {w}, {e}
return %w, %e : {w}, {e}
}}
"""


def routed(x, bias, kind, experts, chosen, within, normalized, scale):
    """By the definition: sorts of numpy, in which NaN is replaced."""
    x = x[:, :experts].astype(np.float64)
    with np.errstate(all="ignore"):
        scores = 1 / (1 + np.exp(-x)) if kind == "sigmoid" else np.exp(x - np.fmax.reduce(x, 1, initial=-np.inf)[:, None])
        scores = scores / scores.sum(1, keepdims=True) if kind == "softmax" else scores
    numbers = scores + (0 if bias is None else bias.astype(np.float64))
    numbers = np.where(np.isnan(numbers), -np.inf, numbers)
    if within:
        kept, groups, by = within
        of_group = np.sort(numbers.reshape(len(x), groups, experts // groups), -1)[..., -by:].sum(-1)
        best = np.argsort(-of_group, 1, kind="stable")[:, :kept]
        allowed = np.zeros((len(x), groups), bool)
        np.put_along_axis(allowed, best, True, 1)
        allowed = np.repeat(allowed, experts // groups, 1)
        order = np.lexsort((np.broadcast_to(np.arange(experts), numbers.shape), -numbers, ~allowed), 1)
    else:
        order = np.argsort(-numbers, 1, kind="stable")
    found = order[:, :chosen]
    weights = np.take_along_axis(scores, found, 1)
    if normalized:
        weights = weights / (weights.sum(1, keepdims=True) + (1e-20 if normalized is True else normalized))
    return weights * (scale or 1), found.astype(np.int32)


def order_text(name, experts, chosen, tokens):
    e, groups = f"tensor<{tokens}x{chosen}xi32>", f"tensor<{experts + 1}x2xi32>"
    rows, dims = f"tensor<{tokens if tokens == '?' else tokens * chosen}xi32>", ', attn.dims = ["tokens"]' if tokens == "?" else ""
    return f"""func.func @order_{name}(%e: {e} {{attn.name = "e"{dims}}}) -> ({rows} {{attn.name = "rows"{dims}}}, {e} {{attn.name = "indices"{dims}}}, {groups} {{attn.name = "groups"}}) attributes {{attn.entry}} {{
%r, %p, %g = attn.group_rows %e : {e} -> {rows}, {e}, {groups}
return %r, %p, %g : {rows}, {e}, {groups}
}}
"""


def ordered(e, experts):
    order = np.argsort(e.reshape(-1), kind="stable")
    indices = np.empty(e.size, np.int32)
    indices[order] = np.arange(e.size)
    counts = np.bincount(e.reshape(-1), minlength=experts)
    used = np.flatnonzero(counts)
    groups = np.zeros((experts + 1, 2), np.int32)
    groups[:, 0] = e.size
    groups[:len(used), 0], groups[:len(used), 1] = np.cumsum(counts)[used] - counts[used], used
    return (order // e.shape[1]).astype(np.int32), indices.reshape(e.shape), groups


def linear_text(name, k, n, matrices, element, transposed, extras, body):
    weight = f"tensor<{n * matrices}x{k}x{element}>" if transposed else f"tensor<{k}x{n * matrices}x{element}>"
    kinds = {"bias": f"tensor<{n * matrices}xf32>", "residual": f"tensor<?x{n}xf32>"}
    x, y, groups = f"tensor<?x{k}x{element}>", f"tensor<?x{n}xf32>", f"tensor<{matrices + 1}x2xi32>"
    rows = ', attn.dims = ["tokens"]'
    given = "".join(f', %in_{extra}: {kinds[extra]} {{attn.name = "{extra}"{rows if "?" in kinds[extra] else ""}}}' for extra in extras)
    named = f", ({', '.join(f'%in_{extra}' for extra in extras)})" if extras else ""
    types = f", ({', '.join(kinds[extra] for extra in extras)})" if extras else ""
    arguments = ", ".join(["%sum: f32"] + [f"%{extra}: f32" for extra in extras])
    region = f" {{\n^bb0({arguments}):\n{body}\nattn.yield %1 : f32\n}}" if body else ""
    return f"""func.func @linear_{name}(%x: {x} {{attn.name = "x"{rows}}}, %w: {weight} {{attn.name = "w"}}{given}, %groups: {groups} {{attn.name = "groups"}}) -> ({y} {{attn.name = "y"{rows}}}) attributes {{attn.entry}} {{
%y = attn.linear %x, %w{named} groups %groups{' transposed' if transposed else ''} : {x}, {weight}{types} groups {groups} -> {y}{region}
return %y : {y}
}}
"""


def groups_of(counts, order):
    """Groups of counts[i] rows by matrix order[i]; those with rows come first."""
    used = [(count, matrix) for count, matrix in zip(counts, order) if count]
    firsts = np.cumsum([0] + [count for count, _ in used])
    groups = np.zeros((len(counts) + 1, 2), np.int32)
    groups[:, 0] = firsts[-1]
    groups[:len(used)] = [(first, matrix) for first, (_, matrix) in zip(firsts, used)] or np.zeros((0, 2))
    return groups


def matrix_of_rows(groups):
    return np.repeat(groups[:-1, 1], np.diff(groups[:, 0]))


def multiplied(x, w, groups, n, transposed, extras):
    x, w = kernels.widened(x).astype(np.float64), kernels.widened(w).astype(np.float64)
    matrices = (w if transposed else w.T).reshape(-1, n, w.shape[transposed and 1 or 0])
    of_rows = matrix_of_rows(groups)
    y = np.einsum("mk,mnk->mn", x, matrices[of_rows]) if len(x) else np.zeros((0, n))
    if "bias" in extras:
        y = y + extras["bias"].astype(np.float64).reshape(-1, n)[of_rows]
    return y * extras.get("residual", 1.0)


def sum_text(name, columns, chosen, element, has_indices):
    x, w, indices, y = f"tensor<?x{columns}x{element}>", f"tensor<?x{chosen}xf32>", f"tensor<?x{chosen}xi32>", f"tensor<?x{columns}xf32>"
    rows = 'attn.dims = ["tokens"]'
    given = f', %indices: {indices} {{attn.name = "indices", {rows}}}' if has_indices else ""
    named, types = (", %indices", f", {indices}") if has_indices else ("", "")
    dim = "tokens" if chosen == 1 and not has_indices else "pairs"
    return f"""func.func @sum_{name}(%x: {x} {{attn.name = "x", attn.dims = ["{dim}"]}}, %w: {w} {{attn.name = "w", {rows}}}{given}) -> ({y} {{attn.name = "y", {rows}}}) attributes {{attn.entry}} {{
%y = attn.combine_rows %x, %w{named} : {x}, {w}{types} -> {y}
return %y : {y}
}}
"""


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def check_routes(program, rows):
    for name, (kind, logits, experts, chosen, bias, within, normalized, scale) in ROUTES.items():
        x = normal(rows, logits)
        x[1:2] = 0.5  # all scores are equal
        x[2:3, ::3] = np.nan if kind == "sigmoid" else 3.0
        given = {"x": x} | ({"bias": normal(experts) / 4} if bias else {})
        weights, found = routed(x, given.get("bias"), kind, experts, chosen, within, normalized, scale)
        got = program.compiled(f"route_{name}", list(given.values()), [((rows, chosen), np.float32), ((rows, chosen), np.int32)], (0, rows))
        checks.equal(f"experts of {name}, {rows} tokens", got[1], found)
        checks.near(f"weights of {name}, {rows} tokens", np.nan_to_num(got[0], nan=7), np.nan_to_num(weights, nan=7), 1e-6)
        same = program.reference(f"route_{name}", given, ["w", "e"])
        checks.equal(f"reference: experts of {name}, {rows} tokens", same[1].astype(np.int32), found)
        checks.near(f"reference: weights of {name}, {rows} tokens", np.nan_to_num(same[0], nan=7), np.nan_to_num(weights, nan=7), 1e-9)


def check_orders(program, rows):
    for name, (experts, chosen, tokens) in ORDERS.items():
        if tokens not in (rows, "?"):
            continue
        for e in (random.integers(0, experts, (rows, chosen)), np.full((rows, chosen), experts - 1), np.broadcast_to(np.arange(rows)[:, None] % experts, (rows, chosen))):
            e = e.astype(np.int32)
            expected = ordered(e, experts)
            got = program.compiled(f"order_{name}", [e], [(array.shape, np.int32) for array in expected], (0, rows))
            for of, mine, wanted in zip(("rows", "indices", "groups"), got, expected):
                checks.equal(f"{of} of {name}, {rows} tokens", mine, wanted)
            for of, mine, wanted in zip(("rows", "indices", "groups"), program.reference(f"order_{name}", {"e": e}, ["rows", "indices", "groups"]), expected):
                checks.equal(f"reference: {of} of {name}, {rows} tokens", mine.astype(np.int32), wanted)


def shares(rows, matrices):
    """Numbers of rows of the matrices: all of one, and what chance gives, with matrices that get none."""
    alone = np.zeros(matrices, int)
    alone[matrices // 2] = rows
    some = np.bincount(random.choice(matrices, rows, p=random.dirichlet(np.full(matrices, 0.4))), minlength=matrices)
    return alone, some


def check_linears(program, rows):
    for name, (k, n, matrices, element, transposed, extras, _) in LINEARS.items():
        for counts in shares(rows, matrices):
            groups = groups_of(counts, random.permutation(matrices))
            w = normal(n * matrices, k) if transposed else normal(k, n * matrices)
            of_unused = np.setdiff1d(np.arange(matrices), matrix_of_rows(groups))
            for matrix in of_unused:  # which nothing may read
                (w if transposed else w.T)[matrix * n:(matrix + 1) * n] = np.nan
            given = {"x": kernels.stored(normal(rows, k), element), "w": kernels.stored(w / np.float32(np.sqrt(k)), element)}
            given |= {extra: normal(n * matrices) if extra == "bias" else normal(rows, n) for extra in extras} | {"groups": groups}
            expected = multiplied(given["x"], given["w"], groups, n, transposed, given)
            got, = program.compiled(f"linear_{name}", list(given.values()), [((rows, n), np.float32)], (0, rows))
            checks.near(f"{name} of {rows} rows", got, expected, 2e-6)
            if element == "f32":
                same, = program.reference(f"linear_{name}", given, ["y"])
                checks.near(f"reference: {name} of {rows} rows", same, expected, 1e-9)


def check_sums(program, rows):
    for name, (columns, chosen, element, has_indices) in SUMS.items():
        pairs = rows * chosen + 3 * has_indices
        x, w, indices = normal(pairs, columns), normal(rows, chosen), np.arange(rows * chosen)
        if has_indices:
            indices = random.permutation(pairs - 1)[:rows * chosen]
            x[pairs - 1] = np.nan  # no token's
        indices = indices.reshape(rows, chosen).astype(np.int32)
        given = {"x": kernels.stored(x, element), "w": w} | ({"indices": indices} if has_indices else {})
        expected = (kernels.widened(given["x"]).astype(np.float64)[indices] * w[..., None]).sum(1)
        got, = program.compiled(f"sum_{name}", list(given.values()), [((rows, columns), np.float32)], (pairs, rows))
        checks.near(f"sums {name} of {rows} rows", got, expected, 1e-6)
        if element == "f32":
            same, = program.reference(f"sum_{name}", given, ["y"])
            checks.near(f"reference: sums {name} of {rows} rows", same, expected, 1e-9)


text = "attn.dim @pairs min 0 max 4096\nattn.dim @tokens min 0 max 4096\n"
text += "".join(route_text(name, *case) for name, case in ROUTES.items()) + "".join(order_text(name, *case) for name, case in ORDERS.items())
text += "".join(linear_text(name, *case) for name, case in LINEARS.items()) + "".join(sum_text(name, *case) for name, case in SUMS.items())
text += "".join(f"""func.func @clip_{columns}(%x: tensor<?x{columns}xf32> {{attn.name = "x", attn.dims = ["tokens"]}}) -> (tensor<?x{columns}xf32> {{attn.name = "y", attn.dims = ["tokens"]}}) attributes {{attn.entry}} {{
%y = attn.clip %x within 0.75 : tensor<?x{columns}xf32>
return %y : tensor<?x{columns}xf32>
}}
""" for columns in (37, 64))
program = kernels.Program(tools, "experts", text)
for columns in (37, 64):
    x = normal(9, columns)
    x[3, 5], x[4, 6], x[5, 7] = np.nan, np.inf, -np.inf
    got, = program.compiled(f"clip_{columns}", [x], [x.shape], (0, 9))
    checks.equal(f"clip of {columns} columns", np.nan_to_num(got, nan=7), np.nan_to_num(np.clip(x, -np.float32(0.75), np.float32(0.75)), nan=7))
    same, = program.reference(f"clip_{columns}", {"x": x}, ["y"])
    checks.near(f"reference: clip of {columns} columns", np.nan_to_num(same, nan=7), np.nan_to_num(np.clip(x, -0.75, 0.75), nan=7), 0)
for rows in (0, 1, 5, 61):
    for check in (check_routes, check_orders, check_linears, check_sums):
        check(program, rows)
for rows in (16, 213):
    check_linears(program, rows)

# A layer of experts whose weights are of a weight file. `inner` fills no panel, nor whole groups of quantized columns.
HIDDEN, INNER, EXPERTS, CHOSEN = 72, 40, 9, 3
SHAPES = {"router": (EXPERTS, HIDDEN), "gate": (EXPERTS * INNER, HIDDEN), "up": (EXPERTS * INNER, HIDDEN), "down": (EXPERTS * HIDDEN, INNER),
          "up_bias": (EXPERTS * INNER,), "down_bias": (EXPERTS * HIDDEN,)}
LAYER = f"""func.func @layer(%x: tensor<?x{HIDDEN}xf32> {{attn.name = "x", attn.dims = ["tokens"]}}) -> (tensor<?x{HIDDEN}xf32> {{attn.name = "y", attn.dims = ["tokens"]}}) attributes {{attn.entry}} {{
  %router = attn.parameter_slice @router : tensor<{HIDDEN}x{EXPERTS}xf32>
  %gate = attn.parameter_slice @gate : tensor<{HIDDEN}x{EXPERTS * INNER}xf32>
  %up = attn.parameter_slice @up : tensor<{HIDDEN}x{EXPERTS * INNER}xf32>
  %down = attn.parameter_slice @down : tensor<{INNER}x{EXPERTS * HIDDEN}xf32>
  %upb = attn.parameter_slice @up_bias : tensor<{EXPERTS * INNER}xf32>
  %downb = attn.parameter_slice @down_bias : tensor<{EXPERTS * HIDDEN}xf32>
  %logits = attn.linear %x, %router : tensor<?x{HIDDEN}xf32>, tensor<{HIDDEN}x{EXPERTS}xf32> -> tensor<?x{EXPERTS}xf32>
  %w, %e = attn.route softmax %logits of {EXPERTS} normalized : tensor<?x{EXPERTS}xf32> -> tensor<?x{CHOSEN}xf32>, tensor<?x{CHOSEN}xi32>
  %rows, %indices, %groups = attn.group_rows %e : tensor<?x{CHOSEN}xi32> -> tensor<?xi32>, tensor<?x{CHOSEN}xi32>, tensor<{EXPERTS + 1}x2xi32>
  %of = attn.select_rows %x, %rows : tensor<?x{HIDDEN}xf32>, tensor<?xi32> -> tensor<?x{HIDDEN}xf32>
  %g = attn.linear %of, %gate groups %groups : tensor<?x{HIDDEN}xf32>, tensor<{HIDDEN}x{EXPERTS * INNER}xf32> groups tensor<{EXPERTS + 1}x2xi32> -> tensor<?x{INNER}xf32>
  %u = attn.linear %of, %up, (%upb) groups %groups : tensor<?x{HIDDEN}xf32>, tensor<{HIDDEN}x{EXPERTS * INNER}xf32>, (tensor<{EXPERTS * INNER}xf32>) groups tensor<{EXPERTS + 1}x2xi32> -> tensor<?x{INNER}xf32> {{
  ^bb0(%sum: f32, %bias: f32):
    %s = arith.addf %sum, %bias : f32
    attn.yield %s : f32
  }}
  %a = attn.glu silu %g, %u : tensor<?x{INNER}xf32>
  %d = attn.linear %a, %down, (%downb) groups %groups : tensor<?x{INNER}xf32>, tensor<{INNER}x{EXPERTS * HIDDEN}xf32>, (tensor<{EXPERTS * HIDDEN}xf32>) groups tensor<{EXPERTS + 1}x2xi32> -> tensor<?x{HIDDEN}xf32> {{
  ^bb0(%sum: f32, %bias: f32):
    %s = arith.addf %sum, %bias : f32
    attn.yield %s : f32
  }}
  %c = attn.combine_rows %d, %w, %indices : tensor<?x{HIDDEN}xf32>, tensor<?x{CHOSEN}xf32>, tensor<?x{CHOSEN}xi32> -> tensor<?x{HIDDEN}xf32>
  %y = arith.addf %x, %c : tensor<?x{HIDDEN}xf32>
  return %y : tensor<?x{HIDDEN}xf32>
}}
"""


def declare(name):
    shape = SHAPES[name]
    transposed = ", transpose<1, 0>" if len(shape) == 2 else ""
    return f'attn.parameter @{name} : tensor<{"x".join(map(str, shape[::-1]))}xf32> from [#attn.source<"{name}"{transposed}>]\n'


def computed(x, weights):
    w = {name: array.astype(np.float64) for name, array in weights.items()}
    x = x.astype(np.float64)
    found, chosen = routed(x @ w["router"].T, None, "softmax", EXPERTS, CHOSEN, None, True, None)
    y = x.copy()
    for t in range(len(x)):
        for weight, e in zip(found[t], chosen[t]):
            of = slice(e * INNER, (e + 1) * INNER)
            gate, up = w["gate"][of] @ x[t], w["up"][of] @ x[t] + w["up_bias"][of]
            of_hidden = slice(e * HIDDEN, (e + 1) * HIDDEN)
            y[t] += weight * (w["down"][of_hidden] @ (gate / (1 + np.exp(-gate)) * up) + w["down_bias"][of_hidden])
    return y


MODES = [("f32", "", [], "native", 2e-6), ("f32_v3", "", [], "x86-64-v3", 2e-6), ("bf16", "", ["--dtype=bf16"], "native", 2e-2),
         ("w8a8", "mode=w8a8", ["--quantize=w8a8"], "native", 2e-3), ("w8", "mode=w8", ["--quantize=w8"], "native", 2e-3),
         ("w4", "mode=w4", ["--quantize=w4"], "native", 2e-3), ("w8a8_tiles", "mode=w8a8", ["--quantize=w8a8", "--emulate=amx"], "native", 2e-3),
         ("w8a8_v3", "mode=w8a8", ["--quantize=w8a8"], "x86-64-v3", 2e-3)]
scratch = Path(tools.scratch)
weights = {name: (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32) for name, shape in SHAPES.items()}
packed_model.write_weights(scratch / "weights", weights)
layer = scratch / "layer.mlir"
layer.write_text('module attributes {attn.model = {family = "test", task = "feature-extraction", layers = 1 : i64}} {\nattn.dim @tokens min 0 max 1024\n' + "".join(map(declare, SHAPES)) + LAYER + "}\n")


def is_sure(x, weights):
    """Whether no other expert's score is near the last chosen one's: rounded numbers choose the same experts."""
    scores = -np.sort(-routed(x.astype(np.float64) @ weights["router"].T.astype(np.float64), None, "softmax", EXPERTS, EXPERTS, None, False, None)[0], 1)
    return scores[:, CHOSEN - 1] > 1.1 * scores[:, CHOSEN]


def reference(text, x):
    np.save(scratch / "x.npy", x)
    resident.run([tools.reference, str(text), "--entry=layer", "--precision=f64", f"--weights={scratch / 'weights'}", f"--input=x={scratch / 'x.npy'}", f"--output=y={scratch / 'y.npy'}"], check=True)
    return np.load(scratch / "y.npy")


for mode, how, flags, cpu, tolerance in MODES if kernels.takes_panels(tools) else []:
    library, text = scratch / f"layer_{mode}.so", layer
    subprocess.run([tools.raptc, str(layer), f"--weights={scratch / 'weights'}", f"--mcpu={cpu}", *flags, *tools.options, "-o", str(library)], check=True, capture_output=True)
    if how:
        text = scratch / f"layer_{mode}.quantized.mlir"
        subprocess.run([tools.raptc.replace("raptc", "rapt-opt"), str(layer), f"--pass-pipeline=builtin.module(attn-quantize-weights{{{how}}})", "-o", str(text)], check=True)
        kernels.Program.made.append(text.read_text())
    model = packed_model.Model(library)
    for rows in (0, 1, 4, 200):
        x = normal(rows, HIDDEN)
        expected = reference(text, x) if how or rows != 200 else computed(x, weights)
        if not how:
            checks.near(f"{mode}: numpy and reference, {rows} tokens", expected, computed(x, weights), 1e-9)
        first = None
        for workers in (1, 3):
            found, guard = kernels.aligned((rows, HIDDEN), np.float32)
            model.run("layer", [packed_model.placed(x), found], (rows,), workers)
            assert np.isnan(guard).all(), f"{mode}: wrote beyond its output"
            if first is None:
                first = found
                counts = is_sure(x, weights) if mode == "bf16" else np.full(rows, True)
                assert counts.sum() * 2 > rows or rows < 100, f"{mode}: few tokens whose experts are sure"
                checks.near(f"{mode}: {rows} tokens", found[counts], expected[counts], tolerance)
            else:
                checks.equal(f"{mode}: {rows} tokens with {workers} workers", found, first)
if not checks.failed:
    passed.ops("reference", "\n".join(kernels.Program.made))
checks.finish()
