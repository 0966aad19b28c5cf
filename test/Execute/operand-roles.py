#!/usr/bin/env python3
"""Attention that reads one array as several operands, with other maps in each: a layout is asked for an operand, not for the array, whose channels may be
its rows in another operand. Square arrays of sizes that fill panels and that do not, against numpy."""

import itertools

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(3)
DIMS = "(b, hkv, g, q, kv, dqk, dv)"
OPERANDS = {"qk": "aab", "kv": "abb", "qv": "aba", "all": "aaa"}
MAPS = list(itertools.product(("(q, dqk)", "(dqk, q)"), ("(kv, dqk)", "(dqk, kv)"), ("(kv, dv)", "(dv, kv)")))


def entry(name, size, operands, maps, pair):
    t = f"tensor<{size}x{size}xf32>"
    # the second pair reads its arrays the other way round
    turned = [dict(zip(MAPS[0] + MAPS[7], MAPS[7] + MAPS[0]))[m] for m in maps[:2]] if pair else []
    texts = ", ".join(f"affine_map<{DIMS} -> {m}>" for m in (*maps, "(q, dv)", *turned))
    second = f"second(%{operands[0]}, %{operands[1]} : {t}, {t})" if pair else ""
    return f"""func.func @{name}(%a: {t} {{attn.name = "a"}}, %b: {t} {{attn.name = "b"}}) -> ({t} {{attn.name = "o"}}) attributes {{attn.entry}} {{
  %scale = arith.constant 0.3 : f32
  %o = attn.attention {', '.join('%' + x for x in operands)}, %scale {second} maps [{texts}] : {t}, {t}, {t} -> {t}
  return %o : {t}
}}
"""


cases = {f"n{size}{which}{i}{'p' * pair}": (size, operands, maps, pair)
         for size in (64, 40) for which, operands in OPERANDS.items() for i, maps in enumerate(MAPS) for pair in (False, True) if i in (1, 2, 3, 4) and (size == 64 or i < 3) and (not pair or i == 2)}
program = kernels.Program(tools, "roles", "".join(entry(name, *case) for name, case in cases.items()))
for name, (size, operands, maps, pair) in cases.items():
    arrays = {x: random.standard_normal((size, size)).astype(np.float32) for x in "ab"}
    q, k, v = (arrays[x].astype(np.float64) if m == straight else arrays[x].astype(np.float64).T for x, m, straight in zip(operands, maps, MAPS[0]))
    s = 0.3 * (q @ k.T + (q.T @ k if pair else 0))
    powers = np.exp(s - s.max(1, keepdims=True))
    got, = program.compiled(name, [arrays["a"], arrays["b"]], [(size, size)], ())
    checks.near(f"{name} {operands} {maps}", got, powers / powers.sum(1, keepdims=True) @ v, 1e-5)
checks.finish()
