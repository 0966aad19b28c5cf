//===- AddedTokens.h - Tokens that are cut out of the text first -----------===//
//
// Special tokens and others added after training are matched before anything
// else, the longest at the leftmost place. Those with normalized=false are looked
// for in the text as it is, the others after normalization.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Support/Json.h"
#include "lib/Tokenizer/FunctionRef.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rapt {

struct AddedToken {
  /// Bytes that a pattern may have: each place of a text is compared with it.
  static constexpr size_t longest = 512;

  std::string content;
  std::string pattern; ///< Encoding looks for it and decoding starts from it: the content, normalized if `normalized`.
  int32_t id = -1;
  bool special = false, normalized = true, singleWord = false, stripLeft = false, stripRight = false;
};

/// Finds the tokens of one list in text.
class TokenFinder {
public:
  /// `token` outlives this. One with an empty pattern is never found.
  void add(const AddedToken &token);
  bool empty() const { return nodes.size() <= 1; }

  /// Passes on, in order and without gaps, stretches of ordinary text (token = null) and found tokens. A token in the
  /// spaces that another has taken overlaps with that.
  /// A special token at bytes of which `isPlain` says so is ordinary text.
  Status cut(std::string_view text, FunctionRef<bool(size_t begin, size_t end)> isPlain,
             FunctionRef<Status(size_t begin, size_t end, const AddedToken *token)> visit) const;

private:
  const AddedToken *longestAt(std::string_view text, size_t offset, size_t &end) const;

  struct Node {
    const AddedToken *token = nullptr; // set where a pattern ends
  };
  std::vector<Node> nodes = {Node{}};
  std::unordered_map<uint64_t, uint32_t> edges; // node << 8 | byte -> node
  bool starts[256] = {};
};

/// From one entry of "added_tokens" (or of tokenizer_config's added_tokens_decoder, whose key is the id).
Expected<AddedToken> readAddedToken(const json::Value &value, const std::string &where);

} // namespace rapt
