/* What the machine can do, for programs that print a rate beside its limit. AVX-512 only. */
#ifndef RAPT_TEST_PERF_LIMITS_H
#define RAPT_TEST_PERF_LIMITS_H
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* GFLOP/s of 16 independent chains of 512-bit multiply-adds; `seed` keeps them from being folded away. */
static double fma_limit(const float *seed) {
  enum { CHAINS = 16, STEPS = 1000000 };
  __m512 sums[CHAINS], x = _mm512_set1_ps(seed[1] * 1e-3f), y = _mm512_set1_ps(0.9f + seed[0] * 1e-3f);
  for (int i = 0; i < CHAINS; ++i)
    sums[i] = _mm512_set1_ps((float)i * seed[3]);
  double begin = now();
  for (long k = 0; k < STEPS; ++k)
    for (int i = 0; i < CHAINS; ++i)
      sums[i] = _mm512_fmadd_ps(sums[i], y, x);
  double seconds = now() - begin;
  float total = 0;
  for (int i = 0; i < CHAINS; ++i)
    total += _mm512_reduce_add_ps(sums[i]);
  if (total == 1)
    puts("");
  return (double)STEPS * CHAINS * 32 / seconds / 1e9;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

#endif
