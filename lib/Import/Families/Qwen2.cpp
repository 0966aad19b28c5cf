//===- Qwen2.cpp - The qwen2 family ----------------------------------------===//
//
// Yang et al. 2024, "Qwen2 Technical Report": the llama family's layers with biases of
// queries, keys and values, and windows of the later layers.
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
            "dual_chunk_attention_config", // of another engine
            "is_decoder",                  // as every model of the family is
            "max_sequence_length",
            "pretraining_tp",
        },
    .ignoredTensors = {"*rotary_emb.inv_freq"},
};

static DecoderSpec readSpec(const DecoderSource &source) {
  DecoderSpec spec =
      readDecoder(source, {.architecture = "Qwen2", .positions = 32768, .vocabulary = 151936, .inner = 22016});
  spec.attention.hasBias = true;
  readRotary(source, spec);
  readWindowByLayer(source, spec);
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importing::importQwen2(mlir::MLIRContext &context, huggingface::ModelDescription &model, const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
