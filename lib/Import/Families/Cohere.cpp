//===- Cohere.cpp - The cohere and cohere2 families ----------------------===//
//
// Cohere 2024, "Command R": attention and feed-forward of one layer norm side by side,
// rotation of neighboring channels, and scaled logits.
//
// Cohere 2024, "Command R7B", and Command A: cohere with a window of three layers of four;
// the fourth does not rotate queries and keys.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

/// Layers of cohere: attention and feed-forward of one layer norm, neighboring channels rotated, scaled logits.
static DecoderSpec readLikeCohere(const DecoderSource &source, const std::string &architecture) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = architecture,
                                          .keys = {.epsilon = "layer_norm_eps"},
                                          .width = 8192,
                                          .layers = 40,
                                          .heads = 64,
                                          .positions = 8192,
                                          .vocabulary = 256000,
                                          .inner = 22528,
                                          .epsilon = 1e-5,
                                          .isTied = true});
  spec.norm.kind = NormSpec::Layer;
  spec.attention.hasBias = spec.attention.hasOutBias = config.getBool("attention_bias", false);
  spec.attention.isInterleaved = true;
  spec.residual = {.scheme = ResidualSpec::Parallel, .beforeFeedForward = ""};
  spec.head.scale = config.getPositive("logit_scale", 1e6, 0.0625);
  readRotary(source, spec);
  spec.endToken = 255001;
  return spec;
}

static DecoderSpec readCohere(const DecoderSource &source) {
  DecoderSpec spec = readLikeCohere(source, "Cohere");
  if (source.config.getBool("use_qk_norm", false))
    spec.attention.norm = QueryKeyNormSpec{.norm = spec.norm, .extent = QueryKeyNormSpec::OwnHead};
  return spec;
}

const DecoderFamily importing::cohere = {
    .read = readCohere,
    .harmlessKeys = harmless::keys({harmless::decoder}, {
                                                            "model_max_length", // of the tokenizer
                                                            "pretraining_tp",
                                                            "use_parallel_embedding", // how it is computed
                                                            "embedding_sharding_dim",
                                                        })};

static std::vector<bool> readWindowedLayers(huggingface::ConfigReader &config, int64_t layers) {
  const int64_t period =
      config.getInt({"sliding_window_pattern", "_sliding_window_pattern", "layer_switch"}, 1, 1 << 17, 4);
  std::vector<bool> windowed(layers);
  for (int64_t layer = 0; layer < layers; ++layer)
    windowed[layer] = (layer + 1) % period != 0;
  return readLayerTypes(config, layers).value_or(windowed);
}

static DecoderSpec readCohere2(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readLikeCohere(source, "Cohere2");
  const std::vector<bool> windowed = readWindowedLayers(config, spec.layers);
  for (bool isWindowed : windowed)
    spec.attention.rotaryOfLayer.push_back(isWindowed ? std::optional(0u) : std::nullopt);
  setWindows(spec, spec.positions, windowed, readWindow(config, 4096));
  return spec;
}

const DecoderFamily importing::cohere2 = {
    .read = readCohere2,
    .harmlessKeys = harmless::keys({harmless::decoder}, {
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
                                                        })};
