//===- TextPart.cpp - The decoder that is a part of a model --------------------===//
#include "lib/Import/Specs/TextPart.h"
#include "lib/Support/File.h"
#include "llvm/ADT/STLExtras.h"

using namespace rapt;
using namespace rapt::importing;

void importing::setTextPart(const DecoderSource &part, DecoderSpec &spec, bool isAlone) {
  if (spec.isBidirectional && !isAlone)
    part.config.fail("is_causal is false or use_bidirectional_attention is \"all\", which is not supported of the text "
                     "part of a model with images");
  // Several ends are in generation_config.json, too.
  if (const json::Value *end = part.config.getRaw("eos_token_id"); end && end->asInteger())
    spec.endToken = part.config.getOptionalInt("eos_token_id", 0, INT32_MAX);
  // Names of version 4 of the package, which the hub has, and of version 5.
  spec.prefixes = {"language_model.model.", "model.language_model."};
  spec.prefixOfTexts = "language_model."; // of the class without a head
  spec.head.prefix = part.model.choosePrefix({"language_model.", ""}, "lm_head.weight");
}

DecoderSpec importing::readTextPart(const DecoderSource &source, std::span<const TextFamily> families, bool isAlone) {
  huggingface::ConfigReader &config = source.config;
  std::optional<huggingface::ConfigReader> text = config.open("text_config");
  std::vector<std::string_view> names;
  std::string shown;
  for (const TextFamily &family : families) {
    shown += (shown.empty() ? "" : " or ") + std::string(family.modelType);
    names.push_back(family.modelType);
  }
  if (!text) {
    config.fail("text_config is missing, must be an object with the keys of a " + shown);
    return {};
  }
  const std::string name = text->getEnum("model_type", names, names.front());
  const DecoderFamily &family =
      llvm::find_if(families, [&](const TextFamily &some) { return some.modelType == name; })->family;
  const DecoderSource part = {source.model, *text, source.options, /*isPart=*/true, /*readsImages=*/!isAlone};
  DecoderSpec spec = family.read(part);
  setTextPart(part, spec, isAlone);
  spec.padding = text->getOptionalInt("pad_token_id", INT32_MIN, INT32_MAX);
  spec.head.isTied = config.getBool("tie_word_embeddings", spec.head.isTied);
  spec.ignoredTensors.push_back("*lm_head.weight"); // of a tied head
  std::vector<std::string_view> harmless = family.harmlessKeys;
  for (const char *key :
       {"architectures", "bos_token_id", "dtype", "initializer_range", "is_composition", "torch_dtype", "use_cache"})
    harmless.push_back(key);
  config.close(std::move(*text), harmless);
  if (isAlone)
    source.model.warn(shownPath(config.file()) + ": the text part is compiled, which takes no images");
  return spec;
}
