//===- Recurrence.cpp - Recurrent cells over rows of tokens -------------------------===//
#include "lib/Reference/Ops.h"
#include <cmath>

using namespace mlir;
namespace rapt::reference {

namespace {

template <typename S> S sigmoid(S x) { return 1 / (1 + std::exp(-x)); }

/// One step of the cell for column j of the state; `x` are the layer's gates, `p` the state's part of them.
template <typename S>
void step(attn::RecurrenceKind kind, const S *x, const S *p, int64_t hidden, int64_t j, S &h, S *c) {
  auto part = [&](int64_t g) { return x[g * hidden + j] + p[g * hidden + j]; };
  switch (kind) {
  case attn::RecurrenceKind::rnn_tanh:
    h = std::tanh(part(0));
    return;
  case attn::RecurrenceKind::rnn_relu:
    h = part(0) < 0 ? S(0) : part(0);
    return;
  case attn::RecurrenceKind::gru: {
    S r = sigmoid(part(0)), z = sigmoid(part(1)), n = std::tanh(x[2 * hidden + j] + r * p[2 * hidden + j]);
    h = (1 - z) * n + z * h;
    return;
  }
  case attn::RecurrenceKind::lstm:
    *c = sigmoid(part(1)) * *c + sigmoid(part(0)) * std::tanh(part(2));
    h = sigmoid(part(3)) * std::tanh(*c);
    return;
  }
}

} // namespace

template <typename S>
FailureOr<SmallVector<Tensor<S>>> evaluate(attn::RecurrenceOp op, const Tensor<S> &gates, const Tensor<S> &weight,
                                           const Tensor<S> *bias, const Tensor<S> &rowBegin, Tensors<S> initial) {
  int64_t hidden = op.getHidden(), columns = hidden * op.getParts(), rows = rowBegin.dim(0) - 1;
  if (failed(checkOffsets(op, "row_begin", rowBegin, gates.dim(0))))
    return failure();
  for (const Tensor<S> *state : initial)
    if (state->dim(0) != rows)
      return op.emitOpError() << "has " << state->dim(0) << " initial states for " << rows << " rows";
  Result<S> output = makeTensor<S>(op, {gates.dim(0), hidden});
  if (failed(output))
    return failure();
  // In a layout, rows beyond k are those of padding.
  auto type = RankedTensorType::get(weight.shape, op.getWeight().getType().getElementType());
  std::optional<attn::WeightLayoutInterface> layout = op.getLayout();
  int64_t k = layout ? layout->getRows(type) : hidden;
  auto weightAt = [&](int64_t i, int64_t j) {
    return weight.floats[layout ? layout->getOffset(type, i, j) : i * columns + j];
  };
  SmallVector<Tensor<S>> results{std::move(*output)};
  for (const Tensor<S> *state : initial)
    results.push_back(*state);
  for (size_t i = initial.size(); i < op.getStates().size(); ++i) {
    Result<S> state = makeTensor<S>(op, {rows, hidden});
    if (failed(state))
      return failure();
    results.push_back(std::move(*state));
  }
  std::vector<S> hiddenGates(columns);
  for (int64_t row = 0; row < rows; ++row) {
    S *h = results[1].floats.data() + row * hidden;
    S *c = results.size() > 2 ? results[2].floats.data() + row * hidden : nullptr;
    int64_t begin = rowBegin.ints[row], length = rowBegin.ints[row + 1] - begin;
    for (int64_t i = 0; i < length; ++i) {
      int64_t token = op.getReverse() ? begin + length - 1 - i : begin + i;
      for (int64_t j = 0; j < columns; ++j) {
        hiddenGates[j] = 0;
        for (int64_t channel = 0; channel < k; ++channel)
          hiddenGates[j] += h[channel] * weightAt(channel, j);
        hiddenGates[j] += bias ? bias->floats[j] : S(0);
      }
      for (int64_t j = 0; j < hidden; ++j)
        step(op.getKind(), gates.floats.data() + token * columns, hiddenGates.data(), hidden, j, h[j],
             c ? c + j : nullptr);
      std::copy_n(h, hidden, results[0].floats.begin() + token * hidden);
    }
  }
  return results;
}

template <typename S>
Result<S> evaluate(attn::UpdateRowsOp op, const Tensor<S> &state, int64_t layer, const Tensor<S> &values,
                   const Tensor<S> &rows) {
  int64_t columns = state.shape.back(), layers = op.getLayer() ? state.dim(1) : 1;
  if (layer < 0 || layer >= layers)
    return op.emitOpError() << "writes layer " << layer << " of " << layers;
  if (values.dim(0) != rows.dim(0) || values.dim(1) != columns)
    return op.emitOpError() << "has values [" << values.dim(0) << ", " << values.dim(1) << "] for " << rows.dim(0)
                            << " rows of " << columns << " columns";
  Tensor<S> result = state;
  std::vector<bool> written(state.dim(0));
  for (int64_t i = 0; i < rows.dim(0); ++i) {
    int64_t row = rows.ints[i];
    if (row < 0 || row >= state.dim(0))
      return op.emitOpError() << "writes row " << row << " (element " << i << ") of " << state.dim(0) << " rows";
    if (written[row])
      return op.emitOpError() << "writes row " << row << " twice (element " << i << ")";
    written[row] = true;
    std::copy_n(values.floats.begin() + i * columns, columns, result.floats.begin() + (row * layers + layer) * columns);
  }
  return result;
}

template <typename S> Result<S> evaluate(attn::ConcatOp op, Tensors<S> inputs) {
  int64_t rows = inputs[0]->dim(0), width = cast<RankedTensorType>(op.getType()).getDimSize(1), at = 0;
  Result<S> result = makeTensor<S>(op, {rows, width});
  if (failed(result))
    return failure();
  for (auto [i, input] : llvm::enumerate(inputs)) {
    if (input->dim(0) != rows)
      return op.emitOpError() << "has inputs of " << rows << " and " << input->dim(0) << " rows";
    int64_t columns = op.getColumns() ? (*op.getColumns())[i] : input->dim(1);
    for (int64_t row = 0; row < rows; ++row)
      std::copy_n(input->floats.begin() + row * input->dim(1), columns, result->floats.begin() + row * width + at);
    at += columns;
  }
  return result;
}

#define INSTANTIATE(S)                                                                                                 \
  template FailureOr<SmallVector<Tensor<S>>> evaluate(attn::RecurrenceOp, const Tensor<S> &, const Tensor<S> &,        \
                                                      const Tensor<S> *, const Tensor<S> &, Tensors<S>);               \
  template Result<S> evaluate(attn::UpdateRowsOp, const Tensor<S> &, int64_t, const Tensor<S> &, const Tensor<S> &);   \
  template Result<S> evaluate(attn::ConcatOp, Tensors<S>);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
