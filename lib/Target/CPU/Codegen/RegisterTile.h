//===- RegisterTile.h - The part of a matrix product that registers hold ----------*- C++ -*-===//
#pragma once
#include "lib/Target/CPU/Schedule/Schedule.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// An extent of k that is not known is a multiple of this: the most chains of accumulators of a single row take so many
/// steps together.
inline constexpr int64_t kStepsTogether = 4;

/// The elements that a step of the loop over k takes.
enum class ProductStep {
  Single, ///< one row of the panel, widened where it has 16 bits
  Pair,   ///< two rows of a panel of pairs, widened
  Dot     ///< the same by an instruction on pairs
};

/// Rows [from, to) of a matrix, to be brought near during a product.
struct Ahead {
  mlir::Value matrix, from, to;
};

/// A tile of rows times a panel.
struct Product {
  mlir::Operation *op;
  mlir::Value a, w, dest; ///< rows [m, k], panel [k, 32] or [k/2, 64] of pairs, [m, 32]
  llvm::SmallVector<Ahead, 2> ahead = {};
  bool aheadIsWritten = false;
};

/// Rows [row, row + rows) by columns [column, column + 2 * lanes) of the product.
struct RegisterTile : Product {
  ProductStep kind;
  bool fromZero;
  int64_t row, rows, column;
  const MicroKernel &kernel;
  int64_t lanes = kernel.columns / 2;

  /// Emits the loop over k whose carried values are the accumulators, on buffers.
  void emit(mlir::ImplicitLocOpBuilder &b) const;
};

} // namespace rapt::cpu
