//===- WordCache.h - Ids of words seen before in the same call -------------===//
//
// Text repeats its words, so most of encoding is looking them up. The cache
// belongs to one call: tokenizers stay immutable and shared by threads. It is
// bounded and starts over when it is full.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rapt {

class WordCache {
public:
  /// Appends the ids of `word` if they are known.
  bool append(std::string_view word, std::vector<int32_t> &ids) const {
    if (word.size() > longest || slots.empty())
      return false;
    const Slot &slot = slots[indexOf(word)];
    if (slot.length == 0)
      return false;
    ids.insert(ids.end(), results.begin() + slot.resultOffset, results.begin() + slot.resultOffset + slot.resultCount);
    return true;
  }

  void store(std::string_view word, const std::vector<int32_t> &ids) {
    if (word.size() > longest || word.empty())
      return;
    if (slots.empty() || used * 2 > slots.size())
      enlarge();
    Slot &slot = slots[indexOf(word)];
    slot = {uint32_t(texts.size()), uint32_t(word.size()), uint32_t(results.size()), uint32_t(ids.size())};
    texts.append(word);
    results.insert(results.end(), ids.begin(), ids.end());
    ++used;
  }

private:
  static constexpr size_t longest = 64, fewest = 256, most = size_t(1) << 16;
  struct Slot {
    uint32_t offset = 0, length = 0, resultOffset = 0, resultCount = 0; // length 0 = free
  };

  size_t indexOf(std::string_view word) const {
    size_t mask = slots.size() - 1;
    size_t index = std::hash<std::string_view>{}(word)&mask;
    while (slots[index].length != 0 && std::string_view(texts).substr(slots[index].offset, slots[index].length) != word)
      index = (index + 1) & mask;
    return index;
  }

  void enlarge() {
    std::vector<Slot> old = std::move(slots);
    if (old.size() >= most) {
      slots.assign(most, Slot{});
      texts.clear();
      results.clear();
      used = 0;
      return;
    }
    slots.assign(old.empty() ? fewest : old.size() * 4, Slot{});
    for (const Slot &slot : old)
      if (slot.length != 0)
        slots[indexOf(std::string_view(texts).substr(slot.offset, slot.length))] = slot;
  }

  std::vector<Slot> slots;
  std::string texts;
  std::vector<int32_t> results;
  size_t used = 0;
};

} // namespace rapt
