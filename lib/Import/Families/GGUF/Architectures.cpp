//===- Architectures.cpp - Architectures of GGUF files as families --------===//
//
// What a file's keys do not say is a fact of the architecture: activations, the order of the channels that rotate,
// which layers have windows. Sources: llama.cpp's converter and loader, and the families' own readers.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/GGUF/Architectures.h"
#include <algorithm>

using namespace rapt;
using namespace rapt::importing;

namespace {

using enum Arrangement;

constexpr int64_t mostWindow = int64_t(1) << 30, mostExperts = 1 << 12, mostInner = 1 << 20;

//===----------------------------------------------------------------------===//
// Names of tensors
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// Biases of attention, all or none, and of the feed-forward.
void setBiases(Translation &t, bool ofFeedForward) {
  t.set("attention_bias", t.hasInLayers("attn_output.bias"));
  if (ofFeedForward)
    t.set("mlp_bias", t.hasInLayers("ffn_down.bias"));
}

/// num_experts and its like; `inner` is the columns of one.
void setExperts(Translation &t, const char *number, const char *inner, int64_t columns) {
  t.set(number, t.required("expert_count", 1, mostExperts));
  t.set("num_experts_per_tok", t.required("expert_used_count", 1, mostExperts));
  t.set(inner, columns);
}

void describeLlama(Translation &t) {
  const bool hasExperts = t.integer("expert_count", 0, mostExperts).value_or(0) > 0;
  t.setDecoder(hasExperts ? "mixtral" : "llama");
  setRotary(t);
  if (hasExperts) {
    const int64_t inner = t.required("feed_forward_length", 1, mostInner);
    setExperts(t, "num_local_experts", "intermediate_size",
               t.integer("expert_feed_forward_length", 1, mostInner).value_or(inner));
  } else {
    t.integer("expert_used_count", 0, 0);
    setBiases(t, true);
  }
  const double theta = t.number("rope.freq_base").value_or(10000);
  const int64_t positions = t.required("context_length", 1, 1 << 24);
  if (theta == 500000 && positions > 8192 && !t.has("rope_freqs.weight"))
    t.warn(
        "no tensor rope_freqs.weight: if this is Llama 3.1 or later, the file is older than August 2024, and texts of "
        "more than 8192 tokens are worse than they should be");
  if (theta == 10000 && positions == 32768 && !hasExperts)
    t.warn("assumed is that each token sees all before it: if this is Mistral 7B v0.1, give "
           "--config-key=model_type=mistral "
           "--config-key=sliding_window=4096, which files do not have");
}

void describeQwen2(Translation &t) {
  t.setDecoder("qwen2");
  setRotary(t);
}

void describeQwen2Moe(Translation &t) {
  t.setDecoder("qwen2_moe");
  setRotary(t);
  const int64_t inner = t.required("feed_forward_length", 1, mostInner),
                used = t.required("expert_used_count", 1, mostExperts);
  setExperts(t, "num_experts", "moe_intermediate_size",
             t.integer("expert_feed_forward_length", 1, mostInner).value_or(std::max<int64_t>(1, inner / used)));
  t.set("shared_expert_intermediate_size",
        t.integer("expert_shared_feed_forward_length", 1, mostInner).value_or(inner));
}

void describeQwen3(Translation &t) {
  t.setDecoder("qwen3");
  setRotary(t);
  setBiases(t, false);
}

void describeQwen3Moe(Translation &t) {
  t.setDecoder("qwen3_moe");
  setRotary(t);
  setBiases(t, false);
  const int64_t inner = t.required("feed_forward_length", 1, mostInner),
                used = t.required("expert_used_count", 1, mostExperts);
  setExperts(t, "num_experts", "moe_intermediate_size",
             t.integer("expert_feed_forward_length", 1, mostInner).value_or(std::max<int64_t>(1, inner / used)));
  t.set("norm_topk_prob", true);
}

void describeGemma(Translation &t) {
  t.setDecoder("gemma");
  setRotary(t);
}

/// The scale of scores, which files do not have: of the largest models it is by the width, of others by the channels.
void setQueryScalar(Translation &t, int64_t layersOfLargest) {
  const DecoderSizes &s = t.sizes();
  const std::optional<double> scale = t.number("attention.scale");
  const double byWidth = double(s.width) / double(s.heads);
  if (scale && *scale > 0)
    t.set("query_pre_attn_scalar", 1 / (*scale * *scale));
  else
    t.set("query_pre_attn_scalar", s.layers == layersOfLargest ? byWidth : double(s.channels));
}

/// Layers with a window: all but every `period`'th.
void setWindowedLayers(Translation &t, int64_t period, std::string_view last = "full_attention") {
  std::vector<bool> windowed;
  if (std::optional<std::vector<int64_t>> given = t.list("attention.sliding_window_pattern"))
    windowed.assign(given->begin(), given->end());
  else
    period = t.integer("attention.sliding_window_pattern", 1, 1 << 17).value_or(period);
  json::Array types;
  for (int64_t layer = 0; layer < t.sizes().layers; ++layer) {
    const bool slides = windowed.empty() ? (layer + 1) % period != 0 : windowed[size_t(layer)];
    types.emplace_back(slides ? "sliding_attention" : std::string(last).c_str());
  }
  t.set("layer_types", std::move(types));
}

void describeGemma2(Translation &t) {
  t.setDecoder("gemma2");
  setRotary(t);
  setQueryScalar(t, 46);
  t.set("attn_logit_softcapping", t.number("attn_logit_softcapping").value_or(50));
  t.set("final_logit_softcapping", t.number("final_logit_softcapping").value_or(30));
  t.set("sliding_window", t.integer("attention.sliding_window", 1, mostWindow).value_or(4096));
  setWindowedLayers(t, 2);
}

void describeGemma3(Translation &t) {
  t.setDecoder("gemma3_text");
  setRotary(t);
  t.set("rope_local_base_freq", t.number("rope.freq_base_swa").value_or(10000));
  setQueryScalar(t, 62);
  if (std::optional<double> cap = t.number("final_logit_softcapping"))
    t.set("final_logit_softcapping", *cap);
  if (std::optional<double> cap = t.number("attn_logit_softcapping"))
    t.set("attn_logit_softcapping", *cap);
  if (std::optional<int64_t> window = t.integer("attention.sliding_window", 1, mostWindow))
    t.set("sliding_window", *window);
  else
    t.set("sliding_window", json::Value());
  setWindowedLayers(t, 6);
}

void describePhi3(Translation &t) {
  t.setDecoder("phi3");
  setRotary(t, /*isPartial=*/true);
  if (std::optional<int64_t> window = t.integer("attention.sliding_window", 0, mostWindow); window && *window > 0)
    t.set("sliding_window", *window);
}

constexpr MemberNames ofGPT2 = {.inner = "n_inner", .keyHeads = "", .headDim = "", .epsilon = "layer_norm_epsilon"};

void describeGPT2(Translation &t) { t.setDecoder("gpt2", ofGPT2); }

void describeStarcoder(Translation &t) {
  t.setDecoder("gpt_bigcode", ofGPT2);
  t.set("multi_query", t.sizes().keyHeads == 1);
}

void describeStarcoder2(Translation &t) {
  t.setDecoder("starcoder2", {.epsilon = "norm_epsilon"});
  setRotary(t);
  t.set("use_bias", t.hasInLayers("attn_q.bias"));
  t.warn("assumed is that each token sees all before it: files do not have the window of StarCoder2, which is "
         "--config-key=sliding_window=4096");
}

void describeOlmo2(Translation &t) {
  t.setDecoder("olmo2");
  setRotary(t);
}

void describeSmolLM3(Translation &t) {
  t.setDecoder("smollm3");
  setRotary(t);
  setBiases(t, true);
}

constexpr Architecture table[] = {
    {.name = "gemma", .describe = describeGemma, .tensors = {usual}, .normsHoldOne = true},
    {.name = "gemma2", .describe = describeGemma2, .tensors = {normsBehind, usual}, .normsHoldOne = true},
    {.name = "gemma3", .describe = describeGemma3, .tensors = {normsBehind, usual}, .normsHoldOne = true},
    {.name = "gpt2", .describe = describeGPT2, .tensors = {gpt2}, .layer = "transformer.h.", .hasConv1D = false},
    {.name = "llama", .describe = describeLlama, .tensors = {pairs, mixtral, usual}},
    {.name = "olmo2", .describe = describeOlmo2, .tensors = {normsBehind, usual}},
    {.name = "phi3", .describe = describePhi3, .tensors = {phi3, usual}},
    {.name = "qwen2", .describe = describeQwen2, .tensors = {usual}},
    {.name = "qwen2moe", .describe = describeQwen2Moe, .tensors = {experts, usual}},
    {.name = "qwen3", .describe = describeQwen3, .tensors = {usual}},
    {.name = "qwen3moe", .describe = describeQwen3Moe, .tensors = {experts, usual}},
    {.name = "smollm3", .describe = describeSmolLM3, .tensors = {pairs, usual}},
    {.name = "starcoder", .describe = describeStarcoder, .tensors = {gpt2}, .layer = "transformer.h."},
    {.name = "starcoder2", .describe = describeStarcoder2, .tensors = {plainFeedForward, usual}},
};

} // namespace

std::span<const Architecture> importing::architectures() { return table; }
