/*===- artifact.h - The contract of compiled code and the runtime ------------===*
 *
 * The only contract between generated code and librapt_runtime. An artifact
 * exports one symbol, PREFIX_module, of type rapt_artifact. Generated code has
 * no undefined symbol but memcpy, memmove and memset: all calls out go through
 * rapt_env. Applications use rapt.h, not this file.
 *
 *===----------------------------------------------------------------------===*/
#ifndef RAPT_ARTIFACT_H
#define RAPT_ARTIFACT_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RAPT_ARTIFACT_MAGIC UINT64_C(0x0054524154504152) /* "RAPTART\0" */
#define RAPT_ABI_MAJOR 1
#define RAPT_ABI_MINOR 11

/* Code for a device, since ABI 1.4. Entries of such an artifact run on the host: they compute arguments and start
 * kernels. All buffers that they get are addresses of the device's memory, which the host never reads. */
typedef struct rapt_device_image {
  const char *arch; /* "sm_80"; with code for this architecture alone "sm_90a" */
  const void *bytes;
  uint64_t size;
  /* 0: PTX, NUL-terminated, which the driver compiles: for `arch` and newer. 1: machine code (cubin): for the major
   * architecture of `arch`, from its minor one on. A name that ends in 'a': for exactly that one. */
  uint32_t form;
  uint32_t reserved;
} rapt_device_image;

typedef struct rapt_device_code {
  uint32_t device; /* a number of DLPack: 2 is CUDA */
  uint32_t image_count;
  const rapt_device_image *images; /* of the same kernels, best first */
  uint64_t kernel_count;
} rapt_device_code;

typedef struct rapt_kernel {
  const rapt_device_code *code;
  const char *name;
  uint32_t index;          /* below kernel_count */
  uint32_t threads;        /* of a thread block */
  uint32_t shared_bytes;   /* dynamic shared memory of a thread block */
  uint32_t argument_bytes; /* of the kernel's only parameter, a struct by value */
  /* Since ABI 1.7, to be read only where abi_minor says so. The launch's index into the "dispatches" of the manifest's
   * entry; -1: it is of no op. */
  int64_t dispatch;
  /* Since ABI 1.8, to be read only where abi_minor says so: RAPT_KERNEL_ bits, of which others are ignored. */
  uint32_t flags;
  uint32_t reserved;
} rapt_kernel;
/* The kernel itself waits for the end of the one before it (griddepcontrol.wait), before it reads or writes memory. It
 * may be started before that one ends. */
#define RAPT_KERNEL_OVERLAPS 1u

/* The slices of scratch memory that a device's entry has. */
#define RAPT_DEVICE_WORKERS 4096

#ifndef RAPT_ENV /* headers of kernels define these too */
#define RAPT_ENV
/* The body of a dispatch: handles the indices [begin, end) of a parallel loop that an entry hands to the executor.
 * `worker` is below rapt_env.workers, and no two calls that run at the same time share it: it selects the slice of
 * scratch memory. The closure is the code's own; where the manifest's entry has "dispatches" ("regions" in older
 * artifacts), it begins with the dispatch's number, an int64_t index into them. */
typedef void (*rapt_task_fn)(void *closure, int64_t begin, int64_t end, int64_t worker);

/* Runs body over each index of [0, count) exactly once, in any order and grouping, and returns when all are
 * done. Returns 0, or non-zero when the run is canceled: then the entry returns that value at once. */
typedef int32_t (*rapt_parallel_for_fn)(void *user, rapt_task_fn body, void *closure, int64_t count);

/* Since ABI 1.4. Starts `blocks` thread blocks (grid x) and returns without waiting; 0 blocks: nothing is started. The
 * launches of an entry run in order. Returns 0, or non-zero when the run is canceled or a kernel cannot be started:
 * then the entry returns that value at once. `arguments` may change after the call. */
typedef int32_t (*rapt_launch_fn)(void *user, const struct rapt_kernel *kernel, const void *arguments, int64_t blocks);

/* Since ABI 1.6. An array of the device that hardware copies in boxes. Dim 0 is the one whose elements are beside each
 * other. */
typedef struct rapt_boxes {
  void *data;
  int64_t extents[5];
  int64_t strides[5]; /* in elements */
  int32_t box[5];     /* elements of a copy along each dim */
  int32_t rank;       /* 1 to 5 */
  int32_t element_bytes;
  int32_t swizzle_bytes; /* of the pattern in which rows of a box are in shared memory: 0, 32, 64 or 128 */
} rapt_boxes;

/* Since ABI 1.6. Writes the tensor map of an array, 128 bytes at an address that is a multiple of 64, which kernels
 * take by value. Returns 1, or 0 where the array has none: its rows do not begin at multiples of 16 bytes, or it is
 * empty. Copies give 0 for elements outside of the extents. */
typedef int32_t (*rapt_tensor_map_fn)(void *user, const rapt_boxes *tensor, void *map);

typedef struct rapt_env {
  void *user; /* handed back to the functions */
  rapt_parallel_for_fn parallel_for;
  /* >= 1. For a device: RAPT_DEVICE_WORKERS, however many processors there are. */
  int64_t workers;
  rapt_launch_fn launch;         /* since ABI 1.4; read by code for devices, which has no use for parallel_for */
  rapt_tensor_map_fn tensor_map; /* since ABI 1.6; read by code for devices */
} rapt_env;
#endif

/* An entry. `buffers` and `dims` are in the order in which the manifest's entry lists them. Buffers are
 * aligned to 64 bytes (outputs at least to their elements), dense and row-major. Returns 0 or what parallel_for or
 * launch returned. */
typedef int32_t (*rapt_entry_fn)(const rapt_env *env, void *const *buffers, const int64_t *dims);

/* Bytes of workspace the entry needs for these dims and this many workers (a multiple of 64). */
typedef int64_t (*rapt_workspace_fn)(const int64_t *dims, int64_t workers);

typedef struct rapt_artifact_entry {
  const char *name;
  rapt_entry_fn run;
  rapt_workspace_fn workspace;
} rapt_artifact_entry;

typedef struct rapt_artifact {
  uint64_t magic;
  uint32_t abi_major, abi_minor; /* what the artifact needs of a runtime: the same major, at least this minor */
  const char *manifest;          /* JSON, also the content of section .rapt.manifest */
  uint64_t manifest_size;
  /* Entries of the manifest's first variant in the manifest's order, then of its second, ... (one variant before
   * ABI 1.3). */
  const rapt_artifact_entry *entries;
  uint64_t entry_count; /* of all variants together */
  /* Since ABI 1.1, to be read only where abi_minor says so: the bytes of a whole weight file, aligned to 4096. */
  const void *weights;
  uint64_t weights_size; /* 0: the weights are a file */
  /* Since ABI 1.4, to be read only where abi_minor says so. NULL: code for CPUs. Else that of the first variant, whose
   * kernels its entries start. */
  const rapt_device_code *device_code;
  /* Since ABI 1.5, to be read only where abi_minor says so. NULL: code for CPUs. Else one for each variant. */
  const rapt_device_code *const *variant_code;
} rapt_artifact;

/* The weight file: this header, then sections, each aligned to 4096 bytes; in large files the first one begins at
 * 2 MiB, so that pages of 2 MiB can map it. Section 0 is "weights", the bytes that
 * the entries' "weights" buffer points at. The others hold files of the model directory as they were
 * (tokenizer.json, ...). Little-endian. ids are 128 bits (XXH3-128, canonical big-endian bytes). */
#define RAPT_WEIGHTS_MAGIC UINT64_C(0x0054475754504152) /* "RAPTWGT\0" */
#define RAPT_WEIGHTS_ALIGNMENT 4096
#define RAPT_WEIGHTS_MAX_SECTIONS 32

typedef struct rapt_weights_section {
  char name[64]; /* NUL-terminated */
  uint64_t offset, bytes;
} rapt_weights_section;

typedef struct rapt_weights_header {
  uint64_t magic;
  uint32_t version; /* 1 */
  uint32_t section_count;
  uint8_t interface_id[16]; /* hash of names, shapes, dtypes, layouts, offsets: must equal the manifest's */
  uint8_t content_id[16];   /* hash of the bytes of all sections, see below */
  uint64_t file_bytes;
  rapt_weights_section sections[RAPT_WEIGHTS_MAX_SECTIONS];
} rapt_weights_header;
/* content_id = XXH3-128 over the XXH3-128 digests (canonical) of consecutive 4 MiB pieces of each section, sections in
 * order; a section's last piece may be short. So it can be computed in parallel, while packing. */

#ifdef __cplusplus
}
#endif
#endif
