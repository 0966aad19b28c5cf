//===- SentencePieceModel.h - The file of a SentencePiece model ---------------===//
//
// SentencePiece (Kudo and Richardson 2018) keeps a trained model in one protocol
// buffer: pieces with their scores, how a text is cut into them, and the map of
// characters that is applied before.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <string>
#include <string_view>
#include <vector>

namespace rapt::sentencepiece {

/// Numbers of the file.
enum class PieceKind { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };

struct Piece {
  std::string text;
  float score = 0;
  PieceKind kind = PieceKind::Normal;
};

/// Numbers of the file.
enum class Algorithm { Unigram = 1, BytePairs = 2 };

struct Model {
  std::vector<Piece> pieces; ///< By id; one of them is Unknown.
  Algorithm algorithm = Algorithm::Unigram;
  bool byteFallback = false;      ///< A character without a piece is spelled by its bytes.
  std::string characterMap;       ///< A compiled map of characters, as tokenizer.json's Precompiled has it; or empty.
  bool addsPrefix = true;         ///< A space is put before a text.
  bool removesExtraSpaces = true; ///< Spaces around a text, and all but one in it, are dropped.
};

/// Errors: no protocol buffer of a model, a kind of model other than the two, a piece of an
/// unknown kind, no or several unknown pieces, settings that tokenizer.json has no words for.
Expected<Model> readModel(std::string_view bytes);

} // namespace rapt::sentencepiece
