#!/usr/bin/env python3
"""Ops on extents of 0 and 1 against the reference in float64: no tokens, no sequences, sequences without tokens, tokens behind the
last sequence, matmuls of depth 0 or of dynamic extents, heads of one channel, odd heads, grids of one line. Rows of numbers far below 0 and their largest."""

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(31)
DIMS = ("tokens", "rows", "more", "depth", "columns")
ENTRIES, CASES = [], []


def kind(shape, element="f32"):
    extents = [str(extent) if isinstance(extent, int) else "?" for extent in shape]
    return f"tensor<{'x'.join([*extents, element])}>"


def argument(name, shape, element="f32", is_result=False):
    dims = [extent for extent in shape if not isinstance(extent, int)]
    named = f", attn.dims = [{', '.join(chr(34) + dim + chr(34) for dim in dims)}]" if dims else ""
    return f'{f"%{name}: " * (not is_result)}{kind(shape, element)} {{attn.name = "{name}"{named}}}'


def add(name, inputs, result, body, *extents):
    """An entry of `inputs`, {name: shape} (of integers where the first of the shape is "i32"), whose `body` makes %y of shape `result`;
    `extents`: dims and values of integer inputs."""
    listed = [(key, shape[1:], "i32") if shape[:1] == ("i32",) else (key, shape, "f32") for key, shape in inputs.items()]
    ENTRIES.append(f"""func.func @{name}({", ".join(argument(*each) for each in listed)}) -> ({argument("y", result, is_result=True)}) attributes {{attn.entry}} {{
{body}
  return %y : {kind(result)}
}}
""")
    CASES.append((name, listed, result, extents))


def extent_of(dim, dims):
    if isinstance(dim, int):
        return dim
    return dims[dim[:-2]] + 1 if dim.endswith("+1") else dims[dim]


T, R = "tokens", "rows"
BEGIN = {"begin": [0, 0, 2, 2, 5, 5]}  # of 5 sequences, the first, third and last empty
PACKED = [({"tokens": 0, "rows": 0}, {"begin": [0]}), ({"tokens": 0, "rows": 2}, {"begin": [0, 0, 0]}), ({"tokens": 3, "rows": 0}, {"begin": [0]}),
          ({"tokens": 9, "rows": 5}, BEGIN)]
COUNTS = [({"tokens": n}, {}) for n in (0, 17)]

# Matmuls.
for depth, columns in ((0, 5), (0, 64), (1, 1), (5, 1)):
    add(f"linear_{depth}_{columns}", {"x": (T, depth), "w": (depth, columns), "b": (columns,)}, (T, columns),
        f"""  %y = attn.linear %x, %w, (%b) : {kind((T, depth))}, {kind((depth, columns))}, ({kind((columns,))}) -> {kind((T, columns))} {{
  ^bb0(%s: f32, %e: f32):
    %r = arith.addf %s, %e : f32
    attn.yield %r : f32
  }}""", *COUNTS)
    add(f"transposed_{depth}_{columns}", {"x": (T, depth), "w": (columns, depth)}, (T, columns),
        f"  %y = attn.linear %x, %w transposed : {kind((T, depth))}, {kind((columns, depth))} -> {kind((T, columns))}", *COUNTS)
if "--target=generic" in tools.options:  # the CPU target refuses columns that are no number
    add("linear_dynamic", {"x": (T, "depth"), "w": ("depth", "columns")}, (T, "columns"),
        f"  %y = attn.linear %x, %w : {kind((T, T))}, {kind((T, T))} -> {kind((T, T))}",
        *[({"tokens": m, "depth": k, "columns": n}, {}) for m, k, n in ((0, 3, 4), (3, 0, 4), (3, 4, 0), (1, 1, 1), (17, 33, 35))])

# Rows.
x, w = (T, 1), (1,)
add("layer_norm", {"x": x, "w": w, "b": w}, x, f"  %y = attn.layer_norm %x, %w, %b epsilon 1.0e-5 : {kind(x)}, {kind(w)}", *COUNTS)
add("rms_norm", {"x": x, "w": w}, x, f"  %y = attn.rms_norm %x, %w epsilon 1.0e-5 : {kind(x)}, {kind(w)}", *COUNTS)
h, w = (T, 5, 1), (5, 1)
add("own_layer_norm", {"x": h, "w": w, "b": w}, h, f"  %y = attn.layer_norm %x, %w, %b epsilon 1.0e-5 : {kind(h)}, {kind(w)}", *COUNTS)
add("own_rms_norm", {"x": h, "w": w}, h, f"  %y = attn.rms_norm %x, %w epsilon 1.0e-5 : {kind(h)}, {kind(w)}", *COUNTS)
for way in ("last", "max", "skip"):
    how = "mean %x, %begin skip 1" if way == "skip" else f"{way} %x, %begin"
    add(f"pool_{way}", {"x": x, "begin": ("i32", "rows+1")}, (R, 1), f"  %y = attn.pool_rows {how} : {kind(x)}, tensor<?xi32> -> {kind((R, 1))}", *PACKED)
add("select", {"x": x, "ids": ("i32", R)}, (R, 1), f"  %y = attn.select_rows %x, %ids : {kind(x)}, tensor<?xi32> -> {kind((R, 1))}",
    ({"tokens": 0, "rows": 0}, {"ids": []}), ({"tokens": 3, "rows": 0}, {"ids": []}), ({"tokens": 1, "rows": 2}, {"ids": [0, 0]}))
add("concat", {"x": x, "z": (T, 2)}, (T, 3), f"  %y = attn.concat %x, %z : {kind(x)}, {kind((T, 2))}", *COUNTS)
add("column", {"x": x}, (T,), f"  %y = attn.column %x[0] : {kind(x)} -> {kind((T,))}", *COUNTS)
add("glu", {"x": x, "z": x}, x, f"  %y = attn.glu silu %x, %z : {kind(x)}", *COUNTS)
add("embedding", {"x": (1, 1), "ids": ("i32", T)}, x, f"  %y = attn.embedding %ids, %x : tensor<?xi32>, {kind((1, 1))} -> {kind(x)}",
    *[({"tokens": n}, {"ids": [0] * n}) for n in (0, 1, 18)])

# Heads.
for heads, channels, pairs in ((2, 1, 0), (3, 5, 2)):
    x, c = (T, heads, channels), (T, pairs)
    merged, name = (T, heads * channels), f"{heads}_{channels}"
    add(f"merge_{name}", {"x": x}, merged, f"  %y = attn.merge_heads %x : {kind(x)} -> {kind(merged)}", *COUNTS)
    add(f"split_{name}", {"x": merged}, x, f"  %y = attn.split_heads %x : {kind(merged)} -> {kind(x)}", *COUNTS)
    if pairs:
        for way in ("", "interleaved"):
            add(f"rope{way}_{name}", {"x": x, "c": c, "s": c}, x, f"  %y = attn.rope %x, %c, %s {way} : {kind(x)}, {kind(c)}", *COUNTS)
MAPS = "maps [{}]".format(", ".join(f"affine_map<(b, hkv, g, q, kv, dqk, dv) -> ({place})>" for place in ("q, hkv, g, dqk", "kv, hkv, dqk", "kv, hkv, dv", "q, hkv, g, dv")))
for heads, group, dqk, dv in ((1, 1, 1, 1), (2, 3, 1, 5)):
    q, k, v, o = (T, heads, group, dqk), ("more", heads, dqk), ("more", heads, dv), (T, heads, group, dv)
    name, types = f"{heads}_{group}_{dqk}_{dv}", f"{kind(q)}, {kind(k)}, {kind(v)} -> {kind(o)}"
    half = "  %scale = arith.constant 0.5 : f32\n"
    add(f"attention_{name}", {"q": q, "k": k, "v": v}, o, f"{half}  %y = attn.attention %q, %k, %v, %scale {MAPS} : {types}",
        *[({"tokens": m, "more": n}, {}) for m, n in ((0, 3), (3, 0), (1, 1), (5, 67))])
    rows = "q_begin(%begin : tensor<?xi32>) q_offset(%zero : tensor<?xi32>) kv_begin(%begin : tensor<?xi32>) kv_length(%length : tensor<?xi32>)"
    k, v = (T, heads, dqk), (T, heads, dv)
    types = f"{kind(q)}, {kind(k)}, {kind(v)} -> {kind(o)}"
    add(f"packed_{name}", {"q": q, "k": k, "v": v, "begin": ("i32", "rows+1"), "zero": ("i32", R), "length": ("i32", R)}, o,
        f"{half}  %y = attn.attention %q, %k, %v, %scale {rows} {MAPS} : {types}",
        *[(dims, {**integers, "zero": [0] * dims["rows"], "length": list(np.diff(integers["begin"]))}) for dims, integers in PACKED])

# Recurrences.
for cell, parts, states in (("gru", 3, 1), ("lstm", 4, 2)):
    for hidden, result in ((1, "y"), (1, "h"), (3, "h")):
        x, w, shape = (T, parts * hidden), (hidden, parts * hidden), (T if result == "y" else R, hidden)
        others = [f"%other{i}" for i in range(states - (result == "h"))]
        made = ["%y", *others] if result == "y" else ["%all", "%y", *others]
        add(f"{cell}_{hidden}_{result}", {"x": x, "w": w, "begin": ("i32", "rows+1")}, shape,
            f"  {', '.join(made)} = attn.recurrence {cell} %x, %w rows(%begin){' reverse' * (hidden == 3)} : {kind(x)}, {kind(w)}, tensor<?xi32>", *PACKED)


# Rows of which every number is far below 0, and whose last vector is a part of one: a lane without an element must not be the largest.
NEGATIVE = {}  # of an entry: its inputs, by their shapes


def negative(name, inputs, result, body, values, *extents):
    add(name, inputs, result, body, *extents)
    NEGATIVE[name] = values


below = lambda shape: -200 - 50 * random.random(shape)
wide, ten = (T, 37), lambda shape: np.full(shape, 10.0)
negative("negative_pool", {"x": wide, "begin": ("i32", "rows+1")}, (R, 37), f"  %y = attn.pool_rows max %x, %begin : {kind(wide)}, tensor<?xi32> -> {kind((R, 37))}", {"x": below}, PACKED[-1])
negative("negative_route", {"x": wide}, (T, 3), f"  %y, %e = attn.route softmax %x of 37 : {kind(wide)} -> {kind((T, 3))}, tensor<?x3xi32>", {"x": below}, *COUNTS)
for op, least in (("maximumf", "0xFF800000"), ("maxnumf", "-3.0e38")):  # 0xFF800000 is -inf
    for name, along in (("columns", 1), ("rows", 0)):
        maps, kinds = f"affine_map<(i, j) -> ({'ij'[1 - along]})>", ["parallel", "parallel"]
        kinds[along] = "reduction"
        result = (T,) if along else (37,)
        size = "%n" if along else ""
        negative(f"negative_{op}_{name}", {"x": wide}, result, f"""  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : {kind(wide)}
  %least = arith.constant {least} : f32
  %empty = tensor.empty({size}) : {kind(result)}
  %init = linalg.fill ins(%least : f32) outs(%empty : {kind(result)}) -> {kind(result)}
  %y = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, {maps}], iterator_types = [{", ".join(f'"{each}"' for each in kinds)}]}}
      ins(%x : {kind(wide)}) outs(%init : {kind(result)}) {{
  ^bb0(%e: f32, %most: f32):
    %m = arith.{op} %e, %most : f32
    linalg.yield %m : f32
  }} -> {kind(result)}""", {"x": below}, ({"tokens": 19}, {}), ({"tokens": 1}, {}))
q, k, v, o = (T, 2, 3, 5), ("more", 2, 5), ("more", 2, 7), (T, 2, 3, 7)
types = f"{kind(q)}, {kind(k)}, {kind(v)} -> {kind(o)}"
negative("negative_attention", {"q": q, "k": k, "v": v}, o, f"{half}  %y = attn.attention %q, %k, %v, %scale {MAPS} : {types}", {"q": ten, "k": lambda shape: below(shape) / 25},
         *[({"tokens": m, "more": n}, {}) for m in (1, 5) for n in (1, 3, 17, 33, 67)])
k, v = (T, 2, 5), (T, 2, 7)
negative("negative_packed", {"q": q, "k": k, "v": v, "begin": ("i32", "rows+1"), "zero": ("i32", R), "length": ("i32", R)}, o,
         f"{half}  %y = attn.attention %q, %k, %v, %scale {rows} {MAPS} : {kind(q)}, {kind(k)}, {kind(v)} -> {kind(o)}", {"q": ten, "k": lambda shape: below(shape) / 25},
         *[({"tokens": sum(lengths), "rows": len(lengths)}, {"begin": [0, *np.cumsum(lengths)], "zero": [0] * len(lengths), "length": lengths}) for lengths in ([1, 35, 3], [67])])


text = "".join(f"attn.dim @{dim} min 0 max 4096\n" for dim in DIMS) + "".join(ENTRIES)
program = kernels.Program(tools, "edges", text)
for name, listed, result, cases in CASES:
    for dims, integers in cases:
        dims = {dim: dims.get(dim, 1) for dim in DIMS}
        shape_of = lambda shape: tuple(extent_of(extent, dims) for extent in shape)
        inputs = {}
        for key, shape, element in listed:
            draw = NEGATIVE.get(name, {}).get(key, random.standard_normal)
            numbers = integers[key] if element == "i32" else draw(shape_of(shape))
            inputs[key] = np.asarray(numbers, np.int32 if element == "i32" else np.float32).reshape(shape_of(shape))
        label = f"{name} {dims}"
        got = program.compiled(name, inputs.values(), [shape_of(result)], list(dims.values()))[0]
        checks.equal(f"{label}, all at once", program.compiled(name, inputs.values(), [shape_of(result)], list(dims.values()), kernels.at_once, 1)[0], got)
        bound = 3e-5 if name in NEGATIVE else 3e-6  # a score of -250 has an error of 2^-17
        checks.near(label, got, program.reference(name, inputs, ["y"])[0], bound)
checks.finish()
