"""The instructions of this machine for bf16 dot products, raptc's options for code that uses them, and a stand-in for AMX where it
has none."""

import ctypes
import os
import platform
import subprocess
from pathlib import Path

with open("/proc/cpuinfo", encoding="utf-8") as file:
    flags = next((line for line in file if line.startswith("flags")), "").split()

AVX2 = "x86-64-v3"  # raptc's name of a CPU that has AVX2 and no more
# Whether what raptc compiles for this machine is code for AVX2 and no more.
IS_AVX2 = {"avx2", "fma"} <= set(flags) and not {"avx512f", "avx_vnni"} & set(flags)


def ask_for_tiles():
    """Whether the system saves the state of tiles for this process from now on, as it must before one is used; ARCH_REQ_XCOMP_PERM of
    XFEATURE_XTILEDATA."""
    return platform.machine() == "x86_64" and ctypes.CDLL(None).arch_prctl(0x1023, ctypes.c_ulong(18)) == 0


def see(given):
    """Sets what this module says to that of a processor with these flags."""
    global flags, HAS_DOT, HAS_TILES, HAS_WIDE_VECTORS, HAS_BF16_MATMUL
    flags = given
    HAS_DOT = "avx512_bf16" in flags
    HAS_TILES = {"amx_bf16", "amx_int8"} <= set(flags) and ask_for_tiles()
    HAS_WIDE_VECTORS = "avx512f" in flags
    # Whether code for --mcpu=native has bf16 matmuls, which cast both operands to bf16.
    HAS_BF16_MATMUL = HAS_TILES or (HAS_DOT and "avx512_fp16" not in flags)


def see_avx2():
    """From now on this module says what it says on a machine with AVX2 and no more: code is compiled for such a one."""
    see([flag for flag in flags if not flag.startswith(("avx512", "avx_", "amx"))])


HAS_BYTE_DOT = "avx_vnni" in flags  # which code may use that is told so
see(flags)
if os.environ.get("RAPT_CASE_CPU") == AVX2:  # which a case has that is compiled for it (tools.py)
    see_avx2()

# Code by bf16 dot products, also where multiply-adds are faster: for a processor without AMX and without f16 arithmetic.
DOT = ["--mcpu=native", "--mattr=-avx512fp16,-amx-bf16"]
# Code by AMX, also where the processor has none; without AVX-512 raptc does not use AMX.
TILES = ["--mcpu=native", "--mattr=+amx-tile,+amx-bf16,+amx-int8"]


def build_input(name, clang, scratch):
    library = Path(scratch) / f"{name}.so"
    library.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([clang, "-O3", "-march=x86-64-v3", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
                    str(Path(__file__).parent / "Inputs" / f"{name}.c"), "-o", str(library)], check=True)
    return library


def build_tiles(clang, scratch):
    """A library that emulates AMX instructions in a process that loads it."""
    return build_input("matrix_tiles", clang, scratch)


def allow_byte_dot(clang, scratch):
    """Lets this process run vpdpbusd of AVX-VNNI. Returns a function: how many were emulated, None where the processor has it."""
    if HAS_BYTE_DOT:
        return lambda: None
    return ctypes.CDLL(str(build_input("byte_dots", clang, scratch))).byte_dots


def allow_tiles(clang, scratch):
    """Lets this process run AMX instructions. Returns a function: how many tile multiplications were emulated, None where the processor has AMX."""
    if HAS_TILES:
        return lambda: None
    return ctypes.CDLL(str(build_tiles(clang, scratch))).matrix_tiles_multiplications
