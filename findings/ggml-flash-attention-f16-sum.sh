#!/bin/sh
# ggml on CPUs: flash attention sums the values of an f16 cache in f16 although f32 was asked for: the average of 4096 ones is 0.5.
#
# llama.cpp keeps keys and values in f16 and asks, by ggml_prec_set_acc, for sums in f32, which ggml.h calls required then. A good engineer would
# guess that f16 costs the rounding of each value, at most 5e-4 of it, and that the numbers of keys, queries and threads do not matter. But with
# fewer than 64 queries at once, as in each step of decoding, the running sum is in f16 as well, and not yet divided by the sum of the weights. Once
# it is 2048, another one is lost: numbers of f16 are 2 apart there. With 64 queries, or a cache in f32, the sums are in f32. Threads share the keys
# of a single query and each has a sum of its own, so that the result also depends on their number. Whoever compares logits of decoding with those
# of a whole prompt, or with another engine's, finds an error that grows with the length and looks like a wrong mask or position.
#
# Linux on amd64; needs cc, git, node, npm and network. Prints the version, the guess and what happens; fails where that is no longer so.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund --ignore-scripts --omit=optional node-llama-cpp@3.22.1 @node-llama-cpp/linux-x64@3.22.1
git -c advice.detachedHead=false clone -q node_modules/node-llama-cpp/llama/gitRelease.bundle source
binaries=$work/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64
cat >average.c <<'END'
#include "ggml-backend.h"
#include "ggml.h"
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 64, KEYS = 4096 };

static void silent(enum ggml_log_level level, const char *text, void *data) { (void)level, (void)text, (void)data; }

// About normal, of deviation 1.
static unsigned state;
static float random_number(void) {
  float sum = -6;
  for (int i = 0; i < 12; ++i)
    sum += (float)((state = state * 1664525u + 1013904223u) >> 8) / (1 << 24);
  return sum;
}

static void set(struct ggml_tensor *tensor, int i, float value) {
  if (tensor->type == GGML_TYPE_F16)
    ((ggml_fp16_t *)tensor->data)[i] = ggml_fp32_to_fp16(value);
  else
    ((float *)tensor->data)[i] = value;
}

// The first number of what attention makes of values that are all 1. `spread` is the deviation of the scores.
static float average(ggml_backend_t cpu, enum ggml_type cache, int queries, int threads, float spread) {
  struct ggml_context *context = ggml_init((struct ggml_init_params){1 << 20, NULL, true});
  struct ggml_tensor *q = ggml_new_tensor_3d(context, GGML_TYPE_F32, SIZE, queries, 1);
  struct ggml_tensor *k = ggml_new_tensor_3d(context, cache, SIZE, KEYS, 1);
  struct ggml_tensor *v = ggml_new_tensor_3d(context, cache, SIZE, KEYS, 1);
  struct ggml_tensor *result = ggml_flash_attn_ext(context, q, k, v, NULL, 1, 0, 0);
  if (!ggml_prec_set_acc(result, GGML_PREC_F32))
    exit(1);
  struct ggml_cgraph *graph = ggml_new_graph(context);
  ggml_build_forward_expand(graph, result);
  ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(context, cpu);
  state = 1;
  for (int i = 0; i < SIZE * queries; ++i)
    set(q, i, i % SIZE == 0);
  for (int i = 0; i < SIZE * KEYS; ++i) {
    set(k, i, i % SIZE == 0 ? spread * random_number() : 0);
    set(v, i, 1);
  }
  ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(ggml_backend_get_device(cpu));
  ((ggml_backend_set_n_threads_t)ggml_backend_reg_get_proc_address(registry, "ggml_backend_set_n_threads"))(cpu, threads);
  if (ggml_backend_graph_compute(cpu, graph) != GGML_STATUS_SUCCESS)
    exit(1);
  const float first = ((float *)result->data)[0];
  ggml_backend_buffer_free(buffer);
  ggml_free(context);
  return first;
}

int main(int count, char **arguments) {
  (void)count;
  ggml_log_set(silent, NULL);
  ggml_backend_load_all_from_path(arguments[1]);
  ggml_backend_t cpu = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
  for (int spread = 0; spread < 2; ++spread) {
    printf("scores of deviation %d: f16, 1 query, 1 thread %.2f", spread, average(cpu, GGML_TYPE_F16, 1, 1, spread));
    printf("; 2 threads %.2f", average(cpu, GGML_TYPE_F16, 1, 2, spread));
    printf("; 63 queries %.2f", average(cpu, GGML_TYPE_F16, 63, 1, spread));
    printf("; 64 queries %.2f", average(cpu, GGML_TYPE_F16, 64, 1, spread));
    printf("; f32, 1 query %.2f\n", average(cpu, GGML_TYPE_F32, 1, 1, spread));
  }
  return 0;
}
END
cc -std=gnu11 -O1 -Isource/ggml/include average.c -o average "$binaries"/libggml.v*.so "$binaries/libggml-base.so" -Wl,-rpath,"$binaries"
echo "node-llama-cpp $(node -p "require('./node_modules/node-llama-cpp/package.json').version")," \
  "llama.cpp $(node -p "require('./node_modules/node-llama-cpp/llama/binariesGithubRelease.json').release")"
echo "guess: 1.00 everywhere, for a weighted average of 4096 ones is 1 whatever the weights"
seen=$(./average "$binaries")
echo "$seen"
echo "$seen" | grep -q "deviation 0: f16, 1 query, 1 thread 0.50; 2 threads 1.00; 63 queries 0.50; 64 queries 1.00; f32, 1 query 1.00"
echo "$seen" | grep -q "deviation 1: f16, 1 query, 1 thread 0\.[89].; 2 threads 0\.9.; 63 queries 0\.[89].; 64 queries 1.00; f32, 1 query 1.00"
