"""full_disk.py FOLDER MODEL: raptc on a file system that is too small, and on one that is read-only. Run below `unshare -m`."""

import os
import subprocess
import sys

folder, model = sys.argv[1:]
output = os.path.join(folder, "x.so")


def contents():
    return {name: open(os.path.join(folder, name), "rb").read() for name in os.listdir(folder)}


def mount(options):
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], check=True)


def compile(*options):
    return subprocess.run(["raptc", model, "-o", output, *options], capture_output=True, text=True)


def refuse(text, *options):
    before = contents()
    done = compile(*options)
    lines = done.stderr.splitlines()
    if done.returncode != 1 or len(lines) != 1 or text not in lines[0] or "x" not in lines[0]:
        sys.exit(f"expected one line with '{text}', not exit status {done.returncode} and\n{done.stderr}")
    if contents() != before:
        sys.exit(f"{options} changed the folder: {sorted(before)} became {sorted(contents())}")


def fill(left):
    """Leaves `left` bytes free."""
    space = os.statvfs(folder)
    with open(os.path.join(folder, "filler"), "wb") as file:
        file.write(bytes(space.f_bavail * space.f_frsize - left))


mount("size=16m")
if compile("--random-weights=2").returncode != 0:
    sys.exit("there is space for one model")
pages = sum((len(data) + 4095) // 4096 * 4096 for name, data in contents().items() if name.endswith(".weights"))
# No byte; half of the weights; all of the weights but not the library; the library but not the header.
library = (os.path.getsize(output) + 4095) // 4096 * 4096
for left in (0, pages // 2, pages, pages + library):
    fill(left)
    refuse("No space left on device", "--random-weights=1")
    os.remove(os.path.join(folder, "filler"))
fill(0)
refuse("No space left on device", "--random-weights=1", "--emit=tiled", "-o", os.path.join(folder, "x.mlir"))
os.remove(os.path.join(folder, "filler"))

subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
refuse("Read-only file system", "--random-weights=2")
refuse("Read-only file system", "--random-weights=2", "--emit=tiled", "-o", os.path.join(folder, "x.mlir"))
