//===- Llava.cpp - The llava family ------------------------------------------===//
//
// Liu et al. 2023, "Visual Instruction Tuning", and its version 1.5: an image as clip sees it,
// through a projector of two layers, in the prompt of a llama.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Clip.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Specs/DecoderConfig.h"
#include "lib/Import/Specs/TextPart.h"
#include "lib/Import/Specs/VisionLanguage.h"

using namespace rapt;
using namespace rapt::importing;
using huggingface::ConfigReader;

namespace {

/// The nested object `key`, whose model_type must be `type`.
std::optional<ConfigReader> openPart(ConfigReader &config, const char *key, std::string_view type) {
  std::optional<ConfigReader> part = config.open(key);
  if (!part) {
    config.fail(std::string(key) + " is missing, must be an object with the keys of a " + std::string(type));
    return std::nullopt;
  }
  part->getEnum("model_type", {type}, type);
  return part;
}

/// Whether images are for a pixtral, whose text part alone is compiled.
bool hasPixtral(ConfigReader &config) {
  const json::Value *images = config.getRaw("vision_config");
  const json::Value *type = images ? images->find("model_type") : nullptr;
  return type && type->isString() && *type->asString() == "pixtral";
}

void readText(huggingface::ModelDescription &model, const ImportOptions &options, VisionLanguageSpec &spec) {
  std::optional<ConfigReader> config = openPart(model.config(), "text_config", "llama");
  if (!config)
    return;
  const DecoderSource part{model, *config, options, /*isPart=*/true};
  spec.text = llama.read(part);
  setTextPart(part, spec.text);
  config->getRaw("bos_token_id");
  config->getRaw("pad_token_id");
  std::vector<std::string_view> harmless = llama.harmlessKeys;
  for (const char *key : {"architectures", "initializer_range", "use_cache", "dtype", "torch_dtype"})
    harmless.push_back(key);
  model.config().close(std::move(*config), harmless);
}

/// The layers whose output the decoder reads: hidden_states counts the embeddings, too, and may be counted from behind.
void chooseLayers(ConfigReader &config, VisionLanguageSpec &spec) {
  const int64_t all = spec.image.layers;
  const int64_t index = config.getInt("vision_feature_layer", -all - 1, all, -2);
  const int64_t needed = index < 0 ? all + 1 + index : index;
  if (needed == 0)
    config.fail("vision_feature_layer " + std::to_string(index) + " is the embeddings: a layer's output is supported");
  spec.image.layers = std::max<int64_t>(needed, 1);
  for (int64_t layer = spec.image.layers; layer < all; ++layer)
    spec.ignoredTensors.push_back("*vision_tower.*encoder.layers." + std::to_string(layer) + ".*");
}

void readImages(huggingface::ModelDescription &model, VisionLanguageSpec &spec) {
  std::optional<ConfigReader> config = openPart(model.config(), "vision_config", "clip_vision_model");
  if (!config)
    return;
  readClipImages(*config, spec.image);
  std::vector<std::string_view> harmless = towerKeys;
  harmless.push_back("vocab_size"); // that of the texts that the whole clip reads
  model.config().close(std::move(*config), harmless);
  spec.image.prefix = model.choosePrefix(
      {"vision_tower.vision_model.", "vision_tower.", "model.vision_tower.vision_model.", "model.vision_tower."},
      spec.image.kernel + ".weight");
  spec.image.finalNorm.clear(); // of the last layer alone
}

} // namespace

ImportedModule importing::importLlava(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                      const ImportOptions &options) {
  ConfigReader &config = model.config();
  if (hasPixtral(config))
    return importMistralWhole(context, model, options, "LlavaForConditionalGeneration");
  const HeadName<bool> heads[] = {{"LlavaForConditionalGeneration", true}};
  readHead<bool>(model, heads, true);
  VisionLanguageSpec spec;
  readText(model, options, spec);
  readImages(model, spec);
  chooseLayers(config, spec);
  spec.imageId = config.getInt({imageIdKeys[0], imageIdKeys[1]}, 0, INT32_MAX, 32000);
  spec.skipped = config.getEnum("vision_feature_select_strategy", {"default", "full"}, "default") == "default";
  spec.projector.prefix =
      model.choosePrefix({"multi_modal_projector.", "model.multi_modal_projector."}, "linear_1.weight");
  spec.projector.activation = activationNamed(config.getEnum("projector_hidden_act", activationNames(), "gelu"));
  spec.projector.hasBias = config.getBool("multimodal_projector_bias", true);
  spec.text.head.isTied = config.getBool("tie_word_embeddings", spec.text.head.isTied);
  if (config.errors() && spec.imageId >= spec.text.vocabulary)
    config.fail(std::string(imageIdKeys[0]) + " " + std::to_string(spec.imageId) + " is not below vocab_size " +
                std::to_string(spec.text.vocabulary));
  spec.harmlessKeys = {"ignore_index", "image_seq_length", "vocab_size", "pad_token_id"};
  for (const char *pattern : {"*position_ids", "*rotary_emb.inv_freq", "*vision_tower.*post_layernorm.*"})
    spec.ignoredTensors.push_back(pattern);
  return importVisionLanguage(context, model, options, spec);
}
