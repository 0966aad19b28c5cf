"""The features of this machine's processor that tests and measurements depend on."""


def features():
    """The instruction sets, as the kernel allows them: avx2, avx512, avx512vnni, avx512bf16, amx."""
    try:
        with open("/proc/cpuinfo") as file:
            flags = next((line for line in file if line.startswith("flags")), "").split()
    except OSError:
        return []
    needs = {"avx2": ["avx2", "fma"], "avx512": ["avx512f", "avx512bw", "avx512dq", "avx512vl"],
             "avx512vnni": ["avx512_vnni"], "avx512bf16": ["avx512_bf16"], "amx": ["amx_tile", "amx_bf16", "amx_int8"]}
    return [feature for feature, names in needs.items() if all(name in flags for name in names)]
