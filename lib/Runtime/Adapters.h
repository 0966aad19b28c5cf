// Tokens of a step or of a forward by the adapter that their row has.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rapt::runtime {

/// Orders the packed tokens of `rows` rows by adapter, of `count` adapters. `adapterOf(r)` is that of row r, 0 for
/// none. All tokens without one are the first of them, whose change is zeros. Fills `order` (tokens in this order),
/// `groups` (begin and matrix of each, count + 2 pairs) and `place` (of each token its index in the order). Returns how
/// many tokens are in the order.
template <typename AdapterOf>
int32_t orderByAdapter(int32_t count, size_t rows, const int32_t *rowBegin, AdapterOf adapterOf, int32_t *order,
                       int32_t *groups, int32_t *place) {
  int32_t next = 0;
  size_t group = 0;
  for (int32_t adapter = 0; adapter <= count; ++adapter) {
    const int32_t begin = next;
    for (size_t r = 0; r < rows; ++r) {
      if (adapterOf(r) != adapter)
        continue;
      for (int32_t t = rowBegin[r]; t < rowBegin[r + 1]; ++t) {
        if (adapter > 0 || next == begin)
          order[next++] = t;
        place[t] = next - 1;
      }
    }
    if (next > begin) {
      groups[2 * group] = begin;
      groups[2 * group + 1] = adapter;
      ++group;
    }
  }
  for (; group < size_t(count) + 2; ++group) {
    groups[2 * group] = next;
    groups[2 * group + 1] = 0;
  }
  return next;
}

} // namespace rapt::runtime
