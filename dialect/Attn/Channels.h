//===- Channels.h - Channels, rows and weights of an op ------------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include <optional>

namespace rapt::attn {

/// How an op on [rows, channels] goes from rows of its operands to rows of its result.
enum class RowAccess {
  other,
  same,  ///< Row r of the operands is read whole, then row r of the result is written.
  gather ///< Row r of the result is some row of an operand.
};

/// Channels with the zeros behind them, of a number of channels.
using Padding = llvm::function_ref<int64_t(int64_t channels)>;

/// How an op reads a weight.
struct WeightUse {
  /// The dim that a matmul sums over; none of a weight that is read by rows or elements.
  std::optional<unsigned> contracted;
  /// Values whose channels the weight's columns, and the elements of the contracted dim, belong to; they may be null.
  mlir::Value columns, depth;
  /// Columns of one of several adjacent matrices, each with padding behind it; 0 of one matrix.
  int64_t matrix = 0;
};

/// The last dim of a tensor of floats or quantized values; none of any other.
inline std::optional<unsigned> lastDim(mlir::Value tensor) {
  auto type = llvm::dyn_cast_or_null<mlir::RankedTensorType>(tensor ? tensor.getType() : mlir::Type());
  return type && type.getRank() > 0 && !type.getElementType().isIntOrIndex() ? std::optional(type.getRank() - 1)
                                                                             : std::nullopt;
}
inline std::optional<unsigned> lastDim(mlir::OpOperand &operand) { return lastDim(operand.get()); }

} // namespace rapt::attn
