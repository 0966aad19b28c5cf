//===- Ministral3.cpp - The ministral3 family ---------------------------===//
//
// Mistral AI 2025, "Ministral 3": the llama family's layers, where scores of queries behind
// the original context grow with the position.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Families/Mistral.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

const std::vector<std::string_view> importing::ministral3Keys = {
    "attention_dropout",
    "is_decoder", // as every model of the family is
};

DecoderSpec importing::readMinistral3(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Ministral3",
                                          .layers = 34,
                                          .positions = 262144,
                                          .vocabulary = 131072,
                                          .inner = 14336,
                                          .kvHeads = 8,
                                          .headDim = 128,
                                          .epsilon = 1e-5,
                                          .padding = 11});
  readRotary(source, spec, {.usualTheta = 1e6});
  readWindowOfAll(source, spec, std::nullopt);
  spec.endToken = 2;
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importMinistral3(mlir::MLIRContext &context,
                                                                        huggingface::ModelDescription &model,
                                                                        const ImportOptions &options) {
  const DecoderFamily family = {.harmlessKeys = ministral3Keys, .ignoredTensors = {"*rotary_emb.inv_freq"}};
  return importDecoder(context, model, options, family, readMinistral3);
}
