/* Calls the kernels of kernels.mlir and compares them with the formulas in double. Prints "all right", or what is
 * wrong. */
#include "kernels.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef int32_t (*kernel)(const rapt_env *, const float *, const float *, float *, const int64_t *, void *);
typedef int64_t (*scratch_size)(const int64_t *, int64_t);

static float uniform(void) {
  static uint32_t state = 7;
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / 8388608.0f - 1;
}

static float *random_array(int64_t count) {
  float *array = malloc((size_t)count * sizeof(float) + 1);
  for (int64_t i = 0; i < count; ++i)
    array[i] = uniform();
  return array;
}

static void *aligned(int64_t bytes) {
  void *memory = NULL;
  return bytes < 0 || posix_memalign(&memory, 64, (size_t)bytes + 64) ? NULL : memory;
}

/* One query of a head, which sees the keys up to its own. The largest difference. */
static double distance(const float *q, const float *k, const float *v, const float *o, int64_t i, int64_t h) {
  double weights[256], total = 0, worst = 0;
  for (int64_t j = 0; j <= i; ++j) {
    double score = 0;
    for (int64_t c = 0; c < 40; ++c)
      score += (double)q[(i * 2 + h) * 40 + c] * k[(j * 2 + h) * 40 + c];
    total += weights[j] = exp(score / 8);
  }
  for (int64_t c = 0; c < 40; ++c) {
    double sum = 0;
    for (int64_t j = 0; j <= i; ++j)
      sum += weights[j] / total * v[(j * 2 + h) * 40 + c];
    worst = fmax(worst, fabs(sum - o[(i * 2 + h) * 40 + c]));
  }
  return worst;
}

static int wrong_attention(int64_t m) {
  float *q = random_array(m * 80), *k = random_array(m * 80), *v = random_array(m * 80), *o = random_array(m * 80);
  void *scratch = aligned(causal_scratch(&m, 1));
  int bad = causal(NULL, q, k, v, o, &m, scratch) != 0;
  for (int64_t row = 0; row < 2 * m; ++row)
    bad += !(distance(q, k, v, o, row / 2, row % 2) < 1e-6);
  if (bad)
    printf("WRONG: attention of %lld: %d rows\n", (long long)m, bad);
  free(q), free(k), free(v), free(o), free(scratch);
  return bad;
}

static int wrong(const char *name, kernel run, scratch_size size, int64_t m, int64_t k, int64_t n) {
  float *x = random_array(m * k), *w = random_array(k * n), *y = random_array(m * n);
  const int64_t bytes = size(&m, 1);
  void *scratch = aligned(bytes);
  int bad = run(NULL, x, w, y, &m, scratch) != 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, size_of_sum = 0;
      for (int64_t c = 0; c < k; ++c) {
        sum += (double)x[i * k + c] * w[c * n + j];
        size_of_sum += fabs((double)x[i * k + c] * w[c * n + j]);
      }
      bad += !(fabs(y[i * n + j] - sum) <= 4 * sqrt((double)k) * 0x1p-24 * size_of_sum);
    }
  if (bad)
    printf("WRONG: %s of %lld rows: %d elements\n", name, (long long)m, bad);
  free(x), free(w), free(y), free(scratch);
  return bad;
}

int main(void) {
  static const int64_t rows[] = {0, 1, 2, 3, 5, 8, 13, 131};
  int bad = 0;
  if (!one_supported() || !ragged_supported() || !causal_supported())
    return printf("not supported\n"), 1;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    bad += wrong("one", one, one_scratch, rows[i], 1, 1);
    bad += wrong("ragged", ragged, ragged_scratch, rows[i], 33, 65);
    bad += wrong_attention(rows[i]);
  }
  printf(bad ? "" : "all right\n");
  return bad != 0;
}
