//===- Qwen.cpp - The qwen2, qwen2_moe, qwen3 and qwen3_moe families -----===//
//
// Yang et al. 2024, "Qwen2 Technical Report": the llama family's layers with biases of
// queries, keys and values, and windows of the later layers.
//
// Yang et al. 2024, "Qwen2 Technical Report": the qwen2 family's layers with experts in place
// of the feed-forward, and one expert of all tokens.
//
// Yang et al. 2025, "Qwen3 Technical Report": the llama family's layers, where each head's
// query and key has an RMS norm before its rotation.
//
// Yang et al. 2025, "Qwen3 Technical Report": the qwen3 family's layers with experts in
// place of the feed-forward.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static DecoderSpec readQwen2(const DecoderSource &source) {
  DecoderSpec spec =
      readDecoder(source, {.architecture = "Qwen2", .positions = 32768, .vocabulary = 151936, .inner = 22016});
  spec.attention.hasBias = true;
  readRotary(source, spec);
  readWindowByLayer(source, spec);
  return spec;
}

const DecoderFamily importing::qwen2 = {
    .read = readQwen2,
    .harmlessKeys = harmless::keys({harmless::decoder}, {
                                                            "dual_chunk_attention_config", // of another engine
                                                            "max_sequence_length",
                                                            "pretraining_tp",
                                                        })};

static DecoderSpec readQwen2Moe(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "Qwen2Moe",
                                          .width = 2048,
                                          .layers = 24,
                                          .heads = 16,
                                          .positions = 32768,
                                          .vocabulary = 151936,
                                          .inner = 5632,
                                          .kvHeads = 16});
  spec.attention.hasBias = config.getBool("qkv_bias", true);
  readRotary(source, spec);
  readWindowByLayer(source, spec);
  ExpertsSpec experts = readExperts(source, spec, {.ofAll = 60, .ofToken = 4, .width = 1408});
  experts.isNormalized = config.getBool("norm_topk_prob", false);
  FeedForwardSpec shared = spec.feedForward;
  shared.inner = config.getSize("shared_expert_intermediate_size", 1, 1 << 20, 5632);
  shared.gate = "mlp.shared_expert.gate_proj";
  shared.up = "mlp.shared_expert.up_proj";
  shared.down = "mlp.shared_expert.down_proj";
  experts.shared = shared;
  experts.sharedGate = "mlp.shared_expert_gate";
  spec.experts = experts;
  readSparseLayers(source, spec);
  return spec;
}

const DecoderFamily importing::qwen2Moe = {.read = readQwen2Moe,
                                           .harmlessKeys = harmless::keys({harmless::decoder, harmless::router})};

/// Attention of qwen3, whose queries and keys have norms.
static void readQwen3Attention(const DecoderSource &source, DecoderSpec &spec) {
  spec.attention.hasBias = spec.attention.hasOutBias = source.config.getBool("attention_bias", false);
  spec.attention.norm = QueryKeyNormSpec{.norm = spec.norm};
  readRotary(source, spec);
  readWindowByLayer(source, spec);
}

static DecoderSpec readQwen3(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Qwen3",
                                          .positions = 32768,
                                          .vocabulary = 151936,
                                          .inner = 22016,
                                          .kvHeads = 32,
                                          .headDim = 128});
  readQwen3Attention(source, spec);
  return spec;
}

const DecoderFamily importing::qwen3 = {.read = readQwen3};

static DecoderSpec readQwen3Moe(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Qwen3Moe",
                                          .width = 2048,
                                          .layers = 24,
                                          .positions = 32768,
                                          .vocabulary = 151936,
                                          .inner = 6144,
                                          .kvHeads = 4});
  readQwen3Attention(source, spec);
  spec.experts = readExperts(
      source, spec, {.number = {"num_experts", "num_local_experts"}, .ofAll = 128, .ofToken = 8, .width = 768});
  spec.experts->isNormalized = source.config.getBool("norm_topk_prob", false);
  readSparseLayers(source, spec);
  return spec;
}

const DecoderFamily importing::qwen3Moe = {.read = readQwen3Moe,
                                           .harmlessKeys = harmless::keys({harmless::decoder, harmless::router})};
