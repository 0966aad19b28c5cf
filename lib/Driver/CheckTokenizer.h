//===- CheckTokenizer.h - Do tokenizers and model belong together? -----------------===//
#pragma once
#include "lib/Artifact/Manifest.h"
#include "lib/Artifact/WeightPacker.h"
#include "lib/Support/Example.h"
#include <optional>

namespace rapt::driver {

/// How the tokenizers among the side files fit the model, which is compiled all the same.
struct TokenizerCheck {
  std::vector<std::string> warnings;      ///< lines, each of which begins with the name of a file
  std::optional<std::string> chatProblem; ///< what keeps the chat template from being used
  bool isReadable = true;                 ///< false where a tokenizer is there that cannot be read
  ExampleTexts texts = {};
};

/// Reads the tokenizers and holds them against the model. More rows than tokens is normal.
TokenizerCheck checkTokenizer(const std::vector<artifact::Section> &sections, const ModelFacts &model);

} // namespace rapt::driver
