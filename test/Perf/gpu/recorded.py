#!/usr/bin/env python3
"""Runs a script of test/Execute whose programs were compiled on another machine, which records what the tools made.

    recorded.py record FOLDER SCRIPT OPTION...     here: raptc and rapt-reference run, the GPU does not
    recorded.py replay FOLDER SCRIPT OPTION...     on a machine with a GPU: their files come from FOLDER

The options are raptc's, without dashes. A file's name is the hash of what the tool read, so that a replay finds what it needs or says that it is another program."""

import hashlib
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
TOOLS = ("raptc", "rapt-reference")
run = subprocess.run


class Recording:
    """Stands in for subprocess.run."""

    def __init__(self, folder, is_replay):
        self.folder, self.is_replay = Path(folder), is_replay
        self.calls = {}  # how often the reference ran one entry on these shapes

    def __call__(self, command, **options):
        name = Path(command[0]).name
        if name not in TOOLS:
            raise RuntimeError(f"the script runs {name}, which cannot be recorded")
        made = getattr(self, name.replace("-", "_"))(command, options)
        return made or subprocess.CompletedProcess(command, 0, "", "")

    def file(self, key, suffix):
        path = self.folder / (key + suffix)
        if self.is_replay and not path.exists():
            raise RuntimeError(f"{path.name} is not recorded: this script made other inputs or programs than on the machine that packed them")
        return path

    def raptc(self, command, options):
        flags = [word for word in command[1:] if word.startswith("--")]
        output, key = command[command.index("-o") + 1], key_of(Path(command[1]).read_bytes(), *flags)
        isText = output == "-"
        made = self.file(key, ".txt" if isText else Path(output).suffix)
        if self.is_replay and isText:
            return subprocess.CompletedProcess(command, 0, made.read_text(), "")
        if self.is_replay:
            shutil.copy(made, output)
            return None
        done = run(command, **options)
        if isText:
            made.write_text(done.stdout)
        else:
            shutil.copy(output, made)
        return done

    def rapt_reference(self, command, options):
        files = {kind: dict(word.split("=", 2)[1:] for word in command if word.startswith(f"--{kind}=")) for kind in ("input", "output")}
        flags = [word for word in command[2:] if not word.startswith(("--input=", "--output="))]
        inputs = {name: np.load(path) for name, path in sorted(files["input"].items())}
        shapes = [f"{name} {array.dtype} {array.shape}" for name, array in inputs.items()]
        key = key_of(Path(command[1]).read_bytes(), *flags, *shapes)
        self.calls[key] = self.calls.get(key, 0) + 1
        made = self.file(f"{key}-{self.calls[key]}", ".npz")
        digests = np.array([digest_of(array) for array in inputs.values()])
        if self.is_replay:
            with np.load(made) as arrays:
                if not np.allclose(digests, arrays["digests of inputs"], rtol=1e-4, atol=1e-6):
                    raise RuntimeError(f"{made.name} has other inputs: numpy {np.__version__} draws other numbers than on the machine that packed them")
                for name, path in files["output"].items():
                    np.save(path, arrays[name])
            return None
        done = run(command, **options)
        outputs = {name: np.load(path) for name, path in files["output"].items()}
        np.savez_compressed(made, **{"digests of inputs": digests}, **outputs)
        return done


def digest_of(array):
    """Sums that tell drawn numbers apart, and differ little where a last bit does: functions such as cosine are not the same on all processors."""
    numbers = np.nan_to_num(array.astype(np.float64).ravel(), posinf=0, neginf=0)
    return np.abs(numbers).sum(), np.abs(numbers * (np.arange(numbers.size) % 7 + 1)).sum()


def key_of(*parts):
    """The hash of texts and bytes."""
    hashed = hashlib.sha256()
    for part in parts:
        part = part if isinstance(part, bytes) else part.encode()
        hashed.update(len(part).to_bytes(8, "little") + part)
    return hashed.hexdigest()[:24]


class NoDevice:
    """Leaves outputs as they are."""

    maps = 0

    def run(self, library, entry, arrays, extents):
        pass


def main():
    way, folder, script, *options = sys.argv[1:]
    is_replay = way == "replay"
    sys.path[:0] = [str(Path(script).resolve().parent), str(HERE)]
    import device
    import kernels
    if not is_replay:  # outputs are not computed, so no comparison holds
        device.Device = NoDevice
        kernels.Checks.near = kernels.Checks.equal = lambda *_: None
        kernels.Checks.finish = lambda _: sys.exit(0)
    os.environ.pop("RAPT_PASSED", None)
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run = kernels.resident.run = Recording(folder, is_replay)
        sys.argv = [script, "--raptc", "raptc", "--reference", "rapt-reference", "--clang", "clang", "--scratch", scratch, "--options", "target=cuda", *options]
        runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
