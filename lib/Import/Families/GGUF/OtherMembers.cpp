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
  setRotary(t, /*isPartial=*/true);
}

void importing::describeStableLM(Translation &t) {
  t.setDecoder("stablelm", {.headDim = "", .epsilon = "layer_norm_eps"});
  setRotary(t, /*isPartial=*/true);
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
  t.pass("attention.layer_norm_epsilon"); // of one value
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
  setRotary(t, /*isPartial=*/true);
  setBiases(t, true);
}

void importing::describeGlm4(Translation &t) {
  t.setDecoder("glm4");
  setRotary(t, /*isPartial=*/true);
  t.set("attention_bias", hasQueryBias(t));
}

void importing::describeGPTNeoX(Translation &t) {
  t.setDecoder("gpt_neox", {.keyHeads = "", .headDim = "", .epsilon = "layer_norm_eps"});
  setRotary(t, /*isPartial=*/true);
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
