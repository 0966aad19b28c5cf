//===- Pieces.h - Token ids with their texts ---------------------------------------===//
#pragma once
#include "lib/Generation/CommandLine/Text.h"
#include "lib/Support/Json.h"

namespace rapt::run {

/// The text of each id as a tokenizer has it, possibly a part of a character, and with the mark that a part of a word
/// may have; the id's number where there is no tokenizer.
Outcome piecesOf(const Tokenizer &tokenizer, const Ids &ids, std::vector<std::string> &pieces);

/// A piece for JSON: bytes that form no character are \xNN.
json::Value jsonOfPiece(const std::string &piece);

} // namespace rapt::run
