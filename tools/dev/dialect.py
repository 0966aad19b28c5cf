"""Reads the ops of the dialects from the sources: used by check-coverage and generate-docs."""

import re

OP = re.compile(r'^def Attn((?:CPU|GPU|Host)?)_(\w+) : Attn(?:CPU|GPU|Host)?_(?:State|Tensor|NamedBarrier|GlobalFragment)?Op<"([\w.]+)"(.*?)(?=^def |\Z)', re.DOTALL | re.MULTILINE)


def ops(checkout):
    """(name with its dialect, C++ class, .td path, definition) of every op."""
    for path in checkout.files(("dialect",), {".td"}):
        for match in OP.finditer(checkout.text(path)):
            yield f"attn{'_' * bool(match[1])}{match[1].lower()}.{match[3]}", match[2], path, match[4]


def files_with(checkout, pattern, prefixes, suffixes):
    """Files below one of the folders that contain the pattern, sorted."""
    return [path for path in checkout.files(suffixes=suffixes)
            if str(path).lower().startswith(tuple(prefix.lower() for prefix in prefixes))
            and re.search(pattern, checkout.text(path))]
