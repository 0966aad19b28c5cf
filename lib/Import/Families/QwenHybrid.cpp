//===- QwenHybrid.cpp - The qwen3_next and qwen3_5 families ---------------===//
//
// Qwen Team 2025, "Qwen3-Next": the qwen3_moe family's layers, three of four of which have the
// gated delta rule in place of attention, whose results have a gate.
//
// Qwen Team 2026, "Qwen3.5": the same with projections of their own, and with a feed-forward, or
// experts in stacked tensors. Its texts may have images: positions of time, row and column are interleaved in the
// rotation, and those of a text are equal, so that the decoder alone has one.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Families/QwenVision.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;
using huggingface::ConfigReader;

/// The layers with attention: by layer_types, or every full_attention_interval-th one.
static std::vector<bool> readAttention(ConfigReader &config, int64_t layers) {
  const int64_t interval = config.getInt("full_attention_interval", 1, 1 << 17, 4);
  std::vector<bool> attends = readKinds(config, "layer_types", layers, {{{"linear_attention"}, {"full_attention"}}});
  for (int64_t layer = 0; int64_t(attends.size()) < layers; ++layer)
    attends.push_back((layer + 1) % interval == 0);
  return attends;
}

/// What the families have in common, but projections and feed-forwards.
static DecoderSpec readLayers(const DecoderSource &source, const DecoderDefaults &defaults) {
  ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, defaults);
  spec.norm.isAroundOne = true;
  spec.attention.hasBias = spec.attention.hasOutBias = config.getBool("attention_bias", false);
  spec.attention.hasOutGate = true;
  if (!config.getBool("attn_output_gate", true))
    config.fail("attn_output_gate is false: attention without a gate is not supported by the families of qwen3_next");
  spec.attention.norm = QueryKeyNormSpec{.norm = spec.norm};
  DeltaRuleSpec d;
  d.keyHeads = config.getSize("linear_num_key_heads", 1, 1 << 12, 16);
  d.valueHeads = config.getSize("linear_num_value_heads", 1, 1 << 12, 32);
  d.keyDim = config.getSize("linear_key_head_dim", 1, 1 << 12, 128);
  d.valueDim = config.getSize("linear_value_head_dim", 1, 1 << 12, 128);
  config.requireMultiple("linear_num_value_heads", d.valueHeads, "linear_num_key_heads", d.keyHeads);
  // In some GGUF files, the heads of values that share a key are not neighbors.
  if (config.getEnum("linear_head_pairing", {"neighbors", "remainder"}, "neighbors") == "remainder")
    d.pairing = attn::HeadPairing::remainder;
  d.mixed = "linear_attn.in_proj_qkv";
  d.gate = "linear_attn.in_proj_z";
  d.beta = "linear_attn.in_proj_b";
  d.decay = "linear_attn.in_proj_a";
  d.convolution = {.part = "linear_attn.conv1d",
                   .taps = config.getSize("linear_conv_kernel_dim", 2, 64, 4),
                   .activation = spec.feedForward.activation};
  d.decayBias = "linear_attn.dt_bias";
  d.decayScale = "linear_attn.A_log";
  d.norm.part = "linear_attn.norm";
  d.norm.norm = {.kind = NormSpec::RMS, .epsilon = spec.norm.epsilon};
  d.out = "linear_attn.out_proj";
  spec.delta = d;
  setMixers(spec, Mixer::DeltaRule, readAttention(config, spec.layers));
  RotaryKeys rotary = imageRotary(source, {11, 11, 10});
  rotary.defaultShare = 0.25;
  rotary.isPartial = true;
  readRotary(source, spec, rotary);
  spec.ignoredTensors.push_back("mtp.*"); // layers that guess further tokens
  return spec;
}

/// Experts beside one of all tokens, whose result has a gate.
static ExpertsSpec readShared(const DecoderSource &source, const DecoderSpec &spec, const ExpertsDefaults &defaults) {
  ExpertsSpec experts = readExperts(source, spec, defaults);
  FeedForwardSpec shared = spec.feedForward;
  shared.inner = source.config.getSize("shared_expert_intermediate_size", 1, 1 << 20, 512);
  shared.gate = "mlp.shared_expert.gate_proj";
  shared.up = "mlp.shared_expert.up_proj";
  shared.down = "mlp.shared_expert.down_proj";
  experts.shared = shared;
  experts.sharedGate = "mlp.shared_expert_gate";
  return experts;
}

static DecoderSpec readQwen3Next(const DecoderSource &source) {
  ConfigReader &config = source.config;
  DecoderSpec spec = readLayers(source, {.architecture = "Qwen3Next",
                                         .width = 2048,
                                         .layers = 48,
                                         .heads = 16,
                                         .positions = 32768,
                                         .vocabulary = 151936,
                                         .inner = 5632,
                                         .kvHeads = 2,
                                         .headDim = 256});
  spec.delta->packed = {"linear_attn.in_proj_qkvz", "linear_attn.in_proj_ba"};
  if (hasTensor(source.model, ".linear_attn.in_proj_qkv.weight")) // of a GGUF file
    spec.delta->packed[0].clear();
  spec.experts = readShared(source, spec, {.ofAll = 512, .ofToken = 10, .width = 512});
  spec.experts->isNormalized = config.getBool("norm_topk_prob", true);
  readSparseLayers(source, spec);
  return spec;
}

const DecoderFamily importing::qwen3Next = {.read = readQwen3Next,
                                            .harmlessKeys = harmless::keys({harmless::decoder, harmless::router})};

static DecoderDefaults qwen35Defaults(const std::string &architecture) {
  return {.architecture = architecture,
          .wholeClass = architecture + "Text",
          .positions = 32768,
          .vocabulary = 248320,
          .inner = 12288,
          .kvHeads = 4,
          .headDim = 256};
}

static DecoderSpec readQwen35(const DecoderSource &source) {
  DecoderDefaults defaults = qwen35Defaults("Qwen3_5");
  defaults.heads = 16;
  return readLayers(source, defaults);
}

// States are of f32 whatever the file says; layers that guess further tokens are left out, and no layer has experts.
const DecoderFamily importing::qwen35 = {
    .read = readQwen35,
    .harmlessKeys = harmless::keys({harmless::decoder}, {"mamba_ssm_dtype", "mlp_only_layers", "mtp_num_hidden_layers",
                                                         "mtp_use_dedicated_embeddings"})};

static DecoderSpec readQwen35Moe(const DecoderSource &source) {
  DecoderDefaults defaults = qwen35Defaults("Qwen3_5Moe");
  defaults.width = 2048;
  defaults.layers = 40;
  defaults.heads = 16;
  defaults.kvHeads = 2;
  defaults.inner = 0;
  DecoderSpec spec = readLayers(source, defaults);
  spec.experts = readShared(source, spec, {.ofAll = 256, .ofToken = 8, .width = 512});
  spec.experts->isNormalized = true;
  return spec;
}

const DecoderFamily importing::qwen35Moe = {
    .read = readQwen35Moe,
    .harmlessKeys = harmless::keys({harmless::decoder, harmless::router},
                                   {"mamba_ssm_dtype", "mtp_num_hidden_layers", "mtp_use_dedicated_embeddings"})};
