"""add_op.py SOURCE WORK [RAPTC_OPTIONS]: applies the diffs that docs/HowTo/add-op.md shows to a copy of the sources in WORK. With options it
builds the copy, and compiles a program of the new op for the CPU and for the generic target, alone and behind a matmul, beside the reference."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

source, work = (Path(path).resolve() for path in sys.argv[1:3])
page = (source / "docs/HowTo/add-op.md").read_text(encoding="utf-8")
diffs = re.findall(r"^```diff\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
paths = [path for diff in diffs for path in re.findall(r"^\+\+\+ b/(\S+)$", diff, re.MULTILINE)]
is_built = len(sys.argv) > 3
copy = work / "copy"
shutil.rmtree(copy, ignore_errors=True)
if is_built:
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("build*", ".git", "Output"))
else:
    for path in paths:
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / path, copy / path)
subprocess.run(["patch", "-p1", "--batch", "--fuzz=0"], cwd=copy, input="".join(diffs), text=True, check=True, stdout=subprocess.DEVNULL)
print(f"{len(diffs)} diffs apply to {len(paths)} files")
if not is_built:
    sys.exit()

build = copy / "build"
for command in (["cmake", "--preset", "dev", "-DRAPT_BUILD_TESTS=OFF"], ["cmake", "--build", str(build), "-j2", "--target", "raptc", "rapt-reference"]):
    subprocess.run(command, cwd=copy, check=True, stdout=subprocess.DEVNULL)

sys.path.insert(0, str(source / "test/Execute"))
import numpy as np  # noqa: E402

import kernels  # noqa: E402

TEXT = """func.func @alone(%x: tensor<?x33xf32> {attn.name = "x", attn.dims = ["rows"]})
    -> (tensor<?x33xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y = attn.softcap %x cap 30.0 : tensor<?x33xf32>
  return %y : tensor<?x33xf32>
}
func.func @fused(%x: tensor<?x33xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<33x40xf32> {attn.name = "w"})
    -> (tensor<?x40xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %0 = attn.linear %x, %w : tensor<?x33xf32>, tensor<33x40xf32> -> tensor<?x40xf32>
  %y = attn.softcap %0 cap 30.0 : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}
attn.dim @rows min 0 max 100
"""
checks, random = kernels.Checks(), np.random.default_rng(1)
arguments = ["add_op.py", "--raptc", str(build / "bin/raptc"), "--reference", str(build / "bin/rapt-reference"), "--clang", "clang-22", "--scratch", str(work)]
for target in sys.argv[3:]:
    sys.argv = [*arguments, "--options", target]
    program = kernels.Program(kernels.tools(__doc__), target, TEXT)
    for rows in (0, 1, 17):
        x, w = np.float32(random.normal(0, 40, (rows, 33))), np.float32(random.normal(0, 1, (33, 40)))
        # Sums of 33 terms of magnitude 40 lose more than the cap does.
        for entry, named, columns, tolerance in (("alone", {"x": x}, 33, 1e-6), ("fused", {"x": x, "w": w}, 40, 1e-5)):
            [got] = program.compiled(entry, named.values(), [(rows, columns)], [rows])
            [expected] = program.reference(entry, named, ["y"])
            checks.near(f"{target} {entry} of {rows} rows", got, expected, tolerance)
kernels.Program.made.clear()  # the op is no op of the project
checks.finish()
