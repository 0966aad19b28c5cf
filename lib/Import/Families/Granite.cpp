//===- Granite.cpp - The granite family ------------------------------------===//
//
// Granite Team, IBM 2024, "Granite 3.0 Language Models": the llama family's layers with
// factors of embedding, scores, residuals and logits.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Granite.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static const DecoderFamily family = {
    .harmlessKeys =
        {
            "attention_dropout",
            "is_decoder", // as every model of the family is
        },
    .ignoredTensors = {"*rotary_emb.inv_freq"},
};

void importing::setGraniteParts(const DecoderSource &source, DecoderSpec &spec) {
  huggingface::ConfigReader &config = source.config;
  constexpr double most = 1e6;
  spec.attention.hasBias = spec.attention.hasOutBias = config.getBool("attention_bias", false);
  spec.embedding.scale = config.getPositive("embedding_multiplier", most, 1);
  spec.attention.scale = config.getPositive("attention_multiplier", most, 1);
  spec.residual.scale = config.getPositive("residual_multiplier", most, 1);
  spec.head.scale = 1 / config.getPositive("logits_scaling", most, 1);
  spec.endToken = 2;
}

static DecoderSpec readSpec(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Granite", .inner = 11008});
  spec.feedForward.hasBias = spec.feedForward.hasDownBias = source.config.getBool("mlp_bias", false);
  setGraniteParts(source, spec);
  readRotary(source, spec);
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importGranite(mlir::MLIRContext &context,
                                                                     huggingface::ModelDescription &model,
                                                                     const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
