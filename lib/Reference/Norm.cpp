//===- Norm.cpp - Normalization over the last dim ----------------------------===//
#include "lib/Reference/Ops.h"
#include <cmath>

using namespace mlir;
namespace rapt::reference {

/// How many rows of the last dim there are.
/// The place in a weight of a row's first element: each head may have its own.
template <typename S> static int64_t beginOf(const Tensor<S> &weight, int64_t row, int64_t width) {
  const int64_t heads = int64_t(weight.floats.size()) / width;
  return row % heads * width;
}

template <typename S> static int64_t rowsOf(const Tensor<S> &input) {
  return llvm::product_of(llvm::ArrayRef(input.shape).drop_back());
}

template <typename S>
Result<S> evaluate(attn::LayerNormOp op, const Tensor<S> &input, const Tensor<S> &weight, const Tensor<S> &bias) {
  const int64_t width = input.shape.back(), columns = op.getColumns().value_or(width), rows = rowsOf(input);
  Tensor<S> result = input;
  for (int64_t r = 0; r < rows; ++r) {
    const S *x = input.floats.data() + r * width, *gain = weight.floats.data() + beginOf(weight, r, width);
    S sum = 0, squares = 0;
    for (int64_t c = 0; c < columns; ++c)
      sum += x[c];
    S mean = sum / S(columns);
    for (int64_t c = 0; c < columns; ++c)
      squares += (x[c] - mean) * (x[c] - mean);
    S deviation = std::sqrt(squares / S(columns) + S(op.getEpsilon().convertToDouble()));
    for (int64_t c = 0; c < width; ++c)
      result.floats[r * width + c] =
          c < columns ? (x[c] - mean) / deviation * gain[c] + bias.floats[beginOf(bias, r, width) + c] : S(0);
  }
  return result;
}

template <typename S> Result<S> evaluate(attn::RMSNormOp op, const Tensor<S> &input, const Tensor<S> &weight) {
  const int64_t width = input.shape.back(), columns = op.getColumns().value_or(width), rows = rowsOf(input);
  Tensor<S> result = input;
  for (int64_t r = 0; r < rows; ++r) {
    const S *x = input.floats.data() + r * width, *gain = weight.floats.data() + beginOf(weight, r, width);
    S squares = 0;
    for (int64_t c = 0; c < columns; ++c)
      squares += x[c] * x[c];
    S root = std::sqrt(squares / S(columns) + S(op.getEpsilon().convertToDouble()));
    for (int64_t c = 0; c < width; ++c)
      result.floats[r * width + c] = c < columns ? x[c] / root * gain[c] : S(0);
  }
  return result;
}

#define INSTANTIATE(S)                                                                                                 \
  template Result<S> evaluate(attn::LayerNormOp, const Tensor<S> &, const Tensor<S> &, const Tensor<S> &);             \
  template Result<S> evaluate(attn::RMSNormOp, const Tensor<S> &, const Tensor<S> &);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
