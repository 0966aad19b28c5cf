// compare_ggml BACKENDS THREADS: attention and matmuls of llama.cpp's library as operations of their own, with the best
// of the libraries in the folder BACKENDS. "attention dense|causal LENGTH SIZE": 12 heads, queries in f32, keys and
// values in f16, each as [length, heads, channels], which is how llama.cpp's models have them. "matmul N K M
// q8_0|q4_0": rows in f32 from 0 to 1, weights in the layout that it gives a model's on this machine.
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

/// Where a model's weights would be: the first of the backend's own places that takes the operation, such as that of
/// interleaved rows.
static ggml_backend_buffer_type_t placeOf(ggml_tensor *operation) {
  ggml_backend_dev_t device = ggml_backend_get_device(backend);
  auto places = ggml_backend_dev_get_extra_bufts_t(
      ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), "ggml_backend_dev_get_extra_bufts"));
  for (ggml_backend_buffer_type_t *place = places ? places(device) : nullptr; place && *place; ++place) {
    ggml_tensor *weights = operation->src[0];
    weights->buffer = ggml_backend_buft_alloc_buffer(*place, 0);
    const bool takes = ggml_backend_dev_supports_op(device, operation);
    ggml_backend_buffer_free(weights->buffer);
    weights->buffer = nullptr;
    if (takes)
      return *place;
  }
  return ggml_backend_get_default_buffer_type(backend);
}

static Case matmul(const Words &words) {
  const int64_t n = atol(words[1].c_str()), k = atol(words[2].c_str()), m = atol(words[3].c_str());
  const ggml_type type = words[4] == "q8_0" ? GGML_TYPE_Q8_0 : GGML_TYPE_Q4_0;
  ggml_context *ofWeights = ggml_init({ggml_tensor_overhead() * 2, nullptr, true}),
               *context = ggml_init({ggml_tensor_overhead() * 4 + ggml_graph_overhead(), nullptr, true});
  ggml_tensor *w = ggml_new_tensor_2d(ofWeights, type, k, n), *x = ggml_new_tensor_2d(context, GGML_TYPE_F32, k, m),
              *y = ggml_mul_mat(context, w, x);
  ggml_cgraph *graph = ggml_new_graph(context);
  ggml_build_forward_expand(graph, y);
  if (!ggml_backend_alloc_ctx_tensors_from_buft(ofWeights, placeOf(y)) ||
      !ggml_backend_alloc_ctx_tensors(context, backend))
    fprintf(stderr, "ggml: no memory\n"), exit(1);
  Floats columns(size_t(n * k)), rows(size_t(k * m));
  for (int64_t column = 0; column < n; ++column)
    for (int64_t row = 0; row < k; ++row)
      columns.data[column * k + row] = number(uint64_t(row * n + column), 2);
  std::vector<char> codes(ggml_nbytes(w));
  ggml_quantize_chunk(type, columns.data, codes.data(), 0, n, k, nullptr);
  ggml_backend_tensor_set(w, codes.data(), 0, codes.size());
  rows.fillShares(1);
  ggml_backend_tensor_set(x, rows.data, 0, ggml_nbytes(x));
  free(columns.data), free(rows.data);
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
  return serve(std::string("ggml ") + ggml_version() + ", flash attention with keys and values in f16",
               [](const Words &words) { return words[0] == "matmul" ? matmul(words) : attention(words); });
}
