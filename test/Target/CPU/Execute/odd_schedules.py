#!/usr/bin/env python3
"""Schedules that no target chooses give the same numbers: tiles of 1, 3, 5 and 7 rows, KV blocks of 32 and 96 keys, one split and many, k blocks of
half the depth, micro-kernels of narrow vectors. Kernels against numpy in float64, models with a cache against the reference in float64: of f32, and
of bf16 by instructions on pairs and on tiles, which other code takes the place of where the machine lacks them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

EXECUTE = Path(__file__).resolve().parents[3] / "Execute"
sys.path.insert(0, str(EXECUTE))

import kernels  # noqa: E402
import reschedule  # noqa: E402

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(41)
scratch, raptc, inputs = Path(tools.scratch), tools.raptc, EXECUTE / "Inputs"
PLAIN, DEEP, WIDTH, HEADS, CHANNELS = 48, 1664, 96, 2, 40
MAPS = ", ".join(f"affine_map<(b, h, g, i, j, c, d) -> ({place})>" for place in ("i, h, c", "j, h, c", "j, h, d", "i, h, d"))


def argument(name, *shape):
    rows = ', attn.dims = ["rows"]' if shape[0] == "?" else ""
    return f'%{name}: tensor<{"x".join(map(str, shape))}xf32> {{attn.name = "{name}"{rows}}}'


def result(*shape):
    return f'(tensor<{"x".join(map(str, shape))}xf32> {{attn.name = "y", attn.dims = ["rows"]}}) attributes {{attn.entry}}'


def product(k):
    """A matmul on a weight in packed panels, whose epilogue adds a row."""
    types = f"tensor<?x{k}xf32>, tensor<{WIDTH // 32}x{k}x32xf32>, (tensor<?x{WIDTH}xf32>) -> tensor<?x{WIDTH}xf32>"
    return f"""func.func @product{k}({argument("x", "?", k)}, {argument("w", WIDTH // 32, k, 32)}, {argument("r", "?", WIDTH)}) -> {result("?", WIDTH)} {{
  %y = attn.linear %x, %w, (%r) {{layout = #attn_cpu.panels<columns = 32, interleave = 1>}} : {types} {{
  ^bb0(%s: f32, %e: f32):
    %0 = arith.addf %s, %e : f32
    attn.yield %0 : f32
  }}
  return %y : tensor<?x{WIDTH}xf32>
}}
"""


def attention():
    """Each position sees itself and 100 before it: blocks that are masked in part at both ends, and whole ones."""
    heads = f"tensor<?x{HEADS}x{CHANNELS}xf32>"
    return f"""func.func @attention({", ".join(argument(name, "?", HEADS, CHANNELS) for name in "qkv")}) -> {result("?", HEADS, CHANNELS)} {{
  %scale = arith.constant 0.25 : f32
  %y = attn.attention %q, %k, %v, %scale maps [{MAPS}] : {heads}, {heads}, {heads} -> {heads} mask {{
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %sees = arith.cmpi sle, %j, %i : index
    %most = arith.constant 100 : index
    %back = arith.subi %i, %j : index
    %near = arith.cmpi sle, %back, %most : index
    %both = arith.andi %sees, %near : i1
    attn.yield %both : i1
  }}
  return %y : {heads}
}}
"""


def expected_attention(q, k, v):
    scores = 0.25 * np.einsum("ihc,jhc->hij", q.astype(np.float64), k)
    back = np.arange(len(q))[:, None] - np.arange(len(q))[None, :]
    scores[:, (back < 0) | (back > 100)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-1e30))
    return np.einsum("hij,jhc->ihc", weights / weights.sum(-1, keepdims=True), v)


def run_kernels(variant, text):
    program = kernels.Program(tools, f"kernels-{variant}", text)
    for rows in (1, 2, 17, 40, 151):
        for k in (PLAIN, DEEP):
            x, w, r = (random.standard_normal(shape).astype(np.float32) for shape in ((rows, k), (WIDTH // 32, k, 32), (rows, WIDTH)))
            found, = program.compiled(f"product{k}", [x, w, r], [(rows, WIDTH)], (rows,))
            checks.near(f"{variant}: {rows} x {k}", found, x.astype(np.float64) @ w.transpose(1, 0, 2).reshape(k, WIDTH) + r, np.sqrt(k) * 2.0**-24)
        q, k, v = (random.standard_normal((rows, HEADS, CHANNELS)).astype(np.float32) for _ in range(3))
        found, = program.compiled("attention", [q, k, v], [q.shape], (rows,))
        checks.near(f"{variant}: attention of {rows}", found, expected_attention(q, k, v), 4e-6)


def logits(*command):
    subprocess.run([*map(str, command), "--input", f"input_ids={scratch / 'ids.npy'}", "--input", f"attention_mask={scratch / 'mask.npy'}",
                    "--output", f"logits={scratch / 'logits.npy'}"], check=True, capture_output=True)
    return np.load(scratch / "logits.npy").astype(np.float64)


# The storage of a model, its relative L2, and of each code the options and variants.
MODELS = {"f32": (1e-5, {"vectors": ([], ["threes"])}),
          "bf16": (1e-2, {"pairs": (["--emulate=bf16"], ["repeats"]), "tiles": (["--emulate=amx"], ["matrix"]),
                          "widened": (["--mcpu=x86-64-v3"], ["sevens"])})}


def run_models():
    lengths = [130, 1, 64, 33]  # of sequences, within and at the ends of a cache's blocks
    mask = (np.arange(max(lengths))[None, :] < np.array(lengths)[:, None]).astype(np.int64)
    np.save(scratch / "mask.npy", mask)
    np.save(scratch / "ids.npy", random.integers(0, 61, mask.shape) * mask)
    model, seeded = scratch / "model", [raptc, inputs / "grouped-layer.json", "--random-weights=12"]
    model.mkdir(exist_ok=True)
    shutil.copy(seeded[1], model / "config.json")
    subprocess.run([*seeded, "--save-weights", model / "model.safetensors", "-o", scratch / "seeded.so"], check=True, capture_output=True)
    for storage, (tolerance, codes) in MODELS.items():
        subprocess.run([*seeded, f"--dtype={storage}", "--emit=imported", "-o", scratch / "imported.mlir"], check=True)
        expected = logits(tools.reference, scratch / "imported.mlir", "--random-weights=12", "--precision=f64")
        for code, (options, variants) in codes.items():
            for variant in variants:
                library = scratch / f"{code}-{variant}.so"
                subprocess.run([sys.executable, reschedule.__file__, variant, raptc, model, f"--dtype={storage}", *options, "-o", library], check=True, capture_output=True)
                found = logits("rapt-run", library)
                checks.near(f"{code}, {variant}: relative L2", np.array([np.linalg.norm(found - expected) / np.linalg.norm(expected)]), np.zeros(1), tolerance)
                # One query of each sequence over its cache, by splits.
                tokens = [subprocess.run(["rapt-run", library, "--tokens", ",".join(str(7 * i % 61) for i in range(150)), "-n", "4", "--ignore-eos", *threads],
                                         check=True, capture_output=True, text=True).stdout for threads in (["--threads", "1"], ["--threads", "3"])]
                checks.near(f"{code}, {variant}: tokens by threads", np.array([tokens[0] != tokens[1]], float), np.zeros(1), 0.0)


scratch.mkdir(parents=True, exist_ok=True)
TEXT = "attn.dim @rows min 0 max 1024\n" + product(PLAIN) + product(DEEP) + attention()
# 16 registers have members of their own: several steps an iteration, and whole lines of a panel for few rows.
PROGRAMS = {**{variant: (variant, "") for variant in reschedule.VARIANTS if variant not in ("matrix", "repeats")},
            **{f"{variant}-16-registers": (variant, "--mcpu=x86-64-v3") for variant in ("threes", "sevens")}}
for name, (variant, options) in PROGRAMS.items():
    tools.raptc = str(scratch / name)
    Path(tools.raptc).write_text(f'#!/bin/sh\nexec {sys.executable} {reschedule.__file__} {variant} {raptc} "$@" {options}\n')
    os.chmod(tools.raptc, 0o755)
    run_kernels(name, TEXT)
run_models()
checks.finish()
