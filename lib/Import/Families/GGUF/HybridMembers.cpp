//===- HybridMembers.cpp - config.json of families with layers of two kinds --===//
#include "lib/Import/Families/GGUF/Members.h"
#include <algorithm>

using namespace rapt;
using namespace rapt::importing;

void importing::setAttendingLayers(Translation &t, const char *other) {
  json::Array types;
  for (int64_t layer = 0; layer < t.sizes().layers; ++layer)
    types.emplace_back(t.sizes().attends.empty() || t.sizes().attends[size_t(layer)] ? "full_attention" : other);
  t.set("layer_types", std::move(types));
}

/// What both architectures of LFM2 have. Feed-forwards are as wide as the file says.
static void describeLikeLFM2(Translation &t, const char *modelType) {
  t.setDecoder(modelType, {.headDim = "", .epsilon = "norm_eps", .hasRmsNorms = true, .hasOtherLayers = true});
  setRotary(t);
  setAttendingLayers(t, "conv");
  t.set("conv_L_cache", t.required("shortconv.l_cache", 2, 64));
  t.set("conv_bias", false);
}

void importing::describeLFM2(Translation &t) {
  describeLikeLFM2(t, "lfm2");
  t.set("block_auto_adjust_ff_dim", false);
}

void importing::describeLFM2Moe(Translation &t) {
  describeLikeLFM2(t, "lfm2_moe");
  setExperts(t, "num_experts", "moe_intermediate_size", t.required("expert_feed_forward_length", 1, mostInner));
  t.set("num_dense_layers", t.integer("leading_dense_block_count", 0, t.sizes().layers).value_or(0));
  t.set("use_expert_bias", true);
  t.set("norm_topk_prob", true);
  constexpr int64_t sigmoid = 2;
  if (t.integer("expert_gating_func", 0, 1 << 10).value_or(sigmoid) != sigmoid)
    t.fail("expert_gating_func", "must be 2, sigmoids, for this architecture");
  if (const double scale = t.number("expert_weights_scale").value_or(0); scale != 0)
    t.set("routed_scaling_factor", scale);
}

/// The number of heads that states have, and the channels of each.
static std::pair<int64_t, int64_t> readStateHeads(Translation &t) {
  const int64_t heads = t.required("ssm.time_step_rank", 1, mostHeads),
                inner = t.required("ssm.inner_size", 1, mostInner);
  if (inner % heads != 0)
    t.fail("ssm.inner_size",
           std::to_string(inner) + " is not a multiple of ssm.time_step_rank, " + std::to_string(heads));
  return {heads, std::max<int64_t>(1, inner / heads)};
}

/// What the architectures with the gated delta rule have.
static void describeDeltaRule(Translation &t, const char *modelType, const MemberNames &names = {}) {
  t.setDecoder(modelType, names);
  setRotary(t, Rotated::Share);
  t.pass("rope.dimension_sections"); // of images: a token of a text has the same position in all
  t.set("full_attention_interval", t.integer("full_attention_interval", 1, 1 << 17).value_or(4));
  const auto [heads, channels] = readStateHeads(t);
  t.set("linear_num_value_heads", heads);
  t.set("linear_value_head_dim", channels);
  t.set("linear_num_key_heads", t.required("ssm.group_count", 1, mostHeads));
  t.set("linear_key_head_dim", t.required("ssm.state_size", 1, mostChannels));
  t.set("linear_conv_kernel_dim", t.required("ssm.conv_kernel", 2, 64));
  t.set("attention_bias", t.hasInSomeLayer("attn_q.bias"));
}

/// Experts beside one of all tokens.
static void setSharedExperts(Translation &t) {
  setQwenExperts(t);
  t.set("shared_expert_intermediate_size", t.required("expert_shared_feed_forward_length", 1, mostInner));
}

void importing::describeQwen35(Translation &t) {
  describeDeltaRule(t, "qwen3_5_text");
  t.set("linear_head_pairing", "remainder");
}

void importing::describeQwen35Moe(Translation &t) {
  describeDeltaRule(t, "qwen3_5_moe_text", {.inner = ""});
  t.set("linear_head_pairing", "remainder");
  setSharedExperts(t);
}

void importing::describeQwen3Next(Translation &t) {
  describeDeltaRule(t, "qwen3_next");
  t.set("norm_topk_prob", true);
  setSharedExperts(t);
}

/// Widths of the feed-forward of all tokens, of the granite families.
static constexpr const char *ofShared = "expert_shared_feed_forward_length";

static void setGraniteExperts(Translation &t) {
  setExperts(t, "num_local_experts", "intermediate_size", t.required("feed_forward_length", 1, mostInner));
}

void importing::describeGraniteMoe(Translation &t) {
  const int64_t shared = t.integer(ofShared, 0, mostInner).value_or(0);
  // With a feed-forward of all tokens the layers are those of the hybrid family, all of which attend.
  t.setDecoder(shared ? "granitemoehybrid" : "granitemoe");
  setRotary(t);
  t.set("attention_bias", t.hasInLayers("attn_output.bias"));
  setGraniteFactors(t);
  setGraniteExperts(t);
  if (!shared)
    return;
  t.set("shared_intermediate_size", shared);
  t.set("position_embedding_type", "rope");
  setAttendingLayers(t, "mamba");
}

void importing::describeGraniteHybrid(Translation &t) {
  t.setDecoder("granitemoehybrid", {.hasOtherLayers = true});
  const bool rotates = t.boolean("rope.scaling.finetuned", true);
  t.set("position_embedding_type", rotates ? "rope" : "nope");
  setRotary(t);
  t.set("attention_bias", false);
  setGraniteFactors(t);
  if (t.integer("expert_count", 0, mostExperts).value_or(0) > 0) {
    setGraniteExperts(t);
    t.set("shared_intermediate_size", t.required(ofShared, 1, mostInner));
  } else {
    t.set("num_local_experts", int64_t(0));
    t.integer("expert_used_count", 0, mostExperts);
    const int64_t inner = t.required("feed_forward_length", 1, mostInner);
    t.set("shared_intermediate_size", t.integer(ofShared, 1, mostInner).value_or(inner));
  }
  setAttendingLayers(t, "mamba");
  const auto [heads, channels] = readStateHeads(t);
  if (heads * channels % t.sizes().width != 0)
    t.fail("ssm.inner_size", std::to_string(heads * channels) + " is not a multiple of embedding_length");
  t.set("mamba_expand", std::max<int64_t>(1, heads * channels / t.sizes().width));
  t.set("mamba_n_heads", heads);
  t.set("mamba_d_head", channels);
  t.set("mamba_n_groups", t.integer("ssm.group_count", 1, mostHeads).value_or(1));
  t.set("mamba_d_state", t.required("ssm.state_size", 1, mostChannels));
  t.set("mamba_d_conv", t.required("ssm.conv_kernel", 2, 64));
  t.set("mamba_conv_bias", t.hasInSomeLayer("ssm_conv1d.bias"));
  t.set("mamba_proj_bias", false);
}

/// rope_parameters: of layers without a window the first channels rotate, whose factors in the file are 1.
static void setGemma4Rotary(Translation &t, int64_t channels, int64_t channelsOfWindowed) {
  constexpr const char *factors = "rope_freqs.weight";
  double share = 1;
  if (t.has(factors)) {
    const std::vector<double> all = t.takeVector(factors, channels / 2);
    const auto end = std::ranges::find_if(all, [](double factor) { return factor != 1; });
    if (std::any_of(end, all.end(), [](double factor) { return factor < 1e20; }))
      t.fail("rope.dimension_count",
             "factors of frequencies other than 1 and 1e30 are not supported: tensor \"" + std::string(factors) + "\"");
    share = double(end - all.begin()) / double(std::max<int64_t>(1, channels / 2));
  }
  for (const auto &[key, own] :
       {std::pair("rope.dimension_count", channels), {"rope.dimension_count_swa", channelsOfWindowed}})
    if (t.integer(key, 1, mostChannels).value_or(own) != own)
      t.fail(key, "must be the channels of a head, " + std::to_string(own) + ", for this architecture");
  json::Object whole = {{"rope_type", json::Value("proportional")},
                        {"rope_theta", json::Value(t.number("rope.freq_base").value_or(1e6))},
                        {"partial_rotary_factor", json::Value(share)}};
  json::Object windowed = {{"rope_type", json::Value("default")},
                           {"rope_theta", json::Value(t.number("rope.freq_base_swa").value_or(1e4))}};
  t.set("rope_parameters", json::Object{{"full_attention", json::Value(std::move(whole))},
                                        {"sliding_attention", json::Value(std::move(windowed))}});
}

/// Widths of feed-forwards, twice as wide in the last `shared` layers of some models.
static void setGemma4Widths(Translation &t, int64_t shared) {
  constexpr const char *key = "feed_forward_length";
  const std::vector<int64_t> widths = t.ofLayers(key, 1, mostInner).value_or(std::vector<int64_t>{1});
  const bool isDouble = widths.back() != widths.front();
  for (size_t layer = 0; layer < widths.size(); ++layer)
    if (widths[layer] != widths.front() * (isDouble && layer + size_t(shared) >= widths.size() ? 2 : 1))
      return t.fail(key, "only layers that read other layers' keys may differ, with twice the width of the rest");
  t.set("intermediate_size", widths.front());
  t.set("use_double_wide_mlp", isDouble);
}

/// Heads of keys, and whether layers without a window have keys for values: no tensor of values then.
static void setGemma4Heads(Translation &t, const std::vector<int64_t> &windowed, int64_t own) {
  const DecoderSizes &s = t.sizes();
  bool areKeys = false;
  for (int64_t layer = 0; layer < own; ++layer)
    areKeys |= !windowed[size_t(layer)] && !t.has("blk." + std::to_string(layer) + ".attn_v.weight");
  int64_t ofWhole = s.keyHeads, ofWindowed = s.keyHeads;
  for (size_t layer = 0; layer < s.keyHeadsOfLayers.size(); ++layer)
    (windowed[layer] ? ofWindowed : ofWhole) = s.keyHeadsOfLayers[layer];
  for (size_t layer = 0; layer < s.keyHeadsOfLayers.size(); ++layer)
    if (s.keyHeadsOfLayers[layer] != (windowed[layer] ? ofWindowed : ofWhole))
      t.fail("attention.head_count_kv", "all layers with a window must have one number, and so must all without");
  t.set("num_key_value_heads", ofWindowed);
  t.set("attention_k_eq_v", areKeys);
  if (areKeys)
    t.set("num_global_key_value_heads", ofWhole);
  else if (ofWhole != ofWindowed)
    t.fail("attention.head_count_kv", "layers with and without a window may differ only where keys serve as values");
}

void importing::describeGemma4(Translation &t) {
  t.setDecoder("gemma4_text", {.inner = "", .keyHeads = "", .haveOwnKeyHeads = true});
  const DecoderSizes &s = t.sizes();
  const int64_t channels = s.channels,
                ofWindowed = t.integer("attention.key_length_swa", 1, mostChannels).value_or(channels);
  if (t.integer("attention.value_length_swa", 1, mostChannels).value_or(ofWindowed) != ofWindowed)
    t.fail("attention.value_length_swa", "must be attention.key_length_swa for this architecture");
  t.set("head_dim", ofWindowed);
  t.set("global_head_dim", channels);
  const std::vector<int64_t> windowed =
      t.list("attention.sliding_window_pattern").value_or(std::vector<int64_t>(size_t(s.layers), 1));
  if (std::ranges::find(windowed, 0) == windowed.end())
    t.fail("attention.sliding_window_pattern",
           "must list for each layer whether it has a window, and some must have none");
  setWindowedLayers(t, 6);
  t.set("sliding_window", t.required("attention.sliding_window", 1, mostWindow));
  const int64_t shared = t.integer("attention.shared_kv_layers", 0, s.layers - 1).value_or(0);
  t.set("num_kv_shared_layers", shared);
  setGemma4Widths(t, shared);
  setGemma4Heads(t, windowed, s.layers - shared);
  setGemma4Rotary(t, channels, ofWindowed);
  t.set("hidden_size_per_layer_input", t.integer("embedding_length_per_layer_input", 0, mostInner).value_or(0));
  if (const gguf::Tensor *words = t.file().find("per_layer_token_embd.weight"); words && words->dims.size() == 2)
    t.set("vocab_size_per_layer_input", int64_t(words->dims.back()));
  if (const double cap = t.number("final_logit_softcapping").value_or(0); cap != 0)
    t.set("final_logit_softcapping", cap);
  if (t.integer("expert_count", 0, mostExperts).value_or(0) == 0)
    return t.pass("expert_used_count");
  t.set("enable_moe_block", true);
  t.set("num_experts", t.required("expert_count", 1, mostExperts));
  t.set("top_k_experts", t.required("expert_used_count", 1, mostExperts));
  t.set("moe_intermediate_size", t.required("expert_feed_forward_length", 1, mostInner));
}
