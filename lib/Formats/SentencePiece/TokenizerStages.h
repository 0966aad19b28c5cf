//===- TokenizerStages.h - Parts of a tokenizer.json --------------------------------===//
#pragma once
#include "lib/Formats/SentencePiece/SentencePieceModel.h"
#include "lib/Formats/SentencePiece/TokenizerClasses.h"
#include "lib/Support/Json.h"

namespace rapt::sentencepiece {

/// Rewriting of a text before its pieces are found, and of pieces that become text again.
struct Stages {
  Rewriting rewriting = Rewriting::None;
  bool lowersCase = false;        ///< For a class with a rewriting.
  bool keepsAccents = false;      ///< For Albert's class.
  bool splitsPunctuation = false; ///< Punctuation is cut from words.
  bool addsPrefix = true;         ///< A space is put before each stretch between special tokens,
  bool prefixesFirstOnly = false; ///< or before the first alone.
  bool splitsWords = true;        ///< No piece holds a space but at its front.

  /// Adds the members normalizer, pre_tokenizer and decoder.
  void append(const Model &model, json::Object &file) const;

private:
  json::Array normalizers(const Model &model) const;
  json::Value preTokenizer() const;
  json::Value decoder(const Model &model) const;
};

/// An entry of added_tokens. The spaces at the sides that are said belong to the token.
json::Value addedToken(int64_t id, const std::string &content, bool isSpecial, bool spacesBefore = false,
                       bool spacesBehind = false);
/// A part of TemplateProcessing: the first or second text ("A", "B"), or a special token.
json::Value framePart(const std::string &name, bool isText, bool isSecond);
/// An entry of its special_tokens.
json::Value frameToken(const std::string &token, int64_t id);

} // namespace rapt::sentencepiece
