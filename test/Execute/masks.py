#!/usr/bin/env python3
"""Masks of every kind, whose blocks are skipped, masked or read without a mask: compiled and by the reference, against numpy. Queries begin at a
position of their own, as in prefill, in a step of one query, and in a prompt that goes on. NaN is in keys and values of which no query sees one, and
behind the last key. Extra operands have every element type, tables have dynamic extents, and scalars are arguments."""

import os

import numpy as np

import kernels
import processor

tools = kernels.tools(__doc__)
processor.allow_tiles(tools.clang, tools.scratch)
checks, random = kernels.Checks(), np.random.default_rng(53)
HEADS, GROUPS, SIZE = 2, 2, 72  # three panels each, so that a KV block does not divide the keys that stay in L2
# Queries, position of the first, keys.
SHAPES = ((1, 0, 1), (37, 0, 37), (1, 299, 300), (13, 500, 513), (270, 64, 334), (300, 0, 300), (14, 7, 700))


def constants(kind="index", **values):
    return "".join(f"%{name} = arith.constant {value} : {kind}\n" for name, value in values.items())


def joined(op, *names, to="keep"):
    text, last = "", names[0]
    for i, name in enumerate(names[1:]):
        result = to if i == len(names) - 2 else f"{to}{i}"
        text, last = text + f"%{result} = arith.{op} %{last}, %{name} : i1\n", result
    return text


CAUSAL = "%causal = arith.cmpi sle, %j, %i : index\n"
APART = "%apart = arith.subi %i, %j : index\n"
NEAR = APART + "%near = arith.cmpi slt, %apart, %w : index\n"
LISTED = "%true = arith.constant true\n%keep = arith.andi %blocks, %true : i1\n"
# name: extras {name: (map, type)}, mask; numpy's mask from i [queries, 1], j [keys], h and the extras of the call.
CASES = {
    "causal": ({}, CAUSAL + joined("andi", "causal", "causal"), lambda i, j, h, e: j <= i),
    "window": ({}, constants(w=50) + CAUSAL + NEAR + joined("andi", "causal", "near"), lambda i, j, h, e: (j <= i) & (i - j < 50)),
    "both_sides": ({}, constants(w=33, z=-20) + NEAR + "%late = arith.cmpi sgt, %apart, %z : index\n" + joined("andi", "late", "near"), lambda i, j, h, e: (i - j < 33) & (i - j > -20)),
    "chunks": ({}, constants(c=48) + CAUSAL + "%x = arith.divui %i, %c : index\n%y = arith.divui %j, %c : index\n%same = arith.cmpi eq, %x, %y : index\n" + joined("andi", "causal", "same"),
               lambda i, j, h, e: (j <= i) & (i // 48 == j // 48)),
    "dilated": ({}, constants(w=200, four=4, zero=0) + CAUSAL + NEAR + "%rest = arith.remsi %apart, %four : index\n%each = arith.cmpi eq, %rest, %zero : index\n" + joined("andi", "causal", "near", "each"),
                lambda i, j, h, e: (j <= i) & (i - j < 200) & ((i - j) % 4 == 0)),
    "prefix": ({"prefix": ("()", "i32")}, CAUSAL + "%p = arith.index_cast %prefix : i32 to index\n%early = arith.cmpi slt, %j, %p : index\n" + joined("ori", "causal", "early"),
               lambda i, j, h, e: (j <= i) | (j < e["prefix"])),
    "global": ({}, constants(w=40, g=5) + CAUSAL + NEAR + "%first = arith.cmpi slt, %j, %g : index\n" + joined("ori", "near", "first", to="some") + joined("andi", "causal", "some"),
               lambda i, j, h, e: (j <= i) & ((i - j < 40) | (j < 5))),
    "documents": ({"of_query": ("(q)", "?xi32"), "of_key": ("(kv)", "?xi32")}, "%keep = arith.cmpi eq, %of_query, %of_key : i32\n", lambda i, j, h, e: e["of_query"][:, None] == e["of_key"]),
    "A40_documents_i64": ({"of_query": ("(q)", "?xi64"), "of_key": ("(kv)", "?xi64")}, CAUSAL + "%same = arith.cmpi eq, %of_query, %of_key : i64\n" + joined("andi", "causal", "same"),
                      lambda i, j, h, e: (j <= i) & (e["of_query"][:, None] == e["of_key"])),
    "A40_kinds_i8": ({"kinds": ("(kv)", "?xi8")}, constants("i8", three=3) + "%keep = arith.cmpi slt, %kinds, %three : i8\n", lambda i, j, h, e: (e["kinds"] < 3) & (i == i)),
    "lengths": ({"lengths": ("(q)", "?xi32")}, "%n = arith.index_cast %lengths : i32 to index\n%keep = arith.cmpi slt, %j, %n : index\n", lambda i, j, h, e: j < e["lengths"][:, None]),
    # A key is kept where the query is in its tree's part that begins with it.
    "tree": ({"begin": ("(kv)", "?xi32"), "end": ("(kv)", "?xi32"), "place": ("(q)", "?xi32")}, "%l = arith.cmpi sle, %begin, %place : i32\n%r = arith.cmpi slt, %place, %end : i32\n" + joined("andi", "l", "r"),
             lambda i, j, h, e: (e["begin"] <= e["place"][:, None]) & (e["place"][:, None] < e["end"])),
    "listed_i1": ({"listed": ("(q, kv)", "?x?xi1")}, "%true = arith.constant true\n%keep = arith.andi %listed, %true : i1\n", lambda i, j, h, e: e["listed"]),
    # Lists whose blocks are kept whole, or not at all: the heads share a summary. A window and a choice read parts of it.
    "blocks_i1": ({"blocks": ("(q, kv)", "?x?xi1")}, LISTED, lambda i, j, h, e: e["blocks"]),
    "blocks_in_window": ({"blocks": ("(kv, q)", "?x?xi1")}, constants(w=150) + CAUSAL + NEAR + joined("andi", "causal", "near", "blocks"), lambda i, j, h, e: (j <= i) & (i - j < 150) & e["blocks"].T),
    "blocks_beside_prefix": ({"blocks": ("(q, kv)", "?x?xi1")}, constants(p=70) + CAUSAL + "%early = arith.cmpi slt, %j, %p : index\n%keep = arith.select %early, %causal, %blocks : i1\n",
                             lambda i, j, h, e: np.where(j < 70, j <= i, e["blocks"])),
    "causal_i1": ({"before": ("(q, kv)", "?x?xi1")}, LISTED.replace("blocks", "before"), lambda i, j, h, e: e["before"]),
    "tree_i1": ({"ancestors": ("(q, kv)", "?x?xi1")}, LISTED.replace("blocks", "ancestors"), lambda i, j, h, e: e["ancestors"]),
    "levels_i32": ({"ranks": ("(q, kv)", "?x?xi32")}, constants("i32", two=2) + "%keep = arith.cmpi sgt, %ranks, %two : i32\n", lambda i, j, h, e: e["ranks"] > 2),
    "blocks_of_heads": ({"blocks_of": ("(hkv, q, kv)", f"{HEADS}x?x?xi1")}, LISTED.replace("%blocks", "%blocks_of"), lambda i, j, h, e: e["blocks_of"][h // GROUPS]),
    "listed_of_heads": ({"listed": ("(hkv, kv, q)", f"{HEADS}x?x?xi8")}, constants("i8", zero=0) + CAUSAL + "%l = arith.cmpi ne, %listed, %zero : i8\n" + joined("andi", "causal", "l"),
                        lambda i, j, h, e: (j <= i) & (e["listed"][h // GROUPS].T != 0)),
    "windows_of_heads": ({"windows": ("()", "?xi32")}, CAUSAL + "%n = attn.lookup %windows[%h] : tensor<?xi32> -> i32\n%w = arith.index_cast %n : i32 to index\n" + NEAR + joined("andi", "causal", "near"),
                         lambda i, j, h, e: (j <= i) & (i - j < e["windows"][min(h, 2)])),
    "window_of_caller": ({"w": (None, "index")}, CAUSAL + NEAR + joined("andi", "causal", "near"), lambda i, j, h, e: (j <= i) & (i - j < e["w"])),
    "huge_window_of_caller": ({"w": (None, "index")}, "%last = arith.addi %j, %w : index\n%keep = arith.cmpi sgt, %last, %i : index\n",
                              lambda i, j, h, e: (j.astype(np.uint64) + np.uint64(e["w"])).astype(np.int64) > i),
    "flag_of_caller": ({"flag": (None, "i1")}, CAUSAL + joined("ori", "causal", "flag"), lambda i, j, h, e: (j <= i) | bool(e["flag"])),
    "choice": ({"late": ("(q)", "?xi1")}, constants(w=20) + CAUSAL + NEAR + joined("andi", "causal", "near", to="window") + "%keep = arith.select %late, %window, %causal : i1\n",
               lambda i, j, h, e: (j <= i) & (~e["late"][:, None] | (i - j < 20))),
    "unequal": ({}, constants(w=64) + CAUSAL + NEAR + joined("xori", "causal", "near"), lambda i, j, h, e: (j <= i) ^ (i - j < 64)),
    "never": ({}, "%keep = arith.constant false\n", lambda i, j, h, e: (j < 0) & (i == i)),
    "always": ({}, "%keep = arith.constant true\n", lambda i, j, h, e: (j == j) & (i == i)),
    "none": ({}, "%zero = arith.constant 0 : index\n%keep = arith.cmpi slt, %j, %zero : index\n", lambda i, j, h, e: (j < 0) & (i == i)),
}
# Extra operands that a score region adds: bf16, f16, i8, and a table of bf16.
SCORED = ("window", "documents", "listed_i1")
BIASES = {"bias": ("(hkv, kv)", f"{HEADS}x?xbf16"), "slope": ("(q)", "?xf16"), "levels": ("(kv)", "?xi8"), "table": ("()", "?x?xbf16")}
SCORE = """%x0 = arith.extf %bias : bf16 to f32
%x1 = arith.extf %slope : f16 to f32
%x2 = arith.sitofp %levels : i8 to f32
%half = arith.constant 0.125 : f32
%x3 = arith.mulf %x2, %half : f32
%x4 = attn.lookup %table[%h, %j] : tensor<?x?xbf16> -> f32
%y0 = arith.addf %s, %x0 : f32
%y1 = arith.addf %y0, %x1 : f32
%y2 = arith.addf %y1, %x3 : f32
%y = arith.addf %y2, %x4 : f32
attn.yield %y : f32"""


def entry(name, keys=None):
    """`keys`: their number and that of the queries, where they are static."""
    extras, mask, _ = CASES[name]
    extras = {**extras, **(BIASES if name in SCORED else {})}
    n, m = ("?", "?") if keys is None else map(str, keys)
    operands = {"q": f"{n}x{HEADS}x{GROUPS}x{SIZE}xf32", "k": f"{m}x{HEADS}x{SIZE}xf32", "v": f"{m}x{HEADS}x{SIZE}xf32", "at": "1xi32"}
    types = {**operands, **{x: kind for x, (_, kind) in extras.items()}}
    if keys:  # the extents of queries and keys where maps have them
        for x, (at, kind) in extras.items():
            for dim in (at or "").strip("()").split(", "):
                types[x] = types[x].replace("?", n if dim == "q" else m, 1) if dim in ("q", "kv") else types[x]
    full = {x: kind if x in extras and extras[x][0] is None else f"tensor<{kind}>" for x, kind in types.items()}
    tensors = [x for x in extras if extras[x][0] is not None]  # in the regions their elements have the names
    given = ", ".join(f'%{x}{"s" if x in tensors else ""}: {kind} {{attn.name = "{x}"}}' for x, kind in full.items())
    maps = ["(q, hkv, g, dqk)", "(kv, hkv, dqk)", "(kv, hkv, dv)", "(q, hkv, g, dv)"] + [extras[x][0] for x in tensors]
    map_text = ", ".join(f"affine_map<(b, hkv, g, q, kv, dqk, dv) -> {at}>" for at in maps)
    operand_text = f" extras({', '.join('%' + x + 's' for x in tensors)} : {', '.join(full[x] for x in tensors)})" if tensors else ""
    elements = "".join(f", %{x}: {full[x] if extras[x][0] == '()' and '?' in full[x] else full[x][7:-1].rsplit('x', 1)[-1]}" for x in tensors)
    score = f" score {{\n^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index{elements}):\n{SCORE}\n}}" if name in SCORED else ""
    # Queries are packed, so that the keys of their row are all.
    return f"""func.func @{name}({given}, %length: tensor<1xi32> {{attn.name = "length"}}) -> (tensor<{operands['q']}> {{attn.name = "y"}}) attributes {{attn.entry}} {{
%scale = arith.constant 0.25 : f32
%y = attn.attention %q, %k, %v, %scale q_offset(%at : tensor<1xi32>) kv_length(%length : tensor<1xi32>){operand_text} maps [{map_text}]
  : {full['q']}, {full['k']}, {full['v']} -> {full['q']}{score} mask {{
^bb0(%b: index, %h: index, %i: index, %j: index{elements}):
{mask}attn.yield %keep : i1
}}
return %y : {full['q']}
}}
"""


def documents(count, first, dtype):
    """Ids of documents of drawn lengths that the positions from `first` on have."""
    cuts = np.cumsum(np.random.default_rng(3).integers(1, 120, 64))
    return np.searchsorted(cuts, np.arange(first, first + count), side="right").astype(dtype)


def extras_of(name, queries, first, keys):
    """Arrays as the program takes them."""
    spread = np.random.default_rng(len(name))
    blocks = spread.random((queries // 20 + 1, keys // 50 + 1)) < 0.3
    listed = blocks[np.arange(queries)[:, None] // 20, np.arange(keys)[None] // 50] & (spread.random((queries, keys)) < 0.9)
    begin = spread.integers(0, keys, keys)
    i, j = np.arange(queries)[:, None], np.arange(keys)
    whole = spread.random((HEADS, queries // 28 + 1, keys // 64 + 1)) < 0.4
    whole = np.repeat(np.repeat(whole, 28, axis=1), 64, axis=2)[:, :queries, :keys]
    branch = (first + i) // 30 * 30  # a key is an ancestor within its branch, and in every third one before
    return {
        "blocks": whole[0], "blocks_of": whole, "before": j <= first + i, "ancestors": (j <= first + i) & ((j >= branch) | (j // 30 % 3 == 0)),
        "ranks": np.where(whole[0], 3 + j % 5, -(j % 4)).astype(np.int32),
        "prefix": np.array(77, np.int32), "of_query": documents(queries, first, np.int64 if "64" in name else np.int32), "of_key": documents(keys, 0, np.int64 if "64" in name else np.int32),
        "kinds": np.repeat(spread.integers(-5, 8, keys // 40 + 1), 40)[:keys].astype(np.int8), "lengths": spread.integers(0, keys + 1, queries).astype(np.int32),
        "begin": np.sort(begin).astype(np.int32), "end": (np.sort(begin) + spread.integers(0, 90, keys)).astype(np.int32), "place": (first + np.arange(queries)).astype(np.int32),
        "listed": listed * (2 if name == "listed_i1" else 1), "windows": np.array([3, 60, 1000], np.int32),
        "w": np.int64(2**63 - 5 if name.startswith("huge") else 45), "flag": np.int8(keys % 2), "late": (spread.random(queries) < 0.5),
        "bias": spread.standard_normal((HEADS, keys)), "slope": spread.standard_normal(queries), "levels": spread.integers(-9, 9, keys).astype(np.int8), "table": spread.standard_normal((3, 200)),
    }


def attention(q, k, v, keep, add):
    """[queries, heads, groups, size] in float64."""
    result = np.zeros(q.shape)
    for h in range(HEADS * GROUPS):
        of, group = divmod(h, GROUPS)
        mask = np.broadcast_to(keep(h), (len(q), len(k)))
        used = mask.any(axis=0)
        scores = 0.25 * q[:, of, group].astype(np.float64) @ np.where(used, k[:, of].T, 0).astype(np.float64) + add(h)
        scores = np.where(mask, scores, -np.inf)
        powers = np.exp(scores - np.maximum(scores.max(axis=1, keepdims=True, initial=-1e30), -1e30))
        sums = powers.sum(axis=1, keepdims=True)
        result[:, of, group] = powers / np.where(sums, sums, 1) @ np.where(used[:, None], v[:, of], 0).astype(np.float64)
    return result


def case(program, name, tolerance, shape, is_static, refer):
    queries, first, keys = shape
    extras, _, formula = CASES[name]
    wanted = {**extras, **(BIASES if name in SCORED else {})}
    drawn = extras_of(name, queries, first, keys)
    q = random.standard_normal((queries, HEADS, GROUPS, SIZE)).astype(np.float32)
    behind = 0 if is_static else 9  # keys beyond the length
    k, v = (random.standard_normal((keys + behind, HEADS, SIZE)).astype(np.float32) for _ in "kv")
    i, j = first + np.arange(queries)[:, None], np.arange(keys)
    values = {x: drawn[x] for x in wanted}
    if "blocks_in_window" == name:
        values["blocks"] = drawn["blocks"].T
    if name == "listed_of_heads":
        values["listed"] = np.stack([drawn["listed"].T, ~drawn["listed"].astype(bool).T]).astype(np.int8)
    seen = {**values, **({"listed": drawn["listed"] != 0} if name == "listed_i1" else {})}
    keep = lambda h: formula(i, j, h, seen)
    used = np.any([np.broadcast_to(keep(h), (queries, keys)).any(axis=0) for h in range(HEADS * GROUPS)], axis=0)
    k[:keys][~used], v[:keys][~used], k[keys:], v[keys:] = np.nan, np.nan, np.nan, np.nan
    arrays, exact = {}, {}
    for x, (at, kind) in wanted.items():
        element = kind.split("x")[-1] if kind != "index" else kind
        value = np.asarray(values[x])
        if behind and at and "kv" in at:  # anything behind the last key
            widths = [(0, behind if dim == "kv" else 0) for dim in at.strip("()").split(", ")]
            value = np.pad(value, widths, constant_values=1)
        arrays[x] = value.astype(np.int8) if element in ("i1", "i8") else value.astype(np.int64) if element == "index" else kernels.stored(value, element)
        exact[x] = value.astype(bool) if element == "i1" else arrays[x]
    add = lambda h: 0
    if name in SCORED:
        number = {x: kernels.widened(arrays[x]).astype(np.float64) for x in ("bias", "slope", "table")}
        add = lambda h: number["bias"][h // GROUPS, :keys] + number["slope"][:, None] + arrays["levels"][:keys] / 8.0 + number["table"][min(h, 2), np.minimum(j, 199)]
    expected = attention(q, k[:keys], v[:keys], keep, add)
    at, length = np.array([first], np.int32), np.array([keys], np.int32)
    inputs = {"q": q, "k": k, "v": v, "at": at, **arrays, "length": length}
    declared = {"q": queries, "k": keys + behind, "table": (3, 200), "windows": 3}
    dims = [] if is_static else [queries, keys + behind]
    for x in wanted:  # tables have dims of their own
        if x in ("table", "windows") and "?" in wanted[x][1]:
            dims += list(np.atleast_1d(declared[x]))
    got, = program.compiled(name, inputs.values(), [q.shape], tuple(dims))
    checks.near(f"{name} {shape}{' static' if is_static else ''}", got, expected, tolerance)
    if refer:
        referenced, = program.reference(name, {**inputs, **exact}, ["y"])
        checks.near(f"reference: {name} {shape}", referenced, expected, 1e-6)


full = os.environ.get("RAPT_FULL") == "1"
# These are of the same rules as others: one of two forms of a list, of a caller's number, of a pair of bounds.
MORE = () if full else ("both_sides", "chunks", "A40_documents_i64", "causal_i1", "tree_i1", "flag_of_caller", "unequal", "always", "window_of_caller")


def run(label, names=[name for name in CASES if name not in MORE], options=(), mark=None, tolerance=2e-5, shapes=SHAPES, keys=None):
    """`keys`: static numbers of queries and keys."""
    tools.options = [*own, *options]
    program = kernels.Program(tools, label, "".join(entry(name, keys) for name in names), {name: mark for name in names} if mark else None)
    for name in names:
        for shape in shapes:
            case(program, name, tolerance, shape, keys is not None, refer=label == "f32" and shape[0] in (1, 37))


own, some = tools.options, ("window", "prefix", "documents", "tree", "listed_of_heads", "none", "blocks_i1", "blocks_in_window", "blocks_of_heads")
if kernels.takes_panels(tools):
    run("f32")
    run("static", (*some, "chunks", "listed_i1") if full else ("window", "blocks_i1", "listed_i1"), shapes=SHAPES[4:5], keys=(SHAPES[4][0], SHAPES[4][2]))
    run("bf16", some if full else ("window", "documents", "blocks_of_heads"), processor.DOT if processor.HAS_DOT else ["--mcpu=native", "--emulate=bf16"], "attn_cpu.bf16_matmul", 2e-2)
else:
    run("generic", shapes=SHAPES[:5])
checks.finish()
