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

bool BlockPool::allocate(const Allocator &memory, DeviceStream *on, int64_t blocks, int64_t bytes, const char *name) {
  uint64_t total;
  if (!multiply(uint64_t(blocks), uint64_t(bytes), total) || !cache.allocate(memory, on, total, name, true) ||
      !freeBlocks.allocate(memory, blocks) || !uses.allocate(memory, blocks, true) ||
      !written.allocate(memory, blocks, true))
    return false;
  stream = on;
  what = name;
  blockBytes = bytes;
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
  if (after > INT32_MAX || !more.allocate(memory, stream, after, blockBytes, what))
    return false;
  more.cache.copyFrom(cache, 0, 0, uint64_t(before * blockBytes));
  memcpy(more.uses.data(), uses.data(), size_t(before) * sizeof(int32_t));
  memcpy(more.written.data(), written.data(), size_t(before));
  memcpy(more.freeBlocks.data() + after - before, freeBlocks.data(), size_t(free) * sizeof(int32_t));
  for (int64_t i = 0; i < after - before; ++i)
    more.freeBlocks[i] = int32_t(after - 1 - i);
  free += after - before;
  cache.swap(more.cache);
  uses.swap(more.uses);
  written.swap(more.written);
  freeBlocks.swap(more.freeBlocks);
  return true;
}

int32_t BlockPool::allocate(bool isFilled) {
  int32_t block = freeBlocks[--free];
  uses[block] = 1;
  if (written[block] && (!isFilled || poisons))
    cache.clear(offsetOf(block), uint64_t(blockBytes));
  written[block] = 1;
  return block;
}

void BlockPool::drop(int32_t block) {
  if (--uses[block] > 0)
    return;
  freeBlocks[free++] = block;
  if (poisons)
    cache.fill(offsetOf(block), uint64_t(blockBytes), 0xff);
}

} // namespace rapt::runtime
