//===- WordMerger.cpp ------------------------------------------------------===//
#include "lib/Tokenizer/WordMerger.h"
#include <algorithm>

namespace rapt {

static constexpr uint32_t kNone = UINT32_MAX;
static constexpr size_t kShortWord = 32;

void WordMerger::run(const PairTable &merges, std::vector<int32_t> &symbols) {
  if (symbols.size() < 2)
    return;
  if (symbols.size() <= kShortWord)
    runShort(merges, symbols);
  else
    runLong(merges, symbols);
}

void WordMerger::runShort(const PairTable &merges, std::vector<int32_t> &symbols) {
  auto mergeAt = [&](size_t index) {
    const Merge *merge = merges.find(symbols[index], symbols[index + 1]);
    return merge ? *merge : Merge{kNone, -1};
  };
  pairs.clear();
  for (size_t index = 0; index + 1 < symbols.size(); ++index)
    pairs.push_back(mergeAt(index));
  while (!pairs.empty()) {
    auto best = std::min_element(pairs.begin(), pairs.end(), [](Merge a, Merge b) { return a.rank < b.rank; });
    if (best->rank == kNone)
      return;
    size_t index = size_t(best - pairs.begin());
    symbols[index] = best->id;
    symbols.erase(symbols.begin() + index + 1);
    pairs.erase(best);
    if (index > 0)
      pairs[index - 1] = mergeAt(index - 1);
    if (index < pairs.size())
      pairs[index] = mergeAt(index);
  }
}

// std::push_heap keeps the largest on top, so "less" means "merges later".
static constexpr auto mergesLater = [](const auto &a, const auto &b) {
  return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
};

void WordMerger::propose(const PairTable &merges, const std::vector<int32_t> &symbols, uint32_t position) {
  uint32_t next = position == kNone ? kNone : links[position].next;
  if (next == kNone)
    return;
  if (const Merge *merge = merges.find(symbols[position], symbols[next])) {
    heap.push_back({merge->rank, position, symbols[position], symbols[next]});
    std::push_heap(heap.begin(), heap.end(), mergesLater);
  }
}

void WordMerger::runLong(const PairTable &merges, std::vector<int32_t> &symbols) {
  uint32_t count = uint32_t(symbols.size());
  links.resize(count);
  heap.clear();
  for (uint32_t index = 0; index < count; ++index)
    links[index] = {index == 0 ? kNone : index - 1, index + 1 == count ? kNone : index + 1};
  for (uint32_t index = 0; index + 1 < count; ++index)
    if (const Merge *merge = merges.find(symbols[index], symbols[index + 1]))
      heap.push_back({merge->rank, index, symbols[index], symbols[index + 1]});
  std::make_heap(heap.begin(), heap.end(), mergesLater);
  while (!heap.empty()) {
    Candidate top = heap.front();
    std::pop_heap(heap.begin(), heap.end(), mergesLater);
    heap.pop_back();
    uint32_t next = links[top.position].next;
    if (symbols[top.position] != top.left || next == kNone || symbols[next] != top.right)
      continue;
    symbols[top.position] = merges.find(top.left, top.right)->id;
    symbols[next] = -1;
    uint32_t after = links[next].next;
    links[top.position].next = after;
    if (after != kNone)
      links[after].previous = top.position;
    propose(merges, symbols, links[top.position].previous);
    propose(merges, symbols, top.position);
  }
  std::erase(symbols, -1);
}

} // namespace rapt
