"""Blocks of random bytes of each type: the numbers that Rapt reads are those of test/Reference/numpy/gguf_blocks.py, bit for bit, and there are none where it has
none. test/Perf/gguf-blocks compares the latter with ggml.

    blocks.py --numbers BUILD/test/gguf-numbers [--blocks COUNT]"""

import argparse
import os
import subprocess
import sys

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Reference", "numpy"))

import gguf_blocks  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--numbers", required=True)
parser.add_argument("--blocks", type=int, default=3000)
options = parser.parse_args()
TYPES = [name for name in gguf_blocks.TYPES if name != "NVFP4"]
failed = 0
for name in TYPES:
    blocks = gguf_blocks.random_blocks(name, numpy.random.default_rng(29), options.blocks, sane=False)
    blocks[0], blocks[1] = 0, 255
    done = subprocess.run([options.numbers, name], input=blocks.tobytes(), stdout=subprocess.PIPE, check=True)
    with numpy.errstate(all="ignore"):
        expected = gguf_blocks.decode(name, blocks).ravel()
    assert (expected < 0).any() and (~numpy.isfinite(expected)).any() and len(set(blocks.ravel().tolist())) == 256, f"{name}: the blocks are too plain"
    found = numpy.frombuffer(done.stdout, numpy.float32)
    assert found.shape == expected.shape, f"{name}: {found.size} numbers, expected {expected.size}"
    same = numpy.where(numpy.isnan(expected), numpy.isnan(found), found.view(numpy.uint32) == expected.view(numpy.uint32))
    if not same.all():
        at = int(numpy.argmin(same))
        print(f"{name}: {int((~same).sum())} of {same.size} numbers differ, the first is {found[at]!r} instead of {expected[at]!r}, element {at}")
        failed += 1
print(f"{len(TYPES) - failed} types passed, {failed} failed")
sys.exit(failed != 0)
