#!/usr/bin/env python3
"""The kernels of docs/HowTo/similarity.md, compiled and by the reference, against formulas in float64: with the channels of the page, and with 20, which fill
no vector."""

import numpy as np

import kernels
import page_kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(23)
LENGTHS = ((1, 1), (17, 100), (100, 17), (1, 100))
TEMPERATURE = 12.0


def unit(x):
    return x / np.sqrt((x * x).sum(-1, keepdims=True))


def rms(x, w):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w


def dots(q, k):
    return np.einsum("ihc,jhc->hij", q, k)


def squares(q, k):
    """|q - k|^2 of each head, query and key."""
    return ((q[:, None] - k[None]) ** 2).sum(-1).transpose(2, 0, 1)


# The scores [heads, queries, keys]. All take q and k; the others are arguments of the kernel that the last field makes.
SCORES = {
    "dot": (lambda q, k: 0.125 * dots(q, k), lambda c: {}),
    "additive": (lambda q, k, w: np.tanh(q[:, None] + k[None]) @ w, lambda c: {"w": normal(c)}),
    "cosine": (lambda q, k, t: t * dots(unit(q), unit(k)), lambda c: {"t": np.array(TEMPERATURE, np.float32)}),
    "qk_norm": (lambda q, k, wq, wk: 0.125 * dots(rms(q, wq), rms(k, wk)), lambda c: {"wq": normal(c) + 1, "wk": normal(c) + 1}),
    "bilinear": (lambda q, k, w: dots((q @ w)[:, None], k[:, None]), lambda c: {"w": normal(48, c) / 8}),
    "gaussian": (lambda q, k: -squares(q, k) / (2 * 2.0 ** 2), lambda c: {}),
}


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def by_numpy(name, q, k, v, others):
    scores = SCORES[name][0](*(x.astype(np.float64) for x in (q, k, *others)))
    if name == "additive":
        scores = scores.transpose(2, 0, 1)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    values = v.astype(np.float64).reshape(len(v), -1, v.shape[-1])
    return np.einsum("hij,jhd->ihd", powers / powers.sum(-1, keepdims=True), values).reshape(len(q), *v.shape[1:])


shown = page_kernels.kernels("similarity.md")
assert set(shown) == set(SCORES), f"the page has the kernels {sorted(shown)}"
texts = dict(shown)
for name, text in shown.items():
    text = text.replace("x64xf32", "x20xf32").replace("tensor<64xf32>", "tensor<20xf32>").replace("dense<0.125>", f"dense<{20 ** -0.5}>")
    texts[name + "_20"] = page_kernels.renamed(text, name, name + "_20")
program = kernels.Program(tools, "similarity", "".join(texts.values()))
for name in texts:
    kind, channels = name.removesuffix("_20"), 20 if name.endswith("_20") else 64
    heads = () if kind == "bilinear" else (4,)
    for queries, keys in LENGTHS:
        others = SCORES[kind][1](channels)
        q = normal(queries, *heads, 48 if kind == "bilinear" else channels)
        k, v = normal(keys, *heads, channels), normal(keys, *heads, channels)
        expected = by_numpy(kind, q, k, v, others.values())
        got, = program.compiled(name, [q, k, v, *others.values()], [expected.shape], (queries, keys))
        checks.near(f"{name} of {queries} queries and {keys} keys", got, expected, 5e-6)
        if channels == 64:
            same, = program.reference(name, {"q": q, "k": k, "v": v, **others}, ["result0"])
            checks.near(f"reference: {name} of {queries} queries and {keys} keys", same, expected, 1e-9)
checks.finish()
