//===- Nemotron.cpp - The nemotron family -------------------------------===//
//
// Parmar et al. 2024, "Nemotron-4 15B Technical Report": layer norms stored by their
// distance from 1, a feed-forward of squared relu, and rotation of a part of each head.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static DecoderSpec readNemotron(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "Nemotron",
                                          .keys = {.activation = "", .epsilon = "norm_eps"},
                                          .width = 6144,
                                          .heads = 48,
                                          .positions = 4096,
                                          .vocabulary = 256000,
                                          .inner = 24576,
                                          .activation = "relu",
                                          .epsilon = 1e-5});
  config.getEnum("hidden_act", {"relu2"}, "relu2");
  spec.norm.kind = NormSpec::Layer;
  spec.norm.isAroundOne = spec.norm.hasBias = true;
  spec.attention.hasBias = spec.attention.hasOutBias = config.getBool("attention_bias", false);
  setPlainFeedForward(spec, "mlp.up_proj", "mlp.down_proj");
  spec.feedForward.isSquared = true;
  spec.feedForward.hasBias = spec.feedForward.hasDownBias = config.getBool("mlp_bias", false);
  readRotary(source, spec, {.defaultShare = 0.5, .isPartial = true});
  spec.endToken = 3;
  return spec;
}

const DecoderFamily importing::nemotron = {.read = readNemotron};
