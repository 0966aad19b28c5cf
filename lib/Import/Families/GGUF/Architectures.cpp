//===- Architectures.cpp - Architectures of GGUF files as families --------===//
//
// What a file's keys do not say is a fact of the architecture: activations, the order of the channels that rotate,
// which layers have windows. Sources: llama.cpp's converter and loader, and the families' own readers.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/GGUF/Architectures.h"
#include "lib/Import/Families/GGUF/Members.h"

using namespace rapt;
using namespace rapt::importing;

namespace {

using enum Arrangement;

constexpr Rename usual[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_qkv", "self_attn.q_proj self_attn.k_proj self_attn.v_proj", Packed},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
};

constexpr Rename pairs[] = {
    {"attn_q", "self_attn.q_proj", QueryPairs},
    {"attn_k", "self_attn.k_proj", KeyPairs},
    {"attn_qkv", "self_attn.q_proj self_attn.k_proj self_attn.v_proj", PackedPairs},
};

constexpr Rename experts[] = {
    {"ffn_gate_inp", "mlp.gate"},
    {"ffn_gate_exps", "mlp.experts.{}.gate_proj", Experts},
    {"ffn_up_exps", "mlp.experts.{}.up_proj", Experts},
    {"ffn_down_exps", "mlp.experts.{}.down_proj", Experts},
    {"ffn_gate_up_exps", "mlp.experts.{}.gate_proj mlp.experts.{}.up_proj", ExpertHalves},
    {"ffn_gate_inp_shexp", "mlp.shared_expert_gate", Row},
    {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
    {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
};

constexpr Rename mixtral[] = {
    {"ffn_gate_inp", "block_sparse_moe.gate"},
    {"ffn_gate_exps", "block_sparse_moe.experts.{}.w1", Experts},
    {"ffn_down_exps", "block_sparse_moe.experts.{}.w2", Experts},
    {"ffn_up_exps", "block_sparse_moe.experts.{}.w3", Experts},
    {"ffn_gate_up_exps", "block_sparse_moe.experts.{}.w1 block_sparse_moe.experts.{}.w3", ExpertHalves},
    // One tensor for each expert, of files before April 2024.
    {"ffn_gate.{}", "block_sparse_moe.experts.{}.w1"},
    {"ffn_down.{}", "block_sparse_moe.experts.{}.w2"},
    {"ffn_up.{}", "block_sparse_moe.experts.{}.w3"},
};

/// Norms behind attention and feed-forward, too.
constexpr Rename normsBehind[] = {
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_attention_norm", "post_attention_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
};

constexpr Rename phi3[] = {
    {"attn_qkv", "self_attn.qkv_proj"},
    {"ffn_up", "mlp.gate_up_proj"},
};

constexpr Rename gpt2[] = {
    {"token_embd", "transformer.wte"},
    {"position_embd", "transformer.wpe"},
    {"output_norm", "transformer.ln_f"},
    {"output", "lm_head"},
    {"attn_norm", "ln_1"},
    {"attn_qkv", "attn.c_attn"},
    {"attn_output", "attn.c_proj"},
    {"ffn_norm", "ln_2"},
    {"ffn_up", "mlp.c_fc"},
    {"ffn_down", "mlp.c_proj"},
};

constexpr Rename plainFeedForward[] = {
    {"ffn_up", "mlp.c_fc"},
    {"ffn_down", "mlp.c_proj"},
};

constexpr Rename phi[] = {
    {"output_norm", "model.final_layernorm"},
    {"attn_output", "self_attn.dense"},
    {"ffn_up", "mlp.fc1"},
    {"ffn_down", "mlp.fc2"},
};

constexpr Rename stableLM[] = {
    {"attn_q_norm", "self_attn.q_layernorm.norms.{}", Experts}, // of all heads
    {"attn_k_norm", "self_attn.k_layernorm.norms.{}", Experts},
};

constexpr Rename glm4[] = {
    {"ffn_up", "mlp.gate_up_proj"},
    {"post_attention_norm", "post_self_attn_layernorm"},
    {"post_ffw_norm", "post_mlp_layernorm"},
};

constexpr Rename gptOss[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"attn_sinks", "self_attn.sinks", Bare},
    {"ffn_gate_inp", "mlp.router"},
};

constexpr Rename lfm2[] = {
    {"token_embd_norm", "model.embedding_norm"}, // behind the last layer, whatever both names say
    {"output_norm", "model.embedding_norm"},
    {"attn_norm", "operator_norm"},
    {"attn_output", "self_attn.out_proj"},
    {"attn_q_norm", "self_attn.q_layernorm"},
    {"attn_k_norm", "self_attn.k_layernorm"},
    {"shortconv.in_proj", "conv.in_proj"},
    {"shortconv.conv", "conv.conv", Taps},
    {"shortconv.out_proj", "conv.out_proj"},
    {"ffn_norm", "ffn_norm"},
    {"ffn_gate", "feed_forward.w1"},
    {"ffn_down", "feed_forward.w2"},
    {"ffn_up", "feed_forward.w3"},
    {"ffn_gate_inp", "feed_forward.gate"},
    {"exp_probs_b", "feed_forward.expert_bias", Bare},
    {"ffn_gate_exps", "feed_forward.experts.{}.w1", Experts},
    {"ffn_down_exps", "feed_forward.experts.{}.w2", Experts},
    {"ffn_up_exps", "feed_forward.experts.{}.w3", Experts},
    {"ffn_gate_up_exps", "feed_forward.experts.{}.w1 feed_forward.experts.{}.w3", ExpertHalves},
};

constexpr Rename deltaRule[] = {
    {"attn_qkv", "linear_attn.in_proj_qkv"},
    {"attn_gate", "linear_attn.in_proj_z"},
    {"ssm_beta", "linear_attn.in_proj_b"},
    {"ssm_alpha", "linear_attn.in_proj_a"},
    {"ssm_ba", "linear_attn.in_proj_ba"},
    {"ssm_conv1d", "linear_attn.conv1d", Taps},
    {"ssm_dt", "linear_attn.dt_bias", Bare},
    {"ssm_a", "linear_attn.A_log", Decays},
    {"ssm_norm", "linear_attn.norm"},
    {"ssm_out", "linear_attn.out_proj"},
    {"post_attention_norm", "post_attention_layernorm"},
};

constexpr Rename stateSpace[] = {
    {"ssm_in", "mamba.in_proj"},      {"ssm_conv1d", "mamba.conv1d", Taps}, {"ssm_dt", "mamba.dt_bias", Bare},
    {"ssm_a", "mamba.A_log", Decays}, {"ssm_d", "mamba.D", Flat},           {"ssm_norm", "mamba.norm", Flat},
    {"ssm_out", "mamba.out_proj"},
};

constexpr Rename graniteMoe[] = {
    {"ffn_gate_inp", "block_sparse_moe.router.layer"},
    {"ffn_gate_shexp", "shared_mlp.gate_proj"},
    {"ffn_up_shexp", "shared_mlp.up_proj"},
    {"ffn_down_shexp", "shared_mlp.output_linear"},
    {"attn_q", "self_attn.q_proj", QueryPairs},
    {"attn_k", "self_attn.k_proj", KeyPairs},
    {"attn_qkv", "self_attn.q_proj self_attn.k_proj self_attn.v_proj", PackedPairs},
};

/// Of layers whose only feed-forward is that of all tokens.
constexpr Rename graniteDense[] = {
    {"ffn_gate", "shared_mlp.gate_proj"},
    {"ffn_up", "shared_mlp.up_proj"},
    {"ffn_down", "shared_mlp.output_linear"},
};

constexpr Rename gemma4[] = {
    {"per_layer_token_embd", "model.embed_tokens_per_layer"},
    {"per_layer_model_proj", "model.per_layer_model_projection"},
    {"per_layer_proj_norm", "model.per_layer_projection_norm"},
    {"inp_gate", "per_layer_input_gate"},
    {"proj", "per_layer_projection"},
    {"post_norm", "post_per_layer_input_norm"},
    {"layer_output_scale", "layer_scalar", Bare},
    {"ffn_gate_inp.scale", "router.scale", Bare},
    {"ffn_gate_inp", "router.proj"},
    {"ffn_down_exps.scale", "router.per_expert_scale", Bare},
    {"ffn_down_exps", "experts.{}.down_proj", Experts},
    {"ffn_gate_up_exps", "experts.{}.gate_proj experts.{}.up_proj", ExpertHalves},
    {"ffn_gate_exps", "experts.{}.gate_proj", Experts},
    {"ffn_up_exps", "experts.{}.up_proj", Experts},
    {"pre_ffw_norm_2", "pre_feedforward_layernorm_2"},
    {"post_ffw_norm_1", "post_feedforward_layernorm_1"},
    {"post_ffw_norm_2", "post_feedforward_layernorm_2"},
};

constexpr Rename deepSeek2[] = {
    {"attn_q_a", "self_attn.q_a_proj"},
    {"attn_q_a_norm", "self_attn.q_a_layernorm"},
    {"attn_q_b", "self_attn.q_b_proj"},
    {"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
    {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
    {"attn_k_b", "self_attn.k_b_proj"},
    {"attn_v_b", "self_attn.v_b_proj"},
    {"attn_kv_b", "self_attn.kv_b_proj"}, // of files before April 2025
    {"exp_probs_b.bias", "mlp.gate.e_score_correction_bias", Bare},
    {"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_experts.up_proj"},
    {"ffn_down_shexp", "mlp.shared_experts.down_proj"},
};

constexpr Rename gptNeoX[] = {
    {"token_embd", "gpt_neox.embed_in"},
    {"output_norm", "gpt_neox.final_layer_norm"},
    {"output", "embed_out"},
    {"attn_norm", "input_layernorm"},
    {"attn_qkv", "attention.query_key_value", Groups},
    {"attn_output", "attention.dense"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_up", "mlp.dense_h_to_4h"},
    {"ffn_down", "mlp.dense_4h_to_h"},
};

constexpr Rename bloom[] = {
    {"token_embd", "transformer.word_embeddings"},
    {"token_embd_norm", "transformer.word_embeddings_layernorm"},
    {"output_norm", "transformer.ln_f"},
    {"output", "lm_head"},
    {"attn_norm", "input_layernorm"},
    {"attn_qkv", "self_attention.query_key_value", Groups},
    {"attn_output", "self_attention.dense"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_up", "mlp.dense_h_to_4h"},
    {"ffn_down", "mlp.dense_4h_to_h"},
};

/// Of layers with a norm of its own ahead of attention.
constexpr Rename falconOfTwoNorms[] = {
    {"attn_norm", "ln_mlp"},
    {"attn_norm_2", "ln_attn"},
};

constexpr Rename mpt[] = {
    {"token_embd", "transformer.wte"},
    {"output_norm", "transformer.norm_f"},
    {"output", "lm_head"},
    {"attn_norm", "norm_1"},
    {"attn_qkv", "attn.Wqkv"},
    {"attn_output", "attn.out_proj"},
    {"ffn_norm", "norm_2"},
    {"ffn_up", "ffn.up_proj"},
    {"ffn_down", "ffn.down_proj"},
};

constexpr Rename bert[] = {
    {"token_embd", "bert.embeddings.word_embeddings"},
    {"position_embd", "bert.embeddings.position_embeddings"},
    {"token_types", "bert.embeddings.token_type_embeddings"},
    {"token_embd_norm", "bert.embeddings.LayerNorm"},
    {"attn_q", "attention.self.query"},
    {"attn_k", "attention.self.key"},
    {"attn_v", "attention.self.value"},
    {"attn_qkv", "attention.self.query attention.self.key attention.self.value", Packed},
    {"attn_output", "attention.output.dense"},
    {"attn_output_norm", "attention.output.LayerNorm"},
    {"ffn_up", "intermediate.dense"},
    {"ffn_down", "output.dense"},
    {"layer_output_norm", "output.LayerNorm"},
    {"cls", "bert.pooler.dense"},
    {"cls.output", "classifier"},
};

constexpr Rename distilBert[] = {
    {"token_embd", "distilbert.embeddings.word_embeddings"},
    {"position_embd", "distilbert.embeddings.position_embeddings"},
    {"token_embd_norm", "distilbert.embeddings.LayerNorm"},
    {"attn_q", "attention.q_lin"},
    {"attn_k", "attention.k_lin"},
    {"attn_v", "attention.v_lin"},
    {"attn_qkv", "attention.q_lin attention.k_lin attention.v_lin", Packed},
    {"attn_output", "attention.out_lin"},
    {"attn_output_norm", "sa_layer_norm"},
    {"ffn_up", "ffn.lin1"},
    {"ffn_down", "ffn.lin2"},
    {"layer_output_norm", "output_layer_norm"},
    {"cls", "pre_classifier"},
    {"cls.output", "classifier"},
};

constexpr Rename nomicBert[] = {
    {"token_embd", "bert.embeddings.word_embeddings"},
    {"token_types", "bert.embeddings.token_type_embeddings"},
    {"token_embd_norm", "bert.emb_ln"},
    {"attn_qkv", "attn.Wqkv"},
    {"attn_output", "attn.out_proj"},
    {"attn_output_norm", "norm1"},
    {"ffn_gate", "mlp.fc12"},
    {"ffn_up", "mlp.fc11"},
    {"ffn_down", "mlp.fc2"},
    {"layer_output_norm", "norm2"},
};

constexpr Rename modernBert[] = {
    {"token_embd", "model.embeddings.tok_embeddings"},
    {"token_embd_norm", "model.embeddings.norm"},
    {"output_norm", "model.final_norm"},
    {"attn_norm", "attn_norm"},
    {"attn_qkv", "attn.Wqkv"},
    {"attn_output", "attn.Wo"},
    {"ffn_norm", "mlp_norm"},
    {"ffn_up", "mlp.Wi"},
    {"ffn_down", "mlp.Wo"},
    {"cls", "head.dense"},
    {"cls.norm", "head.norm"},
    {"cls.output", "classifier"},
};

constexpr Rename t5[] = {
    {"token_embd", "shared"},
    {"output", "lm_head"},
    {"enc.output_norm", "encoder.final_layer_norm"},
    {"enc.attn_norm", "encoder.block.{layer}.layer.0.layer_norm"},
    {"enc.attn_q", "encoder.block.{layer}.layer.0.SelfAttention.q"},
    {"enc.attn_k", "encoder.block.{layer}.layer.0.SelfAttention.k"},
    {"enc.attn_v", "encoder.block.{layer}.layer.0.SelfAttention.v"},
    {"enc.attn_o", "encoder.block.{layer}.layer.0.SelfAttention.o"},
    {"enc.attn_rel_b", "encoder.block.{layer}.layer.0.SelfAttention.relative_attention_bias"},
    {"enc.ffn_norm", "encoder.block.{layer}.layer.1.layer_norm"},
    {"enc.ffn_gate", "encoder.block.{layer}.layer.1.DenseReluDense.wi_0"},
    {"enc.ffn_up", "encoder.block.{layer}.layer.1.DenseReluDense.wi_1"},
    {"enc.ffn_down", "encoder.block.{layer}.layer.1.DenseReluDense.wo"},
    {"dec.output_norm", "decoder.final_layer_norm"},
    {"dec.attn_norm", "decoder.block.{layer}.layer.0.layer_norm"},
    {"dec.attn_q", "decoder.block.{layer}.layer.0.SelfAttention.q"},
    {"dec.attn_k", "decoder.block.{layer}.layer.0.SelfAttention.k"},
    {"dec.attn_v", "decoder.block.{layer}.layer.0.SelfAttention.v"},
    {"dec.attn_o", "decoder.block.{layer}.layer.0.SelfAttention.o"},
    {"dec.attn_rel_b", "decoder.block.{layer}.layer.0.SelfAttention.relative_attention_bias"},
    {"dec.cross_attn_norm", "decoder.block.{layer}.layer.1.layer_norm"},
    {"dec.cross_attn_q", "decoder.block.{layer}.layer.1.EncDecAttention.q"},
    {"dec.cross_attn_k", "decoder.block.{layer}.layer.1.EncDecAttention.k"},
    {"dec.cross_attn_v", "decoder.block.{layer}.layer.1.EncDecAttention.v"},
    {"dec.cross_attn_o", "decoder.block.{layer}.layer.1.EncDecAttention.o"},
    {"dec.cross_attn_rel_b", "decoder.block.{layer}.layer.1.EncDecAttention.relative_attention_bias"},
    {"dec.ffn_norm", "decoder.block.{layer}.layer.2.layer_norm"},
    {"dec.ffn_gate", "decoder.block.{layer}.layer.2.DenseReluDense.wi_0"},
    {"dec.ffn_up", "decoder.block.{layer}.layer.2.DenseReluDense.wi_1"},
    {"dec.ffn_down", "decoder.block.{layer}.layer.2.DenseReluDense.wo"},
};

/// Of feed-forwards without a gate.
constexpr Rename t5Plain[] = {
    {"enc.ffn_up", "encoder.block.{layer}.layer.1.DenseReluDense.wi"},
    {"dec.ffn_up", "decoder.block.{layer}.layer.2.DenseReluDense.wi"},
};

constexpr std::string_view ofGPT = "transformer.h.";

// clang-format off
constexpr Architecture table[] = {
    {.name = "bert", .describe = describeBert, .tensors = {bert}, .layer = "bert.encoder.layer.", .onlyWith = "token_types.weight"},
    {.name = "bert", .describe = describeDistilBert, .tensors = {distilBert}, .layer = "distilbert.transformer.layer."},
    {.name = "bloom", .describe = describeBloom, .tensors = {bloom}, .layer = ofGPT},
    {.name = "cohere2", .describe = describeCohere2, .tensors = {usual}},
    {.name = "command-r", .describe = describeCohere, .tensors = {usual}},
    {.name = "deepseek2", .describe = describeDeepSeek2, .tensors = {deepSeek2, experts, usual}},
    {.name = "falcon", .describe = describeFalcon, .tensors = {falconOfTwoNorms, bloom}, .layer = ofGPT, .onlyWith = "blk.0.attn_norm_2.weight"},
    {.name = "falcon", .describe = describeFalcon, .tensors = {bloom}, .layer = ofGPT},
    {.name = "gemma", .describe = describeGemma, .tensors = {usual}, .normsHoldOne = true},
    {.name = "gemma-embedding", .describe = describeGemmaEmbedding, .tensors = {normsBehind, usual}, .normsHoldOne = true},
    {.name = "gemma2", .describe = describeGemma2, .tensors = {normsBehind, usual}, .normsHoldOne = true},
    {.name = "gemma3", .describe = describeGemma3, .tensors = {normsBehind, usual}, .normsHoldOne = true},
    {.name = "gemma4", .describe = describeGemma4, .tensors = {gemma4, normsBehind, usual}},
    {.name = "glm4", .describe = describeGlm4, .tensors = {glm4, usual}},
    {.name = "gpt-oss", .describe = describeGptOss, .tensors = {gptOss, experts, usual}},
    {.name = "gpt2", .describe = describeGPT2, .tensors = {gpt2}, .layer = ofGPT, .hasConv1D = false},
    {.name = "gptneox", .describe = describeGPTNeoX, .tensors = {gptNeoX}, .layer = "gpt_neox.layers."},
    {.name = "granite", .describe = describeGranite, .tensors = {pairs, usual}},
    {.name = "granitehybrid", .describe = describeGraniteHybrid, .tensors = {stateSpace, graniteMoe, experts, usual}, .onlyWith = "blk.0.ffn_gate_inp.weight"},
    {.name = "granitehybrid", .describe = describeGraniteHybrid, .tensors = {stateSpace, graniteMoe, graniteDense, usual}},
    {.name = "granitemoe", .describe = describeGraniteMoe, .tensors = {graniteMoe, experts, usual}},
    {.name = "lfm2", .describe = describeLFM2, .tensors = {lfm2, usual}},
    {.name = "lfm2moe", .describe = describeLFM2Moe, .tensors = {lfm2, usual}},
    {.name = "llama", .describe = describeLlama, .tensors = {pairs, mixtral, usual}},
    {.name = "mistral3", .describe = describeMistral3, .tensors = {pairs, usual}},
    {.name = "modern-bert", .describe = describeModernBert, .tensors = {modernBert}, .layer = "model.layers."},
    {.name = "mpt", .describe = describeMPT, .tensors = {mpt}, .layer = "transformer.blocks."},
    {.name = "nemotron", .describe = describeNemotron, .tensors = {usual}, .normsHoldOne = true},
    {.name = "nomic-bert", .describe = describeNomicBert, .tensors = {nomicBert}, .layer = "bert.encoder.layers."},
    {.name = "olmo", .describe = describeOlmo, .tensors = {pairs, usual}},
    {.name = "olmo2", .describe = describeOlmo2, .tensors = {normsBehind, usual}},
    {.name = "olmoe", .describe = describeOlmoe, .tensors = {experts, usual}},
    {.name = "phi2", .describe = describePhi2, .tensors = {phi, usual}},
    {.name = "phi3", .describe = describePhi3, .tensors = {phi3, usual}},
    {.name = "qwen2", .describe = describeQwen2, .tensors = {usual}},
    {.name = "qwen2moe", .describe = describeQwen2Moe, .tensors = {experts, usual}},
    {.name = "qwen3", .describe = describeQwen3, .tensors = {usual}},
    {.name = "qwen35", .describe = describeQwen35, .tensors = {deltaRule, usual}, .normsHoldOne = true},
    {.name = "qwen35moe", .describe = describeQwen35Moe, .tensors = {deltaRule, experts, usual}, .normsHoldOne = true},
    {.name = "qwen3moe", .describe = describeQwen3Moe, .tensors = {experts, usual}},
    {.name = "qwen3next", .describe = describeQwen3Next, .tensors = {deltaRule, experts, usual}, .normsHoldOne = true},
    {.name = "smollm3", .describe = describeSmolLM3, .tensors = {pairs, usual}},
    {.name = "stablelm", .describe = describeStableLM, .tensors = {stableLM, usual}},
    {.name = "starcoder", .describe = describeStarcoder, .tensors = {gpt2}, .layer = ofGPT},
    {.name = "starcoder2", .describe = describeStarcoder2, .tensors = {plainFeedForward, usual}},
    {.name = "t5", .describe = describeT5, .tensors = {t5}, .layer = "", .onlyWith = "enc.blk.0.ffn_gate.weight"},
    {.name = "t5", .describe = describeT5, .tensors = {t5Plain, t5}, .layer = ""},
};
// clang-format on

} // namespace

std::span<const Architecture> importing::architectures() { return table; }
