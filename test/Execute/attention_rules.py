#!/usr/bin/env python3
"""Rules of attention that numbers near the reference's do not show, compiled, against formulas in numpy in float64: the last positions
that there are, the thresholds of compiled programs, and blocks that a mask excludes, whose keys change no bit of a result."""

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(41)
IS_GENERIC = not kernels.takes_panels(tools)
CHANNELS = 8
MAPS = ", ".join(f"affine_map<(b, hkv, g, q, kv, dqk, dv) -> ({place})>" for place in ("q, hkv, dqk", "kv, hkv, dqk", "kv, hkv, dv", "q, hkv, dv"))
LAST = 2**31 - 64  # behind the last position
KEYS = (1, 33, 131, 700)
# The scores are 0, -87 and then -89: e^-87 is above 2^-126, e^-89 below 2^-127.
STEEP = """%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%zero = arith.constant 0.0 : f32
%some = arith.constant -87.0 : f32
%none = arith.constant -89.0 : f32
%isFirst = arith.cmpi eq, %j, %c0 : index
%isSecond = arith.cmpi eq, %j, %c1 : index
%t = arith.select %isSecond, %some, %none : f32
%r = arith.select %isFirst, %zero, %t : f32"""
# The odd keys of a query's chunk, so that no block is kept whole.
CHUNKS = """%chunk = arith.constant 40 : index
%two = arith.constant 2 : index
%odd = arith.constant 1 : index
%of = arith.divui %i, %chunk : index
%own = arith.divui %j, %chunk : index
%same = arith.cmpi eq, %of, %own : index
%rest = arith.remui %j, %two : index
%isOdd = arith.cmpi eq, %rest, %odd : index
"""
# name: the scale, the score region, the mask region. The last extra operand is one that the analysis of masks does not know: it is 0.
CASES = {
    "A15_last_positions": (0.25, """%d = arith.subi %i, %j : index
%low = arith.constant 4095 : index
%rest = arith.andi %d, %low : index
%w = arith.index_cast %rest : index to i64
%f = arith.sitofp %w : i64 to f32
%part = arith.constant 0.001 : f32
%more = arith.mulf %f, %part : f32
%r = arith.addf %s, %more : f32""", f"""%d = arith.subi %i, %j : index
%far = arith.constant {LAST - 90} : index
%keep = arith.cmpi slt, %d, %far : index"""),
    "A19_base_two": (1.0, "", ""),
    "A20_smallest_exponentials": (1.0, STEEP, ""),
    "A23_skipped": (0.25, "", CHUNKS + "%keep = arith.andi %same, %isOdd : i1"),
    "A23_visited": (0.25, "", CHUNKS + "%huge = arith.constant 1.0e30 : f32\n%unknown = arith.cmpf ogt, %e, %huge : f32\n"
                                       "%all = arith.andi %same, %isOdd : i1\n%keep = arith.ori %all, %unknown : i1"),
}


def entry(name, scale, score, mask):
    heads = {n: f'tensor<?x1x{CHANNELS}xf32> {{attn.name = "{n}", attn.dims = ["{dim}"]}}' for n, dim in (("q", "queries"), ("k", "keys"), ("v", "keys"), ("o", "queries"))}
    heads["e"] = 'tensor<?xf32> {attn.name = "e", attn.dims = ["keys"]}'
    regions = f"score {{\n^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %e: f32):\n{score}\nattn.yield %r : f32\n}}" if score else ""
    regions += f" mask {{\n^bb0(%b: index, %h: index, %i: index, %j: index, %e: f32):\n{mask}\nattn.yield %keep : i1\n}}" if mask else ""
    types = f"tensor<?x1x{CHANNELS}xf32>"
    return f"""func.func @{name}({", ".join(f"%{n}: {heads[n]}" for n in "qkv")}, %at: tensor<1xi32> {{attn.name = "at"}}, %n: tensor<1xi32> {{attn.name = "n"}},
    %x: {heads["e"]}) -> ({heads["o"]}) attributes {{attn.entry}} {{
  %scale = arith.constant {scale} : f32
  %o = attn.attention %q, %k, %v, %scale q_offset(%at : tensor<1xi32>) kv_length(%n : tensor<1xi32>) extras(%x : tensor<?xf32>)
    maps [{MAPS}, affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv)>] : {types}, {types}, {types} -> {types} {regions}
  return %o : {types}
}}
""".replace('attn.name = "e"', 'attn.name = "x"')


program = kernels.Program(tools, "rules", "".join(f"attn.dim @{dim} min 0 max 4096\n" for dim in ("queries", "keys")) +
                          "".join(entry(name, *case) for name, case in CASES.items()))


def run(name, q, k, v, first):
    inputs = [q, k, v, np.array([first], np.int32), np.array([len(k)], np.int32), np.zeros(len(k), np.float32)]
    return program.compiled(name, inputs, [q.shape], (len(q), len(k)))[0]


def attend(s, v):
    """softmax(s) . v; 0 where no key counts."""
    p = np.where(s > -np.inf, np.exp(s - np.maximum(s.max(1, keepdims=True), -1e300)), 0)
    return (p @ v[:, 0] / np.maximum(p.sum(1, keepdims=True), 1e-300))[:, None]


def operands(queries, keys):
    return [random.standard_normal((n, 1, CHANNELS)).astype(np.float32) for n in (queries, keys, keys)]


for queries in (1, 13, 40):
    for keys in KEYS:
        q, k, v = operands(queries, keys)
        similarity = 0.25 * q[:, 0].astype(np.float64) @ k[:, 0].astype(np.float64).T
        j = np.arange(keys)
        # A query in front of the last positions, and the last one of all.
        i = np.arange(LAST - queries, LAST)[:, None]
        s = np.where(i - j < LAST - 90, similarity + 0.001 * ((i - j) & 4095), -np.inf)
        checks.near(f"A15 {queries} {keys}", run("A15_last_positions", q, k, v, LAST - queries), attend(s, v), 1e-5)
        first = max(0, keys - queries)
        i = first + np.arange(queries)[:, None]
        skipped, visited = (run(name, q, k, v, first) for name in ("A23_skipped", "A23_visited"))
        checks.near(f"A23 {queries} {keys}", skipped, attend(np.where((j // 40 == i // 40) & (j % 2 == 1), similarity, -np.inf), v), 1e-5)
        checks.equal(f"A23 {queries} {keys}: the bits of keys that are skipped", skipped, visited)

    # The scores of a query are its first channel, times 2^127, and 0. Times log2 e, the second is infinite.
    for score, isFinite in ((2.34e38, True), (2.37e38, False)):
        q, k, v = operands(queries, 40)
        q[:], k[:] = 0, 0
        q[..., 0], k[3, 0, 0] = np.float32(score / 2.0**127), np.float32(2.0**127)
        got = run("A19_base_two", q, k, v, 0)
        isRight = np.isfinite(got).all() if isFinite or IS_GENERIC else not np.isfinite(got).any()
        checks.near(f"A19 {queries} queries, a score of {score}", np.array(float(isRight)), np.array(1.0), 0)
        if isFinite:
            checks.near(f"A19 {queries} queries", got, np.broadcast_to(v[3], got.shape), 1e-6)

    # Values so large that the first exponential counts, and all others together would.
    q, k, v = operands(queries, 131)
    v[1:], v[0] = 1e38, 1
    checks.near(f"A20 {queries}", run("A20_smallest_exponentials", q, k, v, 0), np.full(q.shape, 1 + np.exp(-87) * 1e38), 3e-5)
checks.finish()
