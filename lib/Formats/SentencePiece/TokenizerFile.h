//===- TokenizerFile.h - A SentencePiece model as tokenizer.json -----------------===//
//
// The classes of transformers whose tokenizers are SentencePiece models keep
// ids, special tokens and rewriting of texts in code. This writes them out, so
// that compiled models need neither SentencePiece nor protocol buffers. Ids are
// those of SentencePiece, but for cuts that are equally likely: its sums run over
// a whole text in single precision, and their rounding decides.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Formats/SentencePiece/SentencePieceModel.h"
#include "lib/Formats/SentencePiece/TokenizerClasses.h"
#include "lib/Support/Json.h"

namespace rapt::sentencepiece {

/// The files beside a model; null where there is none.
struct FilesBeside {
  json::Value configuration;    ///< tokenizer_config.json
  json::Value specialTokensMap; ///< special_tokens_map.json
  json::Value addedTokens;      ///< added_tokens.json
  json::Value vocabulary;       ///< vocab.json, of a class with one
};

struct TokenizerFile {
  std::string tokenizer;        ///< tokenizer.json
  std::string specialTokensMap; ///< special_tokens_map.json, with what the class takes for roles that no file names
};

/// Errors: a class with a vocabulary without one, an id that is none, a special token without an id, a language that is
/// no token.
Expected<TokenizerFile> makeTokenizer(const TokenizerClass &form, const Model &model, const FilesBeside &beside);

} // namespace rapt::sentencepiece
