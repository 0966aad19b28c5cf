//===- Gemma3.cpp - The gemma3_text family ---------------------------------===//
//
// Gemma Team 2025, "Gemma 3 Technical Report": gemma2 without soft caps, with norms of
// queries and keys, five layers of a window to one without, and a base of rotary
// embedding for each of the two.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/DecoderConfig.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Families/Gemma.h"

using namespace rapt;
using namespace rapt::importing;

static const DecoderFamily family = {
    .harmlessKeys =
        {
            "attention_dropout",
            "is_decoder", // as every model of the family is
            "cache_implementation",
        },
    .ignoredTensors = {"*rotary_emb.inv_freq"},
};

/// Every sixth layer, or every so many, has no window.
static std::vector<bool> readWindowedLayers(huggingface::ConfigReader &config, int64_t layers) {
  const int64_t period = config.getInt({"sliding_window_pattern", "_sliding_window_pattern"}, 1, 1 << 17, 6);
  std::vector<bool> windowed(layers);
  for (int64_t layer = 0; layer < layers; ++layer)
    windowed[layer] = (layer + 1) % period != 0;
  return readLayerTypes(config, layers).value_or(windowed);
}

static DecoderSpec readSpec(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readGemma2(source, {.architecture = "Gemma3", .positions = 131072, .vocabulary = 262208});
  AttentionSpec &attention = spec.attention;
  attention.softCap = readSoftCap(config, "attn_logit_softcapping", 0);
  spec.head.softCap = readSoftCap(config, "final_logit_softcapping", 0);
  attention.norm = QueryKeyNormSpec{.norm = spec.norm};
  const std::vector<bool> windowed = readWindowedLayers(config, spec.layers);
  const std::array<RotaryKeys, 2> keys = {
      {{.theta = "rope_theta", .usualTheta = 1e6}, {.theta = "rope_local_base_freq", .usualTheta = 1e4}}};
  readRotaryByLayer(source, spec, spec.positions, windowed, keys);
  setWindows(spec, spec.positions, windowed, readWindow(config, 4096));
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importGemma3(mlir::MLIRContext &context,
                                                                    huggingface::ModelDescription &model,
                                                                    const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
