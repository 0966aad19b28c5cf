//===- PrecompiledMap.h - SentencePiece's normalization table ---------------===//
//
// The "Precompiled" normalizer: a table of character sequences and what replaces
// them, as SentencePiece stores it in a model (darts-clone's double array, then
// the replacements, each ended by a zero byte).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Tokenizer/JsonFields.h"
#include "lib/Tokenizer/Normalizer.h"
#include <cstdint>
#include <optional>

namespace rapt {

class PrecompiledMap final : public Normalizer {
public:
  /// From the member "precompiled_charsmap" (base64). Errors: other characters, a table that its content does not fill.
  static Expected<std::unique_ptr<Normalizer>> fromJson(JsonFields &fields, const std::string &where);

  /// As Hugging Face's tokenizers do it: a grapheme cluster of at most five bytes is replaced as a whole by what the
  /// table has for the shortest entry it begins with; else each character is looked up.
  /// Errors: a table that leads outside itself, text that grows beyond all measure.
  Expected<std::string> apply(std::string text) const override;

private:
  PrecompiledMap(std::vector<uint32_t> units, std::string replacements)
      : units(std::move(units)), replacements(std::move(replacements)) {}
  /// Where the replacement of the shortest entry that `text` begins with starts, if there is one.
  std::optional<size_t> find(std::string_view text) const;

  std::vector<uint32_t> units;
  std::string replacements;
};

} // namespace rapt
