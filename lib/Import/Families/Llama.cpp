//===- Llama.cpp - The llama and smollm3 families ------------------------===//
//
// Touvron et al. 2023, "LLaMA: Open and Efficient Foundation Language Models", as
// Hugging Face's LlamaForCausalLM computes it: pre-norm layers with RMS norm, rotary
// embedding by halves of a head, grouped queries, a gated feed-forward.
//
// Bakouch et al. 2025, "SmolLM3": the llama family's layers, of which every fourth does
// not rotate queries and keys.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static DecoderSpec readLlama(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Llama", .inner = 11008});
  spec.attention.hasBias = spec.attention.hasOutBias = source.config.getBool("attention_bias", false);
  spec.feedForward.hasBias = spec.feedForward.hasDownBias = source.config.getBool("mlp_bias", false);
  readRotary(source, spec);
  refuseWindows(source, spec);
  spec.endToken = 2;
  return spec;
}

const DecoderFamily importing::llama = {
    .read = readLlama,
    .harmlessKeys = harmless::keys({harmless::decoder},
                                   {
                                       "dual_chunk_attention_config", // of another engine
                                       "is_llama_config",             // of checkpoints that nanotron trained
                                       "max_sequence_length",         // of the first conversions, never read
                                       "pretraining_tp", // how the original's matmuls were split; the sums are the same
                                   })};

/// The table of each layer: none where no_rope_layers has 0, or of every no_rope_layer_interval'th.
static std::vector<std::optional<unsigned>> readRotatedLayers(huggingface::ConfigReader &config, int64_t layers) {
  const int64_t period = config.getInt("no_rope_layer_interval", 1, 1 << 17, 4);
  std::vector<std::optional<unsigned>> tables;
  const json::Value *given = config.getRaw("no_rope_layers");
  const json::Array *list = given ? given->asArray() : nullptr;
  if (given && (!list || int64_t(list->size()) != layers))
    config.fail("no_rope_layers must be a list of " + std::to_string(layers) + " numbers, one for each layer");
  for (int64_t layer = 0; layer < layers; ++layer) {
    const std::optional<int64_t> number =
        list && layer < int64_t(list->size()) ? (*list)[layer].asInteger() : (layer + 1) % period != 0;
    if (!number || *number < 0 || *number > 1)
      config.fail("no_rope_layers of layer " + std::to_string(layer) + " must be 1, which rotates, or 0");
    tables.push_back(number == 0 ? std::nullopt : std::optional(0u));
  }
  return tables;
}

/// Windows of the layers that layer_types names, of those that do not rotate without it.
static void readWindows(huggingface::ConfigReader &config, DecoderSpec &spec) {
  const bool isUsed = config.getBool("use_sliding_window", false);
  const std::optional<int64_t> window = readWindow(config, std::nullopt);
  std::vector<bool> windowed;
  for (int64_t layer = 0; layer < spec.layers; ++layer)
    windowed.push_back(!spec.attention.rotaryOf(layer));
  windowed = readLayerTypes(config, spec.layers).value_or(windowed);
  if (isUsed)
    setWindows(spec, spec.positions, windowed, window);
}

static DecoderSpec readSmolLM3(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "SmolLM3",
                                          .width = 2048,
                                          .layers = 36,
                                          .heads = 16,
                                          .positions = 32768,
                                          .vocabulary = 128256,
                                          .inner = 11008,
                                          .kvHeads = 4,
                                          .isTied = true,
                                          .padding = 128004});
  spec.attention.hasBias = spec.attention.hasOutBias = config.getBool("attention_bias", false);
  spec.feedForward.hasBias = spec.feedForward.hasDownBias = config.getBool("mlp_bias", false);
  readRotary(source, spec, {.defaultTheta = 2e6});
  spec.attention.rotaryOfLayer = readRotatedLayers(config, spec.layers);
  readWindows(config, spec);
  spec.endToken = 128001;
  return spec;
}

const DecoderFamily importing::smolLM3 = {
    .read = readSmolLM3,
    .harmlessKeys = harmless::keys({harmless::decoder}, {
                                                            "pretraining_tp",
                                                            "max_window_layers", // of the relatives, never read
                                                        })};
