"""Kernels compiled from text, called through ctypes and compared with v3 formulas in float64.

Every array ends where its page ends and the next page cannot be touched; scratch and results start as NaN. Usage:
bare-kernels.py FOLDER [OPTION OF RAPTC...]
"""

import ctypes
import mmap
import re
import subprocess
import sys

import numpy as np

folder = sys.argv[1]
random = np.random.default_rng(7)
libc = ctypes.CDLL(None)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
task_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
parallel_type = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, task_type, ctypes.c_void_p, ctypes.c_int64)
UNIT = 2.0 ** -24
kept = []


class Env(ctypes.Structure):
    _fields_ = [("user", ctypes.c_void_p), ("parallel_for", parallel_type), ("workers", ctypes.c_int64)]


def at_page_end(shape, dtype):
    """An array whose last byte is the last of a page before one that is not accessible, filled with ones of bits."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    pages = (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE + 1
    memory = mmap.mmap(-1, pages * mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    ctypes.memset(address, 0xFF, (pages - 1) * mmap.PAGESIZE)
    assert libc.mprotect(address + (pages - 1) * mmap.PAGESIZE, mmap.PAGESIZE, 0) == 0
    kept.append(memory)
    offset = (pages - 1) * mmap.PAGESIZE - size
    return np.frombuffer(memory, np.uint8, size, offset).view(dtype).reshape(shape)


def place(array):
    result = at_page_end(array.shape, array.dtype)
    result[...] = array
    return result


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def backwards(user, body, closure, count):
    """An executor with three workers that takes indices one by one from the last."""
    for i in reversed(range(count)):
        body(closure, i, i + 1, i % 3)
    return 0


def call(library, name, inputs, shape, dims, env=None, dtype=np.float32):
    """The kernel's result; the arrays it gets are checked to be unchanged."""
    array = (ctypes.c_int64 * max(len(dims), 1))(*dims)
    size = getattr(library, name + "_scratch")
    size.restype = ctypes.c_int64
    size.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    bytes_needed = size(array, env.workers if env else 1)
    assert bytes_needed >= 0, f"{name}: {bytes_needed} bytes of scratch"
    scratch = at_page_end((bytes_needed,), np.uint8)
    placed = [place(x) for x in inputs]
    result = at_page_end(shape, dtype)
    status = getattr(library, name)(ctypes.byref(env) if env else None, *map(pointer, placed), pointer(result), array,
                                    pointer(scratch))
    assert status == 0, f"{name} returned {status}"
    for before, after in zip(inputs, placed):
        assert before.tobytes() == after.tobytes(), f"{name} changed what it only reads"
    return result


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def check(what, found, expected, bound):
    """Every element within `bound`, which may be an array."""
    assert found.shape == expected.shape, f"{what}: {found.shape} instead of {expected.shape}"
    bad = ~(np.abs(found.astype(np.float64) - expected) <= bound)
    if bad.any():
        where = tuple(np.argwhere(bad)[0])
        sys.exit(f"WRONG {what} at {where}: {found[where]} instead of {expected[where]}, {bad.sum()} of {bad.size}")


texts, checks = {}, {}


def kernel(name, text, run):
    texts[name], checks[name] = text, run


# ---- attention -------------------------------------------------------------------------------------------------------

def softmax_attention(q, k, v, scale, keep):
    """q [b, h, i, c], k [b, h, j, c], v [b, h, j, d], keep [i, j]; the sizes of what was summed beside the result."""
    scores = scale * np.einsum("bhic,bhjc->bhij", q, k)
    scores = np.where(keep, scores, -np.inf)
    top = np.max(scores, -1, keepdims=True, initial=-1e30)
    weights = np.where(keep, np.exp(scores - top), 0)
    total = weights.sum(-1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    # An error of a score is one of its weight; the sum of absolute terms bounds it.
    slack = scale * np.einsum("bhic,bhjc->bhij", np.abs(q), np.abs(k)).max(initial=0) * np.sqrt(q.shape[-1])
    return weights @ v, 4 * UNIT * (slack + np.sqrt(k.shape[2]) + 8) * np.abs(v).max(initial=0)


MASKS = {
    "all": ("", lambda i, j: np.ones((i, j), bool)),
    "causal": ("%keep = arith.cmpi sle, %j, %i : index", lambda i, j: np.tril(np.ones((i, j), bool))),
    "window": ("%far = arith.subi %i, %j : index\n%w = arith.constant 5 : index\n%c = arith.cmpi sle, %j, %i : index\n"
               "%n = arith.cmpi slt, %far, %w : index\n%keep = arith.andi %c, %n : i1",
               lambda i, j: np.tril(np.ones((i, j), bool)) & ~np.tril(np.ones((i, j), bool), -5)),
    "after": ("%keep = arith.cmpi sgt, %j, %i : index", lambda i, j: np.triu(np.ones((i, j), bool), 1)),
}


def attention(name, heads, groups, c, d, mask, lengths, batched=False):
    """[b, ] i, h, [g, ] c arrays; the last queries of mask `after` see no key and give 0."""
    b = "?x" if batched else ""
    g = f"{groups}x" if groups > 1 else ""
    lead, group = ("b, " if batched else ""), ("g, " if groups > 1 else "")
    q, k = f"tensor<{b}?x{heads}x{g}{c}xf32>", f"tensor<{b}?x{heads}x{c}xf32>"
    v, o = f"tensor<{b}?x{heads}x{d}xf32>", f"tensor<{b}?x{heads}x{g}{d}xf32>"
    maps = ", ".join(f"affine_map<(b, h, g, i, j, c, d) -> ({lead}{x})>"
                     for x in (f"i, h, {group}c", "j, h, c", "j, h, d", f"i, h, {group}d"))
    region = MASKS[mask][0]
    if region:
        region = f"mask {{\n^bb0(%b: index, %h: index, %i: index, %j: index):\n{region}\nattn.yield %keep : i1\n}}"
    scale = c ** -0.5
    text = f"""func.func @{name}(%q: {q}, %k: {k}, %v: {v}) -> {o} {{
  %s = arith.constant {scale:.9e} : f32
  %o = attn.attention %q, %k, %v, %s maps [{maps}] : {q}, {k}, {v} -> {o} {region}
  return %o : {o}
}}
"""

    def run(library, env):
        for queries, keys in lengths:
            batch = 3 if batched else 1
            qs, ks, vs = normal(batch, queries, heads, groups, c), normal(batch, keys, heads, c), normal(batch, keys, heads, d)
            shapes = [x if batched else x[1:] for x in
                      ((batch, queries, heads) + ((groups,) if groups > 1 else ()) + (c,), (batch, keys, heads, c),
                       (batch, keys, heads, d), (batch, queries, heads) + ((groups,) if groups > 1 else ()) + (d,))]
            dims = ([batch] if batched else []) + [queries, keys]
            found = call(library, name, [qs.reshape(shapes[0]), ks.reshape(shapes[1]), vs.reshape(shapes[2])], shapes[3],
                         dims, env)
            expected, bound = softmax_attention(
                qs.reshape(batch, queries, heads * groups, c).transpose(0, 2, 1, 3).astype(np.float64),
                np.repeat(ks, groups, 2).transpose(0, 2, 1, 3).astype(np.float64),
                np.repeat(vs, groups, 2).transpose(0, 2, 1, 3).astype(np.float64), np.float32(scale).astype(np.float64),
                MASKS[mask][1](queries, keys))
            check(f"{name} of {queries} queries and {keys} keys", found, expected.transpose(0, 2, 1, 3).reshape(shapes[3]),
                  bound)
    kernel(name, text, run)


some = [(1, 1), (7, 13), (9, 131)]
attention("head1", 3, 1, 1, 1, "all", some)
attention("head7", 2, 1, 7, 40, "causal", [(1, 1), (13, 13), (67, 67)])
attention("head40", 8, 1, 40, 40, "all", [(0, 0), (0, 3), (3, 0), (1, 1), (1, 300), (8, 64), (33, 257)])
attention("head80", 2, 4, 80, 80, "window", [(1, 1), (67, 67)])
attention("head100", 1, 3, 100, 7, "all", some, batched=True)
attention("lonely", 2, 1, 32, 32, "after", [(9, 9), (70, 70)])

# ---- matmuls ---------------------------------------------------------------------------------------------------------

GELU = "attn.activation gelu_tanh"


def gelu(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def rounded(x, kind):
    """The nearest value of a storage type, ties to even, as bits and in float32."""
    if kind == "f32":
        return x, x
    if kind == "f16":
        half = x.astype(np.float16)
        return half.view(np.uint16), half.astype(np.float32)
    bits = x.view(np.uint32)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return bits.astype(np.uint16), (bits << 16).astype(np.uint32).view(np.float32)


def linear(name, k, n, storage="f32", transposed=False, bias=False, act=False, residual=False, rows=(1, 5, 131)):
    x, y, w = f"tensor<?x{k}xf32>", f"tensor<?x{n}xf32>", f"tensor<{n}x{k}x{storage}>" if transposed else f"tensor<{k}x{n}x{storage}>"
    arguments = f"%x: {x}, %w: {w}" + (f", %b: tensor<{n}xf32>" if bias else "") + (f", %r: {y}" if residual else "")
    text = f"func.func @{name}({arguments}) -> {y} {{\n"
    text += f"  %0 = attn.linear %x, %w{', (%b)' if bias else ''}{' transposed' if transposed else ''} : {x}, {w}"
    if bias:
        text += f", (tensor<{n}xf32>) -> {y} {{\n^bb0(%s: f32, %t: f32):\n%u = arith.addf %s, %t : f32\nattn.yield %u : f32\n}}\n"
    else:
        text += f" -> {y}\n"
    last = "%0"
    if act:
        text, last = text + f"  %1 = {GELU} {last} : {y}\n", "%1"
    if residual:
        text, last = text + f"  %2 = arith.addf %r, {last} : {y}\n", "%2"
    text += f"  return {last} : {y}\n}}\n"

    def run(library, env):
        for m in rows:
            xs, bs, rs = normal(m, k), normal(n), normal(m, n)
            bits, ws = rounded(normal(n, k) if transposed else normal(k, n), storage)
            found = call(library, name, [xs, bits] + [bs] * bias + [rs] * residual, (m, n), [m], env)
            a, b = xs.astype(np.float64), (ws.T if transposed else ws).astype(np.float64)
            expected, bound = a @ b, 4 * np.sqrt(k) * UNIT * (np.abs(a) @ np.abs(b))
            if bias:
                expected = expected + bs
                bound = bound + 2 * UNIT * np.abs(expected)
            if act:
                bound = 1.2 * bound + 16 * UNIT * np.abs(expected)  # gelu's slope is below 1.2
                expected = gelu(expected)
            if residual:
                expected = expected + rs
                bound = bound + 2 * UNIT * np.abs(expected)
            check(f"{name} of {m} rows", found, expected, bound)
    kernel(name, text, run)


linear("one", 1, 1)
linear("ragged", 33, 65, bias=True, act=True)
linear("panels", 768, 96, bias=True, act=True, rows=(1, 17))
linear("added", 40, 64, residual=True)
linear("raggedadd", 7, 100, bias=True, residual=True)
linear("torch", 31, 33, transposed=True, bias=True)
linear("torchwide", 64, 768, transposed=True, residual=True, rows=(0, 1, 19))
linear("stored16", 33, 64, storage="bf16")
linear("half", 64, 7, storage="f16", bias=True)

# ---- rows ------------------------------------------------------------------------------------------------------------


def norm(name, columns, kind, leading=("?",), counted=None):
    """`leading`: the extents of all dims but the last. The first `counted` columns count."""
    x, w = f"tensor<{'x'.join(map(str, leading))}x{columns}xf32>", f"tensor<{columns}xf32>"
    counted = counted or columns
    layer = kind == "layer_norm"
    text = f"""func.func @{name}(%x: {x}, %w: {w}{f', %b: {w}' if layer else ''}) -> {x} {{
  %0 = attn.{kind} %x, %w{', %b' if layer else ''} epsilon 1.0e-5{f' columns {counted}' if counted < columns else ''} : {x}, {w}
  return %0 : {x}
}}
"""

    def run(library, env):
        for rows in (0, 1, 5, 131) if "?" in leading else (1,):
            shape = [rows if extent == "?" else extent for extent in leading] + [columns]
            xs, ws, bs = normal(*shape) + np.float32(0.5), normal(columns), normal(columns)
            xs[..., counted:], ws[counted:], bs[counted:] = 0, 0, 0
            found = call(library, name, [xs, ws] + [bs] * layer, shape, [rows] * leading.count("?"), env)
            a = xs.astype(np.float64)[..., :counted]
            if layer:
                a = a - a.mean(-1, keepdims=True)
            root = np.sqrt((a * a).mean(-1, keepdims=True) + 1e-5)
            a = np.concatenate([a, np.zeros((*shape[:-1], columns - counted))], -1)
            expected = a / root * ws + (bs if layer else 0)
            # The mean is one of sums of |x|; what it is wrong by, 1 / root enlarges.
            error = 4 * np.sqrt(columns) * UNIT * np.abs(xs).max(initial=0) / root + 8 * UNIT * np.abs(a) / root
            check(f"{name} of {rows} rows", found, expected, error * np.abs(ws) + 2 * UNIT * np.abs(expected))
    kernel(name, text, run)


for width in (1, 33, 768):
    norm(f"layer{width}", width, "layer_norm")
    norm(f"rms{width}", width, "rms_norm")
for kind in ("layer_norm", "rms_norm"):
    short = kind[:-5]
    norm(f"{short}heads20", 20, kind, ("?", 3))
    norm(f"{short}heads80", 80, kind, (2, "?", 3))
    norm(f"{short}heads64", 64, kind, ("?", "?"))
    norm(f"{short}heads96", 96, kind, ("?", 5), counted=80)
    norm(f"{short}deep20", 20, kind, (2, "?", 3), counted=17)
    norm(f"{short}static", 128, kind, (2, 3, 1))


def elementwise(name, columns, line, formula, operands):
    x = f"tensor<?x{columns}xf32>"
    arguments = ", ".join(f"%{i}: {x}" for i in "xyz"[:operands])
    kernel(name, f"func.func @{name}({arguments}) -> {x} {{\n  {line} : {x}\n  return %r : {x}\n}}\n",
           lambda library, env: [check_elementwise(library, env, name, rows, columns, formula, operands)
                                 for rows in (0, 1, 7, 64)])


def check_elementwise(library, env, name, rows, columns, formula, operands):
    inputs = [3 * normal(rows, columns) for _ in range(operands)]
    found = call(library, name, inputs, (rows, columns), [rows], env)
    expected = formula(*[x.astype(np.float64) for x in inputs])
    largest = np.max([np.abs(x) for x in inputs], 0) if rows else 0
    check(f"{name} of {rows} rows", found, expected, 16 * UNIT * (np.abs(expected) + largest + 1))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


elementwise("sum", 33, "%r = arith.addf %x, %y", lambda x, y: x + y, 2)
elementwise("twice", 64, "%r = arith.addf %x, %x", lambda x: x + x, 1)
elementwise("gate", 7, "%r = attn.glu silu %x, %y", lambda x, y: x * sigmoid(x) * y, 2)
elementwise("squash", 33, "%r = attn.activation sigmoid %x", sigmoid, 1)
elementwise("bend", 768, f"%r = {GELU} %x", gelu, 1)


def block(name, width, heads):
    """A whole attention block: norm, one matmul for query, key and value, attention, matmul, residual."""
    x, c = f"tensor<?x{width}xf32>", width // heads
    qkv, h, w, p = f"tensor<?x{3 * width}xf32>", f"tensor<?x{heads}x{c}xf32>", f"tensor<{width}x{3 * width}xf32>", f"tensor<{width}x{width}xf32>"
    maps = ", ".join(f"affine_map<(b, h, g, i, j, c, d) -> ({x})>" for x in ("i, h, c", "j, h, c", "j, h, d", "i, h, d"))
    text = f"""func.func @{name}(%x: {x}, %g: tensor<{width}xf32>, %w: {w}, %p: {p}) -> {x} {{
  %s = arith.constant {c ** -0.5:.9e} : f32
  %n = attn.rms_norm %x, %g epsilon 1.0e-5 : {x}, tensor<{width}xf32>
  %qkv = attn.linear %n, %w : {x}, {w} -> {qkv}
  %q, %k, %v = attn.split_heads %qkv : {qkv} -> {h}, {h}, {h}
  %o = attn.attention %q, %k, %v, %s maps [{maps}] : {h}, {h}, {h} -> {h} mask {{
  ^bb0(%b: index, %hh: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }}
  %m = attn.merge_heads %o : {h} -> {x}
  %y = attn.linear %m, %p : {x}, {p} -> {x}
  %z = arith.addf %x, %y : {x}
  return %z : {x}
}}
"""

    def run(library, env):
        for rows in (1, 37):
            xs, gs = normal(rows, width), normal(width)
            ws, ps = normal(width, 3 * width) / np.float32(np.sqrt(width)), normal(width, width) / np.float32(np.sqrt(width))
            found = call(library, name, [xs, gs, ws, ps], (rows, width), [rows], env)
            a = xs.astype(np.float64)
            a = a / np.sqrt((a * a).mean(-1, keepdims=True) + 1e-5) * gs
            q, k, v = (t.reshape(1, rows, heads, c).transpose(0, 2, 1, 3) for t in np.split(a @ ws.astype(np.float64), 3, 1))
            o, _ = softmax_attention(q, k, v, c ** -0.5, np.tril(np.ones((rows, rows), bool)))
            expected = xs + o.transpose(0, 2, 1, 3).reshape(rows, width) @ ps.astype(np.float64)
            distance = np.linalg.norm(found - expected) / np.linalg.norm(expected)
            assert distance < 2e-6, f"WRONG {name} of {rows} rows: relative distance {distance}"
    kernel(name, text, run)


block("narrow", 21, 3)
block("odd", 80, 2)

# ---- results as long as no argument, or as one that a formula hides -------------------------------------------------

LENGTHS = ([], [0], [5], [3, 0, 9, 1, 4])


def of_rows(name, text, inputs, formula, rest=0):
    """Dims are tokens and rows; the offsets of rows have one more. `rest` tokens are behind the last row."""
    def run(library, env):
        for lengths in LENGTHS:
            begin = np.cumsum([0] + lengths).astype(np.int32)
            arrays = inputs(sum(lengths) + rest, begin)
            expected = formula(*arrays)
            found = call(library, name, arrays, expected.shape, [sum(lengths) + rest, len(lengths)], env)
            check(f"{name} of lengths {lengths}", found, expected, 16 * UNIT * (np.abs(expected) + 1))
    kernel(name, text, run)


def last_states(x, w, begin):
    h = np.zeros((len(begin) - 1, 32))
    for r, (start, end) in enumerate(zip(begin, begin[1:])):
        for t in range(start, end):
            h[r] = np.tanh(x[t].astype(np.float64) + h[r] @ w.astype(np.float64))
    return h


of_rows("pooled", """func.func @pooled(%x: tensor<?x64xf32>, %begin: tensor<?xi32>) -> tensor<?x64xf32> {
  %y = attn.pool_rows max %x, %begin : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
""", lambda tokens, begin: [normal(tokens, 64), begin],
        lambda x, begin: np.array([x[a:b].max(0) if b > a else np.zeros(64) for a, b in zip(begin, begin[1:])]).reshape(-1, 64))
of_rows("states", """func.func @states(%x: tensor<?x32xf32>, %w: tensor<32x32xf32>, %begin: tensor<?xi32>) -> tensor<?x32xf32> {
  %y, %h = attn.recurrence rnn_tanh %x, %w rows(%begin) : tensor<?x32xf32>, tensor<32x32xf32>, tensor<?xi32>
  return %h : tensor<?x32xf32>
}
""", lambda tokens, begin: [normal(tokens, 32), normal(32, 32) / np.float32(8), begin], last_states)


def cosines(tokens, begin):
    positions = np.zeros(len(tokens))
    for first, end in zip(begin, begin[1:]):
        positions[first:end] = np.arange(end - first)
    return np.cos(np.outer(positions, [1, 0.0625, 0.5]))


# Tokens of no sequence have the position 0.
of_rows("positions", """func.func @positions(%t: tensor<?xi32>, %begin: tensor<?xi32>) -> tensor<?x3xf32> {
  %p = attn.positions %t, %begin : tensor<?xi32>, tensor<?xi32>
  %cos, %sin = attn.rotary_table %p frequencies [1.0, 0.0625, 0.5] : tensor<?xi32> -> tensor<?x3xf32>
  return %cos : tensor<?x3xf32>
}
""", lambda tokens, begin: [np.zeros(tokens, np.int32), begin], cosines, rest=40)
kernel("turns", """func.func @turns(%p: tensor<?xi32>) -> tensor<?x3xf32> {
  %cos, %sin = attn.rotary_table %p frequencies [1.0, 0.0625, 0.5] : tensor<?xi32> -> tensor<?x3xf32>
  return %cos : tensor<?x3xf32>
}
""", lambda library, env: [check(f"turns of {n}", call(library, "turns", [np.arange(n, dtype=np.int32)], (n, 3), [n], env),
                                 np.cos(np.arange(n)[:, None] * np.array([1.0, 0.0625, 0.5])), 4 * UNIT) for n in (0, 1, 33)])


def wrong_dims(library):
    """Dims out of bounds and sizes beyond 64 bits give -1, and nothing is touched."""
    library.tall_scratch.restype = ctypes.c_int64
    library.tall_scratch.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    # The CPU's target pads channels, the generic one takes the arrays alone.
    many = 1 << (58 if "--target=generic" in sys.argv else 54)
    for dims, workers in (((-1, 1), 1), ((4, 1 << 62), 1), ((1 << 62, 4), 1), ((many, 1), 1), ((1, many), 1), ((2, -(1 << 63)), 1),
                          ((1, (1 << 63) - 1), 1), ((9, 0), 1), ((1, 1), 0), ((1, 1), -1)):
        array = (ctypes.c_int64 * 2)(*dims)
        assert library.tall_scratch(array, workers) == -1, f"WRONG scratch of {dims}, {workers}"
        env = Env(None, parallel_type(backwards), workers)
        assert library.tall(ctypes.byref(env), *[None] * 4, array, None) == -1, f"WRONG status of {dims}, {workers}"
    assert library.tall_scratch((ctypes.c_int64 * 2)(0, 1), 1) >= 0
    stop = Env(None, parallel_type(lambda *_: 42), 1)
    x = np.zeros((2, 64), np.float32)
    status = library.twice(ctypes.byref(stop), pointer(x), pointer(x.copy()), (ctypes.c_int64 * 1)(2), None)
    assert status == 42, f"WRONG status {status} of a kernel that was stopped"


TALL = """attn.dim @rows min 0 max 9223372036854775807
attn.dim @keys min 1 max 9223372036854775807
func.func @tall(%q: tensor<?x2x40xf32> {attn.dims = ["rows"]}, %k: tensor<?x2x40xf32> {attn.dims = ["keys"]}, %v: tensor<?x2x40xf32>) -> tensor<?x2x40xf32> {
  %s = arith.constant 1.0 : f32
  %o = attn.attention %q, %k, %v, %s maps [affine_map<(b, h, g, i, j, c, d) -> (i, h, c)>, affine_map<(b, h, g, i, j, c, d) -> (j, h, c)>, affine_map<(b, h, g, i, j, c, d) -> (j, h, d)>, affine_map<(b, h, g, i, j, c, d) -> (i, h, d)>] : tensor<?x2x40xf32>, tensor<?x2x40xf32>, tensor<?x2x40xf32> -> tensor<?x2x40xf32>
  return %o : tensor<?x2x40xf32>
}
"""


def build(name, text, *options):
    with open(f"{folder}/{name}.mlir", "w") as file:
        file.write(text)
    return subprocess.Popen(["raptc", f"{folder}/{name}.mlir", "-o", f"{folder}/{name}.so", *options, *sys.argv[2:]])


some = ["head40", "ragged", "torch", "layer33", "gate"]
builds = [build("all", TALL + "".join(texts.values())),
          build("avx2", "".join(texts[name] for name in some), "--mcpu=x86-64-v3")]
if any(process.wait() for process in builds):
    sys.exit("WRONG: raptc failed")
everything = ctypes.CDLL(folder + "/all.so")
with open(folder + "/all.h") as file:
    if not re.search(r"arg1\[(\w+)\+1\]: read\n \*   out\[\1\]\[64\]: written", file.read()):
        sys.exit("WRONG: the header does not say that pooled rows are one less than their offsets")
for environment in (None, Env(None, parallel_type(backwards), 3)):
    for run in checks.values():
        run(everything, environment)
avx2 = ctypes.CDLL(folder + "/avx2.so")
for name in some:
    checks[name](avx2, None)
wrong_dims(everything)
print(len(texts), "kernels agree")
