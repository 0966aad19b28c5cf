//===- Pieces.cpp -------------------------------------------------------------------===//
#include "lib/Generation/CommandLine/Pieces.h"
#include "lib/Tokenizer/Unicode.h"

namespace rapt::run {

Outcome piecesOf(const Tokenizer &tokenizer, const Ids &ids, std::vector<std::string> &pieces) {
  for (int32_t id : ids) {
    std::string &piece = pieces.emplace_back(std::to_string(id));
    if (!tokenizer)
      continue;
    std::string decoded;
    RAPT_RETURN_IF_ERROR(tokenizer.token(id, piece));
    RAPT_RETURN_IF_ERROR(tokenizer.decode({id}, decoded, RAPT_DECODE_KEEP_SPECIAL));
    if (decoded.ends_with(piece)) // a part of a word may be marked as such
      piece = decoded;
  }
  return {};
}

json::Value jsonOfPiece(const std::string &piece) {
  return json::Value(unicode::findInvalid(piece) ? json::printable(piece) : piece);
}

} // namespace rapt::run
