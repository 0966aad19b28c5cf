//===- WordMerger.h - The merge loop of byte-pair encoding -----------------===//
#pragma once
#include "lib/Tokenizer/PairTable.h"
#include <cstdint>
#include <vector>

namespace rapt {

/// Merges the symbols of one word. Keeps its work arrays between words.
class WordMerger {
public:
  /// Replaces `symbols` by what is left when no adjacent pair is in `merges`: O(n^2) for short words, O(n log n) else.
  void run(const PairTable &merges, std::vector<int32_t> &symbols);

private:
  struct Candidate {
    uint32_t rank, position;
    int32_t left, right; // ids when it was found; it is stale when the symbols differ now
  };
  struct Link {
    uint32_t previous, next;
  };
  void runShort(const PairTable &merges, std::vector<int32_t> &symbols);
  void runLong(const PairTable &merges, std::vector<int32_t> &symbols);
  void propose(const PairTable &merges, const std::vector<int32_t> &symbols, uint32_t position);

  std::vector<Merge> pairs;
  std::vector<Candidate> heap;
  std::vector<Link> links;
};

} // namespace rapt
