#include "lib/Runtime/DeviceGraphs.h"
#include <algorithm>
#include <cstdio>

namespace rapt::runtime {

using cuda::Graph, cuda::GraphExec, cuda::Result, cuda::Success;

DeviceGraphs::~DeviceGraphs() {
  for (Known &slot : known)
    end(slot);
}

bool DeviceGraphs::reserve(const std::vector<ManifestEntry> &entries, const Allocator &memory) {
  for (const ManifestEntry &entry : entries)
    words = std::max(words, 1 + entry.buffers.size() + entry.dims.size());
  return keys.allocate(memory, (mostRuns + 1) * words);
}

void DeviceGraphs::end(Known &slot) {
  if (slot.graph)
    stream.destroy(slot.graph);
  slot.graph = nullptr;
}

size_t DeviceGraphs::find(bool &isNew) {
  const int64_t *wanted = keyOf(mostRuns);
  size_t oldest = 0;
  for (size_t i = 0; i < mostRuns; ++i) {
    isNew = !known[i].lastUse || !std::equal(wanted, wanted + words, keyOf(i));
    if (!isNew)
      return i;
    if (known[i].lastUse < known[oldest].lastUse)
      oldest = i;
  }
  return oldest;
}

int32_t DeviceGraphs::record(Known &slot, rapt_entry_fn code, const rapt_env &env, void *const *buffers,
                             const int64_t *dims) {
  stream.beginCapture();
  const int32_t stopped = code(&env, buffers, dims);
  char problem[DeviceStream::textBytes];
  slot.graph = stream.endCapture(problem);
  if (stopped) {
    end(slot); // a graph of some of the kernels
    return stopped;
  }
  if (slot.graph || stream.hasFailed())
    return 0;
  isRefused = true;
  if (log)
    log(user, problem);
  return code(&env, buffers, dims);
}

int32_t DeviceGraphs::run(const ManifestEntry &entry, rapt_entry_fn code, const rapt_env &env, void *const *buffers,
                          const int64_t *dims) {
  if (isRefused)
    return code(&env, buffers, dims);
  int64_t *key = keyOf(mostRuns), *last = key + words;
  *key++ = reinterpret_cast<int64_t>(code);
  for (size_t i = 0; i < entry.buffers.size(); ++i)
    *key++ = reinterpret_cast<int64_t>(buffers[i]);
  key = std::copy_n(dims, entry.dims.size(), key);
  std::fill(key, last, 0);
  bool isNew = false;
  const size_t place = find(isNew);
  Known &slot = known[place];
  if (isNew) {
    end(slot);
    std::copy_n(keyOf(mostRuns), words, keyOf(place));
  }
  slot.lastUse = ++uses;
  if (isNew)
    return code(&env, buffers, dims);
  if (!slot.graph)
    if (const int32_t stopped = record(slot, code, env, buffers, dims))
      return stopped;
  if (slot.graph)
    stream.launch(slot.graph);
  return 0;
}

} // namespace rapt::runtime
