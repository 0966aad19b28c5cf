#!/usr/bin/env python3
"""Attention of 1 to 31 queries and of some more, compiled, against the formula in float64: tiles have as many queries as are left, and a task of few
queries packs the keys that it reads, all of them or a split. Counts are dynamic and static, of one sequence and of packed ones, with masks, extra operands of queries, log-sum-exp,
groups of query heads, channels that fill no panel, keys of 16 bits, and NaN in keys that the mask drops. One call runs twice with other workers: same bits.
Scratch is no larger than a call's dims need, and a call packs no more keys than its length."""

import numpy as np

import kernels
import processor

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(67)
DIMS = "(b, hkv, g, q, kv, dqk, dv)"
COUNTS = (*range(1, 32), 40, 56, 57, 71, 126, 253)
STATIC = (1, 13, 15, 57)
SCALE = 0.25
CAUSAL = "%keep = arith.cmpi sle, %j, %i : index\nattn.yield %keep : i1"
WINDOW = "%c = arith.constant 37 : index\n%d = arith.subi %i, %j : index\n%x = arith.cmpi sle, %j, %i : index\n%y = arith.cmpi slt, %d, %c : index\n%keep = arith.andi %x, %y : i1\nattn.yield %keep : i1"
DOCUMENTS = "%keep = arith.cmpi eq, %e0, %e1 : i32\nattn.yield %keep : i1"
ADDED = "%x = arith.addf %s, %e0 : f32\nattn.yield %x : f32"
# name: key/value heads, query heads of each, channels of keys and of values, type of keys and values, bf16 dot products, extras (map, type), score, mask, log-sum-exp
CASES = {
    "plain": (2, 1, 32, 32, "f32", False, (), None, None, False),
    "causal": (1, 2, 64, 32, "f32", False, (), None, CAUSAL, True),
    "window": (2, 3, 40, 24, "bf16", False, (), None, WINDOW, False),
    "bias": (1, 1, 32, 64, "f16", False, (("(q, kv)", "?x?xf32"),), ADDED, CAUSAL, True),
    "documents": (1, 2, 32, 32, "f32", False, (("(q)", "?xi32"), ("(kv)", "?xi32")), None, DOCUMENTS, True),
}
BY_DOT = kernels.takes_panels(tools) and (bool({"--emulate=bf16", "--emulate=amx"} & set(tools.options)) or processor.HAS_DOT and "--mcpu=native" in tools.options)
if BY_DOT:
    CASES |= {"dot": (2, 1, 64, 64, "bf16", True, (), None, CAUSAL, False), "dot_bias": (1, 2, 32, 40, "f32", True, (("(q, kv)", "?x?xf32"),), ADDED, None, True)}
KEPT = {CAUSAL: lambda i, j, e: j <= i, WINDOW: lambda i, j, e: (j <= i) & (i - j < 37), DOCUMENTS: lambda i, j, e: e[0][:, None] == e[1]}


def entry(name, case, packed, count=None):
    """Queries and keys of one sequence, queries at `first`; or packed, where query i of a sequence is at position i. A static `count` of queries."""
    heads, group, channels, width, element, _, extras, score, mask, lse = CASES[case]
    q, k, v, o = (f"tensor<{count or '?'}x{heads}x{group}x{channels}xf32>", f"tensor<?x{heads}x{channels}x{element}>", f"tensor<?x{heads}x{width}x{element}>",
                  f"tensor<{count or '?'}x{heads}x{group}x{width}xf32>")
    named = lambda n, t, *d: f'{t} {{attn.name = "{n}", attn.dims = [{", ".join(chr(34) + x + chr(34) for x in d if x)}]}}'
    queries = None if count else "queries"
    arguments = [f"%q: {named('q', q, queries)}", f"%k: {named('k', k, 'keys')}", f"%v: {named('v', v, 'keys')}"]
    if packed:
        arguments += [f"%{n}: {named(n, 'tensor<?xi32>', 'rows+1')}" for n in ("qb", "kb")]
        places = "q_begin(%qb : tensor<?xi32>) kv_begin(%kb : tensor<?xi32>)"
    else:
        arguments += [f'%{n}: tensor<1xi32> {{attn.name = "{n}"}}' for n in ("first", "length")]
        places = "q_offset(%first : tensor<1xi32>) kv_length(%length : tensor<1xi32>)"
    types = []
    for i, (at, kind) in enumerate(extras):
        dims = [{"q": queries, "kv": "keys"}[d] for d in at.strip("()").split(", ")]
        types.append(f"tensor<{kind.replace('?', str(count), 1) if count and at.startswith('(q') else kind}>")
        arguments.append(f"%x{i}: {named(f'x{i}', types[-1], *dims)}")
    maps = ", ".join(f"affine_map<{DIMS} -> {m}>" for m in ("(q, hkv, g, dqk)", "(kv, hkv, dqk)", "(kv, hkv, dv)", "(q, hkv, g, dv)", *(at for at, _ in extras)))
    given = f"extras({', '.join(f'%x{i}' for i in range(len(extras)))} : {', '.join(types)})" if extras else ""
    elements = "".join(f", %e{i}: {kind.rsplit('x', 1)[-1]}" for i, (_, kind) in enumerate(extras))
    regions = "".join(f" {kind} {{\n^bb0({'%s: f32, ' if kind == 'score' else ''}%b: index, %h: index, %i: index, %j: index{elements}):\n{text}\n}}"
                      for kind, text in (("score", score), ("mask", mask)) if text)
    results, values = [named("o", o, queries)], "%o"
    if lse:
        results, values = results + [named("lse", f"tensor<{count or '?'}x{heads}x{group}xf32>", queries)], "%o, %lse"
    return f"""func.func @{name}({', '.join(arguments)}) -> ({', '.join(results)}) attributes {{attn.entry}} {{
  %scale = arith.constant {SCALE} : f32
  {values} = attn.attention %q, %k, %v, %scale {places} {given} {'log_sum_exp' if lse else ''} maps [{maps}] : {q}, {k}, {v} -> {o}{regions}
  return {values} : {', '.join(t.split(' {')[0] for t in results)}
}}
"""


def expected(case, q, k, v, first, extras):
    """The result and log-sum-exp of one sequence."""
    heads, group, _, width, _, _, _, score, mask, _ = CASES[case]
    i, j = first + np.arange(len(q))[:, None], np.arange(len(k))[None, :]
    kept = np.broadcast_to(KEPT[mask](i, j, extras) if mask else True, (len(q), len(k)))
    out, lse = np.zeros((len(q), heads, group, width)), np.full((len(q), heads, group), -np.inf)
    for h in range(heads):
        keys, values = (np.where(kept.any(0)[:, None], x[:, h].astype(np.float64), 0) for x in (k, v))
        for g in range(group):
            s = q[:, h, g].astype(np.float64) @ keys.T * SCALE + (extras[0] if score else 0)
            s = np.where(kept, s, -np.inf)
            top = np.where(kept.any(1), s.max(1, initial=-np.inf), 0)
            p = np.exp(s - top[:, None])
            total = p.sum(1)
            out[:, h, g] = p @ values / np.where(total == 0, 1, total)[:, None]
            with np.errstate(divide="ignore"):
                lse[:, h, g] = np.where(total == 0, -np.inf, top + np.log(total))
    return out, lse


def drawn(case, queries, keys, begin):
    heads, group, channels, width, element, *_ = CASES[case]
    q = random.standard_normal((queries, heads, group, channels)).astype(np.float32)
    k, v = (kernels.stored(random.standard_normal((keys, heads, size)), element) for size in (channels, width))
    extras = []
    for at, kind in CASES[case][6]:
        shape = [{"q": queries, "kv": keys}[d] for d in at.strip("()").split(", ")]
        # Rows far below zero show a maximum that lanes behind the last key take part in.
        extras.append((random.standard_normal(shape) - random.choice((0, 112))).astype(np.float32) if kind.endswith("f32") else
                      (np.maximum(begin + np.arange(shape[0]), 0) // 9 if at == "(q)" else np.arange(shape[0]) // 9).astype(np.int32))
    return q, k, v, extras


def compare(label, case, got, out, lse):
    # Scores of -112 are rounded to 2^-17.
    tolerance = 2e-2 if BY_DOT and (CASES[case][5] or CASES[case][4] == "bf16") else 8e-6 if CASES[case][7] else 4e-6
    checks.near(label, got[0], out, tolerance)
    if len(got) > 1:
        same = np.array_equal(np.isneginf(got[1]), np.isneginf(lse))
        checks.near(f"{label}, log-sum-exp", np.where(np.isneginf(lse), 0, got[1]) if same else np.full(lse.shape, np.nan), np.where(np.isneginf(lse), 0, lse), tolerance)


def shapes(case, count):
    heads, group, _, width, *_, lse = CASES[case]
    return [(count, heads, group, width)] + ([(count, heads, group)] if lse else [])


def one(program, name, case, count, dims, same=False):
    keys = int(random.integers(1, random.choice((300, 1900)))) + (count if CASES[case][8] in (CAUSAL, WINDOW) else 0)
    behind = 5
    first = keys - count if CASES[case][8] else 0
    q, k, v, extras = drawn(case, count, keys + behind, first)
    k[keys:], v[keys:] = (kernels.stored(np.nan, CASES[case][4]) if CASES[case][4] != "bf16" else 0x7FC0 for _ in range(2))
    out, lse = expected(case, q, kernels.widened(k)[:keys], kernels.widened(v)[:keys], first, [e[..., :keys] if at.endswith("kv)") else e for e, (at, _) in zip(extras, CASES[case][6])])
    inputs = [q, k, v, np.array([first], np.int32), np.array([keys], np.int32), *extras]
    got = program.compiled(name, inputs, shapes(case, count), dims(count, keys + behind))
    compare(f"{name} {count} of {keys}", case, got, out, lse)
    if same:
        for again, array in zip(program.compiled(name, inputs, shapes(case, count), dims(count, keys + behind), kernels.threads(3), 3), got):
            checks.equal(f"{name} {count} by other workers", again, array)


def many(program, name, case, queries):
    """Packed sequences."""
    keys = [int(random.integers(0, random.choice((150, 1500)))) for _ in queries]
    offsets = [np.cumsum((0, *lengths)).astype(np.int32) for lengths in (queries, keys)]
    q, k, v, extras = drawn(case, sum(queries), sum(keys), 0)
    outs, lses = [], []
    for r in range(len(queries)):
        of_q, of_k = (slice(at[r], at[r + 1]) for at in offsets)
        own = [e[tuple({"q": of_q, "kv": of_k}[d] for d in at.strip("()").split(", "))] for e, (at, _) in zip(extras, CASES[case][6])]
        out, lse = expected(case, q[of_q], kernels.widened(k)[of_k], kernels.widened(v)[of_k], 0, own)
        outs.append(out), lses.append(lse)
    got = program.compiled(name, [q, k, v, *offsets, *extras], shapes(case, sum(queries)), (sum(queries), sum(keys), len(queries)))
    compare(f"{name} {queries}", case, got, np.concatenate(outs), np.concatenate(lses))


text = "attn.dim @queries min 0 max 4096\nattn.dim @keys min 0 max 65536\nattn.dim @rows min 1 max 64\n"
entries = {}
for case in CASES:
    entries[case] = entry(case, case, False)
    entries[f"packed_{case}"] = entry(f"packed_{case}", case, True)
    for count in STATIC if case in ("plain", "bias", "dot") else STATIC[1:2]:
        entries[f"{case}_{count}"] = entry(f"{case}_{count}", case, False, count)
marks = {name: "attn_cpu.bf16_matmul" for name in entries if "dot" in name}
program = kernels.Program(tools, "query_counts", text + "".join(entries.values()), marks or None)
for case in CASES:
    for count in COUNTS:
        one(program, case, case, count, lambda queries, keys: (queries, keys, 1), same=count in (3, 15, 57))
        many(program, f"packed_{case}", case, [count, 0, int(random.integers(1, 20)), 1])
    many(program, f"packed_{case}", case, [253, 29, 1, 0, 13])
    for count in STATIC if case in ("plain", "bias", "dot") else STATIC[1:2]:
        one(program, f"{case}_{count}", case, count, lambda queries, keys: (0, keys, 1))


def memory(queries, keys, extent):
    """The size of scratch, and the bytes that a call of case plain with `keys` of `extent` keys writes to it."""
    q, k, v, _ = drawn("plain", queries, extent, 0)
    program.compiled("plain", [q, k, v, np.array([0], np.int32), np.array([keys], np.int32)], shapes("plain", queries), (queries, extent, 1))
    return program.scratch.size, int((program.scratch != kernels.untouched(np.int8)).sum())


# A call has memory for packed keys or for states of splits, whichever it uses, and packs no more keys than its length.
if kernels.takes_panels(tools):
    EXTENT, BYTES_PER_KEY, STATES, TASKS = 40000, 2 * (32 + 32) * 4, 2 * 16 * 56 * (32 + 2) * 4, 1 << 20

    def at_most(name, number, most):
        checks.near(f"{name}: {number}, over {most}", np.float64(max(number - most, 0)), np.float64(0), 0)

    at_most("bytes of scratch for 8 queries", memory(8, EXTENT, EXTENT)[0], STATES + TASKS)
    size, written = memory(57, 100, EXTENT)
    at_most("bytes of scratch for 57 queries", size, BYTES_PER_KEY * EXTENT + TASKS)
    at_most("bytes that 57 queries of 100 keys write", written, BYTES_PER_KEY * 100 + TASKS)
checks.finish()
