"""Compares matrix instructions and bulk copies of the PTX simulator with numpy.

Fragments, swizzles and descriptors are written here from the tables of the PTX ISA, one element at a time.
"""

import argparse
import pathlib
import subprocess

import numpy as np

HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 dyn[];\n"


def bf16(x):
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def unbf16(bits):
    return (np.asarray(bits, np.uint32) << 16).view(np.float32)


class Runner:
    def __init__(self, tool, scratch, ptxas):
        self.tool, self.scratch, self.ptxas, self.count, self.wrong = tool, scratch, ptxas, 0, 0

    def run(self, text, inputs, outputs, arguments, threads=32, shared=65536 + 1024, modes=()):
        """Runs kernel `k` on arrays; the arrays that it wrote."""
        (self.scratch / "k.ptx").write_text(HEAD + text)
        if self.ptxas:
            subprocess.run([self.ptxas, "-arch=sm_90a", self.scratch / "k.ptx", "-o", "/dev/null"], check=True)
        command = [self.tool, self.scratch / "k.ptx", "--kernel", "k", "--threads", threads, "--shared", shared, *modes]
        for name, array in inputs.items():
            np.save(self.scratch / f"{name}.npy", array)
            command += ["--buffer", f"{name}={self.scratch / name}.npy"]
        for name, (kind, shape) in outputs.items():
            command += ["--empty", f"{name}={kind}:{','.join(map(str, shape))}", "--output", f"{name}={self.scratch / name}.npy"]
        for argument in arguments:
            command += ["--arg", argument]
        subprocess.run(list(map(str, command)), check=True)
        return [np.load(self.scratch / f"{name}.npy") for name in outputs]

    def check(self, name, found, wanted, tolerance=0.0):
        self.count += 1
        difference = np.abs(np.asarray(found, np.float64) - np.asarray(wanted, np.float64))
        if not (difference <= tolerance * (1 + np.abs(np.asarray(wanted, np.float64)))).all():
            self.wrong += 1
            at = tuple(int(i) for i in np.unravel_index(np.argmax(difference), difference.shape))
            print(f"{name}: {at} is {found[at]}, not {wanted[at]}")


def parameters(count):
    return "(" + ", ".join(f".param .u64 p{i}" for i in range(count)) + ")"


def loads(count):
    return "".join(f".reg .b64 %q{i}; ld.param.b64 %q{i}, [p{i}];\n" for i in range(count))


def mma(runner, shape, k, kind, accumulator):
    """mma.sync: each lane loads its fragments from rows that lie in global memory, an element at a time."""
    random = np.random.default_rng(k)
    size = {"bf16": 2, "f16": 2, "tf32": 4, "s8": 1, "u8": 1}[kind]
    parts, unsigned = 4 // size, {1: "u8", 2: "u16", 4: "u32"}[size]
    if kind in ("s8", "u8"):
        a, b = (random.integers(*((-128, 128) if kind == "s8" else (0, 256)), s) for s in ((16, k), (k, 8)))
        c = random.integers(-1000, 1000, (16, 8)).astype(np.int32)
        stored = [x.astype(np.uint8).view(np.int8) for x in (a, b)]
    else:
        a, b = random.standard_normal((16, k)).astype(np.float32), random.standard_normal((k, 8)).astype(np.float32)
        c = random.standard_normal((16, 8)).astype(np.float32)
        encode = {"bf16": bf16, "f16": lambda x: x.astype(np.float16).view(np.uint16),
                  "tf32": lambda x: (x.view(np.uint32) & 0xffffe000).view(np.float32)}[kind]
        stored = [encode(a), encode(b)]
        a, b = ({"bf16": unbf16, "f16": lambda x: x.view(np.float16), "tf32": lambda x: x}[kind](x) for x in stored)
    text = f".visible .entry k{parameters(4)} {{\n{loads(4)}"
    text += ".reg .b32 %lane, %row, %column, %i, %t, %u; .reg .b64 %o, %x; .reg .b32 %a<4>; .reg .b32 %b<2>; .reg .b32 %c<4>;\n"
    text += "mov.u32 %lane, %tid.x; shr.u32 %row, %lane, 2; and.b32 %column, %lane, 3;\n"

    def element(target, base, row, column, width, part):
        """target |= base[row, column] << 8 * size * part; row and column are expressions in %row and %column."""
        return (f"mad.lo.s32 %i, %row, {row[0]}, {row[1]}; mad.lo.s32 %t, %column, {column[0]}, {column[1]}; mad.lo.s32 %i, %i, {width}, %t;"
                f" mul.wide.u32 %o, %i, {size}; add.s64 %x, {base}, %o; ld.global.{unsigned} %u, [%x]; shl.b32 %u, %u, {8 * size * part};"
                f" or.b32 {target}, {target}, %u;\n")

    registers_a, registers_b = k * size // 8, k * size // 16
    for r in range(registers_a):
        text += f"mov.b32 %a{r}, 0;\n"
        for part in range(parts):
            text += element(f"%a{r}", "%q0", (1, 8 * (r % 2)), (parts, part + 4 * parts * (r // 2)), k, part)
    for r in range(registers_b):
        text += f"mov.b32 %b{r}, 0;\n"
        for part in range(parts):  # row and column change roles: B is [k, 8]
            text += (f"mad.lo.s32 %i, %column, {parts}, {part + 4 * parts * r}; mad.lo.s32 %i, %i, 8, %row; mul.wide.u32 %o, %i, {size};"
                     f" add.s64 %x, %q1, %o; ld.global.{unsigned} %u, [%x]; shl.b32 %u, %u, {8 * size * part}; or.b32 %b{r}, %b{r}, %u;\n")
    store = ""
    for e in range(4):
        place = f"add.u32 %i, %row, {8 * (e // 2)}; mad.lo.s32 %i, %i, 8, {e % 2}; mad.lo.s32 %i, %column, 2, %i; mul.wide.u32 %o, %i, 4;"
        text += f"{place} add.s64 %x, %q2, %o; ld.global.b32 %c{e}, [%x];\n"
        store += f"{place} add.s64 %x, %q3, %o; st.global.b32 [%x], %c{e};\n"
    names = lambda letter, count: "{" + ", ".join(f"%{letter}{i}" for i in range(count)) + "}"
    text += (f"mma.sync.aligned.{shape}.row.col.{accumulator}.{kind}.{kind}.{accumulator} {names('c', 4)}, {names('a', registers_a)},"
             f" {names('b', registers_b)}, {names('c', 4)};\n{store}ret; }}\n")
    (d,) = runner.run(text, {"a": stored[0], "b": stored[1], "c": c}, {"d": ("i32" if accumulator == "s32" else "f32", (16, 8))}, ["a", "b", "c", "d"])
    runner.check(f"mma {shape} {kind}", d, np.asarray(a, np.float64) @ np.asarray(b, np.float64) + c, 1e-6)


def ldmatrix(runner, count, transposed):
    """ldmatrix, and stmatrix of what it loaded to another place."""
    random = np.random.default_rng(count)
    source = random.integers(0, 65536, (8 * count, 8)).astype(np.uint16)
    trans = ".trans" if transposed else ""
    registers = "{" + ", ".join(f"%r{i}" for i in range(count)) + "}"
    text = f".visible .entry k{parameters(3)} {{\n{loads(3)}.reg .b32 %lane, %s, %i; .reg .b32 %r<4>; .reg .b64 %o, %x; .reg .b64 %v, %w; .reg .pred %p;\n"
    text += f"mov.u32 %lane, %tid.x; mov.u32 %s, dyn; mad.lo.s32 %s, %lane, 16, %s; mul.wide.u32 %o, %lane, 16;\nsetp.ge.u32 %p, %lane, {8 * count};\n"
    text += "@%p bra DONE; add.s64 %x, %q0, %o; ld.global.v2.b64 {%v, %w}, [%x]; st.shared.v2.b64 [%s], {%v, %w};\nDONE: bar.warp.sync -1;\n"
    text += f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {registers}, [%s];\n"
    text += f"mul.wide.u32 %o, %lane, {4 * count}; add.s64 %x, %q1, %o;\n"
    text += "".join(f"st.global.b32 [%x+{4 * i}], %r{i};\n" for i in range(count))
    text += f"stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%s+1024], {registers};\nbar.warp.sync -1;\n"
    text += "@%p bra END; ld.shared.v2.b64 {%v, %w}, [%s+1024]; mul.wide.u32 %o, %lane, 16; add.s64 %x, %q2, %o; st.global.v2.b64 [%x], {%v, %w};\nEND: ret; }\n"
    fragments, back = runner.run(text, {"a": source}, {"f": ("u16", (32, count, 2)), "b": ("u16", source.shape)}, ["a", "f", "b"])
    wanted = np.empty((32, count, 2), np.uint16)
    for lane in range(32):
        for i in range(count):
            for half in range(2):
                row, column = lane // 4, 2 * (lane % 4) + half
                wanted[lane, i, half] = source[8 * i + (column if transposed else row), row if transposed else column]
    runner.check(f"ldmatrix x{count}{trans}", fragments, wanted)
    runner.check(f"stmatrix x{count}{trans}", back, source)


def swizzle(address, span):
    """Bits 4.. of an address combined with bits 7..: 3 of them for 128 bytes, 2 for 64, 1 for 32."""
    return address ^ (address >> 7 & {128: 7, 64: 3, 32: 1, 0: 0}[span]) << 4


def tma(runner, shape, box, at, span, mode):
    """A box of a tensor with f32 elements, coordinates from the innermost dimension on; parts of it may be outside."""
    source = np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)
    rank, total = len(shape), int(np.prod(box)) * 4
    coordinates = ", ".join(f"{x}" for x in at)
    text = f".visible .entry k(.param .align 64 .b8 m[128], .param .u64 p0) {{\n{loads(1)}"
    text += ".reg .b64 %m, %x, %o, %st; .reg .b32 %lane, %s, %i, %v; .reg .pred %p, %done; .shared .align 8 .b8 bar[8];\n"
    text += "mov.b64 %m, m; cvta.param.u64 %m, %m; mov.u32 %lane, %tid.x; setp.ne.s32 %p, %lane, 0; mov.u32 %s, dyn;\n"
    text += "@%p bra READY; mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;\nREADY: bar.sync 0;\n@%p bra WAIT;\n"
    text += f"mbarrier.arrive.expect_tx.shared.b64 %st, [bar], {total};\n"
    text += (f"cp.async.bulk.tensor.{rank}d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%s], [%m, {{{coordinates}}}], [bar];\n"
             "WAIT: mbarrier.try_wait.parity.shared.b64 %done, [bar], 0; @!%done bra WAIT;\n")
    text += f"mov.u32 %i, %lane;\nLOOP: setp.ge.u32 %p, %i, {total // 4}; @%p bra END; shl.b32 %v, %i, 2; mul.wide.u32 %o, %i, 4; add.s64 %x, %q0, %o; add.s32 %v, %v, %s;"
    text += " ld.shared.b32 %v, [%v]; st.global.b32 [%x], %v; add.s32 %i, %i, 32; bra LOOP;\nEND: ret; }\n"
    argument = f"map=a:box={','.join(map(str, box))}:swizzle={span}"
    (found,) = runner.run(text, {"a": source}, {"o": ("f32", (total // 4,))}, [argument, "o"], modes=["--copies", mode])
    wanted = np.zeros(total // 4, np.float32)
    for number, index in enumerate(np.ndindex(*reversed(box))):  # outermost first
        place = [i + x for i, x in zip(index, reversed(at))]
        inside = all(0 <= p < n for p, n in zip(place, shape))
        wanted[swizzle(4 * number, span) // 4] = source[tuple(place)] if inside else 0
    runner.check(f"bulk copy of box {box} at {at} of {shape}, swizzle {span}, {mode}", found, wanted)


def core_offset(index, byte, span, leading, stride, contiguous_k):
    """Offset of 16 bytes of an operand of wgmma: `index` counts M or N if k is contiguous, else k; `byte` is along the other."""
    if contiguous_k:
        if span == 0:
            return index // 8 * stride + index % 8 * 16 + byte // 16 * leading
        return index // 8 * stride + index % 8 * span + byte
    if span == 0:
        return byte // 16 * stride + index % 8 * 16 + index // 8 * leading
    return byte // span * leading + index // 8 * stride + index % 8 * span + byte % span


def layout(matrix, span, transposed):
    """The bytes of a [rows, 16] bf16 operand in shared memory, with its leading and stride offsets."""
    rows, k = matrix.shape
    width = span or 16
    if not transposed:
        leading, stride = (rows * 16, 128) if span == 0 else (16, 8 * span)
    elif span == 0:
        leading, stride = (rows // 8 * 128, 128)
    else:
        leading, stride = (8 * span * 2, 8 * span)
    image = np.zeros(32768, np.uint8)
    for i in range(rows):
        for j in range(k):
            if not transposed:
                offset = core_offset(i, j * 2 // 16 * 16, width if span else 0, leading, stride, True) + j * 2 % 16
            else:
                offset = core_offset(j, i * 2 // 16 * 16, width if span else 0, leading, stride, False) + i * 2 % 16
            offset = swizzle(offset, span)
            image[offset:offset + 2] = np.frombuffer(matrix[i, j].tobytes(), np.uint8)
    return image, leading, stride


def descriptor(offset, leading, stride, span):
    mode = {0: 0, 128: 1, 64: 2, 32: 3}[span]
    return leading >> 4 << 16 | stride >> 4 << 32 | mode << 62, offset


def wgmma(runner, n, span, transpose_a, transpose_b, in_registers, mode):
    random = np.random.default_rng(n)
    a, b = bf16(random.standard_normal((64, 16))), bf16(random.standard_normal((n, 16)))
    image_a, *offsets_a = layout(a, span, transpose_a)
    image_b, *offsets_b = layout(b, span, transpose_b)
    (high_a, _), (high_b, _) = descriptor(0, *offsets_a, span), descriptor(0, *offsets_b, span)
    image = np.concatenate([image_a, image_b])
    text = f".visible .entry k{parameters(3)} {{\n{loads(3)}.reg .b32 %lane, %s, %i, %t, %u, %row, %col; .reg .b64 %x, %o, %v, %da, %db; .reg .pred %p; .reg .b32 %d<{n // 2}>; .reg .b32 %a<4>;\n"
    text += "mov.u32 %lane, %tid.x; mov.u32 %s, dyn; mov.u32 %i, %lane;\n"
    text += f"LOOP: mul.wide.u32 %o, %i, 8; add.s64 %x, %q0, %o; ld.global.b64 %v, [%x]; mad.lo.s32 %t, %i, 8, %s; st.shared.b64 [%t], %v; add.s32 %i, %i, 128; setp.lt.u32 %p, %i, {len(image) // 8}; @%p bra LOOP;\n"
    text += "fence.proxy.async; bar.sync 0; shr.u32 %t, %s, 4; cvt.u64.u32 %x, %t;\n"
    text += f"or.b64 %da, %x, {high_a}; add.s64 %x, %x, {32768 >> 4}; or.b64 %db, %x, {high_b};\n"
    # Row and column of a lane's first element of A and of the accumulators.
    text += "shr.u32 %row, %lane, 5; mul.lo.s32 %row, %row, 16; and.b32 %t, %lane, 31; shr.u32 %u, %t, 2; add.s32 %row, %row, %u; and.b32 %col, %t, 3; shl.b32 %col, %col, 1;\n"
    for r in range(4 if in_registers else 0):
        text += (f"add.s32 %t, %row, {8 * (r % 2)}; mad.lo.s32 %t, %t, 16, %col; add.s32 %t, %t, {8 * (r // 2)}; mul.wide.u32 %o, %t, 2; add.s64 %x, %q2, %o;"
                 f" ld.global.b32 %a{r}, [%x];\n")
    d = "{" + ", ".join(f"%d{i}" for i in range(n // 2)) + "}"
    first = "{%a0, %a1, %a2, %a3}" if in_registers else "%da"
    flags = f"{int(transpose_b)}" if in_registers else f"{int(transpose_a)}, {int(transpose_b)}"
    text += "wgmma.fence.sync.aligned;\n"
    for scale in (0, 1):
        text += f"setp.ne.b32 %p, {scale}, 0;\nwgmma.mma_async.sync.aligned.m64n{n}k16.f32.bf16.bf16 {d}, {first}, %db, %p, 1, 1, {flags};\n"
    text += "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
    for r in range(n // 2):
        text += (f"add.s32 %t, %row, {8 * (r // 2 % 2)}; mad.lo.s32 %t, %t, {n}, %col; add.s32 %t, %t, {8 * (r // 4) + r % 2}; mul.wide.u32 %o, %t, 4; add.s64 %x, %q1, %o;"
                 f" st.global.b32 [%x], %d{r};\n")
    text += "ret; }\n"
    (found,) = runner.run(text, {"i": image.view(np.int8), "a": a}, {"o": ("f32", (64, n))}, ["i", "o", "a"], threads=128, modes=["--matmuls", mode])
    wanted = 2 * unbf16(a).astype(np.float64) @ unbf16(b).astype(np.float64).T
    runner.check(f"wgmma n{n}, swizzle {span}, transposed {transpose_a} {transpose_b}, registers {in_registers}, {mode}", found, wanted, 1e-6)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--ptxas", help="assembles the kernels too")
    args = parser.parse_args()
    args.scratch.mkdir(parents=True, exist_ok=True)
    runner = Runner(args.tool, args.scratch, args.ptxas)
    for shape, k, kind, accumulator in (("m16n8k8", 8, "bf16", "f32"), ("m16n8k16", 16, "bf16", "f32"), ("m16n8k8", 8, "f16", "f32"),
                                        ("m16n8k16", 16, "f16", "f32"), ("m16n8k4", 4, "tf32", "f32"), ("m16n8k8", 8, "tf32", "f32"),
                                        ("m16n8k16", 16, "s8", "s32"), ("m16n8k32", 32, "s8", "s32"), ("m16n8k32", 32, "u8", "s32")):
        mma(runner, shape, k, kind, accumulator)
    for count in (1, 2, 4):
        for transposed in (False, True):
            ldmatrix(runner, count, transposed)
    for mode in ("eager", "lazy"):
        tma(runner, (7, 40), (32, 4), (8, 3), 128, mode)
        tma(runner, (7, 40), (16, 8), (-4, -2), 64, mode)
        tma(runner, (3, 5, 24), (8, 4, 2), (20, 3, 2), 32, mode)
        tma(runner, (2, 3, 5, 24), (12, 2, 2, 2), (16, 4, 0, 1), 0, mode)
        tma(runner, (64,), (32,), (48,), 128, mode)
        for n in (8, 64, 128):
            for span in (0, 32, 64, 128):
                wgmma(runner, n, span, False, False, False, mode)
        wgmma(runner, 64, 128, True, True, False, mode)
        wgmma(runner, 64, 0, True, True, False, mode)
        wgmma(runner, 32, 64, True, True, False, mode)
        wgmma(runner, 128, 128, False, True, True, mode)
        wgmma(runner, 256, 128, False, False, True, mode)
    print(f"{runner.count} checks: {runner.count - runner.wrong} right, {runner.wrong} wrong")
    return runner.wrong != 0


if __name__ == "__main__":
    raise SystemExit(main())
