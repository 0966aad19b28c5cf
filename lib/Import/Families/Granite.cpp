//===- Granite.cpp - The granite, granitemoe and granitemoehybrid families ===//
//
// Granite Team, IBM 2024, "Granite 3.0 Language Models": the llama family's layers with
// factors of embedding, scores, residuals and logits.
//
// Granite Team, IBM 2024, "Granite 3.0 Language Models": the granite family's layers with
// experts in place of the feed-forward. The softmax is of the chosen experts' logits.
//
// IBM 2025, "Granite 4.0": the granitemoe family's layers, most of which have state-space duality
// in place of attention, and a feed-forward of all tokens beside the experts, or alone.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Families/Mamba.h"
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

static ExpertsSpec readGraniteExperts(const DecoderSource &source, const DecoderSpec &spec) {
  ExpertsSpec experts = readExperts(
      source, spec,
      {.number = "num_local_experts", .inner = "intermediate_size", .ofAll = 8, .ofToken = 2, .width = 11008});
  experts.isNormalized = true; // the same as the softmax of the chosen
  experts.router = "block_sparse_moe.router.layer";
  if (hasExpertsApart(source.model))
    return experts;
  experts.stacking = Stacking::Rows;
  experts.each.gate = "block_sparse_moe.experts.gate";
  experts.each.up = "block_sparse_moe.experts.up";
  experts.each.packed = "block_sparse_moe.input_linear.weight";
  experts.each.down = "block_sparse_moe.output_linear.weight";
  return experts;
}

static DecoderSpec readGraniteMoe(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "GraniteMoe", .inner = 11008});
  setGraniteParts(source, spec);
  readRotary(source, spec);
  spec.experts = readGraniteExperts(source, spec);
  return spec;
}

const DecoderFamily importing::graniteMoe = {.read = readGraniteMoe,
                                             .harmlessKeys = harmless::keys({harmless::decoder, harmless::router})};

static DecoderSpec readGraniteHybrid(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "GraniteMoeHybrid", .inner = 11008});
  setGraniteParts(source, spec);
  if (config.getEnum("position_embedding_type", {"nope", "rope"}, "nope") == "rope")
    readRotary(source, spec);
  else
    for (const char *unread : {"rope_theta", "rope_scaling", "rope_parameters"})
      config.getRaw(unread);
  FeedForwardSpec shared = spec.feedForward;
  shared.inner = config.getSize("shared_intermediate_size", 1, 1 << 20, 1024);
  shared.gate = "shared_mlp.gate_proj";
  shared.up = "shared_mlp.up_proj";
  if (!hasTensor(source.model, ".shared_mlp.gate_proj.weight")) // as in a GGUF file
    shared.packed = "shared_mlp.input_linear";
  shared.down = "shared_mlp.output_linear";
  if (config.getInt("num_local_experts", 0, 1 << 12, 8) > 0) {
    spec.experts = readGraniteExperts(source, spec);
    spec.experts->shared = shared;
  } else {
    config.getRaw("num_experts_per_tok");
    spec.feedForward = shared;
  }
  spec.stateSpace = readHybridStateSpace(config, spec);
  std::vector<bool> attends = readKinds(config, {"layer_types", "layers_block_type"}, spec.layers,
                                        {{{"mamba", "linear_attention"}, {"attention", "full_attention"}}});
  attends.resize(size_t(spec.layers));
  setMixers(spec, Mixer::StateSpace, attends);
  return spec;
}

const DecoderFamily importing::graniteMoeHybrid = {
    .read = readGraniteHybrid,
    .harmlessKeys = harmless::keys({harmless::decoder, harmless::router, harmless::steps, harmless::mamba},
                                   {"init_method", "normalization_function"})};
