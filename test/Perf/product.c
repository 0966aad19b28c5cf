/* Times the product 768 x 768 of M rows, one thread, beside the rate of the same FMA instruction in the same run:
 * repetitions alternate, medians count. AVX-512 only. Use test/Perf/run. */
#include "product.h"
#include "limits.h"

enum { K = 768, N = 768, REPETITIONS = 31 };

static int32_t one_thread(void *user, rapt_task_fn body, void *closure, int64_t count) {
  (void)user;
  body(closure, 0, count, 0);
  return 0;
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
