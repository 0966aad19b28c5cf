//===- Olmo2.cpp - The olmo2 family ----------------------------------------===//
//
// OLMo Team 2024, "2 OLMo 2 Furious": the llama family's layers with RMS norms behind
// attention and feed-forward instead of before, and one of all queries, and of all keys.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Olmo2.h"
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

void importing::setOlmo2Parts(const DecoderSource &source, DecoderSpec &spec) {
  spec.attention.hasBias = spec.attention.hasOutBias = source.config.getBool("attention_bias", false);
  spec.attention.norm = QueryKeyNormSpec{.norm = spec.norm, .extent = QueryKeyNormSpec::All};
  spec.residual = {.beforeAttention = "",
                   .beforeFeedForward = "",
                   .afterAttention = "post_attention_layernorm",
                   .afterFeedForward = "post_feedforward_layernorm"};
  spec.endToken = 50279;
}

static DecoderSpec readSpec(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(
      source, {.architecture = "Olmo2", .vocabulary = 50304, .inner = 11008, .epsilon = 1e-5, .padding = 1});
  setOlmo2Parts(source, spec);
  readRotary(source, spec);
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importing::importOlmo2(mlir::MLIRContext &context, huggingface::ModelDescription &model, const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
