#!/usr/bin/env python3
"""Parameters of rank 0 to 4, made by transforms from several tensors of a checkpoint and read by ops of linalg, tensor, arith and attn: a mixture of
experts, a table of attention, norms of heads, matmuls. By the CPU's target and the generic one against the reference in float64, which is compared with numpy."""

import subprocess
from pathlib import Path

import numpy as np

import kernels
import packed_model
import resident

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(19)
LAYERS, EXPERTS, WIDTH, INNER, HEADS, CHANNELS, KEYS = 2, 3, 20, 37, 4, 5, 33
ROWS = (0, 1, 17, 40)
experts = ", ".join(f'#attn.source<"{{layer}}.up.{e}", transpose<1, 0>>' for e in range(EXPERTS))
MODEL = f"""module attributes {{attn.model = {{family = "test", task = "feature-extraction", layers = {LAYERS} : i64}}}} {{
attn.dim @tokens min 0 max 1024
// Experts [out, in], each a tensor of its own.
attn.parameter @up layers {LAYERS} : tensor<{LAYERS}x{EXPERTS}x{WIDTH}x{INNER}xf32> from stack<dim = 0> [{experts}]
// All of a layer are one tensor [in, experts, out], of which half belongs to something else.
attn.parameter @down layers {LAYERS} : tensor<{LAYERS}x{EXPERTS}x{INNER}x{WIDTH}xf32>
  from [#attn.source<"{{layer}}.down" : {INNER}x{EXPERTS}x{2 * WIDTH}, slice<dim = 2, {WIDTH} to {2 * WIDTH}>, transpose<1, 0, 2>, scale<0.25>>]
attn.parameter @gates layers {LAYERS} : tensor<{LAYERS}x{EXPERTS}xf32> from stack<dim = 0> [{", ".join(f'#attn.source<"{{layer}}.gate.{e}" : 1, reshape<[]>>' for e in range(EXPERTS))}]
attn.parameter @damping layers {LAYERS} : tensor<{LAYERS}xf32> from [#attn.source<"{{layer}}.damping">]
// Heads interleaved with those of something else, as query_key_value of GPT-NeoX.
attn.parameter @query : tensor<{WIDTH}x{WIDTH}xf32>
  from [#attn.source<"qkv" : {3 * WIDTH}x{WIDTH}, reshape<{HEADS}x3x{CHANNELS}x{WIDTH}>, slice<dim = 1, 0 to 1>, reshape<{WIDTH}x{WIDTH}>>]
// Weight and bias of the norms of each head.
attn.parameter @norm : tensor<{CHANNELS}xf32> from [#attn.source<"norm">]
attn.parameter @shift : tensor<{CHANNELS}xf32> from [#attn.source<"shift">]
attn.parameter @keys : tensor<{KEYS}x{HEADS}x{CHANNELS}xf32> from concat<dim = 0> [#attn.source<"first" : {KEYS - 9}x{HEADS}x{CHANNELS}>, #attn.source<"last" : 9x{HEADS}x{CHANNELS}>]
attn.parameter @table : tensor<{HEADS}x{KEYS}xf32> from [#attn.source<"table" : {KEYS}x{HEADS}, transpose<1, 0>, cast<bf16>>]
func.func @embed(%x: tensor<?x{WIDTH}xf32> {{attn.name = "x", attn.dims = ["tokens"]}})
    -> (tensor<?x{WIDTH}xf32> {{attn.name = "y", attn.dims = ["tokens"]}}, tensor<?x{HEADS}x{CHANNELS}xf32> {{attn.name = "heads", attn.dims = ["tokens"]}}) attributes {{attn.entry}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %layers = arith.constant {LAYERS} : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x{WIDTH}xf32>
  %start = math.tanh %x : tensor<?x{WIDTH}xf32>
  %y = scf.for %i = %c0 to %layers step %c1 iter_args(%at = %start) -> (tensor<?x{WIDTH}xf32>) {{
    %up = attn.parameter_slice @up[%i] : tensor<{EXPERTS}x{WIDTH}x{INNER}xf32>
    %down = attn.parameter_slice @down[%i] : tensor<{EXPERTS}x{INNER}x{WIDTH}xf32>
    %gates = attn.parameter_slice @gates[%i] : tensor<{EXPERTS}xf32>
    %damping = attn.parameter_slice @damping[%i] : tensor<f32>
    %e0 = tensor.empty(%m) : tensor<{EXPERTS}x?x{INNER}xf32>
    %s0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<{EXPERTS}x?x{INNER}xf32>) -> tensor<{EXPERTS}x?x{INNER}xf32>
    %0 = linalg.generic {{indexing_maps = [affine_map<(e, m, n, k) -> (m, k)>, affine_map<(e, m, n, k) -> (e, k, n)>, affine_map<(e, m, n, k) -> (e, m, n)>],
                         iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins(%at, %up : tensor<?x{WIDTH}xf32>, tensor<{EXPERTS}x{WIDTH}x{INNER}xf32>) outs(%s0 : tensor<{EXPERTS}x?x{INNER}xf32>) {{
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %p = arith.mulf %a, %b : f32
      %q = arith.addf %p, %sum : f32
      linalg.yield %q : f32
    }} -> tensor<{EXPERTS}x?x{INNER}xf32>
    %1 = math.tanh %0 : tensor<{EXPERTS}x?x{INNER}xf32>
    %e1 = tensor.empty(%m) : tensor<?x{WIDTH}xf32>
    %s1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x{WIDTH}xf32>) -> tensor<?x{WIDTH}xf32>
    %2 = linalg.generic {{indexing_maps = [affine_map<(m, n, e, k) -> (e, m, k)>, affine_map<(m, n, e, k) -> (e, k, n)>, affine_map<(m, n, e, k) -> (e)>,
                                          affine_map<(m, n, e, k) -> ()>, affine_map<(m, n, e, k) -> (m, n)>],
                         iterator_types = ["parallel", "parallel", "reduction", "reduction"]}}
      ins(%1, %down, %gates, %damping : tensor<{EXPERTS}x?x{INNER}xf32>, tensor<{EXPERTS}x{INNER}x{WIDTH}xf32>, tensor<{EXPERTS}xf32>, tensor<f32>) outs(%s1 : tensor<?x{WIDTH}xf32>) {{
    ^bb0(%a: f32, %b: f32, %g: f32, %d: f32, %sum: f32):
      %p = arith.mulf %a, %b : f32
      %q = arith.mulf %p, %g : f32
      %r = arith.mulf %q, %d : f32
      %s = arith.addf %r, %sum : f32
      linalg.yield %s : f32
    }} -> tensor<?x{WIDTH}xf32>
    %3 = arith.addf %2, %at : tensor<?x{WIDTH}xf32>
    scf.yield %3 : tensor<?x{WIDTH}xf32>
  }}
  // Learned keys, which every token looks at, with a bias for each head and key.
  %query = attn.parameter_slice @query : tensor<{WIDTH}x{WIDTH}xf32>
  %keys = attn.parameter_slice @keys : tensor<{KEYS}x{HEADS}x{CHANNELS}xf32>
  %table = attn.parameter_slice @table : tensor<{HEADS}x{KEYS}xf32>
  %q = attn.linear %y, %query transposed : tensor<?x{WIDTH}xf32>, tensor<{WIDTH}x{WIDTH}xf32> -> tensor<?x{WIDTH}xf32>
  %norm = attn.parameter_slice @norm : tensor<{CHANNELS}xf32>
  %shift = attn.parameter_slice @shift : tensor<{CHANNELS}xf32>
  %split = attn.split_heads %q : tensor<?x{WIDTH}xf32> -> tensor<?x{HEADS}x{CHANNELS}xf32>
  %rms = attn.rms_norm %split, %norm epsilon 1.0e-3 : tensor<?x{HEADS}x{CHANNELS}xf32>, tensor<{CHANNELS}xf32>
  %heads = attn.layer_norm %rms, %norm, %shift epsilon 1.0e-3 : tensor<?x{HEADS}x{CHANNELS}xf32>, tensor<{CHANNELS}xf32>
  %scale = arith.constant 0.5 : f32
  %z = attn.attention %heads, %keys, %keys, %scale extras(%table : tensor<{HEADS}x{KEYS}xf32>)
    maps [affine_map<(b, h, g, m, n, k, v) -> (m, h, k)>, affine_map<(b, h, g, m, n, k, v) -> (n, h, k)>, affine_map<(b, h, g, m, n, k, v) -> (n, h, v)>,
          affine_map<(b, h, g, m, n, k, v) -> (m, h, v)>, affine_map<(b, h, g, m, n, k, v) -> (h, n)>]
    : tensor<?x{HEADS}x{CHANNELS}xf32>, tensor<{KEYS}x{HEADS}x{CHANNELS}xf32>, tensor<{KEYS}x{HEADS}x{CHANNELS}xf32> -> tensor<?x{HEADS}x{CHANNELS}xf32>
    score {{
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %bias: f32):
      %biased = arith.addf %s, %bias : f32
      attn.yield %biased : f32
    }}
  return %y, %z : tensor<?x{WIDTH}xf32>, tensor<?x{HEADS}x{CHANNELS}xf32>
}}
}}
"""


def by_numpy(weights, x):
    """The model in float64, its parameters cut from the checkpoint's tensors by hand."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    x = np.tanh(x)
    for i in range(LAYERS):
        parts = []
        for e in range(EXPERTS):
            down = w[f"{i}.down"][:, e, WIDTH:] * 0.25
            parts.append(np.tanh(x @ w[f"{i}.up.{e}"].T) @ down * w[f"{i}.gate.{e}"][0] * w[f"{i}.damping"])
        x = x + sum(parts)
    query = w["qkv"].reshape(HEADS, 3, CHANNELS, WIDTH)[:, 0].reshape(WIDTH, WIDTH)
    keys = np.concatenate([w["first"], w["last"]])
    table = weights["table"].view(np.uint32)
    table = ((table + 0x7FFF + (table >> 16 & 1)) & 0xFFFF0000).view(np.float32).astype(np.float64).T
    heads = (x @ query.T).reshape(-1, HEADS, CHANNELS)
    heads = heads / np.sqrt((heads ** 2).mean(-1, keepdims=True) + 1e-3) * w["norm"]
    heads = (heads - heads.mean(-1, keepdims=True)) / np.sqrt(heads.var(-1, keepdims=True) + 1e-3) * w["norm"] + w["shift"]
    scores = 0.5 * np.einsum("mhc,nhc->mhn", heads, keys) + table
    powers = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
    return x, np.einsum("mhn,nhc->mhc", powers / powers.sum(-1, keepdims=True), keys)


scratch = Path(tools.scratch)
text, directory = scratch / "model.mlir", scratch / "weights"
text.write_text(MODEL)
normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
weights = {"qkv": normal(3 * WIDTH, WIDTH) / 4, "first": normal(KEYS - 9, HEADS, CHANNELS), "last": normal(9, HEADS, CHANNELS), "table": normal(KEYS, HEADS), "norm": normal(CHANNELS), "shift": normal(CHANNELS)}
for i in range(LAYERS):
    weights |= {f"{i}.up.{e}": normal(INNER, WIDTH) / 4 for e in range(EXPERTS)} | {f"{i}.gate.{e}": normal(1) for e in range(EXPERTS)}
    weights |= {f"{i}.down": normal(INNER, EXPERTS, 2 * WIDTH), f"{i}.damping": normal()}
packed_model.write_weights(directory, weights)
inputs = {rows: normal(rows, WIDTH) for rows in ROWS}
expected = {}
for rows, x in inputs.items():
    np.save(scratch / "x.npy", x)
    resident.run([tools.reference, text, "--entry=embed", "--precision=f64", f"--weights={directory}", f"--input=x={scratch}/x.npy",
                    f"--output=y={scratch}/y.npy", f"--output=heads={scratch}/heads.npy"], check=True)
    expected[rows] = {name: np.load(scratch / f"{name}.npy") for name in ("y", "heads")}
    for name, right in zip(("y", "heads"), by_numpy(weights, x.astype(np.float64))):
        checks.near(f"reference: {name} of {rows} rows", expected[rows][name], right, 1e-12)
for target in ("cpu", "generic"):
    library = scratch / f"model_{target}.so"
    subprocess.run([tools.raptc, text, f"--weights={directory}", f"--target={target}", "-o", library], check=True, capture_output=True)
    model = packed_model.Model(library)
    for rows, x in inputs.items():
        outputs = {"y": np.zeros((rows, WIDTH), np.float32), "heads": np.zeros((rows, HEADS, CHANNELS), np.float32)}
        placed = {name: packed_model.placed(array) for name, array in outputs.items()}
        model.run("embed", [packed_model.placed(x), *placed.values()], (rows,), 2)
        for name, got in placed.items():
            checks.near(f"{target}: {name} of {rows} rows", got, expected[rows][name], 1e-5)

# A tensor of another shape is one line that names it, its shapes, and the steps; nothing is written.
wrong, library = scratch / "wrong", scratch / "wrong.so"
packed_model.write_weights(wrong, weights | {"1.down": weights["1.down"][:, :, 1:]})
shapes = f"tensor '1.down' is [{INNER}, {EXPERTS}, {2 * WIDTH - 1}], expected [{INNER}, {EXPERTS}, {2 * WIDTH}], which slice<dim = 2, {WIDTH} to {2 * WIDTH}>, transpose<1, 0, 2>, scale<"
done = subprocess.run([tools.raptc, text, f"--weights={wrong}", "-o", library], capture_output=True, text=True)
assert done.returncode == 1 and shapes in done.stderr and done.stderr.count("\n") == 1 and not list(scratch.glob("wrong?*")), done.stderr
done = subprocess.run([tools.reference, text, "--entry=embed", f"--weights={wrong}", f"--input=x={scratch}/x.npy", f"--output=y={scratch}/z.npy"], capture_output=True, text=True)
assert done.returncode == 1 and shapes in done.stderr, done.stderr
checks.finish()
