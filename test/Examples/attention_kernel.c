/* An application with one compiled kernel, attention.mlir: 8 heads of 64 channels, every query sees every key. It links
 * attention.o and needs nothing but libc and libm: no runtime, no weights. The kernel's answer is compared with the
 * formula in double, for shapes that fill no tile. */
#include "attention.h" /* made by raptc beside attention.o */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 8, CHANNELS = 64, WIDTH = HEADS * CHANNELS, MOST = 300 };

static int32_t run(const rapt_env *env, const float *q, const float *k, const float *v, float *o, int64_t queries,
                   int64_t keys) {
  const int64_t dims[] = {queries, keys};
  const int64_t bytes = attention_scratch(dims, env ? env->workers : 1);
  void *scratch = NULL;
  if (bytes < 0 || posix_memalign(&scratch, 64, (size_t)bytes + 64) != 0)
    return -1;
  int32_t status = attention(env, q, k, v, o, dims, scratch);
  free(scratch);
  return status;
}

/* An application's own way of running tasks, here as if three threads took turns. */
static int32_t in_turns(void *user, rapt_task_fn body, void *closure, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    body(closure, i, i + 1, i % 3);
  *(int64_t *)user += count;
  return 0;
}

/* softmax(q . k / 8) . v of one head and query, in double. */
static void formula(const float *q, const float *k, const float *v, int64_t keys, double *o) {
  double weights[MOST], largest = -INFINITY, sum = 0;
  for (int64_t j = 0; j < keys; ++j) {
    weights[j] = 0;
    for (int c = 0; c < CHANNELS; ++c)
      weights[j] += (double)q[c] * k[j * WIDTH + c] / 8;
    largest = fmax(largest, weights[j]);
  }
  for (int64_t j = 0; j < keys; ++j)
    sum += weights[j] = exp(weights[j] - largest);
  for (int c = 0; c < CHANNELS; ++c) {
    o[c] = 0;
    for (int64_t j = 0; j < keys; ++j)
      o[c] += weights[j] / sum * v[j * WIDTH + c];
  }
}

static float random_number(void) {
  static unsigned state = 1;
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / (1 << 23) - 1; /* [-1, 1) */
}

/* Relative L2 distance of the kernel's answer, which is refused above 1e-6. */
static int check(const rapt_env *env, int64_t queries, int64_t keys) {
  static float q[MOST * WIDTH], k[MOST * WIDTH], v[MOST * WIDTH], o[MOST * WIDTH];
  double expected[CHANNELS], wrong = 0, whole = 0;
  for (int64_t i = 0; i < queries * WIDTH; ++i)
    q[i] = 4 * random_number();
  for (int64_t i = 0; i < keys * WIDTH; ++i)
    k[i] = random_number(), v[i] = random_number();
  if (run(env, q, k, v, o, queries, keys) != 0)
    return 0;
  for (int64_t i = 0; i < queries; ++i)
    for (int h = 0; h < HEADS; ++h) {
      int64_t at = i * WIDTH + h * CHANNELS;
      formula(q + at, k + h * CHANNELS, v + h * CHANNELS, keys, expected);
      for (int c = 0; c < CHANNELS; ++c) {
        wrong += (o[at + c] - expected[c]) * (o[at + c] - expected[c]);
        whole += expected[c] * expected[c];
      }
    }
  double distance = sqrt(wrong / whole);
  printf("%d queries, %d keys: %s\n", (int)queries, (int)keys, distance < 1e-6 ? "right" : "WRONG");
  return distance < 1e-6;
}

/* The memory of a thread beside the arguments does not depend on the lengths: it holds the state of a task's queries,
 * and a few hundred keys and values, which a task of few queries packs for itself. The memory that all share is a copy
 * of the keys and values in packed panels, or, for few queries, the states of at most 16 splits of 56 queries. */
static int check_scratch(void) {
  static const int64_t lengths[] = {4096, 16384, 65536};
  const int64_t states = 8 * 16 * 56 * (64 + 2) * (int64_t)sizeof(float);
  int64_t dims[] = {300, 300}, thread = attention_scratch(dims, 2) - attention_scratch(dims, 1);
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
    dims[0] = dims[1] = lengths[i];
    const int64_t copies = 2 * (lengths[i] + 64) * 8 * 64 * (int64_t)sizeof(float), one = attention_scratch(dims, 1);
    if (attention_scratch(dims, 3) != one + 2 * thread || one - thread > copies + 128)
      return 0;
    dims[0] = 8;
    if (attention_scratch(dims, 1) - thread > states + 128)
      return 0;
  }
  return thread <= 1 << 19;
}

int main(void) {
  static const int shapes[][2] = {{1, 1}, {1, 300}, {7, 5}, {8, 32}, {33, 257}, {300, 300}};
  const int64_t wrong[] = {-1, 1};
  int64_t tasks = 0;
  const rapt_env threads = {.user = &tasks, .parallel_for = in_turns, .workers = 3};
  if (!attention_supported()) {
    printf("this processor cannot run the kernel\n");
    return 1;
  }
  printf("scratch of a thread up to 65536 queries and keys: %s\n", check_scratch() ? "right" : "WRONG");
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i)
    if (!check(NULL, shapes[i][0], shapes[i][1]) || !check(&threads, shapes[i][0], shapes[i][1]))
      return 1;
  if (tasks == 0 || attention(NULL, NULL, NULL, NULL, NULL, wrong, NULL) != -1) {
    printf("WRONG: the executor was not called, or dims out of bounds were taken\n");
    return 1;
  }
  return 0;
}
