//===- Driver.cpp - Device, context, modules and launches ---------------------===//
//
// Exports the functions of libcuda.so.1 that lib/Runtime/CudaApi.h lists.
//
//===----------------------------------------------------------------------------===//
#include "test/Simulator/Cuda/State.h"
#include "test/Simulator/PTX/TensorMap.h"
#include <algorithm>
#include <cstring>
using namespace rapt;
using namespace rapt::runtime::cuda;

namespace {

/// The architecture of ".target sm_90a": its number, and whether it is for that device alone.
std::pair<uint64_t, bool> archOf(std::string_view target) {
  uint64_t number = 0;
  for (char c : target)
    if (c >= '0' && c <= '9')
      number = number * 10 + uint64_t(c - '0');
  return {number, target.ends_with("a")};
}

const char *textOf(Result result) {
  switch (result) {
  case Success:
    return "no error";
  case InvalidValue:
    return "invalid argument";
  case OutOfMemory:
    return "out of memory";
  case NotInitialized:
    return "initialization error";
  case NoDevice:
    return "no CUDA-capable device is detected";
  case InvalidDevice:
    return "invalid device ordinal";
  case InvalidImage:
    return "device kernel image is invalid";
  case InvalidContext:
    return "invalid device context";
  case NoBinaryForGpu:
    return "no kernel image is available for execution on the device";
  case EccUncorrectable:
    return "uncorrectable ECC error encountered";
  case InvalidPtx:
    return "a PTX JIT compilation failed";
  case InvalidHandle:
    return "invalid resource handle";
  case NotFound:
    return "named symbol not found";
  case LaunchFailed:
    return "unspecified launch failure";
  case CaptureUnsupported:
    return "operation not permitted when stream is capturing";
  case CaptureInvalidated:
    return "operation failed due to a previous error during capture";
  default:
    return "operation not supported";
  }
}

bool hasContext(const State &state) { return !state.current.empty(); }

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default"))) Result

EXPORT cuInit(unsigned) {
  State &state = State::get();
  state.isInitialized = state.devices != 0;
  return state.devices ? Success : NoDevice;
}
EXPORT cuDriverGetVersion(int *version) {
  *version = int(State::get().version);
  return Success;
}
EXPORT cuGetErrorString(Result result, const char **text) {
  *text = textOf(result);
  return Success;
}

//===- Device and context ---------------------------------------------------------===//

EXPORT cuDeviceGetCount(int *count) {
  *count = int(State::get().devices);
  return State::get().isInitialized ? Success : NotInitialized;
}
EXPORT cuDeviceGet(Device *device, int ordinal) {
  State &state = State::get();
  *device = ordinal;
  return !state.isInitialized                                ? NotInitialized
         : ordinal < 0 || uint64_t(ordinal) >= state.devices ? InvalidDevice
                                                             : Success;
}
EXPORT cuDeviceGetName(char *name, int bytes, Device) {
  if (bytes <= 0)
    return InvalidValue;
  strncpy(name, "simulated GPU", size_t(bytes));
  name[bytes - 1] = 0;
  return Success;
}
EXPORT cuDeviceGetAttribute(int *value, int attribute, Device) {
  State &state = State::get();
  switch (attribute) {
  case MultiprocessorCount:
    *value = 4;
    return Success;
  case CapabilityMajor:
    *value = int(state.arch / 10);
    return Success;
  case CapabilityMinor:
    *value = int(state.arch % 10);
    return Success;
  case MostSharedBytes:
    *value = state.arch >= 90 ? 227 * 1024 : 163 * 1024;
    return Success;
  default:
    return InvalidValue;
  }
}
EXPORT cuDeviceTotalMem_v2(size_t *bytes, Device) {
  *bytes = State::get().memory;
  return Success;
}
EXPORT cuDevicePrimaryCtxRetain(Context *context, Device) {
  State &state = State::get();
  ++state.context.users;
  *context = &state.context;
  return state.isInitialized ? Success : NotInitialized;
}
EXPORT cuDevicePrimaryCtxRelease_v2(Device) {
  State &state = State::get();
  return state.context.users-- > 0 ? Success : InvalidContext;
}
EXPORT cuCtxPushCurrent_v2(Context context) {
  std::lock_guard lock(State::get().mutex);
  State::get().current.push_back(context);
  return context ? Success : InvalidContext;
}
EXPORT cuCtxPopCurrent_v2(Context *context) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  if (!hasContext(state))
    return InvalidContext;
  if (context)
    *context = state.current.back();
  state.current.pop_back();
  return Success;
}

//===- Modules ---------------------------------------------------------------------===//

EXPORT cuModuleLoadDataEx(Module *module, const void *image, unsigned, int *, void **) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  if (!hasContext(state))
    return InvalidContext;
  if (state.forbidsInCapture())
    return CaptureUnsupported;
  const char *text = static_cast<const char *>(image);
  if (memcmp(text,
             "\x7f"
             "ELF",
             4) == 0)
    return NoBinaryForGpu;
  Expected<std::unique_ptr<ptx::LoadedModule>> loaded = state.simulator.load(text);
  if (!loaded) {
    fprintf(stderr, "simulated driver: %s\n", loaded.error().message.c_str());
    return InvalidPtx;
  }
  auto [arch, isExact] = archOf((*loaded)->module.target);
  if (isExact ? arch != state.arch : arch > state.arch)
    return NoBinaryForGpu;
  auto handle = std::make_unique<ModuleHandle>();
  handle->loaded = std::move(*loaded);
  *module = handle.get();
  state.modules.insert(std::move(handle));
  return Success;
}
EXPORT cuModuleUnload(Module module) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  auto found = std::ranges::find(state.modules, module, [](const auto &owned) { return owned.get(); });
  if (found == state.modules.end())
    return InvalidValue;
  state.modules.erase(found);
  return Success;
}
EXPORT cuModuleGetFunction(Function *function, Module module, const char *name) {
  std::lock_guard lock(State::get().mutex);
  if (State::get().forbidsInCapture()) // it may load the kernel
    return CaptureUnsupported;
  const ptx::Kernel *kernel = module->loaded->module.find(name);
  if (!kernel)
    return NotFound;
  module->functions.push_back(std::make_unique<FunctionHandle>(FunctionHandle{module, kernel}));
  *function = module->functions.back().get();
  return Success;
}
EXPORT cuFuncSetAttribute(Function function, int attribute, int value) {
  if (attribute != MostDynamicSharedBytes || value < 0)
    return InvalidValue;
  function->mostDynamicSharedBytes = uint32_t(value);
  return Success;
}

//===- Launches --------------------------------------------------------------------===//

EXPORT cuLaunchKernelEx(const LaunchConfig *config, Function function, void **parameters, void **) {
  State &state = State::get();
  Stream stream = config->stream;
  std::lock_guard lock(state.mutex);
  if (!hasContext(state))
    return InvalidContext;
  if (config->sharedBytes > function->mostDynamicSharedBytes)
    return InvalidValue;
  ptx::LaunchOptions options;
  options.grid = {config->gridX, config->gridY, config->gridZ};
  options.threads = {config->threadsX, config->threadsY, config->threadsZ};
  options.dynamicSharedBytes = config->sharedBytes;
  for (unsigned i = 0; i < config->attributeCount; ++i) {
    if (config->attributes[i].id != launchOverlaps)
      return NotSupported;
    options.overlaps = config->attributes[i].value.number != 0;
  }
  options.copies = options.matmuls = state.async;
  options.seed = state.seed;
  options.parameters.resize(function->kernel->parameterBytes);
  // Parameters are copied when the kernel is launched, not when it runs.
  for (size_t place = 0; place < function->kernel->parameters.size(); ++place) {
    const ptx::Parameter &parameter = function->kernel->parameters[place];
    memcpy(options.parameters.data() + parameter.offset, parameters[place], parameter.size);
  }
  if (!stream || !stream->isCapturing())
    ++state.counts.kernels;
  return state.issue(stream,
                     [&state, function, options = std::move(options)] { return state.run(*function, options); });
}
EXPORT cuLaunchKernel(Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned threadsX,
                      unsigned threadsY, unsigned threadsZ, unsigned sharedBytes, Stream stream, void **parameters,
                      void **extra) {
  const LaunchConfig config{gridX, gridY, gridZ, threadsX, threadsY, threadsZ, sharedBytes, stream, nullptr, 0};
  return cuLaunchKernelEx(&config, function, parameters, extra);
}
EXPORT cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address, const uint64_t *extents,
                              const uint64_t *strides, const uint32_t *box, const uint32_t *elementStrides,
                              int interleave, int swizzle, int, int fill) {
  ptx::TensorMap result;
  if (rank == 0 || rank > ptx::TensorMap::mostDims || interleave || swizzle < 0 || swizzle > Swizzle128)
    return InvalidValue;
  result.address = reinterpret_cast<uint64_t>(address);
  result.rank = uint8_t(rank);
  result.elementSize = type == TensorU8 ? 1 : type == TensorI32 || type == TensorF32 ? 4 : 2;
  result.swizzle = ptx::Swizzle(swizzle);
  result.fillsNaN = fill != 0;
  for (uint32_t dim = 0; dim < rank; ++dim) {
    if (elementStrides[dim] != 1 || box[dim] > 256)
      return InvalidValue;
    result.extents[dim] = extents[dim];
    result.strides[dim] = dim ? strides[dim - 1] : result.elementSize;
    result.box[dim] = uint16_t(box[dim]);
  }
  if (result.problem())
    return InvalidValue;
  result.encode(std::span<std::byte, tensorMapBytes>(static_cast<std::byte *>(map), tensorMapBytes));
  return Success;
}

//===- For tests -------------------------------------------------------------------===//

extern "C" __attribute__((visibility("default"))) void raptSimulatedCounts(Counts *counts) {
  *counts = State::get().counts;
}
