//===- PieceTrie.h - The tokens that begin at a place of a text ------------===//
//
// A tree of a vocabulary's bytes. Walking it finds every token that begins at a
// byte of the text in one pass over the longest of them.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Tokenizer/Vocabulary.h"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace rapt {

class PieceTrie {
public:
  /// Bytes of the longest token that is accepted: what looking up one place of a text costs at most.
  static constexpr size_t longestPiece = 512;
  using Node = uint32_t;
  static constexpr Node root = 0, none = UINT32_MAX;

  /// Holds every token that is not empty. Errors: one above longestPiece, named; `where` is put before it.
  static Expected<PieceTrie> build(const Vocabulary &vocabulary, const std::string &where);

  /// The node that `byte` leads to, or none.
  Node child(Node node, unsigned char byte) const {
    if (node == root)
      return firstNodes[byte];
    const Entry &entry = entries[node];
    for (Node next = entry.firstChild, end = next + entry.children; next != end; ++next)
      if (entries[next].byte == byte)
        return next;
    return none;
  }
  /// The node at the end of `text`, or none.
  Node walk(std::string_view text) const;
  /// The token that ends at `node`, or -1.
  int32_t tokenAt(Node node) const { return entries[node].token; }

private:
  struct Entry {
    Node firstChild = 0; // the children of a node stand side by side, sorted by their bytes
    int32_t token = -1;
    uint16_t children = 0;
    unsigned char byte = 0;
  };
  std::vector<Entry> entries;
  std::array<Node, 256> firstNodes;
};

} // namespace rapt
