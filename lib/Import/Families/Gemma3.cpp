//===- Gemma3.cpp - The gemma3 and gemma3_text families --------------------===//
//
// Gemma Team 2025, "Gemma 3 Technical Report": gemma2 without soft caps, with norms of
// queries and keys, five layers of a window to one without, and a base of rotary
// embedding for each of the two. A directory of gemma3 has a tower for images beside it,
// which is not compiled.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Families/Gemma.h"
#include "lib/Import/Specs/DecoderConfig.h"

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

static DecoderSpec readText(const DecoderSource &source, const std::string &headClass) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readGemma2(source, {.architecture = "Gemma3",
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
      {{.theta = "rope_theta", .usualTheta = 1e6}, {.theta = "rope_local_base_freq", .usualTheta = 1e4}}};
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

static DecoderSpec readSpec(const DecoderSource &source) { return readText(source, "ForCausalLM"); }

/// The text part of a model that takes images, too.
static DecoderSpec readTextPart(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  std::optional<huggingface::ConfigReader> text = config.open("text_config");
  if (!text) {
    config.fail("text_config is missing, must be an object with the keys of gemma3_text");
    return {};
  }
  text->getEnum("model_type", {"gemma3_text"}, "gemma3_text");
  DecoderSpec spec = readText({source.model, *text, source.options}, "ForConditionalGeneration");
  config.close(std::move(*text), family.harmlessKeys);
  spec.prefixes = {"language_model.model.", "model.language_model."};
  source.model.warn(shownPath(config.file()) + ": the text part is compiled, which takes no images");
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importGemma3Whole(mlir::MLIRContext &context,
                                                                         huggingface::ModelDescription &model,
                                                                         const ImportOptions &options) {
  static const DecoderFamily whole = {
      .harmlessKeys = {"vision_config", "boi_token_index", "eoi_token_index", "image_token_index", "image_token_id",
                       "boi_token_id", "eoi_token_id", "mm_tokens_per_image"},
      .ignoredTensors = {"*vision_tower.*", "*multi_modal_projector.*", "*lm_head.weight", "*rotary_emb.inv_freq"},
  };
  return importDecoder(context, model, options, whole, readTextPart);
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importGemma3(mlir::MLIRContext &context,
                                                                    huggingface::ModelDescription &model,
                                                                    const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
