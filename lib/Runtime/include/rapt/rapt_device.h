/*===- rapt_device.h - Kernels on a GPU ----------------------------------------===*\
|*
|* C99. A kernel of `raptc k.mlir --target=cuda` is a C function of the header that
|* raptc wrote. It takes an environment, which a device has, and addresses of the GPU's
|* memory, and starts its work on the GPU without waiting.
|*
|*   rapt_device *gpu;  void *x, *y, *scratch;
|*   rapt_device_open(NULL, &gpu, message, sizeof message);
|*   rapt_device_allocate(gpu, bytes, &x, message, sizeof message);    // and y and scratch
|*   rapt_device_copy_in(gpu, x, numbers, bytes, message, sizeof message);
|*   scale(rapt_device_env(gpu), x, y, dims, scratch);
|*   rapt_device_copy_out(gpu, numbers, y, bytes, message, sizeof message);
|*   rapt_device_close(gpu);
|*
|* One thread at a time may use a device, not always the same one; a second one gets RAPT_BUSY, from a kernel's
|* function, too. Any number of devices may be open at once, also on one GPU: memory of one may be used by kernels of
|* another once a wait is between them. In a child process after fork(), calls get RAPT_FORKED, and only
|* rapt_device_close is of use. A part of librapt_runtime; rapt.h has the rules of structs and messages.
|*
\*===----------------------------------------------------------------------===*/
#ifndef RAPT_RAPT_DEVICE_H
#define RAPT_RAPT_DEVICE_H
#include "rapt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rapt_device rapt_device;

typedef struct rapt_device_options {
  size_t size;
  int32_t device; /**< The number of the GPU, as CUDA counts them. */
  /** A stream of the caller: a CUstream (or cudaStream_t) of the GPU's primary context, which is the one of the CUDA
   * runtime. It outlives the device. NULL: a stream of the device's own, which waits for no other. */
  void *stream;
} rapt_device_options;

/** Opens a GPU for kernels. UNSUPPORTED without a driver or a GPU. */
RAPT_API rapt_status rapt_device_open(const rapt_device_options *options, rapt_device **device, char *message,
                                      size_t message_size);
/** Waits for the device's work and closes it. Memory that was not freed stays taken. Must not run beside another call
 * on the device. NULL is ignored. */
RAPT_API void rapt_device_close(rapt_device *device);

/** The `env` of kernels of any number of libraries, which stay loaded while the device is open. The first launch
 * of a library's kernel loads its code into the GPU, which a stream that is being captured into a graph refuses: run
 * the kernel once before.
 *
 * If a launch fails, on a GPU that the code is not for, for example, the kernel's function returns a rapt_status, and
 * the next call below that returns one says why; until then no kernel starts. A later call reports a fault inside a
 * running kernel in the same way. */
RAPT_API const rapt_env *rapt_device_env(const rapt_device *device);

/** Memory of the GPU, aligned to 256 bytes. The host cannot read there: *memory is a CUdeviceptr. */
RAPT_API rapt_status rapt_device_allocate(rapt_device *device, size_t bytes, void **memory, char *message,
                                          size_t message_size);
/** Waits for the device's work before it frees the memory. NULL is ignored. */
RAPT_API void rapt_device_free(rapt_device *device, void *memory);

/** Copies to or from the GPU's memory after the work that was started before, and waits for the copy. */
RAPT_API rapt_status rapt_device_copy_in(rapt_device *device, void *to, const void *from, size_t bytes, char *message,
                                         size_t message_size);
RAPT_API rapt_status rapt_device_copy_out(rapt_device *device, void *to, const void *from, size_t bytes, char *message,
                                          size_t message_size);
/** Waits for all work that was started. */
RAPT_API rapt_status rapt_device_synchronize(rapt_device *device, char *message, size_t message_size);

#ifdef __cplusplus
}
#endif
#endif
