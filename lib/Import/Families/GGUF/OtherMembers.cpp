//===- OtherMembers.cpp - config.json of families with layer norms or scales -===//
#include "lib/Import/Families/GGUF/Members.h"
#include <cmath>

using namespace rapt;
using namespace rapt::importing;

static constexpr MemberNames ofGPT2 = {
    .inner = "n_inner", .keyHeads = "", .headDim = "", .epsilon = "layer_norm_epsilon"};

void importing::describeGPT2(Translation &t) { t.setDecoder("gpt2", ofGPT2); }

void importing::describeStarcoder(Translation &t) {
  t.setDecoder("gpt_bigcode", ofGPT2);
  t.set("multi_query", t.sizes().keyHeads == 1);
}

void importing::describeStarcoder2(Translation &t) {
  t.setDecoder("starcoder2", {.epsilon = "norm_epsilon"});
  setRotary(t);
  t.set("use_bias", hasQueryBias(t));
  t.assume("sliding_window", "that each token sees all before it: files do not have the window of StarCoder2, which is "
                             "--config-key=sliding_window=4096");
}

/// Norms behind attention and feed-forward; with windows it is olmo3.
void importing::describeOlmo2(Translation &t) {
  const std::optional<int64_t> window = t.integer("attention.sliding_window", 1, mostWindow);
  t.setDecoder(window ? "olmo3" : "olmo2");
  setRotary(t);
  if (!window)
    return;
  t.set("sliding_window", *window);
  setWindowedLayers(t, 4);
}

void importing::describePhi2(Translation &t) {
  t.setDecoder("phi", {.headDim = "", .epsilon = "layer_norm_eps"});
  setRotary(t, Rotated::Share);
}

void importing::describeStableLM(Translation &t) {
  t.setDecoder("stablelm", {.headDim = "", .epsilon = "layer_norm_eps"});
  setRotary(t, Rotated::Share);
  t.set("use_qkv_bias", hasQueryBias(t));
  t.set("qk_layernorm", t.hasInLayers("attn_q_norm.weight"));
  t.pass("use_parallel_residual"); // which some writers set for all: the norm tells
  t.set("use_parallel_residual", !t.hasInLayers("ffn_norm.weight"));
}

/// A factor that is off where the file has 0, or nothing.
static double factorOf(Translation &t, std::string_view key, double off) {
  const double given = t.number(key).value_or(0);
  return given == 0 ? off : given;
}

void importing::describeGranite(Translation &t) {
  t.setDecoder("granite");
  if (!t.boolean("rope.scaling.finetuned", true))
    t.fail("rope.scaling.finetuned", "false, which means no rotary embedding, is not supported for this architecture");
  setRotary(t);
  setBiases(t, true);
  setGraniteFactors(t);
}

void importing::setGraniteFactors(Translation &t) {
  t.set("attention_multiplier", factorOf(t, "attention.scale", 1 / std::sqrt(double(t.sizes().channels))));
  t.set("embedding_multiplier", factorOf(t, "embedding_scale", 1));
  t.set("residual_multiplier", factorOf(t, "residual_scale", 1));
  t.set("logits_scaling", factorOf(t, "logit_scale", 1));
}

/// What both architectures of Cohere have.
static void describeLikeCohere(Translation &t, const char *modelType) {
  t.setDecoder(modelType, {.epsilon = "layer_norm_eps"});
  setRotary(t);
  t.set("attention_bias", t.hasInLayers("attn_output.bias"));
  t.set("logit_scale", factorOf(t, "logit_scale", 1));
}

void importing::describeCohere(Translation &t) {
  describeLikeCohere(t, "cohere");
  t.set("use_qk_norm", t.hasInLayers("attn_q_norm.weight"));
}

void importing::describeCohere2(Translation &t) {
  describeLikeCohere(t, "cohere2");
  t.set("sliding_window", t.integer("attention.sliding_window", 1, mostWindow).value_or(4096));
  setWindowedLayers(t, 4);
}

/// clip_qkv, where the file has one.
static void setClip(Translation &t) {
  if (const double clip = t.number("attention.clamp_kqv").value_or(0); clip != 0)
    t.set("clip_qkv", clip);
}

void importing::describeOlmo(Translation &t) {
  t.setDecoder("olmo", {.epsilon = ""});
  setRotary(t);
  setClip(t);
}

void importing::describeOlmoe(Translation &t) {
  t.setDecoder("olmoe");
  setRotary(t);
  setClip(t);
  setExperts(t, "num_experts", "intermediate_size", t.required("feed_forward_length", 1, mostInner));
}

void importing::describeNemotron(Translation &t) {
  t.setDecoder("nemotron", {.epsilon = "norm_eps"});
  setRotary(t, Rotated::Share);
  setBiases(t, true);
}

void importing::describeGlm4(Translation &t) {
  t.setDecoder("glm4");
  setRotary(t, Rotated::Share);
  t.set("attention_bias", hasQueryBias(t));
}

void importing::describeGPTNeoX(Translation &t) {
  t.setDecoder("gpt_neox", {.keyHeads = "", .headDim = "", .epsilon = "layer_norm_eps"});
  setRotary(t, Rotated::Share);
  t.set("use_parallel_residual", t.boolean("use_parallel_residual", true));
  t.set("attention_bias", t.hasInLayers("attn_qkv.bias"));
}

void importing::describeBloom(Translation &t) {
  t.setDecoder(
      "bloom",
      {.inner = "n_inner", .keyHeads = "", .headDim = "", .positions = "seq_length", .epsilon = "layer_norm_epsilon"});
  if (const double bias = t.number("attention.max_alibi_bias").value_or(8); bias != 8)
    t.fail("attention.max_alibi_bias", "must be 8 for this architecture");
}

void importing::describeFalcon(Translation &t) {
  t.setDecoder(
      "falcon",
      {.inner = "ffn_hidden_size", .keyHeads = "num_kv_heads", .headDim = "", .epsilon = "layer_norm_epsilon"});
  setRotary(t);
  const bool hasTwoNorms = t.hasInLayers("attn_norm_2.weight"), isNew = hasTwoNorms || t.sizes().keyHeads > 1;
  t.set("new_decoder_architecture", isNew);
  t.set("multi_query", t.sizes().keyHeads == 1);
  t.set("bias", t.hasInLayers("attn_qkv.bias"));
  if (isNew)
    t.set("num_ln_in_parallel_attn", hasTwoNorms ? 2 : 1);
}

void importing::describeMPT(Translation &t) {
  t.setDecoder(
      "mpt", {.inner = "", .keyHeads = "", .headDim = "", .positions = "max_seq_len", .epsilon = "layer_norm_epsilon"});
  if (t.required("feed_forward_length", 1, mostInner) != 4 * t.sizes().width)
    t.fail("feed_forward_length", "must be four times embedding_length for this architecture");
  json::Object attention = {{"alibi_bias_max", json::Value(t.number("attention.max_alibi_bias").value_or(8))}};
  if (const double clip = t.number("attention.clamp_kqv").value_or(0); clip != 0)
    attention.emplace_back("clip_qkv", clip);
  t.set("attn_config", std::move(attention));
  t.set("no_bias", !t.hasInLayers("attn_qkv.bias"));
}

void importing::describeGptOss(Translation &t) {
  t.setDecoder("gpt_oss", {.inner = ""});
  setRotary(t);
  // The published model's frequencies are not rounded to whole channels, which files do not say.
  t.setInRotaryScaling("truncate", json::Value(false));
  setExperts(t, "num_local_experts", "intermediate_size", t.required("expert_feed_forward_length", 1, mostInner));
  t.integer("feed_forward_length", 0, mostInner);
  if (std::optional<int64_t> window = t.integer("attention.sliding_window", 1, mostWindow))
    t.set("sliding_window", *window);
  setWindowedLayers(t, 2);
  t.set("attention_bias", t.hasInLayers("attn_q.bias"));
}

/// The groups of experts, of which a token's are chosen within some. Files before 2025 do not have the published ones.
static void setExpertGroups(Translation &t, bool isThird, int64_t experts) {
  std::optional<int64_t> groups = t.integer("expert_group_count", 1, mostExperts),
                         kept = t.integer("expert_group_used_count", 1, mostExperts);
  const bool isPublished = experts == (isThird ? 256 : 160);
  if (!groups && isPublished) {
    groups = 8;
    kept = isThird ? 4 : 3;
    t.assume("n_group", "that the experts of a token are within " + std::to_string(*kept) +
                            " of 8 groups, as in the published model of as many experts: the file does not say it; "
                            "--config-key=n_group=N and --config-key=topk_group=N give others");
  }
  t.set("n_group", groups.value_or(1));
  t.set("topk_group", kept.value_or(1));
  if (!isThird)
    t.set("topk_method", groups.value_or(1) > 1 ? "group_limited_greedy" : "greedy");
}

/// Latent attention: DeepSeek V2, or with scores by sigmoid V3 and its relatives.
void importing::describeDeepSeek2(Translation &t) {
  const std::optional<int64_t> experts = t.integer("expert_count", 0, mostExperts),
                               scores = t.integer("expert_gating_func", 0, 2);
  const bool hasExperts = experts.value_or(0) > 0,
             isThird = !hasExperts || scores == 2 || (!scores && t.hasInSomeLayer("exp_probs_b.bias"));
  t.setDecoder(isThird ? "deepseek_v3" : "deepseek_v2",
               {.keyHeads = "", .headDim = "qk_head_dim", .haveOwnValues = true});
  setRotary(t, Rotated::Apart, Magnitudes::Equal);
  const DecoderSizes &s = t.sizes();
  const int64_t rotated = t.integer("rope.dimension_count", 1, s.channels).value_or(s.channels);
  if (rotated == s.channels)
    t.fail("rope.dimension_count", "all " + std::to_string(rotated) + " channels of a head, but must be fewer");
  t.set("qk_nope_head_dim", s.channels - rotated);
  t.set("v_head_dim", s.valueChannels);
  t.set("kv_lora_rank", t.required("attention.kv_lora_rank", 1, mostRank));
  if (const int64_t rank = t.integer("attention.q_lora_rank", 0, mostRank).value_or(0))
    t.set("q_lora_rank", rank);
  else
    t.set("q_lora_rank", json::Value());
  setBiases(t, !isThird);
  const int64_t dense = t.integer("leading_dense_block_count", 0, s.layers).value_or(0);
  t.set("first_k_dense_replace", hasExperts ? dense : s.layers);
  const std::optional<int64_t> columns = t.integer("expert_feed_forward_length", 1, mostInner);
  const int64_t shared = t.integer("expert_shared_count", 0, mostExperts).value_or(0);
  const double scale = factorOf(t, "expert_weights_scale", 1);
  const bool isNormalized = t.boolean("expert_weights_norm", false);
  if (!hasExperts) {
    t.pass("expert_used_count");
    return;
  }
  setExperts(t, "n_routed_experts", "moe_intermediate_size", columns.value_or(1));
  if (!columns)
    t.fail("expert_feed_forward_length", "the file does not have it");
  if (shared > 0)
    t.set("n_shared_experts", shared);
  else
    t.set("n_shared_experts", json::Value());
  t.set("routed_scaling_factor", scale);
  t.set("norm_topk_prob", isNormalized);
  setExpertGroups(t, isThird, *experts);
}
