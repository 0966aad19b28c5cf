//===- PieceTrie.cpp -------------------------------------------------------===//
#include "lib/Tokenizer/PieceTrie.h"
#include <algorithm>

namespace rapt {

namespace {
struct Piece {
  std::string_view text;
  int32_t id;
};

/// Pieces with a common beginning, which leads to a node.
struct Bundle {
  PieceTrie::Node node;
  size_t begin, end, depth;
};
} // namespace

static Expected<std::vector<Piece>> sortedPieces(const Vocabulary &vocabulary, const std::string &where) {
  std::vector<Piece> pieces;
  size_t bytes = 0;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    std::optional<std::string_view> text = vocabulary.token(id);
    if (!text || text->empty())
      continue;
    if (text->size() > PieceTrie::longestPiece)
      return Error{where + ": token " + std::to_string(id) + " ('" + json::printable(*text, 40) + "') has " +
                   std::to_string(text->size()) + " bytes; the limit is " + std::to_string(PieceTrie::longestPiece)};
    pieces.push_back({*text, id});
    bytes += text->size();
  }
  if (bytes >= PieceTrie::none)
    return Error{where + ": the tokens have " + std::to_string(bytes) + " bytes in all; the limit is 4294967294"};
  std::sort(pieces.begin(), pieces.end(), [](const Piece &a, const Piece &b) { return a.text < b.text; });
  return pieces;
}

Expected<PieceTrie> PieceTrie::build(const Vocabulary &vocabulary, const std::string &where) {
  RAPT_ASSIGN_OR_RETURN(const std::vector<Piece> pieces, sortedPieces(vocabulary, where));
  PieceTrie trie;
  trie.entries.emplace_back();
  // Breadth first: all children of a node are made at once, so that they are neighbors.
  std::vector<Bundle> level = {{root, 0, pieces.size(), 0}}, next;
  for (; !level.empty(); level.swap(next), next.clear())
    for (Bundle bundle : level) {
      if (bundle.begin < bundle.end && pieces[bundle.begin].text.size() == bundle.depth)
        trie.entries[bundle.node].token = pieces[bundle.begin++].id;
      trie.entries[bundle.node].firstChild = Node(trie.entries.size());
      for (size_t begin = bundle.begin, end; begin < bundle.end; begin = end) {
        char byte = pieces[begin].text[bundle.depth];
        for (end = begin + 1; end < bundle.end && pieces[end].text[bundle.depth] == byte;)
          ++end;
        next.push_back({Node(trie.entries.size()), begin, end, bundle.depth + 1});
        trie.entries.emplace_back().byte = static_cast<unsigned char>(byte);
        ++trie.entries[bundle.node].children;
      }
    }
  trie.firstNodes.fill(none);
  const Entry &first = trie.entries[root];
  for (Node node = first.firstChild; node < first.firstChild + first.children; ++node)
    trie.firstNodes[trie.entries[node].byte] = node;
  return trie;
}

PieceTrie::Node PieceTrie::walk(std::string_view text) const {
  Node node = root;
  for (size_t index = 0; index < text.size() && node != none; ++index)
    node = child(node, static_cast<unsigned char>(text[index]));
  return node;
}

} // namespace rapt
