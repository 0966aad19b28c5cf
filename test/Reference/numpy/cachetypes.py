"""Keys and values as a cache of each type holds them (docs/Semantics.md)."""

import numpy

# A number that two programs compute to nearly the same bits may be rounded to different ones: relative L2 of logits.
TOLERANCE = {"f32": 1e-5, "bf16": 1e-3, "f16": 2e-4, "int8": 2e-3}


def bf16(x):
    bits = x.astype(numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(numpy.uint32).view(numpy.float32).astype(x.dtype)


def int8(x):
    """Each key and value of a head, the last dim, has a scale."""
    largest = numpy.abs(x.astype(numpy.float32)).max(-1, keepdims=True)
    counts = largest >= 2.0**-100
    codes = numpy.rint(x.astype(numpy.float32) * (127 / numpy.where(counts, largest, 1)))
    return (numpy.where(counts, codes * (largest / 127), 0)).astype(x.dtype)


ROUNDING = {"f32": lambda x: x, "bf16": bf16, "f16": lambda x: x.astype(numpy.float16).astype(x.dtype), "int8": int8}


def split(options):
    """The options of a random model without "cache", the type that is asked for, which is the weights' otherwise; the
    compiler's flags for it; the type."""
    kind = options.get("cache")
    rest = {name: value for name, value in options.items() if name != "cache"}
    return rest, [f"--cache-dtype={kind}"] if kind else [], kind or options.get("dtype", "F32").lower()
