"""Writes small models with adapters for them into a directory: adapters.py DIRECTORY REFERENCE, of which the second has the numpy models."""

import json
import os
import sys

sys.path.insert(0, sys.argv[2])

import bert  # noqa: E402
import numpy  # noqa: E402
import t5  # noqa: E402
import tensorfiles  # noqa: E402
import vit  # noqa: E402


def write(name, config, shapes):
    directory = os.path.join(sys.argv[1], name)
    tensors = {tensor: numpy.ones(shape, numpy.float32) for tensor, shape in shapes.items()}
    tensorfiles.writeModel(directory, config | {"max_position_embeddings": 32, "vocab_size": 11, "eos_token_id": 1}, tensors, "BF16")


def adapter(name, ranks, shapes):
    directory = os.path.join(sys.argv[1], name)
    os.makedirs(directory)
    with open(os.path.join(directory, "adapter_config.json"), "w") as file:
        json.dump({"peft_type": "LORA", "lora_alpha": 8}, file)
    tensors = {}
    for module, rank in ranks.items():
        out, into = shapes[module + ".weight"]
        for part, shape in (("A", (rank, into)), ("B", (out, rank))):
            tensors[f"base_model.model.{module}.lora_{part}.weight"] = numpy.ones(shape, numpy.float32)
    tensorfiles.write(os.path.join(directory, "adapter_model.safetensors"), tensors, "F32")


norms = {f"model.layers.{layer}.{part}_layernorm.weight": (8,) for layer in range(2) for part in ("input", "post_attention")} | {"model.norm.weight": (8,)}
ends = {"model.embed_tokens.weight": (11, 8), "lm_head.weight": (11, 8)}
sizes = {"hidden_size": 8, "intermediate_size": 12, "num_attention_heads": 2, "num_key_value_heads": 1, "num_hidden_layers": 2, "rms_norm_eps": 1e-5}
of = lambda parts: {f"model.layers.{layer}.{part}.weight": shape for layer in range(2) for part, shape in parts.items()}
llama = of({"self_attn.q_proj": (8, 8), "self_attn.k_proj": (4, 8), "self_attn.v_proj": (4, 8), "self_attn.o_proj": (8, 8),
            "mlp.gate_proj": (12, 8), "mlp.up_proj": (12, 8), "mlp.down_proj": (8, 12)})
phi3 = of({"self_attn.qkv_proj": (16, 8), "self_attn.o_proj": (8, 8), "mlp.gate_up_proj": (24, 8), "mlp.down_proj": (8, 12)})
write("llama", {"model_type": "llama", "hidden_act": "silu"} | sizes, llama | norms | ends)
write("phi3", {"model_type": "phi3", "hidden_act": "silu", "pad_token_id": 0, "bos_token_id": 1, "original_max_position_embeddings": 32} | sizes, phi3 | norms | ends)
adapter("a", {"model.layers.0.self_attn.q_proj": 2, "model.layers.1.self_attn.q_proj": 5, "model.layers.1.mlp.down_proj": 1}, llama)
adapter("b", {"model.layers.0.self_attn.q_proj": 3, "model.layers.0.self_attn.k_proj": 3}, llama)
adapter("c", {"model.layers.1.self_attn.qkv_proj": 2}, phi3)
bert.make(os.path.join(sys.argv[1], "bert"), {"hidden_size": 8, "intermediate_size": 12, "num_attention_heads": 2}, 1)
adapter("d", {"bert.encoder.layer.1.attention.self.query": 2}, {"bert.encoder.layer.1.attention.self.query.weight": (8, 8)})
t5.make(os.path.join(sys.argv[1], "t5"), {"d_model": 8, "d_ff": 12, "d_kv": 4, "num_heads": 2}, 1)
key = "decoder.block.0.layer.1.EncDecAttention.k"
vit.make(os.path.join(sys.argv[1], "vit"), {"hidden_size": 8, "intermediate_size": 12, "num_attention_heads": 2}, 1)
value = "vit.encoder.layer.0.attention.attention.value"
adapter("f", {value: 2}, {value + ".weight": (8, 8)})
adapter("e", {key: 2}, {key + ".weight": (8, 8)})
