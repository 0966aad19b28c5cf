/* Prints the median rate in GB/s at which one thread reads 512 MiB. AVX-512 only. */
#define _POSIX_C_SOURCE 200809L
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(void) {
  enum { REPETITIONS = 9 };
  const size_t bytes = (size_t)512 << 20;
  float *p = aligned_alloc(64, bytes);
  for (size_t i = 0; i < bytes / 4; ++i)
    p[i] = (float)(i & 7);
  double rates[REPETITIONS];
  for (int r = 0; r < REPETITIONS; ++r) {
    struct timespec begin, end;
    __m512 sums[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (size_t i = 0; i < bytes / 4; i += 64)
      for (int j = 0; j < 4; ++j)
        sums[j] = _mm512_add_ps(sums[j], _mm512_load_ps(p + i + 16 * j));
    clock_gettime(CLOCK_MONOTONIC, &end);
    rates[r] = (double)bytes / ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec));
    if (_mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3]))) == 1)
      puts("");
  }
  qsort(rates, REPETITIONS, sizeof(double), ascending);
  printf("read 512 MiB, 1 thread: %.1f GB/s\n", rates[REPETITIONS / 2]);
  return 0;
}
