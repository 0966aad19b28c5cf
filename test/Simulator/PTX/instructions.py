"""Compares instructions of the PTX simulator with numpy, lane by lane.

One kernel executes every case: it loads the operands, executes the instruction and stores the result. The expected values are
numpy's and share no code with the simulator. Transcendental functions may differ by units in the last place, everything else by no bit.
"""

import argparse
import pathlib
import subprocess

import numpy as np

LANES = 32
WIDTH = {"pred": 0, "b8": 8, "b16": 16, "u16": 16, "s16": 16, "f16": 16, "bf16": 16, "b32": 32, "u32": 32, "s32": 32, "f32": 32,
         "f16x2": 32, "bf16x2": 32, "b64": 64, "u64": 64, "s64": 64, "f64": 64, "e4m3x2": 16, "e5m2x2": 16}
EDGES = [0, 1, 2, 3, 31, 32, 33, 63, 64, 127, 128, 255, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
         0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff]
FLOAT_EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1e-3, -7.25, 3e4, 65519.0, 65520.0, 1e-7, 6e-8, 1e30, 1e-40, np.inf, -np.inf, np.nan]


def bf16(x):
    """Rounds f32 to the bits of bf16, to nearest even."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(np.asarray(x, np.float32)), 0x7fc0, rounded).astype(np.uint16)


def unbf16(bits):
    return (np.asarray(bits, np.uint32) << 16).view(np.float32)


def numbers(bits, kind):
    """Bits as numbers of a type."""
    bits = np.asarray(bits, np.uint64)
    if kind == "bf16":
        return unbf16(bits & 0xffff).astype(np.float64)
    names = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "s16": np.int16, "s32": np.int32, "s64": np.int64,
             "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "b16": np.uint16, "b32": np.uint32, "b64": np.uint64}
    kind = np.dtype(names[kind])
    return bits.astype(f"u{kind.itemsize}").view(kind)


def bits_of(values, kind):
    if kind == "bf16":
        return bf16(np.asarray(values, np.float64).astype(np.float32)).astype(np.uint64)
    values = np.asarray(values)
    names = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
    if kind in names:
        with np.errstate(all="ignore"):
            values = values.astype(names[kind])
    return values.view(f"u{values.itemsize}").astype(np.uint64)


class Case:
    def __init__(self, text, inputs, output, function, tolerance=0):
        self.text, self.inputs, self.output, self.function, self.tolerance = text, inputs, output, function, tolerance


def integer_cases():
    for kind in ("u16", "s16", "u32", "s32", "u64", "s64"):
        bits = WIDTH[kind]
        mask = (1 << bits) - 1

        def each(function, mask=mask):
            return lambda *operands: [function(*map(int, lane)) & mask for lane in zip(*operands)]

        two, three = (kind, kind), (kind, kind, kind)
        yield Case(f"add.{kind} %d, %a, %b", two, kind, each(lambda a, b: a + b))
        yield Case(f"sub.{kind} %d, %a, %b", two, kind, each(lambda a, b: a - b))
        yield Case(f"mul.lo.{kind} %d, %a, %b", two, kind, each(lambda a, b: a * b))
        yield Case(f"mul.hi.{kind} %d, %a, %b", two, kind, each(lambda a, b, n=bits: a * b >> n))
        yield Case(f"mad.lo.{kind} %d, %a, %b, %c", three, kind, each(lambda a, b, c: a * b + c))
        yield Case(f"min.{kind} %d, %a, %b", two, kind, each(min))
        yield Case(f"max.{kind} %d, %a, %b", two, kind, each(max))
        divide = lambda a, b: -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        yield Case(f"div.{kind} %d, %a, %b", two, kind, each(divide))
        yield Case(f"rem.{kind} %d, %a, %b", two, kind, each(lambda a, b, d=divide: a if b == 0 else a - d(a, b) * b))
        yield Case(f"shr.{kind} %d, %a, %b", (kind, "u32"), kind,
                   lambda a, b, m=mask: [int(x) >> min(int(y), 64) & m for x, y in zip(a, b)])
        if kind[0] == "s":
            yield Case(f"abs.{kind} %d, %a", (kind,), kind, each(abs))
            yield Case(f"neg.{kind} %d, %a", (kind,), kind, each(lambda a: -a))
        if bits < 64:
            wide = kind[0] + str(2 * bits)
            wider = (1 << 2 * bits) - 1
            yield Case(f"mul.wide.{kind} %d, %a, %b", two, wide,
                       lambda a, b, m=wider: [int(x) * int(y) & m for x, y in zip(a, b)])
            yield Case(f"mad.wide.{kind} %d, %a, %b, %c", (kind, kind, wide), wide,
                       lambda a, b, c, m=wider: [int(x) * int(y) + int(z) & m for x, y, z in zip(a, b, c)])
    yield Case("dp4a.s32.s32 %d, %a, %b, %c", ("b32", "b32", "b32"), "u32", lambda a, b, c: dp4a(a, b, c))
    yield Case("sad.u32 %d, %a, %b, %c", ("u32",) * 3, "u32",
               lambda a, b, c: [abs(int(x) - int(y)) + int(z) & 0xffffffff for x, y, z in zip(a, b, c)])


def dp4a(a, b, c):
    split = lambda x: np.asarray(x, np.uint32).view(np.int8).reshape(-1, 4).astype(np.int64)
    return (split(a) * split(b)).sum(1) + np.asarray(c, np.int64) & 0xffffffff


def logic_cases():
    for bits in (16, 32, 64):
        kind, mask = f"b{bits}", (1 << bits) - 1
        lanes = lambda function, mask=mask: lambda *operands: [function(*map(int, lane)) & mask for lane in zip(*operands)]
        yield Case(f"and.{kind} %d, %a, %b", (kind, kind), kind, lanes(lambda a, b: a & b))
        yield Case(f"or.{kind} %d, %a, %b", (kind, kind), kind, lanes(lambda a, b: a | b))
        yield Case(f"xor.{kind} %d, %a, %b", (kind, kind), kind, lanes(lambda a, b: a ^ b))
        yield Case(f"not.{kind} %d, %a", (kind,), kind, lanes(lambda a: ~a))
        yield Case(f"shl.{kind} %d, %a, %b", (kind, "u32"), kind, lanes(lambda a, b: a << min(b, 64)))
        if bits == 16:
            continue
        yield Case(f"popc.{kind} %d, %a", (kind,), "u32", lanes(lambda a: bin(a).count("1")))
        yield Case(f"clz.{kind} %d, %a", (kind,), "u32", lanes(lambda a, n=bits: n - a.bit_length()))
        yield Case(f"brev.{kind} %d, %a", (kind,), kind, lanes(lambda a, n=bits: int(f"{a:0{n}b}"[::-1], 2)))
        yield Case(f"bfind.u{bits} %d, %a", (kind,), "u32", lanes(lambda a: a.bit_length() - 1, 0xffffffff))
        yield Case(f"bfe.u{bits} %d, %a, 5, 7", (kind,), kind, lanes(lambda a: a >> 5 & 127))
        yield Case(f"bfe.s{bits} %d, %a, 5, 7", (kind,), kind, lanes(lambda a: (a >> 5 & 127) - (128 if a >> 11 & 1 else 0)))
        yield Case(f"bfi.{kind} %d, %a, %b, 5, 7", (kind, kind), kind, lanes(lambda a, b: b & ~(127 << 5) | (a & 127) << 5))
    lanes = lambda function: lambda *operands: [function(*map(int, lane)) & 0xffffffff for lane in zip(*operands)]
    three = ("b32", "b32", "b32")
    yield Case("lop3.b32 %d, %a, %b, %c, 0xCA", three, "b32", lanes(lambda a, b, c: a & b | ~a & c))
    yield Case("prmt.b32 %d, %a, %b, 0x5410", ("b32", "b32"), "b32", lanes(lambda a, b: a & 0xffff | (b & 0xffff) << 16))
    yield Case("prmt.b32 %d, %a, %b, 0x0088", ("b32", "b32"), "b32",
               lanes(lambda a, b: (a & 255) * 0x1010000 | (0xffff if a & 128 else 0)))
    yield Case("shf.l.wrap.b32 %d, %a, %b, %c", three, "b32", lanes(lambda a, b, c: (b << 32 | a) << (c & 31) >> 32))
    yield Case("shf.r.clamp.b32 %d, %a, %b, %c", three, "b32", lanes(lambda a, b, c: (b << 32 | a) >> min(c, 32)))


def flush(x):
    return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x)


def float_cases():
    for kind, rounding in (("f32", ".rn"), ("f64", ".rn"), ("f16", ""), ("bf16", "")):
        two = (kind, kind)
        yield Case(f"add{rounding}.{kind} %d, %a, %b", two, kind, lambda a, b: np.float64(a) + b if a.dtype != np.float32 else a + b)
        yield Case(f"mul{rounding}.{kind} %d, %a, %b", two, kind, lambda a, b: np.float64(a) * b if a.dtype != np.float32 else a * b)
        yield Case(f"sub{rounding}.{kind} %d, %a, %b", two, kind, lambda a, b: np.float64(a) - b if a.dtype != np.float32 else a - b)
        yield Case(f"min.{kind} %d, %a, %b", two, kind, minimum)
        yield Case(f"max.{kind} %d, %a, %b", two, kind, lambda a, b: -minimum(-a, -b))
        if kind != "f64":
            yield Case(f"max.NaN.{kind} %d, %a, %b", two, kind, lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, -minimum(-a, -b)))
        yield Case(f"neg.{kind} %d, %a", (kind,), kind, lambda a: -a)
        yield Case(f"abs.{kind} %d, %a", (kind,), kind, np.abs)
    yield Case("fma.rn.f32 %d, %a, %b, %c", ("f32",) * 3, "f32", fused)
    yield Case("div.rn.f32 %d, %a, %b", ("f32", "f32"), "f32", lambda a, b: a / b)
    yield Case("sqrt.rn.f32 %d, %a", ("f32",), "f32", np.sqrt)
    yield Case("add.ftz.f32 %d, %a, %b", ("f32", "f32"), "f32", lambda a, b: flush(flush(a) + flush(b)))
    yield Case("mul.sat.f32 %d, %a, %b", ("f32", "f32"), "f32", lambda a, b: np.where(np.isnan(a * b), 0, np.clip(a * b, 0, 1)))
    yield Case("fma.rn.relu.bf16 %d, %a, %b, %c", ("bf16",) * 3, "bf16", lambda a, b, c: np.where(a * b + c < 0, 0, a * b + c))
    yield Case("add.rn.f16x2 %d, %a, %b", ("f16x2", "f16x2"), "f16x2", lambda a, b: a + b)
    yield Case("mul.rn.f16x2 %d, %a, %b", ("f16x2", "f16x2"), "f16x2", lambda a, b: a * b)
    for name, function in (("rcp.approx.ftz", lambda a: 1 / a), ("rsqrt.approx", lambda a: 1 / np.sqrt(a)), ("ex2.approx.ftz", np.exp2),
                           ("lg2.approx", np.log2), ("tanh.approx", np.tanh)):
        flushes = name.endswith("ftz")
        yield Case(f"{name}.f32 %d, %a", ("f32",), "f32",
                   lambda a, f=function, z=flushes: flush(f(np.float64(flush(a) if z else a)).astype(np.float32)) if z
                   else f(np.float64(a)).astype(np.float32), 2)


def minimum(a, b):
    """-0 is below +0, and a number wins over a NaN."""
    smaller = np.where((a < b) | ((a == b) & np.signbit(a)), a, b)
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, smaller))


def fused(a, b, c):
    """One rounding: long double holds a * b exactly, and the sum closely enough for these operands."""
    return (np.longdouble(a) * np.longdouble(b) + np.longdouble(c)).astype(np.float32)


def saturate(values, kind):
    info = np.iinfo({"s32": np.int32, "u32": np.uint32, "s16": np.int16, "u16": np.uint16, "s64": np.int64}[kind])
    result = []
    for value in values:
        whole = 0 if np.isnan(value) else info.max if value >= info.max else info.min if value <= info.min else int(value)
        result.append(whole & (1 << info.bits) - 1)
    return result


def conversion_cases():
    for source in ("u16", "s16", "u32", "s32"):
        yield Case(f"cvt.rn.f32.{source} %d, %a", (source,), "f32", lambda a: a.astype(np.float32))
        yield Case(f"cvt.s64.{source} %d, %a" if source[0] == "s" else f"cvt.u64.{source} %d, %a", (source,), "u64",
                   lambda a: a.astype(np.int64).view(np.uint64))
    for target in ("s32", "u32", "s16", "s64"):
        for mode, function in (("rzi", np.trunc), ("rni", np.rint), ("rmi", np.floor), ("rpi", np.ceil)):
            yield Case(f"cvt.{mode}.{target}.f32 %d, %a", ("f32",), target, lambda a, f=function, t=target: saturate(f(np.float64(a)), t))
    yield Case("cvt.rni.f32.f32 %d, %a", ("f32",), "f32", np.rint)
    yield Case("cvt.rn.f16.f32 %d, %a", ("f32",), "f16", lambda a: a.astype(np.float16))
    yield Case("cvt.rn.bf16.f32 %d, %a", ("f32",), "bf16", np.float64)
    yield Case("cvt.f32.f16 %d, %a", ("f16",), "f32", lambda a: a.astype(np.float32))
    yield Case("cvt.f64.f32 %d, %a", ("f32",), "f64", np.float64)
    yield Case("cvt.rn.f32.f64 %d, %a", ("f64",), "f32", lambda a: a.astype(np.float32))
    yield Case("cvt.rn.bf16x2.f32 %d, %a, %b", ("f32", "f32"), "b32", lambda a, b: bf16(b).astype(np.uint64) | bf16(a).astype(np.uint64) << 16)
    yield Case("cvt.rn.f16x2.f32 %d, %a, %b", ("f32", "f32"), "b32",
               lambda a, b: bits_of(b.astype(np.float16), "f16") | bits_of(a.astype(np.float16), "f16") << 16)
    yield Case("cvt.rna.tf32.f32 %d, %a", ("f32",), "f32", tf32)
    yield Case("cvt.sat.s8.s32 %d, %a", ("s32",), "s16", lambda a: np.clip(a, -128, 127).astype(np.int16))
    yield Case("cvt.u32.u64 %d, %a", ("u64",), "u32", lambda a: [int(x) & 0xffffffff for x in a])


def tf32(values):
    bits = values.view(np.uint32).astype(np.uint64)
    return np.where(np.isfinite(values), (bits + 0x1000 & 0xffffe000).astype(np.uint32), values.view(np.uint32)).view(np.float32)


def comparison_cases():
    relations = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
    for name, function in relations.items():
        for kind in ("u32", "s32", "s64", "u16", "f32", "f64", "f16"):
            nan = lambda a, b, k=kind: np.zeros(LANES, bool) if k[0] != "f" else np.isnan(a) | np.isnan(b)
            yield Case(f"setp.{name}.{kind} %p0, %a, %b; selp.b32 %d, 1, 0, %p0", (kind, kind), "u32",
                       lambda a, b, f=function, n=nan: (f(a, b) & ~n(a, b)).astype(np.uint32))
        yield Case(f"setp.{name}u.f32 %p0, %a, %b; selp.b32 %d, 1, 0, %p0", ("f32", "f32"), "u32",
                   lambda a, b, f=function: (f(a, b) | np.isnan(a) | np.isnan(b)).astype(np.uint32))
    yield Case("setp.lt.s32 %p0|%p1, %a, %b; selp.b32 %d, 1, 2, %p1", ("s32", "s32"), "u32", lambda a, b: np.where(a >= b, 1, 2).astype(np.uint32))
    yield Case("setp.lt.s32 %p0, %a, %b; setp.gt.and.s32 %p1, %a, 7, %p0; selp.b32 %d, 1, 0, %p1", ("s32", "s32"), "u32",
               lambda a, b: ((a < b) & (a > 7)).astype(np.uint32))
    yield Case("slct.b32.s32 %d, %a, %b, %c", ("b32", "b32", "s32"), "b32", lambda a, b, c: np.where(c >= 0, a, b))


def warp_cases():
    lane = np.arange(LANES)
    yield Case("shfl.sync.bfly.b32 %d, %a, 5, 31, -1", ("b32",), "b32", lambda a: a[lane ^ 5])
    yield Case("shfl.sync.down.b32 %d, %a, 3, 31, -1", ("b32",), "b32", lambda a: a[np.where(lane + 3 < 32, lane + 3, lane)])
    yield Case("shfl.sync.up.b32 %d, %a, 3, 0, -1", ("b32",), "b32", lambda a: a[np.where(lane >= 3, lane - 3, lane)])
    yield Case("shfl.sync.idx.b32 %d, %a, 9, 31, -1", ("b32",), "b32", lambda a: a[np.full(LANES, 9)])
    yield Case("shfl.sync.down.b32 %d|%p0, %a, 2, 0x1807, -1; selp.b32 %d, %d, -1, %p0", ("b32",), "b32",
               lambda a: np.where(lane % 8 + 2 < 8, a[np.minimum(lane + 2, 31)], 0xffffffff))
    yield Case("setp.lt.s32 %p0, %a, 0; vote.sync.ballot.b32 %d, %p0, -1", ("s32",), "u32",
               lambda a: np.full(LANES, sum(int(x < 0) << i for i, x in enumerate(a)), np.uint32))
    yield Case("setp.lt.s32 %p0, %a, 0; vote.sync.any.pred %p1, %p0, -1; selp.b32 %d, 1, 0, %p1", ("s32",), "u32",
               lambda a: np.full(LANES, (a < 0).any(), np.uint32))
    yield Case("redux.sync.add.s32 %d, %a, -1", ("s32",), "s32", lambda a: np.full(LANES, int(a.astype(np.int64).sum()) & 0xffffffff, np.uint64))
    yield Case("redux.sync.max.u32 %d, %a, -1", ("u32",), "u32", lambda a: np.full(LANES, a.max(), np.uint32))
    yield Case("and.b32 %d, %a, 3; match.any.sync.b32 %d, %d, -1", ("b32",), "u32",
               lambda a: np.array([sum(int(x & 3 == y & 3) << i for i, y in enumerate(a)) for x in a], np.uint32))


def move_cases():
    yield Case("mov.b32 {%h0, %h1}, %a; mov.b32 %d, {%h1, %h0}", ("b32",), "b32", lambda a: a >> 16 | (a & 0xffff) << 16)
    yield Case("mov.b64 {%w0, %w1}, %a; mov.b64 %d, {%w1, %w0}", ("b64",), "b64", lambda a: a >> np.uint64(32) | a << np.uint64(32))
    yield Case("mov.u32 %d, %laneid", (), "u32", lambda: np.arange(LANES, dtype=np.uint32))
    yield Case("mov.f32 %d, 0f3FC00000", (), "f32", lambda: np.full(LANES, 1.5, np.float32))


def operands(kind, count, random):
    """Bits of each operand: edges first, in orders that differ."""
    result = []
    for place in range(count):
        if kind in ("f32", "f64", "f16", "bf16"):
            edges = np.array(FLOAT_EDGES[:LANES], np.float64)
            values = np.concatenate([np.roll(edges, 3 * place), random.standard_normal(LANES - len(edges)) * 4])
            with np.errstate(all="ignore"):
                values = values.astype(np.float32) if kind != "f64" else values
            result.append(bits_of(values, kind))
        elif kind == "f16x2":
            result.append(random.standard_normal((LANES, 2)).astype(np.float16).view(np.uint32).ravel().astype(np.uint64))
        else:
            edges = np.roll(np.array(EDGES, np.uint64), 5 * place)
            values = np.concatenate([edges, random.integers(0, 1 << 63, LANES - len(edges), dtype=np.uint64) * 2 + np.uint64(place)])
            result.append(values & np.uint64((1 << WIDTH[kind]) - 1))
    return result


def storage(kind):
    return f"b{max(WIDTH[kind], 16)}"


def body(case, number):
    """The case in a scope of its own."""
    lines = ["{", "  .reg .pred %p0, %p1;", "  .reg .b16 %h0, %h1;", "  .reg .b32 %w0, %w1;", "  .reg .b64 %t, %in, %out;"]
    lines += [f"  .reg .{storage(case.output)} %d;"]
    lines += [f"  add.s64 %in, %base, {number * 3 * LANES * 8};", f"  add.s64 %out, %result, {number * LANES * 8};"]
    for place, kind in enumerate(case.inputs):
        name = "%" + "abc"[place]
        lines += [f"  .reg .{storage(kind)} {name};", f"  ld.global.b64 %t, [%in+{place * LANES * 8}];"]
        size = WIDTH[kind]
        lines += [f"  mov.b64 {name}, %t;" if size == 64 else f"  cvt.u{size}.u64 {name}, %t;"]
    lines += [f"  {line.strip()};" for line in case.text.split(";")]
    size = max(WIDTH[case.output], 16)
    lines += ["  mov.b64 %t, %d;" if size == 64 else f"  cvt.u64.u{size} %t, %d;", "  st.global.b64 [%out], %t;", "}"]
    return "\n".join(lines)


def expected(case, bits):
    typed = [unpack_pair(b) if k == "f16x2" else numbers(b, k) for b, k in zip(bits, case.inputs)]
    with np.errstate(all="ignore"):
        result = case.function(*typed)
    if case.output == "f16x2":
        return np.asarray(result, np.float16).view(np.uint32).ravel().astype(np.uint64)
    if isinstance(result, list):
        return np.array([int(x) & (1 << max(WIDTH[case.output], 16)) - 1 for x in result], np.uint64)
    if case.output in ("f16", "bf16", "f32", "f64"):
        with np.errstate(all="ignore"):
            return bits_of(result, case.output)
    return np.asarray(result).astype(np.int64).view(np.uint64) & np.uint64((1 << max(WIDTH[case.output], 16)) - 1)


def unpack_pair(bits):
    return bits.astype(np.uint32).view(np.float16).reshape(-1, 2)


def agrees(case, found, wanted):
    if case.output not in ("f16", "bf16", "f32", "f64"):
        return found == wanted
    a, b = numbers(found, case.output), numbers(wanted, case.output)
    same = (np.isnan(a) & np.isnan(b)) | (found == wanted)
    if case.tolerance:
        same |= np.abs(found.astype(np.int64) - wanted.astype(np.int64)) <= case.tolerance
    return same


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--ptxas", help="assembles the kernel too")
    args = parser.parse_args()
    args.scratch.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(1)
    cases = [case for group in (integer_cases, logic_cases, float_cases, conversion_cases, comparison_cases, warp_cases, move_cases)
             for case in group()]
    inputs = np.zeros((len(cases), 3, LANES), np.uint64)
    for number, case in enumerate(cases):
        for place, kind in enumerate(case.inputs):
            inputs[number, place] = operands(kind, place + 1, random)[place]
    text = [".version 8.3", ".target sm_90a", ".address_size 64", ".visible .entry cases(.param .u64 a, .param .u64 r) {",
            ".reg .b64 %base, %result, %lane;", ".reg .b32 %id;", "ld.param.b64 %base, [a];", "ld.param.b64 %result, [r];",
            "mov.u32 %id, %tid.x;", "mul.wide.u32 %lane, %id, 8;", "add.s64 %base, %base, %lane;", "add.s64 %result, %result, %lane;"]
    text += [body(case, number) for number, case in enumerate(cases)] + ["ret;", "}"]
    (args.scratch / "cases.ptx").write_text("\n".join(text) + "\n")
    if args.ptxas:
        subprocess.run([args.ptxas, "-arch=sm_90a", args.scratch / "cases.ptx", "-o", "/dev/null"], check=True)
    np.save(args.scratch / "in.npy", inputs.view(np.int64))
    subprocess.run([args.tool, args.scratch / "cases.ptx", "--kernel", "cases", "--threads", str(LANES), "--buffer",
                    f"in={args.scratch / 'in.npy'}", "--empty", f"out=i64:{len(cases)},{LANES}", "--output",
                    f"out={args.scratch / 'out.npy'}", "--arg", "in", "--arg", "out"], check=True)
    results = np.load(args.scratch / "out.npy").view(np.uint64)
    wrong = 0
    for number, case in enumerate(cases):
        bits = [inputs[number, place] for place in range(len(case.inputs))]
        wanted = expected(case, bits)
        right = agrees(case, results[number], wanted)
        if not right.all():
            wrong += 1
            lane = int(np.argmin(right))
            print(f"{case.text}: lane {lane}: {[hex(int(b[lane])) for b in bits]} gives {int(results[number][lane]):#x}, not {int(wanted[lane]):#x}")
    print(f"{len(cases)} instructions: {len(cases) - wrong} right, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    raise SystemExit(main())
