"""Writes the model of a Hugging Face directory as a GGUF file, as llama.cpp's converter does: names, keys, and the rows that it moves. Written from the
format's description, so that it is independent of the reader under test.

    gguf_models.py DIR FILE [--dtype F32|F16|BF16] [--type TYPE | --mix Q3_K_M|Q4_K_M|Q5_K_M] [--fused] [--decoded DIR]

--fused puts queries, keys and values into one tensor. --type quantizes all matrices to that type, where their rows are whole blocks; --mix those to more bits
to which llama.cpp gives more. --decoded writes a Hugging Face directory as well: that of the model, in F32, with the numbers that the file's matrices hold."""

import argparse
import json
import os
import shutil

import numpy

import gguf
import gguf_blocks
import tensorfiles

USUAL = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q",
         "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
         "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down"}
BEHIND = {**USUAL, "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm"}
EXPERTS = {**USUAL, "mlp.gate": "ffn_gate_inp", "mlp.shared_expert_gate": "ffn_gate_inp_shexp", "mlp.shared_expert.gate_proj": "ffn_gate_shexp",
           "mlp.shared_expert.up_proj": "ffn_up_shexp", "mlp.shared_expert.down_proj": "ffn_down_shexp", "mlp.experts.{}.gate_proj": "ffn_gate_exps",
           "mlp.experts.{}.up_proj": "ffn_up_exps", "mlp.experts.{}.down_proj": "ffn_down_exps"}
MIXTRAL = {**USUAL, "block_sparse_moe.gate": "ffn_gate_inp", "block_sparse_moe.experts.{}.w1": "ffn_gate_exps",
           "block_sparse_moe.experts.{}.w2": "ffn_down_exps", "block_sparse_moe.experts.{}.w3": "ffn_up_exps"}
GPT2 = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "lm_head": "output", "ln_1": "attn_norm", "attn.c_attn": "attn_qkv",
        "attn.c_proj": "attn_output", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
PHI3 = {**USUAL, "self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up"}
PHI = {**USUAL, "model.final_layernorm": "output_norm", "self_attn.dense": "attn_output", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down"}
STABLE = {**USUAL, "self_attn.q_layernorm.norms.{}": "attn_q_norm", "self_attn.k_layernorm.norms.{}": "attn_k_norm"}
GLM4 = {**USUAL, "mlp.gate_up_proj": "ffn_up", "post_self_attn_layernorm": "post_attention_norm", "post_mlp_layernorm": "post_ffw_norm"}
GPT_OSS = {**USUAL, "post_attention_layernorm": "post_attention_norm", "self_attn": "attn_sinks", "mlp.router": "ffn_gate_inp"}
LFM2 = {**USUAL, "model.embedding_norm": "token_embd_norm", "operator_norm": "attn_norm", "ffn_norm": "ffn_norm", "self_attn.out_proj": "attn_output",
        "self_attn.q_layernorm": "attn_q_norm", "self_attn.k_layernorm": "attn_k_norm", "conv.in_proj": "shortconv.in_proj", "conv.conv": "shortconv.conv",
        "conv.out_proj": "shortconv.out_proj", "feed_forward.w1": "ffn_gate", "feed_forward.w2": "ffn_down", "feed_forward.w3": "ffn_up",
        "feed_forward.gate": "ffn_gate_inp", "feed_forward": "exp_probs_b", "feed_forward.experts.{}.w1": "ffn_gate_exps",
        "feed_forward.experts.{}.w2": "ffn_down_exps", "feed_forward.experts.{}.w3": "ffn_up_exps"}
OLDER = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "mlp.dense_h_to_4h": "ffn_up", "mlp.dense_4h_to_h": "ffn_down"}
NEOX = {**OLDER, "gpt_neox.embed_in": "token_embd", "gpt_neox.final_layer_norm": "output_norm", "embed_out": "output", "attention.query_key_value": "attn_qkv",
        "attention.dense": "attn_output"}
BLOOM = {**OLDER, "word_embeddings": "token_embd", "word_embeddings_layernorm": "token_embd_norm", "ln_f": "output_norm", "lm_head": "output",
         "self_attention.query_key_value": "attn_qkv", "self_attention.dense": "attn_output", "ln_attn": "attn_norm_2", "ln_mlp": "attn_norm"}
MPT = {"wte": "token_embd", "norm_f": "output_norm", "norm_1": "attn_norm", "attn.Wqkv": "attn_qkv", "attn.out_proj": "attn_output", "norm_2": "ffn_norm",
       "ffn.up_proj": "ffn_up", "ffn.down_proj": "ffn_down"}
GEMMA4 = {**BEHIND, "model.embed_tokens_per_layer": "per_layer_token_embd", "model.per_layer_model_projection": "per_layer_model_proj",
          "model.per_layer_projection_norm": "per_layer_proj_norm", "per_layer_input_gate": "inp_gate", "per_layer_projection": "proj", "post_per_layer_input_norm": "post_norm",
          "router.proj": "ffn_gate_inp", "pre_feedforward_layernorm_2": "pre_ffw_norm_2", "post_feedforward_layernorm_1": "post_ffw_norm_1",
          "post_feedforward_layernorm_2": "post_ffw_norm_2"}
# One of its two stacks; the decoder's feed-forward is behind cross attention.
T5_LAYER = {"layer.0.layer_norm": "attn_norm", "layer.0.SelfAttention.q": "attn_q", "layer.0.SelfAttention.k": "attn_k", "layer.0.SelfAttention.v": "attn_v",
            "layer.0.SelfAttention.o": "attn_o", "layer.0.SelfAttention.relative_attention_bias": "attn_rel_b", "layer.1.EncDecAttention.q": "cross_attn_q",
            "layer.1.EncDecAttention.k": "cross_attn_k", "layer.1.EncDecAttention.v": "cross_attn_v", "layer.1.EncDecAttention.o": "cross_attn_o"}
T5_INNER = {"layer_norm": "ffn_norm", "DenseReluDense.wi": "ffn_up", "DenseReluDense.wi_0": "ffn_gate", "DenseReluDense.wi_1": "ffn_up", "DenseReluDense.wo": "ffn_down"}
T5 = {"shared": "token_embd", "lm_head": "output", "encoder.final_layer_norm": "enc.output_norm", "decoder.final_layer_norm": "dec.output_norm",
      **{f"{side}.{name}": part for side in ("encoder", "decoder") for name, part in T5_LAYER.items()}, "decoder.layer.1.layer_norm": "cross_attn_norm",
      **{f"encoder.layer.1.{name}": part for name, part in T5_INNER.items()}, **{f"decoder.layer.2.{name}": part for name, part in T5_INNER.items()}}
LINEARS = {"2_Dense.linear": "dense_2", "3_Dense.linear": "dense_3"}  # of sentence-transformers
BERT = {**LINEARS, "embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd", "embeddings.token_type_embeddings": "token_types",
        "embeddings.LayerNorm": "token_embd_norm", "attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
        "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm", "intermediate.dense": "ffn_up", "output.dense": "ffn_down",
        "output.LayerNorm": "layer_output_norm", "pooler.dense": "cls", "classifier": "cls.output", "classifier.dense": "cls", "classifier.out_proj": "cls.output"}
DISTIL = {**BERT, "attention.q_lin": "attn_q", "attention.k_lin": "attn_k", "attention.v_lin": "attn_v", "attention.out_lin": "attn_output",
          "sa_layer_norm": "attn_output_norm", "ffn.lin1": "ffn_up", "ffn.lin2": "ffn_down", "output_layer_norm": "layer_output_norm", "pre_classifier": "cls"}
NOMIC = {**BERT, "emb_ln": "token_embd_norm", "attn.Wqkv": "attn_qkv", "attn.out_proj": "attn_output", "norm1": "attn_output_norm", "mlp.fc12": "ffn_gate",
         "mlp.fc11": "ffn_up", "mlp.fc2": "ffn_down", "norm2": "layer_output_norm"}
MODERN = {**LINEARS, "embeddings.tok_embeddings": "token_embd", "embeddings.norm": "token_embd_norm", "final_norm": "output_norm", "attn_norm": "attn_norm", "attn.Wqkv": "attn_qkv",
          "attn.Wo": "attn_output", "mlp_norm": "ffn_norm", "mlp.Wi": "ffn_up", "mlp.Wo": "ffn_down", "head.dense": "cls", "head.norm": "cls.norm", "classifier": "cls.output"}
# Tensors without an end of their own.
GEMMA4_BARE = {"layer_scalar": "layer_output_scale.weight", "router.scale": "ffn_gate_inp.scale", "router.per_expert_scale": "ffn_down_exps.scale",
               "experts.gate_up_proj": "ffn_gate_up_exps.weight", "experts.down_proj": "ffn_down_exps.weight"}
DEEPSEEK = {**EXPERTS, "self_attn.q_a_proj": "attn_q_a", "self_attn.q_a_layernorm": "attn_q_a_norm", "self_attn.q_b_proj": "attn_q_b",
            "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa", "self_attn.kv_a_layernorm": "attn_kv_a_norm", "self_attn.kv_b_proj": "attn_kv_b",
            "mlp.shared_experts.gate_proj": "ffn_gate_shexp", "mlp.shared_experts.up_proj": "ffn_up_shexp", "mlp.shared_experts.down_proj": "ffn_down_shexp"}
GRANITE = {**USUAL, "block_sparse_moe.router.layer": "ffn_gate_inp", "shared_mlp.output_linear": "ffn_down_shexp"}
DELTA = {**EXPERTS, "post_attention_layernorm": "post_attention_norm"}
PLAIN = {**USUAL, "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}

# model_type -> (architecture, names, whether channels that rotate together become neighbors)
FAMILIES = {
    "t5": ("t5", T5, False), "mt5": ("t5", T5, False), "umt5": ("t5", T5, False), "bert": ("bert", BERT, False), "distilbert": ("bert", DISTIL, False), "roberta": ("bert", BERT, False), "xlm-roberta": ("bert", BERT, False),
    "nomic_bert": ("nomic-bert", NOMIC, False), "modernbert": ("modern-bert", MODERN, False), "embeddinggemma": ("gemma-embedding", {**BEHIND, **LINEARS}, False),
    "bloom": ("bloom", BLOOM, False), "cohere": ("command-r", USUAL, False), "cohere2": ("cohere2", USUAL, False), "deepseek_v2": ("deepseek2", DEEPSEEK, False), "deepseek_v3": ("deepseek2", DEEPSEEK, False), "falcon": ("falcon", BLOOM, False),
    "gemma": ("gemma", USUAL, False), "gemma2": ("gemma2", BEHIND, False), "gemma3_text": ("gemma3", BEHIND, False), "gemma4_text": ("gemma4", GEMMA4, False), "gpt2": ("gpt2", GPT2, False),
    "glm4": ("glm4", GLM4, False), "gpt_oss": ("gpt-oss", GPT_OSS, False), "gpt_neox": ("gptneox", NEOX, False), "granite": ("granite", USUAL, True), "granitemoe": ("granitemoe", GRANITE, True), "granitemoehybrid": ("granitehybrid", GRANITE, True), "gpt_bigcode": ("starcoder", GPT2, False), "lfm2": ("lfm2", LFM2, False), "lfm2_moe": ("lfm2moe", LFM2, False),
    "llama": ("llama", USUAL, True), "mistral": ("llama", USUAL, True), "mixtral": ("llama", MIXTRAL, True),
    "ministral3": ("mistral3", USUAL, True), "mpt": ("mpt", MPT, False), "nemotron": ("nemotron", USUAL, False), "olmo": ("olmo", USUAL, True), "olmo2": ("olmo2", BEHIND, False),
    "olmo3": ("olmo2", BEHIND, False), "olmoe": ("olmoe", EXPERTS, False), "phi": ("phi2", PHI, False), "stablelm": ("stablelm", STABLE, False),
    "phi3": ("phi3", PHI3, False), "qwen2": ("qwen2", USUAL, False), "qwen2_moe": ("qwen2moe", EXPERTS, False),
    "qwen3": ("qwen3", USUAL, False), "qwen3_moe": ("qwen3moe", EXPERTS, False), "qwen3_next": ("qwen3next", DELTA, False), "qwen3_5_text": ("qwen35", DELTA, False), "qwen3_5_moe_text": ("qwen35moe", DELTA, False), "smollm3": ("smollm3", USUAL, True), "starcoder2": ("starcoder2", PLAIN, False)}
# Encoders -> what stands before all names of their tensors.
ENCODERS = {"bert": "bert.", "distilbert": "distilbert.", "roberta": "roberta.", "xlm-roberta": "roberta.", "nomic_bert": "bert.", "modernbert": "model."}
AROUND_ONE = ("gemma", "gemma2", "gemma3_text", "embeddinggemma", "nemotron", "qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")
LAYER_NORMS = {"gpt2": "layer_norm_epsilon", "gpt_bigcode": "layer_norm_epsilon", "starcoder2": "norm_epsilon", "phi": "layer_norm_eps",
               "stablelm": "layer_norm_eps", "gpt_neox": "layer_norm_eps", "bloom": "layer_norm_epsilon", "falcon": "layer_norm_epsilon", "mpt": "layer_norm_epsilon",
               "nemotron": "norm_eps", "cohere": "layer_norm_eps", "cohere2": "layer_norm_eps", "olmo": "layer_norm_epsilon"}
WITHOUT_ROTATION = ("gpt2", "gpt_bigcode", "bloom", "mpt")
# Types -> those of rows that are no whole blocks.
FALLBACKS = {"Q2_K": "Q4_0", "Q3_K": "Q4_0", "Q4_K": "Q5_0", "Q5_K": "Q5_1", "Q6_K": "Q8_0", "IQ4_XS": "IQ4_NL"}
# Parts of the names of tensors that files have as F32.
KEPT = ("norm", "attn_rel_b", "ffn_gate_inp", "position_embd", "token_types", "conv1d", "shortconv.conv")
MIXES = {"Q3_K_M": "Q3_K", "Q4_K_M": "Q4_K", "Q5_K_M": "Q5_K"}
FILE_TYPES = {"Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q5_0": 8, "Q5_1": 9, "Q2_K": 10, "Q3_K": 11, "Q3_K_M": 12, "Q4_K": 14, "Q4_K_M": 15, "Q5_K": 16, "Q5_K_M": 17,
              "Q6_K": 18, "IQ4_NL": 25, "IQ4_XS": 30, "MXFP4": 38}
# The files beside a model's weights that a copy of it needs.
BESIDE = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
          "merges.txt", "vocab.txt", "tokenizer.model", "spiece.model", "chat_template.jinja", "chat_template.json")
# The share of the channels that rotate where config.json does not say.
SHARES = {"phi": 0.5, "stablelm": 0.25, "gpt_neox": 0.25, "nemotron": 0.5, "glm4": 0.5, "qwen3_next": 0.25, "qwen3_5_text": 0.25, "qwen3_5_moe_text": 0.25}


def value(config, *keys, default=None):
    found = next((config[key] for key in keys if config.get(key) is not None), default)
    assert found is not None, keys
    return found


def sizes(config):
    width, heads = value(config, "hidden_size", "n_embd", "d_model"), value(config, "num_attention_heads", "n_head", "n_heads", "num_heads")
    keyHeads = config.get("num_key_value_heads") or config.get("num_kv_heads") or heads
    if config["model_type"] in ("gpt_bigcode", "falcon") and config.get("multi_query", True) and not config.get("new_decoder_architecture"):
        keyHeads = 1
    return width, heads, keyHeads, config.get("head_dim") or width // heads


def scaling(config):
    return config.get("rope_parameters") or config.get("rope_scaling") or {}


def llama3(config, channels):
    """The factors by which llama3 divides the frequencies."""
    given = scaling(config)
    theta = given.get("rope_theta", config.get("rope_theta", 10000.0))
    wave = 2 * numpy.pi * theta ** (numpy.arange(0, channels, 2) / channels)
    original, low, high = given["original_max_position_embeddings"], given["low_freq_factor"], given["high_freq_factor"]
    smooth = (original / wave - low) / (high - low)
    between = 1 / ((1 - smooth) / given["factor"] + smooth)
    return numpy.where(wave < original / high, 1.0, numpy.where(wave > original / low, given["factor"], between)).astype(numpy.float32)


def rotary(config, channels):
    """Keys and tensors of the rotation."""
    given = scaling(config)
    kind, positions = given.get("rope_type", given.get("type", "default")), value(config, "max_position_embeddings")
    share = given.get("partial_rotary_factor", config.get("rotary_pct", config.get("partial_rotary_factor", SHARES.get(config["model_type"], 1.0))))
    theta = given.get("rope_theta", config.get("rotary_emb_base", config.get("rope_theta", 1e6 if config["model_type"].startswith("lfm2") else 10000.0)))
    keys = {"rope.dimension_count": int(channels * share), "rope.freq_base": float(theta)}
    tensors = {}
    if kind in ("linear", "yarn"):
        keys |= {"rope.scaling.type": kind, "rope.scaling.factor": float(given["factor"])}
    if kind == "yarn":
        keys |= {"rope.scaling.original_context_length": given["original_max_position_embeddings"]}
        keys |= {f"rope.scaling.yarn_{name}": float(given[name]) for name in ("beta_fast", "beta_slow") if name in given}
        if "kv_lora_rank" in config:
            keys["rope.scaling.yarn_log_multiplier"] = 0.1 * given["mscale_all_dim"]
        elif "mscale_all_dim" in given:
            keys |= {"rope.scaling.yarn_log_multiplier": float(given["mscale_all_dim"]), "attention.temperature_scale": float(given["llama_4_scaling_beta"])}
        if "attention_factor" in given:
            keys["rope.scaling.attn_factor"] = given["attention_factor"] / (0.1 * numpy.log(given["factor"]) + 1)
    if kind == "llama3":
        tensors["rope_freqs.weight"] = llama3(config, channels)
    if kind in ("longrope", "su"):
        original = value(config, "original_max_position_embeddings")
        ratio = positions / original
        keys |= {"rope.scaling.original_context_length": original,
                 "rope.scaling.attn_factor": float(numpy.sqrt(1 + numpy.log(ratio) / numpy.log(original))) if ratio > 1 else 1.0}
        tensors |= {f"rope_factors_{name}.weight": numpy.asarray(given[f"{name}_factor"], numpy.float32) for name in ("short", "long")}
    return keys, tensors


def metadata(config):
    """(keys with the architecture in front, tensors beside the checkpoint's)"""
    family = config["model_type"]
    architecture = FAMILIES[family][0]
    if architecture == "t5":
        return {"general.architecture": "t5", **{f"t5.{key}": entry for key, entry in t5(config).items()}}, {}
    if family in ENCODERS:
        types = {} if family == "modernbert" else {"tokenizer.ggml.token_type_count": config.get("type_vocab_size", 1 if family == "distilbert" else 2)}
        return {"general.architecture": architecture, **{f"{architecture}.{key}": entry for key, entry in encoder(config).items()}, **types}, {}
    width, heads, keyHeads, channels = sizes(config)
    keys = {"context_length": value(config, "max_position_embeddings", "n_positions", "seq_length", "max_seq_len"), "embedding_length": width,
            "block_count": value(config, "num_hidden_layers", "n_layer", "n_layers"), "attention.head_count": heads, "attention.head_count_kv": keyHeads,
            "feed_forward_length": value(config, "intermediate_size", "n_inner", "ffn_hidden_size", default=4 * width)}
    tensors = {}
    if family not in WITHOUT_ROTATION:
        keys |= {"attention.key_length": channels, "attention.value_length": channels}
        more, tensors = rotary(config, channels)
        keys |= more
    if family in LAYER_NORMS:
        keys["attention.layer_norm_epsilon"] = config.get(LAYER_NORMS[family], 1e-5)
    else:
        usual = {"phi3": 1e-5, "olmo2": 1e-5, "olmo3": 1e-5, "olmoe": 1e-5, "mixtral": 1e-5, "glm4": 1.5625e-07, "lfm2": 1e-5, "lfm2_moe": 1e-5}
        keys["attention.layer_norm_rms_epsilon"] = config.get("rms_norm_eps", config.get("norm_eps", usual.get(family, 1e-6)))
    if family == "gemma4_text":
        more, extra = gemma4(config, channels, keyHeads)
        keys, tensors = keys | more, extra
    if "kv_lora_rank" in config:
        keys |= latents(config)
    if "shared_intermediate_size" in config:
        keys["expert_shared_feed_forward_length"] = config["shared_intermediate_size"]
    if family == "granitemoehybrid":
        keys |= hybrid(config, keyHeads) | state_space(config) | {"rope.scaling.finetuned": config.get("position_embedding_type") == "rope"}
        if not config["num_local_experts"]:
            keys["feed_forward_length"] = config["shared_intermediate_size"]
    if "linear_num_key_heads" in config:
        keys |= {"ssm.conv_kernel": config["linear_conv_kernel_dim"], "ssm.state_size": config["linear_key_head_dim"], "ssm.group_count": config["linear_num_key_heads"],
                 "ssm.time_step_rank": config["linear_num_value_heads"], "ssm.inner_size": config["linear_num_value_heads"] * config["linear_value_head_dim"],
                 "full_attention_interval": config["full_attention_interval"]}
    if family.startswith("qwen3_5"):
        pairs = keys["rope.dimension_count"] // 2
        keys["rope.dimension_sections"] = [11, 11, 10, 0] if pairs == 32 else [pairs - pairs // 2, pairs // 2, 0, 0]
    if family.startswith("lfm2"):
        keys |= hybrid(config, keyHeads) | {"shortconv.l_cache": config["conv_L_cache"]}
    if family == "lfm2":
        keys["feed_forward_length"] = lfm2Width(config)
    if family == "lfm2_moe":
        keys |= {"leading_dense_block_count": config["num_dense_layers"], "expert_gating_func": 2}
    if family == "gpt_oss":
        keys["expert_feed_forward_length"] = config["intermediate_size"]
    if family in ("gemma2", "gemma3_text", "embeddinggemma", "cohere2", "olmo3", "gpt_oss"):
        keys["attention.sliding_window"] = config["sliding_window"]
        keys |= {key: config[key] for key in ("attn_logit_softcapping", "final_logit_softcapping") if config.get(key)}
    if family == "embeddinggemma":
        keys["attention.causal"] = False
    if family in ("gemma3_text", "embeddinggemma"):
        keys["rope.freq_base_swa"] = float(config["rope_local_base_freq"])
        if "sliding_window_pattern" in config:
            keys["attention.sliding_window_pattern"] = config["sliding_window_pattern"]
        if "layer_types" in config:
            keys["attention.sliding_window_pattern"] = [kind == "sliding_attention" for kind in config["layer_types"]]
    if family == "phi3" and config.get("sliding_window"):
        keys["attention.sliding_window"] = config["sliding_window"]
    granite = {"attention.scale": "attention_multiplier", "embedding_scale": "embedding_multiplier", "residual_scale": "residual_multiplier", "logit_scale": "logits_scaling"}
    scales = {"granite": granite, "granitemoe": granite, "granitemoehybrid": granite, "cohere": {"logit_scale": "logit_scale"}, "cohere2": {"logit_scale": "logit_scale"}}
    keys |= {key: float(config[member]) for key, member in scales.get(family, {}).items()}
    clip = config.get("clip_qkv") or config.get("attn_config", {}).get("clip_qkv")
    if clip:
        keys["attention.clamp_kqv"] = clip
    if family == "mpt":
        keys["attention.max_alibi_bias"] = float(config.get("attn_config", {}).get("alibi_bias_max", 8))
    if family in ("gpt_neox", "stablelm"):
        keys["use_parallel_residual"] = config.get("use_parallel_residual", True)
    if "num_experts_per_tok" in config:
        keys |= {"expert_count": value(config, "num_experts", "num_local_experts", "n_routed_experts"), "expert_used_count": config["num_experts_per_tok"]}
    if "moe_intermediate_size" in config:
        keys["expert_feed_forward_length"] = config["moe_intermediate_size"]
    if "shared_expert_intermediate_size" in config:
        keys["expert_shared_feed_forward_length"] = config["shared_expert_intermediate_size"]
    return {"general.architecture": architecture, **{f"{architecture}.{key}": entry for key, entry in keys.items()}}, tensors


def t5(config):
    return {"context_length": config.get("n_positions", 512), "embedding_length": config["d_model"], "feed_forward_length": config["d_ff"], "block_count": config["num_layers"],
            "decoder_block_count": config["num_decoder_layers"], "attention.head_count": config["num_heads"], "attention.key_length": config["d_kv"],
            "attention.value_length": config["d_kv"], "attention.layer_norm_epsilon": config["layer_norm_epsilon"], "attention.layer_norm_rms_epsilon": config["layer_norm_epsilon"],
            "attention.relative_buckets_count": config["relative_attention_num_buckets"], "decoder_start_token_id": config["decoder_start_token_id"]}


def encoder(config):
    family = config["model_type"]
    keys = {"context_length": config["max_position_embeddings"] - (config["pad_token_id"] + 1 if "roberta" in family else 0), "block_count": config["num_hidden_layers"],
            "embedding_length": config["hidden_size"], "feed_forward_length": value(config, "intermediate_size", "hidden_dim"),
            "attention.head_count": config["num_attention_heads"], "attention.layer_norm_epsilon": value(config, "layer_norm_eps", "norm_eps", default=1e-12),
            "attention.causal": False}
    if family == "nomic_bert":
        keys["rope.freq_base"] = float(config["rotary_emb_base"])
    if family == "modernbert":
        keys |= {"attention.sliding_window": config["local_attention"], "attention.sliding_window_pattern": config["global_attn_every_n_layers"],
                 "rope.freq_base": float(config["global_rope_theta"]), "rope.freq_base_swa": float(config["local_rope_theta"]), "rope.scaling.type": "none"}
        if "hidden_activation" in config:
            keys["hidden_activation"] = config["hidden_activation"]
    if "id2label" in config:
        keys["classifier.output_labels"] = list(config["id2label"].values())
    return keys


def hybrid(config, keyHeads):
    """Heads of keys of each layer."""
    return {"attention.head_count_kv": [keyHeads if kind.endswith("attention") else 0 for kind in config["layer_types"]]}


def gemma4(config, channels, keyHeads):
    """Keys and tensors of gemma4, whose layers without a window have other heads."""
    layers, whole, shared = config["num_hidden_layers"], config["global_head_dim"], config.get("num_kv_shared_layers", 0)
    windowed = [kind == "sliding_attention" for kind in config["layer_types"]]
    rope = config["rope_parameters"]
    keys = {"attention.key_length": whole, "attention.value_length": whole, "attention.key_length_swa": channels, "attention.value_length_swa": channels,
            "attention.shared_kv_layers": shared, "attention.sliding_window": config["sliding_window"], "attention.sliding_window_pattern": windowed,
            "embedding_length_per_layer_input": config.get("hidden_size_per_layer_input") or 0, "rope.dimension_count": whole, "rope.dimension_count_swa": channels,
            "rope.freq_base": float(rope["full_attention"]["rope_theta"]), "rope.freq_base_swa": float(rope["sliding_attention"]["rope_theta"])}
    if config.get("final_logit_softcapping"):
        keys["final_logit_softcapping"] = config["final_logit_softcapping"]
    if config.get("num_global_key_value_heads"):
        keys["attention.head_count_kv"] = [keyHeads if has else config["num_global_key_value_heads"] for has in windowed]
    if config.get("use_double_wide_mlp"):
        keys["feed_forward_length"] = [config["intermediate_size"] * (2 if layer >= layers - shared else 1) for layer in range(layers)]
    if config.get("enable_moe_block"):
        keys |= {"expert_count": config["num_experts"], "expert_used_count": config["top_k_experts"]}
    turned = int(whole * rope["full_attention"]["partial_rotary_factor"] / 2)
    return keys, {"rope_freqs.weight": numpy.array([1.0] * turned + [1e30] * (whole // 2 - turned), numpy.float32)}


def latents(config):
    """Keys of latent attention, and of its families' experts."""
    rank, rotated, plain = config["kv_lora_rank"], config["qk_rope_head_dim"], config["qk_nope_head_dim"]
    keys = {"attention.head_count_kv": 1, "attention.key_length": rank + rotated, "attention.value_length": rank, "attention.key_length_mla": plain + rotated,
            "attention.value_length_mla": config["v_head_dim"], "attention.kv_lora_rank": rank, "rope.dimension_count": rotated,
            "leading_dense_block_count": config.get("first_k_dense_replace", 0), "expert_shared_count": config.get("n_shared_experts") or 0}
    if config.get("q_lora_rank"):
        keys["attention.q_lora_rank"] = config["q_lora_rank"]
    if "n_routed_experts" not in config:
        keys["expert_feed_forward_length"] = config["intermediate_size"]
    else:
        keys |= {"expert_count": config["n_routed_experts"], "expert_group_count": config["n_group"], "expert_group_used_count": config["topk_group"],
                 "expert_gating_func": 2 if config["model_type"] == "deepseek_v3" else 1, "expert_weights_scale": float(config["routed_scaling_factor"])}
        if config.get("norm_topk_prob"):
            keys["expert_weights_norm"] = True
    return keys


def heads_of_latents(config, array):
    """{name in a layer: array} of the rows that make keys and values of latents."""
    plain = config["qk_nope_head_dim"]
    heads = array.reshape(config["num_attention_heads"], -1, array.shape[-1])
    return {"attn_k_b.weight": heads[:, :plain].swapaxes(1, 2), "attn_v_b.weight": heads[:, plain:]}


def state_space(config):
    return {"ssm.conv_kernel": config["mamba_d_conv"], "ssm.state_size": config["mamba_d_state"], "ssm.group_count": config["mamba_n_groups"],
            "ssm.time_step_rank": config["mamba_n_heads"], "ssm.inner_size": config["mamba_expand"] * config["hidden_size"]}


def granite_parts(config, stem, array):
    """{name in a layer: array} of the two matrices of a gated feed-forward that are one tensor, and of state-space duality."""
    if stem.endswith("input_linear") or stem == "shared_mlp.output_linear":
        ends = "_exps" if stem.startswith("block") else "_shexp" if config.get("num_local_experts") else ""
        if stem == "shared_mlp.output_linear":
            return {f"ffn_down{ends}.weight": array}
        gate, up = numpy.split(array, 2, axis=-2)
        return {f"ffn_gate{ends}.weight": gate, f"ffn_up{ends}.weight": up}
    if stem == "block_sparse_moe.output_linear":
        return {"ffn_down_exps.weight": array}
    return None


def mamba_part(config, name, array):
    """(name in a layer, array) of a tensor of state-space duality. Numbers that are places stay as they are."""
    if name == "A_log" and array.dtype.kind == "f":
        array = -numpy.exp(array)
    if name in ("A_log", "D"):
        array = array[:, None]
    if name == "conv1d.weight":
        array = array[:, 0]
    if name == "norm.weight":
        array = array.reshape(config["mamba_n_groups"], -1)
    names = {"in_proj": "ssm_in", "conv1d": "ssm_conv1d", "norm": "ssm_norm", "out_proj": "ssm_out"}
    part, _, end = name.rpartition(".")
    return {"A_log": "ssm_a", "D": "ssm_d", "dt_bias": "ssm_dt.bias"}.get(name) or f"{names[part]}.{end}", array


def lfm2Width(config):
    """The columns of feed-forwards, of which config.json gives another number."""
    width = config.get("block_ff_dim", config.get("intermediate_size"))
    if not config.get("block_auto_adjust_ff_dim", True):
        return width
    unit = config.get("block_multiple_of", 256)
    return -(-int(config.get("block_ffn_dim_multiplier", 1) * (2 * width // 3)) // unit) * unit


def neighbors(array, heads):
    """Rows of heads of d: row 2 i + h is row h d / 2 + i of the checkpoint."""
    return array.reshape(heads, 2, -1, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)


def regrouped(array, heads, keyHeads):
    """Rows of groups of queries, a key and a value become all queries, all keys, all values."""
    groups = array.reshape(keyHeads, heads // keyHeads + 2, -1, *array.shape[1:])
    parts = [groups[:, :-2], groups[:, -2], groups[:, -1]]
    return numpy.concatenate([part.reshape(-1, *array.shape[1:]) for part in parts])


def delta_rule(config, name, array):
    """{name in a layer: array} of a tensor of the gated delta rule. Numbers that are places stay as they are."""
    keys, heads, channels = (config[f"linear_{key}"] for key in ("num_key_heads", "num_value_heads", "value_head_dim"))
    columns, shared = keys * config["linear_key_head_dim"], heads // keys
    if name == "in_proj_qkvz.weight":
        parts = numpy.split(array.reshape(keys, -1, array.shape[-1]), numpy.cumsum([columns // keys, columns // keys, shared * channels]), axis=1)
        *mixed, gate = [part.reshape(-1, array.shape[-1]) for part in parts]
        return {"attn_qkv.weight": numpy.concatenate(mixed), "attn_gate.weight": gate}
    if name == "A_log" and array.dtype.kind == "f":
        array = -numpy.exp(array)
    if name == "conv1d.weight":
        array = array[:, 0]
    if config["model_type"] != "qwen3_next":  # heads of values that share a key lie apart
        tiled = lambda part, size: part.reshape(keys, shared, size, *part.shape[1:]).swapaxes(0, 1).reshape(part.shape)
        if name in ("in_proj_qkv.weight", "conv1d.weight"):
            array = numpy.concatenate([array[:2 * columns], tiled(array[2 * columns:], channels)])
        elif name == "out_proj.weight":
            array = tiled(array.T, channels).T
        elif name != "norm.weight":
            array = tiled(array, channels if name == "in_proj_z.weight" else 1)
    names = {"in_proj_qkv.weight": "attn_qkv.weight", "in_proj_z.weight": "attn_gate.weight", "in_proj_b.weight": "ssm_beta.weight", "in_proj_a.weight": "ssm_alpha.weight",
             "in_proj_ba.weight": "ssm_ba.weight", "conv1d.weight": "ssm_conv1d.weight", "dt_bias": "ssm_dt.bias", "A_log": "ssm_a", "norm.weight": "ssm_norm.weight",
             "out_proj.weight": "ssm_out.weight"}
    return {names[name]: array}


def experts_in_turn(start, end, array):
    """gpt_oss: matrices [experts, in, out], whose gates and ups take turns, and biases [experts, out]."""
    part, _, isBias = end.partition("_proj")
    array = array if isBias else array.swapaxes(1, 2)
    suffix = "bias" if isBias else "weight"
    if part == "down":
        return {f"{start}down_exps.{suffix}": array}
    return {f"{start}gate_exps.{suffix}": array[:, ::2], f"{start}up_exps.{suffix}": array[:, 1::2]}


def tensors(config, checkpoint, fused=False):
    """{name: array} of the checkpoint's tensors. Vectors and routers are named in the second result: files have them as F32."""
    family = config["model_type"]
    _, names, turns = FAMILIES[family]
    _, heads, keyHeads, _ = sizes(config)
    found, experts = {}, {}
    for name, array in checkpoint.items():
        stem, end = name.removeprefix(ENCODERS.get(family, "")).removeprefix("" if family in ENCODERS else "transformer.").rsplit(".", 1)
        if "roberta" in family and stem == "embeddings.position_embeddings":
            array = array[config["pad_token_id"] + 1:]  # rows before that of the first position
        layer, words = "", stem.split(".")
        for prefix in (["model", "layers"], ["gpt_neox", "layers"], ["h"], ["blocks"], ["encoder", "layer"], ["encoder", "layers"], ["transformer", "layer"], ["layers"]):
            if words[:len(prefix)] == prefix:
                layer, words = f"blk.{words[len(prefix)]}.", words[len(prefix) + 1:]
        if words[:2] in (["encoder", "block"], ["decoder", "block"]):
            layer, words = f"{words[0][:3]}.blk.{words[2]}.", [words[0], *words[3:]]
        if family == "gemma4_text" and (own := GEMMA4_BARE.get(".".join([*words, end]))):
            found[layer + own] = array
            continue
        if words[0] == "mamba":
            own, part = mamba_part(config, ".".join([*words[1:], end]), array)
            found[layer + own] = part
            continue
        if family.startswith("granite") and (parts := granite_parts(config, ".".join(words), array)):
            found |= {layer + own: part for own, part in parts.items()}
            continue
        if words[0] == "linear_attn":
            found |= {layer + own: part for own, part in delta_rule(config, ".".join([*words[1:], end]), array).items()}
            continue
        if family == "gpt_oss" and words[:2] == ["mlp", "experts"]:
            found |= experts_in_turn(layer + "ffn_", end, array)
            continue
        if words[-1] == "kv_b_proj":
            found |= {layer + own: part for own, part in heads_of_latents(config, array).items()}
            continue
        expert = None if FAMILIES[family][0] == "t5" else next((word for word in words[1:] if word.isdigit()), None)
        if family == "gpt_oss" and end == "sinks":
            end = "weight"
        if end == "expert_bias":
            end = "bias"
        if end == "e_score_correction_bias":
            words, end = ["exp_probs_b"], "bias"
        if words == ["conv", "conv"]:
            array = array[:, 0]
        part = words[0] if words[0] == "exp_probs_b" else names[".".join("{}" if word == expert else word for word in words)]
        if turns and part in ("attn_q", "attn_k"):
            array = neighbors(array, heads if part == "attn_q" else keyHeads)
        if family in AROUND_ONE and part.endswith("norm") and end == "weight":
            array = array + numpy.float32(1)
        if family in ("gpt_neox", "bloom", "falcon") and part == "attn_qkv":
            array = regrouped(array, heads, keyHeads)
        if family == "gpt2" and layer and array.ndim == 2:
            array = array.T
        if part == "ffn_gate_inp_shexp":
            array = array[0]
        if expert is None:
            found[f"{layer}{part}.{end}"] = array
        else:
            experts.setdefault(f"{layer}{part}.{end}", {})[int(expert)] = array
    found |= {name: numpy.stack([parts[number] for number in sorted(parts)]) for name, parts in experts.items()}
    for name in [name for name in found if ".attn_q." in name and fused]:
        parts = [found.pop(name.replace("attn_q", part)) for part in ("attn_q", "attn_k", "attn_v")]
        found[name.replace("attn_q", "attn_qkv")] = numpy.concatenate(parts)
    return found, [name for name, array in found.items() if array.ndim == 1 or name.endswith(("exps.bias", "scale.weight")) or isKept(name)]


def isKept(name):
    return any(part in name for part in KEPT) or name.endswith(("ssm_a", "ssm_d"))


def layerOf(name):
    return int(name.split(".")[1]) if name.startswith("blk.") else -1


def hasMoreBits(index, count):
    return index < count // 8 or index >= 7 * count // 8 or (index - count // 8) % 3 == 2


def mixed(mix, config, names):
    """{name: type} of a file's matrices in one of MIXES, by the rule of llama.cpp but for its models of 70 billion weights."""
    falcon, ofEight = config["model_type"] == "falcon", config.get("num_experts", config.get("num_local_experts")) == 8
    layers, base = value(config, "num_hidden_layers", "n_layer", "n_layers"), MIXES[mix]
    values = sorted((name for name in names if "attn_v." in name or "attn_qkv." in name), key=layerOf)
    kinds = {}
    for name in names:
        layer, kind = layerOf(name), base
        if name == "output.weight" or name == "token_embd.weight" and "output.weight" not in names:
            kind = "Q8_0" if falcon else "Q6_K"
        elif name in values:
            more = hasMoreBits(values.index(name), len(values))
            kind = ("Q5_K" if values.index(name) < 2 else "Q4_K") if base == "Q3_K" else "Q6_K" if more else base
            kind = "Q8_0" if ofEight else kind
        elif "attn_k." in name and ofEight:
            kind = "Q8_0"
        elif "ffn_down" in name:
            more, first = hasMoreBits(layer, layers), layer < layers // 16
            if base == "Q3_K":
                kind = "Q5_K" if first else "Q4_K" if more or not falcon else base
            elif base == "Q4_K" and falcon:
                kind = "Q6_K" if first else "Q5_K" if more else base
            else:
                kind = "Q6_K" if more else base
        elif "attn_output." in name and not falcon:
            kind = "Q5_K" if ofEight else "Q4_K" if base == "Q3_K" else base
        kinds[name] = kind
    return kinds


def fitting(kind, depth):
    """The type that rows of this depth get."""
    kinds = [kind, *([FALLBACKS[kind]] if kind in FALLBACKS else []), "F16"]
    return next(kind for kind in kinds if kind == "F16" or depth % gguf_blocks.TYPES[kind][1] == 0)


def quantized(config, found, kind, mix):
    """{name: type} of the matrices among tensors."""
    shapes = {name: array.extents[::-1] if isinstance(array, gguf.Blocks) else array.shape for name, array in found.items()}
    names = [name for name, shape in shapes.items() if name.endswith(".weight") and len(shape) > 1 and not isKept(name)]
    kinds = mixed(mix, config, names) if mix else {name: kind for name in names}
    return {name: fitting(kind, shapes[name][-1]) for name, kind in kinds.items()}


def decodedCheckpoint(config, checkpoint, contents, fused=False, changes=None):
    """The checkpoint in f32, with the numbers of the file's tensors, {name: gguf.Blocks}, in place of its own but where they are of type F32. Where each goes
    is found by converting the places of numbers like the numbers: `changes` may move tensors, cut them and give Blocks, but not copy them."""
    places, count = {}, 0
    for name, array in checkpoint.items():
        places[name] = numpy.arange(count, count + array.size).reshape(array.shape)
        count += array.size
    values = numpy.concatenate([array.astype(numpy.float32).ravel() for array in checkpoint.values()])
    moved, _ = tensors(config, places, fused)
    changed = dict(moved)
    changed = changes and changes(changed) or changed
    for name, tensor in contents.items():
        if tensor.number == gguf.TYPES["F32"]:
            continue
        numbers = gguf.numbers(tensor)
        known = [array for array in (changed.get(name), moved.get(name)) if isinstance(array, numpy.ndarray) and array.dtype == numpy.int64]
        if known and known[0].shape == numbers.shape:
            values[known[0]] = numbers
    return {name: values[numbered] for name, numbered in places.items()}


def writeDecoded(directory, source, checkpoint):
    """A directory with these weights and the other files of the source."""
    os.makedirs(directory, exist_ok=True)
    for name in BESIDE:
        if os.path.exists(os.path.join(source, name)):
            shutil.copy(os.path.join(source, name), directory)
    tensorfiles.writeDirectory(directory, checkpoint, "F32")


def readCheckpoint(directory):
    """The model's tensors, and those of sentence-transformers' linear layers, which have folders of their own."""
    found = tensorfiles.readDirectory(directory)
    for folder in sorted(name for name in os.listdir(directory) if name.endswith("_Dense")):
        found |= {f"{folder}.{name}": array for name, array in tensorfiles.readDirectory(os.path.join(directory, folder)).items()}
    return found


TOWER = {"layer_norm1": "ln1", "layer_norm2": "ln2", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.out_proj": "attn_out",
         "mlp.fc1": "ffn_down", "mlp.fc2": "ffn_up"}
BESIDE_LAYERS = {"embeddings.class_embedding": "v.class_embd", "embeddings.patch_embedding.weight": "v.patch_embd.weight",
                 "embeddings.position_embedding.weight": "v.position_embd.weight", "pre_layrnorm.weight": "v.pre_ln.weight", "pre_layrnorm.bias": "v.pre_ln.bias"}


def convertImages(directory, path, changes=None, keys=None):
    """Writes the tower and the projector of a llava's directory, as llama.cpp's script for LLaVA 1.5 does: without the layers behind the one that is read, the two
    matrices of a feed-forward by the other's name."""
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        config = json.load(file)["vision_config"]
    with open(os.path.join(directory, "preprocessor_config.json"), encoding="utf-8") as file:
        processor = json.load(file)
    layers, found = config["num_hidden_layers"] - 1, {}
    for name, array in tensorfiles.readDirectory(directory).items():
        name, end = name.removeprefix("model."), name.rsplit(".", 1)[-1]
        if name.startswith("multi_modal_projector."):
            found[f"mm.{'0' if 'linear_1' in name else '2'}.{end}"] = array
        elif name.startswith("vision_tower."):
            name = name.removeprefix("vision_tower.").removeprefix("vision_model.")
            if name in BESIDE_LAYERS:
                found[BESIDE_LAYERS[name]] = array
            elif name.startswith("encoder.layers.") and int(name.split(".")[2]) < layers:
                _, _, layer, stem = name.rsplit(".", 1)[0].split(".", 3)
                found[f"v.blk.{layer}.{TOWER[stem]}.{end}"] = array
    own = {"general.architecture": "clip", "clip.has_text_encoder": False, "clip.has_vision_encoder": True, "clip.has_llava_projector": True, "clip.projector_type": "mlp",
           "clip.vision.image_size": config["image_size"], "clip.vision.patch_size": config["patch_size"], "clip.vision.embedding_length": config["hidden_size"],
           "clip.vision.feed_forward_length": config["intermediate_size"], "clip.vision.projection_dim": 0, "clip.vision.attention.head_count": config["num_attention_heads"],
           "clip.vision.attention.layer_norm_epsilon": config["layer_norm_eps"], "clip.vision.block_count": layers, "clip.vision.image_mean": processor["image_mean"],
           "clip.vision.image_std": processor["image_std"], "clip.use_gelu": config.get("hidden_act", "quick_gelu") == "gelu"}
    found = changes and changes(found) or found
    kinds = {name: "F32" for name, array in found.items() if array.ndim < 2}
    gguf.write(path, {key: entry for key, entry in {**own, **(keys or {})}.items() if entry is not None}, found, dtype="F32", kinds=kinds)


def convertText(directory, path, **options):
    """The language model of a llava's directory."""
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        config = json.load(file)["text_config"]
    checkpoint = {}
    for name, array in tensorfiles.readDirectory(directory).items():
        name = name.replace("model.language_model.", "language_model.model.")
        if name.startswith("language_model.") or name == "lm_head.weight":
            checkpoint[name.removeprefix("language_model.")] = array
    return convert(directory, path, config=config, checkpoint=checkpoint, **options)


def convert(directory, path, dtype="F32", fused=False, changes=None, keys=None, parts=1, family=None, kind=None, mix=None, decoded=None, config=None, checkpoint=None, **options):
    """Writes the file. `changes` is called with the tensors before; `keys` are further ones, or others; None takes one away. `family` is that by which tensors
    are named, if not the directory's. `kind` is the type of quantized matrices, or `mix` one of MIXES; `decoded` a directory for what they hold. `config` and `checkpoint` are those of the directory where
    they are not given."""
    if config is None:
        with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
    config["model_type"] = family or config["model_type"]
    own, more = metadata(config)
    checkpoint = readCheckpoint(directory) if checkpoint is None else checkpoint
    found, plain = tensors(config, checkpoint, fused)
    found |= more
    for name in [name for name in found if name.startswith("dense_") and name.endswith(".weight")]:
        part, (out, count) = name.removesuffix(".weight"), found[name].shape
        own |= {f"{own['general.architecture']}.{part}_feat_in": count, f"{own['general.architecture']}.{part}_feat_out": out}
    if changes:
        found = changes(found) or found
    kinds = {name: "F32" for name in [*plain, *more] if name in found}
    if kind or mix:
        kinds |= quantized(config, found, kind, mix)
        own |= {"general.quantization_version": 2, "general.file_type": FILE_TYPES[mix or kind]}
    own = {key: entry for key, entry in {**own, **(keys or {})}.items() if entry is not None}
    if decoded:
        found = {name: gguf.blocks(array, kinds.get(name, dtype)) for name, array in found.items()}
        writeDecoded(decoded, directory, decodedCheckpoint(config, checkpoint, found, fused, changes))
    if parts > 1:
        return gguf.writeParts(path, own, found, parts, dtype=dtype, kinds=kinds, **options)
    gguf.write(path, own, found, dtype=dtype, kinds=kinds, **options)
    return [path]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("file")
    parser.add_argument("--dtype", default="F32")
    parser.add_argument("--fused", action="store_true")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--type", choices=gguf_blocks.ENCODED)
    either.add_argument("--mix", choices=MIXES)
    parser.add_argument("--decoded", metavar="DIR")
    options = parser.parse_args()
    convert(options.directory, options.file, options.dtype, options.fused, kind=options.type, mix=options.mix, decoded=options.decoded)


if __name__ == "__main__":
    main()
