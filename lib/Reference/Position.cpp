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
  const std::optional<uint32_t> padding = op.getPadding();
  for (int64_t r = 0; r < rowBegin.dim(0) - 1; ++r)
    for (int64_t t = rowBegin.ints[r], counted = 0; t < rowBegin.ints[r + 1]; ++t)
      if (!padding)
        result.ints[t] = (past ? past->ints[r] : 0) + t - rowBegin.ints[r];
      else if (tokens.ints[t] != int32_t(*padding))
        result.ints[t] = ++counted;
  return result;
}

template <typename S> Result<S> evaluate(attn::SinusoidsOp op, const Tensor<S> &positions) {
  int64_t width = op.getResult().getType().getDimSize(1);
  Result<S> result = makeTensor<S>(op, {positions.dim(0), width});
  if (failed(result))
    return failure();
  for (int64_t t = 0; t < positions.dim(0); ++t)
    for (auto [c, frequency] : llvm::enumerate(op.getFrequencies())) {
      S angle = S(positions.ints[t] + op.getFirst().value_or(0)) * S(frequency);
      result->floats[t * width + int64_t(c)] = op.isCosine(int64_t(c)) ? std::cos(angle) : std::sin(angle);
    }
  return result;
}

template <typename S>
FailureOr<std::pair<Tensor<S>, Tensor<S>>> evaluate(attn::RotaryTableOp op, const Tensor<S> &positions,
                                                    const Tensor<S> *lengths) {
  ArrayRef<float> frequencies = op.getFrequencies();
  if (lengths && lengths->dim(0) != positions.dim(0))
    return op.emitOpError() << "has lengths of " << lengths->dim(0) << " tokens for " << positions.dim(0);
  Result<S> cosines = makeTensor<S>(op, {positions.dim(0), int64_t(frequencies.size())});
  if (failed(cosines))
    return failure();
  Tensor<S> sines = *cosines;
  S magnitude = S(op.getMagnitude().convertToFloat());
  for (size_t at = 0; at < cosines->floats.size(); ++at) {
    const size_t token = at / frequencies.size();
    const bool isLong = lengths && lengths->ints[token] > int64_t(*op.getBound());
    ArrayRef<float> own = isLong ? *op.getLongFrequencies() : frequencies;
    S angle = S(positions.ints[token]) * S(own[at % frequencies.size()]);
    cosines->floats[at] = std::cos(angle) * magnitude;
    sines.floats[at] = std::sin(angle) * magnitude;
  }
  return std::pair(std::move(*cosines), std::move(sines));
}

template <typename S>
Result<S> evaluate(attn::RopeOp op, const Tensor<S> &input, const Tensor<S> &cosines, const Tensor<S> &sines) {
  int64_t pairs = cosines.dim(1), heads = input.dim(1), channels = input.dim(2);
  if (cosines.dim(0) != input.dim(0) || sines.dim(0) != input.dim(0))
    return op.emitOpError() << "has a table of " << cosines.dim(0) << " and " << sines.dim(0) << " tokens for "
                            << input.dim(0) << " tokens";
  int64_t step = op.getInterleaved() ? 2 : 1, apart = op.getInterleaved() ? 1 : pairs;
  const int64_t rotated = op.getHeads().value_or(heads);
  Tensor<S> result = input;
  for (int64_t head = 0; head < input.dim(0) * heads; ++head)
    for (int64_t i = 0; i < pairs && head % heads < rotated; ++i) {
      int64_t at = head * channels + i * step, place = head / heads * pairs + i;
      S first = input.floats[at], second = input.floats[at + apart];
      result.floats[at] = first * cosines.floats[place] - second * sines.floats[place];
      result.floats[at + apart] = second * cosines.floats[place] + first * sines.floats[place];
    }
  return result;
}

#define INSTANTIATE(S)                                                                                                 \
  template LogicalResult checkOffsets(Operation *, StringRef, const Tensor<S> &, int64_t);                             \
  template Result<S> evaluate(attn::PositionsOp, const Tensor<S> &, const Tensor<S> &, const Tensor<S> *);             \
  template Result<S> evaluate(attn::SinusoidsOp, const Tensor<S> &);                                                   \
  template FailureOr<std::pair<Tensor<S>, Tensor<S>>> evaluate(attn::RotaryTableOp, const Tensor<S> &,                 \
                                                               const Tensor<S> *);                                     \
  template Result<S> evaluate(attn::RopeOp, const Tensor<S> &, const Tensor<S> &, const Tensor<S> &);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
