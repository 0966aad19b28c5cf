#!/usr/bin/env python3
"""Attention with bf16 matmuls: by dot products, by AMX (emulated where the machine lacks it), and with keys widened to f32. Against float64
over the caller's values; the generic target computes in f32. The error is at most twice that of the plain formula in bf16, which casts probabilities after they are normalized.
Sequences have ragged lengths, from one query to more than a task has, and more keys than a task uses at a time."""

import numpy as np

import kernels
import processor

tools = kernels.tools(__doc__)
tile_multiplications = processor.allow_tiles(tools.clang, tools.scratch)
checks, random = kernels.Checks(), np.random.default_rng(31)
DIMS = "(b, hkv, g, q, kv, dqk, dv)"
# raptc's options, and which cases: emulated tiles take as long to compile as all others.
MODES = {"dot": (["--mcpu=native", "--emulate=bf16"], ("plain", "odd", "listed")),
         "vector tiles": (["--mcpu=native", "--emulate=amx"], ("grouped", "wide", "bias")),
         "tiles": (processor.TILES, ("grouped", "wide", "bias")), "widened": (["--mcpu=x86-64-v3"], ("odd",))}
if processor.HAS_DOT:
    MODES["native"] = (processor.DOT, MODES["dot"][1])
SCALE = 0.25
CAUSAL = "%c = arith.cmpi sle, %j, %i : index\n      attn.yield %c : i1"
WINDOW = """%c = arith.cmpi sle, %j, %i : index
      %d = arith.subi %i, %j : index
      %n = arith.constant 40 : index
      %w = arith.cmpi slt, %d, %n : index
      %both = arith.andi %c, %w : i1
      attn.yield %both : i1"""
LISTED = "%z = arith.constant 0 : i32\n      %c = arith.cmpi ne, %e0, %z : i32\n      attn.yield %c : i1"
CAP = """%one = arith.constant 1.5 : f32
      %x = arith.divf %s, %one : f32
      %t = math.tanh %x : f32
      %y = arith.mulf %t, %one : f32
      attn.yield %y : f32"""
ADD = "%y = arith.addf %s, %e0 : f32\n      attn.yield %y : f32"
cap, add = lambda s, e: 1.5 * np.tanh(s / 1.5), lambda s, e: s + e
causal, window = lambda i, j, e: j <= i, lambda i, j, e: (j <= i) & (i - j < 40)
# key heads, group, dqk, dv, whether keys come as bf16, the extra operand (map, type), score, mask, both in numpy
CASES = {
    "plain": (2, 1, 32, 32, False, None, None, None, None, None),
    "grouped": (2, 3, 16, 32, False, None, CAP, CAUSAL, cap, causal),
    "odd": (1, 2, 80, 20, True, None, None, CAUSAL, None, causal),
    "wide": (1, 1, 128, 40, False, None, None, WINDOW, None, window),
    "bias": (1, 1, 8, 8, False, ("(q, kv)", "?x?xf32"), ADD, CAUSAL, add, causal),
    "listed": (1, 1, 20, 96, False, ("(kv)", "?xi32"), None, LISTED, None, lambda i, j, e: e != 0),
}
IS_GENERIC = not kernels.takes_panels(tools)
if IS_GENERIC:
    MODES = {"generic": (tools.options, tuple(CASES))}


def entry(name, heads, group, dqk, dv, stored, extra, score, mask, *_):
    """Packed queries and keys; the queries of a row stand at the end of its keys."""
    kind = "bf16" if stored else "f32"
    types = {"q": f"?x{heads}x{group}x{dqk}xf32", "k": f"?x{heads}x{dqk}x{kind}", "v": f"?x{heads}x{dv}x{kind}", "qb": "?xi32", "kb": "?xi32", "at": "?xi32"}
    dims = {"q": '"queries"', "k": '"keys"', "v": '"keys"', "qb": '"rows+1"', "kb": '"rows+1"', "at": '"rows"'}
    if extra:
        types["x"], dims["x"] = extra[1], '"queries", "keys"' if "q" in extra[0].split(", ")[0] else '"keys"'
    arguments = ", ".join(f'%{n}: tensor<{t}> {{attn.name = "{n}", attn.dims = [{dims[n]}]}}' for n, t in types.items())
    maps = ["(q, hkv, g, dqk)", "(kv, hkv, dqk)", "(kv, hkv, dv)", "(q, hkv, g, dv)"] + ([extra[0]] if extra else [])
    seen = f", %e0: {extra[1].split('x')[-1]}" if extra else ""
    result = f"tensor<?x{heads}x{group}x{dv}xf32>"
    regions = f" score {{\n    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index{seen}):\n      {score}\n    }}" if score else ""
    regions += f" mask {{\n    ^bb0(%b: index, %h: index, %i: index, %j: index{seen}):\n      {mask}\n    }}" if mask else ""
    return f"""func.func @{name}({arguments}) -> ({result} {{attn.name = "o", attn.dims = ["queries"]}}) attributes {{attn.entry}} {{
  %scale = arith.constant {SCALE} : f32
  %o = attn.attention %q, %k, %v, %scale q_begin(%qb : tensor<?xi32>) q_offset(%at : tensor<?xi32>) kv_begin(%kb : tensor<?xi32>)
    {f"extras(%x : tensor<{extra[1]}>)" if extra else ""} maps [{", ".join(f"affine_map<{DIMS} -> {m}>" for m in maps)}]
    : tensor<{types["q"]}>, tensor<{types["k"]}>, tensor<{types["v"]}> -> {result}{regions}
  return %o : {result}
}}
"""


def bits(x):
    """Those of bf16, to the nearest, ties to even."""
    whole = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((whole + 0x7FFF + ((whole >> 16) & 1)) >> 16).astype(np.uint16)


def rounded(x):
    return (bits(x).astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def plain(case, queries, keys, q, k, v, x, round_):
    """softmax(scale * q . k) . v of all rows and heads, by `round_` what is rounded."""
    heads, group, _, dv, _, extra, _, _, score, mask = case
    out, q0, k0 = np.zeros((sum(queries), heads, group, dv)), 0, 0
    for n, m in zip(queries, keys):
        i, j = np.arange(n)[:, None] + max(0, m - n), np.arange(m)[None, :]
        e = None if not extra else x[q0:q0 + n, k0:k0 + m] if x.ndim == 2 else x[None, k0:k0 + m]
        for h in range(heads):
            for g in range(group):
                s = round_(q[q0:q0 + n, h, g] * SCALE) @ round_(k[k0:k0 + m, h]).T
                s = score(s, e) if score else s
                keep = np.broadcast_to(mask(i, j, e), s.shape) if mask else np.ones(s.shape, bool)
                s = np.where(keep, s, -np.inf)
                p = np.where(keep, np.exp(s - np.maximum(s.max(1, keepdims=True, initial=-1e30), -1e30)), 0)
                p /= np.maximum(p.sum(1, keepdims=True), 1e-30)
                out[q0:q0 + n, h, g] = round_(p) @ round_(v[k0:k0 + m, h])
        q0, k0 = q0 + n, k0 + m
    return out


LENGTHS = (((1,), (1,)), ((13, 0, 1, 17), (33, 5, 0, 100)), ((16, 33), (16, 300)), ((300, 100, 31, 7), (300, 130, 1, 64)), ((40,), (1100,)))
HEAD = "".join(f"attn.dim @{dim} min 0 max 65536\n" for dim in ("queries", "keys", "rows"))
programs = {}
for mode, (options, names) in MODES.items():
    tools.options = options
    programs[mode] = kernels.Program(tools, mode, HEAD + "".join(entry(name, *CASES[name]) for name in names), {} if IS_GENERIC else dict.fromkeys(names, "attn_cpu.bf16_matmul"))
for name, case in CASES.items():
    heads, group, dqk, dv, stored, extra = case[:6]
    for queries, keys in LENGTHS:
        n, m = sum(queries), sum(keys)
        normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
        q, k, v = normal(n, heads, group, dqk), normal(m, heads, dqk), normal(m, heads, dv) + 1
        if stored:
            k, v = rounded(k).astype(np.float32), rounded(v).astype(np.float32)
        x = normal(n, m) if extra and "q" in extra[0].split(", ")[0] else random.integers(0, 2, m).astype(np.int32)
        expected = plain(case, queries, keys, q.astype(np.float64), k, v, x, lambda a: np.asarray(a, np.float64))
        scale = max(1.0, np.abs(expected).max(initial=0))
        allowed = 2 * np.abs(plain(case, queries, keys, q, k, v, x, rounded) - expected).max(initial=0) / scale + 1e-6
        inputs = [q, bits(k) if stored else k, bits(v) if stored else v, np.cumsum((0,) + queries).astype(np.int32),
                  np.cumsum((0,) + keys).astype(np.int32), np.array([max(0, b - a) for a, b in zip(queries, keys)], np.int32)]
        for mode, program in programs.items():
            if name not in MODES[mode][1]:
                continue
            first = None
            for order, workers in ((kernels.at_once, 2), (kernels.threads(3), 3)):
                got, = program.compiled(name, inputs + ([x] if extra else []), [(n, heads, group, dv)], (n, m, len(queries)), order, workers)
                if first is None:
                    first = got
                    checks.near(f"{mode}: {name} {queries} {keys}", got, expected, allowed)
                else:
                    checks.equal(f"{mode}: {name} {queries} {keys} by threads (A24)", got, first)
# Where all values are 1 the result is 1: the sum of probabilities is that of the rounded ones.
for mode, program in programs.items():
    name, queries, keys = MODES[mode][1][0], (33, 1), (300, 5)
    heads, group, dqk, dv, stored, extra = CASES[name][:6]
    q, k, v = (random.standard_normal(shape).astype(np.float32) for shape in ((34, heads, group, dqk), (305, heads, dqk), (305, heads, dv)))
    v[:] = 1
    got, = program.compiled(name, [q, bits(k) if stored else k, bits(v) if stored else v, np.array([0, 33, 34], np.int32), np.array([0, 300, 305], np.int32),
                                   np.array([267, 4], np.int32)], [(34, heads, group, dv)], (34, 305, 2))
    checks.near(f"{mode}: {name} of values 1 (A22)", got, np.ones(got.shape), 1e-6)
assert IS_GENERIC or tile_multiplications() != 0 or not processor.HAS_WIDE_VECTORS, "code for tiles took none"
checks.finish()
