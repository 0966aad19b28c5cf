/* Runs the kernels scale and attention on GPU 0, and compares what they compute with what C computes. */
#include "attention.h"
#include "scale.h"
#include <math.h>
#include <rapt/rapt_device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 40, WIDTH = 16, QUERIES = 3, KEYS = 9, HEADS = 8, CHANNELS = 64, ROW = HEADS * CHANNELS };

static rapt_device *gpu;
static char message[512];

static void check(rapt_status status) {
  if (status != RAPT_OK) {
    fprintf(stderr, "%s\n", message);
    exit(1);
  }
}

/* Memory of the GPU with a copy of `from`; with NULL, unwritten. */
static void *send(const void *from, size_t bytes) {
  void *memory;
  check(rapt_device_allocate(gpu, bytes, &memory, message, sizeof message));
  if (from)
    check(rapt_device_copy_in(gpu, memory, from, bytes, message, sizeof message));
  return memory;
}

static void fill(float *numbers, int count, int seed) {
  for (int i = 0; i < count; ++i)
    numbers[i] = (float)((i * 37 + seed) % 101) / 50 - 1;
}

static int run_scale(void) {
  static float x[ROWS * WIDTH], y[ROWS * WIDTH], scaled[ROWS * WIDTH];
  const int64_t dims[] = {ROWS};
  fill(x, ROWS * WIDTH, 1);
  fill(y, ROWS * WIDTH, 2);
  float *on[3] = {(float *)send(x, sizeof x), (float *)send(y, sizeof y), (float *)send(NULL, sizeof scaled)};
  void *scratch = send(NULL, (size_t)scale_scratch(dims, RAPT_DEVICE_WORKERS));
  const int32_t result = scale(rapt_device_env(gpu), on[0], on[1], on[2], dims, scratch);
  check(rapt_device_copy_out(gpu, scaled, on[2], sizeof scaled, message, sizeof message));
  int wrong = result != 0;
  for (int i = 0; i < ROWS * WIDTH; ++i)
    wrong += scaled[i] != x[i] * y[i];
  for (int i = 0; i < 3; ++i)
    rapt_device_free(gpu, on[i]);
  rapt_device_free(gpu, scratch);
  return !wrong;
}

/* softmax(q . k / 8) . v of one head and query, in double. */
static void formula(const float *q, const float *k, const float *v, double *o) {
  double sum = 0;
  memset(o, 0, CHANNELS * sizeof *o);
  for (int j = 0; j < KEYS; ++j) {
    double score = 0;
    for (int c = 0; c < CHANNELS; ++c)
      score += (double)q[c] * k[j * ROW + c] / 8;
    sum += exp(score);
    for (int c = 0; c < CHANNELS; ++c)
      o[c] += exp(score) * v[j * ROW + c];
  }
  for (int c = 0; c < CHANNELS; ++c)
    o[c] /= sum;
}

static float q[QUERIES * ROW], k[KEYS * ROW], v[KEYS * ROW], o[QUERIES * ROW];

static int is_right(void) {
  double expected[CHANNELS];
  for (int i = 0; i < QUERIES; ++i)
    for (int h = 0; h < HEADS; ++h) {
      formula(q + i * ROW + h * CHANNELS, k + h * CHANNELS, v + h * CHANNELS, expected);
      for (int c = 0; c < CHANNELS; ++c)
        if (!(fabs(o[i * ROW + h * CHANNELS + c] - expected[c]) < 1e-5))
          return 0;
    }
  return 1;
}

int main(void) {
  const int64_t dims[] = {QUERIES, KEYS}, wrong[] = {-1, KEYS};
  check(rapt_device_open(NULL, &gpu, message, sizeof message));
  printf("scaled: %s\n", run_scale() ? "right" : "WRONG");
  fill(q, QUERIES * ROW, 3);
  fill(k, KEYS * ROW, 4);
  fill(v, KEYS * ROW, 5);
  float *Q = (float *)send(q, sizeof q), *K = (float *)send(k, sizeof k), *V = (float *)send(v, sizeof v);
  float *O = (float *)send(NULL, sizeof o);
  void *scratch = send(NULL, (size_t)attention_scratch(dims, RAPT_DEVICE_WORKERS));
  const rapt_env *env = rapt_device_env(gpu);
  if (attention(env, Q, K, V, O, dims, scratch) < 0)
    return 1;
  check(rapt_device_copy_out(gpu, o, O, sizeof o, message, sizeof message));
  printf("attention: %s\n", is_right() ? "right" : "WRONG");

  /* No environment, one of a CPU, one with too little scratch, and dims out of bounds. */
  rapt_env cpu = *env, small = *env;
  cpu.launch = NULL;
  small.workers = 8;
  check(rapt_device_copy_in(gpu, O, q, sizeof q, message, sizeof message));
  printf("wrong environments: %d", attention(NULL, Q, K, V, O, dims, scratch));
  printf(" %d", attention(&cpu, Q, K, V, O, dims, scratch));
  printf(" %d", attention(&small, Q, K, V, O, dims, scratch));
  printf(" %d", attention(env, Q, K, V, O, wrong, scratch));
  check(rapt_device_copy_out(gpu, o, O, sizeof o, message, sizeof message));
  printf(", %s written\n", memcmp(o, q, sizeof q) == 0 ? "nothing" : "something");
  rapt_device_free(gpu, Q);
  rapt_device_free(gpu, K);
  rapt_device_free(gpu, V);
  rapt_device_free(gpu, O);
  rapt_device_free(gpu, scratch);
  rapt_device_close(gpu);
  return 0;
}
