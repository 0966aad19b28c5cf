/* Times an LSTM of 512 units over ROWS rows of 32 tokens, one thread, beside the rate at which the same thread reads a
 * buffer of its weights' size (4 MiB) again and again: repetitions alternate, medians count. AVX-512 only. Use
 * test/Perf/run. */
#define _POSIX_C_SOURCE 200809L
#include "recurrence.h"
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { H = 512, PARTS = 4, TOKENS = 32, REPETITIONS = 31, PASSES = 32 };

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

/* GB/s of PASSES passes over the buffer, with eight independent sums. */
static double read_rate(const float *p, long elements) {
  __m512 sums[8];
  for (int j = 0; j < 8; ++j)
    sums[j] = _mm512_setzero_ps();
  double begin = now();
  for (int pass = 0; pass < PASSES; ++pass)
    for (long i = 0; i < elements; i += 128)
      for (int j = 0; j < 8; ++j)
        sums[j] = _mm512_add_ps(sums[j], _mm512_load_ps(p + i + 16 * j));
  double seconds = now() - begin;
  float total = 0;
  for (int j = 0; j < 8; ++j)
    total += _mm512_reduce_add_ps(sums[j]);
  if (total == 1)
    puts("");
  return (double)PASSES * (double)elements * 4 / seconds / 1e9;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static float *random_floats(long count, float scale) {
  float *p = aligned_alloc(64, (size_t)count * 4 + 64);
  for (long i = 0; i < count; ++i)
    p[i] = ((float)rand() / (float)RAND_MAX - 0.5f) * scale;
  return p;
}

int main(int argc, char **argv) {
  const int64_t rows = argc > 1 ? atoi(argv[1]) : 1, tokens = rows * TOKENS, dims[] = {tokens, rows};
  const long weights = (long)H * PARTS * H;
  float *x = random_floats(tokens * PARTS * H, 1), *w = random_floats(weights, 0.1f),
        *other = random_floats(weights, 1);
  float *h = random_floats(rows * H, 1), *c = random_floats(rows * H, 1);
  float *y = random_floats(tokens * H, 1), *hn = random_floats(rows * H, 1), *cn = random_floats(rows * H, 1);
  int32_t *begin = malloc((size_t)(rows + 1) * 4);
  for (int64_t r = 0; r <= rows; ++r)
    begin[r] = (int32_t)(r * TOKENS);
  rapt_env env = {NULL, one_thread, 1};
  void *scratch = aligned_alloc(64, (size_t)(recurrence_scratch(dims, 1) + 63) / 64 * 64 + 64);
  double rates[REPETITIONS], limits[REPETITIONS], steps = (double)((rows + 7) / 8 * TOKENS);
  for (int r = 0; r < REPETITIONS; ++r) {
    limits[r] = read_rate(other, weights);
    recurrence(&env, x, w, begin, h, c, y, hn, cn, dims, scratch);
    double start = now();
    recurrence(&env, x, w, begin, h, c, y, hn, cn, dims, scratch);
    rates[r] = steps * (double)weights * 4 / (now() - start) / 1e9;
  }
  qsort(rates, REPETITIONS, sizeof(double), ascending);
  qsort(limits, REPETITIONS, sizeof(double), ascending);
  double rate = rates[REPETITIONS / 2], limit = limits[REPETITIONS / 2];
  printf("lstm of %d, %d rows: weights at %.1f GB/s of %.1f: %.0f %%, %.0f us a step\n", H, (int)rows, rate, limit,
         100 * rate / limit, (double)weights * 4 / rate / 1e3);
  return 0;
}
