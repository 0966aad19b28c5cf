"""Writes GGUF files with numpy alone: values of every type and width, tensors in any order and with gaps, quantized ones, several parts, and files that are
broken on purpose. Written from the format's description, so that it is independent of the reader under test."""

import os
import struct
from typing import NamedTuple

import numpy

import gguf_blocks
import tensorfiles

# Numbers of the format.
KINDS = {"u8": (0, "B"), "i8": (1, "b"), "u16": (2, "H"), "i16": (3, "h"), "u32": (4, "I"), "i32": (5, "i"), "f32": (6, "f"), "bool": (7, "?"),
         "string": (8, None), "array": (9, None), "u64": (10, "Q"), "i64": (11, "q"), "f64": (12, "d")}
TYPES = {"F32": 0, "F16": 1, "BF16": 30}


class Typed(NamedTuple):
    """A value with the name of its type in KINDS. An array is one whose value is an Array."""
    kind: str
    value: object


class Array(NamedTuple):
    """Elements that all have one type of KINDS: the values of a list, or the bytes of a bytes-like object for "u8" and "i8"."""
    kind: str
    values: object


class Blocks(NamedTuple):
    """A tensor as bytes: the number of its type, its extents from the innermost, as the file has them, and its data."""
    number: int
    extents: list
    data: bytes


def typed(value):
    """What a Python value is written as unless it says itself: the narrowest of u32, i32, u64 and i64, and f32. A list's elements are of the type that
    the first one has, or of the first that holds all of them."""
    if isinstance(value, Typed):
        return value
    if isinstance(value, Array):
        return Typed("array", value)
    if isinstance(value, (bool, numpy.bool_)):
        return Typed("bool", bool(value))
    if isinstance(value, (int, numpy.integer)):
        ranges = {"u32": (0, 2**32), "i32": (-2**31, 2**31), "u64": (0, 2**64), "i64": (-2**63, 2**63)}
        return Typed(next(kind for kind, (low, end) in ranges.items() if low <= value < end), int(value))
    if isinstance(value, (float, numpy.floating)):
        return Typed("f32", float(value))
    if isinstance(value, (str, bytes)):
        return Typed("string", value)
    kinds = {typed(element).kind for element in value}
    if kinds <= {"u32", "i32", "u64", "i64"}:
        wide = [typed(min(value, default=0)).kind, typed(max(value, default=0)).kind]
        return Typed("array", Array(max(wide, key=["u32", "i32", "u64", "i64"].index), value))
    if len(kinds) != 1:
        raise ValueError(f"elements of several types: {sorted(kinds)}")
    return Typed("array", Array(kinds.pop(), value))


class Writer:
    """The bytes of one file as they grow. `places` has {field: (offset, bytes)} of what a test may want to change: "magic", "version", "tensors", "keys";
    of each key "KEY:name", "KEY:type", "KEY:value", of an array also "KEY:elements" (its type) and "KEY:count"; of each tensor "TENSOR:name",
    "TENSOR:rank", "TENSOR:extents", "TENSOR:type", "TENSOR:offset", "TENSOR:data"."""

    def __init__(self):
        self.bytes, self.places = bytearray(), {}

    def add(self, data, field=None):
        if field:
            self.places[field] = (len(self.bytes), len(data))
        self.bytes += data

    def number(self, value, kind, field=None):
        self.add(struct.pack("<" + KINDS[kind][1], value), field)

    def string(self, value, field=None):
        data = value.encode() if isinstance(value, str) else bytes(value)
        self.add(struct.pack("<Q", len(data)) + data, field)

    def value(self, key, value):
        if value.kind == "array":
            return self.array(key, value.value)
        if value.kind == "string":
            return self.string(value.value, f"{key}:value")
        return self.number(value.value, value.kind, f"{key}:value")

    def array(self, key, array):
        self.number(KINDS[array.kind][0], "u32", f"{key}:elements")
        self.number(len(array.values), "u64", f"{key}:count")
        begin = len(self.bytes)
        for element in ([] if isinstance(array.values, (bytes, bytearray)) else array.values):
            if array.kind == "array":
                self.array(key, element if isinstance(element, Array) else typed(element).value)
            elif array.kind == "string":
                self.string(element)
            else:
                self.number(element, array.kind)
        if isinstance(array.values, (bytes, bytearray)):
            self.add(array.values)
        self.places[f"{key}:value"] = (begin, len(self.bytes) - begin)

    def pad(self, alignment):
        self.bytes += bytes(-len(self.bytes) % alignment)


def blocks(values, kind):
    """A float array as Blocks, of a type of TYPES or of one that gguf_blocks encodes: its shape is that of PyTorch, the outermost extent first."""
    if isinstance(values, Blocks):
        return values
    if kind in gguf_blocks.TYPES:
        data = gguf_blocks.quantize(kind, values.reshape(-1, values.shape[-1]))
        return Blocks(gguf_blocks.TYPES[kind][0], list(reversed(values.shape)), data.tobytes())
    data = tensorfiles.bf16Bits(values) if kind == "BF16" else numpy.asarray(values, tensorfiles.DTYPES[kind])
    return Blocks(TYPES[kind], list(reversed(values.shape)), data.tobytes())


def numbers(tensor):
    """The float32 array that Blocks stand for."""
    kind = next(name for name, number in {**TYPES, **{name: entry[0] for name, entry in gguf_blocks.TYPES.items()}}.items() if number == tensor.number)
    if kind in gguf_blocks.TYPES:
        values = gguf_blocks.decode(kind, numpy.frombuffer(tensor.data, numpy.uint8).reshape(-1, gguf_blocks.TYPES[kind][2]))
    elif kind == "BF16":
        values = tensorfiles.bf16Values(numpy.frombuffer(tensor.data, "<u2"))
    else:
        values = numpy.frombuffer(tensor.data, tensorfiles.DTYPES[kind]).astype(numpy.float32)
    return values.reshape(tensor.extents[::-1])


def encode(metadata, tensors=None, dtype="F32", kinds=None, version=3, order=None, gaps=None, patches=None, padsEnd=True):
    """The bytes of one file. `metadata` is a dict, or a list of pairs where a key shall be there twice; `tensors` is {name: float array or Blocks}, or
    such a list; `kinds` has the types of the tensors that are not `dtype`. The data lie in `order` (names; that of `tensors` unless given), each behind
    as many empty units of the alignment as `gaps` says. general.alignment of the metadata counts where it is a power of two, else 32. `patches` has new
    bytes or a number, as wide as what was there, for fields of Writer.places. Without `padsEnd` the file ends where the last tensor does."""
    pairs = list(metadata.items() if isinstance(metadata, dict) else metadata)
    given = list((tensors or {}).items() if isinstance(tensors or {}, dict) else tensors)
    named = [(name, blocks(values, (kinds or {}).get(name, dtype))) for name, values in given]
    writer, alignment = Writer(), 32
    writer.add(b"GGUF", "magic")
    writer.number(version, "u32", "version")
    writer.number(len(named), "u64", "tensors")
    writer.number(len(pairs), "u64", "keys")
    for key, value in ((key, typed(value)) for key, value in pairs):
        writer.string(key, f"{key}:name")
        writer.number(KINDS[value.kind][0], "u32", f"{key}:type")
        writer.value(key, value)
        if key == "general.alignment" and isinstance(value.value, int) and value.value > 0 and value.value & (value.value - 1) == 0:
            alignment = value.value
    offsets, end = {}, 0
    contents = dict(named)
    for name in order or contents:
        end += -end % alignment + (gaps or {}).get(name, 0) * alignment
        offsets[name] = end
        end += len(contents[name].data)
    for name, tensor in named:
        writer.string(name, f"{name}:name")
        writer.number(len(tensor.extents), "u32", f"{name}:rank")
        writer.add(struct.pack(f"<{len(tensor.extents)}Q", *tensor.extents), f"{name}:extents")
        writer.number(tensor.number, "u32", f"{name}:type")
        writer.number(offsets[name], "u64", f"{name}:offset")
    if named:
        writer.pad(alignment)
        start = len(writer.bytes)
        for name in order or contents:
            writer.bytes += bytes(start + offsets[name] - len(writer.bytes))
            writer.add(contents[name].data, f"{name}:data")
        if padsEnd:
            writer.pad(alignment)
    for field, new in (patches or {}).items():
        offset, size = writer.places[field]
        data = new if isinstance(new, bytes) else (new % 2**(8 * size)).to_bytes(size, "little")
        writer.bytes[offset:offset + size] = data
    return bytes(writer.bytes)


def write(path, metadata, tensors=None, **options):
    """Writes one file, as encode() makes it."""
    with open(path, "wb") as file:
        file.write(encode(metadata, tensors, **options))


def writeParts(stem, metadata, tensors, parts, firstIsEmpty=False, splitKeys=None, **options):
    """Writes STEM-00001-of-0000N.gguf and so on, the tensors dealt out in their order: all metadata in the first, in the others what concerns parts and
    alignment. `splitKeys` is called with the number of a part, from 0, and the keys that it gets, and returns those that are written. Returns the
    paths."""
    names, begin, paths = list(tensors), 0, []
    sharing = parts - firstIsEmpty
    for part in range(parts):
        share = 0 if part == 0 and firstIsEmpty else (len(names) + part - firstIsEmpty) // sharing
        some = {name: tensors[name] for name in names[begin:begin + share]}
        begin += share
        keys = {"split.no": Typed("u16", part), "split.count": Typed("u16", parts), "split.tensors.count": Typed("i32", len(names))}
        keys = splitKeys(part, keys) if splitKeys else keys
        shared = metadata if part == 0 else {key: metadata[key] for key in ("general.alignment",) if key in metadata}
        own = {**options, "order": [name for name in options.get("order") or [] if name in some] or None}
        paths.append(f"{stem}-{part + 1:05}-of-{parts:05}.gguf")
        os.makedirs(os.path.dirname(paths[-1]) or ".", exist_ok=True)
        write(paths[-1], {**shared, **keys}, some, **own)
    return paths
