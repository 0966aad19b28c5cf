#include "lib/Runtime/Device.h"
#include "lib/Runtime/DeviceStream.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace rapt::runtime {

using cuda::Driver, cuda::Result, cuda::Success, cuda::OutOfMemory, cuda::openDriver;
using ull = unsigned long long;

namespace {

/// Bytes of each of the two buffers through which the weights are copied, and of the weights that are read from the
/// disk meanwhile.
constexpr uint64_t uploadBytes = uint64_t(8) << 20, aheadBytes = uint64_t(64) << 20;

/// Asks the system to read these bytes of a mapped file, at most `most` of them, and does not wait.
void prefetch(const char *from, uint64_t bytes, uint64_t most) {
  const auto page = uintptr_t(sysconf(_SC_PAGESIZE)), address = reinterpret_cast<uintptr_t>(from),
             begin = address / page * page;
  madvise(reinterpret_cast<void *>(begin), address - begin + std::min(bytes, most), MADV_WILLNEED);
}

} // namespace

rapt_status statusOf(Result result) {
  if (result == OutOfMemory)
    return RAPT_NOMEM;
  const bool isOfKernel = result >= cuda::IllegalAddress && result <= cuda::LaunchFailed;
  return isOfKernel || result == cuda::InvalidValue || result == cuda::NotFound ? RAPT_BUG : RAPT_IO;
}

Device::Device(const Driver &driver, int32_t ordinal) : driver(driver), ordinal(ordinal), owner(getpid()) {}

Device::~Device() {
  codes.reset();
  if (!context || !isOwn())
    return;
  if (weightsAddress) {
    DeviceScope scope(*this);
    driver.memoryFree(weightsAddress);
  }
  driver.contextRelease(device);
}

bool Device::isOwn() const { return owner == getpid(); }

rapt_status Device::open(int32_t ordinal, std::unique_ptr<Device> &device, const Report &report) {
  const Driver *driver = nullptr;
  if (rapt_status status = openDriver(driver, report))
    return status;
  device.reset(new (std::nothrow) Device(*driver, ordinal));
  if (!device)
    return report.fail(RAPT_NOMEM, "no memory for a device");
  rapt_status status = device->examine(report);
  return status ? status : device->retain(report);
}

rapt_status Device::examine(const Report &report) {
  int count = 0, major = 0, minor = 0;
  Result result = driver.deviceCount(&count);
  if (result == Success && ordinal >= count)
    return report.fail(RAPT_INVALID, "there is no GPU %d: the CUDA driver finds %d, and the first is 0", ordinal,
                       count);
  if (result == Success)
    result = driver.deviceGet(&device, ordinal);
  if (result == Success)
    result = driver.deviceName(gpuName, sizeof gpuName, device);
  if (result == Success)
    result = driver.deviceAttribute(&major, cuda::CapabilityMajor, device);
  if (result == Success)
    result = driver.deviceAttribute(&minor, cuda::CapabilityMinor, device);
  if (result != Success)
    return report.fail(statusOf(result), "GPU %d cannot be examined: %s", ordinal, driver.text(result));
  arch = 10 * major + minor;
  return RAPT_OK;
}

rapt_status Device::retain(const Report &report) {
  if (Result result = driver.contextRetain(&context, device)) {
    context = nullptr;
    return report.fail(statusOf(result), "GPU %d (%s) cannot be used: %s", ordinal, gpuName, driver.text(result));
  }
  return RAPT_OK;
}

rapt_status Device::load(const rapt_device_code &table, const char *file, const Report &report) {
  if (rapt_status status = checkDeviceCode(table, file, report))
    return status;
  std::unique_ptr<DeviceCode> code;
  if (rapt_status status = DeviceCode::load(*this, table, file, code, report))
    return status;
  code->next = std::move(codes);
  codes = std::move(code);
  return RAPT_OK;
}

rapt_status Device::refuse(const char *file, const char *gpus, const Report &report) const {
  return report.fail(
      RAPT_UNSUPPORTED,
      "%s: the library has code for %s; GPU %d is sm_%d (%s): compile with --gpu-arch=sm_%d, or --target=cpu", file,
      gpus, ordinal, arch, gpuName, arch);
}

bool Device::isLoaded(const rapt_device_code &table) const {
  const DeviceCode *code = codes.get();
  while (code && !code->isOf(&table))
    code = code->next.get();
  return code;
}

const DeviceCode *Device::codeOf(const rapt_kernel &kernel) const {
  const DeviceCode *code = codes.get();
  while (code && !code->has(kernel))
    code = code->next.get();
  return code;
}

void Device::describeShortage(char *text, size_t size, uint64_t wanted, const char *what) const {
  size_t free = 0, total = 0;
  DeviceScope scope(*this);
  driver.memoryInfo(&free, &total);
  snprintf(text, size, "GPU %d (%s) has no memory for %s: %llu bytes wanted, %llu of %llu free", ordinal, gpuName, what,
           ull(wanted), ull(free), ull(total));
}

rapt_status Device::upload(const void *weights, uint64_t bytes, const Report &report) {
  std::unique_ptr<DeviceStream> stream;
  if (rapt_status status = DeviceStream::make(*this, stream, report))
    return status;
  if (bytes == 0)
    return RAPT_OK;
  weightsAddress = stream->allocate(bytes, "the weights");
  if (!weightsAddress)
    return stream->reportTo(report);
  const auto *source = static_cast<const char *>(weights);
  prefetch(source, bytes, aheadBytes);
  const uint64_t piece = std::min(uploadBytes, bytes);
  auto *pinned = static_cast<char *>(stream->allocatePinned(2 * piece));
  int which = 0;
  for (uint64_t at = 0; at < bytes && !stream->hasFailed(); at += piece, which ^= 1) {
    char *buffer = pinned + uint64_t(which) * piece;
    const uint64_t count = std::min(piece, bytes - at), behind = at + aheadBytes;
    if (behind < bytes)
      prefetch(source + behind, bytes - behind, piece);
    stream->waitForMark(which);
    memcpy(buffer, source + at, count); // reads the file while the other buffer is copied
    stream->copyIn(weightsAddress + at, buffer, count);
    stream->mark(which);
  }
  stream->wait();
  char problem[DeviceStream::textBytes];
  const rapt_status status = stream->reportTo(Report(problem, sizeof problem));
  stream->releasePinned(pinned);
  return status ? report.fail(status, "the weights cannot be copied to GPU %d (%s): %s", ordinal, gpuName, problem)
                : RAPT_OK;
}

} // namespace rapt::runtime
