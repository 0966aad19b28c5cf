/* Times the product 768 x 768 of M rows, one thread, beside the rate of the same FMA instruction in the same run:
 * repetitions alternate, medians count. AVX-512 only. Use test/Perf/run. */
#define _POSIX_C_SOURCE 200809L
#include "product.h"
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { K = 768, N = 768, REPETITIONS = 31 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int32_t one_thread(void *user, rapt_task_fn body, void *closure, int64_t count) {
  (void)user;
  body(closure, 0, count, 0);
  return 0;
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

int main(int argc, char **argv) {
  const int64_t rows = argc > 1 ? atoi(argv[1]) : 512, dims[] = {rows};
  float *x = aligned_alloc(64, rows * K * 4), *w = aligned_alloc(64, K * N * 4), *y = aligned_alloc(64, rows * N * 4);
  for (long i = 0; i < rows * K; ++i)
    x[i] = (float)rand() / (float)RAND_MAX - 0.5f;
  for (long i = 0; i < K * N; ++i)
    w[i] = (float)rand() / (float)RAND_MAX - 0.5f;
  rapt_env env = {NULL, one_thread, 1};
  void *scratch = aligned_alloc(64, product_scratch(dims, 1) + 64);
  double rates[REPETITIONS], limits[REPETITIONS];
  for (int r = 0; r < REPETITIONS; ++r) {
    limits[r] = fma_limit(x);
    int count = rows < 64 ? 64 : 4;
    double begin = now();
    for (int i = 0; i < count; ++i)
      product(&env, x, w, y, dims, scratch);
    rates[r] = 2.0 * (double)rows * K * N * count / (now() - begin) / 1e9;
  }
  qsort(rates, REPETITIONS, sizeof(double), ascending);
  qsort(limits, REPETITIONS, sizeof(double), ascending);
  double rate = rates[REPETITIONS / 2], limit = limits[REPETITIONS / 2];
  printf("product %ld x %d x %d: %.1f GFLOP/s (best %.1f) of %.1f: %.0f %%\n", (long)rows, N, K, rate,
         rates[REPETITIONS - 1], limit, 100 * rate / limit);
  return 0;
}
