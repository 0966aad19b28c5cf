"""What this machine multiplies pairs of bf16 with, and raptc's options for code that does so natively."""

import ctypes
import subprocess
from pathlib import Path

with open("/proc/cpuinfo", encoding="utf-8") as file:
    flags = next((line for line in file if line.startswith("flags")), "").split()

HAS_DOT = "avx512_bf16" in flags
HAS_TILES = "amx_bf16" in flags
# The dot product, also where multiply-adds are faster: code for a processor without tiles and without arithmetic of f16.
DOT = ["--mcpu=native", "--mattr=-avx512fp16,-amx-bf16"]
# Instructions on tiles, also where the processor has none; what has only narrower vectors than theirs widens all the same.
TILES = ["--mcpu=native", "--mattr=+amx-tile,+amx-bf16,+amx-int8"]
# Whether code for --mcpu=native multiplies pairs, and so rounds both of a product's operands.
MULTIPLIES_PAIRS = HAS_TILES or (HAS_DOT and "avx512_fp16" not in flags)


def build_tiles(clang, scratch):
    """A library in which the instructions on tiles of a process that loads it are code."""
    library = Path(scratch) / "matrix_tiles.so"
    library.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([clang, "-O3", "-march=x86-64-v3", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
                    str(Path(__file__).parent / "Inputs" / "matrix_tiles.c"), "-o", str(library)], check=True)
    return library


def allow_tiles(clang, scratch):
    """Lets this process run instructions on tiles."""
    if not HAS_TILES:
        ctypes.CDLL(str(build_tiles(clang, scratch)))
    elif ctypes.CDLL(None).arch_prctl(0x1023, ctypes.c_ulong(18)):  # ARCH_REQ_XCOMP_PERM of XFEATURE_XTILEDATA
        raise SystemExit("the system refuses the state of tiles")
