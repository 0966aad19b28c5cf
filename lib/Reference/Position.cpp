//===- Position.cpp - Positions and rotary embedding ---------------------------===//
#include "lib/Reference/Ops.h"
#include <cmath>

using namespace mlir;
namespace rapt::reference {

template <typename S>
LogicalResult checkOffsets(Operation *op, StringRef name, const Tensor<S> &offsets, int64_t extent) {
  int64_t before = 0;
  if (offsets.ints.empty())
    return op->emitOpError() << name << " is empty, but needs an offset more than rows";
  for (auto [i, offset] : llvm::enumerate(offsets.ints)) {
    if (offset < before || offset > extent || (i == 0 && offset != 0))
      return op->emitOpError() << name << "[" << i << "] is " << offset << ", but must be "
                               << (i == 0 ? "0" : "within " + std::to_string(before) + ".." + std::to_string(extent));
    before = offset;
  }
  return success();
}

template <typename S>
Result<S> evaluate(attn::PositionsOp op, const Tensor<S> &tokens, const Tensor<S> &rowBegin, const Tensor<S> *past) {
  if (failed(checkOffsets(op, "row_begin", rowBegin, tokens.dim(0))))
    return failure();
  if (past && past->dim(0) + 1 != rowBegin.dim(0))
    return op.emitOpError() << "has " << past->dim(0) << " past lengths for " << rowBegin.dim(0) - 1 << " rows";
  // Tokens of no row have position 0.
  Tensor<S> result{tokens.shape, {}, std::vector<int64_t>(tokens.dim(0))};
  for (int64_t r = 0; r < rowBegin.dim(0) - 1; ++r)
    for (int64_t t = rowBegin.ints[r]; t < rowBegin.ints[r + 1]; ++t)
      result.ints[t] = (past ? past->ints[r] : 0) + t - rowBegin.ints[r];
  return result;
}

template <typename S> Result<S> evaluate(attn::RopeOp op, const Tensor<S> &input, const Tensor<S> &positions) {
  ArrayRef<float> frequencies = op.getFrequencies();
  int64_t half = frequencies.size(), channels = input.dim(2);
  if (positions.dim(0) != input.dim(0))
    return op.emitOpError() << "has " << positions.dim(0) << " positions for " << input.dim(0) << " tokens";
  S magnitude = S(op.getMagnitude().convertToFloat());
  Tensor<S> result = input;
  for (int64_t t = 0; t < input.dim(0); ++t)
    for (int64_t i = 0; i < half; ++i) {
      S angle = S(positions.ints[t]) * S(frequencies[i]);
      S cosine = std::cos(angle) * magnitude, sine = std::sin(angle) * magnitude;
      for (int64_t h = 0; h < input.dim(1); ++h) {
        int64_t at = (t * input.dim(1) + h) * channels + i;
        S first = input.floats[at], second = input.floats[at + half];
        result.floats[at] = first * cosine - second * sine;
        result.floats[at + half] = second * cosine + first * sine;
      }
    }
  return result;
}

#define INSTANTIATE(S)                                                                                                 \
  template LogicalResult checkOffsets(Operation *, StringRef, const Tensor<S> &, int64_t);                             \
  template Result<S> evaluate(attn::PositionsOp, const Tensor<S> &, const Tensor<S> &, const Tensor<S> *);             \
  template Result<S> evaluate(attn::RopeOp, const Tensor<S> &, const Tensor<S> &);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
