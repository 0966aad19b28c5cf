//===- DeviceCode.h - An artifact's code in a GPU's memory ------------------------===//
#pragma once
#include "lib/Runtime/CudaApi.h"
#include "lib/Runtime/Message.h"
#include "rapt/artifact.h"
#include <atomic>
#include <memory>

namespace rapt::runtime {

class Device;

/// "sm_90a"
struct GpuArch {
  int number = 0;       ///< ten times the major architecture, plus the minor one
  bool isExact = false; ///< its code runs on no other architecture

  /// False for anything but "sm_", two or three digits, and at most an 'a'.
  static bool parse(const char *name, GpuArch &arch);
  /// Whether a GPU of architecture `gpu` runs code for this one: machine code, or PTX that the driver compiles.
  bool runsOn(int gpu, bool isMachineCode) const;
};

/// Checks a table before anything is done with it. `file` names the artifact in messages.
rapt_status checkDeviceCode(const rapt_device_code &table, const char *file, const Report &report);

/// An image of a table, loaded. Its kernels are found by any thread.
class DeviceCode {
public:
  /// Loads the first image that runs on the GPU and that its driver takes: an old driver refuses machine code of a
  /// newer CUDA. The table was checked.
  static rapt_status load(const Device &device, const rapt_device_code &table, const char *file,
                          std::unique_ptr<DeviceCode> &code, const Report &report);
  DeviceCode(const DeviceCode &) = delete;
  DeviceCode &operator=(const DeviceCode &) = delete;
  ~DeviceCode();

  bool isOf(const rapt_device_code *code) const { return code == &table; }
  /// Whether the kernel is one of this code.
  bool has(const rapt_kernel &kernel) const {
    return isOf(kernel.code) && kernel.name && kernel.index < table.kernel_count;
  }
  /// The kernel's function, which is looked up when it is first asked for. Inside a DeviceScope.
  cuda::Result find(const rapt_kernel &kernel, cuda::Function &function) const;

  const char *architecture = "";    ///< of the image
  std::unique_ptr<DeviceCode> next; ///< another artifact's on the same device

private:
  DeviceCode(const Device &device, const rapt_device_code &table) : device(device), table(table) {}
  rapt_status loadImage(const rapt_device_image &image, const char *file, const Report &report);

  const Device &device;
  const rapt_device_code &table;
  cuda::Module loaded = nullptr;
  std::unique_ptr<std::atomic<cuda::Function>[]> functions; ///< by index, null until they are found
};

} // namespace rapt::runtime
