"""The matmuls, attentions and the LSTM of test/Perf/compare as programs for raptc."""

import sys
from pathlib import Path

import numpy as np

from compare_rows import ATTENTIONS, MATMULS  # makes modules of test/Execute known

import packed_model

MAPS = {"q": "q, hkv, dqk", "k": "kv, hkv, dqk", "v": "kv, hkv, dv", "o": "q, hkv, dv"}
CAUSAL = """ mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }"""


def array(name, kind, dims=""):
    return f'{kind} {{attn.name = "{name}"' + (f', attn.dims = ["{dims}"]' if dims else "") + "}"


def entry(name, inputs, result, body):
    """A function of `inputs`, {name: (type, dims)}, with rows of `result`."""
    arguments = ", ".join(f"%{key}: {array(key, *types)}" for key, types in inputs.items())
    return (f"func.func @{name}({arguments}) -> ({array('y', result, 'rows')}) attributes {{attn.entry}} {{\n"
            f"{body}  return %y : {result}\n}}\n")


def matmul(n, k, narrow):
    rows, panels = (f"tensor<?x{k}xbf16>", f"tensor<{n // 32}x{k // 2}x64xbf16>") if narrow else (f"tensor<?x{k}xf32>", f"tensor<{n // 32}x{k}x32xf32>")
    result = f"tensor<?x{n}xf32>"
    return entry(f"{'bf16_' if narrow else ''}matmul_{n}_{k}", {"x": (rows, "rows"), "w": (panels, "")}, result,
                 f"  %y = attn.linear %x, %w {{layout = #attn_cpu.panels<columns = 32, interleave = {2 if narrow else 1}>}} : {rows}, {panels} -> {result}\n")


def attention(kind, size, narrow):
    heads = f"tensor<?x12x{size}xf32>"
    inputs = {**{name: (heads, "rows") for name in "qkv"}, "begin": ("tensor<?xi32>", "one+1")}
    return entry(f"{'bf16_' if narrow else ''}attention_{kind}_{size}", inputs, heads,
                 f"  %scale = arith.constant {size**-0.5} : f32\n"
                 "  %y = attn.attention %q, %k, %v, %scale q_begin(%begin : tensor<?xi32>) kv_begin(%begin : tensor<?xi32>)"
                 f" maps [#q, #k, #v, #o] : {heads}, {heads}, {heads} -> {heads}{CAUSAL if kind == 'causal' else ''}\n")


def lstm():
    wide, gates, panels, begins = "tensor<?x512xf32>", "tensor<?x2048xf32>", "tensor<64x512x32xf32>", "tensor<?xi32>"
    return entry("lstm", {"x": (wide, "rows"), "v": (panels, ""), "w": (panels, ""), "begin": (begins, "sequences+1")}, wide,
                 f"  %gates = attn.linear %x, %v {{layout = #attn_cpu.panels<columns = 32, interleave = 1>}} : {wide}, {panels} -> {gates}\n"
                 f"  %y, %state:2 = attn.recurrence lstm %gates, %w rows(%begin) {{layout = #attn_cpu.panels<columns = 32, interleave = 1>}} : {gates}, {panels}, {begins}\n")


# As kernels.mark_attention takes them.
BF16_ATTENTIONS = {f"bf16_attention_{kind}_{size}": "attn_cpu.bf16_matmul" for narrow, size, _ in ATTENTIONS if narrow for kind in ("dense", "causal")}


def kernels(hasBf16Matmuls):
    """All that takes its weights as an argument, in f32 or bf16."""
    text = "".join(f"#{name} = affine_map<(b, hkv, g, q, kv, dqk, dv) -> ({to})>\n" for name, to in MAPS.items())
    text += "attn.dim @rows min 0 max 65536\nattn.dim @one min 1 max 1\nattn.dim @sequences min 1 max 64\n"
    text += "".join(matmul(n, k, narrow) for n, k in MATMULS for narrow in (False, True))
    text += "".join(attention(kind, size, narrow) for narrow, size, _ in ATTENTIONS if hasBf16Matmuls or not narrow for kind in ("dense", "causal"))
    return text + lstm()


def write_quantizable(folder):
    """The matmuls as a model, whose weights raptc can store in 8 bits: a folder for --weights, and the program beside it."""
    text, arrays = 'module attributes {attn.model = {family = "test", task = "feature-extraction", layers = 1 : i64}} {\n', {}
    text += "attn.dim @rows min 0 max 65536\n"
    for n, k in MATMULS:
        name, weights = f"w_{n}_{k}", f"tensor<{k}x{n}xf32>"
        text += f'attn.parameter @{name} : {weights} from [#attn.source<"{name}">]\n'
        text += entry(f"matmul_{n}_{k}", {"x": (f"tensor<?x{k}xf32>", "rows")}, f"tensor<?x{n}xf32>",
                      f"  %w = attn.parameter_slice @{name} : {weights}\n  %y = attn.linear %x, %w : tensor<?x{k}xf32>, {weights} -> tensor<?x{n}xf32>\n")
        i = np.arange(k * n)  # as number(i, 2) of compare_worker.h
        arrays[name] = ((i * 7919 + 2 * 104729) % 2048 / 1024 - 1).astype(np.float32).reshape(k, n)
    Path(f"{folder}.mlir").write_text(text + "}\n", encoding="utf-8")
    packed_model.write_weights(Path(folder), arrays)
