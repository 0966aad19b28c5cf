#!/usr/bin/env python3
"""Kernels on a cache by single queries, whose keys are split and whose states are merged, and by tiles of them: with a score region,
whose scores are natural and may be as large as floats are, and without one. Against numpy in float64. The slots that no key is in
hold NaN; the others are written by attn.kv_append, as the target lays them out."""

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(23)
# name: the score region, and what it computes
SCORES = {
    "plain": (None, lambda s, i, j: s),
    "scaled": ("%f = arith.constant 1.5 : f32\n%r = arith.mulf %s, %f : f32", lambda s, i, j: 1.5 * s),
    "large": ("%f = arith.constant 1.0e38 : f32\n%r = arith.mulf %s, %f : f32", lambda s, i, j: 1e38 * s),
    "lowest": ("%f = arith.constant -3.4028234e38 : f32\n%t = arith.constant 300 : index\n%c = arith.cmpi slt, %j, %t : index\n%r = arith.select %c, %f, %s : f32",
               lambda s, i, j: np.where(j < 300, -3.4028234e38, s)),
}


def entry(name, score, channels, block):
    cache = f"!attn.kv_cache<1 x 1 x {channels}, block = {block}, f32>"
    maps = ", ".join(f"affine_map<(b, h, g, i, j, c, d) -> ({m})>" for m in ("i, h, c", "b, j, h, c", "b, j, h, d", "i, h, d"))
    region = f"score {{\n^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):\n{score}\nattn.yield %r : f32\n}}" if score else ""
    return f"""func.func @{name}(%cache: {cache} {{attn.name = "cache", attn.dims = ["blocks"]}}, %q: tensor<?x1x{channels}xf32> {{attn.name = "q", attn.dims = ["queries"]}},
    %qb: tensor<?xi32> {{attn.name = "qb", attn.dims = ["rows+1"]}}, %at: tensor<?xi32> {{attn.name = "at", attn.dims = ["rows"]}},
    %table: tensor<?x?xi32> {{attn.name = "table", attn.dims = ["rows", "most"]}}) -> (tensor<?x1x{channels}xf32> {{attn.name = "o", attn.dims = ["queries"]}}) attributes {{attn.entry}} {{
  %c0 = arith.constant 0 : index
  %scale = arith.constant 0.25 : f32
  %k, %v = attn.kv_view %cache[%c0], %table : {cache}, tensor<?x?xi32> -> tensor<?x?x1x{channels}xf32>
  %o = attn.attention %q, %k, %v, %scale q_begin(%qb : tensor<?xi32>) q_offset(%at : tensor<?xi32>) maps [{maps}]
    : tensor<?x1x{channels}xf32>, tensor<?x?x1x{channels}xf32>, tensor<?x?x1x{channels}xf32> -> tensor<?x1x{channels}xf32> {region} mask {{
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }}
  return %o : tensor<?x1x{channels}xf32>
}}
"""


HEAD = "".join(f"attn.dim @{dim} min 0 max 4096\n" for dim in ("queries", "rows", "most", "blocks"))


def check(program, name, formula, channels, block):
    # Packed panels have 32 columns: channels of values, and positions of keys.
    stored, positions = (-(-n // 32) * 32 if kernels.takes_panels(tools) else n for n in (channels, block))
    for queries in ((1, 1, 1), (3, 20, 1)):
        lengths = (700, 301, 33)  # of keys, the queries' own among them
        most = -(-max(lengths) // block)
        blocks = len(lengths) * most
        table = random.permutation(blocks).astype(np.int32).reshape(len(lengths), most)
        q = random.standard_normal((sum(queries), 1, channels)).astype(np.float32)
        expected, first, keys, values = np.zeros(q.shape), 0, [], []
        for count, length in zip(queries, lengths):
            k, v = (random.standard_normal((length, channels)).astype(np.float32) for _ in range(2))
            if name == "large":  # scores of at most 3.2e38
                k *= np.float32(3.2) / np.abs(0.25 * q[first:first + count, 0] @ k.T).max()
            keys.append(k[:, None])
            values.append(v[:, None])
            i, j = np.arange(length - count, length)[:, None], np.arange(length)[None, :]
            s = formula(0.25 * q[first:first + count, 0].astype(np.float64) @ k.astype(np.float64).T, i, j)
            s = np.where(j <= i, s, -np.inf)
            p = np.exp(s - s.max(1, keepdims=True))
            expected[first:first + count, 0] = p / p.sum(1, keepdims=True) @ v
            first += count
        offsets = np.array([length - count for count, length in zip(queries, lengths)], np.int32)
        cache = kernels.filled(program, np.full((blocks, 2, positions, stored), np.nan, np.float32), keys, values, table)
        arrays = [cache, q, np.cumsum((0,) + queries).astype(np.int32), offsets, table]
        for order, workers in ((kernels.backwards, 2), (kernels.threads(3), 3)):
            got, = program.compiled(name, arrays, [q.shape], (sum(queries), len(lengths), most, blocks), order, workers)
            checks.near(f"{name} {queries} {channels} {block}", got, expected, 1e-5)


# The CPU's schedules take heads and blocks of whole panels alone.
for channels, block, names in ((32, 64, list(SCORES)), (80, 64, ["plain", "scaled"]), (5, 64, ["plain"]), (32, 48, ["plain"]), (40, 7, ["plain"])):
    cache = f"!attn.kv_cache<1 x 1 x {channels}, block = {block}, f32>"
    text = HEAD + kernels.fill_entry(cache, 1, channels) + "".join(entry(name, SCORES[name][0], channels, block) for name in names)
    program = kernels.Program(tools, f"cached_{channels}_{block}", text)
    for name in names:
        check(program, name, SCORES[name][1], channels, block)
checks.finish()
