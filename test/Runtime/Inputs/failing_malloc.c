/* Preloaded: the FAIL_AT-th allocation of the program returns NULL, and the number of allocations is told at the end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static long count, fail_at = -2;

static int fails(void) {
  int failed;
  if (fail_at == -2) {
    const char *text = getenv("FAIL_AT");
    fail_at = text ? atol(text) : -1;
  }
  failed = count++ == fail_at;
  if (failed)
    errno = ENOMEM;
  return failed;
}

extern void *__libc_malloc(size_t), *__libc_memalign(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_calloc(size_t, size_t);

void *malloc(size_t bytes) { return fails() ? NULL : __libc_malloc(bytes); }
void *calloc(size_t n, size_t bytes) { return fails() ? NULL : __libc_calloc(n, bytes); }
void *realloc(void *old, size_t bytes) { return fails() ? NULL : __libc_realloc(old, bytes); }
int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  if (fails() || !(*memory = __libc_memalign(alignment, bytes)))
    return ENOMEM;
  return 0;
}

__attribute__((destructor)) static void tell(void) {
  if (fail_at < 0)
    dprintf(2, "allocations %ld\n", count);
}
