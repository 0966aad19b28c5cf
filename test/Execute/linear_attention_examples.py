#!/usr/bin/env python3
"""test/Examples/linear-attention.mlir: six published layers, each against the recurrence of its paper, in the paper's letters, in float64."""

from pathlib import Path

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(37)
program = kernels.Program(tools, "examples", (Path(__file__).parents[1] / "Examples" / "linear-attention.mlir").read_text())
BEGIN = np.array([0, 3, 3, 20], np.int32)
TOKENS = BEGIN[-1]


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def unit(*shape):
    x = normal(*shape)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def near_one(*shape):
    return random.uniform(0.5, 1, shape).astype(np.float32)


def run(entry, inputs, state, heads, step):
    """`step(t, head, S)`: the new state and the output of a token, where `inputs` are the kernel's arrays before its offsets."""
    y, new = np.zeros((TOKENS, heads, state.shape[-1])), state.astype(np.float64)
    for row in range(len(BEGIN) - 1):
        for t in range(BEGIN[row], BEGIN[row + 1]):
            for head in range(heads):
                new[row, head], y[t, head] = step(t, head, new[row, head])
    got, last = program.compiled(entry, [*inputs, BEGIN, state], [y.shape], (TOKENS, len(BEGIN) - 1), in_place=(len(inputs) + 1,))
    checks.near(f"{entry}: output", got, y, 1e-5)
    checks.near(f"{entry}: state", last, new, 1e-5)


def retnet():
    q, k, v = normal(TOKENS, 4, 64), normal(TOKENS, 4, 64), normal(TOKENS, 4, 128)
    gamma = 1 - 2.0 ** (-5 - np.arange(4))

    def step(t, h, S):
        S = gamma[h] * S + np.outer(k[t, h], v[t, h])
        return S, q[t, h] @ S / np.sqrt(64)
    run("retnet", [q, k, v, np.tile(np.log(gamma), (TOKENS, 1)).astype(np.float32)], normal(3, 4, 64, 128), 4, step)


def gla():
    q, k, v, alpha = normal(TOKENS, 4, 64), normal(TOKENS, 4, 64), normal(TOKENS, 4, 128), near_one(TOKENS, 4, 64)

    def step(t, h, S):
        S = alpha[t, h][:, None] * S + np.outer(k[t, h], v[t, h])
        return S, q[t, h] @ S / np.sqrt(64)
    run("gla", [q, k, v, np.log(alpha)], normal(3, 4, 64, 128), 4, step)


def mamba2():
    C, B, x, dt, A = normal(TOKENS, 128), normal(TOKENS, 128), normal(TOKENS, 8, 64), near_one(TOKENS, 8), -np.exp(normal(8))

    def step(t, head, h):
        h = np.exp(A[head] * dt[t, head]) * h + dt[t, head] * np.outer(B[t], x[t, head])
        return h, C[t] @ h
    run("mamba2", [C[:, None], B[:, None], dt[..., None] * x, A * dt], normal(3, 8, 128, 64), 8, step)


def deltanet():
    q, k, v, beta = normal(TOKENS, 4, 64), unit(TOKENS, 4, 64), normal(TOKENS, 4, 64), near_one(TOKENS, 4)

    def step(t, h, S):
        S = S - beta[t, h] * np.outer(k[t, h], k[t, h] @ S - v[t, h])
        return S, q[t, h] @ S / np.sqrt(64)
    run("deltanet", [q, k, v, beta], normal(3, 4, 64, 64), 4, step)


def gated_deltanet():
    q, k, v, alpha, beta = normal(TOKENS, 2, 128), unit(TOKENS, 2, 128), normal(TOKENS, 4, 128), near_one(TOKENS, 4), near_one(TOKENS, 4)

    def step(t, h, state):
        S, key = state.T, k[t, h // 2]
        S = alpha[t, h] * S @ (np.eye(128) - beta[t, h] * np.outer(key, key)) + beta[t, h] * np.outer(v[t, h], key)
        return S.T, S @ q[t, h // 2] / np.sqrt(128)
    run("gated_deltanet", [q, k, v, np.log(alpha), beta], normal(3, 4, 128, 128), 4, step)


def kda():
    q, k, v, alpha, beta = normal(TOKENS, 2, 64), unit(TOKENS, 2, 64), normal(TOKENS, 2, 64), near_one(TOKENS, 2, 64), near_one(TOKENS, 2)

    def step(t, h, S):
        S = (np.eye(64) - beta[t, h] * np.outer(k[t, h], k[t, h])) @ np.diag(alpha[t, h]) @ S + beta[t, h] * np.outer(k[t, h], v[t, h])
        return S, q[t, h] @ S / np.sqrt(64)
    run("kda", [q, k, v, np.log(alpha), beta], normal(3, 2, 64, 64), 2, step)


for check in (retnet, gla, mamba2, deltanet, gated_deltanet, kda):
    check()
checks.finish()
