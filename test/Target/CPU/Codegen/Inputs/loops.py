#!/usr/bin/env python3
"""The innermost loops of a function's assembly, which is read from standard input: how many instructions each has, how many of those named, and how many
move vectors to or from the stack by constant offsets; then how many the function has. Labels of loops are local: .L..."""

import re
import sys

function, *names = sys.argv[1:]
lines, inside = [], False
for line in sys.stdin:
    line = line.split("#")[0].strip()
    if line == f"{function}:":
        inside = True
    elif line.startswith(".Lfunc_end"):
        inside = False
    elif inside and (line.endswith(":") or line and not line.startswith(".")):
        lines.append(line)
labels, code = {}, []
for line in lines:
    if line.endswith(":"):
        labels[line[:-1]] = len(code)
    else:
        code.append(line)
loops = [(labels[target], end) for end, line in enumerate(code) if (target := line.split()[-1]) in labels and line.startswith("j") and labels[target] <= end]
for first, end in loops:
    if any(first <= other[0] and other[1] <= end and other != (first, end) for other in loops):
        continue
    body = code[first:end + 1]
    counts = [sum(re.search(rf"\b{name}\b", line) is not None for line in body) for name in names]
    spills = sum(re.search(r"^vmov\w+\s.*(?<![,\w)])-?\d*\(%rsp\)", line) is not None for line in body)
    if any(counts):
        print(f"loop of {len(body)}:", ", ".join(f"{count} {name}" for count, name in zip(counts, names)) + f", {spills} spills")
print(f"{function}: {len(code)} instructions")
