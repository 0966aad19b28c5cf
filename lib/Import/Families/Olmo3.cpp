//===- Olmo3.cpp - The olmo3 family -------------------------------------===//
//
// OLMo Team 2025, "OLMo 3": olmo2 with a window of three layers of four, whose rotary
// embedding is not stretched.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Families/Olmo2.h"
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

/// Every fourth layer sees all positions.
static std::vector<bool> readWindowedLayers(huggingface::ConfigReader &config, int64_t layers) {
  std::vector<bool> windowed(layers);
  for (int64_t layer = 0; layer < layers; ++layer)
    windowed[layer] = (layer + 1) % 4 != 0;
  return readLayerTypes(config, layers).value_or(windowed);
}

static DecoderSpec readSpec(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(
      source, {.architecture = "Olmo3", .vocabulary = 50304, .inner = 11008, .epsilon = 1e-5, .padding = 1});
  setOlmo2Parts(source, spec);
  const std::vector<bool> windowed = readWindowedLayers(config, spec.layers);
  const RotaryKeys keys{.usualTheta = 5e5};
  readRotaryByLayer(source, spec, spec.positions, windowed, {keys, keys});
  setWindows(spec, spec.positions, windowed, readWindow(config, 4096));
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importing::importOlmo3(mlir::MLIRContext &context, huggingface::ModelDescription &model, const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
