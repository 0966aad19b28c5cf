"""Counts the machine code (ELF files for CUDA) and the PTX inside files."""

import struct
import sys

EM_CUDA = 190

for path in sys.argv[1:]:
    with open(path, "rb") as file:
        code = file.read()
    starts = [at for at in range(0, len(code) - 64, 8) if code[at:at + 4] == b"\x7fELF"]
    cubins = sum(struct.unpack_from("<H", code, at + 18)[0] == EM_CUDA for at in starts)
    print(f"{path}: {cubins} cubins, {code.count(b'.visible .entry') and code.count(b'.address_size 64')} texts")
