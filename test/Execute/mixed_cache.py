#!/usr/bin/env python3
"""Decoders whose cache has segments of layers with other heads and head sizes, and keys and values of other sizes and types, as text at
the stage imported: by the evaluator, the generic target and the CPU, against numpy in float64 over what each cache holds. Sequences of several
lengths in steps that mix prompts and single tokens; forks, truncation, saved states; a state of another layout; unused slots that hold NaN."""

import argparse
import ctypes
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

import packed_model
from context import Context

sys.path.insert(0, str(Path(__file__).parent / ".." / "Reference" / "numpy"))

import cachetypes  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__)
for option in ("--raptc", "--reference", "--runtime", "--scratch"):
    parser.add_argument(option, required=True)
args = parser.parse_args()
scratch = Path(args.scratch)
scratch.mkdir(parents=True, exist_ok=True)
VOCABULARY, WIDTH, POSITIONS, BLOCK = 61, 40, 300, 64
# name: segments of (layers, key/value heads, query heads of each, (channels, type) of keys, of values), raptc's flags, tolerance of the
# logits' relative L2 where it is not that of the roughest type of the cache
MODES = {
    "sizes": ([(2, 2, 2, (48, "f32"), (32, "f32")), (1, 1, 3, (32, "f32"), (32, "f32"))], [], None),
    "types": ([(2, 2, 2, (48, "bf16"), (24, "f32")), (1, 1, 3, (16, "f32"), (40, "f16"))], [], None),
    "codes": ([(1, 1, 2, (32, "int8"), (64, "bf16")), (2, 3, 1, (24, "bf16"), (24, "int8"))], [], None),
    "values": ([(1, 2, 2, (32, "f16"), (32, "int8"))], ["--mcpu=x86-64-v3"], None),
    "dot": ([(2, 2, 2, (64, "bf16"), (32, "bf16")), (1, 1, 2, (32, "f32"), (32, "bf16"))], ["--emulate=bf16"], 1e-2),
    "tiles": ([(1, 1, 2, (32, "f32"), (32, "bf16")), (1, 2, 2, (32, "bf16"), (96, "bf16"))], ["--emulate=amx"], 1e-2),
    "generic": ([(2, 2, 2, (48, "bf16"), (24, "f32")), (1, 1, 3, (12, "int8"), (20, "f16"))], ["--target=generic"], None),
}
TYPES = {"f32": "f32", "bf16": "bf16", "f16": "f16", "int8": "i8"}
checked = failed = 0


def check(what, right):
    global checked, failed
    checked, failed = checked + 1, failed + (not right)
    if not right:
        print(f"FAIL {what}")


def near(what, found, expected, tolerance):
    error = np.linalg.norm(found - expected) / np.linalg.norm(expected)
    check(f"{what}: relative L2 {error:.1e}, allowed {tolerance:.0e}", error <= tolerance)


def cache_type(segments):
    part = lambda part: f"{part[0]} x {TYPES[part[1]]}"
    return "!attn.kv_cache<[" + ", ".join(f"{layers} x {heads} x ({part(keys)}, {part(values)})" if keys != values else f"{layers} x {heads} x {part(keys)}"
                                          for layers, heads, _, keys, values in segments) + f"], block = {BLOCK}>"


def parameter(name, layers, shape):
    stack = f" layers {layers}" if layers else ""
    stacked = "x".join(map(str, ([layers] if layers else []) + list(shape)))
    return f'attn.parameter @{name}{stack} : tensor<{stacked}xf32> from [#attn.source<"{name}{".{layer}" if layers else ""}">]\n'


def block_text(i, cache, segment):
    """A function that is one layer of segment `i`, and its parameters."""
    layers, heads, groups, (dqk, ktype), (dv, vtype) = segment
    q, k, v, o = heads * groups * dqk, heads * dqk, heads * dv, heads * groups * dv
    view = lambda channels, kind: f"tensor<?x?x{heads}x{channels}x{'f32' if kind == 'int8' else TYPES[kind]}>"
    keys, values, rows = view(dqk, ktype), view(dv, vtype), f"tensor<?x{WIDTH}xf32>"
    linear = lambda name, source, n, m: f"""
  %{name}w = attn.parameter_slice @s{i}.{name}[%layer] : tensor<{n}x{m}xf32>
  %{name} = attn.linear %{source}, %{name}w : tensor<?x{n}xf32>, tensor<{n}x{m}xf32> -> tensor<?x{m}xf32>"""
    shapes = {"norm": (WIDTH,), "q": (WIDTH, q), "k": (WIDTH, k), "v": (WIDTH, v), "o": (o, WIDTH)}
    return "".join(parameter(f"s{i}.{name}", layers, shape) for name, shape in shapes.items()) + f"""
func.func private @block{i}(%x: {rows}, %cache: {cache}, %layer: index, %begin: tensor<?xi32>, %past: tensor<?xi32>, %table: tensor<?x?xi32>) -> ({rows}, {cache}) {{
  %normw = attn.parameter_slice @s{i}.norm[%layer] : tensor<{WIDTH}xf32>
  %n = attn.rms_norm %x, %normw epsilon 1.0e-5 : {rows}, tensor<{WIDTH}xf32>{linear("q", "n", WIDTH, q)}{linear("k", "n", WIDTH, k)}{linear("v", "n", WIDTH, v)}
  %qh = attn.split_heads %q : tensor<?x{q}xf32> -> tensor<?x{heads}x{groups}x{dqk}xf32>
  %kh = attn.split_heads %k : tensor<?x{k}xf32> -> tensor<?x{heads}x{dqk}xf32>
  %vh = attn.split_heads %v : tensor<?x{v}xf32> -> tensor<?x{heads}x{dv}xf32>
  %new = attn.kv_append %cache[%layer] segment {i}, %kh, %vh rows(%begin, %past, %table)
    : {cache}, tensor<?x{heads}x{dqk}xf32>, tensor<?x{heads}x{dv}xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  %keys, %values = attn.kv_view %new[%layer] segment {i}, %table : {cache}, tensor<?x?xi32> -> {keys}, {values}
  %scale = arith.constant 0.25 : f32
  %a = attn.attention %qh, %keys, %values, %scale q_begin(%begin : tensor<?xi32>) q_offset(%past : tensor<?xi32>)
    maps [affine_map<(b, h, g, i, j, c, d) -> (i, h, g, c)>, affine_map<(b, h, g, i, j, c, d) -> (b, j, h, c)>,
          affine_map<(b, h, g, i, j, c, d) -> (b, j, h, d)>, affine_map<(b, h, g, i, j, c, d) -> (i, h, g, d)>]
    : tensor<?x{heads}x{groups}x{dqk}xf32>, {keys}, {values} -> tensor<?x{heads}x{groups}x{dv}xf32> mask {{
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }}
  %am = attn.merge_heads %a : tensor<?x{heads}x{groups}x{dv}xf32> -> tensor<?x{o}xf32>{linear("o", "am", o, WIDTH)}
  %sum = arith.addf %x, %o : {rows}
  return %sum, %new : {rows}, {cache}
}}
"""


def model_text(segments):
    cache, rows = cache_type(segments), f"tensor<?x{WIDTH}xf32>"
    layers = sum(segment[0] for segment in segments)
    facts = {"layers": layers, "hidden": WIDTH, "heads": 1, "kv_heads": 1, "head_dim": 32, "vocab": VOCABULARY, "positions": POSITIONS, "parameters": 1}
    numbers = ", ".join(f"{name} = {value} : i64" for name, value in facts.items())
    loops, before = "", ("x0", "cache")
    for i, segment in enumerate(segments):
        loops += f"""
  %n{i} = arith.constant {segment[0]} : index
  %l{i}:2 = scf.for %layer = %c0 to %n{i} step %c1 iter_args(%x = %{before[0]}, %c = %{before[1]}) -> ({rows}, {cache}) {{
    %r:2 = func.call @block{i}(%x, %c, %layer, %begin, %past, %table) : ({rows}, {cache}, index, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>) -> ({rows}, {cache})
    scf.yield %r#0, %r#1 : {rows}, {cache}
  }}"""
        before = (f"l{i}#0", f"l{i}#1")
    return f"""module @mixed attributes {{attn.stage = "imported", attn.model = {{family = "gpt2", task = "decoder", {numbers}, source_dtype = "f32", eos = []}}}} {{
attn.dim @tokens min 0 max 65536
attn.dim @rows min 1 max 64
attn.dim @wanted min 0 max 65536
attn.dim @table min 1 max {-(-POSITIONS // BLOCK)}
attn.dim @blocks min 1 max 1048576
{parameter("embed", 0, (VOCABULARY, WIDTH))}{parameter("head", 0, (WIDTH, VOCABULARY))}{"".join(block_text(i, cache, segment) for i, segment in enumerate(segments))}
func.func @step(%cache: {cache} {{attn.name = "cache", attn.dims = ["blocks"]}}, %tokens: tensor<?xi32> {{attn.name = "tokens", attn.dims = ["tokens"]}},
    %begin: tensor<?xi32> {{attn.name = "row_begin", attn.dims = ["rows+1"]}}, %past: tensor<?xi32> {{attn.name = "past", attn.dims = ["rows"]}},
    %table: tensor<?x?xi32> {{attn.name = "block_table", attn.dims = ["rows", "table"]}}, %want: tensor<?xi32> {{attn.name = "want", attn.dims = ["wanted"]}})
    -> ({cache} {{attn.name = "cache"}}, tensor<?x{VOCABULARY}xf32> {{attn.name = "logits", attn.dims = ["wanted"]}}) attributes {{attn.entry}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %embed = attn.parameter_slice @embed : tensor<{VOCABULARY}x{WIDTH}xf32>
  %x0 = attn.embedding %tokens, %embed : tensor<?xi32>, tensor<{VOCABULARY}x{WIDTH}xf32> -> {rows}{loops}
  %sel = attn.select_rows %{before[0]}, %want : {rows}, tensor<?xi32> -> {rows}
  %head = attn.parameter_slice @head : tensor<{WIDTH}x{VOCABULARY}xf32>
  %logits = attn.linear %sel, %head : {rows}, tensor<{WIDTH}x{VOCABULARY}xf32> -> tensor<?x{VOCABULARY}xf32>
  return %{before[1]}, %logits : {cache}, tensor<?x{VOCABULARY}xf32>
}}
}}
"""


class Numpy:
    """The same model in float64, one sequence at a time."""

    def __init__(self, segments):
        random = np.random.default_rng(5)
        self.segments, self.weights = segments, {}
        make = lambda *shape: (random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)
        self.weights["embed"], self.weights["head"] = make(VOCABULARY, WIDTH) * 8, make(WIDTH, VOCABULARY)
        for i, (layers, heads, groups, (dqk, _), (dv, _)) in enumerate(segments):
            for layer in range(layers):
                self.weights[f"s{i}.norm.{layer}"] = np.ones(WIDTH, np.float32)
                for name, columns in (("q", heads * groups * dqk), ("k", heads * dqk), ("v", heads * dv)):
                    self.weights[f"s{i}.{name}.{layer}"] = make(WIDTH, columns)
                self.weights[f"s{i}.o.{layer}"] = make(heads * groups * dv, WIDTH)

    def logits(self, tokens):
        w = {name: value.astype(np.float64) for name, value in self.weights.items()}
        x, n = w["embed"][tokens], len(tokens)
        seen = np.tril(np.ones((n, n), bool))
        for i, (layers, heads, groups, (dqk, ktype), (dv, vtype)) in enumerate(self.segments):
            for layer in range(layers):
                y = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w[f"s{i}.norm.{layer}"]
                q = (y @ w[f"s{i}.q.{layer}"]).reshape(n, heads, groups, dqk)
                k = cachetypes.ROUNDING[ktype]((y @ w[f"s{i}.k.{layer}"]).reshape(n, heads, dqk))
                v = cachetypes.ROUNDING[vtype]((y @ w[f"s{i}.v.{layer}"]).reshape(n, heads, dv))
                s = np.where(seen, 0.25 * np.einsum("ihgc,jhc->hgij", q, k), -np.inf)
                p = np.exp(s - s.max(-1, keepdims=True))
                p /= p.sum(-1, keepdims=True)
                x = x + np.einsum("hgij,jhd->ihgd", p, v).reshape(n, -1) @ w[f"s{i}.o.{layer}"]
        return x @ w["head"]


def run_reference(name, text, weights, expected, tokens, tolerance):
    """The evaluator on whole sequences."""
    lengths = [len(row) for row in tokens]
    ids, mask = np.zeros((len(tokens), max(lengths)), np.int64), np.arange(max(lengths))[None, :] < np.array(lengths)[:, None]
    for row, own in zip(ids, tokens):
        row[:len(own)] = own
    paths = {part: str(scratch / f"{name}-{part}.npy") for part in ("ids", "mask", "logits")}
    np.save(paths["ids"], ids), np.save(paths["mask"], mask.astype(np.int64))
    subprocess.run([args.reference, str(text), f"--weights={weights}", "--precision=f64", "--input", f"input_ids={paths['ids']}", "--input",
                    f"attention_mask={paths['mask']}", "--output", f"logits={paths['logits']}"], check=True)
    found = np.load(paths["logits"])
    near(f"{name}: the evaluator", found[mask], np.concatenate(expected), tolerance)


def run_context(name, library, tokens, expected, tolerance):
    """Steps of several sequences, the first of which is forked, truncated, saved and loaded on the way. Returns a saved state."""
    context = Context(args.runtime, str(library), VOCABULARY, cache_tokens=4096)
    sequences, at = [context.sequence() for _ in tokens], [0] * len(tokens)
    total = context.available()
    # A prompt beyond a block, a prime, a single token; then single ones, then the rest.
    for lengths in ((97, 13, 1), (1, 1, 1), (2, 31, 66), (1, 1, 1), (300, 300, 300)):
        pairs = [(s, own[a:a + n]) for s, own, a, n in zip(sequences, tokens, at, lengths)]
        logits, status = context.step(pairs)
        context.must(status)
        for row, (found, (_, part)) in enumerate(zip(logits, pairs)):
            near(f"{name}: step {lengths} of sequence {row}", found, expected[row][at[row]:at[row] + len(part)], tolerance)
            at[row] += len(part)
    original, half = sequences[0], len(tokens[0]) // 2
    fork = context.fork(original)
    context.must(context.call("sequence_truncate", context.context, ctypes.c_uint64(fork), ctypes.c_int64(half)))
    size = ctypes.c_size_t()
    context.must(context.call("sequence_save", context.context, ctypes.c_uint64(fork), None, ctypes.c_size_t(0), ctypes.byref(size)))
    state = ctypes.create_string_buffer(size.value)
    context.must(context.call("sequence_save", context.context, ctypes.c_uint64(fork), state, size, ctypes.byref(size)))
    other = np.concatenate((tokens[0][:half], tokens[1][:40]))
    logits, status = context.step([(fork, other[half:]), (context.load(state), tokens[0][half:])])
    context.must(status)
    near(f"{name}: a fork", logits[0], NUMPY.logits(other)[half:], tolerance)
    near(f"{name}: a saved state", logits[1], expected[0][half:], tolerance)
    check(f"{name}: blocks in use", context.available() < total)
    context.close()
    return bytes(state.raw)


def run_stale(name, library, tokens, expected, tolerance):
    """The whole of each sequence on a cache of NaN, in two steps."""
    model = packed_model.Model(library)
    artifact = packed_model.Artifact.in_dll(model.library, f"{library.stem}_module")
    manifest = json.loads(ctypes.string_at(artifact.manifest, artifact.manifest_size))
    cache, rows, table = manifest["cache"], len(tokens), -(-POSITIONS // BLOCK)
    memory = packed_model.placed(np.full(rows * table * cache["block_bytes"] // 2, 0xFFFF, np.uint16))
    ids = np.random.default_rng(2).permutation(rows * table).astype(np.int32).reshape(rows, table)
    past = np.zeros(rows, np.int32)
    for first in (True, False):
        parts = [own[:70] if first else own[70:] for own in tokens]
        lengths = np.array([len(part) for part in parts])
        count = int(lengths.sum())
        logits = packed_model.placed(np.zeros((count, VOCABULARY), np.float32))
        arrays = [np.concatenate(parts).astype(np.int32), np.cumsum(np.append(0, lengths)).astype(np.int32), past, ids, np.arange(count, dtype=np.int32)]
        model.run("step", [memory, *map(packed_model.placed, arrays), logits], (count, rows, count, table, rows * table), 2)
        wanted = np.concatenate([own[:70] if first else own[70:] for own in expected])
        near(f"{name}: on a cache of NaN", logits, wanted, tolerance)
        past = lengths.astype(np.int32)
    return cache


random = np.random.default_rng(11)
TOKENS = [random.integers(0, VOCABULARY, length).astype(np.int32) for length in (230, 71, 139)]
for NAME, (SEGMENTS, FLAGS, ALLOWED) in MODES.items():
    NUMPY = Numpy(SEGMENTS)
    TEXT, LIBRARY, WEIGHTS = scratch / f"{NAME}.mlir", scratch / f"{NAME}.so", scratch / f"{NAME}-weights"
    TEXT.write_text(model_text(SEGMENTS))
    packed_model.write_weights(WEIGHTS, NUMPY.weights)
    EXPECTED = [NUMPY.logits(own) for own in TOKENS]
    ROUGHEST = max(cachetypes.TOLERANCE[part[1]] for segment in SEGMENTS for part in segment[3:])
    run_reference(NAME, TEXT, WEIGHTS, EXPECTED, TOKENS, ROUGHEST)
    subprocess.run([args.raptc, str(TEXT), f"--weights={WEIGHTS}", *FLAGS, "-o", str(LIBRARY)], check=True, capture_output=True)
    CACHE = run_stale(NAME, LIBRARY, TOKENS, EXPECTED, ALLOWED or ROUGHEST)
    KINDS = {part[1] for segment in SEGMENTS for part in segment[3:]}
    check(f"{NAME}: {CACHE}", CACHE["dtype"] == (KINDS.pop() if len(KINDS) == 1 else "mixed") and CACHE["bytes_per_token"] == CACHE["block_bytes"] // BLOCK)
    check(f"{NAME}: {CACHE['segments']}", [(s["layers"], s["heads"], tuple(s["keys"].values()), tuple(s["values"].values())) for s in CACHE["segments"]] ==
          [(layers, heads, keys, values) for layers, heads, _, keys, values in SEGMENTS])
    STATE = run_context(NAME, LIBRARY, TOKENS, EXPECTED, ALLOWED or ROUGHEST)
    if NAME == "sizes":  # the same weights with a cache of other types take no state of this one
        OTHER = scratch / "other.so"
        subprocess.run([args.raptc, str(TEXT), f"--weights={WEIGHTS}", "--cache-dtype=bf16,f32", "-o", str(OTHER)], check=True, capture_output=True)
        CONTEXT = Context(args.runtime, str(OTHER), VOCABULARY, cache_tokens=4096)
        CONTEXT.refused(CONTEXT.call("sequence_load", CONTEXT.context, STATE, ctypes.c_size_t(len(STATE)), ctypes.byref(ctypes.c_uint64())),
                        "MISMATCH", f"the saved state has layout {CACHE['layout']}, dtype f32, 64 tokens in {CACHE['block_bytes']} bytes; this model has kv-")
        CONTEXT.close()
print(f"{checked - failed} passed, {failed} failed")
raise SystemExit(failed > 0)
