#!/usr/bin/env python3
"""Attention with sinks, compiled, against the formula in float64: packed sequences with and without queries and keys, masks that leave
queries without keys, a score region, log-sum-exp and weights, and single queries over a cache, whose keys are split. Sinks are as large as scores, far
from all of them, of 16 bits, and -infinity, NaN and infinity, each of which concerns its own head alone."""

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(31)
DIMS = "(b, hkv, g, q, kv, dqk, dv)"
H, G, D, E, MOST = 2, 3, 40, 24, 141
PLAIN, SPECIAL = (0.5, -1.0, 3.0, 60.0, -60.0, 0.0), (1e30, -np.inf, np.nan, np.inf, -1e30, 2.0)
# name: (the type of the sinks, the score region and what it computes, the mask and what it keeps, whether log-sum-exp and weights are results)
HALVED = ("%c = arith.constant 0.5 : f32\n%r = arith.mulf %s, %c : f32\nattn.yield %r : f32", lambda s: s / 2)
LATE = ("%c = arith.constant 5 : index\n%x = arith.cmpi sge, %i, %c : index\n%y = arith.cmpi sle, %j, %i : index\n%r = arith.andi %x, %y : i1\nattn.yield %r : i1",
        lambda i, j: (i >= 5) & (j <= i))
CASES = {"plain": ("f32", None, None, False), "masked": ("bf16", None, LATE, False), "scored": ("f16", HALVED, None, True), "all": ("f32", HALVED, LATE, True)}


def regions(score, mask):
    text = f"score {{\n^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):\n{score[0]}\n}}" if score else ""
    return text + (f" mask {{\n^bb0(%b: index, %h: index, %i: index, %j: index):\n{mask[0]}\n}}" if mask else "")


def entry(name, element, score, mask, outputs):
    q, k, v, o = f"tensor<?x{H}x{G}x{D}xf32>", f"tensor<?x{H}x{D}xf32>", f"tensor<?x{H}x{E}xf32>", f"tensor<?x{H}x{G}x{E}xf32>"
    w, sink, lse = f"tensor<?x1x{H * G}x{MOST}xf32>", f"tensor<{H * G}x{element}>", f"tensor<?x{H}x{G}xf32>"
    maps = ", ".join(f"affine_map<{DIMS} -> {m}>" for m in ("(q, hkv, g, dqk)", "(kv, hkv, dqk)", "(kv, hkv, dv)", "(q, hkv, g, dv)"))
    named = lambda n, t, d: f'{t} {{attn.name = "{n}", attn.dims = ["{d}"]}}'
    arguments = ", ".join([f"%q: {named('q', q, 'queries')}", f"%k: {named('k', k, 'keys')}", f"%v: {named('v', v, 'keys')}", f"%qb: {named('qb', 'tensor<?xi32>', 'rows+1')}",
                           f"%kb: {named('kb', 'tensor<?xi32>', 'rows+1')}", f'%sink: {sink} {{attn.name = "sink"}}'] + ([f"%w: {named('w', w, 'queries')}"] if outputs else []))
    values, types = ("%o, %lse, %new", [named("o", o, "queries"), named("lse", lse, "queries"), named("w", w, "queries")]) if outputs else ("%o", [named("o", o, "queries")])
    more = f"weights(%w[%layer] heads {list(range(H * G))} : {w}) log_sum_exp" if outputs else ""
    return f"""func.func @{name}({arguments}) -> ({', '.join(types)}) attributes {{attn.entry}} {{
  %scale = arith.constant 0.25 : f32
  %layer = arith.constant 0 : index
  {values} = attn.attention %q, %k, %v, %scale q_begin(%qb : tensor<?xi32>) kv_begin(%kb : tensor<?xi32>) sink(%sink : {sink}) {more}
    maps [{maps}] : {q}, {k}, {v} -> {o} {regions(score, mask)}
  return {values} : {', '.join(t.split(' {')[0] for t in types)}
}}
"""


def softmax(s, sink):
    """The probabilities and the log-sum-exp of scores [h, q, kv] beside sinks [h], and where there is no key and no sink."""
    with np.errstate(invalid="ignore", divide="ignore"):
        all_scores = np.concatenate([np.broadcast_to(sink[:, None, None], (*s.shape[:2], 1)), s], -1)
        top = all_scores.max(-1, keepdims=True)
        powers = np.where(np.isneginf(top), 0, np.exp(all_scores - top))
        total = powers.sum(-1, keepdims=True)
        return np.where(total == 0, 0, powers[..., 1:] / total), np.where(total == 0, -np.inf, top + np.log(total))[..., 0]


def near(label, got, expected, tolerance=3e-6):
    """NaN and infinities are exact."""
    finite = np.isfinite(expected)
    same = got.shape == expected.shape and np.array_equal(got[~finite], expected[~finite].astype(np.float32), equal_nan=True)
    large = np.abs(np.where(finite, expected, 0)) > 1e20  # a log-sum-exp that is a sink
    same &= np.array_equal(got[large], expected[large].astype(np.float32))
    keep = finite & ~large
    checks.near(label, np.where(keep, got, 0) if same else np.full(expected.shape, np.nan), np.where(keep, expected, 0), tolerance)


def sinks_of(numbers, element):
    with np.errstate(over="ignore"):
        array = kernels.stored(np.where(np.isnan(numbers), 0, numbers), element)
        array[np.isnan(numbers)] = 0x7FC0 if element == "bf16" else np.nan
    return array, kernels.widened(array).astype(np.float64)


def offsets(lengths):
    return np.cumsum((0, *lengths)).astype(np.int32)


def packed(program, name, queries, keys, rest, numbers):
    """`rest`: tokens of no sequence, behind the others."""
    element, score, mask, outputs = CASES[name]
    qb, kb = offsets(queries), offsets(keys)
    q, k, v = (random.standard_normal(shape).astype(np.float32) for shape in ((qb[-1] + rest, H, G, D), (kb[-1], H, D), (kb[-1], H, E)))
    array, sink = sinks_of(numbers, element)
    o, lse, w = np.zeros((len(q), H * G, E)), np.full((len(q), H * G), -np.inf), np.ones((len(q), 1, H * G, MOST))
    for b, length in enumerate(keys):
        own, theirs = slice(qb[b], qb[b + 1]), slice(kb[b], kb[b + 1])
        s = 0.25 * np.einsum("qhgc,khc->hgqk", q[own].astype(np.float64), k[theirs].astype(np.float64)).reshape(H * G, queries[b], length)
        i, j = np.arange(s.shape[1])[:, None], np.arange(length)
        keep = np.broadcast_to(mask[1](i, j) if mask else True, s.shape)
        p, of_rows = softmax(np.where(keep, score[1](s) if score else s, -np.inf), sink)
        mixed = np.einsum("hqk,khc->qhc", p, np.repeat(v[theirs].astype(np.float64), G, 1))
        o[own] = np.where(np.isnan(of_rows.T)[..., None], np.nan, mixed)  # without keys, too
        lse[own], w[own] = of_rows.T, 0
        w[own, 0, :, :length] = np.where(keep, p, 0).transpose(1, 0, 2)
    o = o.reshape(-1, H, G, E)
    inputs = [q, k, v, qb, kb, array] + [np.ones(w.shape, np.float32)] * outputs
    shapes = [o.shape, (len(q), H, G)] if outputs else [o.shape]
    first = None
    for order, workers in ((kernels.backwards, 2), (kernels.threads(3), 3)):
        got = program.compiled(name, inputs, shapes, (len(q), len(k), len(queries)), order, workers, (6,) if outputs else ())
        if first is None:
            for label, result, right in zip(("result", "log-sum-exp", "weights"), got, (o, lse.reshape(-1, H, G), w)):
                near(f"{label} of {name} {queries} {keys} {numbers}", result, right)
        first = first or got
        for result, before in zip(got, first):
            checks.equal(f"{name} {queries} {keys}, {workers} workers", result, before)


def cache_entry(name, groups, scored):
    cache, q, lse = "!attn.kv_cache<1 x 1 x 32, block = 64, f32>", f"tensor<?x1x{groups}x32xf32>", f"tensor<?x1x{groups}xf32>"
    maps = ", ".join(f"affine_map<{DIMS} -> {m}>" for m in ("(q, hkv, g, dqk)", "(b, kv, hkv, dqk)", "(b, kv, hkv, dv)", "(q, hkv, g, dv)"))
    named = lambda n, t: f'{t} {{attn.name = "{n}", attn.dims = ["queries"]}}'
    region, word, result = (regions(HALVED, None), "log_sum_exp", f", {named('lse', lse)}") if scored else ("", "", "")
    return f"""func.func @{name}(%cache: {cache} {{attn.name = "cache", attn.dims = ["blocks"]}}, %q: {named("q", q)}, %qb: tensor<?xi32> {{attn.name = "qb", attn.dims = ["rows+1"]}},
    %at: tensor<?xi32> {{attn.name = "at", attn.dims = ["rows"]}}, %table: tensor<?x?xi32> {{attn.name = "table", attn.dims = ["rows", "most"]}},
    %sink: tensor<{groups}xf32> {{attn.name = "sink"}}) -> ({named("o", q)}{result}) attributes {{attn.entry}} {{
  %c0 = arith.constant 0 : index
  %scale = arith.constant 0.25 : f32
  %k, %v = attn.kv_view %cache[%c0], %table : {cache}, tensor<?x?xi32> -> tensor<?x?x1x32xf32>
  %o{":2" if scored else ""} = attn.attention %q, %k, %v, %scale q_begin(%qb : tensor<?xi32>) q_offset(%at : tensor<?xi32>) sink(%sink : tensor<{groups}xf32>)
    {word} maps [{maps}] : {q}, tensor<?x?x1x32xf32>, tensor<?x?x1x32xf32> -> {q} {region}
  return %o{"#0, %o#1" if scored else ""} : {q}{", " + lse if scored else ""}
}}
"""


def cached(program, name, groups, scored, queries, lengths, numbers):
    """Every query of a sequence sees all of its `lengths` keys; unused slots of the blocks hold NaN."""
    most = -(-max(lengths) // 64)
    blocks = len(lengths) * most
    table = random.permutation(blocks).astype(np.int32).reshape(len(lengths), most)
    q, sink = random.standard_normal((sum(queries), 1, groups, 32)).astype(np.float32), np.array(numbers[:groups], np.float32)
    keys, values = ([random.standard_normal((length, 1, 32)).astype(np.float32) for length in lengths] for _ in range(2))
    o, lse = np.zeros(q.shape), np.zeros(q.shape[:3])
    for k, v, count, first in zip(keys, values, queries, offsets(queries)):
        s = 0.25 * np.einsum("qgc,kc->gqk", q[first:first + count, 0].astype(np.float64), k[:, 0].astype(np.float64))
        p, of_rows = softmax(s / 2 if scored else s, sink.astype(np.float64))
        o[first:first + count, 0], lse[first:first + count, 0] = np.einsum("gqk,kc->qgc", p, v[:, 0]), of_rows.T
    past = np.array([length - count for count, length in zip(queries, lengths)], np.int32)
    cache = kernels.filled(program, np.full((blocks, 2, 64, 32), np.nan, np.float32), keys, values, table)
    for order, workers in ((kernels.backwards, 2), (kernels.threads(3), 3)):
        got = program.compiled(name, [cache, q, offsets(queries), past, table, sink], [q.shape, lse.shape] if scored else [q.shape],
                               (sum(queries), len(lengths), most, blocks), order, workers)
        for label, result, right in zip(("result", "log-sum-exp"), got, (o, lse)):
            near(f"{label} of {name} {queries} {lengths} {numbers}", result, right, 1e-5)


def declared(*dims):
    return "".join(f"attn.dim @{dim} min 0 max 65536\n" for dim in dims)


program = kernels.Program(tools, "packed", declared("queries", "keys", "rows") + "".join(entry(name, *case) for name, case in CASES.items()))
for name in CASES:
    for numbers in (PLAIN, SPECIAL):
        packed(program, name, (37, 0, 1, 13, 6), (131, 5, 0, 64, 0), 3, numbers)
    packed(program, name, (1, 1), (3, 1), 0, PLAIN)
FORMS = {f"{'scored' if scored else 'plain'}{groups}": (groups, scored) for groups in (1, 3) for scored in (False, True)}
fill = kernels.fill_entry("!attn.kv_cache<1 x 1 x 32, block = 64, f32>", 1, 32)
program = kernels.Program(tools, "cached", declared("queries", "rows", "most", "blocks") + fill + "".join(cache_entry(name, *form) for name, form in FORMS.items()))
for name, (groups, scored) in FORMS.items():
    for numbers in (PLAIN[2:] + PLAIN[:2], SPECIAL, SPECIAL[3:]):
        cached(program, name, groups, scored, (1, 1, 1), (700, 301, 33), numbers)
    cached(program, name, groups, scored, (3, 20, 1), (700, 301, 33), PLAIN)
checks.finish()
