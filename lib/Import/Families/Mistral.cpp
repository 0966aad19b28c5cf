//===- Mistral.cpp - The mistral family ------------------------------------===//
//
// Jiang et al. 2023, "Mistral 7B": the llama family's layers, where each token sees the
// last `sliding_window` ones.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Mistral.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

const std::vector<std::string_view> importing::mistralKeys = {
    "attention_dropout",
    "is_decoder", // as every model of the family is
    "max_sequence_length",
    "pretraining_tp",
};

DecoderSpec importing::readMistral(const DecoderSource &source) {
  DecoderSpec spec =
      readDecoder(source, {.architecture = "Mistral", .positions = 131072, .inner = 14336, .kvHeads = 8});
  readRotary(source, spec);
  readWindowOfAll(source, spec, 4096);
  spec.endToken = 2;
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importMistral(mlir::MLIRContext &context,
                                                                     huggingface::ModelDescription &model,
                                                                     const ImportOptions &options) {
  const DecoderFamily family = {.harmlessKeys = mistralKeys, .ignoredTensors = {"*rotary_emb.inv_freq"}};
  return importDecoder(context, model, options, family, readMistral);
}
