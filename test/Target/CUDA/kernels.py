"""Compiles kernels of attn_gpu to PTX, runs them on the PTX simulator with every order of asynchronous copies and matmuls, and
compares their results with numpy. With ptxas: nothing is spilled and no matmul is serialized."""

import argparse
import itertools
import pathlib
import re
import subprocess

import numpy as np

import ptxas


def bf16(x):
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def unbf16(bits):
    return (np.asarray(bits, np.uint32) << 16).view(np.float32)


def ptx_of(module):
    """The PTX in the text of a gpu.binary."""
    text = re.search(r'assembly = "(.*?)"[>,]', module, re.DOTALL)[1].encode("latin1")
    return re.sub(rb"\\([0-9A-F]{2})", lambda match: bytes([int(match[1], 16)]), text).rstrip(b"\0").decode("latin1")


class Runner:
    def __init__(self, args):
        self.args, self.count, self.wrong, self.compiled = args, 0, 0, {}

    def compile(self, name, replacements):
        """The PTX file of a kernel, whose text has been changed by the replacements."""
        key = (name, *replacements)
        if key in self.compiled:
            return self.compiled[key]
        text = (self.args.kernels / f"{name}.mlir").read_text()
        for old, new in replacements:
            if old not in text:
                raise ValueError(f"{name} has no '{old}'")
            text = text.replace(old, new)
        file = self.args.scratch / f"{name}-{len(self.compiled)}.ptx"
        command = [self.args.opt, "-", "--attn-gpu-to-llvm", "--gpu-module-to-binary=format=isa"]
        file.write_text(ptx_of(subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout))
        if re.search(r"\.extern \.func|\.local|\bcall\b", file.read_text()):
            raise ValueError(f"{name} calls functions or uses local memory")
        if self.args.ptxas:
            chip = re.search(r'chip = "(\w+)"', text)[1]
            messages = ptxas.messages(self.args.ptxas, chip, file)
            if " 0 bytes spill stores, 0 bytes spill loads" not in messages or re.search(r"C75\d\d", messages):
                self.wrong += 1
                print(f"{name}: ptxas: {messages}")
        self.compiled[key] = file
        return file

    def run(self, file, kernel, inputs, outputs, arguments, modes, grid="1", threads=128, shared=65536, stderr=None):
        """The arrays that a kernel writes; a fault of the simulator is an error."""
        command = [self.args.tool, file, "--kernel", kernel, "--grid", grid, "--threads", threads, "--shared", shared, *modes]
        for name, array in inputs.items():
            np.save(self.args.scratch / f"{name}.npy", array)
            command += ["--buffer", f"{name}={self.args.scratch / name}.npy"]
        for name, (kind, shape) in outputs.items():
            command += ["--empty", f"{name}={kind}:{','.join(map(str, shape))}", "--output", f"{name}={self.args.scratch / name}.npy"]
        for argument in arguments:
            command += ["--arg", argument]
        subprocess.run(list(map(str, command)), check=True, stderr=stderr)
        return [np.load(self.args.scratch / f"{name}.npy") for name in outputs]

    def expect_fault(self, fault, name, removed, *arguments, **options):
        """A kernel without one of its waits or fences is wrong, and the simulator says so."""
        file = self.compile(name, [removed])
        self.count += 1
        try:
            self.run(file, *arguments, stderr=subprocess.PIPE, **options)
            found = "no fault"
        except subprocess.CalledProcessError as error:
            found = error.stderr.decode()
        if fault not in found:
            self.wrong += 1
            print(f"{name} without '{removed[0].strip()}': expected '{fault}', found {found[:300]}")

    def check(self, name, found, wanted, tolerance):
        self.count += 1
        difference = np.abs(np.asarray(found, np.float64) - wanted)
        if not (difference <= tolerance * (1 + np.abs(wanted))).all():
            self.wrong += 1
            at = tuple(int(i) for i in np.unravel_index(np.nanargmax(difference), difference.shape))
            print(f"{name}: {at} is {found[at]}, not {wanted[at]}")


ORDERS = [["--copies", copies, "--matmuls", matmuls, *seed]
          for copies, matmuls, seed in (("eager", "eager", []), ("lazy", "lazy", []), ("lazy", "eager", ["--seed", "1"]), ("eager", "lazy", ["--seed", "2"]))]


def matmul_sm80(runner):
    """Several tiles of k, and extents that are multiples of no tile."""
    random = np.random.default_rng(1)
    for (m, n, k), swizzle in itertools.product(((64, 64, 64), (100, 72, 168)), (128, 64, 32)):
        a, b = bf16(random.standard_normal((m, k))), bf16(random.standard_normal((n, k)))
        wanted = unbf16(a).astype(np.float64) @ unbf16(b).astype(np.float64).T
        file = runner.compile("matmul-sm80", [("swizzle<128>", f"swizzle<{swizzle}>")])
        for modes in ORDERS[:2] if swizzle != 128 else ORDERS:
            (found,) = runner.run(file, "matmul", {"a": a, "b": b}, {"o": ("f32", (m, n))}, ["a", "b", "o", f"u32={m}", f"u32={n}", f"u32={k}"],
                                  modes, grid=f"{-(-m // 64)},{-(-n // 64)}")
            runner.check(f"matmul {m}x{n}x{k}, swizzle {swizzle}, {modes}", found, wanted, 1e-5)
    case = ("matmul", {"a": a, "b": b}, {"o": ("f32", (m, n))}, ["a", "b", "o", f"u32={m}", f"u32={n}", f"u32={k}"], ORDERS[1])
    runner.expect_fault("missing wait", "matmul-sm80", ("wait.group 1", "wait.group 2"), *case, grid="2,2")
    runner.expect_fault("race", "matmul-sm80", ("      nvvm.barrier\n      scf.yield", "      scf.yield"), *case, grid="2,2")


def softmax_sm80(runner):
    random = np.random.default_rng(2)
    for (keys, kind), modes in itertools.product(((64, "bf16"), (41, "bf16"), (64, "f16")), ORDERS[:2]):
        q, k, v = (random.standard_normal((keys, 64)).astype(np.float32) for _ in range(3))
        q *= 0.2
        encode, decode = (bf16, unbf16) if kind == "bf16" else (lambda x: x.astype(np.float16), lambda x: x.astype(np.float32))
        stored = {"q": encode(q), "k": encode(k), "v": encode(v)}
        q, k, v = (decode(x).astype(np.float64) for x in stored.values())
        scores = np.where(np.tri(keys, dtype=bool), q @ k.T, -np.inf)
        p = np.exp2(scores - scores.max(1, keepdims=True))
        wanted = p @ v / p.sum(1, keepdims=True)
        file = runner.compile("softmax-sm80", [] if kind == "bf16" else [("bf16", "f16")])
        o, s = runner.run(file, "softmax", stored, {"o": ("u16", (keys, 64)), "s": ("f32", (64, 64))}, ["q", "k", "v", "o", "s", f"u32={keys}"], modes)
        o = decode(o) if kind == "bf16" else o.view(np.float16)
        runner.check(f"softmax of {keys} keys, {kind}, {modes}", o, wanted, 2e-2 if kind == "bf16" else 3e-3)
        # The copy through shared memory has the rounded numbers; rows beyond the queries are of zero queries.
        runner.check(f"transposed output of {keys} keys, {kind}, {modes}", s[:, :keys], np.asarray(o, np.float64).T, 0)


def matmul_sm90a(runner):
    """A ring of three stages that is filled several times, and extents that are multiples of no tile."""
    random = np.random.default_rng(3)
    for (m, n, k), kind, swizzle in (((128, 128, 64), "bf16", 64), ((200, 136, 200), "bf16", 32), ((128, 256, 520), "f16", 128), ((200, 136, 456), "bf16", 128)):
        encode, decode = (bf16, unbf16) if kind == "bf16" else (lambda x: x.astype(np.float16), lambda x: x.astype(np.float32))
        a, b = encode(random.standard_normal((m, k))), encode(random.standard_normal((n, k)))
        wanted = decode(a).astype(np.float64) @ decode(b).astype(np.float64).T
        file = runner.compile("matmul-sm90a", [("bf16", kind), ("swizzle<128>", f"swizzle<{swizzle}>")])
        arguments = [*(f"map={name}:box={swizzle // 2},{rows}:swizzle={swizzle}" for name, rows in (("a", 128), ("b", 128), ("o", 64))), f"u32={k}"]
        for modes in ORDERS:
            (found,) = runner.run(file, "matmul", {"a": a, "b": b}, {"o": ("u16", (m, n))}, arguments, modes,
                                  grid=f"{-(-m // 128)},{-(-n // 128)}", threads=384, shared=131120)
            found = unbf16(found) if kind == "bf16" else found.view(np.float16)
            runner.check(f"matmul {m}x{n}x{k}, {kind}, swizzle {swizzle}, {modes}", found, wanted, 5e-3 if kind == "bf16" else 6e-4)
    case = ("matmul", {"a": a, "b": b}, {"o": ("u16", (m, n))}, arguments, ORDERS[1])
    options = {"grid": "1,2", "threads": 384, "shared": 131120}
    for fault, removed in (("missing wait", ("attn_gpu.mbarrier_wait %full parity %parity\n", "\n")), ("missing fence", ("nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}\n", "\n")),
                           ("race", ("attn_gpu.barrier_sync %group threads 128\n", "\n")), ("deadlock", ("attn_gpu.mbarrier_arrive %empty\n", "\n")),
                           ("race", ("%isLater = arith.cmpi ugt, %i, %c0", "%isLater = arith.cmpi uge, %i, %c0"))):
        runner.expect_fault(fault, "matmul-sm90a", removed, *case, **options)


def softmax_sm90a(runner):
    random = np.random.default_rng(4)
    for (keys, swizzle), modes in itertools.product(((128, 128), (77, 128), (77, 64), (128, 32)), ORDERS):
        q, k, v = (bf16(random.standard_normal((keys, 128)) * scale) for scale in (0.1, 1, 1))
        scores = np.where(np.tri(keys, dtype=bool), unbf16(q).astype(np.float64) @ unbf16(k).T, -np.inf)
        p = np.exp2(scores - scores.max(1, keepdims=True))
        wanted = p @ unbf16(v) / p.sum(1, keepdims=True)
        arguments = [*(f"map={name}:box={swizzle // 2},128:swizzle={swizzle}" for name in "qkv"), "o", f"u32={keys}"]
        file = runner.compile("softmax-sm90a", [("swizzle<128>", f"swizzle<{swizzle}>")])
        (found,) = runner.run(file, "softmax", {"q": q, "k": k, "v": v}, {"o": ("u16", (keys, 128))}, arguments,
                              modes, threads=256, shared=98312)
        runner.check(f"softmax of {keys} keys, swizzle {swizzle}, {modes}", unbf16(found), wanted, 2e-2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--opt", required=True)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--kernels", type=pathlib.Path, required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--chip", choices=("sm80", "sm90a"), required=True)
    parser.add_argument("--ptxas", help="assembles the kernels too")
    args = parser.parse_args()
    args.scratch.mkdir(parents=True, exist_ok=True)
    runner = Runner(args)
    for check in {"sm80": (matmul_sm80, softmax_sm80), "sm90a": (matmul_sm90a, softmax_sm90a)}[args.chip]:
        check(runner)
    print(f"{runner.count} checks: {runner.count - runner.wrong} right, {runner.wrong} wrong")
    return runner.wrong != 0


if __name__ == "__main__":
    raise SystemExit(main())
