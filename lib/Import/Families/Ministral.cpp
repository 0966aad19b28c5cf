//===- Ministral.cpp - The ministral family -----------------------------===//
//
// Mistral AI 2024, "Un Ministral, des Ministraux": mistral where layer_types says which
// layers have the window.
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
  DecoderSpec spec =
      readDecoder(source, {.architecture = "Ministral", .positions = 131072, .inner = 14336, .kvHeads = 8});
  readRotary(source, spec);
  const std::optional<int64_t> window = readWindow(source.config, 4096);
  std::optional<std::vector<bool>> types = readLayerTypes(source.config, spec.layers);
  setWindows(spec, spec.positions, types.value_or(std::vector<bool>(spec.layers, true)), window);
  spec.endToken = 2;
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importMinistral(mlir::MLIRContext &context,
                                                                       huggingface::ModelDescription &model,
                                                                       const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
