//===- Similarity.h - The similarity of a query and a key -----------------*- C++ -*-===//
#pragma once
#include "lib/Reference/Value.h"
#include <cmath>

namespace rapt::reference {

/// query . key, or v . tanh(query + key) (A6).
template <typename S>
S similarity(const Tensor<S> *v, int64_t channels, const S *query, int64_t queryStride, const S *key,
             int64_t keyStride) {
  S sum = 0;
  for (int64_t d = 0; d < (v ? v->dim(0) : channels); ++d) {
    S x = query[d * queryStride], y = key[d * keyStride];
    sum += v ? v->floats[d] * std::tanh(x + y) : x * y;
  }
  return sum;
}

} // namespace rapt::reference
