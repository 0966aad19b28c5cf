//===- Glm.cpp - The glm and glm4 families ------------------------------===//
//
// GLM Team 2024, "ChatGLM: A Family of Large Language Models": rotation of neighboring
// channels of a part of each head; glm4 has norms behind attention and feed-forward, too.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static DecoderSpec readLikeGlm(const DecoderSource &source, const std::string &architecture) {
  DecoderSpec spec = readDecoder(source, {.architecture = architecture,
                                          .layers = 40,
                                          .positions = 131072,
                                          .vocabulary = 151552,
                                          .inner = 13696,
                                          .kvHeads = 2,
                                          .headDim = 128,
                                          .epsilon = 1.5625e-7,
                                          .padding = 151329});
  spec.attention.hasBias = source.config.getBool("attention_bias", false);
  spec.attention.isInterleaved = true;
  spec.feedForward.packed = "mlp.gate_up_proj";
  readRotary(source, spec, {.defaultShare = 0.5, .isPartial = true});
  spec.endToken = 151329;
  return spec;
}

static DecoderSpec readGlm4(const DecoderSource &source) {
  DecoderSpec spec = readLikeGlm(source, "Glm4");
  spec.residual.afterAttention = "post_self_attn_layernorm";
  spec.residual.afterFeedForward = "post_mlp_layernorm";
  return spec;
}

const DecoderFamily importing::glm4 = {.read = readGlm4};

static DecoderSpec readGlm(const DecoderSource &source) { return readLikeGlm(source, "Glm"); }

const DecoderFamily importing::glm = {.read = readGlm};
