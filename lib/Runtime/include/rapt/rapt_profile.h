/*===- rapt_profile.h - Times of the ops of a compiled model -----------------===*\
|*
|* C99. Times the dispatches of compiled code, and reports what each op of
|* the model computed and moved. A part of librapt_runtime; rapt.h has the rules.
|*
\*===----------------------------------------------------------------------===*/
#ifndef RAPT_RAPT_PROFILE_H
#define RAPT_RAPT_PROFILE_H
#include "rapt.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Time and work of an op of the compiled code in one layer, over all calls since rapt_profile_start. The rows' seconds
 * add up to the time of those calls. Strings live as long as the module. */
typedef struct rapt_profile_row {
  size_t size;
  const char *entry; /**< "step", "encode", "forward", ...; NULL: around the entries. */
  int32_t one_token; /**< 1: runs with one token per sequence, which are counted apart. */
  const char *op;    /**< "linear", "attention", ...; NULL: code of the entry outside of its ops' dispatches. */
  const char *name;  /**< Name of the weights that it reads, as in the checkpoint, {layer} for the layer; NULL: none. */
  int64_t layer;     /**< -1: in no stack of layers. */
  uint64_t calls;    /**< Dispatches; of the row around the entries, calls. */
  double seconds;
  const char *dtype; /**< Type of the operands of its matmuls, "f32"; NULL: it has none. */
  double flops;      /**< Multiplications and additions of matmuls, without padding. */
  double weight_bytes, cache_bytes, activation_bytes; /**< Each read or written once. */
} rapt_profile_row;

/** From now on rapt_step, rapt_encode and rapt_run are timed op by op; earlier times are forgotten. UNSUPPORTED for
 * artifacts that do not list their ops. On a GPU the times of ops are those of their kernels, which are launched one by
 * one while the profile is on, and not as a graph; copies, and the host's time between kernels, belong to the code
 * outside of dispatches. */
RAPT_API rapt_status rapt_profile_start(rapt_context *context, char *message, size_t message_size);
RAPT_API rapt_status rapt_profile_stop(rapt_context *context, char *message, size_t message_size);
/** Fills rows, each with its size set, with what was called, entry by entry in the order of the code, and sets *count.
 * RAPT_FULL if there are more than *count; NULL rows: only their number is written. */
RAPT_API rapt_status rapt_profile_read(rapt_context *context, rapt_profile_row *rows, size_t *count, char *message,
                                       size_t message_size);

#ifdef __cplusplus
}
#endif
#endif
