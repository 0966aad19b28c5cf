#!/usr/bin/env python3
"""The entries of attn-add-token-entries beside a sort by numpy: the most likely tokens of rows with equal logits, NaN and infinities, of vocabularies whose
groups compete once and twice, and where there are fewer groups than tokens are wanted. Rows have bounds of their ids, also fewer ids than tokens are wanted."""

import subprocess
from pathlib import Path

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(38)
INF = np.float32(np.inf)


def entries(vocabulary, most):
    """The text of both entries for a model with this vocabulary."""
    rows = f'tensor<?x{vocabulary}xf32> {{attn.name = "logits", attn.dims = ["wanted"]}}'
    step = (f'attn.dim @wanted min 0 max 64\nfunc.func @step(%x: {rows.replace("logits", "x")}) -> ({rows}) attributes {{attn.entry}} {{\n'
            f'return %x : {rows.split(" ")[0]}\n}}\n')
    source = Path(tools.scratch) / f"step-{vocabulary}-{most}.mlir"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(step)
    opt = str(Path(tools.raptc).with_name("rapt-opt")) if "/" in tools.raptc else "rapt-opt"
    return subprocess.run([opt, str(source), f"--attn-add-token-entries=most={most}"], check=True, capture_output=True, text=True).stdout


def expected(logits, among, count):
    """The first `count` of each row: NaN and +infinity first, larger before smaller, lower ids before equals."""
    ids, values = np.full((len(logits), count), -1, np.int32), np.full((len(logits), count), -INF, np.float32)
    for row, (x, end) in enumerate(zip(logits, among)):
        order = sorted(range(min(end, len(x))), key=lambda i: (0, 0, i) if not x[i] < INF else (1, -x[i], i))[:count]
        ids[row, :len(order)], values[row, :len(order)] = order, x[order]
    return ids, values


def rows(vocabulary):
    """Rows of logits, and how many ids of each are tokens."""
    plain = random.standard_normal((7, vocabulary)).astype(np.float32)
    plain[1] = np.round(plain[1])  # many are equal
    plain[2] = -INF
    plain[2, random.integers(vocabulary, size=3)] = [1, -2, 1]
    plain[3, [vocabulary // 2, vocabulary // 3]] = np.nan, INF
    plain[4] = 0
    plain[4, ::2] = -0.0  # equals 0
    plain[5] = -INF
    plain[6] = np.sort(plain[6])
    return plain, np.array([vocabulary, vocabulary - 1, vocabulary, vocabulary + 5, vocabulary, vocabulary, 3], np.int32)


for vocabulary, most in [(53, 8), (64, 64), (1000, 8), (4200, 2)]:
    program = kernels.Program(tools, f"top-{vocabulary}-{most}", entries(vocabulary, most))
    logits, among = rows(vocabulary)
    for entry, count in [("best_token", 1), ("top_tokens", most)]:
        shape = (len(logits), count)
        got = program.compiled(entry, [logits, among], [(shape, np.int32), (shape, np.float32)], (len(logits),))
        for name, array, wanted in zip(("ids", "logits"), got, expected(logits, among, count)):
            checks.equal(f"{entry} of {vocabulary}: {name}", array, wanted)
checks.finish()
