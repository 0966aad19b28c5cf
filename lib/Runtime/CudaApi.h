//===- CudaApi.h - Functions of the CUDA driver ---------------------------------===//
//
// libcuda.so.1 is opened at run time, so that a library with code for GPUs runs on a
// machine without one. These are the declarations that Rapt uses, without CUDA's headers.
// Source: CUDA driver API, version 12.
//
//===-------------------------------------------------------------------------------===//
#pragma once
#include <cstddef>
#include <cstdint>

namespace rapt::runtime::cuda {

/// CUresult; 0 is success.
using Result = int;
enum : Result {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  EccUncorrectable = 214,
  InvalidPtx = 218,
  InvalidHandle = 400,
  NotFound = 500,
  IllegalAddress = 700, ///< first and last of the failures that a running kernel causes
  LaunchFailed = 719,
  NotSupported = 801,
  CaptureUnsupported = 900, ///< an operation that a stream which is captured forbids, and the end of such a capture
  CaptureInvalidated = 901
};

using Device = int;
using Address = uint64_t; ///< CUdeviceptr
using Context = struct ContextHandle *;
using Module = struct ModuleHandle *;
using Function = struct FunctionHandle *;
using Stream = struct StreamHandle *;
using Event = struct EventHandle *;
using Graph = struct GraphHandle *;
using GraphExec = struct GraphExecHandle *;

/// CUdevice_attribute
enum Attribute : int { MultiprocessorCount = 16, CapabilityMajor = 75, CapabilityMinor = 76, MostSharedBytes = 97 };
/// CUfunction_attribute
enum FunctionAttribute : int { MostDynamicSharedBytes = 8 };
/// CUjit_option: the buffer for the compiler's errors and its size
enum JitOption : int { JitErrors = 5, JitErrorsBytes = 6 };
/// CUlaunchAttribute; the value's union has 64 bytes.
struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    int number;
    char bytes[64];
  } value;
};
/// CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: the kernel may start before the one in front of it ends.
inline constexpr int launchOverlaps = 6;
/// CUlaunchConfig
struct LaunchConfig {
  unsigned gridX, gridY, gridZ, threadsX, threadsY, threadsZ, sharedBytes;
  Stream stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};
/// CU_EVENT_DISABLE_TIMING
inline constexpr unsigned withoutTime = 2;
/// CU_STREAM_NON_BLOCKING, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
inline constexpr unsigned nonBlocking = 1;
inline constexpr int captureOfThread = 1;

/// A tensor map: CUtensorMap, with its enumerations.
inline constexpr size_t tensorMapBytes = 128, tensorMapAlignment = 64;
enum TensorType : int { TensorU8 = 0, TensorU16 = 1, TensorI32 = 3, TensorF16 = 6, TensorF32 = 7, TensorBF16 = 9 };
enum TensorSwizzle : int { NoSwizzle = 0, Swizzle32 = 1, Swizzle64 = 2, Swizzle128 = 3 };
/// CU_TENSOR_MAP_L2_PROMOTION_L2_128B
inline constexpr int promote128 = 2;
inline constexpr int tensorMapDims = 5;

/// Each function: member, exported symbol, parameters.
#define RAPT_CUDA_FUNCTIONS(F)                                                                                         \
  F(init, "cuInit", (unsigned flags))                                                                                  \
  F(driverVersion, "cuDriverGetVersion", (int *version))                                                               \
  F(errorText, "cuGetErrorString", (Result result, const char **text))                                                 \
  F(deviceCount, "cuDeviceGetCount", (int *count))                                                                     \
  F(deviceGet, "cuDeviceGet", (Device * device, int ordinal))                                                          \
  F(deviceName, "cuDeviceGetName", (char *name, int bytes, Device device))                                             \
  F(deviceAttribute, "cuDeviceGetAttribute", (int *value, int attribute, Device device))                               \
  F(deviceMemory, "cuDeviceTotalMem_v2", (size_t *bytes, Device device))                                               \
  F(contextRetain, "cuDevicePrimaryCtxRetain", (Context * context, Device device))                                     \
  F(contextRelease, "cuDevicePrimaryCtxRelease_v2", (Device device))                                                   \
  F(contextPush, "cuCtxPushCurrent_v2", (Context context))                                                             \
  F(contextPop, "cuCtxPopCurrent_v2", (Context * context))                                                             \
  F(moduleLoad, "cuModuleLoadDataEx",                                                                                  \
    (Module * module, const void *image, unsigned options, int *names, void **values))                                 \
  F(moduleUnload, "cuModuleUnload", (Module module))                                                                   \
  F(moduleFunction, "cuModuleGetFunction", (Function * function, Module module, const char *name))                     \
  F(functionSetAttribute, "cuFuncSetAttribute", (Function function, int attribute, int value))                         \
  F(memoryAllocate, "cuMemAlloc_v2", (Address * address, size_t bytes))                                                \
  F(memoryFree, "cuMemFree_v2", (Address address))                                                                     \
  F(memoryInfo, "cuMemGetInfo_v2", (size_t *free, size_t *total))                                                      \
  F(hostAllocate, "cuMemHostAlloc", (void **memory, size_t bytes, unsigned flags))                                     \
  F(hostFree, "cuMemFreeHost", (void *memory))                                                                         \
  F(copyToDevice, "cuMemcpyHtoDAsync_v2", (Address to, const void *from, size_t bytes, Stream stream))                 \
  F(copyToHost, "cuMemcpyDtoHAsync_v2", (void *to, Address from, size_t bytes, Stream stream))                         \
  F(copyOnDevice, "cuMemcpyDtoDAsync_v2", (Address to, Address from, size_t bytes, Stream stream))                     \
  F(setBytes, "cuMemsetD8Async", (Address to, unsigned char value, size_t bytes, Stream stream))                       \
  F(streamCreate, "cuStreamCreate", (Stream * stream, unsigned flags))                                                 \
  F(streamDestroy, "cuStreamDestroy_v2", (Stream stream))                                                              \
  F(streamSynchronize, "cuStreamSynchronize", (Stream stream))                                                         \
  F(captureBegin, "cuStreamBeginCapture_v2", (Stream stream, int mode))                                                \
  F(captureEnd, "cuStreamEndCapture", (Stream stream, Graph * graph))                                                  \
  F(graphInstantiate, "cuGraphInstantiateWithFlags", (GraphExec * executable, Graph graph, uint64_t flags))            \
  F(graphLaunch, "cuGraphLaunch", (GraphExec executable, Stream stream))                                               \
  F(graphDestroy, "cuGraphDestroy", (Graph graph))                                                                     \
  F(graphExecDestroy, "cuGraphExecDestroy", (GraphExec executable))                                                    \
  F(eventCreate, "cuEventCreate", (Event * event, unsigned flags))                                                     \
  F(eventDestroy, "cuEventDestroy_v2", (Event event))                                                                  \
  F(eventRecord, "cuEventRecord", (Event event, Stream stream))                                                        \
  F(eventSynchronize, "cuEventSynchronize", (Event event))                                                             \
  F(eventElapsed, "cuEventElapsedTime", (float *milliseconds, Event begin, Event end))                                 \
  F(launch, "cuLaunchKernelEx", (const LaunchConfig *config, Function function, void **parameters, void **extra))      \
  F(encodeTensorMap, "cuTensorMapEncodeTiled",                                                                         \
    (void *map, int type, uint32_t rank, void *address, const uint64_t *extents, const uint64_t *strides,              \
     const uint32_t *box, const uint32_t *elementStrides, int interleave, int swizzle, int promotion, int fill))

} // namespace rapt::runtime::cuda
