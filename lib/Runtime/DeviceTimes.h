//===- DeviceTimes.h - Times of kernels by events of their stream -----------------===//
#pragma once
#include "lib/Runtime/DeviceStream.h"

namespace rapt::runtime {

class Profile;

/// The kernels that an entry starts while a profile is on, each between two events. The events are kept for later runs.
class DeviceTimes {
public:
  DeviceTimes(DeviceStream &stream, const Allocator &memory) : stream(stream), memory(memory) {}
  DeviceTimes(const DeviceTimes &) = delete;
  DeviceTimes &operator=(const DeviceTimes &) = delete;
  ~DeviceTimes();

  /// Forgets the kernels of a run before.
  void clear() { count = 0; }
  /// Starts a kernel of a dispatch, at least one block.
  void launch(const rapt_kernel &kernel, const void *arguments, int64_t blocks);
  /// Waits for the kernels, and adds the time of each to the profile. A failure is the stream's.
  void addTo(Profile &profile);

private:
  struct Launch {
    cuda::Event begin, end;
    int64_t dispatch;
  };
  bool reserve();

  DeviceStream &stream;
  Allocator memory;
  Array<Launch> launches; ///< the first `made` of them have events
  size_t made = 0, count = 0;
};

} // namespace rapt::runtime
