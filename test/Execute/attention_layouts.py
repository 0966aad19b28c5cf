#!/usr/bin/env python3
"""Attention, compiled, over operands in other layouts than a model's: maps that leave b out, biases whose heads come last, static
extents of queries and keys, and every way to say how many keys a sequence has. Against the reference in float64."""

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(11)
DIMS = "(b, hkv, g, q, kv, dqk, dv)"
NAMES = {"b": "rows", "q": "queries", "kv": "keys"}  # of the dims that vary
HEADS, CHANNELS = 2, 32
PLAIN = {"q": "b q hkv dqk", "k": "b kv hkv dqk", "v": "b kv hkv dv", "o": "b q hkv dv"}
ONE = {name: dims[2:] for name, dims in PLAIN.items()}  # no b
GROUPED = {"q": "b q hkv g dqk", "k": "b kv hkv dqk", "v": "b kv hkv g dv", "o": "b q hkv g dv"}
CAUSAL = "%keep = arith.cmpi sle, %j, %i : index"
# name: (maps, static extents, names of the offsets and lengths, dims of a bias, mask, runs)
# A run: (extents of b, q and kv, values of the offsets and lengths)
CASES = {
    # Keys are q_offset and the queries.
    "A27_offsets": (PLAIN, {}, ["q_offset"], None, None, [((2, 2, 16), [[3, 10]]), ((2, 64, 80), [[3, 10]]), ((1, 1, 40), [[33]])]),
    "A26_A31_packed_offsets": (ONE, {}, ["q_begin", "q_offset"], None, CAUSAL, [((2, 6, 16), [[0, 1, 6], [1, 10]]), ((3, 40, 90), [[0, 0, 33, 40], [70, 2, 83]])]),
    # Results behind the last sequence are 0.
    "A28_rest": (ONE, {}, ["q_begin"], None, None, [((2, 20, 5), [[0, 3, 7]]), ((3, 700, 2), [[0, 0, 20, 20]]), ((0, 5, 3), [[0]]), ((1, 5, 3), [[0, 5]])]),
    "A31_rest_of_heads": ({**ONE, "q": "hkv q dqk", "o": "hkv q dv"}, {"q": 300}, ["q_begin"], None, CAUSAL, [((1, 300, 40), [[0, 33]])]),
    # Keys, values, or both are those of all sequences.
    "own_values": ({**PLAIN, "k": ONE["k"]}, {}, [], None, None, [((3, 2, 40), [])]),
    "own_keys": ({**PLAIN, "v": ONE["v"]}, {}, [], None, None, [((3, 2, 40), [])]),
    "A27_own_lengths": ({**PLAIN, "k": ONE["k"]}, {}, ["kv_length"], None, None, [((2, 15, 100), [[3, 100]]), ((2, 1, 64), [[64, 0]])]),
    "shared": ({**PLAIN, "k": ONE["k"], "v": ONE["v"]}, {}, ["kv_length"], None, None,
               [((2, 2, 16), [[3, 8]]), ((2, 2, 16), [[8, 3]]), ((2, 2, 64), [[0, 64]]), ((3, 20, 200), [[33, 0, 199]]), ((0, 2, 5), [[]])]),
    "group_of_one": (GROUPED, {"g": 1}, [], None, None, [((2, 3, 5), [])]),
    # A slice of one head leaves unit extents on both sides of the dims that stay.
    "A1_heads_last": (ONE, {}, [], "q kv hkv", None, [((1, n, k), []) for n in (1, 2, 13, 14) for k in (1, 33)]),
    "keys_first": (ONE, {}, [], "kv hkv q", None, [((1, n, 33), []) for n in (1, 13, 15)]),
    "of_keys": (PLAIN, {}, [], "kv b hkv", None, [((2, 3, 33), [])]),
    "one_query": (ONE, {"q": 1}, [], "kv q hkv", None, [((1, 1, 33), [])]),
    "one_key": (ONE, {"kv": 1}, [], "kv q hkv", None, [((1, 14, 1), [])]),
    # Static numbers of keys and queries.
    **{f"static_{n}": (ONE, {"kv": n}, [], None, None, [((1, 3, n), []), ((1, 15, n), [])]) for n in (0, 1, 33, 128)},
    "one_by_one": (ONE, {"q": 1, "kv": 1}, [], None, CAUSAL, [((1, 1, 1), [])]),
    "no_query": (ONE, {"q": 0, "kv": 33}, [], None, None, [((1, 0, 33), [])]),
    "no_query_narrow": (ONE, {"q": 0, "dv": 7}, [], None, None, [((1, 0, 33), [])]),
    "no_key_biased": (ONE, {"kv": 0}, [], "q kv hkv", None, [((1, 3, 0), [])]),
    "no_row": (PLAIN, {"b": 0}, ["kv_length"], None, None, [((0, 3, 5), [[]])]),
}


def entry(name, maps, static, given, bias, mask, runs):
    def type_of(dims, more=0):
        static_sizes = {"hkv": HEADS, "dqk": CHANNELS, "dv": CHANNELS, **static}
        varying = [f'"{NAMES[d]}{"+1" if more else ""}"' for d in dims if d not in static_sizes]
        return "x".join(str(static_sizes.get(d, "?")) for d in dims), ", attn.dims = [" + ", ".join(varying) + "]" if varying else ""

    dims = {n: m.split() for n, m in maps.items()} | ({"bias": bias.split()} if bias else {})
    types = {n: type_of(d) for n, d in dims.items()}
    shapes = {n: f"tensor<{t}xf32>" for n, (t, _) in types.items()}
    arguments = [f'%{n}: {shapes[n]} {{attn.name = "{n}"{types[n][1]}}}' for n in dims if n != "o"]
    offsets = {n: type_of(["b"], n.endswith("begin")) for n in given}
    arguments += [f'%{n}: tensor<{t}xi32> {{attn.name = "{n}"{d}}}' for n, (t, d) in offsets.items()]
    order = [dims[n] for n in ("q", "k", "v", "o")] + ([dims["bias"]] if bias else [])
    score = f"""score {{
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %e: f32):
      %y = arith.addf %s, %e : f32
      attn.yield %y : f32
    }}""" if bias else ""
    region = f"""mask {{
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      {mask}
      attn.yield %keep : i1
    }}""" if mask else ""
    return f"""func.func @{name}({", ".join(arguments)}) -> ({shapes["o"]} {{attn.name = "o"{types["o"][1]}}}) attributes {{attn.entry}} {{
  %scale = arith.constant 0.25 : f32
  %o = attn.attention %q, %k, %v, %scale {" ".join(f"{n}(%{n} : tensor<{offsets[n][0]}xi32>)" for n in given)}
    {"extras(%bias : " + shapes["bias"] + ")" if bias else ""} maps [{", ".join(f"affine_map<{DIMS} -> ({', '.join(d)})>" for d in order)}]
    : {shapes["q"]}, {shapes["k"]}, {shapes["v"]} -> {shapes["o"]} {score} {region}
  return %o : {shapes["o"]}
}}
"""


DECLARED = "".join(f"attn.dim @{dim} min 0 max 65536\n" for dim in NAMES.values())
program = kernels.Program(tools, "layouts", DECLARED + "".join(entry(name, *case) for name, case in CASES.items()))
for name, (maps, static, given, bias, mask, runs) in CASES.items():
    for (b, q, kv), numbers in runs:
        extents = {"b": b, "q": q, "kv": kv, "hkv": HEADS, "g": 1, "dqk": CHANNELS, "dv": CHANNELS, **static}
        operands = {**{n: maps[n] for n in "qkv"}, **({"bias": bias} if bias else {})}
        inputs = {n: random.standard_normal([extents[d] for d in dims.split()]).astype(np.float32) for n, dims in operands.items()}
        inputs |= {n: np.array(values, np.int32) for n, values in zip(given, numbers)}
        expected, = program.reference(name, inputs, ["o"])
        got, = program.compiled(name, inputs.values(), [tuple(extents[d] for d in maps["o"].split())], (b, q, kv))
        checks.near(f"{name} of {(b, q, kv)} {numbers}", got, expected, 3e-6)
checks.finish()
