//===- Phi.cpp - The phi and phi3 families -------------------------------===//
//
// Li et al. 2023, "Textbooks Are All You Need II: phi-1.5 technical report": attention
// and feed-forward of one layer norm side by side, and rotation of a part of each head.
//
// Abdin et al. 2024, "Phi-3 Technical Report": the llama family's layers, with queries,
// keys and values in one tensor, and gate and up in one.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static DecoderSpec readPhi(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Phi",
                                          .keys = {.epsilon = "layer_norm_eps", .headDim = ""},
                                          .width = 2048,
                                          .layers = 24,
                                          .vocabulary = 51200,
                                          .inner = 8192,
                                          .activation = "gelu_new",
                                          .epsilon = 1e-5});
  spec.norm.kind = NormSpec::Layer;
  spec.norm.hasBias = true;
  spec.attention.hasBias = spec.attention.hasOutBias = true;
  spec.attention.out = "self_attn.dense";
  if (source.config.getBool("qk_layernorm", false))
    spec.attention.norm =
        QueryKeyNormSpec{.norm = spec.norm, .query = "self_attn.q_layernorm", .key = "self_attn.k_layernorm"};
  setPlainFeedForward(spec, "mlp.fc1", "mlp.fc2");
  spec.residual = {.scheme = ResidualSpec::Parallel, .beforeFeedForward = ""};
  spec.finalNorm = "final_layernorm";
  spec.head.hasBias = true;
  readRotary(source, spec, {.defaultShare = 0.5, .isPartial = true});
  return spec;
}

const DecoderFamily importing::phi = {.read = readPhi,
                                      .harmlessKeys = harmless::keys({harmless::decoder, harmless::dropout})};

static DecoderSpec readPhi3(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Phi3",
                                          .width = 3072,
                                          .positions = 4096,
                                          .vocabulary = 32064,
                                          .inner = 8192,
                                          .epsilon = 1e-5,
                                          .padding = 32000});
  spec.attention.packing = Packing::Rows;
  spec.attention.packed = "self_attn.qkv_proj";
  spec.attention.hasBias = spec.attention.hasOutBias = source.config.getBool("attention_bias", false);
  spec.feedForward.packed = "mlp.gate_up_proj";
  source.config.getRaw("original_max_position_embeddings"); // is read where the context is stretched
  readRotary(source, spec, {.isPartial = true});
  readWindowOfAll(source, spec, std::nullopt);
  spec.endToken = 32000;
  return spec;
}

const DecoderFamily importing::phi3 = {.read = readPhi3,
                                       .harmlessKeys = harmless::keys({harmless::decoder, harmless::dropout})};
