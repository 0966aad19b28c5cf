"""Copies a model directory, with a NaN in one f32 tensor: poison.py FROM TO TENSOR"""

import json
import os
import shutil
import struct
import sys

source, target, name = sys.argv[1:]
shutil.copytree(source, target)
with open(os.path.join(target, "model.safetensors"), "r+b") as file:
    size, = struct.unpack("<Q", file.read(8))
    begin, end = json.loads(file.read(size))[name]["data_offsets"]
    file.seek(8 + size + (begin + end) // 8 * 4)
    file.write(struct.pack("<f", float("nan")))
