#!/usr/bin/env python3
"""Latent attention, test/Examples/latent-attention.mlir, against the formula in float64: expanded for prefill, absorbed for decode, over an array and over a
paged cache of keys and values of different sizes. With the sizes of DeepSeek-V2 for a few tokens, and with small ones for more."""

import re
from pathlib import Path

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(29)
EXAMPLE = (Path(__file__).parents[1] / "Examples" / "latent-attention.mlir").read_text()
BLOCK = 64


class Sizes:
    def __init__(self, heads, latent, rotated, plain, value):
        self.heads, self.latent, self.rotated, self.plain, self.value = heads, latent, rotated, plain, value

    def text(self):
        """The example with these sizes in place of its own, in its types and slices; the scale and the cache's block stay."""
        sizes = {16: self.heads, 512: self.latent, 64: self.rotated, 128: self.plain, 192: self.plain + self.rotated, 576: self.latent + self.rotated,
                 2048: self.heads * self.plain}
        return re.sub(r"block = 64|\d+", lambda n: n[0] if n[0][0] == "b" else str(sizes.get(int(n[0]), n[0])) if n[0][0] != "0" else n[0], EXAMPLE)

    def weights(self):
        return [normal(self.latent, self.heads * self.plain) / np.float32(np.sqrt(self.latent)) for _ in range(2)]

    def queries(self, count):
        return normal(count, self.heads, self.plain + self.rotated)

    def rows(self, count):
        return normal(count, self.latent + self.rotated)

    def formula(self, q, rows, upkeys, upvalues):
        """The result for queries that are the last tokens of `rows`, by keys and values of each head and plain attention."""
        q, rows, upkeys, upvalues = (x.astype(np.float64) for x in (q, rows, upkeys, upvalues))
        latent, count = rows[:, :self.latent], len(rows)
        keys = np.empty((count, self.heads, self.plain + self.rotated))
        keys[..., :self.plain] = (latent @ upkeys).reshape(count, self.heads, -1)
        keys[..., self.plain:] = rows[:, None, self.latent:]
        values = (latent @ upvalues).reshape(count, self.heads, -1)
        scores = 192 ** -0.5 * np.einsum("ihc,jhc->hij", q, keys)
        scores = np.where(np.tri(len(q), count, count - len(q), bool), scores, -np.inf)
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        return np.einsum("hij,jhd->ihd", powers / powers.sum(-1, keepdims=True), values)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def check_arrays(program, sizes, name, lengths, refer):
    for queries, keys in lengths:
        up, q, rows = sizes.weights(), sizes.queries(keys), sizes.rows(keys)
        expected = sizes.formula(q, rows, *up)
        whole, = program.compiled("expanded", [q, rows, *up], [expected.shape], (keys, keys))
        checks.near(f"{name}: expanded, {keys} tokens", whole, expected, 1e-5)
        last, = program.compiled("absorbed", [q[-queries:], rows, *up], [expected[-queries:].shape], (queries, keys))
        checks.near(f"{name}: absorbed, {queries} of {keys} tokens", last, expected[-queries:], 1e-5)
        if refer:
            named = {"q": q[-queries:], "rows": rows, "upkeys": up[0], "upvalues": up[1]}
            same, = program.reference("absorbed", named, ["result0"])
            checks.near(f"{name}: reference, absorbed", same, expected[-queries:], 1e-6)
            same, = program.reference("expanded", {**named, "q": q}, ["result0"])
            checks.near(f"{name}: reference, expanded", same, expected, 1e-6)


def check_cache(program, sizes, name, steps):
    """`steps`: how many tokens each sequence gets in each step."""
    up, tokens = sizes.weights(), np.sum(steps, 0)
    most = -(-max(tokens) // BLOCK)
    blocks = len(tokens) * most
    table = random.permutation(blocks).astype(np.int32).reshape(len(tokens), most)
    q, rows = ([make(n) for n in tokens] for make in (sizes.queries, sizes.rows))
    cache = np.full((blocks, BLOCK * (2 * sizes.latent + sizes.rotated)), np.nan, np.float32)
    past = np.zeros(len(tokens), np.int32)
    for i, counts in enumerate(steps):
        parts = lambda whole: np.concatenate([x[a:a + n] for x, a, n in zip(whole, past, counts)])
        begin = np.cumsum([0, *counts]).astype(np.int32)
        expected = np.concatenate([sizes.formula(x[a:a + n], y[:a + n], *up) for x, y, a, n in zip(q, rows, past, counts)])
        got, cache = program.compiled("step", [cache, parts(q), parts(rows), begin, past, table, *up], [expected.shape],
                                      (blocks, sum(counts), len(tokens), most), in_place=(0,))
        checks.near(f"{name}: step {i} of {counts}", got, expected, 1e-5)
        past = past + np.array(counts, np.int32)


SMALL, LARGE = Sizes(4, 64, 32, 32, 32), Sizes(16, 512, 64, 128, 128)
small, large = (kernels.Program(tools, name, sizes.text()) for name, sizes in (("latent_small", SMALL), ("latent_large", LARGE)))
check_arrays(small, SMALL, "small", ((1, 1), (1, 100), (17, 100)), refer=True)
check_cache(small, SMALL, "small", ((70, 3, 1), (1, 1, 1), (2, 61, 1)))
check_arrays(large, LARGE, "large", ((1, 9),), refer=False)
check_cache(large, LARGE, "large", ((7, 2), (1, 1)))
checks.finish()
