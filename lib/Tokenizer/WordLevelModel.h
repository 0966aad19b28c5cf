//===- WordLevelModel.h - A token a word -------------------------------------===//
//
// A piece of text that is in the vocabulary is that token, any other one is the
// unknown token.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Tokenizer/Model.h"
#include <string>

namespace rapt {

class WordLevelModel final : public Model {
public:
  /// A missing unknown token is an error only for text that needs it.
  static Expected<std::unique_ptr<Model>> fromJson(const json::Value &model, const std::string &where);

  std::unique_ptr<Scratch> newScratch() const override { return std::make_unique<Scratch>(); }
  Status encode(std::string_view word, Scratch &scratch, std::vector<int32_t> &ids) const override;

private:
  WordLevelModel(Vocabulary vocabulary, std::string unknownToken)
      : Model(std::move(vocabulary)), unknownToken(std::move(unknownToken)) {}

  std::string unknownToken;
};

} // namespace rapt
