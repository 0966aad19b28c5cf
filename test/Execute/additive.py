#!/usr/bin/env python3
"""Additive attention (Bahdanau et al. 2015), compiled, against the formula in float64: packed rows with and without keys, more keys
than a block, odd channels, a mask, and a score region; the same bits with any number of workers."""

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(17)
DIMS = "(b, hkv, g, q, kv, dqk, dv)"
MAPS = ", ".join(f"affine_map<{DIMS} -> {m}>" for m in ("(q, hkv, dqk)", "(kv, hkv, dqk)", "(kv, hkv, dv)", "(q, hkv, dv)"))
# name: (heads, dqk, dv, whether masked, whether its scores are halved by a region)
CASES = {"plain": (1, 32, 64, False, False), "odd": (1, 33, 7, False, False), "masked": (2, 64, 32, True, False), "scored": (2, 7, 32, True, True),
         "one": (1, 1, 1, False, True)}


def entry(name, heads, dqk, dv, masked, scored):
    q, v = f"tensor<?x{heads}x{dqk}xf32>", f"tensor<?x{heads}x{dv}xf32>"
    arguments = [("q", q, "queries"), ("k", q, "keys"), ("v", v, "keys"), ("qb", "tensor<?xi32>", "rows+1"), ("kb", "tensor<?xi32>", "rows+1"),
                 ("w", f"tensor<{dqk}xf32>", None)]
    show = ", ".join(f'%{n}: {t} {{attn.name = "{n}"' + (f', attn.dims = ["{d}"]' if d else "") + "}" for n, t, d in arguments)
    score = """score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
      %half = arith.constant 0.5 : f32
      %y = arith.mulf %x, %half : f32
      attn.yield %y : f32
    }""" if scored else ""
    mask = """mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %two = arith.constant 2 : index
      %keep = arith.cmpi ne, %j, %two : index
      attn.yield %keep : i1
    }""" if masked else ""
    return f"""func.func @{name}({show}) -> ({v} {{attn.name = "o", attn.dims = ["queries"]}}) attributes {{attn.entry}} {{
  %scale = arith.constant 0.75 : f32
  %o = attn.attention %q, %k, %v, %scale q_begin(%qb : tensor<?xi32>) kv_begin(%kb : tensor<?xi32>) additive(%w : tensor<{dqk}xf32>) maps [{MAPS}]
    : {q}, {q}, {v} -> {v} {score} {mask}
  return %o : {v}
}}
"""


text = "".join(f"attn.dim @{dim} min 0 max 65536\n" for dim in ("queries", "keys", "rows", "longest_queries", "longest_keys")) + "".join(entry(name, *case) for name, case in CASES.items())
# Its weights, with everything that attention may have: grouped heads, an extra operand of queries and keys, a table, a score, a mask.
Q, K, W, X = "tensor<?x2x3x33xf32>", "tensor<?x2x33xf32>", "tensor<?x3x4x141xf32>", "tensor<?x?x?xf32>"
WEIGHT_MAPS = ", ".join(f"affine_map<{DIMS} -> {m}>" for m in ("(q, hkv, g, dqk)", "(kv, hkv, dqk)", "(kv, hkv, dv)", "(q, hkv, g, dv)", "(b, q, kv)", "()"))
for layer in (1, 3):
    text += f"""func.func @look{layer}(%w: {W} {{attn.name = "w", attn.dims = ["queries"]}}, %q: {Q} {{attn.name = "q", attn.dims = ["queries"]}},
    %k: {K} {{attn.name = "k", attn.dims = ["keys"]}}, %qb: tensor<?xi32> {{attn.name = "qb", attn.dims = ["rows+1"]}},
    %kb: tensor<?xi32> {{attn.name = "kb", attn.dims = ["rows+1"]}}, %v: tensor<33xf32> {{attn.name = "v"}},
    %x: {X} {{attn.name = "x", attn.dims = ["rows", "longest_queries", "longest_keys"]}}, %t: tensor<6x5xf32> {{attn.name = "t"}})
    -> ({W} {{attn.name = "w", attn.dims = ["queries"]}}) attributes {{attn.entry}} {{
  %scale = arith.constant 0.75 : f32
  %layer = arith.constant {layer} : index
  %o, %new = attn.attention %q, %k, %k, %scale q_begin(%qb : tensor<?xi32>) kv_begin(%kb : tensor<?xi32>)
    extras(%x, %t : {X}, tensor<6x5xf32>) additive(%v : tensor<33xf32>) weights(%w[%layer] heads [0, 2, 4, 5] : {W}) maps [{WEIGHT_MAPS}] : {Q}, {K}, {K} -> {Q} score {{
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %e: f32, %all: tensor<6x5xf32>):
      %d = arith.subi %j, %i : index
      %c = attn.lookup %all[%h, %d] : tensor<6x5xf32> -> f32
      %y = arith.addf %s, %c : f32
      %z = arith.addf %y, %e : f32
      attn.yield %z : f32
    }} mask {{
    ^bb0(%b: index, %h: index, %i: index, %j: index, %e: f32, %all: tensor<6x5xf32>):
      %two = arith.constant 2 : index
      %keep = arith.cmpi ne, %j, %two : index
      attn.yield %keep : i1
    }}
  return %new : {W}
}}
"""
program = kernels.Program(tools, "additive", text)
LENGTHS = (((1,), (1,)), ((7, 0, 1, 17), (67, 5, 0, 130)), ((8, 3), (64, 3)))
for name, (heads, dqk, dv, masked, scored) in CASES.items():
    for queries, keys in LENGTHS:
        qb, kb = (np.concatenate([[0], np.cumsum(n)]).astype(np.int32) for n in (queries, keys))
        q, k, v = (random.standard_normal(shape).astype(np.float32) for shape in ((qb[-1], heads, dqk), (kb[-1], heads, dqk), (kb[-1], heads, dv)))
        w, expected = random.standard_normal(dqk).astype(np.float32), np.zeros((qb[-1], heads, dv))
        for b in range(len(queries)):
            mine, theirs = slice(qb[b], qb[b + 1]), slice(kb[b], kb[b + 1])
            s = 0.75 * np.tanh(q[mine].astype(np.float64)[:, None] + k[theirs].astype(np.float64)[None]) @ w.astype(np.float64)  # [q, kv, heads]
            p = np.exp(s / 2 if scored else s) * ((np.arange(keys[b]) != 2) | (not masked))[None, :, None]
            expected[mine] = np.einsum("ijh,jhd->ihd", p, v[theirs]) / np.maximum(p.sum(1), 1e-300)[..., None]
        first = None
        for workers in (1, 2, 7):
            got, = program.compiled(name, [q, k, v, qb, kb, w], [expected.shape], (qb[-1], kb[-1], len(queries)), kernels.threads(workers), workers)
            if first is None:
                first = got
                checks.near(f"{name} {queries} {keys}", got, expected, 3e-6)
            else:
                checks.equal(f"{name} {queries} {keys}, {workers} workers (A24)", got, first)
for queries, keys in LENGTHS:
    qb, kb = (np.concatenate([[0], np.cumsum(n)]).astype(np.int32) for n in (queries, keys))
    named = {"w": random.standard_normal((qb[-1], 3, 4, 141)), "q": random.standard_normal((qb[-1], 2, 3, 33)), "k": random.standard_normal((kb[-1], 2, 33)),
             "qb": qb, "kb": kb, "v": random.standard_normal(33), "x": random.standard_normal((len(queries), max(queries), max(keys))), "t": random.standard_normal((6, 5))}
    named = {name: array.astype(np.int32 if array.dtype == np.int32 else np.float32) for name, array in named.items()}
    extents = (qb[-1], kb[-1], len(queries), max(queries), max(keys))
    for layer in (1, 3):
        expected, = program.reference(f"look{layer}", named, ["w"])
        got, = program.compiled(f"look{layer}", list(named.values()), [], extents, in_place=(0,))
        checks.near(f"weights in layer {layer} {queries} {keys}", got, expected, 3e-6)
        kept = np.delete(expected, layer, 1) if layer < 3 else expected
        checks.equal(f"other layers than {layer} {queries} {keys}", np.ascontiguousarray(np.delete(got, layer, 1) if layer < 3 else got), np.ascontiguousarray(kept, np.float32))
        some = np.array([any(j != 2 for j in range(n)) for n, m in zip(keys, queries) for _ in range(m)])
        if layer < 3:
            checks.near(f"sums {queries} {keys}", got[:, layer].sum(-1), np.repeat(some[:, None], 4, 1).astype(float), 1e-5)
checks.finish()
