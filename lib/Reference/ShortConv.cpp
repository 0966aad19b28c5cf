//===- ShortConv.cpp - Causal convolution over a sequence's tokens ------------------===//
#include "lib/Reference/LinearAttention.h"

using namespace mlir;
namespace rapt::reference {

template <typename S>
FailureOr<SmallVector<Tensor<S>>> evaluate(attn::ShortConvOp op, const Tensor<S> &input, const Tensor<S> &weight,
                                           const Tensor<S> *bias, const Tensor<S> &rowBegin, const Slots<S> &slots) {
  const int64_t taps = op.getTaps(), channels = op.getChannels(), reach = op.getReach(),
                dilation = int64_t(op.getDilation()), rows = rowBegin.dim(0) - 1;
  if (failed(checkOffsets(op, "rows", rowBegin, input.dim(0))) || failed(slots.check(op, rows)))
    return failure();
  Result<S> made = makeTensor<S>(op, input.shape);
  if (failed(made))
    return failure();
  SmallVector<Tensor<S>> results{std::move(*made)};
  if (slots.state)
    results.push_back(*slots.state);
  std::vector<S> all; // inputs of a row, those of its state first
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t begin = rowBegin.ints[row], end = rowBegin.ints[row + 1], count = reach * channels;
    all.assign(size_t(count), S(0));
    if (slots.state)
      std::copy_n(slots.state->floats.begin() + slots.placeOf(slots.first(row), count), count, all.begin());
    all.insert(all.end(), input.floats.begin() + begin * channels, input.floats.begin() + end * channels);
    for (int64_t token = begin; token < end; ++token)
      for (int64_t channel = 0; channel < channels; ++channel) {
        S sum = bias ? bias->floats[channel] : S(0);
        for (int64_t tap = 0; tap < taps; ++tap)
          sum += weight.floats[tap * channels + channel] * all[(token - begin + tap * dilation) * channels + channel];
        results[0].floats[token * channels + channel] = op.getActivation() ? activate(*op.getActivation(), sum) : sum;
      }
    if (slots.state)
      std::copy_n(all.end() - count, count, results[1].floats.begin() + slots.placeOf(slots.last(row), count));
  }
  return results;
}

#define INSTANTIATE(S)                                                                                                 \
  template FailureOr<SmallVector<Tensor<S>>> evaluate(attn::ShortConvOp, const Tensor<S> &, const Tensor<S> &,         \
                                                      const Tensor<S> *, const Tensor<S> &, const Slots<S> &);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
