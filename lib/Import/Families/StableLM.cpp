//===- StableLM.cpp - The stablelm family ----------------------------------===//
//
// Bellagente et al. 2024, "Stable LM 2 1.6B Technical Report": the llama family's layers
// with layer norms, rotation of a part of each head, and blocks side by side or in turn.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static DecoderSpec readStableLM(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "StableLm",
                                          .keys = {.epsilon = "layer_norm_eps", .headDim = ""},
                                          .width = 2560,
                                          .positions = 4096,
                                          .vocabulary = 50304,
                                          .inner = 6912,
                                          .kvHeads = 32,
                                          .epsilon = 1e-5});
  spec.norm.kind = NormSpec::Layer;
  spec.norm.hasBias = true;
  spec.attention.hasBias = config.getBool("use_qkv_bias", false);
  if (config.getBool("use_parallel_residual", false))
    spec.residual = {.scheme = ResidualSpec::Parallel, .beforeFeedForward = ""};
  if (config.getBool("qk_layernorm", false))
    spec.attention.norm = QueryKeyNormSpec{.norm = {.kind = NormSpec::Layer, .epsilon = spec.norm.epsilon},
                                           .extent = QueryKeyNormSpec::OwnHead,
                                           .query = "self_attn.q_layernorm.norms.{head}",
                                           .key = "self_attn.k_layernorm.norms.{head}"};
  readRotary(source, spec, {.defaultShare = 0.25, .isPartial = true});
  spec.endToken = 0;
  return spec;
}

const DecoderFamily importing::stableLM = {
    .read = readStableLM,
    .harmlessKeys = harmless::keys({harmless::decoder}, {
                                                            "hidden_dropout",
                                                            "rotary_scaling_factor", // of the first files
                                                            "norm_eps",
                                                            "rope_pct",
                                                        })};
