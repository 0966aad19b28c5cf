#include "lib/Runtime/Context.h"
#include <algorithm>
#include <cstring>

namespace rapt::runtime {

// A block that nobody holds is NaN in every float type, so that one who reads it nevertheless is found.
#ifdef NDEBUG
static constexpr bool poisons = false;
#else
static constexpr bool poisons = true;
#endif

bool BlockPool::allocate(const Allocator &memory, DeviceStream *on, int64_t blocks, const SlotBytes &sizes,
                         const char *name) {
  bytes = sizes;
  bool enough = freeBlocks.allocate(memory, blocks) && uses.allocate(memory, blocks, true) &&
                written.allocate(memory, blocks, true);
  visit([&](CodeMemory &array, uint64_t size) {
    uint64_t total;
    enough = enough && multiply(uint64_t(blocks), size, total) && array.allocate(memory, on, total, name, true);
  });
  if (!enough)
    return false;
  stream = on;
  what = name;
  free = blocks;
  for (int64_t i = 0; i < blocks; ++i) // the lowest is taken first
    freeBlocks[i] = int32_t(blocks - 1 - i);
  return true;
}

bool BlockPool::reserve(const Allocator &memory, int64_t wanted, int64_t most) {
  if (free >= wanted)
    return true;
  const int64_t before = size(), least = before + wanted - free, after = std::max(least, std::min(2 * before, most));
  BlockPool more;
  if (after > INT32_MAX || !more.allocate(memory, stream, after, bytes, what))
    return false;
  memcpy(more.uses.data(), uses.data(), size_t(before) * sizeof(int32_t));
  memcpy(more.written.data(), written.data(), size_t(before));
  memcpy(more.freeBlocks.data() + after - before, freeBlocks.data(), size_t(free) * sizeof(int32_t));
  for (int64_t i = 0; i < after - before; ++i)
    more.freeBlocks[i] = int32_t(after - 1 - i);
  free += after - before;
  for (size_t i = 0; i < arrays.size(); ++i)
    if (bytes[i]) {
      more.arrays[i].copyFrom(arrays[i], 0, 0, uint64_t(before * bytes[i]));
      arrays[i].swap(more.arrays[i]);
    }
  uses.swap(more.uses);
  written.swap(more.written);
  freeBlocks.swap(more.freeBlocks);
  return true;
}

int32_t BlockPool::allocate(bool isFilled) {
  int32_t block = freeBlocks[--free];
  uses[block] = 1;
  if (written[block] && (!isFilled || poisons))
    visit([&](CodeMemory &array, uint64_t size) { array.clear(uint64_t(block) * size, size); });
  written[block] = 1;
  return block;
}

void BlockPool::drop(int32_t block) {
  if (--uses[block] > 0)
    return;
  freeBlocks[free++] = block;
  if (poisons)
    visit([&](CodeMemory &array, uint64_t size) { array.fill(uint64_t(block) * size, size, 0xff); });
}

} // namespace rapt::runtime
