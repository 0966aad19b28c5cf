#!/usr/bin/env python3
"""Rotary position embedding, compiled: against the reference in float64, over head dims, partial rotation, pairings, ragged
rows with a past, and positions up to a million."""

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(3)
HEADS = 3
# head dim, rotated channels, frequencies: default, linear by 4, and llama3's, as an importer would write them
SHAPES = [(16, 16, "default"), (20, 20, "llama3"), (32, 10, "default"), (64, 64, "linear"), (64, 16, "default"), (80, 32, "default"),
          (80, 80, "llama3"), (96, 72, "linear"), (128, 128, "llama3"), (33, 2, "default")]


def frequencies(rotated, kind):
    inverse = 10000.0 ** (-np.arange(0, rotated, 2) / rotated)
    if kind == "linear":
        inverse /= 4
    if kind == "llama3":  # factor 8, low 1, high 4, original length 8192
        wave = 2 * np.pi / inverse
        smooth = np.clip((8192 / wave - 1) / 3, 0, 1)
        inverse = (1 - smooth) * inverse / 8 + smooth * inverse
    return np.float32(inverse)


def entry(name, width, values, interleaved):
    pairs, listed = len(values), ", ".join(f"{value:.9e}" for value in values)
    tokens, rows = 'attn.dims = ["tokens"]', 'attn.dims = ["rows"]'
    return f"""func.func @{name}(%x: tensor<?x{HEADS}x{width}xf32> {{attn.name = "x", {tokens}}}, %ids: tensor<?xi32> {{attn.name = "ids", {tokens}}},
    %begin: tensor<?xi32> {{attn.name = "begin", attn.dims = ["rows+1"]}}, %past: tensor<?xi32> {{attn.name = "past", {rows}}})
    -> (tensor<?x{HEADS}x{width}xf32> {{attn.name = "y", {tokens}}}, tensor<?x{pairs}xf32> {{attn.name = "cos", {tokens}}},
        tensor<?x{pairs}xf32> {{attn.name = "sin", {tokens}}}) attributes {{attn.entry}} {{
  %p = attn.positions %ids, %begin, %past : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  %cos, %sin = attn.rotary_table %p frequencies [{listed}] {{magnitude = 1.25 : f32}} : tensor<?xi32> -> tensor<?x{pairs}xf32>
  %y = attn.rope %x, %cos, %sin {interleaved} : tensor<?x{HEADS}x{width}xf32>, tensor<?x{pairs}xf32>
  return %y, %cos, %sin : tensor<?x{HEADS}x{width}xf32>, tensor<?x{pairs}xf32>, tensor<?x{pairs}xf32>
}}
"""


def product(name, heads, width, pairs, way):
    """Heads of a matmul, of which the first are rotated: in the matmul's tasks where a head fills panels."""
    tokens, columns = 'attn.dims = ["tokens"]', heads * width
    return f"""func.func @{name}(%x: tensor<?x35xf32> {{attn.name = "x", {tokens}}}, %w: tensor<35x{columns}xf32> {{attn.name = "w"}},
    %cos: tensor<?x{pairs}xf32> {{attn.name = "cos", {tokens}}}, %sin: tensor<?x{pairs}xf32> {{attn.name = "sin", {tokens}}})
    -> (tensor<?x{columns}xf32> {{attn.name = "y", {tokens}}}) attributes {{attn.entry}} {{
  %0 = attn.linear %x, %w : tensor<?x35xf32>, tensor<35x{columns}xf32> -> tensor<?x{columns}xf32>
  %1 = attn.split_heads %0 : tensor<?x{columns}xf32> -> tensor<?x{heads}x{width}xf32>
  %2 = attn.rope %1, %cos, %sin {way} : tensor<?x{heads}x{width}xf32>, tensor<?x{pairs}xf32>
  %y = attn.merge_heads %2 : tensor<?x{heads}x{width}xf32> -> tensor<?x{columns}xf32>
  return %y : tensor<?x{columns}xf32>
}}
"""


PRODUCTS = {"halves": (5, 64, 32, "heads 3"), "beside": (3, 96, 20, "interleaved heads 2"), "all": (2, 32, 16, ""), "no": (2, 64, 8, "heads 0"),
            "apart": (4, 24, 12, "heads 3"),
            # Channels that a loop takes, rotated or not, with a rest.
            "long_halves": (1, 2063, 1030, ""), "long_interleaved": (2, 1101, 550, "interleaved"), "long_in_tasks": (1, 1088, 540, "interleaved"),
            "long_rest": (1, 1100, 2, "")}
entries = {f"rope_{width}_{rotated}{way}": (width, frequencies(rotated, kind), way)
           for width, rotated, kind in SHAPES for way in ("", "interleaved")}
text = "attn.dim @tokens min 0 max 4096\nattn.dim @rows min 1 max 64\n" + "".join(entry(name, *rest) for name, rest in entries.items())
text += "".join(product(name, *rest) for name, rest in PRODUCTS.items())
program = kernels.Program(tools, "rope", text)
LENGTHS = {(1,): (0,), (7, 0, 13, 1): (5, 3, 999_990, 131_071)}
for name, (width, values, way) in entries.items():
    for lengths, past in LENGTHS.items():
        tokens, begin = sum(lengths), np.cumsum((0,) + lengths).astype(np.int32)
        inputs = {"x": random.standard_normal((tokens, HEADS, width), np.float32), "ids": np.zeros(tokens, np.int32), "begin": begin,
                  "past": np.array(past, np.int32)}
        shapes = [(tokens, HEADS, width)] + [(tokens, len(values))] * 2
        got = program.compiled(name, inputs.values(), shapes, (tokens, len(lengths)))
        expected = program.reference(name, inputs, ["y", "cos", "sin"])
        for output, a, b, bound in zip(("y", "cos", "sin"), got, expected, (1e-6, 5e-7, 5e-7)):
            checks.near(f"{name} {lengths} {output}", a, b, bound)
for name, (heads, width, pairs, _) in PRODUCTS.items():
    for tokens in (0, 1, 19, 211):
        inputs = {key: random.standard_normal(shape, np.float32)
                  for key, shape in (("x", (tokens, 35)), ("w", (35, heads * width)), ("cos", (tokens, pairs)), ("sin", (tokens, pairs)))}
        got, = program.compiled(name, inputs.values(), [(tokens, heads * width)], (tokens, 1))
        expected, = program.reference(name, inputs, ["y"])
        checks.near(f"{name} of {tokens} tokens", got, expected, 2e-6)
checks.finish()
