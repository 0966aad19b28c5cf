//===- FeedForward.cpp - Matmuls, activations, gates ---------------------------===//
#include "lib/Reference/Ops.h"
#include <cmath>
#include <numbers>

using namespace mlir;
namespace rapt::reference {

namespace {

/// The weight as [k, n] whatever its form: transposed, or in a layout.
template <typename S> std::vector<S> plainWeight(attn::LinearOp op, const Tensor<S> &weight, int64_t k, int64_t n) {
  std::optional<attn::WeightLayoutInterface> layout = op.getLayout();
  if (!layout && !op.getTransposed())
    return weight.floats;
  std::vector<S> plain(k * n);
  auto type = RankedTensorType::get(weight.shape, op.getWeight().getType().getElementType());
  int64_t rows = std::min(k, layout ? layout->getRows(type) : k);
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < rows; ++i)
      plain[i * n + j] = weight.floats[layout ? layout->getOffset(type, i, j) : j * k + i];
  return plain;
}

/// The first column of the weight for each row of the input: that of its matrix, where rows have one each. Rows of
/// heads are those of all heads of a token, then of the next.
template <typename S>
FailureOr<SmallVector<int64_t>> firstColumns(attn::LinearOp op, const Tensor<S> *groups, int64_t rows, int64_t n) {
  SmallVector<int64_t> columns(rows, 0);
  if (op.isOfHeads())
    for (int64_t row = 0, heads = op.getInput().getType().getDimSize(1); row < rows; ++row)
      columns[row] = row % heads * n;
  if (!groups)
    return columns;
  const int64_t matrices = op.getMatrices();
  int64_t end = 0;
  for (int64_t i = 0; i + 1 < groups->dim(0); ++i) {
    const int64_t begin = groups->ints[2 * i], matrix = groups->ints[2 * i + 1];
    if (begin != end || groups->ints[2 * i + 2] < begin || groups->ints[2 * i + 2] > rows || matrix < 0 ||
        matrix >= matrices)
      return op.emitOpError() << "has rows " << begin << " to " << groups->ints[2 * i + 2] << " of " << rows
                              << " for matrix " << matrix << " of " << matrices << " in group " << i;
    end = groups->ints[2 * i + 2];
    std::fill(columns.begin() + begin, columns.begin() + end, matrix * n);
  }
  if (end != rows)
    return op.emitOpError() << "has groups of " << end << " of " << rows << " rows";
  return columns;
}

} // namespace

template <typename S> S activate(attn::ActivationKind kind, S x) {
  switch (kind) {
  case attn::ActivationKind::gelu:
    return S(0.5) * x * (1 + std::erf(x / std::numbers::sqrt2_v<S>));
  case attn::ActivationKind::gelu_tanh:
    return S(0.5) * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi_v<S>) * (x + S(0.044715) * x * x * x)));
  case attn::ActivationKind::relu:
    return x < 0 ? S(0) : x;
  case attn::ActivationKind::silu:
    return x / (1 + std::exp(-x));
  case attn::ActivationKind::tanh:
    return std::tanh(x);
  case attn::ActivationKind::sigmoid:
    return 1 / (1 + std::exp(-x));
  case attn::ActivationKind::quick_gelu:
    return x / (1 + std::exp(S(-1.702) * x));
  }
  llvm_unreachable("every activation kind is handled");
}

template <typename S>
Result<S> evaluate(attn::LinearOp op, const Tensor<S> &input, const Tensor<S> &weight, Tensors<S> extras,
                   const Tensor<S> *groups, ScalarProgram<S> *epilogue) {
  const int64_t k = input.shape.back(), rows = llvm::product_of(ArrayRef(input.shape).drop_back());
  int64_t n = op.getResult().getType().getShape().back();
  if (ShapedType::isDynamic(n))
    n = op.getLayout() ? op.getLayout()->getColumns(op.getWeight().getType()) : weight.dim(op.getTransposed() ? 0 : 1);
  if (!op.getLayout() && weight.dim(op.getTransposed() ? 1 : 0) != k)
    return op.emitOpError() << "sums over " << k << " columns of the input and "
                            << weight.dim(op.getTransposed() ? 1 : 0) << " rows of the weight";
  for (const Tensor<S> *extra : extras)
    if (extra->shape.size() == 2 && (extra->dim(0) != rows || extra->dim(1) != n))
      return op.emitOpError() << "has an extra operand [" << extra->dim(0) << ", " << extra->dim(1)
                              << "] for a result [" << rows << ", " << n << "]";
  std::vector<int64_t> shape(input.shape.begin(), input.shape.end());
  shape.back() = n;
  Result<S> result = makeTensor<S>(op, shape);
  if (failed(result))
    return failure();
  FailureOr<SmallVector<int64_t>> first = firstColumns(op, groups, rows, n);
  if (failed(first))
    return failure();
  const int64_t all = op.hasMatrices() ? op.getMatrices() * n : n;
  std::vector<S> plain;
  if (op.isQuantized() && op.getLayout())
    return op.emitOpError("has a quantized weight in a layout, which is of a later stage than is evaluated");
  if (op.isQuantized())
    result->floats = quantizedSums(op, input, weight, n, *first);
  else
    plain = plainWeight(op, weight, k, all);
  for (int64_t m = 0; m < rows; ++m) {
    S *sums = result->floats.data() + m * n;
    for (int64_t i = 0; !op.isQuantized() && i < k; ++i)
      for (int64_t j = 0; j < n; ++j)
        sums[j] += input.floats[m * k + i] * plain[i * all + (*first)[m] + j];
    for (int64_t j = 0; epilogue && j < n; ++j) {
      epilogue->argument(0).f = sums[j];
      for (auto [e, extra] : llvm::enumerate(extras))
        epilogue->argument(1 + e).f = extra->floats[extra->shape.size() == 1 ? (*first)[m] + j : m * n + j];
      sums[j] = epilogue->run().f;
    }
  }
  return result;
}

template <typename S> Result<S> evaluate(attn::ClipOp op, const Tensor<S> &input) {
  Tensor<S> result = input;
  const S bound = op.getBound().convertToFloat();
  for (S &x : result.floats)
    x = std::isnan(x) ? x : std::clamp(x, -bound, bound);
  return result;
}

template <typename S> Result<S> evaluate(attn::ActivationOp op, const Tensor<S> &input) {
  Tensor<S> result = input;
  for (S &x : result.floats)
    x = activate(op.getKind(), x);
  return result;
}

template <typename S> Result<S> evaluate(attn::GLUOp op, const Tensor<S> &gate, const Tensor<S> &up) {
  if (gate.shape != up.shape)
    return op.emitOpError("has operands of different extents");
  Tensor<S> result = gate;
  for (auto [x, factor] : llvm::zip(result.floats, up.floats))
    x = activate(op.getKind(), x) * factor;
  return result;
}

#define INSTANTIATE(S)                                                                                                 \
  template Result<S> evaluate(attn::LinearOp, const Tensor<S> &, const Tensor<S> &, Tensors<S>, const Tensor<S> *,     \
                              ScalarProgram<S> *);                                                                     \
  template S activate(attn::ActivationKind, S);                                                                        \
  template Result<S> evaluate(attn::ActivationOp, const Tensor<S> &);                                                  \
  template Result<S> evaluate(attn::ClipOp, const Tensor<S> &);                                                        \
  template Result<S> evaluate(attn::GLUOp, const Tensor<S> &, const Tensor<S> &);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
