#!/usr/bin/env python3
"""Attention that no schedule of the CPU takes, by its neutral decomposition, against the reference in float64: transposed queries and
results, dims of one element behind the channels, and, with schedules of their own, extra operands of f16 and bf16. Lengths of 0 and 1, primes, and more queries than a tile; the same bits with any number
of workers."""

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(29)
DIMS = "(b, hkv, g, q, kv, dqk, dv)"
D, E, H = 40, 24, 3
CAUSAL = "mask {{\n^bb0(%b: index, %h: index, %i: index, %j: index{more}):\n%keep = arith.cmpi sle, %j, %i : index\nattn.yield %keep : i1\n}}"
# name: maps of query, key, value, result; and those of extra operands with their types, and the score
CASES = {
    "transposed_query": (("(hkv, dqk, q)", "(kv, hkv, dqk)", "(kv, hkv, dv)", "(q, hkv, dv)"), [], None),
    "transposed_result": (("(q, hkv, dqk)", "(kv, hkv, dqk)", "(kv, hkv, dv)", "(hkv, dv, q)"), [], None),
    "all_transposed": (("(dqk, q, hkv)", "(dqk, hkv, kv)", "(hkv, dv, kv)", "(dv, hkv, q)"), [], None),
    "half_bias": (("(q, hkv, dqk)", "(kv, hkv, dqk)", "(kv, hkv, dv)", "(q, hkv, dv)"), [("(q, kv, hkv)", "f16")],
                  "%x = arith.extf %e0 : f16 to f32\n%r = arith.addf %s, %x : f32"),
    "short_slopes": (("(q, hkv, dqk)", "(kv, hkv, dqk)", "(kv, hkv, dv)", "(q, hkv, dv)"), [("(hkv)", "bf16")],
                     "%x = arith.extf %e0 : bf16 to f32\n%r = arith.mulf %s, %x : f32"),
}
# Heads as the last dim, and static extents of one: the neutral decomposition's slices have unit dims everywhere.
SMALL = """func.func @heads_last(%q: tensor<1x2x2xf32> {attn.name = "q"}, %k: tensor<?x2xf32> {attn.name = "k", attn.dims = ["keys"]}, %v: tensor<?x1xf32> {attn.name = "v", attn.dims = ["keys"]}) -> (tensor<1x2x1xf32> {attn.name = "o"}) attributes {attn.entry} {
  %scale = arith.constant 1.0 : f32
  %o = attn.attention %q, %k, %v, %scale maps [affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dqk, g)>, affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>, affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dv)>, affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, g, dv)>]
    : tensor<1x2x2xf32>, tensor<?x2xf32>, tensor<?x1xf32> -> tensor<1x2x1xf32>
  return %o : tensor<1x2x1xf32>
}
func.func @one(%q: tensor<1x1xf32> {attn.name = "q"}, %k: tensor<?x1xf32> {attn.name = "k", attn.dims = ["keys"]}, %v: tensor<?x1xf32> {attn.name = "v", attn.dims = ["keys"]}) -> (tensor<1x1xf32> {attn.name = "o"}) attributes {attn.entry} {
  %scale = arith.constant 1.0 : f32
  %o = attn.attention %q, %k, %v, %scale maps [affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dqk)>, affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>, affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dv)>, affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, dv)>]
    : tensor<1x1xf32>, tensor<?x1xf32>, tensor<?x1xf32> -> tensor<1x1xf32>
  return %o : tensor<1x1xf32>
}
"""
EXTENTS = {"q": "?", "kv": "?", "hkv": H, "dqk": D, "dv": E}


def dims_of(place):
    return place.strip("()").split(", ")


def kind(place, element="f32"):
    return f"tensor<{'x'.join(str(EXTENTS[dim]) for dim in dims_of(place))}x{element}>"


def argument(name, place, element="f32"):
    dims = [{"q": "queries", "kv": "keys"}[dim] for dim in dims_of(place) if dim in ("q", "kv")]
    named = f", attn.dims = [{', '.join(f'{chr(34)}{dim}{chr(34)}' for dim in dims)}]" if dims else ""
    return f'%{name}: {kind(place, element)} {{attn.name = "{name}"{named}}}'


def entry(name, maps, extras, score):
    q, k, v, o = maps
    seen = "".join(f", %e{i}: {element}" for i, (_, element) in enumerate(extras))
    given = ", ".join([argument("q", q), argument("k", k), argument("v", v)] + [argument(f"x{i}", *extra) for i, extra in enumerate(extras)])
    used = f"extras({', '.join(f'%x{i}' for i in range(len(extras)))} : {', '.join(kind(*extra) for extra in extras)})" if extras else ""
    region = f"score {{\n^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index{seen}):\n{score}\nattn.yield %r : f32\n}}" if score else ""
    all_maps = ", ".join(f"affine_map<{DIMS} -> {place}>" for place in [*maps, *(place for place, _ in extras)])
    return f"""func.func @{name}({given}) -> ({kind(o)} {{attn.name = "o", attn.dims = ["queries"]}}) attributes {{attn.entry}} {{
  %scale = arith.constant 0.25 : f32
  %o = attn.attention %q, %k, %v, %scale {used} maps [{all_maps}] : {kind(q)}, {kind(k)}, {kind(v)} -> {kind(o)}
    {region} {CAUSAL.format(more=seen)}
  return %o : {kind(o)}
}}
"""


def numbers(place, element, queries, keys):
    shape = [{"q": queries, "kv": keys}.get(dim, EXTENTS[dim]) for dim in dims_of(place)]
    x = random.standard_normal(shape).astype(np.float32)
    if element == "bf16":
        return (x.view(np.uint32) >> 16).astype(np.uint16)
    return x.astype(np.float16) if element == "f16" else x


text = "attn.dim @queries min 0 max 65536\nattn.dim @keys min 0 max 65536\n" + "".join(entry(name, *case) for name, case in CASES.items())
program = kernels.Program(tools, "neutral", text)
for name, (maps, extras, _) in CASES.items():
    for queries, keys in ((1, 1), (0, 3), (7, 13), (37, 131), (16, 64)):
        places = dict(zip(("q", "k", "v"), ((place, "f32") for place in maps))) | {f"x{i}": extra for i, extra in enumerate(extras)}
        inputs = {argument: numbers(place, element, queries, keys) for argument, (place, element) in places.items()}
        shape = [{"q": queries}.get(dim, EXTENTS[dim]) for dim in dims_of(maps[3])]
        label = f"{name} of {queries} queries and {keys} keys"
        got = program.compiled(name, inputs.values(), [shape], [queries, keys])[0]
        checks.equal(f"{label}, all at once", program.compiled(name, inputs.values(), [shape], [queries, keys], kernels.at_once, 1)[0], got)
        # The reference takes f32 for what numpy has no type for.
        named = {n: (a.astype(np.uint32) << 16).view(np.float32) if a.dtype == np.uint16 else a.astype(np.float32) for n, a in inputs.items()}
        checks.near(label, got, program.reference(name, named, ["o"])[0], 3e-6)
for target in ("cpu", "generic"):
    tools.options = [f"--target={target}"]
    small = kernels.Program(tools, f"small_{target}", "attn.dim @keys min 0 max 65536\n" + SMALL)
    for name, query, channels, result in (("heads_last", (1, 2, 2), 2, (1, 2, 1)), ("one", (1, 1), 1, (1, 1))):
        for keys in (1, 2, 131):
            inputs = {"q": random.standard_normal(query), "k": random.standard_normal((keys, channels)), "v": random.standard_normal((keys, 1))}
            inputs = {argument: array.astype(np.float32) for argument, array in inputs.items()}
            got = small.compiled(name, inputs.values(), [result], [keys])[0]
            checks.near(f"{target}: {name} of {keys} keys", got, small.reference(name, inputs, ["o"])[0], 3e-6)
checks.finish()
