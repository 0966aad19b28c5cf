/*===- rapt_pool.h - Threads that contexts share ---------------------------------===*\
|*
|* C99. A part of librapt_runtime; rapt.h includes it and has the rules of structs and messages.
|*
\*===----------------------------------------------------------------------===*/
#ifndef RAPT_RAPT_POOL_H
#define RAPT_RAPT_POOL_H
#include "rapt_hooks.h"
#include "rapt_status.h"

#if defined(__GNUC__)
#define RAPT_API __attribute__((visibility("default")))
#else
#define RAPT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rapt_pool rapt_pool;

/** min(processors this process may use, the cgroup's cpu.max rounded up), at least 1. */
RAPT_API int64_t rapt_default_threads(void);

/** A pool of `threads` workers (0: rapt_default_threads), the caller of a step being one of them. Any number of
 * contexts may share it; their dispatches then take turns. It must outlive them. */
RAPT_API rapt_status rapt_pool_new(int64_t threads, rapt_pool **pool, char *message, size_t message_size);
RAPT_API void rapt_pool_free(rapt_pool *pool);
RAPT_API int64_t rapt_pool_threads(const rapt_pool *pool);
/** The pool as an executor, for parallel work of the application's own. NULL: the calling thread as one. */
RAPT_API rapt_executor rapt_pool_executor(rapt_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
