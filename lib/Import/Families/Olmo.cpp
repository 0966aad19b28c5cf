//===- Olmo.cpp - The olmo, olmo2, olmo3 and olmoe families --------------===//
//
// Groeneveld et al. 2024, "OLMo: Accelerating the Science of Language Models": the llama
// family's layers with layer norms that have no weights, and bounds of queries, keys and
// values.
//
// OLMo Team 2024, "2 OLMo 2 Furious": the llama family's layers with RMS norms behind
// attention and feed-forward instead of before, and one of all queries, and of all keys.
//
// OLMo Team 2025, "OLMo 3": olmo2 with a window of three layers of four, whose rotary
// embedding is not stretched.
//
// Muennighoff et al. 2024, "OLMoE: Open Mixture-of-Experts Language Models": the llama
// family's layers with one norm of all queries, and of all keys, and experts in place of the
// feed-forward.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static DecoderSpec readOlmo(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "Olmo",
                                          .keys = {.epsilon = ""},
                                          .vocabulary = 50304,
                                          .inner = 11008,
                                          .epsilon = 1e-5,
                                          .padding = 1});
  spec.norm.kind = NormSpec::Layer;
  spec.norm.hasWeight = false;
  spec.attention.hasBias = spec.attention.hasOutBias = config.getBool("attention_bias", false);
  spec.attention.clip = readClip(config, "clip_qkv");
  readRotary(source, spec);
  spec.endToken = 50279;
  return spec;
}

const DecoderFamily importing::olmo = {.read = readOlmo};

/// Norms behind attention and feed-forward instead of before, and of all queries, and of all keys.
static void setOlmo2Parts(const DecoderSource &source, DecoderSpec &spec) {
  spec.attention.hasBias = spec.attention.hasOutBias = source.config.getBool("attention_bias", false);
  spec.attention.norm = QueryKeyNormSpec{.norm = spec.norm, .extent = QueryKeyNormSpec::All};
  spec.residual = {.beforeAttention = "",
                   .beforeFeedForward = "",
                   .afterAttention = "post_attention_layernorm",
                   .afterFeedForward = "post_feedforward_layernorm"};
  spec.endToken = 50279;
}

static DecoderSpec readOlmo2(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(
      source, {.architecture = "Olmo2", .vocabulary = 50304, .inner = 11008, .epsilon = 1e-5, .padding = 1});
  setOlmo2Parts(source, spec);
  readRotary(source, spec);
  return spec;
}

const DecoderFamily importing::olmo2 = {.read = readOlmo2};

/// Every fourth layer sees all positions.
static std::vector<bool> readWindowedLayers(huggingface::ConfigReader &config, int64_t layers) {
  std::vector<bool> windowed(layers);
  for (int64_t layer = 0; layer < layers; ++layer)
    windowed[layer] = (layer + 1) % 4 != 0;
  return readLayerTypes(config, layers).value_or(windowed);
}

static DecoderSpec readOlmo3(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(
      source, {.architecture = "Olmo3", .vocabulary = 50304, .inner = 11008, .epsilon = 1e-5, .padding = 1});
  setOlmo2Parts(source, spec);
  const std::vector<bool> windowed = readWindowedLayers(config, spec.layers);
  const RotaryKeys keys{.defaultTheta = 5e5};
  readRotaryByLayer(source, spec, spec.positions, windowed, {keys, keys});
  setWindows(spec, spec.positions, windowed, readWindow(config, 4096));
  return spec;
}

const DecoderFamily importing::olmo3 = {.read = readOlmo3};

static DecoderSpec readOlmoe(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "Olmoe",
                                          .width = 2048,
                                          .layers = 16,
                                          .heads = 16,
                                          .positions = 4096,
                                          .vocabulary = 50304,
                                          .inner = 2048,
                                          .epsilon = 1e-5,
                                          .padding = 1});
  spec.attention.hasBias = spec.attention.hasOutBias = config.getBool("attention_bias", false);
  spec.attention.clip = readClip(config, "clip_qkv");
  spec.attention.norm = QueryKeyNormSpec{.norm = spec.norm, .extent = QueryKeyNormSpec::All};
  readRotary(source, spec);
  spec.experts = readExperts(source, spec, {.inner = "intermediate_size", .ofAll = 64, .ofToken = 8, .width = 2048});
  spec.experts->isNormalized = config.getBool("norm_topk_prob", false);
  spec.endToken = 50279;
  return spec;
}

const DecoderFamily importing::olmoe = {.read = readOlmoe,
                                        .harmlessKeys = harmless::keys({harmless::decoder, harmless::router})};
