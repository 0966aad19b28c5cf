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
  /// table has for the shortest entry it begins with; else each character is looked up. With the member
  /// "longest_match", which is Rapt's own, as SentencePiece does it: from left to right, the longest entry.
  /// Errors: a table that leads outside itself, text that grows beyond all measure.
  Expected<std::string> apply(std::string text) const override;
  /// Where the table drops what the text begins with, the front goes to what is next, as in Hugging Face's tokenizers
  /// 0.23.
  Expected<std::string> applyWithFront(std::string text, size_t &front) const override;

private:
  PrecompiledMap(std::vector<uint32_t> units, std::string replacements, bool takesLongest)
      : units(std::move(units)), replacements(std::move(replacements)), takesLongest(takesLongest) {}
  struct Match {
    size_t replacement; ///< Where it starts.
    size_t length;      ///< Bytes of the text.
  };
  /// The shortest or longest entry that `text` begins with, if there is one.
  std::optional<Match> find(std::string_view text) const;
  /// Appends the replacement of what `text` begins with. Bytes of the text that it stands for; 0: the table has
  /// nothing.
  Expected<size_t> replace(std::string_view text, std::string &result) const;
  /// Appends what becomes of the first characters of the text. Their bytes.
  Expected<size_t> applyToCharacter(std::string_view text, std::string &result) const;
  Expected<size_t> applyToCluster(std::string_view text, std::string &result) const;
  Expected<size_t> applyToFirst(std::string_view text, std::string &result) const;

  std::vector<uint32_t> units;
  std::string replacements;
  bool takesLongest = false;
};

} // namespace rapt
