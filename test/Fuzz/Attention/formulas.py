#!/usr/bin/env python3
"""Compares the reference evaluator with numpy on a fixed sample of the generated attention kernels: each kernel is evaluated here in
float64 by the formulas of docs/Semantics.md, its regions by their trees.

    formulas.py --reference build/bin/rapt-reference --scratch DIR [--seed N] [--count N] [--only INDEX]

Prints what differs, which parts of the op the sample has, and counts; exit status 1 if a result differs or a part is missing."""

import argparse
import itertools
import os
import shutil
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import cases  # noqa: E402
import execute  # noqa: E402
import kernel_text as text  # noqa: E402
import trees  # noqa: E402
from outcomes import Outcome  # noqa: E402

INTEGERS = {"index": np.int64, "i64": np.int64, "i32": np.int32, "i1": np.bool_}
MOST = 20000  # similarities in a kernel of the sample, so that the evaluator takes little time


# ---- regions ---------------------------------------------------------------------------------------------------------

def wrapped(x, kind):
    """The bits of integers of any size that the type has, with its sign: numpy's objects are exact."""
    bits = trees.WIDTH[kind]
    mask = (1 << bits) - 1
    x = np.bitwise_and(np.asarray(x, object), mask)
    if bits == 1:
        return x.astype(np.bool_)
    return np.where(x > mask >> 1, x - (mask + 1), x).astype(INTEGERS[kind])


def divide(rule, x, y):
    """Division of exact integers; by zero it is 0 (Numbers)."""
    def one(a, b):
        if b == 0:
            return 0
        whole, rest = divmod(abs(a), abs(b))
        negative = (a < 0) != (b < 0)
        if rule == "rem":
            return -rest if a < 0 else rest
        if rule == "floor":
            return a // b
        if rule == "ceil":
            return -(-a // b)
        return -whole if negative else whole
    return np.frompyfunc(one, 2, 1)(x, y)


def integer_op(name, kind, x, y):
    bits = trees.WIDTH[kind]
    exact = lambda v, signed: np.asarray(v, object) if signed else np.bitwise_and(np.asarray(v, object), (1 << bits) - 1)
    if kind == "i1":
        return {"andi": np.logical_and, "ori": np.logical_or, "xori": np.logical_xor}[name](x, y)
    x, y = np.broadcast_arrays(x, y)
    signed = not name.endswith("ui")
    a, b = exact(x, signed), exact(y, signed)
    if name in ("addi", "subi", "muli"):
        found = a + b if name == "addi" else a - b if name == "subi" else a * b
    elif name.startswith(("max", "min")):
        found = np.where((a > b) == name.startswith("max"), a, b)
    elif name in ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi"):
        found = divide({"d": "div", "r": "rem", "f": "floor", "c": "ceil"}[name[0]], a, b)
    elif name in ("andi", "ori", "xori"):
        found = {"andi": np.bitwise_and, "ori": np.bitwise_or, "xori": np.bitwise_xor}[name](a, b)
    else:
        by, plain = exact(y, False), exact(x, name == "shrsi")
        one = (lambda v, n: 0 if n >= bits else v << n) if name == "shli" else (lambda v, n: 0 if n >= bits else v >> n)
        found = np.frompyfunc(one, 2, 1)(plain, by)
    return wrapped(found, kind)


def compared(predicate, kind, x, y):
    if predicate.startswith("u"):
        limit = (1 << trees.WIDTH[kind]) - 1
        x, y = (np.bitwise_and(np.asarray(v, object), limit) for v in (x, y))
        predicate = "s" + predicate[1:]
    return {"eq": np.equal, "ne": np.not_equal, "slt": np.less, "sle": np.less_equal, "sgt": np.greater, "sge": np.greater_equal}[predicate](x, y).astype(np.bool_)


def is_float(kind):
    return kind == "f32"


def value(tree, given):
    """The value of a tree for all queries and keys, an array of two dims; `given`: the score, the indices, and the extra operands'
    elements or tables."""
    return np.atleast_2d(value_of(tree, given))


def value_of(tree, given):
    name, kind = tree[0], tree[1]
    if name in ("s", "b", "h", "i", "j"):
        return given[name]
    if name == "const":
        return np.float64(np.float32(tree[2])) if is_float(kind) else INTEGERS[kind](tree[2])
    if name == "extra":
        return widened(given["extras"][tree[2]], kind)
    parts = [value(tree[n], given) for n in trees.children(tree)]
    if name == "lookup":
        table = given["extras"][tree[2]]
        indices = np.broadcast_arrays(*(np.clip(index, 0, extent - 1) for index, extent in zip(parts, table.shape)))
        return widened(table[tuple(indices)], kind)
    if name == "cmpi":
        return compared(tree[2], tree[3][1], *parts)
    if name == "cast":
        source = tree[2][1]
        return parts[0].astype(np.float64) if is_float(kind) else wrapped(np.asarray(parts[0], object) * 1, kind) if source != "i1" else parts[0].astype(INTEGERS[kind])
    op = name.removeprefix("arith.").removeprefix("math.")
    if op == "select":
        return np.where(*parts)
    if not is_float(kind):
        return integer_op(op, kind, *parts)
    return {"addf": np.add, "subf": np.subtract, "mulf": np.multiply, "maximumf": np.maximum, "minimumf": np.minimum, "negf": np.negative,
            "tanh": np.tanh, "sin": np.sin, "cos": np.cos}[op](*parts)


def widened(x, kind):
    """An element as its tree sees it: i1 as 0 or 1."""
    return np.asarray(x).astype(np.float64 if is_float(kind) else INTEGERS[kind])


# ---- attention -------------------------------------------------------------------------------------------------------

def taken(array, map_, at):
    """The elements at {dim: index}: the other dims stay, in the order of the map."""
    return array[tuple(at.get(dim, slice(None)) for dim in map_)]


def ordered(array, left, wanted):
    """The dims `left` of the array in the order of `wanted`."""
    return np.transpose(array, [left.index(dim) for dim in wanted if dim in left])


class Sequence:
    """Queries and keys of sequence b as slices of their dims, packed or not, and the position of the first query."""

    def __init__(self, b, queries, first_query, keys, first_key, position):
        self.b, self.queries, self.keys, self.position = b, queries, keys, position
        self.q, self.kv = slice(first_query, first_query + queries), slice(first_key, first_key + keys)


def extras_at(case, arrays, sequence, hkv, g):
    """The elements of the extra operands for all queries and keys of a sequence and head, [queries, keys] or broadcast; tables whole."""
    found = []
    for n, extra in enumerate(case["extras"]):
        array = arrays[f"x{n}"]
        if extra["table"]:
            found.append(array)
            continue
        within = "b" in extra["map"]  # counted from the sequence's first
        at = {"b": sequence.b, "hkv": hkv, "g": g, "q": slice(0, sequence.queries) if within else sequence.q, "kv": slice(0, sequence.keys) if within else sequence.kv}
        left = [dim for dim in extra["map"] if dim in ("q", "kv")]
        element = ordered(taken(array, extra["map"], at), left, ("q", "kv"))
        found.append(element if len(left) == 2 else element[:, None] if left == ["q"] else element[None, :] if left == ["kv"] else element)
    return found


def one_head(case, arrays, sequence, hkv, g):
    """(result [queries, dv], log-sum-exp [queries], probabilities [queries, keys]) of a head of a sequence."""
    at = {"b": sequence.b, "hkv": hkv, "g": g, "q": sequence.q, "kv": sequence.kv}
    sides = {}
    second = case["second"]["maps"] if case.get("second") else {}
    for side, map_ in {**case["maps"], **second}.items():
        if side == "o":
            continue
        dims = {"q": ("q", "dqk"), "k": ("kv", "dqk"), "v": ("kv", "dv"), "q2": ("q", "dqk2"), "k2": ("kv", "dqk2")}[side]
        left = [dim for dim in map_ if dim in dims]
        sides[side] = ordered(taken(arrays[side], map_, {d: i for d, i in at.items() if d in map_}), left, dims).astype(np.float64)
    q, k, v = (sides[side] for side in "qkv")
    if case["additive"]:
        similarity = (np.tanh(q[:, None, :] + k[None, :, :]) * arrays["w"].astype(np.float64)).sum(-1)
    else:
        similarity = (q[:, None, :] * k[None, :, :]).sum(-1)
    if second:
        similarity = similarity + (sides["q2"][:, None, :] * sides["k2"][None, :, :]).sum(-1)
    heads = case["heads"]
    given = {"s": np.float64(np.float32(case["scale"])) * similarity, "b": np.int64(sequence.b), "h": np.int64(hkv * heads["g"] + g),
             "i": sequence.position + np.arange(sequence.queries, dtype=np.int64)[:, None], "j": np.arange(sequence.keys, dtype=np.int64)[None, :],
             "extras": extras_at(case, arrays, sequence, hkv, g)}
    shape = similarity.shape
    s = np.broadcast_to(value(case["score"], given), shape) if case["score"] else given["s"]
    kept = np.broadcast_to(value(case["mask"], given), shape) if case["mask"] else np.ones(shape, bool)
    sink = np.float64(arrays["sink"][hkv * heads["g"] + g]) if case.get("sink") else -np.inf
    return softmax(s, kept, v, sink)


def softmax(s, kept, v, sink):
    """Row by row, of the keys that count alone."""
    result, lse, weights = np.zeros((len(s), v.shape[1])), np.full(len(s), -np.inf), np.zeros(s.shape)
    for i in range(len(s)):
        keys = np.flatnonzero(kept[i])
        scores = s[i, keys]
        terms = np.append(scores, sink)
        if np.all(np.isneginf(terms)):  # A11, A12, A43
            continue
        if np.isnan(terms).any() or np.isposinf(terms).any():  # A18, A43
            result[i], lse[i], weights[i, keys] = np.nan, np.nan, np.nan
            continue
        most = terms.max()
        total = np.exp(terms - most).sum()
        weights[i, keys] = np.exp(scores - most) / total
        lse[i] = most + np.log(total)
        result[i] = (weights[i, keys, None] * v[keys]).sum(0)
    return result, lse, weights


def attention(case, arrays, sequences, extents):
    """{name: result} of the op by its formulas, in float64."""
    heads, map_ = case["heads"], case["maps"]["o"]
    result = np.zeros([extents[dim] for dim in map_])
    lse_map = cases.lse_map(case)
    lse = np.full([extents[dim] for dim in lse_map], -np.inf)
    asked, new = case.get("weights"), None
    if asked:
        new = arrays["p"].astype(np.float64)
    for sequence, hkv, g in itertools.product(sequences, range(heads["hkv"]), range(heads["g"])):
        out, log, weights = one_head(case, arrays, sequence, hkv, g)
        at = {"b": sequence.b, "hkv": hkv, "g": g, "q": sequence.q, "dv": slice(None)}
        result[tuple(at[dim] for dim in map_)] = out if map_.index("q") < map_.index("dv") else out.T
        lse[tuple(at[dim] for dim in lse_map)] = log
        if asked and 0 <= asked["layer"] < asked["layers"]:
            for n, head in enumerate(asked["heads"]):
                if head == hkv * heads["g"] + g:
                    new[sequence.q, asked["layer"], n, :] = 0
                    new[sequence.q, asked["layer"], n, :sequence.keys] = weights
    found = {"o": np.asarray(text.rounded(result.astype(np.float32), case["types"]["o"]), np.float64) if case["types"]["o"] != "f32" else result}
    if case.get("lse"):
        found["lse"] = lse
    if asked:
        found["p"] = new
    return found


def rounded_arguments(case, arguments, arrays):
    """The arrays as their types hold them (Numbers)."""
    elements = {argument.name: argument.element for argument in arguments}
    return {name: text.rounded(array, elements[name]) if elements.get(name) in ("bf16", "f16") else array for name, array in arrays.items()}


def plain_results(case, data):
    arrays = rounded_arguments(case, text.arguments_of(case), text.plain_arrays(case, data))
    sequences, first_query = [], 0
    for b, (queries, (first_key, keys)) in enumerate(zip(data["q"], cases.keys_of(case, data))):
        position = data["offset"][b] if case["offset"] else 0
        sequences.append(Sequence(b, queries, first_query, keys, first_key, position))
        first_query += queries if "q" in case["begins"] else 0
    return [attention(case, arrays, sequences, text.extents_of(case, data))]


def cached_results(case, data):
    """The results of both steps: keys and values are looked up by position, block by block."""
    steps, table, blocks = text.step_arrays(case, data)
    heads, channels, cache = case["heads"]["hkv"], case["channels"], case["cache"]
    pools = {side: np.zeros((blocks, cache["block"], heads, channels[dim])) for side, dim in (("k", "dqk"), ("v", "dv"))}
    found = []
    for arrays in steps:
        arrays = rounded_arguments(case, text.step_arguments(case), arrays)
        begins, past = arrays["qb"], arrays["at"]
        for b, (begin, end) in enumerate(zip(begins, begins[1:])):
            for t in range(begin, end):
                block, place = divmod(int(past[b] + t - begin), cache["block"])
                for side, name in (("k", "nk"), ("v", "nv")):
                    pools[side][table[b, block], place] = text.rounded(np.asarray(arrays[name][t]), case["types"][side])
        longest = table.shape[1] * cache["block"]
        named = np.maximum(table, 0)
        views = {side: pool[named].reshape(len(table), longest, heads, pool.shape[-1]) for side, pool in pools.items()}
        sequences = [Sequence(b, int(end - begin), int(begin), int(past[b] + end - begin), 0, int(past[b]))
                     for b, (begin, end) in enumerate(zip(begins, begins[1:]))]
        extents = {**text.step_extents(case, data, blocks), "q": arrays["nk"].shape[0]}
        found.append(attention(case, {**arrays, **views}, sequences, extents))
    return found


# ---- comparing -------------------------------------------------------------------------------------------------------

def wrong(case, found, right):
    """How the reference's results of a step differ from the formulas', or None."""
    for name, expected in right.items():
        got = np.asarray(found[name], np.float64)
        if got.shape != expected.shape:
            return f"{name} has the shape {got.shape}, expected {expected.shape}"
        known = np.isfinite(expected)
        allowed = 1e-9 * max(1.0, np.abs(expected, where=known, out=np.zeros(expected.shape)).max(initial=0))
        if name == "o":
            allowed = allowed + execute.neighbor(case, expected)
        with np.errstate(invalid="ignore"):
            bad = np.where(known, ~(np.abs(got - expected) <= allowed), (np.isnan(got) != np.isnan(expected)) | (~np.isnan(expected) & (got != expected)))
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            return f"{name} at {where} is {got[where]}, expected {expected[where]}; {bad.sum()} of {bad.size} are wrong"
    return None


def work_of(case):
    """Similarities of the largest call."""
    heads = case["heads"]["hkv"] * case["heads"]["g"]
    if case["cache"]:
        return max(heads * sum(n * (past + n) + past * past for n, past in zip(data["q"], data["past"])) for data in case["data"])
    return max(heads * sum(n * keys for n, (_, keys) in zip(data["q"], cases.keys_of(case, data))) for data in case["data"])


def parts_of(case):
    """Names of what the case has."""
    found = {"cache" if case["cache"] else "", *("packed " + side for side in case["begins"]), *case["types"].values(),
             *("extra " + extra.get("stored", extra["type"]) for extra in case["extras"]), *("table" for extra in case["extras"] if extra["table"])}
    for name in ("additive", "sink", "second", "lse", "weights", "score", "mask"):
        found |= {name} if case.get(name) else set()
    for name in ("offset", "length"):
        found |= {name} if case[name] and not case["cache"] else set()
    found |= {"groups"} if case["heads"]["g"] > 1 and case["heads"]["hkv"] > 1 else set()
    found |= {"poison"} if any(data["poison"] for data in case["data"]) else set()
    found |= {"stale"} if any(data["stale"] for data in case["data"]) else set()
    return found - {""}


ALL_PARTS = {"cache", "packed q", "packed kv", "f32", "bf16", "f16", *("extra " + kind for kind in ("f32", "bf16", "f16", "i1", "i8", "i32", "i64")), "table", "additive",
             "sink", "second", "lse", "weights", "score", "mask", "offset", "length", "groups", "poison", "stale"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--count", type=int, default=80)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    folder = Path(options.scratch)
    folder.mkdir(parents=True, exist_ok=True)
    counts, parts, failed, index = Counter(), Counter(), False, -1
    indices = itertools.count() if options.only is None else [options.only]
    for index in indices:
        if counts["compared"] + counts["refused"] >= options.count:
            break
        case = cases.draw(options.seed, index)
        if options.only is None and work_of(case) > MOST:
            continue
        found = execute.run_reference(options, case, folder)
        if isinstance(found, Outcome):
            counts[found.status] += 1
            if found.status == "failed":
                failed = True
                print(f"FAIL {index}: {found.why}")
            continue
        counts["compared"] += 1
        parts.update(parts_of(case))
        with np.errstate(all="ignore"):
            right = [(cached_results if case["cache"] else plain_results)(case, data) for data in case["data"]]
        for n, (call, expected) in enumerate(zip(found, right)):
            for step, results in enumerate(expected):
                if problem := wrong(case, call[step], results):
                    failed = True
                    print(f"FAIL {index}: call {n}, step {step}: {problem}\n  again: {Path(__file__).name} --seed {options.seed} --only {index}")
    shutil.rmtree(folder, ignore_errors=True)
    if options.only is None and (missing := ALL_PARTS - set(parts)):
        failed = True
        print(f"FAIL the sample has no {', '.join(sorted(missing))}")
    print(f"compared: {counts['compared']} attention kernels, {counts['refused']} refused; " + ", ".join(f"{count} {part}" for part, count in sorted(parts.items())))
    sys.exit(failed or counts["compared"] < 0.8 * counts.total())


if __name__ == "__main__":
    main()
