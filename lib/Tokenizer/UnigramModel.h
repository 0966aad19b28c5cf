//===- UnigramModel.h - The likeliest cut into pieces -----------------------===//
//
// A unigram language model over pieces (Kudo 2018), as SentencePiece trains it:
// of all ways to cut a text the one with the largest sum of scores is taken
// (Viterbi's algorithm, in double). A character without a piece costs ten more
// than the worst piece; neighbors of that kind are one unknown token, or their
// bytes with byte_fallback.
//
// Two things are Rapt's own. A score may be null: no text is cut into that piece,
// such as a special token. The member "ids" is {token: id, ...} where ids are not
// the indices in the list of pieces, as in Marian's vocab.json: unk_id is one of
// them then, a piece without one is the unknown token, and unknown neighbors that
// are together one of its tokens are that token.
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

  /// Errors: an entry that is no pair of a piece and a finite score or null, a piece listed twice or above
  /// PieceTrie::longestPiece, an unk_id beyond the pieces or without a token of `ids`.
  static Expected<std::unique_ptr<Model>> fromJson(const json::Value &model, const std::string &where);

  std::unique_ptr<Scratch> newScratch() const override;
  Status encode(std::string_view text, Scratch &scratch, std::vector<int32_t> &ids) const override;

private:
  class Work;
  struct Step;
  struct Pieces;
  static Expected<Pieces> readPieces(const json::Array &list, const std::string &where);
  UnigramModel(Vocabulary vocabulary, PieceTrie trie) : Model(std::move(vocabulary)), trie(std::move(trie)) {}
  Status findBest(std::string_view text, std::vector<Step> &best) const;
  void appendUnknown(std::string_view text, std::vector<int32_t> &ids) const;

  PieceTrie trie;
  std::vector<double> scores; // by index in the list
  std::vector<int32_t> idOf;  // by index in the list; empty where the index is the id
  double unknownScore = 0;
  int32_t unknownId = -1;
  int32_t unknownIndex = -1;        // of the unknown piece in the list, -1 where it is not among the pieces
  std::array<int32_t, 256> byteIds; // ids of <0x00>..<0xFF>, -1 where there is none
};

} // namespace rapt
