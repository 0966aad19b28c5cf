//===- Pooling.cpp - One vector for a row of tokens ---------------------------===//
#include "lib/Reference/Ops.h"

using namespace mlir;
namespace rapt::reference {

template <typename S> Result<S> evaluate(attn::PoolRowsOp op, const Tensor<S> &input, const Tensor<S> &rowBegin) {
  if (failed(checkOffsets(op, "row_begin", rowBegin, input.dim(0))))
    return failure();
  int64_t rows = rowBegin.dim(0) - 1, columns = input.dim(1);
  Result<S> result = makeTensor<S>(op, {rows, columns});
  if (failed(result))
    return failure();
  for (int64_t r = 0; r < rows; ++r) {
    int64_t end = rowBegin.ints[r + 1], begin = std::min(end, rowBegin.ints[r] + int64_t(op.getSkip()));
    for (int64_t c = 0; c < columns; ++c) {
      auto at = [&](int64_t t) { return input.floats[t * columns + c]; };
      S value = 0;
      switch (op.getKind()) {
      case attn::PoolingKind::first:
        value = begin < end ? at(begin) : S(0);
        break;
      case attn::PoolingKind::last:
        value = begin < end ? at(end - 1) : S(0);
        break;
      case attn::PoolingKind::mean:
        for (int64_t t = begin; t < end; ++t)
          value += at(t);
        value = begin < end ? value / S(end - begin) : S(0);
        break;
      case attn::PoolingKind::max:
        for (int64_t t = begin; t < end; ++t)
          value = t == begin ? at(t) : std::max(value, at(t));
        break;
      }
      result->floats[r * columns + c] = value;
    }
  }
  return result;
}

#define INSTANTIATE(S) template Result<S> evaluate(attn::PoolRowsOp, const Tensor<S> &, const Tensor<S> &);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
