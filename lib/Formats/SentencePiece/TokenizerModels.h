//===- TokenizerModels.h - The member "model" of a tokenizer.json ---------------------===//
#pragma once
#include "lib/Formats/SentencePiece/SentencePieceModel.h"
#include "lib/Support/Json.h"

namespace rapt::sentencepiece {

/// What a space is written as.
inline constexpr std::string_view spaceMark = "\xe2\x96\x81"; // U+2581

/// Whether a normal piece holds a space elsewhere than at its front. Unless one does, words are cut apart first.
bool hasPiecesOverSpaces(const Model &model);

/// By piece. SentencePiece takes a piece of the user's wherever it stands: it gets a score that no others are as likely
/// as.
std::vector<double> scoresOf(const Model &model);

/// Pairs of normal pieces in the order in which they are merged: by the scores of what they make.
json::Value mergesOf(const Model &model);

/// `vocabulary` has the ids by the tokens. `unknown` is a token or null.
json::Value bytePairModel(json::Object vocabulary, json::Value unknown, bool byteFallback, json::Value merges);

/// `pieces` has pairs of a piece and its score, which is null where no text is cut into it; `unknown` is an index, or
/// -1.
json::Value unigramModel(json::Array pieces, int64_t unknown, bool byteFallback);

} // namespace rapt::sentencepiece
