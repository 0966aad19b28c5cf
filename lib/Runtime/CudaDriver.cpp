//===- CudaDriver.cpp - The CUDA driver, opened at run time ---------------------===//
#include "lib/Runtime/CudaDriver.h"
#include <cstdio>
#include <dlfcn.h>
#include <mutex>
using namespace rapt::runtime;
using namespace rapt::runtime::cuda;

namespace {

/// The outcome of opening the driver; later calls give the same.
struct Opened {
  Driver driver;
  rapt_status status = RAPT_UNSUPPORTED;
  char message[256] = "";
};

void *symbol(void *library, const char *name, Opened &opened) {
  void *found = dlsym(library, name);
  if (!found)
    snprintf(opened.message, sizeof(opened.message),
             "the CUDA driver has no function %s; install a driver for CUDA 12.0 or newer", name);
  return found;
}

/// Fills the table; false with a message where a function is missing.
bool findFunctions(void *library, Opened &opened) {
#define RAPT_CUDA_FIND(name, exported, parameters)                                                                     \
  opened.driver.name = reinterpret_cast<Result(*) parameters>(symbol(library, exported, opened));                      \
  if (!opened.driver.name)                                                                                             \
    return false;
  RAPT_CUDA_FUNCTIONS(RAPT_CUDA_FIND)
#undef RAPT_CUDA_FIND
  return true;
}

void open(Opened &opened) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(opened.message, sizeof(opened.message),
             "there is no CUDA driver (libcuda.so.1); install NVIDIA's driver, or compile with --target=cpu");
    return;
  }
  if (!findFunctions(library, opened))
    return;
  Driver &driver = opened.driver;
  int &version = driver.version, devices = 0;
  Result result = driver.init(0);
  if (result == Success)
    result = driver.driverVersion(&version);
  if (result == Success)
    result = driver.deviceCount(&devices);
  if (result == NoDevice || (result == Success && devices == 0))
    snprintf(opened.message, sizeof(opened.message), "the CUDA driver finds no GPU");
  else if (result != Success)
    snprintf(opened.message, sizeof(opened.message), "the CUDA driver does not start: %s", driver.text(result));
  else if (version < leastDriverVersion)
    snprintf(opened.message, sizeof(opened.message), "the CUDA driver is for CUDA %d.%d; 12.0 or newer is needed",
             version / 1000, version % 1000 / 10);
  else
    opened.status = RAPT_OK;
}

} // namespace

const char *Driver::text(Result result) const {
  const char *text = nullptr;
  return errorText && errorText(result, &text) == Success && text ? text : "unknown error";
}

rapt_status rapt::runtime::cuda::openDriver(const Driver *&driver, const Report &report) {
  static Opened opened;
  static std::once_flag once;
  std::call_once(once, [] { open(opened); });
  driver = &opened.driver;
  return opened.status == RAPT_OK ? RAPT_OK : report.fail(opened.status, "%s", opened.message);
}
