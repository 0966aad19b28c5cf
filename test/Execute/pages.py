#!/usr/bin/env python3
"""Kernels on a paged cache whose keys and values have other sizes and types, with heads that fill no panel. The pages are as the header
of the kernel says: the keys and values of a step are found there, and pages that are written by the header, NaN elsewhere, continue
with the same bits. Results against numpy in float64."""

import re

import numpy as np

import kernels
import processor

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(29)
LAYERS, HEADS, GROUPS = 2, 2, 3
# (channels, type) of keys and of values, and positions of a page
CACHES = [((40, "f32"), (40, "f32"), 64), ((96, "f32"), (72, "f32"), 64), ((192, "f32"), (128, "f32"), 32), ((80, "f32"), (96, "f32"), 7),
          ((40, "bf16"), (40, "bf16"), 64), ((80, "bf16"), (72, "bf16"), 64), ((192, "bf16"), (80, "bf16"), 32), ((96, "bf16"), (96, "bf16"), 48),
          ((72, "bf16"), (40, "f32"), 64), ((64, "f16"), (96, "bf16"), 64), ((5, "f16"), (33, "f16"), 16), ((96, "i8"), (40, "i8"), 64), ((72, "i8"), (72, "bf16"), 7)]
PAST, QUERIES = (70, 0, 129, 5), (3, 1, 20, 1)
DTYPE = {"f32": np.dtype("<f4"), "bf16": np.dtype("<u2"), "f16": np.dtype("<f2"), "int8": np.dtype("i1")}
HEAD = "".join(f"attn.dim @{dim} min 0 max 4096\n" for dim in ("queries", "rows", "most", "blocks"))


def cache_type(keys, values, block):
    part = lambda side: f"{side[0]} x {side[1]}"
    if keys == values:
        return f"!attn.kv_cache<{LAYERS} x {HEADS} x {keys[0]}, block = {block}, {keys[1]}>"
    return f"!attn.kv_cache<[{LAYERS} x {HEADS} x ({part(keys)}, {part(values)})], block = {block}>"


def step(cache, keys, values):
    """Appends to the last layer and attends to it."""
    seen = lambda side: "f32" if side[1] == "i8" else side[1]
    array = lambda name, kind, *dims: f'%{name}: {kind} {{attn.name = "{name}", attn.dims = [{", ".join(chr(34) + dim + chr(34) for dim in dims)}]}}'
    rows = lambda *dims: f"tensor<?x{'x'.join(map(str, dims))}xf32>"
    q, k, v, o = rows(HEADS, GROUPS, keys[0]), rows(HEADS, keys[0]), rows(HEADS, values[0]), rows(HEADS, GROUPS, values[0])
    view = lambda side: f"tensor<?x?x{HEADS}x{side[0]}x{seen(side)}>"
    maps = ", ".join(f"affine_map<(b, h, g, i, j, c, d) -> ({m})>" for m in ("i, h, g, c", "b, j, h, c", "b, j, h, d", "i, h, g, d"))
    return f"""func.func @step({array("cache", cache, "blocks")}, {array("q", q, "queries")}, {array("k", k, "queries")}, {array("v", v, "queries")},
    {array("begin", "tensor<?xi32>", "rows+1")}, {array("past", "tensor<?xi32>", "rows")}, {array("table", "tensor<?x?xi32>", "rows", "most")})
    -> ({cache} {{attn.name = "cache", attn.dims = ["blocks"]}}, {o} {{attn.name = "o", attn.dims = ["queries"]}}) attributes {{attn.entry}} {{
  %layer = arith.constant {LAYERS - 1} : index
  %scale = arith.constant 0.125 : f32
  %new = attn.kv_append %cache[%layer], %k, %v rows(%begin, %past, %table) : {cache}, {k}, {v}, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  %keys, %values = attn.kv_view %new[%layer], %table : {cache}, tensor<?x?xi32> -> {view(keys)}, {view(values)}
  %o = attn.attention %q, %keys, %values, %scale q_begin(%begin : tensor<?xi32>) q_offset(%past : tensor<?xi32>) maps [{maps}]
    : {q}, {view(keys)}, {view(values)} -> {o} mask {{
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }}
  return %new, %o : {cache}, {o}
}}
"""


class Pages:
    """Pages by the comment of a header, which is all that this class knows."""

    def __init__(self, header, block):
        self.block = block
        self.bytes = int(re.search(r"cache\[blocks\]: read and written, pages of (\d+) bytes", header)[1])
        assert f"A page has {block} positions" in header and f"has at i / {block}." in header
        parts = re.findall(r"at byte (\d+): (\w+)\[(\d+)\]\[(\d+)\](\[2\])?\[(\d+)\], (keys and values|keys|values) of layers 0 to 1", header)
        self.parts = {side: part for part in parts for side in ("key", "value") if side in part[6]}
        self.elements = {side: text for side, text in re.findall(r"channel c of the (key|value) at p: element (.*), c below", header)}
        self.channels = {side: int(n) for side, n in re.findall(r"channel c of the (key|value) at p: .*, c below (\d+)", header)}
        after = dict(re.findall(r"channel c of the (key|value) at p: .*\n((?: \*         .*\n)*)", header))
        found = {side: re.search(r"channels (\d+) to (\d+) are 0, and must be", text) for side, text in after.items()}
        self.zeros = {side: range(int(text[1]), int(text[2]) + 1) if text else range(0) for side, text in found.items()}
        scales = {side: re.search(r"times the float of position p at byte (.*) of these elements", text) for side, text in after.items()}
        self.scales = {side: text[1] for side, text in scales.items() if text}

    def head(self, pool, side, page, layer, head):
        """The elements of one head in a page."""
        at, kind, layers, heads, both, count, _ = self.parts[side]
        part = 2 if both else 1
        size = int(count) * DTYPE[kind].itemsize
        begin = int(at) + ((layer * int(heads) + head) * part + (side == "value" and bool(both))) * size
        return pool[page, begin:begin + size], kind

    def place(self, side, p, channels):
        return eval(self.elements[side].replace("/", "//"), {"p": p, "c": np.arange(channels.start, channels.stop)})

    def read(self, pool, side, page, p, layer, head, channels=None):
        """Numbers of one key or value."""
        raw, kind = self.head(pool, side, page, layer, head)
        elements = raw.view(DTYPE[kind])[self.place(side, p, channels or range(self.channels[side]))]
        if kind != "int8":
            return kernels.widened(elements)
        return elements.astype(np.float32) * self.scale(raw, side, p).view("<f4")[0]

    def scale(self, raw, side, p):
        at = eval(self.scales[side].replace("/", "//"), {"p": p})
        return raw[at:at + 4].copy()

    def write(self, pool, other, side, page, p, layer, head):
        """Copies one key or value from another cache, by elements."""
        to, kind = self.head(pool, side, page, layer, head)
        source = self.head(other, side, page, layer, head)[0]
        place = self.place(side, p, range(self.channels[side]))
        to.view(DTYPE[kind])[place] = source.view(DTYPE[kind])[place]
        if self.zeros[side]:
            to.view(DTYPE[kind])[self.place(side, p, self.zeros[side])] = 0
        if kind == "int8":
            at = eval(self.scales[side].replace("/", "//"), {"p": p})
            to[at:at + 4] = source[at:at + 4]


def expected(q, keys, values, past, queries):
    """Causal attention of each sequence in float64."""
    found, first = np.zeros((sum(queries), HEADS, GROUPS, values[0].shape[-1])), 0
    for before, count, k, v in zip(past, queries, keys, values):
        i, j = np.arange(before, before + count)[:, None], np.arange(before + count)[None, :]
        for h in range(HEADS):
            for g in range(GROUPS):
                s = 0.125 * q[first:first + count, h, g].astype(np.float64) @ k[:before + count, h].astype(np.float64).T
                weights = np.exp(np.where(j <= i, s - s.max(1, keepdims=True), -np.inf))
                found[first:first + count, h, g] = weights / weights.sum(1, keepdims=True) @ v[:before + count, h]
        first += count
    return found


def packed(rows):
    return np.concatenate(rows)


def check(keys, values, block):
    name = f"{keys[0]} {keys[1]}, {values[0]} {values[1]}, pages of {block}"
    cache = cache_type(keys, values, block)
    program = kernels.Program(tools, re.sub(r"\W+", "_", name), HEAD + step(cache, keys, values))
    header = program.file.with_suffix(".h").read_text()
    pages = Pages(header, block)
    checks.equal(f"{name}: channels", np.array([pages.channels["key"], pages.channels["value"]]), np.array([keys[0], values[0]]))
    most = -(-max(p + n for p, n in zip(PAST, QUERIES)) // block)
    blocks = len(PAST) * most + 1
    table = random.permutation(blocks)[:len(PAST) * most].astype(np.int32).reshape(len(PAST), most)
    lengths = [p + n for p, n in zip(PAST, QUERIES)]
    k, v = ([random.standard_normal((n, HEADS, side[0])).astype(np.float32) for n in lengths] for side in (keys, values))
    q = random.standard_normal((sum(QUERIES), HEADS, GROUPS, keys[0])).astype(np.float32)

    def run(pool, past, counts, queries, order=kernels.backwards):
        part = lambda rows: packed([row[p:p + n] for row, p, n in zip(rows, past, counts)])
        arrays = [pool.view(np.int8), queries, part(k), part(v), np.cumsum((0, *counts)).astype(np.int32), np.array(past, np.int32), table]
        dims = (sum(counts), len(PAST), most, blocks)
        o, pool = program.compiled("step", arrays, [(sum(counts), HEADS, GROUPS, values[0])], dims, order, 3, in_place=(0,))
        return o, pool.view(np.uint8)

    empty = np.full((blocks, pages.bytes), 0xFF, np.uint8)
    first = random.standard_normal((sum(PAST), HEADS, GROUPS, keys[0])).astype(np.float32)
    _, filled = run(empty, (0,) * len(PAST), PAST, first)
    o, last = run(filled, PAST, QUERIES, q)
    stored = {"key": [np.zeros_like(row) for row in k], "value": [np.zeros_like(row) for row in v]}
    clean, copied = True, empty.copy()
    for b, length in enumerate(lengths):
        for i in range(length):
            page, p = table[b, i // block], i % block
            for side in ("key", "value"):
                for head in range(HEADS):
                    stored[side][b][i, head] = pages.read(last, side, page, p, LAYERS - 1, head)
                    if pages.zeros[side]:
                        clean &= not pages.read(last, side, page, p, LAYERS - 1, head, pages.zeros[side]).any()
                    if i < PAST[b]:
                        pages.write(copied, filled, side, page, p, LAYERS - 1, head)
    for side, given, kind in (("key", k, keys[1]), ("value", v, values[1])):
        if kind == "i8":  # half a step of the scale
            near = [np.abs(row, dtype=np.float64).max(-1, keepdims=True) / 127 * 0.502 for row in given]
            checks.equal(f"{name}: {side}s", np.array([np.all(np.abs(a - b) <= n) for a, b, n in zip(stored[side], given, near)]), np.ones(len(given), bool))
        else:
            for b, row in enumerate(given):
                checks.equal(f"{name}: {side}s of sequence {b}", stored[side][b], kernels.widened(kernels.stored(row, kind)))
    checks.equal(f"{name}: padding", np.array(clean), np.array(True))
    pairs = keys[1] == values[1] == "bf16" and "--target=generic" not in tools.options and processor.HAS_BF16_MATMUL
    checks.near(f"{name}: result", o, expected(q, stored["key"], stored["value"], PAST, QUERIES), 2e-2 if pairs else 1e-5)
    again, _ = run(copied, PAST, QUERIES, q, kernels.threads(3))
    checks.equal(f"{name}: continued from pages written by the header", again, o)


for cache in CACHES:
    check(*cache)
checks.finish()
