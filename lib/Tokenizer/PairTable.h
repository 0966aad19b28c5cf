//===- PairTable.h - Merges of pairs of symbols ----------------------------===//
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rapt {

struct Merge {
  uint32_t rank;
  int32_t id; ///< The symbol that replaces the pair.
};

/// Hash table from a pair of ids to its merge; open addressing, at most half full.
class PairTable {
public:
  void reserve(std::size_t pairs) {
    std::size_t capacity = 64;
    while (capacity < pairs * 2)
      capacity *= 2;
    slots.assign(capacity, Slot{});
  }
  /// A pair that is listed twice takes its later rank, as in Hugging Face's tokenizers. Memory was reserved.
  void set(int32_t left, int32_t right, Merge merge) { slots[indexOf(left, right)] = {left, right, merge}; }
  const Merge *find(int32_t left, int32_t right) const {
    const Slot &slot = slots[indexOf(left, right)];
    return slot.left >= 0 ? &slot.merge : nullptr;
  }

private:
  struct Slot {
    int32_t left = -1, right = -1;
    Merge merge = {};
  };
  std::size_t indexOf(int32_t left, int32_t right) const {
    uint64_t key = uint64_t(uint32_t(left)) << 32 | uint32_t(right);
    std::size_t mask = slots.size() - 1;
    std::size_t index = (key * 0x9E3779B97F4A7C15u) >> 32 & mask;
    while (slots[index].left >= 0 && (slots[index].left != left || slots[index].right != right))
      index = (index + 1) & mask;
    return index;
  }
  std::vector<Slot> slots;
};

} // namespace rapt
