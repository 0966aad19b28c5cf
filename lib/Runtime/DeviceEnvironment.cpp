//===- DeviceEnvironment.cpp - The rapt_env of bare kernels on a GPU --------------===//
#include "lib/Runtime/CallerStruct.h"
#include "lib/Runtime/DeviceStream.h"
#include "rapt/rapt_device.h"
#include <dlfcn.h>
#include <new>
#include <unistd.h>

using namespace rapt::runtime;

struct rapt_device {
  std::unique_ptr<Device> device;
  std::unique_ptr<DeviceStream> stream; ///< ends before its device
  rapt_env env{};
  std::atomic<bool> busy{false};
};

namespace {

/// Holds a device during a call.
class Use {
public:
  Use(rapt_device *device, const Report &report) : device(device) {
    if (!device)
      status = report.fail(RAPT_INVALID, "the device is NULL");
    else if (!device->device->isOwn())
      status = report.fail(RAPT_FORKED, "the device was opened in the parent process: it can only be closed here");
    else if (device->busy.exchange(true, std::memory_order_acquire))
      status = report.fail(RAPT_BUSY, "another thread is using the device");
    else
      isHeld = true;
  }
  ~Use() {
    if (isHeld)
      device->busy.store(false, std::memory_order_release);
  }
  Use(const Use &) = delete;
  Use &operator=(const Use &) = delete;
  rapt_status status = RAPT_OK;

private:
  rapt_device *device;
  bool isHeld = false;
};

/// The library or program that has the code, for messages.
const char *fileOf(const rapt_device_code &code) {
  Dl_info info{};
  return dladdr(&code, &info) && info.dli_fname ? info.dli_fname : "the kernel's library";
}

int32_t launch(void *user, const rapt_kernel *kernel, const void *arguments, int64_t blocks) {
  auto &self = *static_cast<rapt_device *>(user);
  Use use(&self, Report(nullptr, 0));
  if (use.status)
    return use.status;
  DeviceScope scope(*self.device);
  if (kernel && kernel->code && !self.stream->hasFailed() && !self.device->isLoaded(*kernel->code)) {
    char text[DeviceStream::textBytes];
    if (rapt_status status = self.device->load(*kernel->code, fileOf(*kernel->code), Report(text, sizeof text)))
      self.stream->fail(status, text);
  }
  self.stream->launch(kernel, arguments, blocks);
  return self.stream->status();
}

int32_t tensorMap(void *user, const rapt_boxes *tensor, void *map) {
  auto &self = *static_cast<rapt_device *>(user);
  Use use(&self, Report(nullptr, 0));
  if (use.status)
    return 0;
  DeviceScope scope(*self.device);
  return self.device->makeTensorMap(*tensor, map);
}

/// Runs what a call does on the stream, and tells of its failure or of an earlier one.
template <typename Work> rapt_status perform(rapt_device *device, const Report &report, Work work) {
  Use use(device, report);
  if (use.status)
    return use.status;
  work(*device->stream);
  return device->stream->reportTo(report);
}

rapt_status checkCopy(const void *to, const void *from, size_t bytes, const Report &report) {
  return bytes == 0 || (to && from) ? RAPT_OK : report.fail(RAPT_INVALID, "%s is NULL", to ? "from" : "to");
}

cuda::Address addressOf(const void *memory) { return reinterpret_cast<cuda::Address>(memory); }

} // namespace

extern "C" {

rapt_status rapt_device_open(const rapt_device_options *given, rapt_device **out, char *message, size_t message_size) {
  Report report(message, message_size);
  if (!out)
    return report.fail(RAPT_INVALID, "the pointer to the device is NULL");
  *out = nullptr;
  rapt_device_options options{};
  if (given)
    if (rapt_status status = readStruct(given, sizeof options, "rapt_device_options", options, report))
      return status;
  if (options.device < 0)
    return report.fail(RAPT_INVALID, "device is %d; the first is 0", options.device);
  std::unique_ptr<rapt_device> made(new (std::nothrow) rapt_device);
  if (!made)
    return report.fail(RAPT_NOMEM, "no memory for a device");
  if (rapt_status status = Device::open(options.device, made->device, report))
    return status;
  auto stream = static_cast<cuda::Stream>(options.stream);
  if (rapt_status status = DeviceStream::make(*made->device, made->stream, report, stream))
    return status;
  made->env = {made.get(), nullptr, RAPT_DEVICE_WORKERS, launch, tensorMap};
  *out = made.release();
  return RAPT_OK;
}

void rapt_device_close(rapt_device *device) { delete device; }

const rapt_env *rapt_device_env(const rapt_device *device) { return device ? &device->env : nullptr; }

rapt_status rapt_device_allocate(rapt_device *device, size_t bytes, void **memory, char *message, size_t message_size) {
  Report report(message, message_size);
  if (!memory)
    return report.fail(RAPT_INVALID, "the pointer to the memory is NULL");
  *memory = nullptr;
  return perform(device, report,
                 [&](DeviceStream &stream) { *memory = reinterpret_cast<void *>(stream.allocate(bytes, "an array")); });
}

void rapt_device_free(rapt_device *device, void *memory) {
  if (device)
    device->stream->release(addressOf(memory));
}

rapt_status rapt_device_copy_in(rapt_device *device, void *to, const void *from, size_t bytes, char *message,
                                size_t message_size) {
  Report report(message, message_size);
  if (rapt_status status = checkCopy(to, from, bytes, report))
    return status;
  return perform(device, report, [&](DeviceStream &stream) {
    stream.copyIn(addressOf(to), from, bytes);
    stream.wait();
  });
}

rapt_status rapt_device_copy_out(rapt_device *device, void *to, const void *from, size_t bytes, char *message,
                                 size_t message_size) {
  Report report(message, message_size);
  if (rapt_status status = checkCopy(to, from, bytes, report))
    return status;
  return perform(device, report, [&](DeviceStream &stream) {
    stream.copyOut(to, addressOf(from), bytes);
    stream.wait();
  });
}

rapt_status rapt_device_synchronize(rapt_device *device, char *message, size_t message_size) {
  return perform(device, Report(message, message_size), [](DeviceStream &stream) { stream.wait(); });
}
}
