//===- Mistral3.cpp - The mistral3 family ---------------------------------===//
//
// Mistral AI 2025, "Mistral Small 3.1": a decoder of the mistral or the ministral3 family
// behind a pixtral for images, which is not compiled.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Families/Mistral.h"
#include "lib/Import/Module/Heads.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

/// Keys of the whole that only images obey.
static const DecoderFamily whole = {
    .harmlessKeys = {"ignore_index", "image_seq_length", "image_token_id", "image_token_index",
                     "multimodal_projector_bias", "pad_token_id", "projector_hidden_act", "spatial_merge_size",
                     "vision_config", "vision_feature_layer", "vision_feature_select_strategy", "vocab_size"},
    .ignoredTensors = {"*vision_tower.*", "*multi_modal_projector.*", "*rotary_emb.inv_freq"},
};

static DecoderSpec readTextPart(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  std::optional<huggingface::ConfigReader> text = config.open("text_config");
  if (!text) {
    config.fail("text_config is missing, must be an object with the keys of a mistral or ministral3");
    return {};
  }
  const bool isMinistral = text->getEnum("model_type", {"mistral", "ministral3"}, "mistral") == "ministral3";
  const DecoderSource part = {source.model, *text, source.options, /*isPart=*/true};
  DecoderSpec spec = isMinistral ? readMinistral3(part) : readMistral(part);
  setTextPart(part, spec);
  spec.head.isTied = config.getBool("tie_word_embeddings", spec.head.isTied);
  spec.ignoredTensors.push_back("*lm_head.weight"); // of a tied head
  std::vector<std::string_view> harmless = isMinistral ? ministral3Keys : mistralKeys;
  for (const char *key : {"architectures", "bos_token_id", "dtype", "initializer_range", "is_composition",
                          "pad_token_id", "torch_dtype", "use_cache"})
    harmless.push_back(key);
  config.close(std::move(*text), harmless);
  source.model.warn(shownPath(config.file()) + ": the text part is compiled, which takes no images");
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importMistralWhole(mlir::MLIRContext &context,
                                                                          huggingface::ModelDescription &model,
                                                                          const ImportOptions &options,
                                                                          std::string_view architecture) {
  const HeadName<bool> heads[] = {{architecture, true}};
  readHead<bool>(model, heads, true);
  return importDecoder(context, model, options, whole, readTextPart);
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importMistral3(mlir::MLIRContext &context,
                                                                      huggingface::ModelDescription &model,
                                                                      const ImportOptions &options) {
  return importMistralWhole(context, model, options, "Mistral3ForConditionalGeneration");
}
