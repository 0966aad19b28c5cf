"""Compiles a module to PTX and assembles it: every kernel with shared memory has the instructions that --needs names, of tensor cores and of asynchronous copies, calls nothing and
uses no local memory, and ptxas spills no register of any, and leaves matmuls of warpgroups asynchronous."""

import argparse
import pathlib
import re
import subprocess

import ptxas


def main():
    parser = argparse.ArgumentParser()
    for name in ("--raptc", "--ptxas", "--chip", "--scratch", "--module"):
        parser.add_argument(name, required=True)
    parser.add_argument("--needs", nargs="*", default=["mma.sync", "ldmatrix", "cp.async.cg", "bar.sync"])
    parser.add_argument("--warpgroups", nargs="*", default=["setmaxnreg.inc", "cp.async.mbarrier.arrive", "cp.async.cg"], help="what kernels with wgmma need besides")
    parser.add_argument("--among", default="", help="looks at kernels with this text alone")
    parser.add_argument("--options", nargs="*", default=[], help="for raptc, without the leading dashes")
    args = parser.parse_args()
    scratch = pathlib.Path(args.scratch)
    scratch.mkdir(parents=True, exist_ok=True)
    file = scratch / f"{args.chip}.ptx"
    subprocess.run([args.raptc, args.module, "--target=cuda", f"--gpu-arch={args.chip}", "--emit=ptx", "-o", file, *("--" + option for option in args.options)], capture_output=True, check=True)
    bodies = [(name, body) for name, body in re.findall(r"\.entry (\w+)\((.*?\n)\}", file.read_text(), re.DOTALL) if args.among in body]
    kernels = [name for name, _ in bodies]
    wrong = 0
    for name, body in bodies:
        if "attn_gpu_shared" not in body:
            continue
        warpgroups = ("wgmma.fence", "mbarrier.try_wait", *args.warpgroups)
        for needed in warpgroups if "wgmma" in body else args.needs:
            if needed not in body:
                wrong += 1
                print(f"{name} has no {needed}")
        for refused in (".local", "call", "div.rn.f64"):
            if refused in body:
                wrong += 1
                print(f"{name} has {refused}")
    messages = ptxas.messages(args.ptxas, args.chip, file)
    spilled = re.findall(r"Compiling entry function '(\w+)'.*?(\d+) bytes spill stores, (\d+) bytes spill loads", messages, re.DOTALL)
    spilled = [found for found in spilled if found[0] in kernels]
    for name, stores, loads in spilled:
        if int(stores) or int(loads):
            wrong += 1
            print(f"{name}: {stores} bytes of stores and {loads} of loads are of spilled registers")
    for line in messages.splitlines():  # wgmma that ptxas makes synchronous
        if "C75" in line:
            wrong += 1
            print(line)
    if len(spilled) != len(kernels):
        wrong += 1
    print(f"{args.chip}: {len(kernels)} kernels, {wrong} problems")
    return wrong != 0


if __name__ == "__main__":
    raise SystemExit(main())
