//===- Members.cpp - config.json of the llama family and its relatives ------===//
#include "lib/Import/Families/GGUF/Members.h"
#include <algorithm>

using namespace rapt;
using namespace rapt::importing;

bool importing::hasQueryBias(const Translation &t) {
  return t.hasInLayers("attn_q.bias") || t.hasInLayers("attn_qkv.bias");
}

void importing::setBiases(Translation &t, bool ofFeedForward) {
  t.set("attention_bias", t.hasInLayers("attn_output.bias"));
  if (ofFeedForward)
    t.set("mlp_bias", t.hasInLayers("ffn_down.bias"));
}

void importing::setExperts(Translation &t, const char *number, const char *inner, int64_t columns) {
  t.set(number, t.required("expert_count", 1, mostExperts));
  t.set("num_experts_per_tok", t.required("expert_used_count", 1, mostExperts));
  t.set(inner, columns);
}

void importing::describeLlama(Translation &t) {
  const bool hasExperts = t.integer("expert_count", 0, mostExperts).value_or(0) > 0;
  // With biases of queries, keys and values alone llama's layers are those of qwen2.
  const bool isLikeQwen = hasQueryBias(t) && !t.hasInLayers("attn_output.bias");
  t.setDecoder(hasExperts ? "mixtral" : isLikeQwen ? "qwen2" : "llama");
  setRotary(t);
  if (hasExperts) {
    const int64_t inner = t.required("feed_forward_length", 1, mostInner);
    setExperts(t, "num_local_experts", "intermediate_size",
               t.integer("expert_feed_forward_length", 1, mostInner).value_or(inner));
  } else {
    t.integer("expert_used_count", 0, 0);
    if (!isLikeQwen)
      setBiases(t, true);
  }
  const double theta = t.number("rope.freq_base").value_or(10000);
  const int64_t positions = t.required("context_length", 1, mostPositions);
  if (theta == 500000 && positions > 8192 && !t.has("rope_freqs.weight"))
    t.warn(
        "no tensor rope_freqs.weight: if this is Llama 3.1 or later, the file is older than August 2024, and texts of "
        "more than 8192 tokens are worse than they should be");
  if (theta == 10000 && positions == 32768 && !hasExperts)
    t.assume("sliding_window", "that each token sees all before it: if this is Mistral 7B v0.1, give "
                               "--config-key=model_type=mistral "
                               "--config-key=sliding_window=4096, which files do not have");
}

/// Scores of queries behind the original context grow with the position, or it is mistral without a window.
void importing::describeMistral3(Translation &t) {
  const double growth = t.number("attention.temperature_scale").value_or(0);
  t.setDecoder(growth != 0 ? "ministral3" : "mistral");
  setRotary(t, Rotated::All, Magnitudes::OfScores);
  t.integer("expert_count", 0, 0);
  t.integer("expert_used_count", 0, 0);
  if (growth == 0)
    t.set("sliding_window", json::Value());
  else if (!t.setInRotaryScaling("llama_4_scaling_beta", json::Value(growth)))
    t.fail("attention.temperature_scale", "it needs the original context of rope.scaling.type \"yarn\"");
}

void importing::describeQwen2(Translation &t) {
  t.setDecoder("qwen2");
  setRotary(t);
}

void importing::setQwenExperts(Translation &t) {
  const int64_t used = t.required("expert_used_count", 1, mostExperts);
  std::optional<int64_t> columns = t.integer("expert_feed_forward_length", 1, mostInner);
  if (!columns)
    columns = std::max<int64_t>(1, t.required("feed_forward_length", 1, mostInner) / used);
  t.pass("feed_forward_length");
  setExperts(t, "num_experts", "moe_intermediate_size", *columns);
}

void importing::describeQwen2Moe(Translation &t) {
  t.setDecoder("qwen2_moe");
  setRotary(t);
  setQwenExperts(t);
  t.set("shared_expert_intermediate_size", t.integer("expert_shared_feed_forward_length", 1, mostInner)
                                               .value_or(t.required("feed_forward_length", 1, mostInner)));
}

void importing::describeQwen3(Translation &t) {
  t.setDecoder("qwen3");
  setRotary(t);
  setBiases(t, false);
}

void importing::describeQwen3Moe(Translation &t) {
  t.setDecoder("qwen3_moe");
  setRotary(t);
  setBiases(t, false);
  setQwenExperts(t);
  t.set("norm_topk_prob", true);
}

void importing::describeGemma(Translation &t) {
  t.setDecoder("gemma");
  setRotary(t);
}

/// The scale of scores, which files do not have: of the largest models it is by the width, of others by the channels.
static void setQueryScalar(Translation &t, int64_t layersOfLargest) {
  const DecoderSizes &s = t.sizes();
  const std::optional<double> scale = t.number("attention.scale");
  if (scale && *scale > 0)
    return t.set("query_pre_attn_scalar", 1 / (*scale * *scale));
  const double scalar = s.layers == layersOfLargest ? double(s.width) / double(s.heads) : double(s.channels);
  t.set("query_pre_attn_scalar", scalar);
  t.assume("query_pre_attn_scalar", "query_pre_attn_scalar " + json::shownNumber(scalar) +
                                        ", as in the published model of as many layers (" + std::to_string(s.layers) +
                                        "): files do not have it; --config-key=query_pre_attn_scalar=N gives another");
}

void importing::setWindowedLayers(Translation &t, int64_t period) {
  std::vector<int64_t> windowed;
  if (std::optional<std::vector<int64_t>> given = t.list("attention.sliding_window_pattern"))
    windowed = *given;
  else
    period = t.integer("attention.sliding_window_pattern", 1, 1 << 17).value_or(period);
  json::Array types;
  for (int64_t layer = 0; layer < t.sizes().layers; ++layer) {
    const bool hasWindow = windowed.empty() ? (layer + 1) % period != 0 : windowed[size_t(layer)] != 0;
    types.emplace_back(hasWindow ? "sliding_attention" : "full_attention");
  }
  t.set("layer_types", std::move(types));
}

void importing::describeGemma2(Translation &t) {
  t.setDecoder("gemma2");
  setRotary(t);
  setQueryScalar(t, 46);
  t.set("attn_logit_softcapping", t.number("attn_logit_softcapping").value_or(50));
  t.set("final_logit_softcapping", t.number("final_logit_softcapping").value_or(30));
  t.set("sliding_window", t.integer("attention.sliding_window", 1, mostWindow).value_or(4096));
  setWindowedLayers(t, 2);
}

/// Layers of gemma3, but for the scale of scores.
static void describeLikeGemma3(Translation &t) {
  t.setDecoder("gemma3_text");
  setRotary(t);
  t.set("rope_local_base_freq", t.number("rope.freq_base_swa").value_or(10000));
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

void importing::describeGemma3(Translation &t) {
  describeLikeGemma3(t);
  setQueryScalar(t, 62);
}

/// The same layers, whose tokens see those behind them.
void importing::describeGemmaEmbedding(Translation &t) {
  describeLikeGemma3(t);
  t.set("query_pre_attn_scalar", t.sizes().channels);
  t.set("use_bidirectional_attention", true);
  for (const char *key : {"dense_2_feat_in", "dense_2_feat_out", "dense_3_feat_in", "dense_3_feat_out"})
    t.pass(key);
  if (!t.has("dense_2.weight"))
    t.warn("no tensor dense_2.weight: the linear layers that the published model has behind the pooling are missing, "
           "and the vectors are others than its own");
}

void importing::describePhi3(Translation &t) {
  t.setDecoder("phi3");
  setRotary(t, Rotated::Share);
  if (std::optional<int64_t> window = t.integer("attention.sliding_window", 0, mostWindow); window && *window > 0)
    t.set("sliding_window", *window);
}

void importing::describeSmolLM3(Translation &t) {
  t.setDecoder("smollm3");
  setRotary(t);
  setBiases(t, true);
}
