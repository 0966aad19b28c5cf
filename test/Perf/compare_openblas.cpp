// compare_openblas: matmuls of OpenBLAS; OPENBLAS_NUM_THREADS and OPENBLAS_CORETYPE say how.
#include "compare_worker.h"
#include <cblas.h>

int main() {
  return serve(openblas_get_config(), [](const Words &words) {
    const int n = atoi(words[1].c_str()), k = atoi(words[2].c_str()), m = atoi(words[3].c_str());
    Floats x(size_t(m) * size_t(k)), w(size_t(k) * size_t(n)), y(size_t(m) * size_t(n));
    x.fill(1), w.fill(2);
    return Case{
        [=] { cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, x.data, k, w.data, n, 0, y.data, n); },
        y.data, y.count};
  });
}
