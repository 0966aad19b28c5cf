#!/usr/bin/env python3
"""Checks the reference evaluator op by op against numpy: run.py --tool build/bin/rapt-reference [--work DIR]

Programs are Inputs/*.mlir. Each case gives random inputs and the result by a formula written here, in float64. The
evaluator must agree to 1e-13 in f64 and to 2e-6 in f32, relative to the largest element (sums are short). Prints "N passed, N failed".
"""

import argparse
import concurrent.futures
import math
import os
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "numpy"))
sys.path.insert(0, os.path.join(HERE, "..", "Execute"))

import passed  # noqa: E402
import resident  # noqa: E402
import states  # noqa: E402

TOLERANCE = {"f64": 1e-13, "f32": 2e-6}
random = np.random.RandomState(11)
CASES, ERRORS = {}, []
WORK = tempfile.TemporaryDirectory()


def normal(*shape):
    """Random values that f32 holds."""
    return random.standard_normal(shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int32)


def bf16(x):
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)


def case(name, program, entry, inputs, expected, options=()):
    """`expected`: {output: array}. NaN in it stands for any value; infinities are exact."""
    CASES[name] = (program, entry, inputs, expected, options)


def error(program, entry, inputs, text, options=()):
    """The run must end with exit status 1 and one line that holds `text`."""
    ERRORS.append((program, entry, inputs, text, options))


def panels(x):
    """[rows, columns] -> [columns/32][rows][32], padded with zeros."""
    rows, columns = x.shape
    padded = np.zeros((rows, -(-columns // 32) * 32), x.dtype)
    padded[:, :columns] = x
    return np.ascontiguousarray(padded.reshape(rows, -1, 32).transpose(1, 0, 2))


def pairs(x):
    """[rows, columns] -> [columns/32][rows/2][32][2] as 64 columns, padded with zeros."""
    even = np.concatenate([x, np.zeros((x.shape[0] % 2, x.shape[1]), x.dtype)])
    return np.ascontiguousarray(panels(even).reshape(-1, even.shape[0] // 2, 2, 32).swapaxes(2, 3)).reshape(-1, even.shape[0] // 2, 64)


def embedding():
    table = normal(11, 7)
    for name, ids in {"some": ints(3, 0, 10, 3), "one": ints(7), "none": ints()}.items():
        case(f"embedding {name}", "embedding", "embed", {"ids": ids, "table": table}, {"result0": table[ids]})
    case("embedding scaled", "embedding", "scaled", {"ids": ints(1, 9), "table": table}, {"result0": 2.5 * table[[1, 9]].astype(np.float64)})
    case("embedding bf16", "embedding", "embed_bf16", {"ids": ints(1, 9), "table": table}, {"result0": bf16(table)[[1, 9]]})
    large = normal(64, 7)
    wide = np.zeros((64, 32), np.float32)
    wide[:, :7] = large
    case("embedding panels", "embedding", "embed_panels", {"ids": ints(63, 31, 32), "table": panels(large.T)}, {"result0": wide[[63, 31, 32]]})
    x = normal(6, 5)
    case("select_rows", "embedding", "select", {"x": x, "rows": ints(5, 0, 5)}, {"result0": x[[5, 0, 5]]})
    parts, whole = normal(2, 3, 5), x.astype(np.float64)
    whole[[4, 1]] += parts[:, 2]
    case("write_rows add", "embedding", "add_layer", {"x": x, "v": parts, "layer": np.array(2), "rows": ints(4, 1)}, {"result0": whole})
    case("write_rows add without a layer", "embedding", "add", {"x": x, "v": parts[:, 2], "rows": ints(4, 1)}, {"result0": whole, "result1": x})
    case("write_rows of no row", "embedding", "add", {"x": x, "v": parts[:0, 2], "rows": ints()}, {"result0": x, "result1": x})
    last = x.copy()
    last[[4, 1]] = parts[:, 2]
    case("write_rows set", "embedding", "set", {"x": x, "v": parts[:, 2], "rows": ints(4, 1)}, {"result0": last})
    added = lambda rows, v=parts[:, 2]: {"x": x, "v": v, "rows": ints(*rows)}
    error("embedding", "add", added((4, 4)), "'attn.write_rows' op writes row 4 twice (element 1)")
    error("embedding", "add", added((4, 6)), "'attn.write_rows' op writes row 6 (element 1) of 6 rows")
    error("embedding", "add", added((4, -1)), "'attn.write_rows' op writes row -1 (element 1) of 6 rows")
    error("embedding", "add", added((4,)), "'attn.write_rows' op has values [2, 5] for 1 rows of 5 columns")
    error("embedding", "add_layer", {"x": x, "v": parts, "layer": np.array(3), "rows": ints(4, 1)}, "'attn.write_rows' op reads layer 3 of 3")
    case("column", "embedding", "column", {"x": x}, {"result0": x[:, 3]})
    error("embedding", "huge", {"ids": ints(0)}, "'attn.embedding' op makes a tensor of more than 4294967296 elements")
    for bad in (11, -1):
        error("embedding", "embed", {"ids": ints(1, bad), "table": table}, f"embedding.mlir:3:8: error: 'attn.embedding' op looks id {bad}")
    error("embedding", "select", {"x": x, "rows": ints(6)}, "'attn.select_rows' op selects row 6 (element 0) of 6 rows")


def pooling():
    x, row_begin = normal(9, 5), ints(0, 4, 4, 5, 9)
    formulas = {"first": lambda row: row[0], "last": lambda row: row[-1], "mean": lambda row: row.mean(0), "max": lambda row: row.max(0)}
    for kind, formula in formulas.items():
        rows = [x[begin:end].astype(np.float64) for begin, end in zip(row_begin, row_begin[1:])]
        expected = np.array([formula(row) if len(row) else np.zeros(5) for row in rows])
        case(f"pool_rows {kind}", "pooling", kind, {"x": x, "row_begin": row_begin}, {"result0": expected})
        case(f"pool_rows {kind} without rows", "pooling", kind, {"x": x, "row_begin": ints(0)}, {"result0": np.zeros((0, 5))})
    means = [row[1:].mean(0) if len(row) > 1 else np.zeros(5) for row in np.split(x.astype(np.float64), (4, 4, 5))]
    case("pool_rows skip", "pooling", "skip", {"x": x, "row_begin": row_begin}, {"result0": np.array(means)})
    error("pooling", "mean", {"x": x, "row_begin": ints(0, 10)}, "'attn.pool_rows' op row_begin[1] is 10, but must be within 0..9")


def image():
    import vit

    pixels = normal(2, 3, 7, 5)
    for name, shape in {"whole": (2, 3, 6, 4), "ragged": (2, 3, 7, 5), "one": (1, 3, 2, 3), "none": (0, 3, 4, 4), "narrow": (2, 3, 7, 1)}.items():
        x = pixels[: shape[0], :, : shape[2], : shape[3]]
        rows, columns = shape[2] // 2, shape[3] // 2
        cut = x[:, :, : 2 * rows, : 2 * columns].reshape(shape[0], 3, rows, 2, columns, 2).transpose(0, 2, 4, 1, 3, 5)
        case(f"patches {name}", "image", "cut", {"pixels": x}, {"result0": cut.reshape(-1, 12)})

    table = normal(2 + 3 * 4, 5)
    for height, width in ((3, 4), (4, 3), (1, 1), (7, 5), (2, 11), (6, 8)):
        grid = np.einsum("ym,xn,mnc->yxc", vit.interpolation(3, height), vit.interpolation(4, width), table[2:].reshape(3, 4, 5))
        expected = np.concatenate([table[:2], grid.reshape(-1, 5)])
        inputs = {"table": table, "h": np.array(height, np.int64), "w": np.array(width, np.int64)}
        case(f"resize_positions {height} x {width}", "image", "resize", inputs, {"result0": expected})
    huge = {"table": table, "h": np.array(1 << 20, np.int64), "w": np.array(1 << 20, np.int64)}
    error("image", "resize", huge, "'attn.resize_positions' op makes positions for 1048576 x 1048576 patches")

    patches, learned, positions = normal(6, 5), normal(2, 5), normal(5, 5)
    tokens = [np.concatenate([learned, patches[3 * b : 3 * b + 3]]) + positions.astype(np.float64) for b in range(2)]
    inputs = {"patches": patches, "learned": learned, "positions": positions}
    case("image_tokens", "image", "tokens", inputs, {"result0": np.concatenate(tokens)})
    case("image_tokens none", "image", "tokens", {**inputs, "patches": patches[:0]}, {"result0": np.zeros((0, 5))})
    for bad in ({"patches": patches[:5]}, {"positions": positions[:2]}):
        error("image", "tokens", {**inputs, **bad}, "learned")

    number = lambda value: np.array(value, np.int64)
    for rows, length in ((3, 7), (0, 5), (2, 0)):
        case(f"equal_rows {rows} x {length}", "image", "offsets", {"rows": number(rows), "length": number(length)}, {"result0": np.arange(rows + 1) * length})
    error("image", "offsets", {"rows": number(65536), "length": number(32768)}, "gives offsets of 65536 rows of 32768 tokens")
    case("unpack_rows", "image", "unpack", {"x": patches, "length": number(3)}, {"result0": patches.reshape(2, 3, 5)})
    looked = normal(6, 2, 5)
    case("unpack_rows of matrices", "image", "unpack_weights", {"x": looked, "length": number(3)}, {"result0": looked.reshape(2, 3, 2, 5)})
    for bad in (4, 0):
        error("image", "unpack", {"x": patches, "length": number(bad)}, f"'attn.unpack_rows' op has 6 tokens for rows of {bad}")


def norm():
    for rows in (5, 1, 0):
        x, w, b = normal(rows, 13) + 3, normal(13), normal(13)

        def layer(columns, epsilon):
            part, y = x[:, :columns].astype(np.float64), np.zeros((len(x), 13))
            y[:, :columns] = (part - part.mean(1, keepdims=True)) / np.sqrt(part.var(1, keepdims=True) + epsilon) * w[:columns] + b[:columns]
            return y

        def rms(columns, epsilon):
            part, y = x[:, :columns].astype(np.float64), np.zeros((len(x), 13))
            y[:, :columns] = part / np.sqrt((part ** 2).mean(1, keepdims=True) + epsilon) * w[:columns]
            return y

        case(f"layer_norm {rows}", "norm", "layer", {"x": x, "w": w, "b": b}, {"result0": layer(13, 1e-2)})
        case(f"layer_norm columns {rows}", "norm", "layer_columns", {"x": x, "w": w, "b": b}, {"result0": layer(11, 1e-5)})
        case(f"rms_norm {rows}", "norm", "rms", {"x": x, "w": w}, {"result0": rms(13, 1e-2)})
        case(f"rms_norm columns {rows}", "norm", "rms_columns", {"x": x, "w": w}, {"result0": rms(7, 1e-6)})
        # All dims but the last are rows.
        x = normal(6 * rows, 13) + 3
        heads, deep = x.reshape(-1, 3, 13), x.reshape(2, -1, 3, 13)
        case(f"layer_norm of heads {rows}", "norm", "layer_heads", {"x": heads, "w": w, "b": b}, {"result0": layer(11, 1e-5).reshape(heads.shape)})
        case(f"rms_norm of heads {rows}", "norm", "rms_heads", {"x": deep, "w": w}, {"result0": rms(7, 1e-6).reshape(deep.shape)})


def position():
    case("positions", "position", "positions", {"tokens": ints(*[9] * 8), "begin": ints(0, 3, 3, 8), "past": ints(5, 7, 0)},
         {"result0": ints(5, 6, 7, 0, 1, 2, 3, 4)})
    case("positions of no row", "position", "positions", {"tokens": ints(1, 1), "begin": ints(0, 1), "past": ints(4)}, {"result0": ints(4, 0)})
    for begin, text in {(0, 9): "row_begin[1] is 9, but must be within 0..2", (1, 2): "row_begin[0] is 1, but must be 0",
                        (0, 2, 1): "row_begin[2] is 1, but must be within 2..2"}.items():
        error("position", "positions", {"tokens": ints(1, 1), "begin": ints(*begin), "past": ints(*[0] * (len(begin) - 1))}, text)
    error("position", "positions", {"tokens": ints(1), "begin": ints(), "past": ints()}, "row_begin is empty")
    error("position", "positions", {"tokens": ints(1), "begin": ints(0, 1), "past": ints(0, 0)}, "has 2 past lengths for 1 rows")
    case("counted positions", "position", "counted", {"tokens": ints(4, 1, 1, 7, 1, 9, 1, 2), "begin": ints(0, 5, 5, 7)}, {"result0": ints(1, 0, 0, 2, 0, 1, 0, 0)})
    places, lengths = ints(3, 3, 5), ints(7, 8, -1)
    case("frequencies of longer texts", "position", "longer", {"p": places, "lengths": lengths},
         {"result0": np.cos(places[:, None] * np.where(lengths[:, None] > 7, [0.5, 0.125], [1.0, 0.25]))})
    error("position", "longer", {"p": places, "lengths": ints(7)}, "has lengths of 1 tokens for 3")
    p = ints(0, 1, 1000, 37)
    for entry, width, frequencies, magnitude in (("rope", 7, [1.0, 0.25, 0.0625], 1.0), ("rope_magnitude", 4, [1.0, 0.125], 1.25),
                                                 ("rope_interleaved", 7, [1.0, 0.25, 0.0625], 1.0), ("rope_heads", 7, [1.0, 0.25, 0.0625], 1.0)):
        x, half = normal(4, 3, width), len(frequencies)
        y = x.astype(np.float64)
        pairs = (slice(0, 2 * half, 2), slice(1, 2 * half, 2)) if "interleaved" in entry else (slice(0, half), slice(half, 2 * half))
        turned = (x[..., pairs[0]] + 1j * x[..., pairs[1]].astype(np.float64)) * np.exp(1j * p[:, None, None] * np.array(frequencies)) * magnitude
        y[..., pairs[0]], y[..., pairs[1]] = turned.real, turned.imag
        if entry == "rope_heads":
            y[:, 2:] = x[:, 2:]
        error("position", entry, {"x": x, "p": p[1:]}, "'attn.rope' op has a table of 3 and 3 tokens for 4 tokens")
        case(entry, "position", entry, {"x": x, "p": p}, {"result0": y})
    for entry, width, frequencies in (("sinusoids", 5, [1.0, 1.0, 0.25, 0.25, 0.0625]), ("sinusoids_padded", 32, [0.5, 1.0, 0.25])):
        y = np.zeros((4, width))
        for column, frequency in enumerate(frequencies):
            y[:, column] = (np.cos if column % 2 else np.sin)(p * frequency)
        case(entry, "position", entry, {"p": p}, {"result0": y})


def feedforward():
    erf = np.vectorize(math.erf)
    for rows in (6, 1, 0):
        x, w, b, r = normal(rows, 7), normal(7, 5), normal(5), normal(rows, 5)
        product = x.astype(np.float64) @ w
        case(f"linear {rows}", "feedforward", "plain", {"x": x, "w": w}, {"result0": product})
        case(f"linear epilogue {rows}", "feedforward", "epilogue", {"x": x, "w": w, "b": b, "r": r}, {"result0": np.tanh(product + b) * 0.75 + r})
        case(f"linear transposed {rows}", "feedforward", "transposed", {"x": x, "w": np.ascontiguousarray(w.T)},
             {"result0": x.astype(np.float64) @ w.astype(np.float16)})
        wide, padded = normal(7, 37), np.concatenate([x, normal(rows, 2)], 1)
        case(f"linear panels {rows}", "feedforward", "panels", {"x": padded, "w": panels(wide)}, {"result0": x.astype(np.float64) @ wide})
        case(f"linear pairs {rows}", "feedforward", "pairs", {"x": x, "w": pairs(wide)},
             {"result0": x.astype(np.float64) @ bf16(wide)})
    product = x.astype(np.float64) @ bf16(w)
    case("rounded results", "feedforward", "rounded", {"x": x, "w": w},
         {"cast": bf16(x), "product": bf16(product.astype(np.float32)), "sum": 2 * product.astype(np.float16).astype(np.float64)})
    bits = (bf16(w).view(np.uint32) >> 16).astype(np.uint16)  # an array of bf16 as kernels take it
    case("an argument of bits", "feedforward", "rounded", {"x": x, "w": bits}, {"product": bf16(product.astype(np.float32))})
    case("an argument of f16", "feedforward", "transposed", {"x": x, "w": w.T.astype(np.float16)}, {"result0": x.astype(np.float64) @ w.astype(np.float16)})
    error("feedforward", "plain", {"x": x, "w": bits}, "w: is u16 [7, 5], but floats [7, 5] are needed")
    case("linear dynamic", "feedforward", "dynamic", {"x": x, "w": w}, {"result0": x.astype(np.float64) @ w})
    error("feedforward", "dynamic", {"x": x, "w": normal(6, 5)}, "'attn.linear' op sums over 7 columns of the input and 6 rows of the weight")
    x, y = np.concatenate([normal(7, 5) * 3, [[-30, 30, 0, -8, 8]]]).astype(np.float32), normal(8, 5)
    z = x.astype(np.float64)
    sigmoid = lambda a: 1 / (1 + np.exp(-a))
    case("activations", "feedforward", "activations", {"x": x}, {
        "gelu": z * (1 + erf(z / math.sqrt(2))) / 2, "gelu_tanh": z / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z ** 3))),
        "relu": np.maximum(z, 0), "silu": z * sigmoid(z), "tanh": np.tanh(z), "sigmoid": sigmoid(z), "quick_gelu": z * sigmoid(1.702 * z)})
    case("glu and add", "feedforward", "gated", {"x": x, "y": y}, {"glu": z * sigmoid(z) * y, "sum": z + y})
    error("feedforward", "gated", {"x": x, "y": y[1:]}, "'attn.glu' op has operands of different extents")
    case("clip", "feedforward", "clip", {"x": x}, {"result0": np.clip(z, -0.75, 0.75)})
    error("feedforward", "epilogue", {"x": x[:, :3].repeat(3, 1)[:, :7], "w": normal(7, 5), "b": b, "r": y[1:]}, "has an extra operand [7, 5] for a result [8, 5]")


def experts():
    e = np.array([[2, 0], [0, 2], [2, 0]], np.int32)
    case("rows by expert", "experts", "group", {"e": e}, {"rows": np.array([0, 1, 2, 0, 1, 2]), "indices": np.array([[3, 0], [1, 4], [5, 2]]),
                                                         "groups": np.array([[0, 0], [3, 2], [6, 0], [6, 0]])})
    error("experts", "group", {"e": e + 1}, "'attn.group_rows' op orders by expert 3 (element 0) of 3")
    x, w, i = normal(4, 3), normal(2, 2), np.array([[3, 1], [0, 0]], np.int32)
    case("sums of rows", "experts", "combine", {"x": x, "w": w, "i": i}, {"result0": np.einsum("tj,tjc->tc", w.astype(np.float64), x[i])})
    error("experts", "combine", {"x": x, "w": w, "i": i + 1}, "'attn.combine_rows' op adds row 4 of 4")
    error("experts", "combine", {"x": x, "w": w[1:], "i": i}, "'attn.combine_rows' op has weights and indices of different extents")


def softmax_sum(s, keep, v):
    """Attention of one query over the keys that `keep` names; s [kv], v [kv, dv]."""
    if not keep.any() or s[keep].max() == -np.inf:
        return np.zeros(v.shape[1])
    e = np.exp(s[keep] - s[keep].max())
    return e @ v[keep] / e.sum()


def attend(q, k, v, scale, score=lambda s, h, i, j: s, mask=lambda h, i, j: j >= 0, offset=0):
    """One row: q [n, hkv, g, d], k [m, hkv, d], v [m, hkv, dv] -> [n, hkv, g, dv]; indices given to functions are absolute."""
    n, heads, groups, _ = q.shape
    out, j = np.zeros((n, heads, groups, v.shape[2])), np.arange(len(k))
    for i in range(n):
        for hkv in range(heads):
            for g in range(groups):
                h = hkv * groups + g
                s = np.array([scale * (q[i, hkv, g].astype(np.float64) @ k[x, hkv].astype(np.float64)) for x in j])
                keep = np.broadcast_to(mask(h, i + offset, j), j.shape)
                out[i, hkv, g] = softmax_sum(score(s, h, i + offset, j), keep, v[:, hkv].astype(np.float64))
    return out


def log_sum_exp(q, k, scale, score, mask):
    """One row: the logarithms of the sums of e^score, [n, hkv, g]; -infinity without a key."""
    n, heads, groups, _ = q.shape
    out, j = np.full((n, heads, groups), -np.inf), np.arange(len(k))
    for i in range(n):
        for hkv in range(heads):
            for g in range(groups):
                h = hkv * groups + g
                s = score(np.array([scale * (q[i, hkv, g].astype(np.float64) @ k[x, hkv].astype(np.float64)) for x in j]), h, i, j)
                kept = s[np.broadcast_to(mask(h, i, j), j.shape)]
                if len(kept) and kept.max() > -np.inf:
                    out[i, hkv, g] = kept.max() + np.log(np.exp(kept - kept.max()).sum())
    return out


def attention():
    lengths, keys = (3, 0, 1, 5), (2, 4, 0, 7)
    qb, kb = np.cumsum((0,) + lengths).astype(np.int32), np.cumsum((0,) + keys).astype(np.int32)
    q, k, v = normal(9, 2, 3, 5), normal(13, 2, 5), normal(13, 2, 7)
    rows = lambda f: np.concatenate([f(b, slice(qb[b], qb[b + 1])) for b in range(len(lengths))])
    documents = {"q": q, "k": k, "v": v, "q_begin": qb, "kv_begin": kb}
    case("attention documents (A5)", "attention", "documents", documents,
         {"result0": rows(lambda b, at: attend(q[at], k[kb[b]:kb[b + 1]], v[kb[b]:kb[b + 1]], 0.5))})
    vector = normal(5)

    def bahdanau(b, at):
        own = slice(kb[b], kb[b + 1])
        sums = np.tanh(q[at].astype(np.float64)[:, None] + k[own].astype(np.float64)[None, :, :, None]) @ vector  # [q, kv, hkv, g]
        p = np.exp(0.5 * sums) * (np.arange(sums.shape[1])[None, :, None, None] != 2)
        return np.einsum("ijhg,jhd->ihgd", p, v[own]) / np.maximum(p.sum(1), 1e-300)[..., None]

    case("attention additive (A6)", "attention", "additive", {**documents, "vector": vector}, {"result0": rows(bahdanau)})
    eye = np.eye(13)

    def look(b, at):
        """Weights are what attention gives for values that tell keys apart."""
        own = np.repeat(eye[:keys[b], None, :], 2, 1)
        return attend(q[at], k[kb[b]:kb[b + 1]], own, 0.5, mask=lambda h, i, j: j != 1).reshape(lengths[b], 6, 13)[:, [0, 4, 5]]

    before = normal(9, 3, 3, 13)
    looked = before.astype(np.float64)
    looked[:, 1] = rows(look)
    weights = {**{name: documents[name] for name in ("q", "k", "q_begin", "kv_begin")}, "w": before}
    case("attention_weights (A33)", "attention", "weights", {**weights, "layer": np.array(1)}, {"result0": looked})
    for outside in (-1, 3):
        case(f"attention_weights of layer {outside} (A34)", "attention", "weights", {**weights, "layer": np.array(outside)}, {"result0": before})
    # Every result at once: log-sum-exp of queries that see no key, of scores that are -infinity, and of tokens of no sequence.
    shorter = qb.copy()
    shorter[-1] -= 2
    counts = lambda h, i, j: (j != 1) & (h != 5)
    falls = lambda s, h, i, j: np.where((j == 3) | (h == 4), -np.inf, s)
    looks = lambda b: (q[shorter[b]:shorter[b + 1]], k[kb[b]:kb[b + 1]])
    lse = np.full((9, 2, 3), -np.inf)
    every, out = before.astype(np.float64), np.zeros((9, 2, 3, 7))
    for b in range(len(lengths)):
        at = slice(shorter[b], shorter[b + 1])
        lse[at] = log_sum_exp(*looks(b), 0.5, falls, counts)
        out[at] = attend(*looks(b), v[kb[b]:kb[b + 1]], 0.5, falls, counts)
        own = np.repeat(eye[:keys[b], None, :], 2, 1)
        every[at, 2] = attend(*looks(b), own, 0.5, falls, counts).reshape(-1, 6, 13)[:, [0, 4, 5]]
    case("attention's results (A12, A28)", "attention", "outputs", {**documents, "q_begin": shorter, "w": before, "layer": np.array(2)},
         {"result0": out, "result1": lse, "result2": every})
    error("attention", "weights", {**weights, "w": before[1:], "layer": np.array(1)}, "'attn.attention' op has 9 queries for weights of 8")
    error("attention", "weights", {**weights, "k": normal(20, 2, 5), "kv_begin": kb + ints(0, 0, 0, 0, 7), "layer": np.array(0)},
          "'attn.attention' op row 3 has 14 keys for weights of 13")
    error("attention", "documents", {**documents, "kv_begin": kb[:-1]}, "'attn.attention' op extent of dim b is both 4 and 3")
    error("attention", "documents", {**documents, "q_begin": qb + ints(0, 0, 0, 0, 1)}, "q_begin[4] is 10, but must be within 4..9")
    error("attention", "documents", {**documents, "v": v[1:]}, "extent of dim kv is both 13 and 12")

    dense_q, dense_k, dense_v = normal(3, 2, 3, 4, 5), normal(3, 2, 6, 5), normal(3, 2, 7, 6)
    slope, used, scale = normal(2, 3), (6, 1, 4), 0.375
    expected = [attend(dense_q[b].transpose(2, 0, 1, 3), dense_k[b].transpose(1, 0, 2)[:used[b]], dense_v[b].transpose(2, 0, 1)[:used[b]], scale,
                       lambda s, h, i, j: 2 * np.tanh(s / 2) + (j - i) * float(slope.reshape(-1)[h])) for b in range(3)]
    dense = {"q": dense_q, "k": dense_k, "v": dense_v, "slope": slope, "scale": np.array(scale, np.float32)}
    case("attention dense (A2, A7, A27)", "attention", "dense", {**dense, "kv_length": ints(*used)}, {"result0": np.stack(expected)})
    error("attention", "dense", {**dense, "kv_length": ints(6, 7, 1)}, "row 1 has 7 keys from 0 on, but the extent of dim kv is 6")
    error("attention", "dense", {**dense, "kv_length": ints(6, -1, 1)}, "row 1 has -1 keys")
    empty = {**dense, "q": dense_q[:, :, :, :0], "k": dense_k[:, :, :0], "v": dense_v[..., :0], "kv_length": ints(0, 0, 0)}
    case("attention empty", "attention", "dense", empty, {"result0": np.zeros((3, 0, 2, 3, 7))})
    case("attention no keys (A11)", "attention", "dense", {**empty, "q": dense_q}, {"result0": np.zeros((3, 4, 2, 3, 7))})

    lengths_of = {"q": normal(3, 1, 1, 5), "k": normal(9, 1, 5), "v": normal(9, 1, 7), "q_begin": ints(0, 1, 3), "kv_begin": ints(0, 4, 9)}
    used_of = [attend(lengths_of["q"][at], lengths_of["k"][first:end], lengths_of["v"][first:end], 0.5) for at, first, end in ((slice(0, 1), 0, 4), (slice(1, 3), 4, 6))]
    case("attention lengths (A27)", "attention", "lengths", {**lengths_of, "kv_length": ints(4, 2)}, {"result0": np.concatenate(used_of)})
    error("attention", "lengths", {**lengths_of, "kv_length": ints(5, 2)}, "row 0 has 5 keys from 0 on, but kv_begin ends it at 4")
    error("attention", "one_result", {"q": normal(2, 1, 1, 5), "k": normal(3, 1, 5), "kv_length": ints(3, 2)},
          "extent of dim b is 2, but the result has no dim b; expected 1")
    error("attention", "short_vector", {"q": normal(2, 1, 1, 32), "k": normal(3, 1, 32), "vector": normal(20)}, "additive vector has 20 elements for 32 channels")

    # A table, read beyond its ends, and without an element.
    table, few = normal(3, 5), {"q": normal(4, 1, 1, 8), "k": normal(7, 1, 8)}
    read = table[np.minimum(np.arange(4), 2)][:, np.minimum(np.arange(7), 4)].astype(np.float64)
    case("attention table (A30)", "attention", "table", {**few, "table": table},
         {"result0": attend(few["q"], few["k"], few["k"], 0.5, lambda s, h, i, j: s + read[i, j])})
    for shape in ((0, 5), (3, 0)):
        error("attention", "table", {**few, "table": normal(*shape)}, "'attn.attention' op extra operand 0 is a table without elements")
    error("attention", "table_of_state", {"q": normal(5, 8), "k": normal(7, 8), "table": normal(0), "acc": normal(5, 8), "max": normal(5)},
          "'attn.attention_state' op extra operand 0 is a table without elements")

    past = (4, 0, 9, 0)
    paged_k, paged_v = normal(4, 11, 2, 5), normal(4, 11, 2, 7)
    causal = lambda h, i, j: (j <= i) & (i - j < 4)
    cached = rows(lambda b, at: attend(q[at], paged_k[b], paged_v[b], 0.5, mask=lambda h, i, j: causal(h, i, j) & (j < past[b] + lengths[b]), offset=past[b]))
    for b in range(4):  # what no query may read
        paged_k[b, past[b] + lengths[b]:] = paged_v[b, past[b] + lengths[b]:] = np.nan
        paged_k[b, :max(0, past[b] - 3)] = paged_v[b, :max(0, past[b] - 3)] = np.nan
    case("attention window (A9, A14, A31, A32)", "attention", "window", {"q": q, "k": paged_k, "v": paged_v, "q_begin": qb, "past": ints(*past)}, {"result0": cached})
    error("attention", "window", {"q": q, "k": paged_k, "v": paged_v, "q_begin": qb, "past": ints(-1, 0, 9, 0)}, "row 0 has 3 queries from position -1 on, but positions are 0 to 2147483583")

    bias, keep, last = normal(4, 5, 6), random.rand(4, 5, 6) < 0.6, random.randint(-1, 6, 9).astype(np.int32)
    keep[3, 1], k, v = False, normal(4, 6, 2, 5), normal(4, 6, 2, 7)
    bias[3, 1] = np.nan  # masked whole: not read
    bias[0, 2] = -np.inf  # kept in part, and still nothing
    extra = rows(lambda b, at: attend(q[at], k[b], v[b], 0.5, lambda s, h, i, j: s + bias[b, i].astype(np.float64),
                                      lambda h, i, j: keep[b, i] & (j <= last[qb[b] + i])))
    extras = {"q": q, "k": k, "v": v, "q_begin": qb, "bias": bias, "keep": keep, "last": last}
    case("attention extras (A8, A9, A11, A29)", "attention", "extras", extras, {"result0": extra})
    error("attention", "extras", {**extras, "bias": bias[:, :4]}, "extra operand 0 has no element at query 4 of row 3")
    x = normal(5, 31)
    case("heads", "attention", "heads", {"x": x}, {"result0": x[:, :15], "result1": x[:, 15:25], "result2": x[:, 25:].reshape(5, 2, 3)})


def attention_pair():
    """The similarity of a second pair is added to that of the first, before the scale and the score region; its key has no heads."""
    q, k, v, q2, k2 = normal(6, 2, 3, 5), normal(9, 2, 5), normal(9, 2, 4), bf16(normal(2, 6, 3, 7)), normal(9, 7)
    s = np.einsum("ihgc,jhc->hgij", q.astype(np.float64), k) + np.einsum("higc,jc->hgij", q2.astype(np.float64), k2)
    s = np.tanh(np.float64(np.float32(0.4)) * s)
    p = np.exp(s - s.max(-1, keepdims=True))
    out = np.einsum("hgij,jhc->ihgc", p / p.sum(-1, keepdims=True), v)
    given = {"q": q, "k": k, "v": v, "q2": q2, "k2": k2}
    case("attention with a second pair (A45, A46)", "attention", "pair", given, {"result0": out})
    error("attention", "pair", {**given, "k2": k2[:, 1:]}, "'attn.attention' op extent of dim dqk of the second pair is both 7 and 6")
    error("attention", "pair", {**given, "k2": k2[1:]}, "'attn.attention' op extent of dim kv is both 9 and 8")


def attention_sinks():
    """A sink is the score of a key whose value is 0: beside keys, alone, far from all scores, and -infinity. One of NaN makes results of its head NaN."""
    lengths, keys, rest = (3, 0, 1, 5, 2), (2, 4, 0, 7, 1), 2
    qb, kb = (np.cumsum((0,) + counts).astype(np.int32) for counts in (lengths, keys))
    q, k, v, sinks = normal(qb[-1] + rest, 2, 3, 5), normal(kb[-1], 2, 5), normal(kb[-1], 2, 7), np.array([0.3, -np.inf, 40, -800, 800, np.nan], np.float32)
    out, lse, weights = np.zeros((len(q), 6, 7)), np.full((len(q), 6), -np.inf), np.ones((len(q), 6, 13))
    for b, h in np.ndindex(len(lengths), 6):
        own, sink = slice(kb[b], kb[b + 1]), bf16(sinks).astype(np.float64)[h]
        for i in range(qb[b], qb[b + 1]):
            s = 0.5 * k[own, h // 3].astype(np.float64) @ q[i, h // 3, h % 3].astype(np.float64)
            kept = np.arange(keys[b]) != 1
            scores = np.append(s[kept], sink)
            top = scores.max()
            total = 0 if np.isneginf(top) else np.exp(scores - top).sum()
            lse[i, h] = top + np.log(total) if total else -np.inf
            p = np.where(kept, np.exp(s - top) / total if total else 0, 0)
            weights[i, h] = np.append(p, np.zeros(13 - keys[b]))
            out[i, h] = p @ v[own, h // 3].astype(np.float64) if not np.isnan(sink) else np.nan
    given = {"q": q, "k": k, "v": v, "q_begin": qb, "kv_begin": kb, "sink": sinks, "w": np.ones((len(q), 1, 6, 13), np.float32)}
    case("attention sinks (A41, A42, A43)", "attention", "sinks", given, {"result0": out.reshape(-1, 2, 3, 7), "result1": lse.reshape(-1, 2, 3), "result2": weights[:, None]})
    error("attention", "sinks", {**given, "sink": sinks[1:]}, "'attn.attention' op has 5 sinks for 6 query heads")


def attention_state():
    q, k, v = normal(5, 7), normal(96, 7) , normal(96, 32)
    bias, ids = normal(32, 1, 5), random.randint(0, 5, 32).astype(np.int32)
    for first in (66, 90, 3):  # queries stand at 66..70, so the mask decides; they see all keys; they see none of the second block
        s = 0.5 * q.astype(np.float64) @ k.T.astype(np.float64)
        s[:, :64] = np.tanh(s[:, :64])
        s[:, 64:] += bias[:, 0].T.astype(np.float64)
        j, i = np.arange(96), first + np.arange(5)[:, None]
        keep = (j < 64) | ((np.concatenate([np.zeros(64), ids]) != 3) & (j <= i))
        acc, peak, total = normal(5, 32), normal(5), np.abs(normal(5))
        peak[2], total[2], acc[2] = -3e38, 0, 0  # a row that saw no key yet
        s = np.where(keep, s, -np.inf)
        new = np.maximum(peak, s.max(1))
        p, alpha = np.exp(s - new[:, None]), np.exp(peak.astype(np.float64) - new)
        inputs = {"q": q, "k0": k[:64], "v0": v[:64], "k1": k[64:], "v1": v[64:], "first": np.array(first), "bias": bias, "ids": ids,
                  "acc": acc, "max": peak, "sum": total}
        case(f"attention_state {first} (A35)", "attention", "state", inputs,
             {"new_acc": acc * alpha[:, None] + p @ v, "new_max": new, "new_sum": total * alpha + p.sum(1)})
    error("attention", "state", {**inputs, "v1": v[65:]}, "'attn.attention_state' op has 32 keys for 31 values")
    error("attention", "state", {**inputs, "ids": ids[1:]}, "extra operand 1 has no element at query 0 and key 31")


def attention_merge():
    floor = np.finfo(np.float32).min
    for parts, queries in ((3, 5), (1, 1), (7, 2), (0, 4), (2, 0)):
        state = {"accs": normal(parts, queries, 32), "maxs": normal(parts, queries) * 30, "sums": np.abs(normal(parts, queries)),
                 "acc": normal(queries, 32), "max": normal(queries), "sum": np.abs(normal(queries))}
        state["accs"][:, 1:2], state["maxs"][:, 1:2], state["sums"][:, 1:2] = 0, floor, 0  # query 1 saw no key in any part
        state["acc"][1:3], state["max"][1:3], state["sum"][1:3] = 0, floor, 0  # queries 1 and 2 saw none before
        state["accs"][:1], state["maxs"][:1], state["sums"][:1] = 0, floor, 0  # the first part is masked whole
        wide = {name: x.astype(np.float64) for name, x in state.items()}
        peak = np.maximum(wide["max"], wide["maxs"].max(0, initial=float(floor)))
        alpha, beta = np.exp(wide["max"] - peak), np.exp(wide["maxs"] - peak)
        case(f"attention_merge {parts} {queries} (A36, A37, A38)", "attention", "merge", state, {
            "new_acc": wide["acc"] * alpha[:, None] + (wide["accs"] * beta[:, :, None]).sum(0), "new_max": peak,
            "new_sum": wide["sum"] * alpha + (wide["sums"] * beta).sum(0)})
    error("attention", "merge", {**state, "maxs": normal(3, 0)}, "'attn.attention_merge' op has not one max and one sum for each part and query")
    error("attention", "merge", {**state, "acc": normal(1, 32)}, "'attn.attention_merge' op has parts of other extents than its state")
    error("attention", "merge", {**state, "max": normal(1)}, "'attn.attention_merge' op has not one max and one sum for each query")


def kvcache():
    begin, past, lengths = ints(0, 3, 3, 40), ints(30, 64, 5), (3, 0, 37)
    table = ints(4, 1, 0, 6, 3, 5, 2, 7, 0).reshape(3, 3)
    table[0, 2] = -1  # no block: never read
    k0, v0, k1, v1 = (normal(40, 3, 5) for _ in range(4))
    again, begin2, past2 = normal(3, 3, 5), ints(0, 1, 2, 3), ints(33, 2, 5)

    def view(x, more=None):
        y = np.zeros((3, 96, 3, 5))
        for r in range(3):
            for i in range(lengths[r]):
                y[r, past[r] + i] = x[begin[r] + i]
            if more is not None:
                y[r, past2[r]] = more[r]
        y[0, 64:] = np.nan
        y[2, 64:] = np.nan  # its third block is row 0's: it is not told apart from a real one
        return y

    table[2, 2] = 0
    inputs = {"k0": k0, "v0": v0, "k1": k1, "v1": v1, "begin": begin, "past": past, "table": table, "again": again, "begin2": begin2, "past2": past2}
    case("kv_cache", "kvcache", "append", inputs, {"keys0": view(k0), "values0": view(v0), "keys1": view(k1, again), "values1": view(v1, again),
                                                   "before": view(k1)}, ("--cache-blocks=8",))
    low = np.zeros((1, 32, 3, 5))
    low[0, 4] = bf16(k0[0])
    one = {"k": k0[:1], "begin": ints(0, 1), "past": ints(4), "table": ints(0).reshape(1, 1)}
    case("kv_cache bf16", "kvcache", "low", one, {"result0": low}, ("--cache-blocks=1",))
    error("kvcache", "low", {**one, "past": ints(32)}, "'attn.kv_append' op writes position 32 of row 0, but its table has 1 blocks of 32")
    error("kvcache", "low", {**one, "past": ints(-1)}, "writes position -1 of row 0")
    error("kvcache", "low", {**one, "table": ints(1).reshape(1, 1)}, "table[0, 0] is 1, but the cache has 1 blocks", ("--cache-blocks=1",))
    for place in (4, 20):  # of one block, the same one or another
        shared = {"k": k0[:2], "begin": ints(0, 1, 2), "past": ints(4, place), "table": ints(0, 0).reshape(2, 1)}
        error("kvcache", "low", shared, "row 1 writes block 0, which is written for table[0, 0], too")
    twice = {"k": k0[:2], "begin": ints(0, 2), "past": ints(31), "table": ints(0, 0).reshape(1, 2)}
    error("kvcache", "low", twice, "row 0 writes block 0, which is written for table[0, 0], too")
    error("kvcache", "low", one, "a cache of 4611686018427387904 blocks has more than", ("--cache-blocks=4611686018427387904",))


def upstream():
    for m, k, n in ((3, 5, 4), (1, 1, 1), (0, 3, 2), (2, 0, 3)):
        x, w = normal(m, k), normal(k, n)
        case(f"linalg.matmul {m} {k} {n}", "upstream", "matmul", {"x": x, "w": w}, {"y": x.astype(np.float64) @ w})
    x = normal(4, 7)
    case("linalg.generic reduce", "upstream", "reduce", {"x": x}, {"sum": x.astype(np.float64).sum(1), "weighted": x.astype(np.float64) @ np.arange(7)})
    row, s = normal(1, 4), normal()
    case("linalg.generic maps", "upstream", "maps", {"x": x, "row": row, "s": s}, {"y": x.T.astype(np.float64) * s + row})
    x = normal(5, 3)
    y = np.exp(np.maximum(x.astype(np.float64), 0))
    case("arith and math on tensors", "upstream", "elementwise", {"x": x}, {"y": y, "rounded": bf16(y), "whole": y.astype(np.int32)})
    x = normal(4, 6)
    padded = np.ones((6, 9), np.float32)
    padded[2:, 1:7] = x
    case("shapes of tensors", "upstream", "shapes", {"x": x, "first": np.array(2)}, {
        "expanded": x.reshape(4, 2, 3), "flat": x.ravel(), "padded": padded, "joined": np.concatenate([x, x], 1), "element": x[2, 5]})
    case("constant tensors", "upstream", "constants", {}, {"numbers": ints(3, -1, 2**31 - 1), "floats": np.array([0.5, 0.5]), "cast": ints(3, -1, 2**31 - 1)})
    n, whole = ints(0, 7, 1, 2, 8, -3), ints(*range(3, 11))
    case("loops in a region", "upstream", "loops", {"n": n, "x": whole}, {"pairs": ints(0, 13, 1, 1, 21, 0),
                                                                         "sums": ints(*(sum(whole[:i].sum() for i in range(0, count, 2)) for count in n))})
    error("upstream", "loops", {"n": ints(12), "x": whole}, "'linalg.generic' op reads beyond a tensor")
    error("upstream", "shapes", {"x": x, "first": np.array(4)}, "'tensor.extract' op reads beyond its tensor")
    error("upstream", "shapes", {"x": x, "first": np.array(-1)}, "'tensor.pad' op pads by less than 0, or by more than can be counted")
    error("upstream", "numbered", {"x": x}, "'tensor.pad' op pads with other than one value from outside of its region, which is not evaluated")
    error("upstream", "points", {"x": normal(5000)}, "'linalg.generic' op has more than 68719476736 points")
    error("upstream", "different", {"x": x, "y": x[1:]}, "'arith.addf' op has operands of different extents")
    error("upstream", "joined", {"x": x, "y": x[1:]}, "'tensor.concat' op joins tensors whose extents of dim 0 differ")
    error("upstream", "beyond", {"x": x, "y": normal(3, 6)}, "'linalg.add' op reads beyond operand 2")
    error("upstream", "split", {"x": x, "n": np.array(3)}, "'tensor.expand_shape' op gives 54 elements of 24")
    error("upstream", "split", {"x": x, "n": np.array(-2)}, "'tensor.expand_shape' op gives an extent below 0")


def program():
    plain, stacked, rounded, x = normal(5, 3), normal(3, 5, 5), normal(3, 5), normal(4, 5)
    y = x.astype(np.float64)
    for i in range(3):
        y = y @ stacked[i] + bf16(rounded[i])
    parameters = {"plain": plain, "stacked": stacked, "rounded": rounded}
    case("program", "program", "stack", {"x": x}, {"y": y @ plain, "twice": np.array(8)}, parameters)
    case("floats", "program", "floats", {"a": np.array(2.7182819843292236, np.float32), "b": np.array(-1.5, np.float32)}, {
        "sum": np.array(np.float32(2.7182819843292236) - 1.5), "power": np.float64(np.float32(2.7182819843292236)) ** -1.5,
        "rounded": np.array(2.71875), "less": np.array(False), "root": np.float64(np.float32(2.7182819843292236)) ** -0.5,
        "whole": np.array(2), "larger": np.array(np.float32(2.7182819843292236))})
    for a, b in ((100, 100), (-100, 7), (-7, 2), (-128, -1), (5, 0)):
        wrap = lambda value: np.array((value + 128) % 256 - 128)
        truncated = 0 if b == 0 else int(a / b)
        case(f"integers {a} {b}", "program", "integers", {"a": np.array(a, np.int32), "b": np.array(b, np.int32)}, {
            "sum": wrap(a + b), "quotient": wrap(truncated), "unsigned_quotient": wrap(0 if b == 0 else (a % 256) // (b % 256)),
            "floor": wrap(0 if b == 0 else a // b), "shift": wrap((a % 256) >> 3), "less": np.array(a < b), "below": np.array(a % 256 < b % 256),
            "wide": np.array(a % 256), "larger": np.array(max(a, b))})
    error("program", "recursion", {}, "'func.call' op is nested more than 128 calls deep")
    error("program", "calls_external", {}, "'func.func' op has no body to evaluate")
    error("program", "reads_unbound", {}, "'attn.dim_size' op reads dim 'unbound', which no argument of the entry names in attn.dims")
    error("program", "endless", {"step": np.array(0)}, "'scf.for' op has step 0")
    error("program", "later_stage", {"x": normal(4)}, "'tensor.bitcast' op is not evaluated")
    error("program", "huge", {"n": np.array(2 ** 40)}, "'tensor.empty' op makes a tensor of more than")
    error("program", "huge", {"n": np.array(-1)}, "'tensor.empty' op makes a tensor with an extent below 0")
    error("program", "layer_outside", {"i": np.array(3)}, "'attn.parameter_slice' op reads layer 3 of 'rounded', which has 3", parameters)
    error("program", "layer_outside", {"i": np.array(0)}, "parameter 'rounded': no value was given")
    error("program", "layer_outside", {"i": np.array(0)}, "the given tensor is f32 [2, 5], but f32 or f64 [3, 5] is needed", {"rounded": rounded[:2]})
    error("program", "stack", {"x": normal(10, 5)}, "dim 'rows' is 10, but must be within 1..9", parameters)
    error("program", "undeclared", {"x": normal(4)}, "names dim 'none' of argument 0, which is not declared")
    error("program", "stack", {}, "'stack' needs an input 'x' of type 'tensor<?x5xf32>'")
    error("program", "stack", {"x": normal(4, 6)}, "x: is f32 [4, 6], but floats [?, 5] are needed")
    error("program", "stack", {"x": x, "z": x}, "'stack' has no input 'z'; it has x")
    error("program", "integers", {"a": np.array(128), "b": np.array(1)}, "a: its element 128 does not fit in 8 bits")
    error("program", "nothing", {}, "there is no function 'nothing'")


def recurrence():
    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    def run(kind, x, w, b, begin, states, backwards):
        """torch.nn.RNN, GRU and LSTM, row by row."""
        parts, out, last = {"gru": 3, "lstm": 4}.get(kind, 1), np.zeros((len(x), len(w))), [s.astype(np.float64) for s in states]
        for row in range(len(begin) - 1):
            tokens = range(begin[row], begin[row + 1])
            for t in reversed(tokens) if backwards else tokens:
                own, p = np.split(x[t].astype(np.float64), parts), np.split(last[0][row] @ w.astype(np.float64) + b, parts)
                if kind == "lstm":
                    i, f, g, o = (u + v for u, v in zip(own, p))
                    last[1][row] = sigmoid(f) * last[1][row] + sigmoid(i) * np.tanh(g)
                    last[0][row] = sigmoid(o) * np.tanh(last[1][row])
                elif kind == "gru":
                    r, z = sigmoid(own[0] + p[0]), sigmoid(own[1] + p[1])
                    last[0][row] = (1 - z) * np.tanh(own[2] + r * p[2]) + z * last[0][row]
                else:
                    last[0][row] = np.tanh(own[0] + p[0]) if kind == "rnn_tanh" else np.maximum(own[0] + p[0], 0)
                out[t] = last[0][row]
        return {f"result{i}": value for i, value in enumerate([out, *last])}

    for kind, parts in {"rnn_tanh": 1, "rnn_relu": 1, "gru": 3, "lstm": 4}.items():
        for backwards in (False, True):
            for name, begin in {"ragged": ints(0, 4, 4, 5, 11), "none": ints(0)}.items():
                bias, states = backwards or kind == "gru", ["h", "c"] if kind == "lstm" else ["h"]
                inputs = {"x": normal(13, 5 * parts), "w": normal(5, 5 * parts) / 4, "begin": begin}
                inputs.update({state: normal(len(begin) - 1, 5) for state in states})
                b = normal(5 * parts) if bias else np.zeros(5 * parts)
                expected = run(kind, inputs["x"], inputs["w"], b, begin, [inputs[state] for state in states], backwards)
                case(f"recurrence {kind} {backwards} {name}", "recurrence", kind + ("_reverse" if backwards else ""), {**inputs, **({"b": b} if bias else {})}, expected)
    inputs, zeros = {"x": normal(3, 20), "w": normal(5, 20), "begin": ints(0, 0, 3)}, np.zeros((2, 5))
    case("recurrence from zeros", "recurrence", "zeros", inputs, run("lstm", inputs["x"], inputs["w"], 0, inputs["begin"], [zeros, zeros], False))
    x, w, h = normal(6, 3, 5), normal(5, 15), normal(2, 5)
    wide = np.zeros((6, 3, 32), np.float32)
    wide[..., :5] = x
    packed, state = np.zeros((3, 5, 32), np.float32), np.zeros((2, 32), np.float32)
    packed[..., :5], state[:, :5] = w.reshape(5, 3, 5).transpose(1, 0, 2), h
    expected = run("gru", x.reshape(6, 15), w, 0, (0, 2, 6), [h], False)
    case("recurrence panels", "recurrence", "panels", {"x": wide.reshape(6, 96), "w": packed, "begin": ints(0, 2, 6), "h": state},
         {name: np.pad(value, ((0, 0), (0, 27))) for name, value in expected.items()})
    inputs = {"x": normal(3, 5), "w": normal(5, 5), "begin": ints(0, 1, 3), "h": normal(2, 5)}
    error("recurrence", "rnn_tanh", {**inputs, "begin": ints(0, 1, 4)}, "'attn.recurrence' op row_begin[2] is 4, but must be within 1..3")
    error("recurrence", "rnn_tanh", {**inputs, "h": normal(3, 5)}, "'attn.recurrence' op has 3 initial states for 2 rows")

    s, v = normal(4, 4), normal(2, 4)
    new = s.copy()
    new[[3, 1]] = v
    case("update_rows", "recurrence", "update", {"s": s, "v": v, "rows": ints(3, 1)}, {"result0": new, "result1": s})
    deep = normal(4, 3, 4)
    layered = deep.copy()
    layered[[3, 1], 2] = v
    inputs = {"s": deep, "layer": np.array(2), "v": v, "rows": ints(3, 1)}
    case("update_rows of a layer", "recurrence", "update_layer", inputs, {"result0": layered, "result1": v})
    error("recurrence", "update", {"s": s, "v": v, "rows": ints(0, 4)}, "'attn.update_rows' op writes row 4 (element 1) of 4 rows")
    error("recurrence", "update", {"s": s, "v": v, "rows": ints(2, 2)}, "'attn.update_rows' op writes row 2 twice (element 1)")
    error("recurrence", "update", {"s": s, "v": v, "rows": ints(2)}, "'attn.update_rows' op has values [2, 4] for 1 rows of 4 columns")
    error("recurrence", "update_layer", {**inputs, "layer": np.array(3)}, "'attn.update_rows' op writes layer 3 of 3")
    error("recurrence", "select_layer", {"s": deep, "layer": np.array(-1), "rows": ints(0)}, "'attn.select_rows' op selects layer -1 of 3")
    a, b = normal(2, 3), normal(2, 1)
    case("concat", "recurrence", "concat", {"a": a, "b": b}, {"result0": np.concatenate([a, b, a], 1)})
    error("recurrence", "concat", {"a": a, "b": b[:1]}, "'attn.concat' op has inputs of 2 and 1 rows")
    a, b = normal(2, 32), normal(2, 64)
    case("concat columns", "recurrence", "concat_columns", {"a": a, "b": b}, {"result0": np.pad(np.concatenate([a[:, :7], b[:, :33]], 1), ((0, 0), (0, 24)))})


def decoder():
    """A whole gpt2, against the independent one of numpy/gpt2.py."""
    import gpt2
    import make_model

    config = {**make_model.SMALL, "vocab_size": 97, "n_positions": 128}
    tensors = make_model.weights(config, 5)
    parameters = {name: tensors[name + ".weight"] for name in ("wte", "wpe")}
    parameters.update({name: tensors[name] for name in ("ln_f.weight", "ln_f.bias")})
    for name in (key[4:] for key in tensors if key.startswith("h.0.")):
        parameters[name] = np.stack([tensors[f"h.{layer}.{name}"] for layer in range(2)])
    model, ids = gpt2.Model(config, tensors), random.randint(0, 97, (4, 75))
    mask = np.zeros(ids.shape, np.int64)
    for row, used in enumerate((9, 75, 1, 0)):
        mask[row, :used] = 1
    case("decoder", "gpt2", "step", {"input_ids": ids[:2]}, {"logits": model.batch(ids[:2])}, parameters)
    expected = np.zeros((4, 75, 97))
    expected[:3] = model.batch(ids[:3], mask[:3])
    case("decoder ragged", "gpt2", "step", {"input_ids": ids, "attention_mask": mask}, {"logits": expected}, parameters)
    directory = os.path.join(WORK.name, "model")
    make_model.makeModel(directory, config, 5, shards=2, dtype="BF16")
    case("decoder of a directory", "gpt2", "step", {"input_ids": ids[:1]}, {"logits": gpt2.load(directory).batch(ids[:1])}, (f"--weights={directory}",))
    other = os.path.join(WORK.name, "other")
    make_model.makeModel(other, {**config, "n_inner": 100}, 5)
    error("gpt2", "step", {"input_ids": ids}, "'h.0.mlp.c_fc.weight' is [64, 100], expected [64, 256]", (f"--weights={other}",))
    error("gpt2", "step", {"input_ids": ids}, os.path.join(WORK.name, "nowhere"), (f"--weights={WORK.name}/nowhere",))
    error("gpt2", "step", {"input_ids": ids, "attention_mask": mask[:, ::-1]}, "attention_mask row 0 is 1 at 66 after a 0 at 0: only ones and then zeros are accepted")
    error("gpt2", "step", {"input_ids": ids, "attention_mask": mask[:3]}, "attention_mask is [3, 75], input_ids [4, 75]")
    error("gpt2", "step", {"input_ids": ids.astype(np.float32)}, "input_ids must be i64 or i32")
    error("gpt2", "step", {"input_ids": ids + 50}, "the model's vocabulary is 0 to 96", parameters)
    error("gpt2", "step", {"input_ids": random.randint(0, 97, (1, 129))}, "input_ids has 129 tokens in a row; the model has 128 positions", parameters)
    error("gpt2", "step", {"input_ids": ids, "tokens": ints(1)}, "forward has no tensor tokens; it has input_ids, attention_mask and logits")
    error("gpt2", "step", {"row_begin": ints(0, 1), "tokens": ints(101), "past": ints(0), "block_table": ints(0).reshape(1, 1), "want": ints(0)}, "'attn.embedding' op looks id", parameters)
    error("program", "stack", {"input_ids": ids}, "'stack' has no input 'input_ids'; it has x")


def execute(tool, work, label, program, entry, inputs, options, precision, outputs=()):
    """The finished process, and the outputs' paths."""
    folder = os.path.join(work, label.replace(" ", "_") + "_" + precision)
    os.makedirs(folder)
    command = [tool, os.path.join(HERE, "Inputs", program + ".mlir"), "--entry=" + entry, "--precision=" + precision]
    if isinstance(options, dict):
        for name, value in options.items():
            np.save(os.path.join(folder, f"parameter_{name}.npy"), value)
            command.append(f"--parameter={name}={folder}/parameter_{name}.npy")
    else:
        command += options
    for name, value in inputs.items():
        np.save(os.path.join(folder, name + ".npy"), np.ascontiguousarray(value) if np.ndim(value) else value)
        command.append(f"--input={name}={folder}/{name}.npy")
    paths = {name: os.path.join(folder, "out_" + name + ".npy") for name in outputs}
    if "input_ids" in inputs and not outputs:
        paths = {"logits": os.path.join(folder, "logits.npy")}
    command += [f"--output={name}={path}" for name, path in paths.items()]
    return resident.run(command, timeout=60), paths


def check(tool, work, label, precision):
    program, entry, inputs, expected, options = CASES[label]
    done, paths = execute(tool, work, label, program, entry, inputs, options, precision, expected)
    if done.returncode:
        return f"exit status {done.returncode}: {done.stderr.strip()}"
    for name, want in expected.items():
        want, got = np.asarray(want), np.load(paths[name])
        if got.shape != want.shape:
            return f"{name} is {got.shape}, expected {want.shape}"
        if want.dtype.kind != "f":
            if (got != want).any() or got.dtype.kind == "f":
                return f"{name} is {got}, expected {want}"
            continue
        written = "f32" if program == "gpt2" else precision  # the runtime's outputs are f32
        if got.dtype != {"f32": np.float32, "f64": np.float64}[written]:
            return f"{name} has type {got.dtype}"
        infinite, known = np.isinf(want), np.isfinite(want)
        if (got[infinite] != want[infinite]).any():
            return f"{name} is {got[infinite]} where {want[infinite]} is expected"
        off = np.abs(got[known] - want[known]).max(initial=0)
        if not off <= TOLERANCE[written] * max(1, np.abs(want[known]).max(initial=0)):
            return f"{name} is off by {off:.2e}"
    return None


def check_error(tool, work, number):
    program, entry, inputs, text, options = ERRORS[number]
    done, _ = execute(tool, work, f"error {number}", program, entry, inputs, options, "f32")
    first, *excerpt = done.stderr.splitlines() or [""]
    isPlaced = len(excerpt) == 2 and excerpt[1].strip() == "^" or not excerpt
    if done.returncode != 1 or not isPlaced or text not in first:
        return f"expected an error with {text!r}, got exit status {done.returncode}: {done.stderr.strip()}"
    return None


def note(labels):
    """The ops of the functions that gave the right results."""
    for program, entry in {CASES[label][:2] for label in labels}:
        with open(os.path.join(HERE, "Inputs", program + ".mlir"), encoding="utf-8") as file:
            functions = file.read().split("func.func ")
        passed.ops("reference", "".join(text for text in functions if text.startswith((f"@{entry}(", f"private @{entry}("))))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--work")
    options = parser.parse_args()
    for make in (embedding, pooling, image, norm, position, feedforward, experts, attention, attention_state, attention_merge, kvcache, recurrence, upstream, program, decoder, attention_sinks, attention_pair):
        make()
    for make in (states.linear_attention, states.short_conv):
        make(case, error)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        work = options.work or WORK.name
        jobs = [(f"{label} {precision}", pool.submit(check, options.tool, work, label, precision)) for label in CASES for precision in TOLERANCE]
        jobs += [(f"error of {ERRORS[i][0]} @{ERRORS[i][1]}", pool.submit(check_error, options.tool, work, i)) for i in range(len(ERRORS))]
        failures = [(label, job.result()) for label, job in jobs]
    failures = [(label, failure) for label, failure in failures if failure]
    wrong = {label.rsplit(" ", 1)[0] for label, _ in failures}
    note([label for label in CASES if label not in wrong])
    for label, failure in failures:
        print(f"FAIL {label}: {failure}")
    print(f"{len(jobs) - len(failures)} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
