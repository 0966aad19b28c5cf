#!/usr/bin/env python3
"""The programs test/Perf/attention-*.mlir, which tools/dev/gpu-check times, at small sizes, for a GPU: against float64. Their lengths do not divide into the tiles of queries
and keys, and the last tile of keys may have a single one."""

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "test" / "Perf" / "gpu"))

import kernels  # noqa: E402
import programs  # noqa: E402

tools = kernels.tools(__doc__)
checks = kernels.Checks()
SIZES = ((1, 1, 1), (2, 65, 1), (1, 130, 2))  # batch, tokens, heads
FEW = (SIZES[1],)  # of the sizes of head and mask that differ from another program in one alone
for name in programs.NAMES:
    program = programs.Program(name)
    compiled = kernels.Program(tools, name, (ROOT / "test" / "Perf" / f"{name}.mlir").read_text())
    for sizes in SIZES if name == "attention-128-causal" else FEW:
        arrays = program.operands(*sizes)
        result, = compiled.compiled("attention", arrays, [(program.shapes(*sizes)[3], np.uint16)], sizes)
        checks.near(f"{name} {sizes}", np.array(program.error(arrays, result, rows=500)), np.zeros(()), programs.TOLERANCE)
if "--gpu-arch=sm_90a" in tools.options:  # no array begins between multiples of 16 bytes
    checks.equal("arrays have tensor maps", np.array(tools.device.maps > 0), np.array(True))
checks.finish()
