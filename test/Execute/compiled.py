#!/usr/bin/env python3
"""compiled.py RAPTC MODEL FOLDER: FOLDER/NAME.so, its header and its weights of the model directory MODEL, as `raptc MODEL -o FOLDER/NAME.so`.

Tests that need a compiled model, not the compiler, share it: in one run of the tests each model is compiled once by each RAPTC, such as a script that
compiles for another target, below the folder RAPT_COMPILED, which lit sets."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys


def library(raptc, model, folder):
    """The path of the library below `folder`, which exists."""
    name = os.path.basename(os.path.normpath(model))
    shared = os.environ.get("RAPT_COMPILED")
    target = os.path.join(folder, name + ".so")
    if not shared:
        subprocess.run([raptc, model, "-o", target], check=True, capture_output=True)
        return target
    compiler = os.path.realpath(shutil.which(raptc) or raptc) + " " + os.environ.get("RAPT_CODEGEN", "")
    made = os.path.join(shared, hashlib.sha256(compiler.encode()).hexdigest()[:16], name)
    os.makedirs(made, exist_ok=True)
    with open(made + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(os.path.join(made, name + ".so")):  # the last file that raptc names
            subprocess.run([raptc, model, "-o", os.path.join(made, name + ".so")], check=True, capture_output=True)
    for file in os.listdir(made):
        shutil.copy(os.path.join(made, file), folder)
    return target


if __name__ == "__main__":
    print(library(*sys.argv[1:]))
