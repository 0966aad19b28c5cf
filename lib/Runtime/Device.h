//===- Device.h - A GPU with the code of an artifact -----------------------------===//
//
// A module of code for GPUs owns a Device: the GPU's context, the loaded code and the
// weights, which its contexts share. Each of these has a DeviceStream.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Runtime/CudaDriver.h"
#include "rapt/artifact.h"
#include <atomic>
#include <memory>
#include <sys/types.h>

namespace rapt::runtime {

/// "sm_90a"
struct GpuArch {
  int number = 0;       ///< ten times the major architecture, plus the minor one
  bool isExact = false; ///< its code runs on no other architecture

  /// False for anything but "sm_", two or three digits, and at most an 'a'.
  static bool parse(const char *name, GpuArch &arch);
  /// Whether a GPU of architecture `gpu` runs code for this one: machine code, or PTX that the driver compiles.
  bool runsOn(int gpu, bool isMachineCode) const;
};

class Device {
public:
  /// Opens the driver, and loads the first image that runs on GPU `ordinal`. `file` names the artifact in messages.
  static rapt_status open(const rapt_device_code &code, int32_t ordinal, const char *file,
                          std::unique_ptr<Device> &device, const Report &report);
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;
  ~Device();

  /// Copies the weights into the GPU's memory.
  rapt_status upload(const void *weights, uint64_t bytes, const Report &report);
  /// Their address, 0 without. The host never reads there.
  cuda::Address weights() const { return weightsAddress; }

  /// The kernel's function, which is looked up when it is first asked for. From any thread, inside a DeviceScope.
  cuda::Result find(const rapt_kernel &kernel, cuda::Function &function) const;
  /// Whether the kernel is one of the loaded code.
  bool has(const rapt_kernel *kernel) const {
    return kernel && kernel->code == &code && kernel->name && kernel->index < code.kernel_count;
  }
  /// Writes "out of memory on GPU 0 (NAME): ... bytes wanted for WHAT, ... free".
  void describeShortage(char *text, size_t size, uint64_t wanted, const char *what) const;
  /// False in a child process, in which the parent's driver is of no use.
  bool isOwn() const;

  const cuda::Driver &driver;

private:
  friend class DeviceScope;
  Device(const cuda::Driver &driver, const rapt_device_code &code, int32_t ordinal);
  rapt_status examine(const Report &report);
  rapt_status load(const char *file, const Report &report);
  rapt_status loadImage(const rapt_device_image &image, const char *file, const Report &report);
  rapt_status noImage(const char *file, const Report &report) const;

  const rapt_device_code &code;
  int32_t ordinal;
  pid_t owner;
  int arch = 0; ///< of the GPU, as GpuArch::number
  char name[64] = "";
  cuda::Device device = 0;
  cuda::Context context = nullptr;
  cuda::Module loaded = nullptr;
  std::unique_ptr<std::atomic<cuda::Function>[]> functions; ///< by index, null until they are found
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
