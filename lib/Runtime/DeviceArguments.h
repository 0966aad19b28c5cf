//===- DeviceArguments.h - Inputs and outputs of an entry on a GPU ----------------===//
//
// The rest of the runtime prepares inputs and reads outputs in the host's memory. Around
// each run of an entry they are copied to and from the GPU's, all inputs at once and all
// outputs at once where they are small.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Runtime/DeviceStream.h"
#include "lib/Runtime/Manifest.h"

namespace rapt::runtime {

class DeviceArguments {
public:
  DeviceArguments(DeviceStream &stream, const Allocator &memory) : stream(stream), memory(memory) {}
  DeviceArguments(const DeviceArguments &) = delete;
  DeviceArguments &operator=(const DeviceArguments &) = delete;
  ~DeviceArguments();

  /// Copies the inputs. The buffers for the entry: addresses of the GPU's memory; weights, workspace, cache and the
  /// input number `resident` are ones already. Null when that failed: `status` and `report` say why, or else the
  /// stream.
  void *const *send(const ManifestEntry &entry, void *const *buffers, const int64_t *dims, rapt_status &status,
                    const Report &report);
  /// Waits for the entry's kernels and copies the outputs, if there are any. Those whose buffer is null are left in the
  /// GPU's memory.
  void receive(const ManifestEntry &entry, void *const *buffers);
  /// Where a buffer of the last run is, until the next one.
  cuda::Address addressOf(size_t buffer) const { return staged + slots[buffer].offset; }

  size_t resident = SIZE_MAX; ///< an input that is in the GPU's memory

private:
  struct Slot {
    uint64_t offset, bytes; ///< in the GPU's memory
  };
  /// How a buffer of an entry comes to the GPU's memory, in the order in which they lie there.
  enum class Way : uint8_t { In, Out, Left, Resident };
  Way wayOf(const ManifestEntry &entry, size_t buffer, void *const *buffers) const;
  rapt_status place(const ManifestEntry &entry, void *const *buffers, const int64_t *dims, const Report &report);
  bool makeRoom();
  bool isPinned(uint64_t count) const { return count <= pinnedBytes; }

  DeviceStream &stream;
  Allocator memory;
  Array<Slot> slots;
  Array<void *> addresses;
  uint64_t inputBytes = 0, outputBytes = 0; ///< of this run, that are copied; outputs lie behind inputs
  uint64_t allBytes = 0;                    ///< with outputs that are left
  cuda::Address staged = 0;
  uint64_t stagedBytes = 0;
  char *pinned = nullptr;
  uint64_t pinnedBytes = 0;
};

} // namespace rapt::runtime
