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
text += """func.func @counted(%ids: tensor<?xi32> {attn.name = "ids", attn.dims = ["tokens"]}, %begin: tensor<?xi32> {attn.name = "begin", attn.dims = ["rows+1"]})
    -> (tensor<?x2xf32> {attn.name = "cos", attn.dims = ["tokens"]}, tensor<?x2xf32> {attn.name = "sin", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %p = attn.positions %ids, %begin padding 1 : tensor<?xi32>, tensor<?xi32>
  %cos, %sin = attn.rotary_table %p frequencies [0.1, 0.001] : tensor<?xi32> -> tensor<?x2xf32>
  return %cos, %sin : tensor<?x2xf32>, tensor<?x2xf32>
}
"""
text += """func.func @longer(%p: tensor<?xi32> {attn.name = "p", attn.dims = ["tokens"]}, %l: tensor<?xi32> {attn.name = "l", attn.dims = ["tokens"]})
    -> (tensor<?x3xf32> {attn.name = "cos", attn.dims = ["tokens"]}, tensor<?x3xf32> {attn.name = "sin", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %cos, %sin = attn.rotary_table %p frequencies [1.0, 0.1, 0.001] beyond 7 of %l frequencies [0.5, 0.3, 0.0001] {magnitude = 1.5 : f32} : tensor<?xi32>, tensor<?xi32> -> tensor<?x3xf32>
  return %cos, %sin : tensor<?x3xf32>, tensor<?x3xf32>
}
"""
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
for ids, begin in (([4, 1, 1, 7, 8, 1, 1, 1, 9], [0, 5, 5, 9]), ([], [0, 0]), ([1], [0, 1]), ([0, 2, 1], [0, 3])):  # tokens of padding are not counted
    ids, positions = np.array(ids, np.int32), np.zeros(len(ids))
    for row in (slice(a, b) for a, b in zip(begin, begin[1:])):
        positions[row] = np.cumsum(ids[row] != 1) * (ids[row] != 1)
    angles = positions[:, None] * np.float32([0.1, 0.001])
    got = program.compiled("counted", [ids, np.array(begin, np.int32)], [(len(ids), 2)] * 2, (len(ids), len(begin) - 1))
    for output, a, b, c in zip(("cos", "sin"), got, program.reference("counted", {"ids": ids, "begin": np.array(begin, np.int32)}, ["cos", "sin"]), (np.cos(angles), np.sin(angles))):
        checks.near(f"counted {ids} {output}", a, c, 5e-7)
        checks.near(f"counted {ids} {output} of the reference", b, c, 5e-7)
positions, lengths = np.array([0, 6, 6, 7, 130_000, 3], np.int32), np.array([1, 7, 8, 8, 131_072, -1], np.int32)
angles = positions[:, None].astype(np.float64) * np.where(lengths[:, None] > 7, np.float32([0.5, 0.3, 0.0001]), np.float32([1.0, 0.1, 0.001]))
for values in (program.compiled("longer", [positions, lengths], [(6, 3)] * 2, (6, 1)), program.reference("longer", {"p": positions, "l": lengths}, ["cos", "sin"])):
    for output, a, b in zip(("cos", "sin"), values, (1.5 * np.cos(angles), 1.5 * np.sin(angles))):
        checks.near(f"frequencies of longer texts {output}", a, b, 5e-7)
checks.finish()
