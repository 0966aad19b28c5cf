#!/usr/bin/env python3
"""reschedule.py VARIANT RAPTC ARGUMENTS: raptc with other schedules than the target chooses.

Compiles to the stage laid-out, edits each attn.schedule there as VARIANT says, and compiles that text. The numbers of the compiled code
must not depend on it but for the order of sums, so tests that compare numbers run with this program in the place of raptc. Commands that make no code run as they are."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# name: (rows of a matmul's tiles, most rows of a task, micro-kernel [rows, columns], sequences of a recurrence, queries of tiles, most of a task, KV blocks
# that are taken together, those of a task, splits)
VARIANTS = {
    "ones": ([1], 1, [1, 8], 1, [1], 3, 1, 1, 1),
    "threes": ([3, 2, 1], 6, [2, 16], 3, [3, 1], 6, 3, 3, 3),
    "sevens": ([7, 1], 49, [5, 16], 7, [7, 4, 1], 28, 1, 2, 2),
    "repeats": ([14, 8, 4, 1], 14, [3, 8], 5, [5], 5, 2, 4, 5),  # the last queries of a sequence repeat
    "matrix": ([64, 16, 2, 1], 64, [14, 32], 8, [48, 16], 48, 1, 4, 2),  # tiles of instructions on tiles
    "large": ([32, 9, 1], 224, [16, 16], 16, [16, 9, 1], 144, 8, 64, 9),
}
MADE_BEFORE = ("--dtype=", "--cache-dtype=", "--quantize=", "--quantize-group=", "--quantize-zero-point", "--max-seq-len=", "--max-batch=")


def entries(text):
    """{name: number or list of numbers} of a schedule's text without one within."""
    return {name: json.loads(value) for name, value in re.findall(r"(\w+) = (\[[^\]]*\]|\d+)", text)}


def written(schedule):
    return ", ".join(f"{name} = {value}" for name, value in schedule.items())


def edited(text, variant):
    """A schedule's text with the numbers of `variant`."""
    rows, task_rows, (kernel_rows, columns), sequences, queries, task_queries, blocks, task_blocks, splits = VARIANTS[variant]
    prefetches = re.search(r"prefetch = <(.*?)>, ", text)
    distances = entries(prefetches[1]) if prefetches else {}
    text = text.replace(prefetches[0], "") if prefetches else text
    inner = re.search(r"kernel = <(.*?)>", text)
    kernel, schedule = entries(inner[1]), entries(text.replace(inner[0], ""))

    def put(into, **numbers):
        into.update((name, value) for name, value in numbers.items() if name in into)

    put(kernel, rows=kernel_rows, vnni_rows=max(kernel_rows - 1, 1), group_rows=kernel_rows, columns=min(columns, kernel["columns"]))
    if variant == "ones":
        kernel = {name: value for name, value in kernel.items() if not name.startswith(("chains", "unroll", "wide"))}
        distances = {}
    elif variant != "large":
        put(kernel, chains=2, unroll=2, wide_rows=5)
        put(distances, steps=3, tiles=2, resident_bytes=100, stream_rows=2, stream_bytes=640)
    if "queries" in schedule:
        block = schedule["packed_keys"] if "packed_keys" in schedule else schedule["split_keys"] // 4
        put(schedule, queries=queries, task_queries=task_queries, wide_queries=min(queries[0], 3), keys=block * blocks, task_keys=block * task_blocks,
            rest_keys=block, split_keys=block, splits=splits, rest_rows=5,
            split_queries={"ones": 1, "threes": 3}.get(variant, 9), split_tasks=3 * splits)
        if variant in ("ones", "threes"):
            put(schedule, heads=1)
    elif "task_rows" in schedule:
        depth = schedule.get("depth", 1)
        put(schedule, rows=rows, task_rows=task_rows, widen_rows=2, pack_rows=rows[0], finish=rows, panels=3, row_panels=2, many_rows=1, tasks=1, depth=depth // 2 if depth % 4 == 0 else depth)
        if "wide_rows" not in kernel:  # which they need
            schedule = {name: value for name, value in schedule.items() if name != "row_panels" and (name != "tasks" or "depth" in schedule)}
    else:
        put(schedule, rows=sequences)
    if distances:
        kernel["prefetch"] = f"<{written(distances)}>"
    return written({**schedule, "kernel": f"<{written(kernel)}>"})


def main():
    variant, raptc, *arguments = sys.argv[1:]
    if any(argument.startswith("--emit=") for argument in arguments) or "-o" not in arguments:
        return subprocess.run([raptc, *arguments]).returncode
    with tempfile.TemporaryDirectory() as folder:
        place, text = arguments.index("-o"), Path(folder) / "laid-out.mlir"
        source, output = arguments[0], arguments[place + 1]
        options = [argument for i, argument in enumerate(arguments[1:], 1) if i not in (place, place + 1)]
        made = subprocess.run([raptc, source, *options, "--emit=laid-out", "-o", text])
        if made.returncode:
            return made.returncode
        lines = text.read_text().split("\n")
        for i, line in enumerate(lines):
            found = re.fullmatch(r"(#schedule\d* = #attn_cpu\.\w+<)(.*kernel = .*)>", line)
            if found:
                lines[i] = f"{found[1]}{edited(found[2], variant)}>"
        if not any("kernel = " in line for line in lines if line.startswith("#schedule")):
            sys.exit("reschedule.py: no op has a schedule")
        text.write_text("\n".join(lines))
        after = [option for option in options if not option.startswith(MADE_BEFORE)]
        weights = ["--weights", source] if Path(source).is_dir() else []
        return subprocess.run([raptc, text, *after, *weights, "-o", output]).returncode


if __name__ == "__main__":
    sys.exit(main())
