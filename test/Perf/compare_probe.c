/* A loop that needs all of a core: six additions and nops a cycle. Where another guest has the core's second hardware
 * thread it takes 1.2 to 2 times as long, while multiply-adds in registers run as fast as ever. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

static double once(void) {
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (long i = 0; i < 100000; ++i)
    __asm__ volatile(".rept 8\nadd $1, %%rax\nadd $1, %%r8\nadd $1, %%rcx\nadd $1, %%rdx\nnop\nnop\n.endr" ::
                         : "rax", "r8", "rcx", "rdx", "cc");
  clock_gettime(CLOCK_MONOTONIC, &end);
  return (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
}

/* Seconds of the faster of two runs. */
double probe(void) {
  const double one = once(), two = once();
  return one < two ? one : two;
}
