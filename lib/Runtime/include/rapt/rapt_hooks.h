/*===- rapt_hooks.h - Memory, threads and messages of an application ------------===*\
|*
|* C99. A context uses them instead of malloc, the caller's thread and no messages.
|* rapt.h includes it.
|*
\*===----------------------------------------------------------------------===*/
#ifndef RAPT_RAPT_HOOKS_H
#define RAPT_RAPT_HOOKS_H
#include "artifact.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Allocates a context's memory on the host; that of GPUs is the driver's. `alignment` is a power of two up to 4096,
 * `device` 0. alloc returns NULL when there is none. Called by the context's thread only; never in a warm rapt_step. */
typedef struct rapt_allocator {
  size_t size;
  void *user;
  void *(*alloc)(void *user, size_t bytes, size_t alignment, int32_t device);
  void (*free)(void *user, void *memory, size_t bytes, int32_t device);
} rapt_allocator;

/** A thread pool of the application's. `workers` is constant while a context exists. `parallel_for` calls body(closure,
 * begin, end, worker) so that each index of [0, count) is covered exactly once, in any order and grouping, and returns
 * when all calls have; 0 <= worker < workers, and no two calls that run at the same time have the same one. */
typedef struct rapt_executor {
  size_t size;
  void *user;
  int64_t (*workers)(void *user);
  void (*parallel_for)(void *user, rapt_task_fn body, void *closure, int64_t count);
} rapt_executor;

/** One line without newline, for diagnostics. */
typedef void (*rapt_log_fn)(void *user, const char *text);
/** After each part of a long step, on the caller's thread: tokens done of all. Non-zero cancels the step. */
typedef int (*rapt_progress_fn)(void *user, int64_t done, int64_t total);

#ifdef __cplusplus
}
#endif
#endif
