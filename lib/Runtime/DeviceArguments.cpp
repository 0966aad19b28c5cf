#include "lib/Runtime/DeviceArguments.h"
#include <algorithm>

namespace rapt::runtime {

namespace {

constexpr uint64_t alignment = 256; ///< of a buffer, as the driver's own allocations
/// Larger inputs, and larger outputs, are copied from and to where they are.
constexpr uint64_t mostPinned = uint64_t(4) << 20;
/// The GPU's memory for arguments has a size of these, or else as many bytes as are needed: sequences that join a step
/// shall not move it, as graphs know its address.
constexpr uint64_t roomySizes[] = {uint64_t(64) << 10, uint64_t(1) << 20, uint64_t(16) << 20};

uint64_t roomFor(uint64_t bytes) {
  for (uint64_t size : roomySizes)
    if (bytes <= size)
      return size;
  return bytes;
}

} // namespace

DeviceArguments::~DeviceArguments() {
  stream.release(staged);
  stream.releasePinned(pinned);
}

DeviceArguments::Way DeviceArguments::wayOf(const ManifestEntry &entry, size_t buffer, void *const *buffers) const {
  const BufferKind kind = entry.buffers[buffer].kind;
  return kind == BufferKind::Output                        ? buffers[buffer] ? Way::Out : Way::Left
         : kind == BufferKind::Input && buffer != resident ? Way::In
                                                           : Way::Resident;
}

rapt_status DeviceArguments::place(const ManifestEntry &entry, void *const *buffers, const int64_t *dims,
                                   const Report &report) {
  const size_t count = entry.buffers.size();
  if (count > slots.size() && (!slots.allocate(memory, count) || !addresses.allocate(memory, count)))
    return report.fail(RAPT_NOMEM, "no memory for %zu buffers", count);
  uint64_t ends[3], end = 0;
  for (Way way : {Way::In, Way::Out, Way::Left}) {
    for (size_t i = 0; i < count; ++i) {
      const ManifestBuffer &buffer = entry.buffers[i];
      if (wayOf(entry, i, buffers) != way)
        continue;
      const uint64_t bytes = bytesOf(buffer, dims);
      if (bytes > mostBytes)
        return report.fail(RAPT_NOMEM, "%s is larger than any memory", buffer.name.c_str());
      slots[i] = {end, bytes};
      end += (bytes + alignment - 1) / alignment * alignment;
    }
    ends[int(way)] = end;
  }
  inputBytes = ends[int(Way::In)];
  outputBytes = ends[int(Way::Out)] - inputBytes;
  allBytes = end;
  return RAPT_OK;
}

/// Memory for the arguments of this run. False with a failure of the stream.
bool DeviceArguments::makeRoom() {
  if (allBytes > stagedBytes || !staged) {
    stream.release(staged);
    staged = stream.allocate(roomFor(allBytes), "tensors");
    stagedBytes = staged ? roomFor(allBytes) : 0;
  }
  auto wanted = [](uint64_t bytes) { return bytes <= mostPinned ? bytes : 0; };
  if (const uint64_t most = std::max(wanted(inputBytes), wanted(outputBytes)); most > pinnedBytes) {
    stream.releasePinned(pinned);
    pinned = static_cast<char *>(stream.allocatePinned(most));
    pinnedBytes = pinned ? most : 0;
  }
  return !stream.hasFailed();
}

void *const *DeviceArguments::send(const ManifestEntry &entry, void *const *buffers, const int64_t *dims,
                                   rapt_status &status, const Report &report) {
  status = place(entry, buffers, dims, report);
  if (status || !makeRoom())
    return nullptr;
  const bool viaPinned = isPinned(inputBytes);
  stream.waitForMark(); // the inputs of the run before have been copied
  for (size_t i = 0; i < entry.buffers.size(); ++i) {
    const Way way = wayOf(entry, i, buffers);
    addresses[i] = way == Way::Resident ? buffers[i] : reinterpret_cast<void *>(addressOf(i));
    if (way != Way::In || !slots[i].bytes)
      continue;
    if (viaPinned)
      memcpy(pinned + slots[i].offset, buffers[i], slots[i].bytes);
    else
      stream.copyIn(staged + slots[i].offset, buffers[i], slots[i].bytes);
  }
  if (viaPinned)
    stream.copyIn(staged, pinned, inputBytes);
  else
    stream.wait(); // the caller's memory is its own again when the call returns
  stream.mark();
  return stream.hasFailed() ? nullptr : addresses.data();
}

void DeviceArguments::receive(const ManifestEntry &entry, void *const *buffers) {
  if (!outputBytes)
    return;
  const bool viaPinned = isPinned(outputBytes);
  auto forEach = [&](auto copy) {
    for (size_t i = 0; i < entry.buffers.size(); ++i)
      if (wayOf(entry, i, buffers) == Way::Out && slots[i].bytes)
        copy(buffers[i], slots[i]);
  };
  if (viaPinned)
    stream.copyOut(pinned, staged + inputBytes, outputBytes);
  else
    forEach([&](void *to, const Slot &from) { stream.copyOut(to, staged + from.offset, from.bytes); });
  stream.wait();
  if (viaPinned && !stream.hasFailed())
    forEach([&](void *to, const Slot &from) { memcpy(to, pinned + (from.offset - inputBytes), from.bytes); });
}

} // namespace rapt::runtime
