"""Reads and writes safetensors files with numpy alone. bf16 has no numpy type: it is widened to float32 when read."""

import json
import os
import struct

import numpy

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1", "BOOL": "?", "F8_E4M3": "u1", "F8_E5M2": "u1"}


def bf16Bits(values):
    """uint16 bit patterns of float32 values rounded to bf16, to nearest, ties to even. Finite values only."""
    bits = numpy.ascontiguousarray(values, "<f4").view("<u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")


def bf16Values(bits):
    return (bits.astype("<u4") << 16).view("<f4")


def read(path):
    """{name: array} of one file; f16 and f32 keep their type, bf16 becomes float32."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        tensors = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            file.seek(8 + size + begin)
            data = file.read(end - begin)
            if entry["dtype"] == "BF16":
                array = bf16Values(numpy.frombuffer(data, "<u2"))
            else:
                array = numpy.frombuffer(data, DTYPES[entry["dtype"]])
            tensors[name] = array.reshape(entry["shape"])
    return tensors


def readDirectory(directory):
    """All tensors of a model directory: model.safetensors, or the files that its index names."""
    index = os.path.join(directory, "model.safetensors.index.json")
    if not os.path.exists(index):
        return read(os.path.join(directory, "model.safetensors"))
    with open(index, encoding="utf-8") as file:
        names = json.load(file)["weight_map"]
    files = {name: read(os.path.join(directory, name)) for name in sorted(set(names.values()))}
    return {tensor: files[name][tensor] for tensor, name in names.items()}


def write(path, tensors, dtype, kinds=None):
    """Writes {name: float32 array} as F32, F16 or BF16 in the order given, int64 arrays as I64 and uint8 ones as U8. `kinds` has the types of those that differ,
    F8_E4M3 and F8_E5M2 of uint8 codes. Returns the bytes of the tensors."""
    header, parts, offset = {"__metadata__": {"format": "pt"}}, [], 0
    for name, values in tensors.items():
        kind = (kinds or {}).get(name) or {"int64": "I64", "uint8": "U8"}.get(values.dtype.name, dtype)
        data = (bf16Bits(values) if kind == "BF16" else numpy.asarray(values, DTYPES[kind])).tobytes()
        header[name] = {"dtype": kind, "shape": list(values.shape), "data_offsets": [offset, offset + len(data)]}
        parts.append(data)
        offset += len(data)
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(encoded)) + encoded)
        for data in parts:
            file.write(data)
    return offset


def writeDirectory(directory, tensors, dtype, shards=1, kinds=None):
    """model.safetensors, or `shards` files with an index; the tensors are dealt out in turn."""
    if shards == 1:
        write(os.path.join(directory, "model.safetensors"), tensors, dtype, kinds)
        return
    total, places = 0, {}
    for shard in range(shards):
        name = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        part = {tensor: tensors[tensor] for tensor in list(tensors)[shard::shards]}
        total += write(os.path.join(directory, name), part, dtype, kinds)
        places.update({tensor: name for tensor in part})
    with open(os.path.join(directory, "model.safetensors.index.json"), "w", encoding="utf-8") as file:
        json.dump({"metadata": {"total_size": total}, "weight_map": places}, file, indent=2)


def writeModel(directory, config, tensors, dtype, shards=1, kinds=None):
    """A model's directory: config.json and the weights."""
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=2)
    writeDirectory(directory, tensors, dtype, shards, kinds)
