"""Quantized blocks of GGUF files with numpy alone: their sizes, the numbers that they stand for, random ones, and a simple encoder of each type. Written from
the format's description, so that it is independent of the reader under test; ../../Perf/gguf-blocks compares it with ggml.

    gguf_blocks.py

quantizes Gaussian weights to every type and prints how far from them the decoded numbers are."""

import sys

import numpy

# name -> (number in files, elements of a block, bytes of a block)
TYPES = {"Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24), "Q8_0": (8, 32, 34), "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110),
         "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176), "Q6_K": (14, 256, 210), "IQ4_NL": (20, 32, 18), "IQ4_XS": (23, 256, 136), "TQ1_0": (34, 256, 54),
         "TQ2_0": (35, 256, 66), "MXFP4": (39, 32, 17), "NVFP4": (40, 64, 36)}


def integers(bits, zero):
    return numpy.arange(2**bits, dtype=numpy.float32) - numpy.float32(zero)


CURVE = numpy.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], numpy.float32)
# Of FP4, in halves. Negative zero is a zero.
MAGNITUDES = numpy.array([0, 1, 2, 3, 4, 6, 8, 12], numpy.float32)
FLOATS = numpy.concatenate([MAGNITUDES, 0 - MAGNITUDES])
# The number of each code, before scale and offset.
LEVELS = {"Q4_0": integers(4, 8), "Q4_1": integers(4, 0), "Q5_0": integers(5, 16), "Q5_1": integers(5, 0), "Q8_0": integers(8, 128), "Q2_K": integers(2, 0),
          "Q3_K": integers(3, 4), "Q4_K": integers(4, 0), "Q5_K": integers(5, 0), "Q6_K": integers(6, 32), "IQ4_NL": CURVE, "IQ4_XS": CURVE,
          "TQ1_0": integers(2, 1), "TQ2_0": integers(2, 1), "MXFP4": FLOATS, "NVFP4": FLOATS}
# Of an E8M0 byte: half of what it stands for, as LEVELS has doubles. 255, which is no number by the format, as ggml reads it.
POWERS = numpy.ldexp(numpy.float32(1), numpy.arange(256) - 128)
# Where in a block the f16 is by which codes are multiplied, and the one that makes offsets, with whether these are subtracted.
SCALES_AT = {"Q4_0": 0, "Q4_1": 0, "Q5_0": 0, "Q5_1": 0, "Q8_0": 0, "Q2_K": 80, "Q3_K": 108, "Q4_K": 0, "Q5_K": 0, "Q6_K": 208, "IQ4_NL": 0, "IQ4_XS": 0,
             "TQ1_0": 52, "TQ2_0": 64}
OFFSETS_AT = {"Q4_1": (2, False), "Q5_1": (2, False), "Q2_K": (82, True), "Q4_K": (2, True), "Q5_K": (2, True)}
# Types whose scale is negative in files where that serves the number of greatest magnitude.
SIGNED = ("Q4_0", "Q5_0", "Q3_K", "Q6_K", "IQ4_NL", "IQ4_XS")
CHUNK = 1 << 14


def fields(data, width, bits):
    """Bits of bytes [blocks, bytes] in the order of elements: of each `width` bytes the lowest bits of all, then the next ones of all."""
    runs = data.reshape(len(data), -1, 1, width)
    return (runs >> numpy.arange(0, 8, bits, numpy.uint8)[:, None] & numpy.uint8(2**bits - 1)).reshape(len(data), -1)


def packed(codes, width, bits):
    """The bytes whose fields() are these."""
    runs = codes.astype(numpy.uint8).reshape(len(codes), -1, 8 // bits, width)
    return numpy.bitwise_or.reduce(runs << numpy.arange(0, 8, bits, numpy.uint8)[:, None], axis=2).reshape(len(codes), -1)


def half(data, place):
    """The f16 at a place of each block, as f32 [blocks, 1]."""
    return numpy.ascontiguousarray(data[:, place:place + 2]).view("<f2").astype(numpy.float32)


def signs(data):
    return data.view(numpy.int8).astype(numpy.float32)


def sixBits(data):
    """Scales and minima, 8 each, of 12 bytes."""
    first, second, third = data[:, :4], data[:, 4:8], data[:, 8:]
    return numpy.hstack([first & 63, third & 15 | first >> 6 << 4]), numpy.hstack([second & 63, third >> 4 | second >> 6 << 4])


def packedSixBits(scales, minima):
    low, high = [numpy.hsplit(part.astype(numpy.uint8), 2) for part in (scales, minima)]
    return numpy.hstack([low[0] | low[1] >> 4 << 6, high[0] | high[1] >> 4 << 6, low[1] & 15 | (high[1] & 15) << 4])


def trits(data, count):
    """The first base-3 digits of bytes, which are fractions of 256."""
    powers = 3 ** numpy.arange(count, dtype=numpy.uint8)[:, None]
    return ((data[:, None] * powers).astype(numpy.uint16) * 3 >> 8).astype(numpy.uint8).reshape(len(data), -1)


def smallFloats(data):
    """Of UE4M3 bytes, half of what they stand for. As in ggml, 127, which is no number by the format, is 0, and the highest bit counts for nothing: 255 is
    480."""
    exponents, mantissas = (data >> 3 & 15).astype(numpy.int32), (data & 7).astype(numpy.float32) / 8
    values = numpy.ldexp(mantissas + (exponents > 0), numpy.maximum(exponents, 1) - 8)
    return numpy.where(data == 127, numpy.float32(0), values)


def rawParts(name, data):
    """(codes, scales, offsets)"""
    if name in ("Q4_0", "IQ4_NL"):
        return fields(data[:, 2:], 16, 4), half(data, 0), None
    if name == "Q4_1":
        return fields(data[:, 4:], 16, 4), half(data, 0), half(data, 2)
    if name == "Q5_0":
        return fields(data[:, 6:], 16, 4) | fields(data[:, 2:6], 1, 1) << 4, half(data, 0), None
    if name == "Q5_1":
        return fields(data[:, 8:], 16, 4) | fields(data[:, 4:8], 1, 1) << 4, half(data, 0), half(data, 2)
    if name == "Q8_0":
        return data[:, 2:] ^ 128, half(data, 0), None
    if name == "Q2_K":
        return fields(data[:, 16:80], 32, 2), half(data, 80) * (data[:, :16] & 15), -(half(data, 82) * (data[:, :16] >> 4))
    if name == "Q3_K":
        scales = fields(data[:, 96:104], 8, 4) | fields(data[:, 104:108], 4, 2) << 4
        return fields(data[:, 32:96], 32, 2) | fields(data[:, :32], 32, 1) << 2, half(data, 108) * integers(6, 32)[scales], None
    if name == "Q4_K":
        scales, minima = sixBits(data[:, 4:16])
        return fields(data[:, 16:], 32, 4), half(data, 0) * scales, -(half(data, 2) * minima)
    if name == "Q5_K":
        scales, minima = sixBits(data[:, 4:16])
        return fields(data[:, 48:], 32, 4) | fields(data[:, 16:48], 32, 1) << 4, half(data, 0) * scales, -(half(data, 2) * minima)
    if name == "Q6_K":
        return fields(data[:, :128], 64, 4) | fields(data[:, 128:192], 32, 2) << 4, half(data, 208) * signs(data[:, 192:208]), None
    if name == "IQ4_XS":
        scales = fields(data[:, 4:8], 1, 4) | fields(data[:, 2:4], 1, 2) << 4
        return fields(data[:, 8:], 16, 4), half(data, 0) * integers(6, 32)[scales], None
    if name == "MXFP4":
        return fields(data[:, 1:], 16, 4), POWERS[data[:, :1]], None
    if name == "NVFP4":
        return fields(data[:, 4:], 8, 4), smallFloats(data[:, :4]), None
    if name == "TQ1_0":
        return numpy.hstack([trits(data[:, :32], 5), trits(data[:, 32:48], 5), trits(data[:, 48:52], 4)]), half(data, 52), None
    if name == "TQ2_0":
        return fields(data[:, :64], 32, 2), half(data, 64), None
    raise ValueError(name)


def parts(name, data):
    """What blocks, uint8 [blocks, bytes], hold: "codes", uint8 [blocks, elements] in the order of elements, to which LEVELS gives numbers (those of Q8_0 are
    greater by 128 than the file's); "scales", f32 [blocks, groups]; "offsets", likewise, which are added, or None; "group", the elements of a group."""
    with numpy.errstate(all="ignore"):
        codes, scales, offsets = rawParts(name, numpy.asarray(data, numpy.uint8))
    return {"codes": codes, "scales": scales, "offsets": offsets, "group": TYPES[name][1] // scales.shape[1]}


def decode(name, data):
    """The numbers of blocks, f32 [blocks, elements], with the roundings of ggml."""
    found = parts(name, data)
    with numpy.errstate(all="ignore"):
        values = LEVELS[name][found["codes"]].reshape(*found["scales"].shape, found["group"])
        values *= found["scales"][:, :, None]
        if found["offsets"] is not None:
            values += found["offsets"][:, :, None]
    return values.reshape(len(values), -1)


def setHalf(data, place, values):
    """Writes f16 at a place of each block, and returns what was written, as f32."""
    rounded = numpy.clip(values, -65504, 65504).astype("<f2").reshape(-1, 1)
    data[:, place:place + 2] = rounded.view(numpy.uint8)
    return rounded.astype(numpy.float32)


def random_blocks(name, rng, count, sane=True):
    """Random blocks, uint8 [count, bytes], of a numpy.random.Generator. Where they are sane, their numbers are finite and about 0 on average, with a root mean
    square of 0.05 to 0.1 in each block (MXFP4 and NVFP4: 0.01 to 0.15); else all bytes are random."""
    _, elements, size = TYPES[name]
    data = rng.integers(0, 256, (count, size), numpy.uint8)
    if not sane:
        return data
    if name == "MXFP4":
        data[:, 0] = rng.integers(120, 123, count)
    elif name == "NVFP4":
        data[:, :4] = rng.integers(8, 20, (count, 4))
    else:
        if name == "TQ2_0":
            data[:, :64] = packed(rng.integers(0, 3, (count, 256), numpy.uint8), 32, 2)
        wanted = rng.uniform(0.05, 0.1, (count, 1)).astype(numpy.float32)
        setHalf(data, SCALES_AT[name], numpy.ones(count, numpy.float32))
        if name in OFFSETS_AT:
            place, subtracted = OFFSETS_AT[name]
            offsets = LEVELS[name].mean() * rng.uniform(0.75, 1.25, (count, 1)).astype(numpy.float32) * (1 if subtracted else -1)
            offsets = setHalf(data, place, offsets)
        scales = wanted / numpy.sqrt(summed(numpy.square(decode(name, data)))[:, None] / elements)
        if name in OFFSETS_AT:
            setHalf(data, place, offsets * scales)
        setHalf(data, SCALES_AT[name], numpy.where(rng.integers(0, 2, (count, 1)), -scales, scales) if name in SIGNED else scales)
    return data


def ratio(values, divisors):
    """0 where the divisor is."""
    values, divisors = numpy.broadcast_arrays(values, divisors)
    return numpy.divide(values, divisors, out=numpy.zeros(values.shape, numpy.float32), where=divisors != 0)


def places(levels, values):
    return numpy.searchsorted((levels[1:] + levels[:-1]) / 2, values).astype(numpy.uint8)


def nearest(name, values):
    """Codes of the levels next to numbers."""
    levels = LEVELS[name]
    if levels is FLOATS:
        return places(MAGNITUDES, numpy.abs(values)) | numpy.signbit(values).astype(numpy.uint8) << 3
    if levels is CURVE:
        return places(CURVE, values)
    return (numpy.clip(numpy.rint(values), levels[0], levels[-1]) - levels[0]).astype(numpy.uint8)


def summed(values):
    """Sums over the last axis, whose extent is a power of two, in an order that no machine changes."""
    while values.shape[-1] > 1:
        values = values[..., ::2] + values[..., 1::2]
    return values[..., 0]


def best(name, groups, candidates):
    """Of the (scales, offsets) of groups [.., groups, elements], for each group those with which it loses least."""
    found = None
    for scales, offsets in candidates:
        codes = nearest(name, ratio(groups - offsets[..., None], scales[..., None]))
        errors = summed(numpy.square(LEVELS[name][codes] * scales[..., None] + offsets[..., None] - groups))
        if found is None:
            found = [errors, scales, offsets]
        better = errors < found[0]
        found = [numpy.where(better, new, old) for new, old in zip((errors, scales, offsets), found)]
    return found[1:]


def scaled(name, groups):
    """Scales by the number of greatest magnitude, or somewhat smaller or larger ones."""
    place = numpy.abs(groups).argmax(axis=-1)[..., None]
    extremes = numpy.take_along_axis(groups, place, axis=-1)[..., 0]
    scales = numpy.abs(extremes) / 127 if name == "Q8_0" else extremes / LEVELS[name][0]
    none = numpy.zeros_like(scales)
    return best(name, groups, [(scales * numpy.float32(factor), none) for factor in FACTORS[name]])[0]


def ranged(name, groups, subtracted):
    """Scales and offsets by the least and the greatest number, or such for less than their range. Offsets that are subtracted are no less than 0."""
    least, most = groups.min(axis=-1), groups.max(axis=-1)
    if subtracted:
        least = numpy.minimum(least, 0)
    candidates = []
    for factor in FACTORS[name]:
        offsets = least + (most - least) * numpy.float32((1 - factor) / 2)
        offsets = numpy.minimum(offsets, 0) if subtracted else offsets
        candidates.append(((most - least) * numpy.float32(factor) / LEVELS[name][-1], offsets))
    return best(name, groups, candidates)


# By how much scales are smaller or larger than those with which the extremes are levels.
FACTORS = {"Q4_0": (1,), "Q4_1": (1,), "Q5_0": (1,), "Q5_1": (1,), "Q8_0": (1,), "Q2_K": (1, 0.9, 0.8, 0.7), "Q3_K": (1, 0.9, 0.8, 1.1), "Q4_K": (1, 0.95, 0.9),
           "Q5_K": (1, 0.95), "Q6_K": (1,), "IQ4_NL": (1, 0.9, 1.1), "IQ4_XS": (1, 0.9, 1.1)}


def encoded(name, values):
    """Blocks of numbers f32 [blocks, elements]."""
    _, elements, size = TYPES[name]
    data = numpy.zeros((len(values), size), numpy.uint8)
    if name == "MXFP4":
        # The largest number is between 4 and 8 times the power of two: 6 and what is above it become 6.
        exponents = numpy.clip(numpy.frexp(numpy.abs(values).max(axis=1))[1] - 1 - 2 + 127, 0, 254)
        exponents[numpy.abs(values).max(axis=1) == 0] = 0
        data[:, 0] = exponents
        data[:, 1:] = packed(nearest(name, values / POWERS[exponents][:, None]), 16, 4)
        return data
    if elements == 32:
        if name in OFFSETS_AT:
            scales, offsets = [part[:, None] for part in ranged(name, values, False)]
            offsets = setHalf(data, 2, offsets)
        else:
            scales, offsets = scaled(name, values)[:, None], numpy.float32(0)
        codes = nearest(name, ratio(values - offsets, setHalf(data, 0, scales)))
        if name == "Q8_0":
            data[:, 2:] = codes ^ 128
        elif name.startswith("Q5"):
            data[:, -20:-16] = packed(codes >> 4, 1, 1)
        if name != "Q8_0":
            data[:, -16:] = packed(codes & 15, 16, 4)
        return data
    groups = values.reshape(len(values), -1, 32 if name in ("Q4_K", "Q5_K", "IQ4_XS") else 16)
    if name in OFFSETS_AT:
        scales, offsets = ranged(name, groups, True)
        most = numpy.float32(15 if name == "Q2_K" else 63)
        whole = setHalf(data, SCALES_AT[name], scales.max(axis=1) / most), setHalf(data, OFFSETS_AT[name][0], (-offsets).max(axis=1) / most)
        ofScales, ofOffsets = [numpy.clip(numpy.rint(ratio(part, factor)), 0, most) for part, factor in zip((scales, -offsets), whole)]
        codes = nearest(name, ratio(groups + (whole[1] * ofOffsets)[..., None], (whole[0] * ofScales)[..., None])).reshape(values.shape)
        if name == "Q2_K":
            data[:, :16] = ofScales.astype(numpy.uint8) | ofOffsets.astype(numpy.uint8) << 4
            data[:, 16:80] = packed(codes, 32, 2)
            return data
        data[:, 4:16] = packedSixBits(ofScales, ofOffsets)
        data[:, -128:] = packed(codes & 15, 32, 4)
        if name == "Q5_K":
            data[:, 16:48] = packed(codes >> 4, 32, 1)
        return data
    scales, least = scaled(name, groups), numpy.float32(-128 if name == "Q6_K" else -32)
    place = numpy.abs(scales).argmax(axis=1)[:, None]
    whole = setHalf(data, SCALES_AT[name], numpy.take_along_axis(scales, place, axis=1) / least)
    ofScales = numpy.clip(numpy.rint(ratio(scales, whole)), least, -1 - least)
    codes = nearest(name, ratio(groups, (whole * ofScales)[..., None])).reshape(values.shape)
    if name == "Q6_K":
        data[:, :128], data[:, 128:192] = packed(codes & 15, 64, 4), packed(codes >> 4, 32, 2)
        data[:, 192:208] = ofScales.astype(numpy.int8).view(numpy.uint8)
        return data
    ofScales = (ofScales - least).astype(numpy.uint8)
    if name == "Q3_K":
        data[:, :32], data[:, 32:96] = packed(codes >> 2, 32, 1), packed(codes & 3, 32, 2)
        data[:, 96:104], data[:, 104:108] = packed(ofScales & 15, 8, 4), packed(ofScales >> 4, 4, 2)
        return data
    data[:, 2:4], data[:, 4:8], data[:, 8:] = packed(ofScales >> 4, 1, 2), packed(ofScales & 15, 1, 4), packed(codes, 16, 4)
    return data


ENCODED = (*FACTORS, "MXFP4")


def quantize(name, values):
    """Finite numbers [rows, depth] as blocks, uint8 [rows, bytes of a row]: scales are simple ones, codes the nearest. The same bytes on every machine."""
    if name not in ENCODED:
        raise ValueError(f"no encoder of {name}")
    blocks = numpy.asarray(values, numpy.float32).reshape(-1, TYPES[name][1])
    chunks = [encoded(name, blocks[begin:begin + CHUNK]) for begin in range(0, len(blocks), CHUNK)]
    return numpy.concatenate(chunks).reshape(len(values), -1)


# At most so far from Gaussian weights, relative L2.
ERRORS = {"Q4_0": 0.09, "Q4_1": 0.082, "Q5_0": 0.045, "Q5_1": 0.04, "Q8_0": 0.0056, "Q2_K": 0.3, "Q3_K": 0.155, "Q4_K": 0.08, "Q5_K": 0.04, "Q6_K": 0.0195,
          "IQ4_NL": 0.082, "IQ4_XS": 0.082, "MXFP4": 0.124}


def apart(name, values):
    """Relative L2 between numbers and what they become; infinite where one of these is no number."""
    decoded = decode(name, quantize(name, values).reshape(-1, TYPES[name][2])).reshape(values.shape)
    error = numpy.linalg.norm(decoded - values) / max(numpy.linalg.norm(values), 1e-30)
    return error if numpy.isfinite(error) else numpy.inf


def main():
    rng, wrong = numpy.random.default_rng(1), []
    normal = rng.standard_normal((64, 2048)).astype(numpy.float32)
    others = {"few": (numpy.where(normal > 2, normal, 0), 0.3), "positive": (1 + numpy.abs(normal), 0.3), "negative": (-1 - numpy.abs(normal), 0.3),
              "zeros": (numpy.zeros_like(normal), 0), "so small that scales are 0": (normal * numpy.float32(1e-9), 1)}
    for name in ENCODED:
        error = apart(name, normal / 20)
        print(f"{name}: relative L2 {error:.4f}")
        errors = {"normal": (error, ERRORS[name]), **{what: (apart(name, values), most) for what, (values, most) in others.items()}}
        wrong += [f"{name}, {what}: {error:.4f} instead of at most {most}" for what, (error, most) in errors.items() if error > most]
    for name in TYPES:
        values = decode(name, random_blocks(name, rng, 1000))
        sizes = numpy.sqrt(numpy.square(values).mean(axis=1))
        if not (sizes.min() > 0.01 and sizes.max() < 0.15 and abs(values.mean()) < 0.01):
            wrong.append(f"{name}: random blocks have numbers of {sizes.min()} to {sizes.max()}")
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
