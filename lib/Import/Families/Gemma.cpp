//===- Gemma.cpp - The gemma, gemma2, gemma3 and gemma3_text families ----===//
//
// Gemma Team 2024, "Gemma: Open Models Based on Gemini Research and Technology": the
// llama family's layers with wide heads, norms stored by their distance from 1, and an
// embedding that is scaled by the root of its width.
//
// Gemma Team 2024, "Gemma 2: Improving Open Language Models at a Practical Size": gemma
// with norms behind attention and feed-forward, soft caps of scores and logits, and a
// window of every second layer.
//
// Gemma Team 2025, "Gemma 3 Technical Report": gemma2 without soft caps, with norms of
// queries and keys, five layers of a window to one without, and a base of rotary
// embedding for each of the two. A directory of gemma3 has a tower for images beside it,
// which is not compiled.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"
#include "lib/Import/Specs/VisionLanguage.h"
#include <cmath>

using namespace rapt;
using namespace rapt::importing;

/// Norms by their distance from 1, and the scale of the embedding.
static void setGemmaParts(const DecoderSource &source, DecoderSpec &spec) {
  spec.norm.isAroundOne = true;
  spec.embedding.scale = roundedToWeights(source, std::sqrt(double(spec.width)));
}

/// Sizes, the scale of scores, and norms before and behind each part, as gemma2 and its successors have them.
/// `architecture`, `positions` and `vocabulary` of the defaults are the family's.
static DecoderSpec readLikeGemma2(const DecoderSource &source, DecoderDefaults defaults) {
  huggingface::ConfigReader &config = source.config;
  defaults.keys.activation = "hidden_activation";
  defaults.width = 2304;
  defaults.layers = 26;
  defaults.heads = 8;
  defaults.inner = 9216;
  defaults.kvHeads = 4;
  defaults.headDim = 256;
  defaults.activation = "gelu_pytorch_tanh";
  defaults.isTied = true;
  defaults.padding = 0;
  DecoderSpec spec = readDecoder(source, defaults);
  config.getRaw("hidden_act"); // of some files, never read
  spec.attention.scale = 1 / std::sqrt(config.getPositive("query_pre_attn_scalar", 1e6, 256));
  spec.attention.hasBias = spec.attention.hasOutBias = config.getBool("attention_bias", false);
  if (config.getBool("use_bidirectional_attention", false) && defaults.wholeClass.empty())
    config.fail("use_bidirectional_attention is true, which is not supported by the " + source.model.modelType() +
                " family");
  setGemmaParts(source, spec);
  spec.residual = {.beforeFeedForward = "pre_feedforward_layernorm",
                   .afterAttention = "post_attention_layernorm",
                   .afterFeedForward = "post_feedforward_layernorm"};
  spec.endToken = 1;
  return spec;
}

static DecoderSpec readGemma(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Gemma",
                                          .keys = {.activation = "hidden_activation"},
                                          .width = 3072,
                                          .layers = 28,
                                          .heads = 16,
                                          .positions = 8192,
                                          .vocabulary = 256000,
                                          .inner = 24576,
                                          .kvHeads = 16,
                                          .headDim = 256,
                                          .activation = "gelu_pytorch_tanh",
                                          .isTied = true,
                                          .padding = 0});
  source.config.getRaw("hidden_act"); // "gelu" of the first files, which meant its approximation
  spec.attention.hasBias = spec.attention.hasOutBias = source.config.getBool("attention_bias", false);
  setGemmaParts(source, spec);
  readRotary(source, spec);
  spec.endToken = 1;
  return spec;
}

const DecoderFamily importing::gemma = {.read = readGemma};

static DecoderSpec readGemma2(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readLikeGemma2(source, {.architecture = "Gemma2", .positions = 8192, .vocabulary = 256000});
  spec.attention.softCap = readSoftCap(config, "attn_logit_softcapping", 50);
  spec.head.softCap = readSoftCap(config, "final_logit_softcapping", 30);
  readRotary(source, spec);
  std::vector<bool> windowed(spec.layers);
  for (int64_t layer = 0; layer < spec.layers; layer += 2)
    windowed[layer] = true;
  windowed = readLayerTypes(config, spec.layers).value_or(windowed);
  setWindows(spec, spec.positions, windowed, readWindow(config, 4096));
  return spec;
}

const DecoderFamily importing::gemma2 = {.read = readGemma2,
                                         .harmlessKeys = harmless::keys({harmless::decoder}, {"cache_implementation"})};

/// Every sixth layer, or every so many, has no window.
static std::vector<bool> readWindowedLayers(huggingface::ConfigReader &config, int64_t layers) {
  const int64_t period = config.getInt({"sliding_window_pattern", "_sliding_window_pattern"}, 1, 1 << 17, 6);
  std::vector<bool> windowed(layers);
  for (int64_t layer = 0; layer < layers; ++layer)
    windowed[layer] = (layer + 1) % period != 0;
  return readLayerTypes(config, layers).value_or(windowed);
}

static DecoderSpec readGemma3Text(const DecoderSource &source, const std::string &headClass) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readLikeGemma2(source, {.architecture = "Gemma3",
                                             .headClass = headClass,
                                             .wholeClass = "Gemma3Text",
                                             .positions = 131072,
                                             .vocabulary = 262208});
  AttentionSpec &attention = spec.attention;
  attention.softCap = readSoftCap(config, "attn_logit_softcapping", 0);
  spec.head.softCap = readSoftCap(config, "final_logit_softcapping", 0);
  attention.norm = QueryKeyNormSpec{.norm = spec.norm};
  const std::vector<bool> windowed = readWindowedLayers(config, spec.layers);
  const std::array<RotaryKeys, 2> keys = {
      {{.theta = "rope_theta", .defaultTheta = 1e6}, {.theta = "rope_local_base_freq", .defaultTheta = 1e4}}};
  readRotaryByLayer(source, spec, spec.positions, windowed, keys);
  std::optional<int64_t> window = readWindow(config, 4096);
  if (config.getBool("use_bidirectional_attention", false)) { // EmbeddingGemma
    spec.isBidirectional = spec.isWindowAround = true;
    if (window)
      *window /= 2;
  }
  setWindows(spec, spec.positions, windowed, window);
  return spec;
}

static DecoderSpec readGemma3(const DecoderSource &source) { return readGemma3Text(source, "ForCausalLM"); }

/// The text part of a model that takes images, too.
static DecoderSpec readGemma3TextPart(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  std::optional<huggingface::ConfigReader> text = config.open("text_config");
  if (!text) {
    config.fail("text_config is missing, must be an object with the keys of gemma3_text");
    return {};
  }
  text->getEnum("model_type", {"gemma3_text"}, "gemma3_text");
  DecoderSpec spec = readGemma3Text({source.model, *text, source.options}, "ForConditionalGeneration");
  config.close(std::move(*text), gemma3.harmlessKeys);
  spec.prefixes = {"language_model.model.", "model.language_model."};
  source.model.warn(shownPath(config.file()) + ": the text part is compiled, which takes no images");
  return spec;
}

const DecoderFamily importing::gemma3Whole = {
    .read = readGemma3TextPart,
    .harmlessKeys = {"vision_config", "boi_token_index", "eoi_token_index", imageIdKeys[0], imageIdKeys[1],
                     "boi_token_id", "eoi_token_id", "mm_tokens_per_image"},
    .ignoredTensors = {"*vision_tower.*", "*multi_modal_projector.*", "*lm_head.weight", "*rotary_emb.inv_freq"}};

const DecoderFamily importing::gemma3 = {.read = readGemma3,
                                         .harmlessKeys = harmless::keys({harmless::decoder}, {"cache_implementation"})};
