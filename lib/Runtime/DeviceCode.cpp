#include "lib/Runtime/DeviceCode.h"
#include "lib/Runtime/Device.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

namespace rapt::runtime {

using cuda::Function, cuda::Result, cuda::Success;
using ull = unsigned long long;

namespace {

constexpr uint64_t mostKernels = uint64_t(1) << 20, mostImages = 64;
constexpr uint32_t deviceCuda = 2, formPtx = 0, formMachineCode = 1;

/// The first line of the compiler's errors that says anything, behind ": "; empty without.
void cutErrors(const char *errors, char *text, size_t size) {
  errors += strspn(errors, " \t\r\n");
  const int length = int(std::min<size_t>(strcspn(errors, "\r\n"), 200));
  snprintf(text, size, "%s%.*s", length ? ": " : "", length, errors);
}

rapt_status noImage(const Device &device, const rapt_device_code &table, const char *file, const Report &report) {
  char list[512] = "";
  size_t used = 0;
  for (uint32_t i = 0; i < table.image_count && used < sizeof list; ++i) {
    GpuArch own;
    GpuArch::parse(table.images[i].arch, own);
    const bool isOpen = table.images[i].form == formPtx && !own.isExact;
    used += size_t(snprintf(list + used, sizeof list - used, "%s%s%s", i ? ", " : "", table.images[i].arch,
                            isOpen ? " or newer" : ""));
  }
  return device.refuse(file, list, report);
}

} // namespace

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

rapt_status checkDeviceCode(const rapt_device_code &table, const char *file, const Report &report) {
  if (table.device != deviceCuda)
    return report.fail(RAPT_UNSUPPORTED, "%s: it has code for device %u; this runtime knows 2, CUDA", file,
                       table.device);
  if (!table.images || table.image_count < 1 || table.image_count > mostImages || table.kernel_count > mostKernels)
    return report.fail(RAPT_BAD_FILE, "%s: its code for GPUs has %u images and %llu kernels", file, table.image_count,
                       ull(table.kernel_count));
  for (uint32_t i = 0; i < table.image_count; ++i) {
    const rapt_device_image &image = table.images[i];
    GpuArch arch;
    const bool isGood =
        image.arch && GpuArch::parse(image.arch, arch) && image.bytes && image.size && image.form <= formMachineCode;
    if (!isGood || (image.form == formPtx && !memchr(image.bytes, 0, image.size + 1)))
      return report.fail(RAPT_BAD_FILE, "%s: image %u of its code for GPUs is damaged", file, i);
  }
  return RAPT_OK;
}

DeviceCode::~DeviceCode() {
  if (!loaded || !device.isOwn())
    return;
  DeviceScope scope(device);
  device.driver.moduleUnload(loaded);
}

rapt_status DeviceCode::load(const Device &device, const rapt_device_code &table, const char *file,
                             std::unique_ptr<DeviceCode> &code, const Report &report) {
  code.reset(new (std::nothrow) DeviceCode(device, table));
  if (code)
    code->functions.reset(new (std::nothrow) std::atomic<Function>[table.kernel_count]());
  if (!code || !code->functions)
    return report.fail(RAPT_NOMEM, "%s: no memory for %llu kernels", file, ull(table.kernel_count));
  rapt_status status = RAPT_OK;
  bool hasOne = false;
  for (uint32_t i = 0; i < table.image_count; ++i) {
    GpuArch own;
    GpuArch::parse(table.images[i].arch, own);
    if (!own.runsOn(device.architecture(), table.images[i].form == formMachineCode))
      continue;
    hasOne = true;
    if (!(status = code->loadImage(table.images[i], file, report)) || status == RAPT_NOMEM)
      return status;
  }
  return hasOne ? status : noImage(device, table, file, report);
}

rapt_status DeviceCode::loadImage(const rapt_device_image &image, const char *file, const Report &report) {
  char errors[2048] = "", firstError[256];
  int options[] = {cuda::JitErrors, cuda::JitErrorsBytes};
  void *values[] = {errors, reinterpret_cast<void *>(sizeof errors)};
  DeviceScope scope(device);
  Result result = scope.result ? scope.result : device.driver.moduleLoad(&loaded, image.bytes, 2, options, values);
  if (result == Success) {
    architecture = image.arch;
    return RAPT_OK;
  }
  loaded = nullptr;
  errors[sizeof errors - 1] = 0;
  cutErrors(errors, firstError, sizeof firstError);
  return report.fail(result == cuda::OutOfMemory ? RAPT_NOMEM : RAPT_UNSUPPORTED,
                     "%s: the driver of GPU %d (%s, sm_%d) does not load the code for %s: %s%s", file, device.ordinal,
                     device.name(), device.architecture(), image.arch, device.driver.text(result), firstError);
}

Result DeviceCode::find(const rapt_kernel &kernel, Function &function) const {
  constexpr uint32_t withoutAsking = 48 << 10; // bytes of dynamic shared memory that every kernel may have
  std::atomic<Function> &known = functions[kernel.index];
  if ((function = known.load(std::memory_order_acquire)))
    return Success;
  Result result = device.driver.moduleFunction(&function, loaded, kernel.name);
  if (result == Success && kernel.shared_bytes > withoutAsking)
    result = device.driver.functionSetAttribute(function, cuda::MostDynamicSharedBytes, int(kernel.shared_bytes));
  if (result == Success)
    known.store(function, std::memory_order_release);
  return result;
}

} // namespace rapt::runtime
