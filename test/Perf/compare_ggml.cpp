// compare_ggml BACKENDS THREADS: the attention of llama.cpp's library as an operation of its own, with the best of the
// libraries in the folder BACKENDS. "attention dense|causal LENGTH SIZE": 12 heads, queries in f32, keys and values in
// f16, each as [length, heads, channels], which is how llama.cpp's models have them.
#include "compare_worker.h"
#include <cmath>
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

static ggml_backend_t backend;
static const int64_t HEADS = 12;

/// Fills a tensor with array `salt`.
static void fill(ggml_tensor *tensor, uint64_t salt) {
  Floats numbers{size_t(ggml_nelements(tensor))};
  numbers.fill(salt);
  std::vector<ggml_fp16_t> halves(numbers.count);
  ggml_fp32_to_fp16_row(numbers.data, halves.data(), int64_t(numbers.count));
  const void *data = tensor->type == GGML_TYPE_F16 ? static_cast<const void *>(halves.data()) : numbers.data;
  ggml_backend_tensor_set(tensor, data, 0, ggml_nbytes(tensor));
  free(numbers.data);
}

/// Query i sees keys up to i.
static void fillMask(ggml_tensor *mask, int64_t length) {
  std::vector<ggml_fp16_t> numbers(size_t(length * length), ggml_fp32_to_fp16(0));
  for (int64_t i = 0; i < length; ++i)
    for (int64_t j = i + 1; j < length; ++j)
      numbers[size_t(i * length + j)] = ggml_fp32_to_fp16(-INFINITY);
  ggml_backend_tensor_set(mask, numbers.data(), 0, ggml_nbytes(mask));
}

static Case attention(const Words &words) {
  const int64_t length = atol(words[2].c_str()), size = atol(words[3].c_str());
  ggml_context *context = ggml_init({ggml_tensor_overhead() * 16 + ggml_graph_overhead(), nullptr, true});
  auto heads = [&](ggml_type type) { return ggml_new_tensor_3d(context, type, size, HEADS, length); };
  ggml_tensor *q = heads(GGML_TYPE_F32), *k = heads(GGML_TYPE_F16), *v = heads(GGML_TYPE_F16), *mask = nullptr;
  if (words[1] == "causal")
    mask = ggml_new_tensor_2d(context, GGML_TYPE_F16, length, length);
  auto turned = [&](ggml_tensor *tensor) { return ggml_permute(context, tensor, 0, 2, 1, 3); };
  ggml_tensor *y =
      ggml_flash_attn_ext(context, turned(q), turned(k), turned(v), mask, 1 / std::sqrt(float(size)), 0, 0);
  ggml_cgraph *graph = ggml_new_graph(context);
  ggml_build_forward_expand(graph, y);
  if (!ggml_backend_alloc_ctx_tensors(context, backend))
    fprintf(stderr, "ggml: no memory\n"), exit(1);
  fill(q, 1), fill(k, 2), fill(v, 3);
  if (mask)
    fillMask(mask, length);
  return {[=] { ggml_backend_graph_compute(backend, graph); }, ggml_get_data_f32(y), size_t(ggml_nelements(y))};
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  ggml_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
  ggml_backend_load_all_from_path(argv[1]);
  backend = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr);
  if (!backend)
    return fprintf(stderr, "ggml: no backend for processors in %s\n", argv[1]), 1;
  ggml_backend_reg_t library = ggml_backend_dev_backend_reg(ggml_backend_get_device(backend));
  auto setThreads =
      ggml_backend_set_n_threads_t(ggml_backend_reg_get_proc_address(library, "ggml_backend_set_n_threads"));
  setThreads(backend, atoi(argv[2]));
  return serve(std::string("flash attention of ggml ") + ggml_version() + ", keys and values f16", attention);
}
