"""The instructions of this machine for bf16 dot products, raptc's options for code that uses them, and a stand-in for AMX where it
has none."""

import ctypes
import platform
import subprocess
from pathlib import Path

with open("/proc/cpuinfo", encoding="utf-8") as file:
    flags = next((line for line in file if line.startswith("flags")), "").split()


def ask_for_tiles():
    """Whether the system saves the state of tiles for this process from now on, as it must before one is used; ARCH_REQ_XCOMP_PERM of
    XFEATURE_XTILEDATA."""
    return platform.machine() == "x86_64" and ctypes.CDLL(None).arch_prctl(0x1023, ctypes.c_ulong(18)) == 0


HAS_DOT = "avx512_bf16" in flags
HAS_TILES = {"amx_bf16", "amx_int8"} <= set(flags) and ask_for_tiles()
HAS_WIDE_VECTORS = "avx512f" in flags
# The dot product, also where multiply-adds are faster: code for a processor without tiles and without arithmetic of f16.
DOT = ["--mcpu=native", "--mattr=-avx512fp16,-amx-bf16"]
# Instructions on tiles, also where the processor has none; without AVX-512 raptc takes none.
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
    """Lets this process run instructions on tiles. The result says how many products code was run for, None where the processor has them."""
    if HAS_TILES:
        return lambda: None
    return ctypes.CDLL(str(build_tiles(clang, scratch))).matrix_tiles_products
