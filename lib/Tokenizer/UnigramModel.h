//===- UnigramModel.h - The likeliest cut into pieces -----------------------===//
//
// A unigram language model over pieces (Kudo 2018), as SentencePiece trains it:
// of all ways to cut a text the one with the largest sum of scores is taken
// (Viterbi's algorithm, in double). A character without a piece costs ten more
// than the worst piece; neighbors of that kind are one unknown token, or their
// bytes with byte_fallback.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Tokenizer/Model.h"
#include "lib/Tokenizer/PieceTrie.h"
#include <array>

namespace rapt {

class UnigramModel final : public Model {
public:
  /// Bytes of the longest stretch without a position to cut it at; bounds the memory of one cut at 256 MiB.
  static constexpr size_t stretchLimit = size_t(1) << 24;

  /// Errors: an entry that is no pair of a piece and a finite score, a piece listed twice or above
  /// PieceTrie::longestPiece, an unk_id beyond the pieces.
  static Expected<std::unique_ptr<Model>> fromJson(const json::Value &model, const std::string &where);

  std::unique_ptr<Scratch> newScratch() const override;
  Status encode(std::string_view text, Scratch &scratch, std::vector<int32_t> &ids) const override;

private:
  class Work;
  struct Step;
  UnigramModel(Vocabulary vocabulary, PieceTrie trie) : Model(std::move(vocabulary)), trie(std::move(trie)) {}
  Status findBest(std::string_view text, std::vector<Step> &best) const;
  void appendUnknown(std::string_view text, std::vector<int32_t> &ids) const;

  PieceTrie trie;
  std::vector<double> scores; // by id
  double unknownScore = 0;
  int32_t unknownId = -1;
  std::array<int32_t, 256> byteIds; // ids of <0x00>..<0xFF>, -1 where there is none
};

} // namespace rapt
