"""The kernels that a page of docs shows, as one module."""

import re
from pathlib import Path

PAGES = Path(__file__).resolve().parents[2] / "docs" / "HowTo"


def kernels(page):
    """{name: text} of the ```mlir blocks of docs/HowTo/`page`. Each is a function `name` with its own names of maps and types."""
    found = {}
    for block in re.findall(r"^```mlir\n(.*?)^```", (PAGES / page).read_text(), re.DOTALL | re.MULTILINE):
        name = re.search(r"func\.func @(\w+)", block)[1]
        found[name] = owned(block, name)
    return found


def owned(text, name):
    """`text` with `name` in front of its aliases, so that it may be beside others in a module."""
    for sign, alias in re.findall(r"^([#!])(\w+) =", text, re.MULTILINE):
        text = re.sub(rf"{sign}{alias}\b", f"{sign}{name}_{alias}", text)
    return text


def renamed(text, name, new):
    """The kernel `name` as `new`."""
    return re.sub(rf"([#!]){name}_", rf"\1{new}_", text).replace(f"@{name}(", f"@{new}(")
