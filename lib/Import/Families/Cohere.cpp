//===- Cohere.cpp - The cohere family --------------------------------------===//
//
// Cohere 2024, "Command R": attention and feed-forward of one layer norm side by side,
// rotation of neighboring channels, and scaled logits.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Cohere.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static const DecoderFamily family = {
    .harmlessKeys =
        {
            "attention_dropout",
            "is_decoder",       // as every model of the family is
            "model_max_length", // of the tokenizer
            "pretraining_tp",
            "use_parallel_embedding", // how it is computed
            "embedding_sharding_dim",
        },
    .ignoredTensors = {"*rotary_emb.inv_freq"},
};

DecoderSpec importing::readCohere(const DecoderSource &source, const std::string &architecture) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = architecture,
                                          .keys = {.epsilon = "layer_norm_eps"},
                                          .width = 8192,
                                          .layers = 40,
                                          .heads = 64,
                                          .positions = 8192,
                                          .vocabulary = 256000,
                                          .inner = 22528,
                                          .epsilon = 1e-5,
                                          .isTied = true});
  spec.norm.kind = NormSpec::Layer;
  spec.attention.hasBias = spec.attention.hasOutBias = config.getBool("attention_bias", false);
  spec.attention.isInterleaved = true;
  spec.residual = {.scheme = ResidualSpec::Parallel, .beforeFeedForward = ""};
  spec.head.scale = config.getPositive("logit_scale", 1e6, 0.0625);
  readRotary(source, spec);
  spec.endToken = 255001;
  return spec;
}

static DecoderSpec readSpec(const DecoderSource &source) {
  DecoderSpec spec = readCohere(source, "Cohere");
  if (source.config.getBool("use_qk_norm", false))
    spec.attention.norm = QueryKeyNormSpec{.norm = spec.norm, .extent = QueryKeyNormSpec::OwnHead};
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importCohere(mlir::MLIRContext &context,
                                                                    huggingface::ModelDescription &model,
                                                                    const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
