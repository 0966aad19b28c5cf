#!/usr/bin/env python3
"""Attention, compiled: extra operands, tables, score and mask regions, against the reference in float64, over ragged rows, fully
masked rows, cross attention, grouped queries, and channels that fill no panel."""

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(5)
DIMS = "(b, hkv, g, q, kv, dqk, dv)"
CAUSAL = "%k0 = arith.cmpi sle, %j, %i : index"
# T5: the bucket of the distance, 16 each way: exact below 8, then by thresholds of the logarithm.
BUCKET = """
      %zero = arith.constant 0 : index
      %sixteen = arith.constant 16 : index
      %apart = arith.subi %j, %i : index
      %after = arith.cmpi sgt, %apart, %zero : index
      %start = arith.select %after, %sixteen, %zero : index
      %back = arith.subi %i, %j : index
      %far = arith.maxsi %apart, %back : index
      %last0 = arith.constant 7 : index
      %n0 = arith.minsi %far, %last0 : index
""" + "".join(f"""
      %t{i} = arith.constant {threshold} : index
      %over{i} = arith.cmpi sge, %far, %t{i} : index
      %one{i} = arith.extui %over{i} : i1 to i32
      %add{i} = arith.index_cast %one{i} : i32 to index
      %n{i + 1} = arith.addi %n{i}, %add{i} : index""" for i, threshold in enumerate((8, 12, 16, 23, 32, 46, 64, 91))) + """
      %bucket = arith.addi %start, %n8 : index
      %x = attn.lookup %e0[%h, %bucket] : tensor<HEADSx32xf32> -> f32
      %y = arith.addf %s, %x : f32
      attn.yield %y : f32"""
SLOPE = """
      %apart = arith.subi %j, %i : index
      %whole = arith.index_cast %apart : index to i32
      %distance = arith.sitofp %whole : i32 to f32
      %x = SLOPE
      %z = arith.mulf %x, %distance : f32
      %y = arith.addf %s, %z : f32
      attn.yield %y : f32"""
ADD = """
      %y = arith.addf %s, %e0 : f32
      attn.yield %y : f32"""
CAP = """
      %cap = arith.constant 1.5 : f32
      %x = arith.divf %s, %cap : f32
      %t = math.tanh %x : f32
      %y = arith.mulf %t, %cap : f32
      attn.yield %y : f32"""


def keep(*conditions):
    """A mask region that yields the conjunction of conditions, each MLIR text that defines %k0, %k1, ..."""
    text = "\n      ".join(conditions)
    for i in range(1, len(conditions)):
        text += f"\n      %a{i} = arith.andi %{'a' if i > 1 else 'k'}{i - 1}, %k{i} : i1"
    return text + f"\n      attn.yield %{'a' if len(conditions) > 1 else 'k'}{len(conditions) - 1} : i1"


WINDOW = keep(CAUSAL, "%w = arith.constant 40 : index\n      %d = arith.subi %i, %j : index\n      %k1 = arith.cmpi slt, %d, %w : index")
# name: (key heads, group, dqk, dv, extras: [(map, type, what its values are)], score, mask, offset)
CASES = {
    "plain": (2, 1, 16, 16, [], None, None, False),
    "grouped": (2, 3, 64, 32, [], CAP, keep(CAUSAL), True),
    "odd_channels": (1, 2, 80, 20, [], None, keep(CAUSAL), False),
    "wide": (1, 1, 128, 40, [], None, WINDOW, True),
    "additive": (2, 1, 32, 32, [("(hkv, q, kv)", "2x?x?xf32", "normal")], ADD, None, False),
    "bias_columns": (2, 1, 32, 32, [("(kv, q)", "?x?xf32", "normal")], ADD, None, False),
    "A29_bias_rows": (1, 2, 33, 7, [("(b, q, kv)", "?x?x?xf32", "padded")], ADD, keep(CAUSAL), False),
    "key_lists": (2, 1, 16, 32, [("(kv)", "?xi32", "coin"), ("(q)", "?xi32", "position")], None,
             keep("%z = arith.constant 0 : i32\n      %k0 = arith.cmpi ne, %e0, %z : i32",
                  "%p = arith.index_cast %j : index to i32\n      %k1 = arith.cmpi sle, %p, %e1 : i32"), False),
    "alibi": (2, 3, 32, 32, [("(hkv, g)", "2x3xf32", "slope")], SLOPE.replace("%x = SLOPE", "%x = arith.mulf %e0, %f1 : f32"), keep(CAUSAL), True),
    "alibi_table": (2, 2, 48, 32, [("()", "4xf32", "slope")], SLOPE.replace("SLOPE", "attn.lookup %e0[%h] : tensor<4xf32> -> f32"), keep(CAUSAL), True),
    "relative": (3, 2, 64, 64, [("()", "6x32xf32", "normal")], BUCKET.replace("HEADS", "6"), None, False),
    "relative_causal": (2, 1, 24, 24, [("()", "2x32xf32", "normal")], BUCKET.replace("HEADS", "2"), keep(CAUSAL), True),
    "A30_buckets_first": (2, 1, 32, 32, [("()", "33x2xf32", "normal")],
                      "\n      %d = arith.subi %j, %i : index\n      %x = attn.lookup %e0[%d, %h] : tensor<33x2xf32> -> f32"
                      "\n      %y = arith.addf %s, %x : f32\n      attn.yield %y : f32", None, False),
    "exponential": (1, 1, 32, 32, [], "\n      %t = math.tanh %s : f32\n      %x = math.exp %t : f32\n      %c = math.cos %x : f32\n      attn.yield %c : f32", WINDOW, False),
    "nothing": (1, 1, 32, 32, [], None, keep("%n = arith.constant 3 : index\n      %k0 = arith.cmpi slt, %i, %n : index"), False),
}


def entry(name, heads, group, dqk, dv, extras, score, mask, offset):
    """Packed queries and keys of ragged rows; with `offset`, queries stand at the end of their keys."""
    operands = {"q": f"?x{heads}x{group}x{dqk}xf32", "k": f"?x{heads}x{dqk}xf32", "v": f"?x{heads}x{dv}xf32", "qb": "?xi32", "kb": "?xi32"}
    dims = {"q": ["queries"], "k": ["keys"], "v": ["keys"], "qb": ["rows+1"], "kb": ["rows+1"]}
    if offset:
        operands["at"], dims["at"] = "?xi32", ["rows"]
    for i, (place, shape, kind) in enumerate(extras):
        operands[f"x{i}"] = shape
        names = place.strip("()").split(", ")
        longest = {"q": "longest_queries", "kv": "longest_keys"} if "b" in names else {"q": "queries", "kv": "keys"}
        dims[f"x{i}"] = [{"b": "rows", **longest}[d] for d in names if d in ("b", "q", "kv")]
    arguments = ", ".join(f'%{n}: tensor<{t}> {{attn.name = "{n}"' + (", attn.dims = [" + ", ".join(f'"{d}"' for d in dims[n]) + "]" if dims[n] else "") + "}"
                          for n, t in operands.items())
    maps = ["(q, hkv, g, dqk)", "(kv, hkv, dqk)", "(kv, hkv, dv)", "(q, hkv, g, dv)"] + [place for place, _, _ in extras]
    result = f"tensor<?x{heads}x{group}x{dv}xf32>"
    seen = "".join(f", %e{i}: " + (f"tensor<{t}>" if place == "()" else t.split("x")[-1]) for i, (place, t, _) in enumerate(extras))
    regions = ""
    if score:
        regions += f"\n    score {{\n    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index{seen}):{score}\n    }}"
    if mask:
        regions += f"\n    mask {{\n    ^bb0(%b: index, %h: index, %i: index, %j: index{seen}):\n      {mask}\n    }}"
    return f"""func.func @{name}({arguments}) -> ({result} {{attn.name = "o", attn.dims = ["queries"]}}) attributes {{attn.entry}} {{
  %scale = arith.constant 0.25 : f32
  %f1 = arith.constant 1.0 : f32
  %o = attn.attention %q, %k, %v, %scale q_begin(%qb : tensor<?xi32>){" q_offset(%at : tensor<?xi32>)" if offset else ""} kv_begin(%kb : tensor<?xi32>)
    {"extras(" + ", ".join(f"%x{i}" for i in range(len(extras))) + " : " + ", ".join(f"tensor<{t}>" for _, t, _ in extras) + ")" if extras else ""}
    maps [{", ".join(f"affine_map<{DIMS} -> {m}>" for m in maps)}]
    : tensor<{operands["q"]}>, tensor<{operands["k"]}>, tensor<{operands["v"]}> -> {result}{regions}
  return %o : {result}
}}
"""


def values(kind, shape):
    if kind == "coin":
        return random.integers(0, 2, shape).astype(np.int32)
    if kind == "position":
        return random.integers(-1, 150, shape).astype(np.int32)  # -1: no key at all
    x = random.standard_normal(shape).astype(np.float32)
    if kind == "slope":
        x = -np.abs(x) / 8
    if kind == "padded" and x.size:
        x[random.random(shape) < 0.3] = -np.inf
    return x


if tools.options:  # another instruction set: one of each kind
    CASES = {name: CASES[name] for name in ("odd_channels", "key_lists", "relative")}
DECLARED = ("queries", "keys", "rows", "longest_queries", "longest_keys")
text = "".join(f"attn.dim @{dim} min 0 max 65536\n" for dim in DECLARED) + "".join(entry(name, *case) for name, case in CASES.items())
program = kernels.Program(tools, "attention", text)
LENGTHS = (((1,), (1,)), ((7, 0, 1, 17), (67, 5, 0, 130)), ((8, 131), (8, 131)), ((1, 1), (64, 257)))
# More keys than a task uses at a time, and queries of two tasks.
LONG = {"grouped", "wide", "relative"}
for name, (heads, group, dqk, dv, extras, score, mask, offset) in CASES.items():
    for queries, keys in (*LENGTHS, *([((150, 3), (1200, 700))] if name in LONG else [])):
        q, k, rows = sum(queries), sum(keys), len(queries)
        extents = {"b": rows, "hkv": heads, "g": group}
        inputs = {"q": values("normal", (q, heads, group, dqk)), "k": values("normal", (k, heads, dqk)), "v": values("normal", (k, heads, dv)),
                  "qb": np.cumsum((0,) + queries).astype(np.int32), "kb": np.cumsum((0,) + keys).astype(np.int32)}
        if offset:
            inputs["at"] = np.array([max(0, b - a) for a, b in zip(queries, keys)], np.int32)
        for i, (place, shape, kind) in enumerate(extras):
            names = place.strip("()").split(", ")
            packed = "b" not in names
            sizes = {**extents, "q": q if packed else max(queries), "kv": k if packed else max(keys)}
            fixed = [int(n) for n in shape.split("x")[:-1]] if place == "()" else [sizes[d] for d in names]
            inputs[f"x{i}"] = values(kind, tuple(fixed))
        # Scores whose distances are far above what exp takes: the largest one's value is the result.
        if name in ("odd_channels", "wide") and (queries, keys) == LENGTHS[1]:
            inputs["q"] *= np.float32(1e9)
        expected, = program.reference(name, inputs, ["o"])
        for order in (kernels.backwards, kernels.at_once):
            got, = program.compiled(name, inputs.values(), [(q, heads, group, dv)], (q, k, rows, max(queries), max(keys)), order)
            checks.near(f"{name} {queries} {keys}", got, expected, 3e-6)
checks.finish()
