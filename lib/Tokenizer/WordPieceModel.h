//===- WordPieceModel.h - The longest piece first ---------------------------===//
//
// BERT's model: a word is cut from left to right into the longest tokens there
// are, of which all but the first are written with a prefix ("##"). A word that
// cannot be cut, or is too long, is one unknown token.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Tokenizer/Model.h"
#include "lib/Tokenizer/PieceTrie.h"
#include <string>

namespace rapt {

struct WordPieceOptions {
  std::string unknownToken = "[UNK]", subwordPrefix = "##";
  int64_t longestWord = 100; ///< In characters.
};

class WordPieceModel final : public Model {
public:
  /// Errors: a token above PieceTrie::longestPiece. A missing unknown token is one only for text that needs it.
  static Expected<std::unique_ptr<Model>> create(Vocabulary vocabulary, WordPieceOptions options,
                                                 const std::string &where);
  static Expected<std::unique_ptr<Model>> fromJson(const json::Value &model, const std::string &where);
  /// The text of vocab.txt: a token a line, whose number is its id; of equal lines the last one counts.
  static Expected<Vocabulary> readLines(std::string_view text, const std::string &where);

  std::unique_ptr<Scratch> newScratch() const override { return std::make_unique<Scratch>(); }
  Status encode(std::string_view word, Scratch &scratch, std::vector<int32_t> &ids) const override;

private:
  WordPieceModel(Vocabulary vocabulary, WordPieceOptions options, PieceTrie trie)
      : Model(std::move(vocabulary)), options(std::move(options)), trie(std::move(trie)) {}

  WordPieceOptions options;
  PieceTrie trie;
  PieceTrie::Node inner = PieceTrie::none; // behind the prefix; none: no token has it
};

} // namespace rapt
