//===- Pieces.cpp -------------------------------------------------------------------===//
#include "lib/Generation/CommandLine/Pieces.h"
#include "lib/Tokenizer/Unicode.h"

namespace rapt::run {

Outcome piecesOf(const rapt_tokenizer *tokenizer, const Ids &ids, std::vector<std::string> &pieces) {
  for (int32_t id : ids) {
    std::string &piece = pieces.emplace_back(std::to_string(id));
    if (!tokenizer)
      continue;
    size_t bytes = 0;
    auto call = [&](char *message, size_t size) {
      return rapt_tokenizer_token(tokenizer, id, piece.data(), piece.size(), &bytes, message, size);
    };
    Outcome outcome = Outcome::of(call);
    if (outcome.status == RAPT_FULL) {
      piece.resize(bytes);
      outcome = Outcome::of(call);
    }
    piece.resize(bytes);
    std::string decoded;
    RAPT_RETURN_IF_ERROR(outcome);
    RAPT_RETURN_IF_ERROR(decode(tokenizer, {id}, decoded, RAPT_DECODE_KEEP_SPECIAL));
    if (decoded.ends_with(piece)) // a part of a word may be marked as such
      piece = decoded;
  }
  return {};
}

json::Value jsonOfPiece(const std::string &piece) {
  return json::Value(unicode::findInvalid(piece) ? json::printable(piece) : piece);
}

} // namespace rapt::run
