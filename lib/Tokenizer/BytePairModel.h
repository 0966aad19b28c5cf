//===- BytePairModel.h - Byte-pair encoding --------------------------------===//
//
// Merges adjacent symbols of a word, lowest rank first and leftmost among equal
// ranks, until no pair of the merge list is left (Sennrich et al. 2016, with the
// options of Hugging Face's tokenizers). `dropout` belongs to training and is
// ignored.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Tokenizer/Model.h"
#include "lib/Tokenizer/PairTable.h"
#include <array>
#include <optional>
#include <string>

namespace rapt {

struct BytePairOptions {
  std::optional<std::string> unknownToken;
  std::string subwordPrefix, wordSuffix;
  bool fuseUnknown = false, byteFallback = false, ignoreMerges = false;
};

/// Pairs of token texts in the order of their ranks; views into the file they were read from.
using MergeList = std::vector<std::pair<std::string_view, std::string_view>>;

class BytePairModel final : public Model {
public:
  /// Bytes of the longest stretch that may come without a position to cut it at; bounds the merge loop's memory at 250
  /// MB.
  static constexpr size_t wordLimit = size_t(1) << 22;

  /// Errors: a merge whose parts or result are no tokens, an unknown token that is no token.
  static Expected<std::unique_ptr<Model>> create(Vocabulary vocabulary, const MergeList &merges,
                                                 BytePairOptions options, const std::string &where);
  static Expected<std::unique_ptr<Model>> fromJson(const json::Value &model, const std::string &where);
  /// The text of merges.txt: "a b" a line, rank by line, a first line "#version: ..." skipped.
  static Expected<MergeList> readMergeLines(std::string_view text, const std::string &where);

  std::unique_ptr<Scratch> newScratch() const override;
  Status encode(std::string_view piece, Scratch &scratch, std::vector<int32_t> &ids) const override;

private:
  class Words;
  BytePairModel(Vocabulary vocabulary, BytePairOptions options);
  Status addMerges(const MergeList &merges, const std::string &where);
  void indexCharacters();
  void findSafeCuts(const std::vector<std::array<int32_t, 3>> &joins);
  int32_t idOfCharacter(std::string_view character, bool first, bool last) const;
  bool spellsBytes(std::string_view character) const;
  Status appendSymbols(std::string_view word, std::vector<int32_t> &symbols) const;
  Status encodeWord(std::string_view word, Words &words, std::vector<int32_t> &ids) const;
  Status encodeCut(std::string_view piece, Words &words, std::vector<int32_t> &ids) const;

  BytePairOptions options;
  PairTable merges;
  int32_t unknownId = -1;
  std::array<int32_t, 256> byteIds;        // ids of <0x00>..<0xFF>, -1 where there is none
  std::array<int32_t, 0x800> characterIds; // ids of the characters below U+0800, -1 where there is none
  std::unique_ptr<PairTable> boundaries;   // pairs of first symbols that some merge joins; null: never cut a piece
};

} // namespace rapt
