#!/usr/bin/env python3
"""Every op on activations of f32, bf16 and f16, and on mixtures of them, against the reference in float64: a result is rounded once, from
what f32 computes. Ops on images belong in models: vit_random.py has them, and the last lines attn.unpack_rows. On extents of 1, on primes, on more than a tile, and on ragged sequences.

Where f32's error moves a number over the middle between two neighbors of 16 bits, the other neighbor is right, too; that is rare, so few
numbers may differ, and by one neighbor."""

import subprocess
from pathlib import Path

import numpy as np

import kernels
import packed_model

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(37)
DIMS = ("tokens", "rows", "more")
STEP = {"f32": 0, "bf16": 2.0**-7, "f16": 2.0**-10}  # between neighbors, of the number
ENTRIES, CASES = [], []
T, R = "tokens", "rows"
BEGIN = {"begin": [0, 0, 5, 6, 29, 37]}
PACKED = [({"tokens": 1, "rows": 1}, {"begin": [0, 1]}), ({"tokens": 40, "rows": 5}, BEGIN)]
COUNTS = [({"tokens": n}, {}) for n in (1, 37)]


def kind(shape, element):
    return f"tensor<{'x'.join([*(str(extent) if isinstance(extent, int) else '?' for extent in shape), element])}>"


def argument(name, shape, element, mark=""):
    dims = [extent for extent in shape if not isinstance(extent, int)]
    named = f", attn.dims = [{', '.join(chr(34) + dim + chr(34) for dim in dims)}]" if dims else ""
    return f'{mark}{kind(shape, element)} {{attn.name = "{name}"{named}}}'


def add(name, inputs, outputs, body, *extents, tolerance=3e-6, is_counted=True):
    """`inputs` and `outputs`: {name: (element, extents...)}. `body` has `{x}` for the type of tensor x. `is_counted`: few numbers may differ."""
    types = {key: kind(shape[1:], shape[0]) for key, shape in {**inputs, **outputs}.items()}
    given = ", ".join(argument(key, shape[1:], shape[0], f"%{key}: ") for key, shape in inputs.items())
    for key, value in types.items():
        body = body.replace("{" + key + "}", value)
    ENTRIES.append(f"""func.func @{name}({given}) -> ({", ".join(argument(key, shape[1:], shape[0]) for key, shape in outputs.items())}) attributes {{attn.entry}} {{
{body}
  return {", ".join(f"%{key}" if key not in inputs else f"%new_{key}" for key in outputs)} : {", ".join(types[key] for key in outputs)}
}}
""")
    CASES.append((name, inputs, outputs, extents, tolerance, is_counted))


def extent_of(dim, dims):
    if isinstance(dim, int):
        return dim
    return dims[dim[:-2]] + 1 if dim.endswith("+1") else dims[dim]


def region(kind, yields, extras=0):
    first = {"mask": "", "score": "%s: f32, "}[kind]
    return f"""{kind} {{
    ^bb0({first}%b: index, %h: index, %i: index, %j: index{"".join(f", %e{i}: f32" for i in range(extras))}):
      {yields}
    }}"""


SMALL = ("bf16", "f16")
MAPS = "maps [{}]".format(", ".join(f"affine_map<(b, hkv, g, q, kv, dqk, dv) -> ({place})>" for place in ("q, hkv, g, dqk", "kv, hkv, dqk", "kv, hkv, dv", "q, hkv, g, dv")))
CAUSAL = region("mask", "%keep = arith.cmpi sle, %j, %i : index\n      attn.yield %keep : i1")
HALF = "  %half = arith.constant 0.5 : f32\n"

# Matmuls, whose operands and result are of any types each.
for x, w, y in (("bf16", "bf16", "bf16"), ("f16", "f16", "f16"), ("bf16", "f32", "f32"), ("f32", "bf16", "bf16"), ("f16", "bf16", "f32"), ("f32", "f32", "f16")):
    for k, n in ((33, 100), (1, 1), (64, 64))[:3 if x == w == "bf16" else 1]:
        add(f"linear_{x}_{w}_{y}_{k}", {"x": (x, T, k), "w": (w, k, n), "b": (w, n), "r": (y, T, n)}, {"y": (y, T, n)}, """  %y = attn.linear %x, %w, (%b, %r) : {x}, {w}, ({b}, {r}) -> {y} {
  ^bb0(%s: f32, %e: f32, %f: f32):
    %a = arith.addf %s, %e : f32
    %c = arith.addf %a, %f : f32
    attn.yield %c : f32
  }""", *COUNTS)
    add(f"transposed_{x}_{w}_{y}", {"x": (x, T, 37), "w": (w, 41, 37)}, {"y": (y, T, 41)}, "  %y = attn.linear %x, %w transposed : {x}, {w} -> {y}", *COUNTS)
for x in SMALL:
    for n in (33, 64):
        # The activation sees the matmul's rounded result, fused or not.
        add(f"fused_{x}_{n}", {"x": (x, T, 40), "w": (x, 40, n), "r": (x, T, n)}, {"y": (x, T, n)},
            "  %a = attn.linear %x, %w : {x}, {w} -> {y}\n  %b = attn.activation gelu %a : {y}\n  %y = arith.addf %b, %r : {y}", *COUNTS, tolerance=4 * STEP[x])
        add(f"chained_{x}_{n}", {"x": (x, T, 40), "v": (x, 40, 70), "w": (x, 70, n)}, {"y": ("f32", T, n)},
            f"  %a = attn.linear %x, %v : {{x}}, {{v}} -> {kind((T, 70), x)}\n  %b = attn.activation relu %a : {kind((T, 70), x)}\n"
            f"  %y = attn.linear %b, %w : {kind((T, 70), x)}, {{w}} -> {{y}}", *COUNTS, tolerance=2e-3, is_counted=False)

# Rows.
for x in SMALL:
    other = "f16" if x == "bf16" else "bf16"
    for n in (50, 1, 64)[:2 if x == "bf16" else 1]:
        row = (x, T, n)
        for w in (x, "f32") if n == 50 else (x,):
            add(f"layer_norm_{x}_{w}_{n}", {"x": row, "w": (w, n), "b": (w, n)}, {"y": row}, "  %y = attn.layer_norm %x, %w, %b epsilon 1.0e-5 : {x}, {w}", *COUNTS)
            add(f"rms_norm_{x}_{w}_{n}", {"x": row, "w": (w, n)}, {"y": row}, "  %y = attn.rms_norm %x, %w epsilon 1.0e-5 : {x}, {w}", *COUNTS)
        heads = (x, T, 3, n)  # each with a weight of its own
        add(f"own_layer_norm_{x}_{n}", {"x": heads, "w": ("f32", 3, n), "b": ("f32", 3, n)}, {"y": heads}, "  %y = attn.layer_norm %x, %w, %b epsilon 1.0e-5 : {x}, {w}", *COUNTS)
        add(f"own_rms_norm_{x}_{n}", {"x": heads, "w": (x, 3, n)}, {"y": heads}, "  %y = attn.rms_norm %x, %w epsilon 1.0e-5 : {x}, {w}", *COUNTS)
        add(f"activation_{x}_{n}", {"x": row}, {"y": row}, "  %y = attn.activation silu %x : {x}", *COUNTS)
        add(f"glu_{x}_{n}", {"x": row, "z": row}, {"y": row}, "  %y = attn.glu gelu_tanh %x, %z : {x}", *COUNTS)
        add(f"add_{x}_{n}", {"x": row, "z": row}, {"y": row}, "  %y = arith.addf %x, %z : {x}", *COUNTS)
        wide = kind((T, n), "f32")
        add(f"cast_{x}_f32_{n}", {"x": row}, {"y": ("f32", T, n)}, "  %y = arith.extf %x : {x} to {y}", *COUNTS)
        add(f"cast_{x}_{other}_{n}", {"x": row}, {"y": (other, T, n)}, f"  %w = arith.extf %x : {{x}} to {wide}\n  %y = arith.truncf %w : {wide} to {{y}}", *COUNTS)
        add(f"cast_f32_{x}_{n}", {"x": ("f32", T, n)}, {"y": row}, "  %y = arith.truncf %x : {x} to {y}", *COUNTS)
        # Arithmetic of arith and math rounds its results as ops of attn do.
        add(f"math_{x}_{n}", {"x": row, "z": row}, {"y": row}, "  %d = arith.subf %x, %z : {x}\n  %e = math.absf %d : {x}\n  %f = math.sqrt %e : {x}\n"
            "  %g = math.erf %f : {x}\n  %h = arith.mulf %g, %x : {x}\n  %y = arith.maximumf %h, %z : {x}", *COUNTS, tolerance=4 * STEP[x])
        add(f"select_{x}_{n}", {"x": row, "ids": ("i32", R)}, {"y": (x, R, n)}, "  %y = attn.select_rows %x, %ids : {x}, {ids} -> {y}",
            ({"tokens": 1, "rows": 2}, {"ids": [0, 0]}), ({"tokens": 37, "rows": 3}, {"ids": [36, 0, 7]}))
        for way in ("first", "last", "mean", "max"):
            add(f"pool_{way}_{x}_{n}", {"x": row, "begin": ("i32", "rows+1")}, {"y": (x, R, n)}, f"  %y = attn.pool_rows {way} %x, %begin : {{x}}, {{begin}} -> {{y}}", *PACKED)
        add(f"embedding_{x}_{n}", {"ids": ("i32", T), "w": (other, 7, n)}, {"y": row}, "  %y = attn.embedding %ids, %w scale 1.7 : {ids}, {w} -> {y}",
            ({"tokens": 1}, {"ids": [6]}), ({"tokens": 5}, {"ids": [0, 6, 3, 3, 1]}))
        add(f"update_{x}_{n}", {"s": (x, R, n), "v": ("f32", 2, n), "ids": ("i32", 2)}, {"s": (x, R, n)}, "  %new_s = attn.update_rows %s, %v, %ids : {s}, {v}, {ids}",
            ({"rows": 5}, {"ids": [4, 1]}))
        for how in ("set", "add"):
            add(f"write_{how}_{x}_{n}", {"s": (x, R, n), "v": ("f32", T, 3, n), "ids": ("i32", T)}, {"y": (x, R, n)},
                f"  %one = arith.constant 1 : index\n  %y = attn.write_rows {how} %s, %v[%one], %ids : {{s}}, {{v}}, {{ids}}",
                ({"rows": 5, "tokens": 2}, {"ids": [4, 1]}), ({"rows": 5, "tokens": 0}, {"ids": []}))
        add(f"keep_{x}_{n}", {"s": ("f32", R, 2, n), "v": (x, 2, n), "ids": ("i32", 2)}, {"s": ("f32", R, 2, n)},
            "  %one = arith.constant 1 : index\n  %new_s = attn.update_rows %s[%one], %v, %ids : {s}, {v}, {ids}", ({"rows": 5}, {"ids": [4, 1]}))
    add(f"column_{x}", {"x": (x, T, 3)}, {"y": (x, T)}, "  %y = attn.column %x[2] : {x} -> {y}", *COUNTS)
    add(f"concat_{x}", {"x": (x, T, 33), "z": (x, T, 5)}, {"y": (x, T, 38)}, "  %y = attn.concat %x, %z : {x}, {z}", *COUNTS)

    # Positions.
    add(f"sinusoids_{x}", {"p": ("i32", T)}, {"y": (x, T, 5)}, "  %y = attn.sinusoids %p frequencies [1.0, 1.0, 0.3, 0.3, 0.01] : {p} -> {y}", ({"tokens": 4}, {"p": [0, 1, 77, 5]}))
    add(f"sinusoids_halves_{x}", {"p": ("i32", T)}, {"y": (x, T, 6)}, "  %y = attn.sinusoids %p frequencies [1.0, 0.3, 0.01, 1.0, 0.3, 0.01] halves first 2 : {p} -> {y}",
        ({"tokens": 4}, {"p": [0, 1, 77, 5]}))
    add(f"table_{x}", {"p": ("i32", T)}, {"c": (x, T, 3), "s": (x, T, 3)}, "  %c, %s = attn.rotary_table %p frequencies [1.0, 0.3, 0.01] : {p} -> {c}", ({"tokens": 4}, {"p": [0, 1, 77, 5]}))
    for c in (x, "f32"):
        for heads, channels, pairs in ((3, 35, 16), (1, 2, 1))[:2 if x == c == "bf16" else 1]:
            add(f"rope_{x}_{c}_{channels}", {"x": (x, T, heads, channels), "c": (c, T, pairs), "s": (c, T, pairs)}, {"y": (x, T, heads, channels)}, "  %y = attn.rope %x, %c, %s : {x}, {c}", *COUNTS)

    # Heads and attention: queries, keys, values and the result of any types each.
    for heads, channels in ((1, 1), (3, 13), (2, 32)):
        add(f"merge_{x}_{channels}", {"x": (x, T, heads, channels)}, {"y": (x, T, heads * channels)}, "  %y = attn.merge_heads %x : {x} -> {y}", *COUNTS)
        add(f"split_{x}_{channels}", {"x": (x, T, 2 * heads * channels)}, {"y": (x, T, heads, channels), "z": (x, T, heads, channels)}, "  %y, %z = attn.split_heads %x : {x} -> {y}, {z}", *COUNTS)
TYPES = [("bf16", "bf16", "bf16", "bf16"), ("f16", "f16", "f16", "f16"), ("bf16", "f32", "f32", "f32"), ("f32", "f16", "bf16", "bf16"), ("f16", "f32", "f32", "f16")]
for q, k, v, o in TYPES:
    # Where keys and values are bf16, a CPU may round queries and probabilities to bf16 as well.
    loose = {"tolerance": 2e-2, "is_counted": False} if k == v == "bf16" else {}
    for heads, group, dqk, dv in ((2, 3, 33, 20), (1, 1, 1, 1), (1, 2, 64, 32))[:3 if q == "bf16" == k else 1]:
        name = f"{q}_{k}_{v}_{o}_{dqk}"
        add(f"A21_attention_{name}", {"q": (q, T, heads, group, dqk), "k": (k, "more", heads, dqk), "v": (v, "more", heads, dv)}, {"o": (o, T, heads, group, dv)},
            f"{HALF}  %o = attn.attention %q, %k, %v, %half {MAPS} : {{q}}, {{k}}, {{v}} -> {{o}} {CAUSAL}", *[({"tokens": m, "more": n}, {}) for m, n in ((1, 1), (37, 131))], **loose)
    if "f32" in (q, k) and o != "f32":
        continue
    packed = "q_begin(%begin : tensor<?xi32>) kv_begin(%begin : tensor<?xi32>)"
    slopes = MAPS[:-1] + ", affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv)>]"
    add(f"packed_{q}_{k}_{v}_{o}", {"q": (q, T, 2, 1, 24), "k": (k, T, 2, 24), "v": (v, T, 2, 24), "e": ("f32", 2), "begin": ("i32", "rows+1")}, {"o": (o, T, 2, 1, 24)},
        f"{HALF}  %o = attn.attention %q, %k, %v, %half {packed} extras(%e : tensor<2xf32>) {slopes} : {{q}}, {{k}}, {{v}} -> {{o}} "
        + region("score", "%r = arith.mulf %s, %e0 : f32\n      attn.yield %r : f32", 1), *PACKED, **loose)
    add(f"additive_{q}_{k}_{o}", {"q": (q, T, 1, 1, 5), "k": (k, "more", 1, 5), "v": (v, "more", 1, 7), "a": (q, 5)}, {"o": (o, T, 1, 1, 7)},
        f"{HALF}  %o = attn.attention %q, %k, %v, %half additive(%a : {{a}}) {MAPS} : {{q}}, {{k}}, {{v}} -> {{o}}", *[({"tokens": m, "more": n}, {}) for m, n in ((1, 1), (5, 67))])
    add(f"weights_{q}_{k}_{v}_{o}", {"w": (o, T, 2, 1, 40), "q": (q, T, 2, 1, 24), "k": (k, T, 2, 24), "begin": ("i32", "rows+1")}, {"w": (o, T, 2, 1, 40)},
        f"{HALF}  %one = arith.constant 1 : index\n  %o, %new_w = attn.attention %q, %k, %k, %half {packed} weights(%w[%one] heads [1] : {{w}}) {MAPS} : {{q}}, {{k}}, {{k}} -> {{q}}", *PACKED)

# Recurrences: states are f32 between time steps.
for cell, parts, states in (("gru", 3, 1), ("lstm", 4, 2), ("rnn_tanh", 1, 1), ("rnn_relu", 1, 1)):
    for x, s in (("bf16", "bf16"), ("f16", "f32"), ("f32", "f16"))[:3 if states == 2 else 1]:
        for hidden in (33, 1)[:2 if states == 2 and x == s else 1]:
            names = ["h", "c"][:states]
            add(f"recurrence_{cell}_{x}_{s}_{hidden}", {"x": (x, T, parts * hidden), "w": (x, hidden, parts * hidden), "b": (x, parts * hidden), "begin": ("i32", "rows+1"), **{f"{n}0": (s, R, hidden) for n in names}},
                {"y": (x, T, hidden), **{n: (s, R, hidden) for n in names}},
                f"  %y, {', '.join('%' + n for n in names)} = attn.recurrence {cell} %x, %w bias(%b : {{b}}) rows(%begin) init({', '.join(f'%{n}0' for n in names)}) {'reverse' * (x == 'f16')}"
                f" : {{x}}, {{w}}, {{begin}}, {', '.join('{' + n + '0}' for n in names)}", *PACKED, tolerance=1e-5)


def near(label, got, expected, element, tolerance, is_counted):
    """`got` is as near to `expected` as f32 computes, or the next neighbor, which few are."""
    got = kernels.widened(got).astype(np.float64)
    error, scale = np.abs(got - expected), max(1.0, np.abs(expected).max(initial=0))
    checks.near(label, np.where(error <= STEP[element] * np.abs(expected) * 1.001, 0, error), np.zeros_like(error), tolerance * scale)
    if element != "f32" and is_counted:
        others = int((got != expected).sum())
        checks.near(f"{label}: numbers that are others", np.float64(others), np.float64(0), max(2, 0.03 * got.size))


def check_unpacked():
    """attn.unpack_rows moves numbers of 16 bits as they are; as it makes rows that no argument has, it belongs in a model."""
    shapes = {f"{x}_{'x'.join(map(str, rest))}": (x, rest) for x in SMALL for rest in ((5,), (64,), (2, 3))}
    text = 'module attributes {attn.model = {family = "test"}} {\n' + "".join(f"attn.dim @{dim} min 1 max 4096\n" for dim in DIMS)
    text += 'attn.parameter @w : tensor<7x3xf32> from [#attn.source<"w">]\n'
    for name, (x, rest) in shapes.items():
        packed, unpacked = kind((T, *rest), x), kind((R, "more", *rest), x)
        text += f"""func.func @unpack_{name}({argument("x", (T, *rest), x, "%x: ")}, {argument("r", (R,), "i32", "%r: ")}, {argument("m", ("more",), "i32", "%m: ")})
    -> ({argument("y", (R, "more", *rest), x)}, {argument("z", (R, 3), "f32")}) attributes {{attn.entry}} {{
  %c0 = arith.constant 0 : index
  %length = tensor.dim %m, %c0 : tensor<?xi32>
  %y = attn.unpack_rows %x, %length : {packed} -> {unpacked}
  %w = attn.parameter_slice @w : tensor<7x3xf32>
  %z = attn.embedding %r, %w : tensor<?xi32>, tensor<7x3xf32> -> tensor<?x3xf32>
  return %y, %z : {unpacked}, tensor<?x3xf32>
}}
"""
    folder = Path(tools.scratch)
    (folder / "unpack.mlir").write_text(text + "}\n")
    packed_model.write_weights(folder / "weights", {"w": np.ones((7, 3), np.float32)})
    subprocess.run([tools.raptc, folder / "unpack.mlir", f"--weights={folder}/weights", "-o", folder / "unpack.so", *tools.options], check=True, stdout=subprocess.DEVNULL)
    model = packed_model.Model(folder / "unpack.so")
    for name, (x, rest) in shapes.items():
        for rows, more in ((1, 1), (3, 13), (5, 64)):
            given = kernels.stored(random.standard_normal((rows * more, *rest)), x)
            (y, beyond), (z, _) = kernels.aligned((rows, more, *rest), given.dtype), kernels.aligned((rows, 3), np.float32)
            before = beyond.copy()
            numbers = [packed_model.placed(np.zeros(count, np.int32)) for count in (rows, more)]
            model.run(f"unpack_{name}", [packed_model.placed(given), *numbers, y, z], (rows * more, rows, more), 2)
            checks.equal(f"unpack_rows {name} of {rows} x {more}", y, given.reshape(y.shape))
            checks.equal(f"unpack_rows {name} of {rows} x {more}: what is behind", beyond, before)


text = "".join(f"attn.dim @{dim} min 0 max 4096\n" for dim in DIMS) + "".join(ENTRIES)
program = kernels.Program(tools, "types", text)
for name, inputs, outputs, cases, *judged in CASES:
    for dims, integers in cases:
        dims = {dim: dims.get(dim, 1) for dim in DIMS}
        shape_of = lambda shape: tuple(extent_of(extent, dims) for extent in shape[1:])
        arrays = {key: kernels.stored(np.reshape(integers[key], shape_of(shape)) if shape[0] == "i32" else random.standard_normal(shape_of(shape)), shape[0])
                  for key, shape in inputs.items()}
        if "recurrence" in name:  # states that no error grows in
            arrays["w"] = kernels.stored(0.1 * kernels.widened(arrays["w"]), inputs["w"][0])
        label = f"{name} {dims}"
        made = [(shape_of(shape), kernels.TYPES[shape[0]]) for key, shape in outputs.items() if key not in inputs]
        in_place = [list(inputs).index(key) for key in outputs if key in inputs]
        got = program.compiled(name, arrays.values(), made, list(dims.values()), in_place=in_place)
        again = program.compiled(name, arrays.values(), made, list(dims.values()), kernels.at_once, 1, in_place=in_place)
        expected = program.reference(name, arrays, list(outputs))
        for (key, shape), result, other, right in zip(outputs.items(), got, again, expected):
            checks.equal(f"{label} {key}, all at once", kernels.widened(other).astype(np.float32), kernels.widened(result).astype(np.float32))
            near(f"{label} {key}", result, right, shape[0], *judged)
check_unpacked()
checks.finish()
