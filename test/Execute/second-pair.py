#!/usr/bin/env python3
"""Attention with a second pair of query and key (A45), compiled, against the formula in float64 on joined channels. Each pair has maps of its own
(A46): a rotated key that all heads share, a first query that all heads share, keys of each sequence and of all. Channels fill panels or do not, elements
are f32, bf16 and f16 in mixtures; sequences are packed or a dim; masks, scores, sinks, log-sum-exp and weights; and keys in paged caches."""

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(47)
DIMS = "(b, hkv, g, q, kv, dqk, dv)"
H, G, B, MOST = 2, 3, 2, 141
SIZES = {"hkv": H, "g": G, "b": B}
MASKS = {
    "none": (None, lambda b, h, i, j: True),
    "causal": ("%r = arith.cmpi sle, %j, %i : index", lambda b, h, i, j: j <= i),
    "window": ("%c = arith.constant 9 : index\n%x = arith.subi %i, %j : index\n%y = arith.cmpi slt, %x, %c : index\n%z = arith.cmpi sle, %j, %i : index\n%r = arith.andi %y, %z : i1",
               lambda b, h, i, j: (j <= i) & (i - j < 9)),
    "heads": ("%c = arith.constant 2 : index\n%x = arith.addi %h, %j : index\n%y = arith.remui %x, %c : index\n%z = arith.constant 0 : index\n%r = arith.cmpi eq, %y, %z : index",
              lambda b, h, i, j: (h + j) % 2 == 0),
}


class Case:
    """Dims of the operands but channels; `channels` of the first pair, the second and the value; their element types; what else there is."""

    def __init__(self, dims, channels, types=("f32",) * 5, packed=False, mask="none", score=False, sink=False, outputs=False):
        self.dims, self.channels, self.types, self.packed = dims, channels, types, packed
        self.mask, self.score, self.sink, self.outputs = mask, score, sink, outputs

    def operands(self):
        """(name, dims, channels, element) of query, key, value, second query, second key and result."""
        first, second, value = self.channels
        names = ("query", "key", "value", "query2", "key2", "o")
        return list(zip(names, self.dims, (first, first, value, second, second, value), (*self.types, "f32")))

    def text(self, name):
        extents = lambda dims: ["?" if d in ("q", "kv") else str(SIZES[d]) for d in dims]
        declared = {"q": "queries", "kv": "keys"}
        types, arguments, maps = {}, [], {}
        for operand, dims, channels, element in self.operands():
            types[operand] = f"tensor<{'x'.join(extents(dims) + [str(channels)])}x{element}>"
            maps[operand] = f"affine_map<{DIMS} -> ({', '.join((*dims, 'dv' if operand in ('value', 'o') else 'dqk'))})>"
            named = ", ".join(f'"{declared[d]}"' for d in dims if d in declared)
            arguments.append(f'%{operand}: {types[operand]} {{attn.name = "{operand}", attn.dims = [{named}]}}')
        results, names = [arguments.pop().split(": ", 1)[1]], ["%o"]
        more = ""
        if self.packed:
            arguments += [f'%{n}: tensor<?xi32> {{attn.name = "{n}", attn.dims = ["rows+1"]}}' for n in ("qb", "kb")]
            more += "q_begin(%qb : tensor<?xi32>) kv_begin(%kb : tensor<?xi32>) "
        if self.sink:
            arguments.append(f'%sink: tensor<{H * G}xf32> {{attn.name = "sink"}}')
            more += f"sink(%sink : tensor<{H * G}xf32>) "
        more += f"second(%query2, %key2 : {types['query2']}, {types['key2']}) "
        if self.outputs:
            w, lse = f"tensor<?x1x{H * G}x{MOST}xf32>", f"tensor<?x{H}x{G}xf32>"
            arguments.append(f'%w: {w} {{attn.name = "w", attn.dims = ["queries"]}}')
            results += [f'{lse} {{attn.name = "lse", attn.dims = ["queries"]}}', f'{w} {{attn.name = "w", attn.dims = ["queries"]}}']
            names += ["%lse", "%new"]
            more += f"weights(%w[%layer] heads {list(range(H * G))} : {w}) log_sum_exp "
        body = "^bb0({}%b: index, %h: index, %i: index, %j: index):\n"
        region = "score {\n" + body.format("%s: f32, ") + "%half = arith.constant 0.5 : f32\n%r = arith.mulf %s, %half : f32\nattn.yield %r : f32\n}\n" if self.score else ""
        if MASKS[self.mask][0]:
            region += "mask {\n" + body.format("") + MASKS[self.mask][0] + "\nattn.yield %r : i1\n}"
        order = ("query", "key", "value", "o", "query2", "key2")
        return f"""func.func @{name}({', '.join(arguments)}) -> ({', '.join(results)}) attributes {{attn.entry}} {{
  %scale = arith.constant 0.25 : f32
  %layer = arith.constant 0 : index
  {', '.join(names)} = attn.attention %query, %key, %value, %scale {more}maps [{', '.join(maps[o] for o in order)}]
    : {types['query']}, {types['key']}, {types['value']} -> {types['o']} {region}
  return {', '.join(names)} : {', '.join(t.split(' {')[0] for t in results)}
}}
"""


def grouped(array, dims):
    """The array as [b, hkv, g, tokens, channels]."""
    order = ["b", "hkv", "g", "q" if "q" in dims else "kv"]
    present = [d for d in order if d in dims]
    moved = np.transpose(array, [dims.index(d) for d in present] + [len(dims)])
    return moved.reshape([moved.shape[present.index(d)] if d in present else 1 for d in order] + [array.shape[-1]])


def formula(case, arrays, sink, rows):
    """Result [b, h, q, dv], log-sum-exp and probabilities of each sequence of `rows`: (slice of queries, slice of keys)."""
    made = []
    for b, (queries, keys) in enumerate(rows):
        def part(name, tokens):
            dims = next(d for n, d, *_ in case.operands() if n == name)
            whole = grouped(kernels.widened(arrays[name]).astype(np.float64), dims)
            one = whole[min(b, whole.shape[0] - 1)][:, :, tokens]
            return np.broadcast_to(one, (H, G, *one.shape[2:]) if H * G > 1 else one.shape).reshape(H * G, *one.shape[2:])
        joined = lambda first, second, tokens: np.concatenate([part(first, tokens), part(second, tokens)], -1)
        with np.errstate(invalid="ignore", over="ignore"):
            s = 0.25 * np.einsum("hqc,hkc->hqk", joined("query", "query2", queries), joined("key", "key2", keys))
        s = s / 2 if case.score else s
        h, i, j = np.ogrid[:s.shape[0], :s.shape[1], :s.shape[2]]
        keep = np.broadcast_to(MASKS[case.mask][1](b, h, i, j), s.shape)
        s = np.where(keep, s, -np.inf)
        if sink is not None:
            s = np.concatenate([s, np.broadcast_to(sink[:, None, None], (*s.shape[:2], 1))], -1)
        top = s.max(-1, keepdims=True, initial=-np.inf)
        powers = np.where(np.isneginf(top), 0, np.exp(s - np.where(np.isneginf(top), 0, top)))
        total = powers.sum(-1, keepdims=True)
        p = np.where(total == 0, 0, powers / np.where(total == 0, 1, total))[..., :keep.shape[-1]]
        values = np.where(np.isfinite(v := part("value", keys)), v, 0)
        made.append((np.einsum("hqk,hkc->hqc", p, values), np.where(total == 0, -np.inf, top + np.log(np.where(total == 0, 1, total)))[..., 0], p))
    return made


def run(program, name, case, queries, keys, stale=False):
    """`queries`, `keys`: lengths of packed sequences, or one of each. With `stale`, the keys from the middle on, which a causal mask hides, are NaN."""
    qb, kb = (np.cumsum((0, *lengths)).astype(np.int32) for lengths in (queries, keys))
    tokens = {"q": int(qb[-1]), "kv": int(kb[-1])}
    arrays = {}
    for operand, dims, channels, element in case.operands()[:-1]:
        x = random.standard_normal([tokens.get(d) if d in tokens else SIZES[d] for d in dims] + [channels]).astype(np.float32)
        if stale and "kv" in dims:
            x[tuple(slice(tokens["q"], None) if d == "kv" else slice(None) for d in dims)] = np.nan
        arrays[operand] = kernels.stored(np.nan_to_num(x) if element == "bf16" else x, element)
    sink = random.standard_normal(H * G).astype(np.float32) if case.sink else None
    rows = [(slice(qb[r], qb[r + 1]), slice(kb[r], kb[r + 1])) for r in range(len(queries))] if case.packed else [(slice(None), slice(None))] * (B if any("b" in d for d in case.dims) else 1)
    expected = formula(case, arrays, sink.astype(np.float64) if case.sink else None, rows)
    dims = case.operands()[-1][1]
    o = np.zeros([tokens["q"] if d == "q" else SIZES[d] for d in dims] + [case.channels[2]])
    lse, w = np.full((tokens["q"], H, G), -np.inf), np.ones((tokens["q"], 1, H * G, MOST))
    for b, ((own, _), (mixed, of_rows, p)) in enumerate(zip(rows, expected)):
        heads = [d for d in ("hkv", "g") if d in dims]
        of_heads = mixed.reshape([SIZES[d] for d in heads] + list(mixed.shape[1:]))
        place = tuple(b if d == "b" else own if d == "q" else slice(None) for d in dims)
        kept = [d for d in dims if d != "b"]
        o[place] = np.transpose(of_heads, [(heads + ["q"]).index(d) for d in kept] + [len(kept)])
        if case.outputs:
            lse[own] = of_rows.T.reshape(-1, H, G)
            w[own] = 0
            w[own, 0, :, :p.shape[-1]] = p.transpose(1, 0, 2)
    inputs = [arrays[n] for n in ("query", "key", "value", "query2", "key2")] + [qb, kb] * case.packed + [sink] * case.sink + [np.ones(w.shape, np.float32)] * case.outputs
    low = 3e-2 if "bf16" in case.types else 3e-3 if "f16" in case.types else 5e-6
    first = None
    for order, workers in ((kernels.backwards, 2), (kernels.threads(3), 3)):
        got = program.compiled(name, inputs, [o.shape] + [lse.shape] * case.outputs, (tokens["q"], tokens["kv"], len(queries)), order, workers, (len(inputs) - 1,) if case.outputs else ())
        for label, result, right in zip(("result", "log-sum-exp", "weights"), got, (o, lse, w)):
            if first is None:
                same = np.array_equal(np.isneginf(result), np.isneginf(right))
                checks.near(f"{label} of {name} {queries} {keys}", np.where(np.isneginf(right), 0, result) if same else right + np.nan, np.where(np.isneginf(right), 0, right), low)
        first = first or got
        for result, before in zip(got, first):
            checks.equal(f"{name} {queries} {keys}, {workers} workers", result, before)


LATENT = (("q", "hkv", "g"), ("kv", "hkv"), ("kv", "hkv"), ("q", "hkv", "g"), ("kv",), ("q", "hkv", "g"))
CASES = {
    "latent": Case(LATENT, (64, 32, 64), mask="causal"),
    "narrow": Case(LATENT, (40, 24, 33), mask="causal", sink=True),
    "one": Case(LATENT, (1, 1, 1)),
    "packed": Case(LATENT, (40, 8, 64), packed=True, mask="window"),
    "asked": Case(LATENT, (32, 24, 40), packed=True, mask="causal", score=True, sink=True, outputs=True),
    "stored": Case(LATENT, (64, 32, 64), ("bf16",) * 5, mask="causal"),
    "mixed": Case(LATENT, (40, 24, 64), ("f16", "bf16", "f32", "f32", "f16"), packed=True),
    "halves": Case(LATENT, (64, 32, 32), ("f32", "bf16", "bf16", "f16", "f32"), mask="heads", score=True),
    # the second pair alone has heads; a key of each sequence beside one of all
    "absorbed": Case((("q",), ("kv",), ("kv",), ("g", "q", "hkv"), ("hkv", "kv"), ("hkv", "q", "g")), (72, 16, 32), mask="heads"),
    "sequences": Case((("b", "q", "hkv"), ("kv", "hkv"), ("kv", "b"), ("hkv", "b", "q"), ("b", "kv"), ("b", "hkv", "q")), (32, 40, 64), mask="causal"),
    # channels that the CPU's schedules do not take
    "exchanged": Case((("q", "hkv", "g"), ("kv", "hkv"), ("hkv", "kv"), ("hkv", "g", "q"), ("kv",), ("hkv", "q", "g")), (24, 8, 16), ("f32",) * 5, mask="window"),
}
LENGTHS = {False: (((1,), (1,)), ((13,), (140,)), ((15,), (15,)), ((47,), (131,)), ((3,), (0,))), True: (((37, 0, 1, 13), (131, 5, 140, 0)), ((1, 1), (3, 129)), ((14, 15), (14, 33)))}

program = kernels.Program(tools, "pairs", "".join(f"attn.dim @{dim} min 0 max 65536\n" for dim in ("queries", "keys", "rows")) + "".join(case.text(name) for name, case in CASES.items()))
for name, case in CASES.items():
    if name == "sequences":
        G = 1
    elif name == "absorbed":
        G = 3
    for queries, keys in LENGTHS[case.packed]:
        run(program, name, case, queries, keys)
    if case.mask == "causal" and not case.packed:
        run(program, name, case, (21,), (139,), stale=True)
    G = 3

# A cache that keeps the latent once: keys are the rotated channels, values the latent, which is the first pair's key as well.
LATENT_WIDTH, ROTATED, BLOCK, HEADS = 64, 32, 64, 5
POOL = f"!attn.kv_cache<[1 x 1 x ({ROTATED} x f32, {LATENT_WIDTH} x f32)], block = {BLOCK}>"


def cache_text():
    row = lambda n: f"tensor<?x1x{n}xf32>"
    named = lambda n, t, *dims: f"%{n}: {t} {{attn.name = \"{n}\", attn.dims = [{', '.join(chr(34) + d + chr(34) for d in dims)}]}}"
    rows = ", ".join([named("begin", "tensor<?xi32>", "rows+1"), named("past", "tensor<?xi32>", "rows"), named("table", "tensor<?x?xi32>", "rows", "most")])
    q, q2, view = f"tensor<?x{HEADS}x{LATENT_WIDTH}xf32>", f"tensor<?x{HEADS}x{ROTATED}xf32>", lambda n: f"tensor<?x?x1x{n}xf32>"
    maps = ", ".join(f"affine_map<{DIMS} -> {m}>" for m in ("(q, g, dqk)", "(b, kv, hkv, dqk)", "(b, kv, hkv, dv)", "(q, hkv, g, dv)", "(q, g, dqk)", "(b, kv, hkv, dqk)"))
    o = f"tensor<?x1x{HEADS}x{LATENT_WIDTH}xf32>"
    return f"""func.func @fill({named("cache", POOL, "blocks")}, {named("k", row(ROTATED), "queries")}, {named("v", row(LATENT_WIDTH), "queries")}, {rows})
    -> ({POOL} {{attn.name = "cache", attn.dims = ["blocks"]}}) attributes {{attn.entry}} {{
  %c0 = arith.constant 0 : index
  %new = attn.kv_append %cache[%c0], %k, %v rows(%begin, %past, %table) : {POOL}, {row(ROTATED)}, {row(LATENT_WIDTH)}, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return %new : {POOL}
}}
func.func @cached({named("cache", POOL, "blocks")}, {named("query", q, "queries")}, {named("query2", q2, "queries")}, {rows})
    -> ({o} {{attn.name = "o", attn.dims = ["queries"]}}) attributes {{attn.entry}} {{
  %c0 = arith.constant 0 : index
  %scale = arith.constant 0.25 : f32
  %k, %v = attn.kv_view %cache[%c0], %table : {POOL}, tensor<?x?xi32> -> {view(ROTATED)}, {view(LATENT_WIDTH)}
  %o = attn.attention %query, %v, %v, %scale q_begin(%begin : tensor<?xi32>) q_offset(%past : tensor<?xi32>) second(%query2, %k : {q2}, {view(ROTATED)}) maps [{maps}]
    : {q}, {view(LATENT_WIDTH)}, {view(LATENT_WIDTH)} -> {o} mask {{
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }}
  return %o : {o}
}}
func.func @values({named("cache", POOL, "blocks")}, {named("query", q, "queries")}, {rows})
    -> ({o} {{attn.name = "o", attn.dims = ["queries"]}}) attributes {{attn.entry}} {{
  %c0 = arith.constant 0 : index
  %scale = arith.constant 0.25 : f32
  %k, %v = attn.kv_view %cache[%c0], %table : {POOL}, tensor<?x?xi32> -> {view(ROTATED)}, {view(LATENT_WIDTH)}
  %o = attn.attention %query, %v, %v, %scale q_begin(%begin : tensor<?xi32>) q_offset(%past : tensor<?xi32>) maps [{", ".join(maps.split(", affine_map")[0:1] + ["affine_map" + m for m in maps.split(", affine_map")[1:4]])}]
    : {q}, {view(LATENT_WIDTH)}, {view(LATENT_WIDTH)} -> {o} mask {{
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }}
  return %o : {o}
}}
"""


def mixed(q, q2, latents, rotated, begin, past):
    """Latents mixed by their own scores, and those of the rotated channels where there are some."""
    results = []
    for r, (latent, keys) in enumerate(zip(latents, rotated)):
        own = slice(begin[r], begin[r + 1])
        s = np.einsum("qgc,kc->gqk", q[own].astype(np.float64), latent[:, 0])
        if q2 is not None:
            s += np.einsum("qgc,kc->gqk", q2[own].astype(np.float64), keys[:, 0])
        s = np.where(np.arange(len(latent)) <= past[r] + np.arange(begin[r + 1] - begin[r])[:, None], 0.25 * s, -np.inf)
        powers = np.exp(s - s.max(-1, keepdims=True))
        results.append(np.einsum("gqk,kc->qgc", powers / powers.sum(-1, keepdims=True), latent[:, 0].astype(np.float64)))
    return np.concatenate(results)[:, None]


for HEADS in (5, 16, 17):  # of a group: one tile, two tiles, a tile each
    program = kernels.Program(tools, f"cached{HEADS}", "".join(f"attn.dim @{dim} min 0 max 65536\n" for dim in ("queries", "rows", "most", "blocks")) + cache_text())
    for counts, lengths in (((1, 1, 1), (200, 33, 1)), ((3, 20, 65), (64, 97, 65)), ((1, 1), (1100, 517))):
        most = -(-max(lengths) // BLOCK)
        table = random.permutation(len(lengths) * most).astype(np.int32).reshape(-1, most)
        latents, rotated = ([random.standard_normal((length, 1, width)).astype(np.float32) for length in lengths] for width in (LATENT_WIDTH, ROTATED))
        empty = np.full((table.size, BLOCK * (LATENT_WIDTH + ROTATED)), np.nan, np.float32)
        cache = kernels.filled(program, empty, rotated, latents, table)
        q, q2 = (random.standard_normal((sum(counts), HEADS, width)).astype(np.float32) for width in (LATENT_WIDTH, ROTATED))
        begin, past = np.cumsum((0, *counts)).astype(np.int32), np.array([length - count for length, count in zip(lengths, counts)], np.int32)
        for entry, given in (("cached", [q, q2]), ("values", [q])):
            right = mixed(q, q2 if len(given) == 2 else None, latents, rotated, begin, past)
            for order, workers in ((kernels.backwards, 2), (kernels.threads(3), 3)):
                got, = program.compiled(entry, [cache, *given, begin, past, table], [right.shape], (sum(counts), *table.shape, len(cache)), order, workers)
                checks.near(f"{entry} of {HEADS} heads {counts} {lengths}, {workers} workers", got, right, 1e-5)
checks.finish()
