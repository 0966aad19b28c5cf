"""Writes files whose keys leave something open, one with a tensor of a type that is not read, and one in two parts."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import faults  # noqa: E402
import numpy  # noqa: E402
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
norms |= {f"blk.0.{name}.weight": numpy.ones(8, numpy.float32) for name in ("attn_q_norm", "attn_k_norm")}
write("gemma-embedding", {"llama.pooling_type": 1, "llama.attention.causal": False}, {**tensors, **norms}, "gemma-embedding")
modern = {"token_embd": (7, 32), "token_embd_norm": (32,), "output_norm": (32,), "cls": (32, 32), "cls.norm": (32,), "cls.output": (2, 32), "blk.0.attn_qkv": (96, 32),
          "blk.0.attn_output": (32, 32), "blk.0.ffn_norm": (32,), "blk.0.ffn_up": (96, 32), "blk.0.ffn_down": (32, 48)}
write("modern-bert", {"llama.attention.layer_norm_epsilon": 1e-5, "llama.attention.head_count_kv": None, "llama.rope.dimension_count": None},
      {**{f"{name}.weight": numpy.ones(shape, numpy.float32) for name, shape in modern.items()}, "cls.output.bias": numpy.ones(2, numpy.float32)}, "modern-bert")
plain = {name: array for name, array in tensors.items() if "ffn_gate" not in name}
norms = {name.replace("weight", "bias"): array for name, array in plain.items() if "norm" in name}
write("starcoder2", {"llama.attention.layer_norm_epsilon": 1e-5, "llama.attention.layer_norm_rms_epsilon": None}, {**plain, **norms}, "starcoder2")
latents = {"attn_q": (48, 32), "attn_kv_a_mqa": (20, 32), "attn_kv_a_norm": (16,), "attn_k_b": (4, 16, 8), "attn_v_b": (4, 8, 16), "ffn_gate_inp": (160, 32),
           "ffn_gate_exps": (160, 8, 32), "ffn_up_exps": (160, 8, 32), "ffn_down_exps": (160, 32, 8)}
whole = {name: array for name, array in tensors.items() if not any(part in name for part in ("attn_k", "attn_v", "ffn_gate", "ffn_up", "ffn_down"))}
write("deepseek2", {"llama.attention.head_count_kv": 1, "llama.attention.key_length": 20, "llama.attention.value_length": 16, "llama.attention.key_length_mla": 12,
                    "llama.attention.value_length_mla": 8, "llama.attention.kv_lora_rank": 16, "llama.rope.dimension_count": 4, "llama.expert_count": 160,
                    "llama.expert_used_count": 6, "llama.expert_feed_forward_length": 8},
      {**whole, **{f"blk.0.{name}.weight": numpy.ones(shape, numpy.float32) for name, shape in latents.items()}}, "deepseek2")
gguf.writeParts("part", faults.metadata(), tensors, 2)
