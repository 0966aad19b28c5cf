#!/usr/bin/env python3
"""Casts to bf16 by the generic target on CPUs without an instruction for it: nearest, ties to even, bit by bit as numpy's integers give
them; numbers that overflow, subnormal ones, infinities and NaN. Columns that fill no vector, so that scalars are cast, too."""

import numpy as np

import kernels
import processor

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(47)
TEXT = """attn.dim @rows min 0 max 1024
func.func @cast(%x: tensor<?x7xf32> {attn.name = "x", attn.dims = ["rows"]}) -> (tensor<?x7xbf16> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y = arith.truncf %x : tensor<?x7xf32> to tensor<?x7xbf16>
  return %y : tensor<?x7xbf16>
}
func.func @activation(%x: tensor<?x7xbf16> {attn.name = "x", attn.dims = ["rows"]}) -> (tensor<?x7xbf16> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y = attn.activation relu %x : tensor<?x7xbf16>
  return %y : tensor<?x7xbf16>
}
"""


def rounded(numbers):
    bits = numbers.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


special = np.array([0, -0.0, 1, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-8 + 2.0**-20, 3.4e38, -3.4e38, np.inf, -np.inf, 1e-40, -1e-45, 65504, 2.0**-126], np.float32)
for cpu in ("x86-64-v3", "x86-64-v4"):
    tools.options = ["--target=generic", f"--mcpu={cpu}"]
    program = kernels.Program(tools, f"cast_{cpu.replace('-', '_')}", TEXT)
    if cpu == "x86-64-v4" and not processor.HAS_WIDE_VECTORS:
        print(f"skipped: {cpu}: this processor has no AVX-512; its code is compiled alone")
        continue
    for x in (special.reshape(2, 7), random.standard_normal((1, 7)).astype(np.float32), random.standard_normal((33, 7)).astype(np.float32)):
        rows = len(x)
        checks.equal(f"{cpu}: {rows} rows", program.compiled("cast", [x], [((rows, 7), np.uint16)], [rows])[0], rounded(x))
        narrow = rounded(x)
        positive = np.where(narrow & 0x8000, 0, narrow).astype(np.uint16)
        checks.equal(f"{cpu}: relu of {rows} rows", program.compiled("activation", [narrow], [((rows, 7), np.uint16)], [rows])[0] & np.uint16(0x7FFF), positive)
    nan = np.full((1, 7), np.nan, np.float32)
    got = program.compiled("cast", [nan], [((1, 7), np.uint16)], [1])[0]
    checks.equal(f"{cpu}: NaN", (got & 0x7FC0) == 0x7FC0, np.ones((1, 7), bool))
checks.finish()
