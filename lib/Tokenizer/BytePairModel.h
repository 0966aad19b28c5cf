//===- BytePairModel.h - Byte-pair encoding --------------------------------===//
//
// Merges adjacent symbols of a word, lowest rank first and leftmost among equal
// ranks, until no pair of the merge list is left (Sennrich et al. 2016, with the
// options of Hugging Face's tokenizers). `dropout` belongs to training and is
// ignored.
//
// The member "ids" is Rapt's own: {token: id, ...} where the ids are not those of
// the vocabulary that merges work on, as in M2M-100's vocab.json. A token without
// one is the unknown token.
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
  /// A token of the model's own vocabulary. Without one, what has no token is dropped, and what is left merges over it.
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
  /// Errors: as create, and `ids` without the unknown token.
  static Expected<std::unique_ptr<Model>> fromJson(const json::Value &model, const std::string &where);
  /// The text of merges.txt: "a b" a line, rank by line, a first line "#version: ..." skipped.
  static Expected<MergeList> readMergeLines(std::string_view text, const std::string &where);

  std::unique_ptr<Scratch> newScratch() const override;
  Status encode(std::string_view piece, Scratch &scratch, std::vector<int32_t> &ids) const override;
  bool isOfBytePairs() const override { return true; }

private:
  class Words;
  BytePairModel(Vocabulary vocabulary, BytePairOptions options);
  Status addMerges(const MergeList &merges, const std::string &where);
  Status renumber(Vocabulary ids, const std::string &where);
  /// The vocabulary that merges work on.
  const Vocabulary &pieces() const { return own ? *own : tokens; }
  int32_t shownId(int32_t piece) const { return own ? idOf[size_t(piece)] : piece; }
  void indexCharacters();
  void findSafeCuts(const std::vector<std::array<int32_t, 3>> &joins);
  int32_t idOfCharacter(std::string_view character) const;
  bool spellsBytes(std::string_view text) const;
  void appendSymbols(std::string_view word, std::vector<int32_t> &symbols) const;
  Status encodeWord(std::string_view word, Words &words, std::vector<int32_t> &ids) const;
  Status encodeCut(std::string_view piece, Words &words, std::vector<int32_t> &ids) const;

  BytePairOptions options;
  std::unique_ptr<const Vocabulary> own; // null where its ids are those of the tokens
  std::vector<int32_t> idOf;             // by id in `own`
  PairTable merges;
  int32_t unknownId = -1;                  // as all ids below, of the vocabulary that merges work on
  std::array<int32_t, 256> byteIds;        // ids of <0x00>..<0xFF>, -1 where there is none
  std::array<int32_t, 0x800> characterIds; // ids of the characters below U+0800, -1 where there is none
  std::unique_ptr<PairTable> boundaries;   // pairs of first symbols that some merge joins; null: never cut a piece
};

} // namespace rapt
