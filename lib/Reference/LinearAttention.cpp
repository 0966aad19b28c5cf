//===- LinearAttention.cpp - Attention as a recurrence over a matrix ----------------===//
#include "lib/Reference/LinearAttention.h"
#include <cmath>

using namespace mlir;
namespace rapt::reference {

namespace {

template <typename S> class LinearAttention {
public:
  LinearAttention(attn::LinearAttentionOp op, const LinearAttentionOperands<S> &in)
      : op(op), in(in), states(op.getStates()), outputs(op.getOutputs()), keys(op.getKeyChannels()),
        values(op.getValueChannels()), matrix(size_t(keys * values)), change(size_t(values)) {}

  FailureOr<SmallVector<Tensor<S>>> run();

private:
  LogicalResult check();
  const S *head(const Tensor<S> &tensor, int64_t token, int64_t number) const {
    return tensor.floats.data() + (token * tensor.dim(1) + number) * tensor.dim(2);
  }
  /// The first element of one head's state in a slot.
  size_t placeOf(int64_t slot, int64_t state) const {
    return in.slots.placeOf(slot, states * keys * values) + size_t(state * keys * values);
  }
  void update(int64_t token, int64_t state);
  void read(int64_t token, int64_t output, S *result) const;

  mutable attn::LinearAttentionOp op; ///< a handle, whose getters are not const
  const LinearAttentionOperands<S> &in;
  const int64_t states, outputs, keys, values;
  std::vector<S> matrix; ///< of one head, [keys, values]
  std::vector<S> change; ///< what a token adds to each value channel by its key
};

template <typename S> LogicalResult LinearAttention<S>::check() {
  for (const Tensor<S> *tensor : {in.key, in.value, in.decay, in.beta})
    if (tensor && tensor->dim(0) != in.query->dim(0))
      return op.emitOpError() << "has tensors of " << in.query->dim(0) << " and " << tensor->dim(0) << " tokens";
  if (failed(checkOffsets(op, "rows", *in.rowBegin, in.query->dim(0))))
    return failure();
  return in.slots.check(op, in.rowBegin->dim(0) - 1);
}

/// The state behind a token.
template <typename S> void LinearAttention<S>::update(int64_t token, int64_t state) {
  const S *key = head(*in.key, token, op.getPaired(state, states, in.key->dim(1)));
  const S *value = head(*in.value, token, op.getPaired(state, states, in.value->dim(1)));
  for (int64_t i = 0; i < keys && in.decay; ++i) {
    const int64_t at = token * states + state;
    const S decay = std::exp(in.decay->floats[op.decaysByChannel() ? at * keys + i : at]);
    for (int64_t j = 0; j < values; ++j)
      matrix[i * values + j] *= decay;
  }
  for (int64_t j = 0; j < values; ++j) {
    change[j] = value[j];
    if (!op.isDelta())
      continue;
    for (int64_t i = 0; i < keys; ++i)
      change[j] -= matrix[i * values + j] * key[i];
    change[j] *= in.beta->floats[token * states + state];
  }
  for (int64_t i = 0; i < keys; ++i)
    for (int64_t j = 0; j < values; ++j)
      matrix[i * values + j] += key[i] * change[j];
}

template <typename S> void LinearAttention<S>::read(int64_t token, int64_t output, S *result) const {
  const S *query = head(*in.query, token, op.getPaired(output, outputs, in.query->dim(1)));
  for (int64_t j = 0; j < values; ++j) {
    S sum = 0;
    for (int64_t i = 0; i < keys; ++i)
      sum += matrix[i * values + j] * query[i];
    result[j] = S(op.getScale().convertToDouble()) * sum;
  }
}

template <typename S> FailureOr<SmallVector<Tensor<S>>> LinearAttention<S>::run() {
  if (failed(check()))
    return failure();
  Result<S> made = makeTensor<S>(op, {in.query->dim(0), outputs, values});
  if (failed(made))
    return failure();
  SmallVector<Tensor<S>> results{std::move(*made)};
  const Slots<S> &slots = in.slots;
  if (slots.state)
    results.push_back(*slots.state);
  for (int64_t row = 0; row < in.rowBegin->dim(0) - 1; ++row)
    for (int64_t state = 0; state < states; ++state) {
      if (slots.state)
        std::copy_n(slots.state->floats.begin() + placeOf(slots.first(row), state), matrix.size(), matrix.begin());
      else
        std::fill(matrix.begin(), matrix.end(), S(0));
      for (int64_t token = in.rowBegin->ints[row]; token < in.rowBegin->ints[row + 1]; ++token) {
        update(token, state);
        for (int64_t output = 0; output < outputs; ++output)
          if (op.getPaired(output, outputs, states) == state)
            read(token, output, results[0].floats.data() + (token * outputs + output) * values);
      }
      if (slots.state)
        std::copy(matrix.begin(), matrix.end(), results[1].floats.begin() + placeOf(slots.last(row), state));
    }
  return results;
}

} // namespace

template <typename S>
FailureOr<SmallVector<Tensor<S>>> evaluate(attn::LinearAttentionOp op, const LinearAttentionOperands<S> &operands) {
  return LinearAttention<S>(op, operands).run();
}

#define INSTANTIATE(S)                                                                                                 \
  template FailureOr<SmallVector<Tensor<S>>> evaluate(attn::LinearAttentionOp, const LinearAttentionOperands<S> &);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
