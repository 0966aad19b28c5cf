//===- OPT.cpp - The opt family --------------------------------------------===//
//
// Zhang et al. 2022, "OPT: Open Pre-trained Transformer Language Models": layer norms
// before, or of the smallest but one behind, learned positions whose table has two rows
// ahead of the first, and an embedding that may be narrower than the layers.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static DecoderSpec readOPT(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(
      source,
      {.architecture = "OPT",
       .keys = {.inner = "ffn_dim", .activation = "activation_function", .epsilon = "", .kvHeads = "", .headDim = ""},
       .width = 768,
       .layers = 12,
       .heads = 12,
       .vocabulary = 50272,
       .inner = 3072,
       .activation = "relu",
       .epsilon = 1e-5,
       .isTied = true,
       .padding = 1});
  const bool isBefore = config.getBool("do_layer_norm_before", true), hasBias = config.getBool("enable_bias", true);
  spec.norm.kind = NormSpec::Layer;
  spec.norm.hasWeight = spec.norm.hasBias = config.getBool("layer_norm_elementwise_affine", true);
  spec.attention.hasBias = spec.attention.hasOutBias = hasBias;
  spec.attention.out = "self_attn.out_proj";
  setPlainFeedForward(spec, "fc1", "fc2");
  spec.feedForward.hasBias = spec.feedForward.hasDownBias = hasBias;
  const std::string first = "self_attn_layer_norm", second = "final_layer_norm";
  spec.residual = {.beforeAttention = isBefore ? first : "",
                   .beforeFeedForward = isBefore ? second : "",
                   .ofAttentionSum = isBefore ? "" : first,
                   .ofFeedForwardSum = isBefore ? "" : second};
  spec.prefixes = {"model.", ""};
  spec.layer = "decoder.layers.{layer}.";
  spec.embedding.words = "decoder.embed_tokens";
  spec.embedding.positions.table = "decoder.embed_positions";
  spec.embedding.positions.first = 2;
  const int64_t narrow = config.getInt("word_embed_proj_dim", 1, 1 << 16, spec.width);
  if (narrow != spec.width) {
    spec.embedding.width = narrow;
    spec.embedding.projected = EmbeddingSpec::Words;
    spec.embedding.projection = "decoder.project_in";
    spec.head.projection = "decoder.project_out";
  }
  spec.finalNorm = isBefore && !config.getBool("_remove_final_layer_norm", false) ? "decoder.final_layer_norm" : "";
  spec.endToken = 2;
  return spec;
}

const DecoderFamily importing::opt = {
    .read = readOPT,
    .harmlessKeys = harmless::keys({harmless::decoder, harmless::dropout},
                                   {"activation_dropout", "dropout", "layerdrop", "init_std", "prefix"}),
    .ignoredTensors = {}};
