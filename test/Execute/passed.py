"""Notes what a comparison that passed has shown; tools/dev/generate-docs makes docs/generated/Support.md from the notes.

A note is a line of words: `family NAME CELL [DETAIL]` or `op NAME HOW`. Each script has a file for each way of running it, or each of its cases has one
(RAPT_CASE), in the folder RAPT_PASSED, which lit sets; without it nothing is noted.
"""

import glob
import json
import os
import re
import struct
import subprocess
import sys
import threading

_noted, _lock = {}, threading.Lock()


def note(way, *facts):
    """`way`: "reference" or "compiled"."""
    folder = os.environ.get("RAPT_PASSED")
    if not folder:
        return
    os.makedirs(folder, exist_ok=True)
    name = " ".join(filter(None, (os.path.basename(sys.argv[0]), way, os.environ.get("RAPT_CASE", "").replace("/", "-"))))
    with _lock:
        own = _noted.setdefault(name, set())
        own.update(facts)
        with open(os.path.join(folder, name), "w") as file:
            file.writelines(fact + "\n" for fact in sorted(own))


def ops(way, text):
    """The ops of a program whose results were right."""
    note(way, *{f"op {op} {way}" for op in re.findall(r"(?<![@#!\w.])attn\.(\w+)(?! =)(?=[ (])", text)})


def storage(directory):
    """The type that most values of a checkpoint have; what the config says where there is none."""
    sizes = {}
    for path in glob.glob(os.path.join(directory, "*.safetensors")):
        with open(path, "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        for name, tensor in header.items():
            if name != "__metadata__":
                begin, end = tensor["data_offsets"]
                sizes[tensor["dtype"]] = sizes.get(tensor["dtype"], 0) + end - begin
    return max(sizes, key=sizes.get).lower() if sizes else "f32"


def model(way, directory, raptc, *cells):
    """A model directory whose outputs were right; `cells` of its family besides its storage type and head."""
    if not os.environ.get("RAPT_PASSED"):
        return
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    family = "family " + config["model_type"]
    imported = os.path.join(os.path.dirname(directory), "imported.mlir")  # what the evaluator ran
    if os.path.exists(imported):
        with open(imported, encoding="utf-8") as file:
            text = file.read()
    else:
        has_weights = bool(glob.glob(os.path.join(directory, "*.safetensors")))
        weights = [] if has_weights else ["--random-weights=1"]
        text = subprocess.run([raptc, directory, *weights, "--emit=imported"], check=True, capture_output=True, text=True).stdout
    ops(way, text)
    facts = [f"{family} import"] if way == "reference" else [f"{family} {storage(directory)}"]
    for architecture in config.get("architectures", []):
        facts.append(f"{family} head {architecture}")
    note(way, *facts, *(f"{family} {cell}" for cell in cells))
