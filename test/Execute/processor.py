"""What this machine multiplies pairs of bf16 with, and raptc's options for code that does so natively."""

with open("/proc/cpuinfo", encoding="utf-8") as file:
    flags = next((line for line in file if line.startswith("flags")), "").split()

HAS_DOT = "avx512_bf16" in flags
HAS_TILES = "amx_bf16" in flags
# The dot product, also where multiply-adds are faster: code for a processor without tiles and without arithmetic of f16.
DOT = ["--mcpu=native", "--mattr=-avx512fp16,-amx-bf16"]
# Whether code for --mcpu=native multiplies pairs, and so rounds both of a product's operands.
MULTIPLIES_PAIRS = HAS_TILES or (HAS_DOT and "avx512_fp16" not in flags)
