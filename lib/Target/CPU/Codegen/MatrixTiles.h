//===- MatrixTiles.h - Products by instructions on tiles ------------------------------*- C++ -*-===//
//
// A tile has 16 rows of 64 bytes, always: LLVM configures the tile registers once a
// function, so those of other shapes would have fewer registers. Two tiles of rows times the
// two halves of a panel are four products a step, for four tiles that are loaded; one tile of
// rows times the halves of two panels are as many, for five: enough sums that do not wait for one
// another. A panel is in memory as the instructions take their second operand: lines of 32 bits of each column,
// which hold two rows of bf16 or four of bytes. The rest of a depth that no tile divides is
// copied into tiles that are filled with zeros.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// dest[m, n] = (dest, where it does not begin at zero) + rows times panels, for a multiple of 16 rows. `rows` are
/// [m, depth and more] of bf16 or signed bytes, `dest` [m, 32 for each panel] of f32 or i32, all on buffers. A panel is
/// [depth/2, 64] of bf16, or [1, bytes] which begin with lines of 128 unsigned bytes; `depth` fills whole words of 32
/// bits. There is one panel, or two for 16 rows.
void multiplyByTiles(mlir::ImplicitLocOpBuilder &b, mlir::Value rows, llvm::ArrayRef<mlir::Value> panels,
                     mlir::Value dest, int64_t depth, bool fromZero);

/// A buffer on the stack of the function that `b` is in.
mlir::Value stackBuffer(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<int64_t> shape, mlir::Type element);

} // namespace rapt::cpu
