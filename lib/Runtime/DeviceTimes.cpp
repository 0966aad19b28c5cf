#include "lib/Runtime/DeviceTimes.h"
#include "lib/Runtime/Profile.h"
#include <algorithm>

namespace rapt::runtime {

DeviceTimes::~DeviceTimes() {
  for (size_t i = 0; i < made; ++i) {
    stream.destroy(launches[i].begin);
    stream.destroy(launches[i].end);
  }
}

/// Events for one more kernel. False with a failure of the stream.
bool DeviceTimes::reserve() {
  constexpr size_t first = 256;
  if (count < made)
    return true;
  if (made == launches.size()) {
    Array<Launch> larger;
    if (!larger.allocate(memory, std::max(first, 2 * launches.size()))) {
      stream.fail(RAPT_NOMEM, "no memory for the times of kernels");
      return false;
    }
    std::copy_n(launches.data(), made, larger.data());
    launches.swap(larger);
  }
  launches[made] = {stream.makeEvent(), stream.makeEvent(), -1};
  ++made;
  return !stream.hasFailed();
}

void DeviceTimes::launch(const rapt_kernel &kernel, const void *arguments, int64_t blocks) {
  if (stream.hasFailed() || !reserve())
    return;
  Launch &launch = launches[count++];
  launch.dispatch = kernel.dispatch;
  stream.launch(&kernel, arguments, blocks, /*overlaps=*/false, launch.begin, launch.end);
}

void DeviceTimes::addTo(Profile &profile) {
  stream.wait();
  for (size_t i = 0; i < count; ++i)
    profile.addDispatch(launches[i].dispatch, stream.secondsBetween(launches[i].begin, launches[i].end));
}

} // namespace rapt::runtime
