"""The attention programs test/Perf/attention-*.mlir and the matmuls test/Perf/matmul-SIZE*.mlir: their operands, results in float64, and the work of a call.

A program's name is attention-CHANNELS-KIND. Operands are bf16, [batch, tokens, heads, channels]; batch * tokens is 16,384 and heads * channels 2,048, as in the
measurements of FlashAttention. The kind "decode" has one query for each sequence and 8 query heads to a head of keys."""

import numpy as np

TOKENS, WIDTH = 16384, 2048
WINDOW, CAP, GROUP = 1024, 30.0, 8
DOCUMENT = 1024  # mean length of a document
NAMES = ("attention-128-causal", "attention-128-dense", "attention-64-causal", "attention-64-dense", "attention-256-causal", "attention-256-dense",
         "attention-128-decode", "attention-128-window", "attention-128-documents", "attention-128-softcap")  # the most important first
MATMULS = ("matmul-8192", "matmul-4096-tied", "matmul-1024-tied")
TOLERANCE = 1e-2  # relative L2; probabilities and results are rounded to bf16


def bf16(x):
    """The bits of the nearest bf16, ties to even."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.int64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def number(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def program(name):
    return Matmul(name) if name in MATMULS else Program(name)


class Matmul:
    """A matmul by a square weight, [k, n] or, tied, [n, k]; `tokens` of its methods is the number of rows."""

    entry, kind, is_decode = "matmul", "matmul", False
    lengths = (8192, 4096, 1024, 256, 64)

    def __init__(self, name):
        _, size, *tied = name.split("-")
        self.name, self.size, self.is_tied = name, int(size), bool(tied)

    def sizes(self, tokens):
        return 1, 1

    def extents(self, batch, tokens, heads):
        return (tokens,)

    def shapes(self, batch, tokens, heads):
        """Shapes of input, weight, nothing, and the result."""
        return (tokens, self.size), (self.size, self.size), (), (tokens, self.size)

    def operands(self, batch, tokens, heads, seed=1):
        block = bf16(np.random.default_rng(seed).standard_normal(1048573))  # a prime number of values, so that no two rows are the same
        return [np.resize(np.roll(block, 7919 * i), shape) for i, shape in enumerate(self.shapes(batch, tokens, heads)[:2])]

    def operations(self, batch, tokens, heads, arrays):
        return 2 * tokens * self.size * self.size

    def bytes(self, batch, tokens, heads):
        return 2 * self.size * (2 * tokens + self.size)

    def error(self, arrays, result, count=64):
        """The relative L2 error of drawn columns of drawn rows, the first and the last among them."""
        random = np.random.default_rng(0)
        x, w = arrays[0], arrays[1].T if self.is_tied else arrays[1]
        rows, columns = (np.unique(np.concatenate([[0, extent - 1], random.integers(0, extent, count)])) for extent in result.shape)
        expected = number(x[rows]) @ number(w[:, columns])
        return float(np.sqrt(((number(result[rows][:, columns]) - expected) ** 2).sum() / (expected ** 2).sum()))


class Program:
    """One program; `tokens` of its methods is the length of a sequence."""

    entry = "attention"

    def __init__(self, name):
        _, channels, self.kind = name.split("-")
        self.name, self.channels = name, int(channels)
        self.is_decode, self.is_causal = self.kind == "decode", self.kind not in ("dense", "decode")

    @property
    def lengths(self):
        """Those that are measured, the most important first."""
        if self.is_decode:
            return (32768,)
        return (16384, 4096, 1024, 8192, 2048, 512) if self.kind in ("dense", "causal") else (4096, 16384)

    def extents(self, batch, tokens, heads):
        return batch, tokens, heads

    def sizes(self, tokens):
        """Batch and heads of the measured call."""
        return (16, 4) if self.is_decode else (max(1, TOKENS // tokens), WIDTH // self.channels)

    def shapes(self, batch, tokens, heads):
        """Shapes of q, k, v and o."""
        rows = (batch, tokens, heads, self.channels)
        queries = (batch, 1, heads, GROUP, self.channels) if self.is_decode else rows
        return queries, rows, rows, queries

    def operands(self, batch, tokens, heads, seed=1):
        """Arrays of the inputs in order."""
        random = np.random.default_rng(seed)
        block = bf16(random.standard_normal(1048573))  # a prime number of values, so that no two rows are the same
        arrays = [np.resize(np.roll(block, 7919 * i), shape) for i, shape in enumerate(self.shapes(batch, tokens, heads)[:3])]
        if self.kind == "documents":
            arrays.append(self.documents(batch, tokens, random))
        return arrays

    @staticmethod
    def documents(batch, tokens, random):
        """The number of each token's document, from 0 in every sequence."""
        mean = min(DOCUMENT, max(1, tokens // 4))
        starts = random.random((batch, tokens)) < 1 / mean
        return np.cumsum(starts, axis=1).astype(np.int32)

    def keep(self, i, j, of_query=None, of_key=None):
        """Whether query i uses key j; arrays that numpy broadcasts."""
        if not self.is_causal:
            return i * 0 + j * 0 == 0
        kept = j <= i
        if self.kind == "window":
            kept = kept & (i - j < WINDOW)
        return kept & (of_query == of_key) if self.kind == "documents" else kept

    def pairs(self, batch, tokens, arrays):
        """Queries with the keys that they use, over the sequences of a batch. A causal mask counts half of all, as FlashAttention does."""
        if self.is_decode:
            return batch * tokens * GROUP
        if self.kind == "window":
            seen = min(tokens, WINDOW)
            return batch * (seen * seen / 2 + (tokens - seen) * seen)
        if self.kind == "documents":
            lengths = np.concatenate([np.unique(row, return_counts=True)[1] for row in arrays[3]]).astype(np.float64)
            return float((lengths * lengths).sum() / 2)
        return batch * tokens * tokens * (0.5 if self.is_causal else 1)

    def operations(self, batch, tokens, heads, arrays):
        return 4 * self.channels * heads * self.pairs(batch, tokens, arrays)

    def bytes(self, batch, tokens, heads):
        """Bytes of the operands and the result."""
        return sum(2 * int(np.prod(shape)) for shape in self.shapes(batch, tokens, heads))

    def expected(self, arrays, sequence, head, rows):
        """Results of some queries of one sequence and head in float64: [rows, channels], of a decoded token [8, channels]."""
        q, k, v = arrays[:3]
        queries = number(q[sequence, 0, head] if self.is_decode else q[sequence, rows, head])
        scores = queries @ number(k[sequence, :, head]).T / np.sqrt(self.channels)
        if self.kind == "softcap":
            scores = CAP * np.tanh(scores / CAP)
        i, j = np.asarray(rows)[:, None], np.arange(k.shape[1])
        ids = (arrays[3][sequence, rows][:, None], arrays[3][sequence]) if self.kind == "documents" else ()
        scores = np.where(self.keep(i, j, *ids), scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True) @ number(v[sequence, :, head])

    def error(self, arrays, result, most=6, rows=24):
        """The relative L2 error of drawn queries of at most `most` sequences and heads, the first and the last among them."""
        random = np.random.default_rng(0)
        batch, heads, queries = arrays[1].shape[0], arrays[1].shape[2], arrays[0].shape[1]
        drawn = {(0, 0), (batch - 1, heads - 1)} | {(int(random.integers(batch)), int(random.integers(heads))) for _ in range(most - 2)}
        wrong = right = 0.0
        for sequence, head in sorted(drawn):
            chosen = np.unique(np.concatenate([[0, queries - 1, min(queries - 1, 63), min(queries - 1, 64)], random.integers(0, queries, rows)]))
            expected = self.expected(arrays, sequence, head, chosen)
            got = number(result[sequence, 0, head] if self.is_decode else result[sequence, chosen, head])
            wrong, right = wrong + ((got - expected) ** 2).sum(), right + (expected ** 2).sum()
        return float(np.sqrt(wrong / right))
