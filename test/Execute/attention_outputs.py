#!/usr/bin/env python3
"""Log-sum-exp and weights of attention in compiled code: packed, dense, additive and transposed against the reference in float64, on a cache
against numpy, and as attn-request-attention-outputs stacks it over layers of a loop and one behind it, against numpy. Sequences of 0, 1, prime many and more tokens than a tile or task has, of which some see no key or have scores of -infinity, and
tokens of no sequence; the same bits with any number of workers."""

import subprocess
from pathlib import Path

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(31)
DIMS = "(b, hkv, g, q, kv, dqk, dv)"
D, E, H, G, MOST = 40, 24, 2, 3, 320
BEGINS = '%qb: tensor<?xi32> {attn.name = "qb", attn.dims = ["rows+1"]}, %kb: tensor<?xi32> {attn.name = "kb", attn.dims = ["rows+1"]}'
PACKED = "q_begin(%qb : tensor<?xi32>) kv_begin(%kb : tensor<?xi32>)"
# Keys 0 to 2 are masked, so that short sequences have none; every fifth key, and all of head 1, scores -infinity.
MASK = "mask {\n^bb0(%b: index, %h: index, %i: index, %j: index):\n%three = arith.constant 3 : index\n%keep = arith.cmpi sge, %j, %three : index\nattn.yield %keep : i1\n}"
FALLS = """score {
^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
  %five = arith.constant 5 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0xFF800000 : f32
  %rest = arith.remui %j, %five : index
  %key = arith.cmpi eq, %rest, %one : index
  %head = arith.cmpi eq, %h, %one : index
  %both = arith.ori %key, %head : i1
  %t = arith.select %both, %none, %s : f32
  attn.yield %t : f32
}"""
# name: maps of query, key, value and result; more operands, with their arguments; regions; the heads whose weights are given
CASES = {
    "plain": (("(q, hkv, g, dqk)", "(kv, hkv, dqk)", "(kv, hkv, dv)", "(q, hkv, g, dv)"), PACKED, BEGINS, "", (0, 5, 4)),
    "masked": (("(q, hkv, g, dqk)", "(kv, hkv, dqk)", "(kv, hkv, dv)", "(q, hkv, g, dv)"), PACKED, BEGINS, MASK, (3,)),
    "scored": (("(q, hkv, g, dqk)", "(kv, hkv, dqk)", "(kv, hkv, dv)", "(q, hkv, g, dv)"), PACKED, BEGINS, FALLS + MASK, (1, 2)),
    "additive": (("(q, hkv, dqk)", "(kv, hkv, dqk)", "(kv, hkv, dv)", "(q, hkv, dv)"), PACKED + f" additive(%v1 : tensor<{D}xf32>)",
                 BEGINS + f', %v1: tensor<{D}xf32> {{attn.name = "v1"}}', MASK, (1,)),
    "transposed": (("(q, hkv, g, dqk)", "(kv, hkv, dqk)", "(kv, hkv, dv)", "(hkv, dv, g, q)"), PACKED, BEGINS, FALLS, (0, 1)),
    "dense": (("(b, q, hkv, dqk)", "(b, kv, hkv, dqk)", "(b, kv, hkv, dv)", "(b, q, hkv, dv)"), "kv_length(%kl : tensor<?xi32>)",
              '%kl: tensor<?xi32> {attn.name = "kl", attn.dims = ["rows"]}', FALLS + MASK, ()),
}
EXTENTS = {"b": "?", "q": "?", "kv": "?", "hkv": H, "g": G, "dqk": D, "dv": E}
NAMES = {"b": "rows", "q": "queries", "kv": "keys"}


def dims_of(place):
    return place.strip("()").split(", ")


def kind(place):
    return f"tensor<{'x'.join(str(EXTENTS[dim]) for dim in dims_of(place))}xf32>"


def buffer(name, place):
    dims = ", ".join(f'"{NAMES[dim]}"' for dim in dims_of(place) if dim in NAMES)
    return f'{kind(place)} {{attn.name = "{name}", attn.dims = [{dims}]}}'


def without_channels(place):
    return "(" + ", ".join(dim for dim in dims_of(place) if dim != "dv") + ")"


def entry(name, maps, operands, arguments, regions, heads):
    weights = f"tensor<?x2x{len(heads)}x{MOST}xf32>"
    given = [f"%{n}: {buffer(n, place)}" for n, place in zip("qkv", maps)] + [arguments]
    results, types, values = [buffer("o", maps[3]), buffer("lse", without_channels(maps[3]))], [kind(maps[3]), kind(without_channels(maps[3]))], "%o, %lse"
    used = ""
    if heads:
        named = f'{weights} {{attn.name = "w", attn.dims = ["queries"]}}'
        given.append(f"%w: {named}")
        results.append(named)
        types.append(weights)
        values += ", %new"
        used = f"weights(%w[%layer] heads {list(heads)} : {weights})"
    all_maps = ", ".join(f"affine_map<{DIMS} -> {place}>" for place in maps)
    return f"""func.func @{name}({', '.join(given)}) -> ({', '.join(results)}) attributes {{attn.entry}} {{
  %scale = arith.constant 0.25 : f32
  %layer = arith.constant 1 : index
  {values} = attn.attention %q, %k, %v, %scale {operands} {used} log_sum_exp maps [{all_maps}]
    : {kind(maps[0])}, {kind(maps[1])}, {kind(maps[2])} -> {kind(maps[3])} {regions}
  return {values} : {', '.join(types)}
}}
"""


def near(label, got, expected, tolerance=3e-6):
    """Infinities are exact, NaN is what the caller gave and nothing wrote."""
    finite = np.isfinite(expected)
    same = got.shape == expected.shape and np.array_equal(got[~finite], expected[~finite].astype(np.float32), equal_nan=True)
    checks.near(label, np.where(finite, got, 0) if same else np.full(expected.shape, np.nan), np.where(finite, expected, 0), tolerance)


def offsets(lengths):
    return np.cumsum((0, *lengths)).astype(np.int32)


def run(program, name, queries, keys, rest):
    maps, _, arguments, _, heads = CASES[name]
    rows, is_dense = len(queries), name == "dense"
    extents = {"b": rows, "q": max(queries) if is_dense else sum(queries) + rest, "kv": max(keys) if is_dense else sum(keys), "hkv": H, "g": G, "dqk": D, "dv": E}
    shape = lambda place: [extents[dim] for dim in dims_of(place)]
    inputs = {n: random.standard_normal(shape(place)).astype(np.float32) for n, place in zip("qkv", maps)}
    inputs |= {"kl": np.array(keys, np.int32)} if is_dense else {"qb": offsets(queries), "kb": offsets(keys)}
    if "%v1" in arguments:
        inputs["v1"] = random.standard_normal(D).astype(np.float32)
    if heads:
        inputs["w"] = random.standard_normal((extents["q"], 2, len(heads), MOST)).astype(np.float32)
    outputs = [shape(maps[3]), shape(without_channels(maps[3]))]
    dims, in_place = (extents["q"], extents["kv"], rows), (len(inputs) - 1,) if heads else ()
    got = program.compiled(name, inputs.values(), outputs, dims, in_place=in_place)
    for other, again in zip(program.compiled(name, inputs.values(), outputs, dims, kernels.at_once, 1, in_place), got):
        checks.equal(f"{name} {queries} {keys}, all at once", other, again)
    expected = program.reference(name, inputs, ["o", "lse"] + ["w"] * bool(heads))
    for label, result, right in zip(("result", "log-sum-exp", "weights"), got, expected):
        near(f"{label} of {name} {queries} {keys}", result, right)
    assert not np.isnan(got[1]).any() and (name == "plain" or np.isneginf(got[1]).any()), f"{name}: no query is without keys"


def cached(program, name, groups, queries, lengths, BLOCK=64, CHANNELS=32):
    """Single queries, whose keys are split, and tiles of queries, over blocks of a cache whose unused slots hold NaN."""
    most, heads = -(-max(lengths) // BLOCK), list(range(groups))
    blocks = len(lengths) * most
    table = random.permutation(blocks).astype(np.int32).reshape(len(lengths), most)
    q = random.standard_normal((sum(queries), 1, groups, CHANNELS)).astype(np.float32)
    keys, values = [], []
    o, lse, w = np.zeros(q.shape), np.zeros(q.shape[:3]), np.zeros((sum(queries), 1, groups, 704))
    for count, length, first in zip(queries, lengths, offsets(queries)):
        k, v = (random.standard_normal((length, CHANNELS)).astype(np.float32) for _ in range(2))
        keys.append(k[:, None])
        values.append(v[:, None])
        i, j = np.arange(length - count, length)[:, None, None], np.arange(length)
        s = 0.25 * np.einsum("ngc,kc->ngk", q[first:first + count, 0].astype(np.float64), k.astype(np.float64))
        s = np.where((j <= i) & (j + 400 > i), s, -np.inf)
        top = s.max(2, keepdims=True)
        total = np.exp(s - top).sum(2, keepdims=True)
        at = slice(first, first + count)
        lse[at, 0], w[at, 0, :, :length] = (top + np.log(total))[..., 0], np.exp(s - top) / total
        o[at, 0] = w[at, 0, :, :length] @ v
    past = np.array([length - count for count, length in zip(queries, lengths)], np.int32)
    cache = kernels.filled(program, np.full((blocks, 2, BLOCK, CHANNELS), np.nan, np.float32), keys, values, table)
    arrays = [cache, q, offsets(queries), past, table, np.ones(w.shape, np.float32)]
    for order, workers in ((kernels.backwards, 2), (kernels.threads(3), 3)):
        got = program.compiled(name, arrays, [q.shape, lse.shape], (sum(queries), len(lengths), most, blocks), order, workers, (5,))
        for label, result, right in zip(("result", "log-sum-exp", "weights"), got, (o, lse, w)):
            near(f"{label} of {name} {queries}", result, right, 1e-5)


def cache_entry(name, groups):
    cache, q, w, lse = "!attn.kv_cache<1 x 1 x 32, block = 64, f32>", f"tensor<?x1x{groups}x32xf32>", f"tensor<?x1x{groups}x704xf32>", f"tensor<?x1x{groups}xf32>"
    maps = ", ".join(f"affine_map<{DIMS} -> {m}>" for m in ("(q, hkv, g, dqk)", "(b, kv, hkv, dqk)", "(b, kv, hkv, dv)", "(q, hkv, g, dv)"))
    named = lambda n, t: f'{t} {{attn.name = "{n}", attn.dims = ["queries"]}}'
    return f"""func.func @{name}(%cache: {cache} {{attn.name = "cache", attn.dims = ["blocks"]}}, %q: {named("q", q)}, %qb: tensor<?xi32> {{attn.name = "qb", attn.dims = ["rows+1"]}},
    %at: tensor<?xi32> {{attn.name = "at", attn.dims = ["rows"]}}, %table: tensor<?x?xi32> {{attn.name = "table", attn.dims = ["rows", "most"]}},
    %w: {named("w", w)}) -> ({named("o", q)}, {named("lse", lse)}, {named("w", w)}) attributes {{attn.entry}} {{
  %c0 = arith.constant 0 : index
  %scale = arith.constant 0.25 : f32
  %k, %v = attn.kv_view %cache[%c0], %table : {cache}, tensor<?x?xi32> -> tensor<?x?x1x32xf32>
  %o, %lse, %new = attn.attention %q, %k, %v, %scale q_begin(%qb : tensor<?xi32>) q_offset(%at : tensor<?xi32>)
    weights(%w[%c0] heads {list(range(groups))} : {w}) log_sum_exp maps [{maps}] : {q}, tensor<?x?x1x32xf32>, tensor<?x?x1x32xf32> -> {q} mask {{
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %window = arith.constant 400 : index
    %far = arith.addi %j, %window : index
    %near = arith.cmpi sgt, %far, %i : index
    %past = arith.cmpi sle, %j, %i : index
    %keep = arith.andi %near, %past : i1
    attn.yield %keep : i1
  }}
  return %o, %lse, %new : {q}, {lse}, {w}
}}
"""


def declared(*dims):
    return "".join(f"attn.dim @{dim} min 0 max 65536\n" for dim in dims)


LAYERS, SIZE = 3, 32  # of the loop, and channels of keys and values of the stack


def stack():
    """Layers whose results are the next one's queries, in a loop; the last one's result is transposed, and so is its log-sum-exp."""
    q, kv, o = f"tensor<?x{H}x{G}x{SIZE}xf32>", f"tensor<?x{H}x{SIZE}xf32>", f"tensor<{H}x{SIZE}x{G}x?xf32>"
    maps = lambda result: ", ".join(f"affine_map<{DIMS} -> {place}>" for place in ("(q, hkv, g, dqk)", "(kv, hkv, dqk)", "(kv, hkv, dv)", result))
    attention = lambda name, query, result, kind: (f"%{name} = attn.attention %{query}, %k, %v, %scale {PACKED} maps [{maps(result)}] : {q}, {kv}, {kv} -> {kind}")
    named = lambda n, kind, dim: f'%{n}: {kind} {{attn.name = "{n}", attn.dims = ["{dim}"]}}'
    return declared("queries", "keys", "rows") + f"""func.func @stack({named("q", q, "queries")}, {named("k", kv, "keys")}, {named("v", kv, "keys")}, {BEGINS})
    -> ({o} {{attn.name = "o", attn.dims = ["queries"]}}) attributes {{attn.entry}} {{
  %scale = arith.constant 0.25 : f32
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %end = arith.constant {5 + 2 * LAYERS} : index
  %x = scf.for %i = %c5 to %end step %c2 iter_args(%before = %q) -> {q} {{
    {attention("y", "before", "(q, hkv, g, dv)", q)}
    scf.yield %y : {q}
  }}
  {attention("o", "x", "(hkv, dv, g, q)", o)}
  return %o : {o}
}}
"""


def stacked(layers, heads):
    """Log-sum-exp [queries, layers, heads] of the layers and heads asked for: of no sequence or a sequence without keys -infinity."""
    options = " ".join(["weights=false log-sum-exp"] + [f"{name}={','.join(map(str, chosen))}" for name, chosen in (("layers", layers), ("heads", heads)) if chosen])
    name = f"stack-{''.join(map(str, layers + heads))}"
    source = Path(tools.scratch) / "stack.mlir"
    source.write_text(stack())
    text = subprocess.run([tools.raptc, str(source), f"--run-passes=imported:attn-request-attention-outputs{{{options}}}", "--emit=imported", "-o", "-"],
                          check=True, capture_output=True, text=True).stdout
    program = kernels.Program(tools, name, text)
    for queries, keys, rest in (((37, 0, 1, 131), (131, 5, 0, 64), 3), ((1, 1), (3, 1), 0)):
        q, k, v = (random.standard_normal(shape).astype(np.float32) for shape in ((sum(queries) + rest, H, G, SIZE), (sum(keys), H, SIZE), (sum(keys), H, SIZE)))
        x, every = q.astype(np.float64), np.full((len(q), LAYERS + 1, H * G), -np.inf)
        for layer in range(LAYERS + 1):
            y = np.zeros(x.shape)
            for first, count, start, length in zip(offsets(queries), queries, offsets(keys), keys):
                s = 0.25 * np.einsum("qhgc,khc->qhgk", x[first:first + count], k[start:start + length])
                if s.size:
                    top = s.max(3, keepdims=True)
                    total = np.exp(s - top).sum(3, keepdims=True)
                    every[first:first + count, layer] = (top + np.log(total)).reshape(count, -1)
                    y[first:first + count] = np.einsum("qhgk,khc->qhgc", np.exp(s - top) / total, v[start:start + length])
            x = y
        expected = every[:, layers or slice(None)][:, :, heads or slice(None)]
        for order, workers in ((kernels.backwards, 2), (kernels.at_once, 1)):
            got = program.compiled("stack", [q, k, v, offsets(queries), offsets(keys)], [(H, SIZE, G, len(q)), expected.shape],
                                   (len(q), len(k), len(queries)), order, workers)
            near(f"result of {name}", got[0], x.transpose(1, 3, 2, 0), 1e-5)
            near(f"log-sum-exp of {name}", got[1], expected, 1e-5)


outputs = kernels.Program(tools, "outputs", declared("queries", "keys", "rows") + "".join(entry(name, *case) for name, case in CASES.items()))
for case in CASES:
    run(outputs, case, (37, 0, 1, 131), (131, 5, 0, 64), 0 if case == "dense" else 3)
    run(outputs, case, (300,), (257,), 0 if case == "dense" else 1)
    run(outputs, case, (1, 1), (3, 1), 0 if case == "dense" else 1)
fill = kernels.fill_entry("!attn.kv_cache<1 x 1 x 32, block = 64, f32>", 1, 32)
caches = kernels.Program(tools, "caches", declared("queries", "rows", "most", "blocks") + fill + cache_entry("single", 1) + cache_entry("grouped", 3))
for case, size in (("single", 1), ("grouped", 3)):
    cached(caches, case, size, (1, 1, 1), (700, 301, 33))
    cached(caches, case, size, (3, 20, 1), (700, 301, 33))
for chosen in ([], []), ([0, 3], [0, 2, 3, 4]):
    stacked(*chosen)
checks.finish()
