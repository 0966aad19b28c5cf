//===- Qwen3.cpp - The qwen3 family ----------------------------------------===//
//
// Yang et al. 2025, "Qwen3 Technical Report": the llama family's layers, where each head's
// query and key has an RMS norm before its rotation.
//
//===----------------------------------------------------------------------===//
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

static DecoderSpec readSpec(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Qwen3",
                                          .positions = 32768,
                                          .vocabulary = 151936,
                                          .inner = 22016,
                                          .kvHeads = 32,
                                          .headDim = 128});
  spec.attention.hasBias = spec.attention.hasOutBias = source.config.getBool("attention_bias", false);
  spec.attention.norm = QueryKeyNormSpec{.norm = spec.norm};
  readRotary(source, spec);
  readWindowByLayer(source, spec);
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importing::importQwen3(mlir::MLIRContext &context, huggingface::ModelDescription &model, const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
