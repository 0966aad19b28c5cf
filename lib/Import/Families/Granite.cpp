//===- Granite.cpp - The granite and granitemoe families -----------------===//
//
// Granite Team, IBM 2024, "Granite 3.0 Language Models": the llama family's layers with
// factors of embedding, scores, residuals and logits.
//
// Granite Team, IBM 2024, "Granite 3.0 Language Models": the granite family's layers with
// experts in place of the feed-forward. The softmax is of the chosen experts' logits.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

/// Biases of attention, and the factors of embedding, scores, residuals and logits.
static void setGraniteParts(const DecoderSource &source, DecoderSpec &spec) {
  huggingface::ConfigReader &config = source.config;
  constexpr double most = 1e6;
  spec.attention.hasBias = spec.attention.hasOutBias = config.getBool("attention_bias", false);
  spec.embedding.scale = config.getPositive("embedding_multiplier", most, 1);
  spec.attention.scale = config.getPositive("attention_multiplier", most, 1);
  spec.residual.scale = config.getPositive("residual_multiplier", most, 1);
  spec.head.scale = 1 / config.getPositive("logits_scaling", most, 1);
  spec.endToken = 2;
}

static DecoderSpec readGranite(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Granite", .inner = 11008});
  spec.feedForward.hasBias = spec.feedForward.hasDownBias = source.config.getBool("mlp_bias", false);
  setGraniteParts(source, spec);
  readRotary(source, spec);
  return spec;
}

const DecoderFamily importing::granite = {.read = readGranite};

static DecoderSpec readGraniteMoe(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "GraniteMoe", .inner = 11008});
  setGraniteParts(source, spec);
  readRotary(source, spec);
  ExpertsSpec experts = readExperts(
      source, spec,
      {.number = "num_local_experts", .inner = "intermediate_size", .ofAll = 8, .ofToken = 2, .width = 11008});
  experts.isNormalized = true; // the same as the softmax of the chosen
  experts.stacking = Stacking::Rows;
  experts.router = "block_sparse_moe.router.layer";
  experts.each.gate = "block_sparse_moe.experts.gate";
  experts.each.up = "block_sparse_moe.experts.up";
  experts.each.packed = "block_sparse_moe.input_linear.weight";
  experts.each.down = "block_sparse_moe.output_linear.weight";
  spec.experts = experts;
  return spec;
}

const DecoderFamily importing::graniteMoe = {.read = readGraniteMoe,
                                             .harmlessKeys = harmless::keys({harmless::decoder, harmless::router})};
