"""Compiles random models of GGUF files and compares them with numpy in float64 over the directories that the files are made from: those whose programs are not
the directory's, and one of each way in which a file's tensors differ. test/Import/GGUF/families.py compares the tensors of all with directories, bit for bit.

Quantized files are compared with the numbers that their blocks hold: what differs is that compiled code rounds rows to 8 bits. quantized_models.py compares them
with the evaluator, which does so, too."""

import json
import os
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import gguf_models  # noqa: E402
import gpt2  # noqa: E402
import gpt2_random  # noqa: E402
import llama  # noqa: E402
import llama_random  # noqa: E402
import make_model  # noqa: E402
import random_models  # noqa: E402
import decoder_random  # noqa: E402
from decoder_families import FAMILIES  # noqa: E402
from decoders import common  # noqa: E402

SEED = 23
GROUPED = {"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 12, "hidden_size": 60}
LLAMA3 = {"rope_scaling": llama_random.LLAMA3, "rope_theta": 500000.0, "max_position_embeddings": 200, "head_dim": 32}

WIDE = {**GROUPED, "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 32}
ROUNDED = 8e-2  # allowed of 8 bits, relative L2
# Where heads, or routes to experts, of random weights pass on what rounding changes; the evaluator, which rounds rows alike, differs as much. Heads in another
# order give 1.4.
PASSED_ON = {"qwen35-q4-k-m": 0.4, "gemma4-experts-q8": 0.25, "deepseek2-q8": 0.15}

GPT_OSS = {"model_type": "gpt_oss", "hidden_size": 64, "head_dim": 16, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 3, "intermediate_size": 96,
           "num_local_experts": 5, "num_experts_per_tok": 2, "vocab_size": 61, "max_position_embeddings": 128, "sliding_window": 8, "tie_word_embeddings": False,
           "rms_norm_eps": 1e-5, "rope_theta": 300.0,
           "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False}}

LFM2 = {"model_type": "lfm2", "hidden_size": 48, "num_attention_heads": 6, "num_key_value_heads": 2, "num_hidden_layers": 4, "block_ff_dim": 120, "block_multiple_of": 8,
        "layer_types": ["conv", "full_attention", "conv", "full_attention"], "conv_L_cache": 3, "vocab_size": 61, "max_position_embeddings": 128}

DELTA = {"hidden_size": 48, "intermediate_size": 72, "num_hidden_layers": 4, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 61,
         "linear_num_key_heads": 2, "linear_num_value_heads": 6, "linear_key_head_dim": 8, "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4,
         "full_attention_interval": 3, "max_position_embeddings": 128}
SHARED = {"num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "shared_expert_intermediate_size": 36}
WIDER = {"hidden_size": 256, "linear_value_head_dim": 128, "linear_num_value_heads": 4}  # two heads of values to a block of 256

HYBRID = {"model_type": "granitemoehybrid", "hidden_size": 48, "intermediate_size": 72, "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2,
          "vocab_size": 61, "layer_types": ["mamba", "attention", "mamba"], "mamba_n_heads": 12, "mamba_expand": 2, "mamba_n_groups": 1, "mamba_d_state": 16, "mamba_d_conv": 4,
          "shared_intermediate_size": 64, "max_position_embeddings": 128, "embedding_multiplier": 3.0, "residual_multiplier": 0.4, "attention_multiplier": 0.2, "logits_scaling": 6.0}

GEMMA4 = {"model_type": "gemma4_text", "hidden_size": 48, "intermediate_size": 72, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 61,
          "head_dim": 16, "global_head_dim": 32, "num_global_key_value_heads": 1, "attention_k_eq_v": True, "sliding_window": 9, "max_position_embeddings": 128,
          "layer_types": ["sliding_attention", "full_attention"] * 2, "hidden_size_per_layer_input": 0, "enable_moe_block": True, "num_experts": 5, "top_k_experts": 2,
          "moe_intermediate_size": 24, "rope_parameters": {"full_attention": {"partial_rotary_factor": 0.25, "rope_theta": 1e6, "rope_type": "proportional"},
                                                           "sliding_attention": {"rope_theta": 1e4, "rope_type": "default"}}}

LATENTS = {"hidden_size": 48, "intermediate_size": 72, "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 6, "vocab_size": 61, "max_position_embeddings": 128,
           "kv_lora_rank": 32, "q_lora_rank": 24, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 12, "n_routed_experts": 8, "num_experts_per_tok": 3,
           "moe_intermediate_size": 24, "n_group": 4, "topk_group": 2, "routed_scaling_factor": 1.5, "first_k_dense_replace": 1, "n_shared_experts": 2,
           "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "beta_fast": 32, "beta_slow": 1, "mscale": 0.707, "mscale_all_dim": 0.707}}
V2 = {"model_type": "deepseek_v2", "topk_method": "group_limited_greedy"}

# name -> (the script in numpy, none where a directory is compared, whose models it is of, configuration or name of a case, options of gguf_models.convert)
CASES = {
    "gpt2": (gpt2_random, {}, {}),
    "gpt2-f16": (gpt2_random, {}, {"dtype": "F16"}),
    "llama": (llama_random, GROUPED, {}),
    "llama-fused-parts": (llama_random, GROUPED, {"fused": True, "parts": 2}),
    "llama3": (llama_random, LLAMA3, {}),
    "gemma2": (decoder_random, ("gemma2", {"query_pre_attn_scalar": 16}), {}),
    "falcon-groups": (decoder_random, ("falcon", FAMILIES["falcon"].CASES["groups"]), {}),
    "stablelm-norms": (decoder_random, ("stablelm", {}), {}),
    "llama-q4-k-m": (llama_random, {**WIDE, "num_hidden_layers": 7}, {"mix": "Q4_K_M"}),
    "llama-q3-k-m-fused-parts": (llama_random, {**WIDE, "head_dim": 80, "hidden_size": 320, "num_attention_heads": 4}, {"mix": "Q3_K_M", "fused": True, "parts": 2}),
    "gpt2-q8": (gpt2_random, {"n_embd": 96, "n_head": 6}, {"kind": "Q8_0"}),
    "gemma2-iq4-xs": (decoder_random, ("gemma2", {"hidden_size": 256, "intermediate_size": 256, "num_attention_heads": 4, "head_dim": 64}), {"kind": "IQ4_XS"}),
    "phi3-q5-k-m": (decoder_random, ("phi3", {"hidden_size": 256, "intermediate_size": 256, "num_attention_heads": 8}), {"mix": "Q5_K_M"}),
    "qwen3-moe-q4-k-m": (None, {"model_type": "qwen3_moe", "vocab_size": 97, "hidden_size": 256, "moe_intermediate_size": 256, "num_hidden_layers": 3,
                                "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 32, "max_position_embeddings": 64, "num_experts": 5,
                                "num_experts_per_tok": 2, "norm_topk_prob": True}, {"mix": "Q4_K_M"}),
    "deepseek2": (None, {**LATENTS, **V2}, {}),
    "deepseek2-v3": (None, {**LATENTS, "model_type": "deepseek_v3", "norm_topk_prob": True, "q_lora_rank": None}, {}),
    "deepseek2-q8": (None, {**LATENTS, **V2, "hidden_size": 64, "qk_nope_head_dim": 32, "v_head_dim": 32, "moe_intermediate_size": 32, "q_lora_rank": 32}, {"kind": "Q8_0"}),
    "t5-q8": (None, {"model_type": "t5", "vocab_size": 61, "d_model": 64, "d_kv": 16, "d_ff": 96, "num_layers": 3, "num_decoder_layers": 2, "num_heads": 4, "n_positions": 64,
                     "relative_attention_num_buckets": 16, "layer_norm_epsilon": 1e-6, "decoder_start_token_id": 0, "feed_forward_proj": "gated-gelu"}, {"kind": "Q8_0"}),
    "roberta-classes": (None, {"model_type": "roberta", "vocab_size": 61, "hidden_size": 48, "intermediate_size": 72, "num_hidden_layers": 2, "num_attention_heads": 4,
                               "max_position_embeddings": 66, "pad_token_id": 1, "type_vocab_size": 1, "layer_norm_eps": 1e-5, "num_labels": 3,
                               "architectures": ["RobertaForSequenceClassification"]}, {}),
    "gpt-oss": (None, GPT_OSS, {}),
    "gpt-oss-mxfp4": (None, GPT_OSS, {"kind": "MXFP4"}),
    "lfm2-q8": (None, {**LFM2, "hidden_size": 64, "num_attention_heads": 4}, {"kind": "Q8_0"}),
    "qwen35": (None, {**DELTA, "model_type": "qwen3_5_text"}, {}),
    "qwen35-q4-k-m": (None, {**DELTA, **WIDER, "model_type": "qwen3_5_text"}, {"mix": "Q4_K_M"}),
    "qwen35-moe": (None, {**DELTA, **SHARED, "model_type": "qwen3_5_moe_text"}, {}),
    "qwen3-next": (None, {**DELTA, **SHARED, "model_type": "qwen3_next"}, {}),
    "gemma4-experts": (None, GEMMA4, {}),
    "gemma4-experts-q8": (None, {**GEMMA4, "hidden_size": 64, "intermediate_size": 96, "moe_intermediate_size": 32, "hidden_size_per_layer_input": 64, "vocab_size_per_layer_input": 61},
                          {"kind": "Q8_0"}),
    "granitehybrid": (None, {**HYBRID, "num_local_experts": 0}, {}),
    "granitehybrid-q8": (None, {**HYBRID, "hidden_size": 64, "mamba_n_heads": 8, "num_attention_heads": 4, "num_local_experts": 5, "num_experts_per_tok": 2}, {"kind": "Q8_0"}),
    "phi3-long-texts": (decoder_random, ("phi3", FAMILIES["phi3"].CASES["long-texts"]), {}),
}
# Flags with which a file must compute something else.
NEAR_MISSES = {"qwen35-moe": [["--config-key=linear_head_pairing=neighbors"]]}


def make(name, directory):
    """Writes the directory. Returns the inputs, and how the model is loaded in numpy."""
    script, what, options = CASES[name]
    dtype = options.get("dtype", "F32")
    if script is gpt2_random:
        return gpt2_random.inputs(make_model.makeModel(directory, what, SEED, dtype=dtype)), gpt2.load
    if script is llama_random:
        return llama_random.inputs(llama.makeModel(directory, what, SEED, dtype=dtype)), llama.load
    family, changes = what
    facts = FAMILIES[family]
    facts.CASES["gguf"] = changes
    return decoder_random.inputs(common.make(facts, directory, "gguf", SEED, dtype)), lambda path: common.load(facts, path)


def check_beside_directory(name, options, directory):
    """The same of a family without a reference in numpy: beside the directory with the numbers of the file's blocks."""
    _, config, how = CASES[name]
    at = lambda file: os.path.join(directory, name, file)
    os.makedirs(at("model"), exist_ok=True)
    with open(at("model/config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    random_models.run([options.raptc, at("model/config.json"), "--random-weights=7", "--emit=imported", f"--save-weights={at('model/model.safetensors')}", "-o", at("random.mlir")])
    file = gguf_models.convert(at("model"), at("file.gguf"), **how, decoded=at("decoded"))[0]
    numpy.save(at("ids.npy"), numpy.array([[(7 * i * i + 3 * i) % config["vocab_size"] for i in range(23)]], numpy.int64))
    found = []
    for source, flags in ((file, ()), (at("decoded"), ()), *((file, flags) for flags in NEAR_MISSES.get(name, ()))):
        command = random_models.program(options, source, directory, flags)
        inputs = [word for one in ("input_ids", "decoder_input_ids")[:2 if "d_kv" in config else 1] for word in ("--input", f"{one}={at('ids.npy')}")]
        found.append(random_models.outputs(options, [*command, *inputs], {"logits": at("logits.npy")})["logits"])
    for wrong in found[2:]:
        assert numpy.linalg.norm(wrong - found[1]) > 0.1 * numpy.linalg.norm(found[1]), f"{name}: a near miss has the same logits"
    return random_models.compare(f"{name}: logits", *found[:2], None, PASSED_ON.get(name, ROUNDED) if how else random_models.TOLERANCE["F32"])


def check(name, options, directory):
    """Raises AssertionError with what is wrong, or returns the largest relative L2."""
    if CASES[name][0] is None:
        return check_beside_directory(name, options, directory)
    model, stem = os.path.join(directory, "model"), os.path.join(directory, "file")
    batches, load = make(name, model)
    how = CASES[name][2]
    isQuantized = bool(how.keys() & {"kind", "mix"})
    decoded = {"decoded": os.path.join(directory, "decoded")} if isQuantized else {}
    file = gguf_models.convert(model, stem if "parts" in how else stem + ".gguf", **how, **decoded)[0]
    reference = load(decoded.get("decoded", model))
    dtype = how.get("dtype", "F32")
    cache = "f16" if dtype == "F16" else "f32"
    reference.stored = random_models.cachetypes.ROUNDING[cache]
    command = random_models.program(options, file, directory)
    tolerance = ROUNDED if isQuantized else random_models.decoder_tolerance(options, dtype, cache)
    return random_models.check_decoder(options, command, directory, batches, reference, tolerance)


MODELS = random_models.Models(check, CASES, ("llama-fused-parts", "llama-q4-k-m", "gpt-oss", "qwen35-moe", "granitehybrid-q8", "gemma4-experts-q8", "deepseek2-q8", "roberta-classes"), evaluated=(), cells=None)
