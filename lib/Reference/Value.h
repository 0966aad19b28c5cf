//===- Value.h - Values of the reference evaluator ------------------------*- C++ -*-===//
//
// `Scalar` is float or double: the arithmetic in which everything is computed
// that the IR calls f32. Narrower floats are held in it after rounding.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>
#include <variant>
#include <vector>

namespace rapt::reference {

/// Most elements of one tensor: a wrong extent is an error, not an exhausted machine.
inline constexpr int64_t maxElements = int64_t(1) << 32;

/// A dense tensor in row-major order. Float elements are in `floats`, integers of any width in `ints`. A quantized
/// matrix has its values in `floats`, its codes in `ints`, and scale and zero of each group, lines of groups one after
/// another: a line is a row of activations or what one column of a matmul sums over. Of blocks, `ints` are the numbers
/// of codes less the zero, and groups may have offsets.
template <typename Scalar> struct Tensor {
  llvm::SmallVector<int64_t, 4> shape;
  std::vector<Scalar> floats;
  std::vector<int64_t> ints;
  std::vector<Scalar> scales = {};
  std::vector<int64_t> zeros = {};
  std::vector<Scalar> offsets = {};

  int64_t size() const {
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    return count;
  }
  int64_t dim(unsigned i) const { return shape[i]; }
};

/// The pool of cache blocks. `keys[layer]` and `values[layer]` are [blocks, heads, block, head_dim]; layers are shared
/// until one is written.
template <typename Scalar> struct Cache {
  int64_t blocks = 0;
  std::vector<std::shared_ptr<const std::vector<Scalar>>> keys, values;
};

template <typename Scalar> using TensorRef = std::shared_ptr<const Tensor<Scalar>>;

/// An index or integer (sign-extended), a float, a tensor, or a cache.
template <typename Scalar>
using Value = std::variant<std::monostate, int64_t, Scalar, TensorRef<Scalar>, std::shared_ptr<const Cache<Scalar>>>;

/// A tensor of zeros, of floats without `element`; one of more than maxElements, or of a negative extent, is an error
/// at `op`.
template <typename Scalar>
mlir::FailureOr<Tensor<Scalar>> makeTensor(mlir::Operation *op, llvm::ArrayRef<int64_t> shape, mlir::Type element = {});

/// `value` rounded to what `type` can hold, to nearest even. f32 and f64 stand for the evaluator's own arithmetic when
/// `exact` is false, and are rounded to as well when it is true (the values of weights).
double roundTo(mlir::FloatType type, double value, bool exact = false);

/// Sign-extends the low `width` (1 to 64) bits.
inline int64_t signExtend(int64_t value, unsigned width) {
  return width >= 64 ? value : int64_t(uint64_t(value) << (64 - width)) >> (64 - width);
}

} // namespace rapt::reference
