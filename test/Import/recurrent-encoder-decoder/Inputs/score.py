"""score.py IN OUT [transposed | unbiased]: a checkpoint whose attention.score is the weight of a Linear; transposed: of the wrong
shape; unbiased: also without the head's bias."""

import json
import struct
import sys

with open(sys.argv[1], "rb") as file:
    size = struct.unpack("<Q", file.read(8))[0]
    header, data = json.loads(file.read(size)), file.read()
score = header.pop("attention.score")
assert len(score["shape"]) == 1
score["shape"] = score["shape"] + [1] if sys.argv[3:] == ["transposed"] else [1] + score["shape"]
header["attention.score.weight"] = score
if sys.argv[3:] == ["unbiased"]:
    header["unused"] = header.pop("lm_head.bias")
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(sys.argv[2], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
