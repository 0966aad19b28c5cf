"""Writes files whose keys leave something open, one with a tensor of a type that is not read, and one in two parts."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import faults  # noqa: E402
import gguf  # noqa: E402
from gguf import Blocks  # noqa: E402


def write(name, keys, tensors, architecture="llama", more=None):
    own = {key.replace("llama.", architecture + "."): value for key, value in {**faults.metadata(), **keys}.items() if value is not None}
    gguf.write(name + ".gguf", {**own, "general.architecture": architecture, **(more or {})}, tensors)


tensors = faults.tensors()
write("mistral", {"llama.context_length": 32768}, tensors)
write("llama3", {"llama.context_length": 131072, "llama.rope.freq_base": 500000.0}, tensors)
write("quantized", {}, {**tensors, "blk.0.attn_q.weight": Blocks(40, [64, 16], bytes(36 * 16))}, more={"long": list(range(1000)), "tokens": list("\x1bbcde")})
norms = {f"blk.0.{name}.weight": tensors["output_norm.weight"] for name in ("post_attention_norm", "post_ffw_norm")}
write("gemma2", {}, {**tensors, **norms}, "gemma2")
plain = {name: array for name, array in tensors.items() if "ffn_gate" not in name}
norms = {name.replace("weight", "bias"): array for name, array in plain.items() if "norm" in name}
write("starcoder2", {"llama.attention.layer_norm_epsilon": 1e-5, "llama.attention.layer_norm_rms_epsilon": None}, {**plain, **norms}, "starcoder2")
gguf.writeParts("part", faults.metadata(), tensors, 2)
