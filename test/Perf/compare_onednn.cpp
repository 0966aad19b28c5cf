// compare_onednn: matmuls of oneDNN with weights in the layout that it prefers; OMP_NUM_THREADS says how many threads.
// "matmul N K M f32|bf16|i8|rounded": of 8 bits rows are shares of 127 without a sign, and weights of 127 with one; of
// "rounded" every run makes these rows of f32 first, all by one scale that is known before, with oneDNN's reorder.
#include "compare_worker.h"
#include <algorithm>
#include <cstring>
#include <dnnl.hpp>

using dnnl::memory;
using type = memory::data_type;
static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
static dnnl::stream stream(engine);

static dnnl::primitive_attr scaled(float scale) {
  dnnl::primitive_attr attributes;
  if (scale != 1)
    attributes.set_output_scales(0, {scale});
  return attributes;
}

/// The numbers, times `scale`, rounded to what `desc` holds, in its layout.
static memory rounded(const Floats &numbers, const memory::dims &dims, const memory::desc &desc, float scale) {
  memory given({dims, type::f32, memory::format_tag::ab}, engine, numbers.data), result(desc, engine);
  dnnl::reorder(given, result, scaled(scale)).execute(stream, given, result);
  stream.wait();
  return result;
}

static Case matmul(const Words &words) {
  using tag = memory::format_tag;
  const long n = atol(words[1].c_str()), k = atol(words[2].c_str()), m = atol(words[3].c_str());
  const bool rounds = words[4] == "rounded", bytes = rounds || words[4] == "i8", pairs = words[4] == "bf16";
  const float scale = bytes ? 127 : 1;
  Floats x(size_t(m * k)), w(size_t(k * n)), y(size_t(m * n));
  bytes ? x.fillShares(1) : x.fill(1);
  w.fill(2);
  memory::desc xs({m, k},
                  bytes   ? type::u8
                  : pairs ? type::bf16
                          : type::f32,
                  tag::ab),
      ws({k, n},
         bytes   ? type::s8
         : pairs ? type::bf16
                 : type::f32,
         tag::any),
      ys({m, n}, type::f32, tag::ab);
  dnnl::matmul::primitive_desc description(dnnl::matmul::desc(xs, ws, ys), scaled(1 / (scale * scale)), engine);
  memory input = rounded(x, {m, k}, xs, scale), weights = rounded(w, {k, n}, description.weights_desc(), scale),
         output(ys, engine, y.data);
  free(w.data);
  dnnl::matmul matmul(description);
  std::unordered_map<int, memory> arguments{{DNNL_ARG_SRC, input}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, output}};
  auto run = [=] {
    matmul.execute(stream, arguments);
    stream.wait();
  };
  if (!rounds) {
    free(x.data);
    return {run, y.data, y.count};
  }
  memory rows({{m, k}, type::f32, tag::ab}, engine, x.data);
  dnnl::reorder rounding(rows, input, scaled(scale));
  return {[=] {
            rounding.execute(stream, {{DNNL_ARG_FROM, rows}, {DNNL_ARG_TO, input}});
            run();
          },
          y.data, y.count};
}

/// How many sums are wrong where rows have all 8 bits: products of two pairs are added in 16 bits where there is no
/// VNNI.
static long wrongSums() {
  const long n = 32, k = 64, m = 4;
  memory::desc xs({m, k}, type::u8, memory::format_tag::ab), ws({k, n}, type::s8, memory::format_tag::ab),
      ys({m, n}, type::s32, memory::format_tag::ab);
  memory x(xs, engine), w(ws, engine), y(ys, engine);
  memset(x.get_data_handle(), 255, size_t(m * k));
  memset(w.get_data_handle(), 127, size_t(k * n));
  dnnl::matmul(dnnl::matmul::primitive_desc(dnnl::matmul::desc(xs, ws, ys), engine))
      .execute(stream, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}});
  stream.wait();
  const auto *sums = static_cast<const int32_t *>(y.get_data_handle());
  return std::count_if(sums, sums + m * n, [](int32_t sum) { return sum != k * 255 * 127; });
}

int main() {
  const dnnl_version_t *version = dnnl_version();
  return serve("oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
                   std::to_string(version->patch) + ", weights in its own layout" +
                   (wrongSums() ? "; sums of rows of 8 bits saturate, so that they have 7 here" : ""),
               matmul);
}
