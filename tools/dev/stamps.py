#!/usr/bin/env python3
"""Reuses what a daily run makes beside the build, as long as everything that it is made of is the same. MADE says what that is.

    stamps.py NAME --build BUILD [--folder FOLDER] -- COMMAND...     runs COMMAND, which makes NAME, where something has changed

With --folder, what COMMAND makes is FOLDER: it is kept, and copied from there when it is reused, with what COMMAND printed. Otherwise COMMAND's
results stay where they are. A stamp is BUILD/check/stamps/NAME.json; a command that fails leaves none. RAPT_FULL=1 reuses nothing.
"""

import argparse
import contextlib
import datetime
import fnmatch
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import layers
from repository import Checkout

ROOT = Path(__file__).resolve().parents[2]
BUILD_FILES = ("*CMakeLists.txt", "CMakePresets.json", "tools/cmake/*", "tools/dev/stamps.py", "tools/dev/layers.py", "tools/dev/repository.py")
TOOLCHAIN = ("clang-22", "clang++-22", "ld.lld-22", "cmake", "ninja")
ENVIRONMENT = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CPATH", "LIBRARY_PATH", "CMAKE_TOOLCHAIN_FILE", "CMAKE_PREFIX_PATH", "PATH", "RAPT_MUTATION")


class Made:
    """Something that is made beside the build: of the files of some layers, of those that patterns match, and of files of the build folder;
    `ninja` is its own build folder below the build folder and the target there, `outputs` are patterns of files below the build folder."""

    def __init__(self, of_layers=(), patterns=(), of_build=(), ninja=None, outputs=()):
        self.layers, self.patterns, self.of_build, self.ninja, self.outputs = of_layers, (*BUILD_FILES, *patterns), of_build, ninja, outputs

    def covers(self, path):
        path = str(path)
        return layers.layer(path) in self.layers or any(fnmatch.fnmatchcase(path, pattern) for pattern in self.patterns)


MUTATION = "test/Tools/Mutations/Mutation.h"  # in the copy that tools/dev/mutations puts faults into, any source may include it
MADE = {
    "fuzz": Made(layers.WITHOUT_LLVM, ("test/Fuzz/*.cpp", "test/Fuzz/*.h", "test/Audio/*.h", "tools/dev/run_checks.py", MUTATION), ninja=("fuzz", "fuzzers"), outputs=("fuzz/bin/fuzz-*",)),
    "aarch64": Made(("lib/Runtime", "lib/Support"), ("LICENSE", "THIRD-PARTY-NOTICES.md", MUTATION), ninja=("aarch64", "rapt_runtime"), outputs=("aarch64/lib/librapt_runtime*",)),
    "gpu-check": Made((), ("tools/dev/gpu-check", "test/Execute/*", "test/Perf/*", "test/Examples/*", "test/models/*", "test/Reference/numpy/*", "dialect/Attn/ScalarOps.def"),
                      of_build=("bin/raptc", "bin/rapt-run", "bin/rapt-bench", "bin/rapt-reference", "lib/*.so*", "test/simulated-cuda/*.so*")),
}


@functools.cache
def machine():
    """The things that programs are built with: the tools, all installed packages, the processor, and the environment of compilers."""
    parts = [f"{name}={os.environ.get(name)}" for name in ENVIRONMENT]
    for tool in filter(None, map(shutil.which, TOOLCHAIN)):
        status = os.stat(tool)
        parts.append(f"{os.path.realpath(tool)} {status.st_size} {status.st_mtime_ns}")
    with contextlib.suppress(OSError):
        parts.append(Path("/var/lib/dpkg/status").read_text(encoding="utf-8", errors="replace"))
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        parts += sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))})
    return "\0".join(parts).encode()


def digest(made, root, build, command=()):
    """A hash of everything that `made` is made of, names and contents."""
    found = hashlib.blake2b(machine(), digest_size=20)
    found.update(json.dumps([str(root), str(build), *map(str, command)]).encode())
    paths = [(root, path) for path in Checkout(root).files(("dialect", "lib", "test", "tools", ".")) if made.covers(path)]
    paths += sorted({(build, path.relative_to(build)) for pattern in made.of_build for path in build.glob(pattern)})
    for folder, path in paths:
        content = (folder / path).read_bytes()
        found.update(f"{path}\0{len(content)}\0".encode())
        found.update(content)
    return found.hexdigest()


def uncovered(made, root, build):
    """Files of the checkout that ninja has read for `made`, by its own record, and that `made` does not cover: the definition would be wrong."""
    folder, target = made.ninja
    inputs = subprocess.run(["ninja", "-C", str(build / folder), "-t", "inputs", target], capture_output=True, text=True, check=True).stdout
    headers = subprocess.run(["ninja", "-C", str(build / folder), "-t", "deps"], capture_output=True, text=True, check=True).stdout
    found = set()
    for line in (*inputs.splitlines(), *(line for line in headers.splitlines() if line.startswith("    "))):
        path = Path(os.path.normpath(build / folder / line.strip()))
        if path.is_relative_to(root) and not path.is_relative_to(build) and path.is_file():
            found.add(path.relative_to(root))
    return sorted(path for path in found if not made.covers(path))


class Stamp:
    """Tells whether `name`, a key of MADE, is there as a command line has made it in a build folder."""

    def __init__(self, name, root, build, command=()):
        self.name, self.made, self.root, self.build = name, MADE[name], root, build
        self.file, self.kept = build / "check" / "stamps" / f"{name}.json", build / "check" / "stamps" / name
        self.digest = digest(self.made, root, build, command)

    def outputs(self):
        paths = sorted({path for pattern in self.made.outputs for path in self.build.glob(pattern) if path.is_file()})
        return {str(path.relative_to(self.build)): [path.stat().st_size, path.stat().st_mtime_ns] for path in paths}

    def reusable(self):
        """The stamp, where NAME is there as it was made of the same things and nothing asks to make it again; else None."""
        try:
            stamp = json.loads(self.file.read_text(encoding="utf-8"))
            same = stamp["digest"] == self.digest and stamp["outputs"] == self.outputs()
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return stamp if same and os.environ.get("RAPT_FULL") != "1" and (stamp["outputs"] or self.kept.is_dir()) else None

    def drop(self):
        """To be called before NAME is made: a failure leaves no stamp."""
        self.file.unlink(missing_ok=True)

    def write(self, printed="", reused=None, made=None):
        """`reused` and `made` are times in seconds; made: now."""
        stamp = {"digest": self.digest, "outputs": self.outputs(), "printed": printed, "made": made or time.time(), "reused": reused}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.file.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(stamp), encoding="utf-8")
        fresh.replace(self.file)

    def reuse(self, stamp):
        """Notes that NAME is reused, for `summary`; the line that says so."""
        self.write(stamp["printed"], time.time(), stamp["made"])
        return line(self.name, stamp["made"])


def line(name, made):
    return f"reused: {name}, built from the same sources at {datetime.datetime.fromtimestamp(made).astimezone():%Y-%m-%d %H:%M %Z}"


def summary(build, since):
    """One line for each thing that was reused after the time `since`."""
    for file in sorted((build / "check" / "stamps").glob("*.json")):
        with contextlib.suppress(OSError, ValueError, KeyError):
            stamp = json.loads(file.read_text(encoding="utf-8"))
            if (stamp["reused"] or 0) >= since:
                yield line(file.stem, stamp["made"])


def make(stamp, build):
    """Calls `build`, which returns an exit status, unless the stamp's thing can be reused: (status, lines to show)."""
    known = stamp.reusable()
    if known:
        return 0, [stamp.reuse(known)]
    stamp.drop()
    status = build()
    if status:
        return status, []
    missed = uncovered(stamp.made, stamp.root, stamp.build) if stamp.made.ninja else []
    if missed:
        return 1, [f"stamps.py: {stamp.name} is made of {path} too, which MADE does not cover" for path in missed]
    stamp.write()
    return 0, []


def make_folder(stamp, folder, command):
    """The same for a command that makes a folder and prints."""
    known = stamp.reusable()
    shutil.rmtree(folder, ignore_errors=True)
    if known:
        shutil.copytree(stamp.kept, folder)
        print(known["printed"], end="", flush=True)
        print(stamp.reuse(known), file=sys.stderr)
        return 0
    stamp.drop()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end="", flush=True)
    if done.returncode == 0:
        shutil.rmtree(stamp.kept, ignore_errors=True)
        shutil.copytree(folder, stamp.kept)
        stamp.write(done.stdout)
    return done.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=MADE)
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    stamp = Stamp(options.name, options.root.resolve(), options.build.resolve(), options.command)
    if options.folder:
        return make_folder(stamp, options.folder, options.command)
    status, lines = make(stamp, lambda: subprocess.run(options.command, check=False).returncode)
    for text in lines:
        print(text, file=sys.stderr if status else sys.stdout)
    return status


if __name__ == "__main__":
    sys.exit(main())
