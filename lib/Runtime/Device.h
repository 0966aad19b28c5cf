//===- Device.h - A GPU with the code of artifacts ------------------------------===//
//
// A module of code for GPUs owns a Device: the GPU's context, the loaded code and the
// weights, which its contexts share. Each of these has a DeviceStream.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Runtime/CudaDriver.h"
#include "lib/Runtime/DeviceCode.h"
#include <sys/types.h>

namespace rapt::runtime {

class Device {
public:
  /// Opens the driver and the context of GPU `ordinal`, at least 0.
  static rapt_status open(int32_t ordinal, std::unique_ptr<Device> &device, const Report &report);
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;
  ~Device();

  /// Copies the weights into the GPU's memory.
  rapt_status upload(const void *weights, uint64_t bytes, const Report &report);
  /// Their address, 0 without. The host never reads there.
  cuda::Address weights() const { return weightsAddress; }

  /// Checks and loads an artifact's code, which outlives the device. `file` names the artifact in messages.
  rapt_status load(const rapt_device_code &table, const char *file, const Report &report);
  /// The loaded code that the kernel belongs to; null where it is not loaded, or the kernel is none of its own.
  const DeviceCode *codeOf(const rapt_kernel &kernel) const;
  bool isLoaded(const rapt_device_code &table) const;
  /// The architecture of the code that was loaded last, "sm_90a"; "" without.
  const char *codeArchitecture() const { return codes ? codes->architecture : ""; }
  /// The GPU's, as GpuArch::number, and its name.
  int architecture() const { return arch; }
  const char *name() const { return gpuName; }
  /// Fails with a line that says for which GPUs the library has code, such as "sm_90a, sm_80 or newer".
  rapt_status refuse(const char *file, const char *gpus, const Report &report) const;
  /// Writes "out of memory on GPU 0 (NAME): ... bytes wanted for WHAT, ... free".
  void describeShortage(char *text, size_t size, uint64_t wanted, const char *what) const;
  /// Writes the tensor map of an array (artifact.h). False where the array has none. Inside a DeviceScope.
  bool makeTensorMap(const rapt_boxes &tensor, void *map) const;
  /// False in a child process, in which the parent's driver is of no use.
  bool isOwn() const;

  const cuda::Driver &driver;
  const int32_t ordinal;

private:
  friend class DeviceScope;
  Device(const cuda::Driver &driver, int32_t ordinal);
  rapt_status examine(const Report &report);
  rapt_status retain(const Report &report);

  pid_t owner;
  int arch = 0;
  char gpuName[64] = "";
  cuda::Device device = 0;
  cuda::Context context = nullptr;
  std::unique_ptr<DeviceCode> codes; ///< newest first
  cuda::Address weightsAddress = 0;
};

/// Makes the device's context the thread's current one, and after that the one that it was before.
class DeviceScope {
public:
  explicit DeviceScope(const Device &device) : driver(device.driver), result(driver.contextPush(device.context)) {}
  ~DeviceScope() {
    if (result == cuda::Success)
      driver.contextPop(nullptr);
  }
  DeviceScope(const DeviceScope &) = delete;
  DeviceScope &operator=(const DeviceScope &) = delete;

private:
  const cuda::Driver &driver;

public:
  const cuda::Result result;
};

/// The status for a result of the driver.
rapt_status statusOf(cuda::Result result);

} // namespace rapt::runtime
