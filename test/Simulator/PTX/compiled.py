"""Compares kernels that clang compiles for NVPTX, run by the PTX simulator, with the same C compiled for the host."""

import argparse
import ctypes
import pathlib
import subprocess

import numpy as np

THREADS = 96


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--clang", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--options", nargs="+", required=True, help="of the compiler for NVPTX, without a dash")
    args = parser.parse_args()
    args.scratch.mkdir(parents=True, exist_ok=True)
    library, ptx = args.scratch / "host.so", args.scratch / "device.ptx"
    common = [args.clang, "-ffp-contract=off", "-w", args.source]
    subprocess.run([*common, "-O1", "-Xclang", "-ffloat16-excess-precision=none", "-shared", "-fPIC", "--rtlib=compiler-rt", "-o", library], check=True)
    device = ["--target=nvptx64-nvidia-cuda", "-nogpulib", "-ffreestanding", "-S", "-o", ptx]
    subprocess.run([*common, *device, *("-" + option for option in args.options)], check=True)
    host = ctypes.CDLL(str(library.resolve()))
    random = np.random.default_rng(1)
    floats = random.standard_normal(THREADS * 24).astype(np.float32) * 3
    integers = random.integers(-(1 << 62), 1 << 62, THREADS) >> random.integers(0, 60, THREADS)
    cases = [("matmul", floats[:300], floats[300:600], np.zeros(THREADS, np.float32), (8, 11, 13)),
             ("divisions", integers, None, np.zeros(THREADS, np.int64), (THREADS, 0, 0)),
             ("branches", integers, None, np.zeros(THREADS, np.int64), (THREADS, 0, 0)),
             ("bytes", random.integers(-128, 128, THREADS * 16).astype(np.int8), None, np.zeros(THREADS, np.int64), (THREADS, 0, 0)),
             ("conversions", floats[:THREADS], None, np.zeros(THREADS, np.int64), (THREADS, 0, 0)),
             ("softmax", floats, None, np.zeros(THREADS * 24, np.float32), (0, 0, 24))]
    wrong = 0
    for name, a, b, out, numbers in cases:
        b_or_zero = [b.ctypes.data if b is not None else 0]
        for thread in range(THREADS):
            host.setThread(thread)
            getattr(host, name)(*map(ctypes.c_void_p, (out.ctypes.data, a.ctypes.data, *b_or_zero)), *map(ctypes.c_int64, numbers))
        np.save(args.scratch / "a.npy", a)
        np.save(args.scratch / "b.npy", b if b is not None else np.zeros(1, np.float32))
        kind = "f32" if out.dtype == np.float32 else "i64"
        command = [args.tool, ptx, "--kernel", name, "--grid", "3", "--threads", "32", "--buffer", f"a={args.scratch}/a.npy",
                   "--buffer", f"b={args.scratch}/b.npy", "--empty", f"o={kind}:{len(out)}", "--output", f"o={args.scratch}/o.npy"]
        for argument in ("o", "a", "b", *(f"u64={n}" for n in numbers)):
            command += ["--arg", argument]
        (args.scratch / "o.npy").unlink(missing_ok=True)
        subprocess.run(list(map(str, command)), check=False)
        found = np.load(args.scratch / "o.npy")
        count = 88 if name == "matmul" else len(out)
        if not np.array_equal(found[:count], out[:count]):
            wrong += 1
            at = int(np.argmax(found[:count] != out[:count]))
            print(f"{name}: element {at} is {found[at]!r}, not {out[at]!r}")
    print(f"{len(cases)} kernels: {len(cases) - wrong} right, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    raise SystemExit(main())
