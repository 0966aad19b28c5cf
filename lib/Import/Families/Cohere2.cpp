//===- Cohere2.cpp - The cohere2 family ---------------------------------===//
//
// Cohere 2024, "Command R7B", and Command A: cohere with a window of three layers of four;
// the fourth does not rotate queries and keys.
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
            "is_decoder",             // as every model of the family is
            "model_max_length",       // of the tokenizer
            "use_parallel_embedding", // how it is computed
            "embedding_sharding_dim",
            "order_of_interleaved_layers",
            "position_embedding_type",
            "rotary_pct",
            "use_embedding_sharing",
            "use_gated_activation",
            "use_parallel_block",
            "cache_implementation",
        },
    .ignoredTensors = {"*rotary_emb.inv_freq"},
};

static std::vector<bool> readWindowedLayers(huggingface::ConfigReader &config, int64_t layers) {
  const int64_t period =
      config.getInt({"sliding_window_pattern", "_sliding_window_pattern", "layer_switch"}, 1, 1 << 17, 4);
  std::vector<bool> windowed(layers);
  for (int64_t layer = 0; layer < layers; ++layer)
    windowed[layer] = (layer + 1) % period != 0;
  return readLayerTypes(config, layers).value_or(windowed);
}

static DecoderSpec readSpec(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readCohere(source, "Cohere2");
  const std::vector<bool> windowed = readWindowedLayers(config, spec.layers);
  for (bool isWindowed : windowed)
    spec.attention.rotaryOfLayer.push_back(isWindowed ? std::optional(0u) : std::nullopt);
  setWindows(spec, spec.positions, windowed, readWindow(config, 4096));
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importCohere2(mlir::MLIRContext &context,
                                                                     huggingface::ModelDescription &model,
                                                                     const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
