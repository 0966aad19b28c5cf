//===- AddedTokens.cpp -----------------------------------------------------===//
#include "lib/Tokenizer/AddedTokens.h"
#include "lib/Tokenizer/JsonFields.h"
#include "lib/Tokenizer/Unicode.h"
#include <algorithm>

namespace rapt {

void TokenFinder::add(const AddedToken &token) {
  if (token.pattern.empty())
    return;
  uint32_t node = 0;
  for (char byte : token.pattern) {
    auto [edge, isNew] =
        edges.try_emplace(uint64_t(node) << 8 | static_cast<unsigned char>(byte), uint32_t(nodes.size()));
    if (isNew)
      nodes.emplace_back();
    node = edge->second;
  }
  nodes[node].token = &token;
  starts[static_cast<unsigned char>(token.pattern[0])] = true;
}

const AddedToken *TokenFinder::longestAt(std::string_view text, size_t offset, size_t &end) const {
  const AddedToken *longest = nullptr;
  uint32_t node = 0;
  for (size_t next = offset; next < text.size();) {
    auto edge = edges.find(uint64_t(node) << 8 | static_cast<unsigned char>(text[next]));
    if (edge == edges.end())
      break;
    node = edge->second;
    ++next;
    if (nodes[node].token)
      longest = nodes[node].token, end = next;
  }
  return longest;
}

static bool wordBefore(std::string_view text, size_t offset) {
  return offset > 0 && unicode::isWord(unicode::decode(text, unicode::previous(text, offset)));
}

static bool wordBehind(std::string_view text, size_t offset) {
  return offset < text.size() && unicode::isWord(unicode::decode(text, offset));
}

static size_t beginOfSpaces(std::string_view text, size_t offset, size_t least) {
  while (offset > least && unicode::isWhitespace(unicode::decode(text, unicode::previous(text, offset))))
    offset = unicode::previous(text, offset);
  return offset;
}

static size_t endOfSpaces(std::string_view text, size_t offset) {
  while (offset < text.size() && unicode::isWhitespace(unicode::decode(text, offset)))
    offset += unicode::lengthOf(static_cast<unsigned char>(text[offset]));
  return offset;
}

Status TokenFinder::cut(std::string_view text, FunctionRef<bool(size_t, size_t)> isPlain,
                        FunctionRef<Status(size_t, size_t, const AddedToken *)> visit) const {
  size_t done = 0, spacesEnd = 0;
  for (size_t offset = 0, next; offset < text.size(); offset = next) {
    next = offset + 1;
    if (!starts[static_cast<unsigned char>(text[offset])])
      continue;
    const AddedToken *token = longestAt(text, offset, next);
    if (!token)
      continue;
    // A match that is not wanted is still consumed: what it covers is ordinary text as a whole.
    if ((token->special && isPlain(offset, next)) ||
        (token->singleWord && (wordBefore(text, offset) || wordBehind(text, next))))
      continue;
    // A token may begin in the spaces that another took, as in Hugging Face's tokenizers 0.23.
    size_t begin = token->stripLeft ? std::max(beginOfSpaces(text, offset, done), done) : offset;
    if (token->stripRight && next >= spacesEnd)
      spacesEnd = endOfSpaces(text, next);
    size_t end = token->stripRight ? spacesEnd : next;
    if (begin >= end)
      continue;
    if (begin > done)
      RAPT_RETURN_IF_ERROR(visit(done, begin, nullptr));
    RAPT_RETURN_IF_ERROR(visit(begin, end, token));
    done = end;
  }
  return done < text.size() ? visit(done, text.size(), nullptr) : Status();
}

Expected<AddedToken> readAddedToken(const json::Value &value, const std::string &where) {
  if (!value.isObject())
    return Error{where + ": is not an object"};
  JsonFields fields(value, where);
  AddedToken token;
  token.content = fields.string("content", "");
  token.special = fields.boolean("special", false);
  token.normalized = fields.boolean("normalized", !token.special);
  token.singleWord = fields.boolean("single_word", false);
  token.stripLeft = fields.boolean("lstrip", false);
  token.stripRight = fields.boolean("rstrip", false);
  int64_t id = fields.integer("id", -1);
  RAPT_RETURN_IF_ERROR(fields.finish({"__type"}));
  if (value.find("id") && (id < 0 || id >= (int64_t(1) << 24)))
    return Error{where + ": token '" + json::printable(token.content) + "' has id " + std::to_string(id) +
                 ", which is out of range"};
  token.id = int32_t(id);
  return token;
}

} // namespace rapt
