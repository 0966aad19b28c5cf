// compare_onednn: products of oneDNN with weights in the layout that it prefers; OMP_NUM_THREADS says how many threads.
#include "compare_worker.h"
#include <dnnl.hpp>

int main() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static dnnl::stream stream(engine);
  const dnnl_version_t *version = dnnl_version();
  std::string name = "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
                     std::to_string(version->patch) + ", weights in its own layout";
  return serve(name, [](const Words &words) {
    using dnnl::memory;
    const long n = atol(words[1].c_str()), k = atol(words[2].c_str()), m = atol(words[3].c_str());
    Floats x(size_t(m * k)), w(size_t(k * n)), y(size_t(m * n));
    x.fill(1), w.fill(2);
    using tag = memory::format_tag;
    memory::desc xs({m, k}, memory::data_type::f32, tag::ab), ws({k, n}, memory::data_type::f32, tag::any),
        plain({k, n}, memory::data_type::f32, tag::ab), ys({m, n}, memory::data_type::f32, tag::ab);
    dnnl::matmul::primitive_desc description(dnnl::matmul::desc(xs, ws, ys), engine);
    memory given(plain, engine, w.data), weights(description.weights_desc(), engine), input(xs, engine, x.data),
        output(ys, engine, y.data);
    dnnl::reorder(given, weights).execute(stream, given, weights);
    stream.wait();
    dnnl::matmul product(description);
    std::unordered_map<int, memory> arguments{
        {DNNL_ARG_SRC, input}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, output}};
    return Case{[=] {
                  product.execute(stream, arguments);
                  stream.wait();
                },
                y.data, y.count};
  });
}
