#include "lib/Runtime/Device.h"
#include "lib/Runtime/DeviceStream.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <unistd.h>

namespace rapt::runtime {

using cuda::Driver, cuda::Function, cuda::Result, cuda::Success, cuda::OutOfMemory, cuda::openDriver;
using ull = unsigned long long;

namespace {

constexpr uint64_t mostKernels = uint64_t(1) << 20, mostImages = 64;
constexpr uint32_t deviceCuda = 2, formPtx = 0, formMachineCode = 1;
/// Bytes of each of the two buffers through which the weights are copied.
constexpr uint64_t uploadBytes = uint64_t(8) << 20;

rapt_status checkCode(const rapt_device_code &code, const char *file, const Report &report) {
  if (code.device != deviceCuda)
    return report.fail(RAPT_UNSUPPORTED, "%s: it has code for device %u; this runtime knows 2, CUDA", file,
                       code.device);
  if (!code.images || code.image_count < 1 || code.image_count > mostImages || code.kernel_count > mostKernels)
    return report.fail(RAPT_BAD_FILE, "%s: its code for GPUs has %u images and %llu kernels", file, code.image_count,
                       ull(code.kernel_count));
  for (uint32_t i = 0; i < code.image_count; ++i) {
    const rapt_device_image &image = code.images[i];
    GpuArch arch;
    const bool isGood =
        image.arch && GpuArch::parse(image.arch, arch) && image.bytes && image.size && image.form <= formMachineCode;
    if (!isGood || (image.form == formPtx && !memchr(image.bytes, 0, image.size + 1)))
      return report.fail(RAPT_BAD_FILE, "%s: image %u of its code for GPUs is damaged", file, i);
  }
  return RAPT_OK;
}

/// The first line of the compiler's errors that says anything, behind ": "; empty without.
void cutErrors(const char *errors, char *text, size_t size) {
  errors += strspn(errors, " \t\r\n");
  const int length = int(std::min<size_t>(strcspn(errors, "\r\n"), 200));
  snprintf(text, size, "%s%.*s", length ? ": " : "", length, errors);
}

} // namespace

rapt_status statusOf(Result result) {
  if (result == OutOfMemory)
    return RAPT_NOMEM;
  const bool isOfKernel = result >= cuda::IllegalAddress && result <= cuda::LaunchFailed;
  return isOfKernel || result == cuda::InvalidValue || result == cuda::NotFound ? RAPT_BUG : RAPT_IO;
}

bool GpuArch::parse(const char *name, GpuArch &arch) {
  arch = {};
  if (strncmp(name, "sm_", 3) != 0)
    return false;
  const char *at = name + 3;
  for (; *at >= '0' && *at <= '9' && at < name + 6; ++at)
    arch.number = arch.number * 10 + (*at - '0');
  arch.isExact = *at == 'a';
  return arch.number >= 10 && at >= name + 5 && !at[arch.isExact];
}

bool GpuArch::runsOn(int gpu, bool isMachineCode) const {
  return isExact ? gpu == number : gpu >= number && (!isMachineCode || gpu / 10 == number / 10);
}

Device::Device(const Driver &driver, const rapt_device_code &code, int32_t ordinal)
    : driver(driver), code(code), ordinal(ordinal), owner(getpid()) {}

Device::~Device() {
  if (!context || !isOwn())
    return;
  {
    DeviceScope scope(*this);
    if (weightsAddress)
      driver.memoryFree(weightsAddress);
    if (loaded)
      driver.moduleUnload(loaded);
  }
  driver.contextRelease(device);
}

bool Device::isOwn() const { return owner == getpid(); }

rapt_status Device::open(const rapt_device_code &code, int32_t ordinal, const char *file,
                         std::unique_ptr<Device> &device, const Report &report) {
  if (rapt_status status = checkCode(code, file, report))
    return status;
  const Driver *driver = nullptr;
  if (rapt_status status = openDriver(driver, report))
    return status;
  device.reset(new (std::nothrow) Device(*driver, code, ordinal));
  if (!device)
    return report.fail(RAPT_NOMEM, "%s: no memory for a device", file);
  device->functions.reset(new (std::nothrow) std::atomic<Function>[code.kernel_count]());
  if (!device->functions)
    return report.fail(RAPT_NOMEM, "%s: no memory for %llu kernels", file, ull(code.kernel_count));
  rapt_status status = device->examine(report);
  return status ? status : device->load(file, report);
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
    result = driver.deviceName(name, sizeof name, device);
  if (result == Success)
    result = driver.deviceAttribute(&major, cuda::CapabilityMajor, device);
  if (result == Success)
    result = driver.deviceAttribute(&minor, cuda::CapabilityMinor, device);
  if (result != Success)
    return report.fail(statusOf(result), "GPU %d cannot be examined: %s", ordinal, driver.text(result));
  arch = 10 * major + minor;
  return RAPT_OK;
}

rapt_status Device::noImage(const char *file, const Report &report) const {
  char list[512] = "";
  size_t used = 0;
  for (uint32_t i = 0; i < code.image_count && used < sizeof list; ++i) {
    GpuArch own;
    GpuArch::parse(code.images[i].arch, own);
    const bool isOpen = code.images[i].form == formPtx && !own.isExact;
    used += size_t(snprintf(list + used, sizeof list - used, "%s%s%s", i ? ", " : "", code.images[i].arch,
                            isOpen ? " or newer" : ""));
  }
  return report.fail(
      RAPT_UNSUPPORTED,
      "%s: the library has code for %s; GPU %d is sm_%d (%s): compile with --gpu-arch=sm_%d, or --target=cpu", file,
      list, ordinal, arch, name, arch);
}

rapt_status Device::load(const char *file, const Report &report) {
  const rapt_device_image *chosen = nullptr;
  for (uint32_t i = 0; i < code.image_count && !chosen; ++i) {
    GpuArch own;
    GpuArch::parse(code.images[i].arch, own);
    if (own.runsOn(arch, code.images[i].form == formMachineCode))
      chosen = &code.images[i];
  }
  if (!chosen)
    return noImage(file, report);
  if (Result result = driver.contextRetain(&context, device)) {
    context = nullptr;
    return report.fail(statusOf(result), "GPU %d (%s) cannot be used: %s", ordinal, name, driver.text(result));
  }
  return loadImage(*chosen, file, report);
}

rapt_status Device::loadImage(const rapt_device_image &image, const char *file, const Report &report) {
  char errors[2048] = "", firstError[256];
  int options[] = {cuda::JitErrors, cuda::JitErrorsBytes};
  void *values[] = {errors, reinterpret_cast<void *>(sizeof errors)};
  DeviceScope scope(*this);
  Result result = scope.result ? scope.result : driver.moduleLoad(&loaded, image.bytes, 2, options, values);
  if (result == Success)
    return RAPT_OK;
  loaded = nullptr;
  errors[sizeof errors - 1] = 0;
  cutErrors(errors, firstError, sizeof firstError);
  return report.fail(result == OutOfMemory ? RAPT_NOMEM : RAPT_UNSUPPORTED,
                     "%s: the driver of GPU %d (%s, sm_%d) does not load the code for %s: %s%s", file, ordinal, name,
                     arch, image.arch, driver.text(result), firstError);
}

Result Device::find(const rapt_kernel &kernel, Function &function) const {
  constexpr uint32_t withoutAsking = 48 << 10; // bytes of dynamic shared memory that every kernel may have
  std::atomic<Function> &known = functions[kernel.index];
  if ((function = known.load(std::memory_order_acquire)))
    return Success;
  Result result = driver.moduleFunction(&function, loaded, kernel.name);
  if (result == Success && kernel.shared_bytes > withoutAsking)
    result = driver.functionSetAttribute(function, cuda::MostDynamicSharedBytes, int(kernel.shared_bytes));
  if (result == Success)
    known.store(function, std::memory_order_release);
  return result;
}

void Device::describeShortage(char *text, size_t size, uint64_t wanted, const char *what) const {
  size_t free = 0, total = 0;
  DeviceScope scope(*this);
  driver.memoryInfo(&free, &total);
  snprintf(text, size, "GPU %d (%s) has no memory for %s: %llu bytes wanted, %llu of %llu free", ordinal, name, what,
           ull(wanted), ull(free), ull(total));
}

rapt_status Device::upload(const void *weights, uint64_t bytes, const Report &report) {
  std::unique_ptr<DeviceStream> stream;
  if (rapt_status status = DeviceStream::make(*this, stream, report))
    return status;
  if (bytes == 0)
    return RAPT_OK;
  weightsAddress = stream->allocate(bytes, "the weights");
  const uint64_t piece = std::min(uploadBytes, bytes);
  auto *pinned = static_cast<char *>(stream->allocatePinned(2 * piece));
  int which = 0;
  for (uint64_t at = 0; at < bytes && !stream->hasFailed(); at += piece, which ^= 1) {
    char *buffer = pinned + uint64_t(which) * piece;
    const uint64_t count = std::min(piece, bytes - at);
    stream->waitForMark(which);
    memcpy(buffer, static_cast<const char *>(weights) + at, count); // reads the file while the other buffer is copied
    stream->copyIn(weightsAddress + at, buffer, count);
    stream->mark(which);
  }
  stream->wait();
  const rapt_status status = stream->tell(report);
  stream->releasePinned(pinned);
  return status;
}

} // namespace rapt::runtime
