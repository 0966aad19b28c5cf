#!/usr/bin/env python3
"""Models of GGUF files against those of the directories that they are made from: the imported text must be the same, and so must be the numbers of all tensors,
by the names that a directory has; those of files with quantized matrices, too.

families.py SCRATCH RAPTC TENSORS

Each family's directory gets random weights of a seed, and gguf_models.py makes its file. Files that are made wrongly must have other numbers. TENSORS is the
program of test/Import/tensors.cpp."""

import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", ".."), os.path.join(HERE, "..", "..", "Reference", "numpy")]
import batch  # noqa: E402
import gguf_models  # noqa: E402
import numpy  # noqa: E402
import tensorfiles  # noqa: E402

SIZES = {"vocab_size": 97, "hidden_size": 48, "intermediate_size": 72, "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2,
         "max_position_embeddings": 64}
OLDER = {"vocab_size": 97, "n_embd": 48, "n_layer": 2, "n_head": 6, "n_positions": 64}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
EXPERTS = {"num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "decoder_sparse_step": 1}
PHI3 = {"short_factor": [1.0, 1.5, 2.0, 3.0], "long_factor": [1.2, 1.5, 4.0, 9.0]}
GEMMA3 = {"sliding_window": 9, "rope_theta": 5000.0, "rope_local_base_freq": 100.0, "query_pre_attn_scalar": 16, "head_dim": 16, "num_hidden_layers": 7}
GEMMA4 = {**SIZES, "model_type": "gemma4_text", "num_hidden_layers": 6, "head_dim": 16, "global_head_dim": 32, "sliding_window": 9, "final_logit_softcapping": None,
          "layer_types": ["sliding_attention", "sliding_attention", "full_attention"] * 2,
          "rope_parameters": {"full_attention": {"partial_rotary_factor": 0.25, "rope_theta": 1000000.0, "rope_type": "proportional"},
                              "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"}}}
MINISTRAL = {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0, "original_max_position_embeddings": 16, "llama_4_scaling_beta": 0.1}
LFM2 = {"num_hidden_layers": 3, "layer_types": ["conv", "full_attention", "conv"], "conv_L_cache": 3}


def apart(tensors):
    """A tensor for each expert, as files had them once."""
    found = {}
    for name, array in tensors.items():
        if "_exps." not in name:
            found[name] = array
            continue
        for number, expert in enumerate(array):
            found[name.replace("_exps.", f".{number}.")] = expert
    return found


def halves(tensors):
    """Gates and ups of experts in one tensor."""
    for name in [name for name in tensors if "ffn_gate_exps" in name]:
        up = tensors.pop(name.replace("gate", "up"))
        tensors[name.replace("gate", "gate_up")] = numpy.concatenate([tensors.pop(name), up], axis=1)


def with_row(tensors):
    """The gate of the shared expert as a matrix."""
    return {name: array[None] if "ffn_gate_inp_shexp" in name else array for name, array in tensors.items()}


def with_further_block(tensors):
    tensors |= {name.replace("blk.1.", "blk.2."): array for name, array in tensors.items() if name.startswith("blk.1.")}
    tensors["blk.2.nextn.eh_proj.weight"] = numpy.zeros((4, 4), numpy.float32)


# name -> (config, options of gguf_models.convert)
CASES = {
    "llama": ({**SIZES, "model_type": "llama"}, {}),
    "llama-f16": ({**SIZES, "model_type": "llama", "torch_dtype": "float16", "tie_word_embeddings": True}, {"dtype": "F16"}),
    "llama-bf16-one-key-head": ({**SIZES, "model_type": "llama", "torch_dtype": "bfloat16", "num_key_value_heads": 1, "head_dim": 20}, {"dtype": "BF16"}),
    "llama-biases": ({**SIZES, "model_type": "llama", "attention_bias": True, "mlp_bias": True, "num_key_value_heads": 6}, {}),
    "llama-fused": ({**SIZES, "model_type": "llama"}, {"fused": True}),
    "llama-parts": ({**SIZES, "model_type": "llama"}, {"parts": 3}),
    "llama-linear": ({**SIZES, "model_type": "llama", "rope_theta": 500.0, "rope_scaling": {"type": "linear", "factor": 2.5}}, {}),
    "llama-yarn": ({**SIZES, "model_type": "llama", "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "beta_fast": 8.0, "original_max_position_embeddings": 16}}, {}),
    "mixtral": ({**SIZES, "model_type": "mixtral", "num_local_experts": 3, "num_experts_per_tok": 2, "sliding_window": None, "rope_theta": 1e6}, {}),
    "mixtral-apart": ({**SIZES, "model_type": "mixtral", "num_local_experts": 3, "num_experts_per_tok": 2, "sliding_window": None, "rope_theta": 1e6}, {"changes": apart}),
    "mixtral-halves": ({**SIZES, "model_type": "mixtral", "num_local_experts": 3, "num_experts_per_tok": 2, "sliding_window": None, "rope_theta": 1e6}, {"changes": halves}),
    "llama-biases-of-queries": ({**SIZES, "model_type": "qwen2"}, {"family": "llama"}),
    "llama-biases-fused": ({**SIZES, "model_type": "qwen2"}, {"family": "llama", "fused": True}),
    "llama-old-factor": ({**SIZES, "model_type": "llama", "rope_scaling": {"type": "linear", "factor": 2.5}},
                         {"keys": {"llama.rope.scaling.factor": None, "llama.rope.scaling.type": None, "llama.rope.scale_linear": 2.5}}),
    "llama-further-block": ({**SIZES, "model_type": "llama"}, {"changes": with_further_block, "keys": {"llama.block_count": 3, "llama.nextn_predict_layers": 1, "llama.attention.head_count_kv": [2, 2, 2]}}),
    "qwen3-moe-old": ({**SIZES, "model_type": "qwen3_moe", "head_dim": 16, **EXPERTS, "intermediate_size": 48, "norm_topk_prob": True},
                      {"keys": {"qwen3moe.expert_feed_forward_length": None}}),
    "gemma2-scale": ({**SIZES, "model_type": "gemma2", "head_dim": 16, "query_pre_attn_scalar": 64, "sliding_window": 9}, {"keys": {"gemma2.attention.scale": 0.125}}),
    "gemma2-46-layers": ({**SIZES, "model_type": "gemma2", "num_hidden_layers": 46, "head_dim": 16, "query_pre_attn_scalar": 8, "sliding_window": 9}, {}),
    "gemma3-pattern": ({**SIZES, **GEMMA3, "model_type": "gemma3_text", "num_hidden_layers": 4, "sliding_window_pattern": 2}, {}),
    "qwen2": ({**SIZES, "model_type": "qwen2", "tie_word_embeddings": True}, {}),
    "qwen2_moe": ({**SIZES, "model_type": "qwen2_moe", **EXPERTS, "shared_expert_intermediate_size": 36}, {}),
    "qwen2_moe-row": ({**SIZES, "model_type": "qwen2_moe", **EXPERTS, "shared_expert_intermediate_size": 36}, {"changes": with_row}),
    "qwen3": ({**SIZES, "model_type": "qwen3", "head_dim": 16}, {}),
    "qwen3_moe": ({**SIZES, "model_type": "qwen3_moe", "head_dim": 16, **EXPERTS, "norm_topk_prob": True}, {}),
    "gemma": ({**SIZES, "model_type": "gemma", "head_dim": 16}, {}),
    "gemma-bf16": ({**SIZES, "model_type": "gemma", "head_dim": 16, "torch_dtype": "bfloat16"}, {"dtype": "BF16"}),
    "gemma2": ({**SIZES, "model_type": "gemma2", "head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 9}, {}),
    "gemma3": ({**SIZES, **GEMMA3, "model_type": "gemma3_text", "rope_scaling": {"rope_type": "linear", "factor": 8.0}}, {}),
    "gemma3-types": ({**SIZES, **GEMMA3, "model_type": "gemma3_text", "num_hidden_layers": 2, "layer_types": ["full_attention", "sliding_attention"],
                      "final_logit_softcapping": 3.0}, {}),
    "phi3": ({**SIZES, "model_type": "phi3", "sliding_window": 9}, {}),
    "phi3-partial": ({**SIZES, "model_type": "phi3", "partial_rotary_factor": 0.75, "sliding_window": None, "head_dim": 8}, {}),
    "phi3-long": ({**SIZES, "model_type": "phi3", "rope_scaling": {"type": "longrope", **PHI3}, "original_max_position_embeddings": 16,
                   "max_position_embeddings": 96}, {}),
    "bloom": ({"model_type": "bloom", "vocab_size": 97, "hidden_size": 48, "n_layer": 2, "n_head": 6, "seq_length": 64}, {}),
    "command-r": ({**SIZES, "model_type": "cohere", "logit_scale": 0.3}, {}),
    "command-r-norms": ({**SIZES, "model_type": "cohere", "logit_scale": 0.0625, "use_qk_norm": True}, {}),
    "cohere2": ({**SIZES, "model_type": "cohere2", "logit_scale": 0.25, "sliding_window": 9, "num_hidden_layers": 5}, {}),
    "falcon": ({**SIZES, "model_type": "falcon", "intermediate_size": None, "num_key_value_heads": None}, {}),
    "falcon-two-norms": ({**SIZES, "model_type": "falcon", "intermediate_size": None, "num_key_value_heads": None, "new_decoder_architecture": True,
                          "num_kv_heads": 2, "ffn_hidden_size": 70, "tie_word_embeddings": False}, {}),
    "gemma4": ({**GEMMA4, "num_kv_shared_layers": 3, "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 97, "use_double_wide_mlp": True}, {}),
    "gemma4-keys-as-values": ({**GEMMA4, "num_global_key_value_heads": 1, "attention_k_eq_v": True, "hidden_size_per_layer_input": 0, "final_logit_softcapping": 3.0}, {}),
    "glm4": ({**SIZES, "model_type": "glm4", "head_dim": 16, "attention_bias": True}, {}),
    "gptneox": ({**SIZES, "model_type": "gpt_neox", "num_key_value_heads": None}, {}),
    "gptneox-in-turn": ({**SIZES, "model_type": "gpt_neox", "num_key_value_heads": None, "use_parallel_residual": False, "attention_bias": False, "rotary_pct": 0.5,
                         "rotary_emb_base": 500}, {}),
    "granite": ({**SIZES, "model_type": "granite", "embedding_multiplier": 3.0, "logits_scaling": 6.0, "residual_multiplier": 0.4, "attention_multiplier": 0.2}, {}),
    "lfm2": ({**SIZES, **LFM2, "model_type": "lfm2", "block_ff_dim": 120, "block_multiple_of": 8, "block_ffn_dim_multiplier": 1.3}, {}),
    "lfm2-unadjusted": ({**SIZES, **LFM2, "model_type": "lfm2", "block_auto_adjust_ff_dim": False, "conv_L_cache": 4, "torch_dtype": "float16"}, {"dtype": "F16"}),
    "lfm2-moe": ({**SIZES, **LFM2, "model_type": "lfm2_moe", "num_dense_layers": 1, "num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 24}, {}),
    "mistral3": ({**SIZES, "model_type": "ministral3", "rms_norm_eps": 1e-5, "head_dim": 16, "rope_parameters": {**MINISTRAL, "mscale": 1.0, "mscale_all_dim": 1.0}}, {}),
    "mistral3-factor": ({**SIZES, "model_type": "ministral3", "head_dim": 8, "rms_norm_eps": 1e-5, "rope_parameters": {**MINISTRAL, "mscale": 1.0, "mscale_all_dim": 0.5}}, {}),
    "mistral3-without-growth": ({**SIZES, "model_type": "mistral", "sliding_window": None, "rms_norm_eps": 1e-5}, {"family": "ministral3", "keys": {"general.name": "x"}}),
    "mpt": ({"model_type": "mpt", "vocab_size": 97, "d_model": 48, "n_layers": 2, "n_heads": 6, "max_seq_len": 64,
             "attn_config": {"clip_qkv": 0.8, "alibi_bias_max": 6}}, {}),
    "nemotron": ({**SIZES, "model_type": "nemotron"}, {"keys": {"nemotron.attention.layer_norm_rms_epsilon": 1e-6}}),
    "olmo": ({**SIZES, "model_type": "olmo", "clip_qkv": 0.8}, {}),
    "olmo3": ({**SIZES, "model_type": "olmo3", "rope_theta": 5e5, "sliding_window": 9, "num_hidden_layers": 5}, {}),
    "olmoe": ({**SIZES, "model_type": "olmoe", "num_experts": 5, "num_experts_per_tok": 2}, {}),
    "phi2": ({**SIZES, "model_type": "phi"}, {}),
    "phi2-fused": ({**SIZES, "model_type": "phi", "num_key_value_heads": 6}, {"fused": True}),
    "stablelm": ({**SIZES, "model_type": "stablelm", "use_qkv_bias": True}, {}),
    "stablelm-norms": ({**SIZES, "model_type": "stablelm", "qk_layernorm": True, "use_parallel_residual": True, "num_key_value_heads": 3}, {}),
    "starcoder": ({**OLDER, "model_type": "gpt_bigcode"}, {}),
    "starcoder2": ({**SIZES, "model_type": "starcoder2", "sliding_window": None}, {}),
    "olmo2": ({**SIZES, "model_type": "olmo2"}, {}),
    "smollm3": ({**SIZES, "model_type": "smollm3", "rope_theta": 2e6, "num_hidden_layers": 5, "tie_word_embeddings": True}, {}),
}
LATENTS = {**SIZES, "num_hidden_layers": 3, "num_key_value_heads": 6, "kv_lora_rank": 32, "q_lora_rank": 24, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 12}
GROUPS = {"n_routed_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 24, "n_group": 4, "topk_group": 2, "routed_scaling_factor": 2.5}
YARN = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "beta_fast": 32, "beta_slow": 1}


def together(tensors):
    """Keys and values of latents in one tensor, as files before April 2025 have them."""
    for name in [name for name in tensors if "attn_k_b" in name]:
        keys, values = tensors.pop(name).swapaxes(1, 2), tensors.pop(name.replace("attn_k_b", "attn_v_b"))
        both = numpy.concatenate([keys, values], axis=1)
        tensors[name.replace("attn_k_b", "attn_kv_b")] = both.reshape(-1, both.shape[-1])


ENCODER = {"vocab_size": 97, "hidden_size": 48, "intermediate_size": 72, "num_hidden_layers": 3, "num_attention_heads": 6, "max_position_embeddings": 64, "pad_token_id": 0}
DISTIL = {**{key: value for key, value in ENCODER.items() if key != "intermediate_size"}, "model_type": "distilbert", "hidden_dim": 72}
CLASSES = {"id2label": {"0": "no", "1": "perhaps", "2": "yes"}}
NOMIC = {**ENCODER, "model_type": "nomic_bert", "rotary_emb_base": 1000, "activation_function": "swiglu"}
MODERN = {**ENCODER, "model_type": "modernbert", "local_attention": 9, "global_attn_every_n_layers": 2, "global_rope_theta": 16000, "local_rope_theta": 100, "norm_eps": 1e-5}
CASES |= {
    "bert": ({**ENCODER, "model_type": "bert", "architectures": ["BertModel"]}, {}),
    "bert-fused": ({**ENCODER, "model_type": "bert", "architectures": ["BertModel"], "layer_norm_eps": 1e-5}, {"fused": True}),
    "bert-classes": ({**ENCODER, **CLASSES, "model_type": "bert", "architectures": ["BertForSequenceClassification"]}, {}),
    "bert-ranks": ({**ENCODER, "num_labels": 1, "model_type": "bert", "architectures": ["BertForSequenceClassification"]}, {"keys": {"bert.pooling_type": 4}}),
    "bert-without-types": ({**DISTIL, "architectures": ["DistilBertModel"]}, {}),
    "bert-without-types-classes": ({**DISTIL, **CLASSES, "architectures": ["DistilBertForSequenceClassification"]}, {}),
    "nomic-bert": ({**NOMIC, "architectures": ["NomicBertModel"]}, {}),
    "modern-bert": ({**MODERN, "architectures": ["ModernBertModel"]},
                    {"keys": {"modern-bert.attention.layer_norm_epsilon": None, "modern-bert.attention.layer_norm_rms_epsilon": 1e-5}}),
    "modern-bert-classes": ({**MODERN, **CLASSES, "architectures": ["ModernBertForSequenceClassification"], "classifier_pooling": "mean"}, {}),
    "modern-bert-silu": ({**MODERN, "architectures": ["ModernBertModel"], "hidden_activation": "silu"}, {}),
}
T5 = {"model_type": "t5", "vocab_size": 97, "d_model": 48, "d_kv": 8, "d_ff": 72, "num_layers": 3, "num_decoder_layers": 2, "num_heads": 6, "n_positions": 64,
      "relative_attention_num_buckets": 16, "layer_norm_epsilon": 1e-6, "decoder_start_token_id": 0, "feed_forward_proj": "relu", "tie_word_embeddings": True}
CASES |= {
    "t5": (T5, {}),
    "t5-gated": ({**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "num_layers": 2}, {}),
    "t5-old": ({**T5, "relative_attention_num_buckets": 32, "num_decoder_layers": 3}, {"keys": {"t5.decoder_block_count": None, "t5.attention.relative_buckets_count": None}}),
    "umt5": ({**T5, "model_type": "umt5", "feed_forward_proj": "gated-gelu"}, {}),
}
EMBEDDING = {**SIZES, **GEMMA3, "model_type": "gemma3_text", "use_bidirectional_attention": True, "architectures": ["Gemma3TextModel"]}


def modules(pooling, *linears):
    """{name: content} of sentence-transformers' files beside a model, whose vectors have length 1."""
    kinds = [("Transformer", ""), ("Pooling", "1_Pooling"), *(("Dense", folder) for folder, *_ in linears), ("Normalize", "9_Normalize")]
    files = {"modules.json": [{"type": f"sentence_transformers.models.{kind}", "path": path} for kind, path in kinds], "1_Pooling/config.json": {pooling: True}}
    identity = "torch.nn.modules.linear.Identity"
    return files | {f"{folder}/config.json": {"in_features": count, "out_features": out, "bias": hasBias, "activation_function": identity} for folder, count, out, hasBias in linears}


# name -> (configuration, options, files beside config.json): texts that become vectors
POOLED = {
    "bert-mean": ({**ENCODER, "model_type": "bert", "architectures": ["BertModel"]}, {"keys": {"bert.pooling_type": 1}}, modules("pooling_mode_mean_tokens")),
    "bert-first": ({**ENCODER, "model_type": "bert", "architectures": ["BertModel"]}, {"keys": {"bert.pooling_type": 2}}, modules("pooling_mode_cls_token")),
    "nomic-bert-mean": ({**NOMIC, "architectures": ["NomicBertModel"]}, {"keys": {"nomic-bert.pooling_type": 1}}, modules("pooling_mode_mean_tokens")),
    "qwen3-last": ({**SIZES, "model_type": "qwen3", "head_dim": 16, "tie_word_embeddings": True}, {"keys": {"qwen3.pooling_type": 3}}, modules("pooling_mode_lasttoken")),
    "gemma-embedding": (EMBEDDING, {"family": "embeddinggemma", "keys": {"gemma-embedding.pooling_type": 1}},
                        modules("pooling_mode_mean_tokens", ("2_Dense", 48, 80, False), ("3_Dense", 80, 48, False))),
}
# Such files have the tensors of a directory.
OLD_LATENTS = {"deepseek2.attention.key_length_mla": None, "deepseek2.attention.value_length_mla": None, "deepseek2.attention.key_length": 24,
               "deepseek2.attention.value_length": 12, "deepseek2.attention.head_count_kv": 6}
CASES |= {
    "deepseek2-old": ({**LATENTS, **GROUPS, "model_type": "deepseek_v2", "first_k_dense_replace": 1, "n_shared_experts": 2, "topk_method": "group_limited_greedy",
                       "rope_scaling": {**YARN, "mscale": 0.707, "mscale_all_dim": 0.707}}, {"changes": together, "keys": OLD_LATENTS}),
    "deepseek2-old-greedy": ({**LATENTS, **GROUPS, "model_type": "deepseek_v2", "q_lora_rank": None, "n_shared_experts": None, "n_group": 1, "topk_group": 1, "topk_method": "greedy",
                              "rope_scaling": None}, {"changes": together, "keys": {**OLD_LATENTS, "deepseek2.expert_gating_func": None}}),
    "deepseek2-old-v3": ({**LATENTS, **GROUPS, "model_type": "deepseek_v3", "first_k_dense_replace": 1, "n_shared_experts": 1, "rms_norm_eps": 1e-5, "norm_topk_prob": True,
                          "rope_scaling": {**YARN, "mscale": 1.0, "mscale_all_dim": 1.0}}, {"changes": together, "keys": OLD_LATENTS}),
}
DELTA = {**SIZES, "head_dim": 16, "num_hidden_layers": 4, "linear_num_key_heads": 2, "linear_num_value_heads": 6, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
         "linear_conv_kernel_dim": 4, "full_attention_interval": 3}
FACTORS = {"embedding_multiplier": 3.0, "logits_scaling": 6.0, "residual_multiplier": 0.4, "attention_multiplier": 0.2}
MAMBA = {"layer_types": ["mamba", "attention", "mamba"], "num_hidden_layers": 3, "mamba_n_heads": 12, "mamba_d_head": 8, "mamba_expand": 2, "mamba_n_groups": 1,
         "mamba_d_state": 16, "mamba_d_conv": 4}
SHARED = {"num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "shared_expert_intermediate_size": 36}
# Heads of values, or keys of latents, lie in another order, or tensors of a directory are several; test/Execute/gguf_random.py compares what they compute.
MOVED = {
    "roberta": ({**ENCODER, **CLASSES, "model_type": "roberta", "max_position_embeddings": 66, "pad_token_id": 1, "type_vocab_size": 1, "layer_norm_eps": 1e-5,
                 "architectures": ["RobertaForSequenceClassification"]}, {}),
    "deepseek2": ({**LATENTS, **GROUPS, "model_type": "deepseek_v3", "first_k_dense_replace": 1, "n_shared_experts": 1, "norm_topk_prob": True, "rope_scaling": None}, {}),
    "deepseek2-dense": ({**LATENTS, "model_type": "deepseek_v3", "first_k_dense_replace": 3, "rope_scaling": None}, {}),
    "qwen35": ({**DELTA, "model_type": "qwen3_5_text"}, {}),
    "qwen3-next": ({**DELTA, "model_type": "qwen3_next", **SHARED}, {}),
    "gemma4-experts": ({**GEMMA4, "hidden_size_per_layer_input": 0, "enable_moe_block": True, "num_experts": 5, "top_k_experts": 2, "moe_intermediate_size": 24}, {}),
    "granitemoe": ({**SIZES, **FACTORS, "model_type": "granitemoe", "num_local_experts": 5, "num_experts_per_tok": 2}, {}),
    "granitehybrid": ({**SIZES, **FACTORS, **MAMBA, "model_type": "granitemoehybrid", "num_local_experts": 0, "shared_intermediate_size": 40}, {}),
    "granitehybrid-experts": ({**SIZES, **FACTORS, **MAMBA, "model_type": "granitemoehybrid", "num_local_experts": 5, "num_experts_per_tok": 2,
                               "shared_intermediate_size": 40, "position_embedding_type": "rope"}, {}),
    "qwen35-moe": ({**DELTA, "model_type": "qwen3_5_moe_text", **SHARED}, {"keys": {"qwen35moe.feed_forward_length": None}}),
}
# The same weights in another text: frequencies are rounded from factors, or Conv1D's matrices are [out, in].
OTHER_TEXT = {
    "gpt2": ({**OLDER, "model_type": "gpt2"}, {}),
    "gpt2-untied": ({**OLDER, "model_type": "gpt2", "n_inner": 70, "tie_word_embeddings": False}, {}),
    "llama3": ({**SIZES, "model_type": "llama", "head_dim": 32, "rope_theta": 500.0, "rope_scaling": LLAMA3}, {}),
}


def twice(tensors):
    return {name: array + numpy.float32(1) if name.endswith("norm.weight") else array for name, array in tensors.items()}


def in_halves(tensors):
    """Rows as the checkpoint has them."""
    return {name: array.reshape(-1, 4, 2, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape) if "attn_q." in name or "attn_k." in name else array
            for name, array in tensors.items()}


def by_query_heads(tensors):
    """Rows of two key heads of 8 as if they were of one of 16."""
    for name in tensors:
        if "attn_k." in name:
            halves = tensors[name].reshape(-1, 4, 2, *tensors[name].shape[1:]).swapaxes(1, 2).reshape(tensors[name].shape)
            tensors[name] = gguf_models.neighbors(halves, 1)


def halves_exchanged(tensors):
    """The rows of ups ahead of those of gates."""
    return {name: numpy.concatenate(numpy.split(array, 2)[::-1]) if "ffn_up." in name else array for name, array in tensors.items()}


def norms_exchanged(tensors):
    """The norm of attention by the name of the feed-forward's."""
    return {name.replace("attn_norm_2", "attn").replace("attn_norm", "attn_norm_2").replace(".attn.", ".attn_norm."): array for name, array in tensors.items()}


# name -> (case, options): the weights must be others
WRONG = {"gates-and-ups": ("phi3", {"changes": halves_exchanged}), "norms-exchanged": ("falcon-two-norms", {"changes": norms_exchanged}), "norms-twice": ("gemma", {"changes": twice}), "rows-in-halves": ("llama", {"changes": in_halves}), "keys-by-query-heads": ("llama", {"changes": by_query_heads})}


class Checks:
    def __init__(self, scratch, raptc, tensors=""):
        self.scratch, self.raptc, self.tensors, self.failures = scratch, raptc, tensors, 0
        shutil.rmtree(scratch, ignore_errors=True)

    def path(self, *names):
        path = os.path.join(self.scratch, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def run(self, commands):
        """Runs all of {name: arguments}; the answers of those that succeeded by their names."""
        answers = dict(zip(commands, batch.run(self.raptc, list(commands.values()))))
        for name, answer in answers.items():
            if answer["status"]:
                self.fail(name, f"exit status {answer['status']}: {answer['stderr'].strip()[-1500:]}")
        return {name: answer for name, answer in answers.items() if not answer["status"]}

    def fail(self, name, what):
        self.failures += 1
        print(f"{name}: {what}")

    def directories(self, cases):
        """Writes config.json and random weights of each case. Returns the names of those that succeeded."""
        for name, (config, _) in cases.items():
            with open(self.path(name, "dir", "config.json"), "w", encoding="utf-8") as file:
                json.dump(config, file)
        done = self.run({name: [self.path(name, "dir", "config.json"), "--random-weights=7", "--emit=imported",
                                f"--save-weights={self.path(name, 'dir', 'model.safetensors')}", "-o", self.path(name, "random", "model.mlir")] for name in cases})
        for name in done:
            leave_pooler(self.path(name, "dir", "model.safetensors"), cases[name][0])
        return list(done)

    def beside(self, name, files):
        """Writes files of sentence-transformers, and random weights of its linear layers."""
        for file, content in files.items():
            with open(self.path(name, "dir", file), "w", encoding="utf-8") as out:
                json.dump(content, out)
            if "in_features" in content:
                random = numpy.random.RandomState(3)
                shapes = {"linear.weight": (content["out_features"], content["in_features"])} | ({"linear.bias": (content["out_features"],)} if content["bias"] else {})
                tensorfiles.writeDirectory(os.path.dirname(self.path(name, "dir", file)), {part: random.standard_normal(shape).astype(numpy.float32) for part, shape in shapes.items()}, "F32")

    def import_(self, sources):
        """{name: imported text} of {name: model}."""
        paths = {name: self.path(name, "out", "imported.mlir") for name in sources}
        return {name: read(paths[name]).decode() for name in self.run({name: [source, "--emit=imported", "-o", paths[name]] for name, source in sources.items()})}

    def differs(self, source, directory):
        """What the file's tensors have otherwise than the directory's; nothing where they are the same."""
        wanted = gguf_models.readCheckpoint(directory)
        with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
            model = json.load(file)["model_type"]
        names = [f"transformer.{name}" if model == "gpt2" and name != "lm_head.weight" else name for name in wanted]
        done = subprocess.run([self.tensors, source, *names], capture_output=True)
        if done.returncode:
            return done.stderr.decode().strip()
        numbers = numpy.frombuffer(done.stdout, numpy.float32)
        for name, array in wanted.items():
            if name.endswith("norm.weight") and model in gguf_models.AROUND_ONE:  # 1 was added to each, and rounded
                array = (array + numpy.float32(1)) - numpy.float32(1)
            if model == "gpt2" and name.startswith("h.") and array.ndim == 2:  # of Conv1D, which are [in, out] in directories
                array = array.T
            own, numbers = numbers[:array.size], numbers[array.size:]
            if own.tobytes() != array.astype(numpy.float32).tobytes():
                return f"the numbers of {name} are others"
        return ""


def leave_pooler(path, config):
    """Takes a pooler without a head away, which converters do."""
    if config.get("architectures") in (["BertModel"], ["RobertaModel"]):
        tensors = tensorfiles.readDirectory(os.path.dirname(path))
        tensorfiles.writeDirectory(os.path.dirname(path), {name: array for name, array in tensors.items() if ".pooler." not in name}, "F32")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def wider(config):
    """The configuration with rows that 32 divides, but those of the feed-forward's second matrix."""
    name = next(name for name in ("hidden_size", "n_embd", "d_model") if name in config)
    scaling = config.get("rope_scaling") or {}
    return {**config, name: 2 * config[name], "rope_scaling": {key: 2 * value if isinstance(value, list) else value for key, value in scaling.items()} or None}


def main():
    checks = Checks(*sys.argv[1:4])
    # A type after the other; types of larger blocks fall back to these, or are those of test/Execute/blocks.py.
    types = ["Q8_0", "Q4_0", "Q5_1", "IQ4_NL", "Q4_1", "Q5_0", "MXFP4"]
    plain = {**CASES, **OTHER_TEXT}
    pooled = {name: POOLED[name][:2] for name in POOLED}
    others = {name: gguf_models.convert(checks.path(name, "dir"), checks.path("files", name + ".gguf"), **MOVED[name][1])[0] for name in checks.directories(MOVED)}
    checks.import_(others)
    quantized = {f"{name}-{types[i % len(types)]}": (wider(config), {**options, "kind": types[i % len(types)]}) for i, (name, (config, options)) in enumerate(plain.items())}
    made = {**plain, **quantized}
    names = checks.directories({**made, **pooled})
    for name, (_, _, files) in POOLED.items():
        checks.beside(name, files)
    sources, directories = {}, {}
    for name, (case, options) in {**{name: (name, {**made, **pooled}[name][1]) for name in names}, **WRONG}.items():
        path, directories[name] = checks.path("files", name), checks.path(case, "dir")
        if name in quantized:
            directories[name] = checks.path(name, "decoded")
            options = {**options, "decoded": directories[name]}
        path = gguf_models.convert(checks.path(case, "dir"), path if "parts" in options else path + ".gguf", **options)[0]
        sources[name] = path
    for name, source in sources.items():
        what = checks.differs(source, directories[name])
        if bool(what) != (name in WRONG):
            checks.fail(name, what or "the numbers are those of a right file")
    texts = checks.import_({name: checks.path(name, "dir") for name in names if name in CASES or name in POOLED})
    for name, own in checks.import_({name: sources[name] for name in [*texts, *quantized] if name in sources}).items():
        if name in quantized:
            if types[list(quantized).index(name) % len(types)].lower() not in own:
                checks.fail(name, "the text has no blocks")
        elif own != texts[name]:
            lines = [pair for pair in zip(texts[name].split("\n"), own.split("\n")) if pair[0] != pair[1]]
            checks.fail(name, "the text differs from the directory's" + "".join(f"\n  - {a[:300]}\n  + {b[:300]}" for a, b in lines[:4]))
    print(f"{len(sources) + len(others)} files, {checks.failures} failures")
    sys.exit(checks.failures != 0)


if __name__ == "__main__":
    main()
