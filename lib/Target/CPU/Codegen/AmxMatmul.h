//===- AmxMatmul.h - Matmuls by AMX tile instructions --------------------------------*- C++ -*-===//
//
// Every AMX tile has 16 rows of 64 bytes: LLVM configures the tile registers once per
// function, and tiles of several shapes would need several configurations. A step over k
// computes four accumulator tiles, which hide the latency of one another. Two tiles of rows
// times the two halves of a panel load four tiles per step; one tile of rows times the halves
// of two panels loads five. Packed panels are VNNI-interleaved, as the instructions read their
// second operand: by 2 for bf16, by 4 for int8. A rest of k that fills no tile is copied into
// tiles of zeros.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// Emits dest += rows times panels, or dest = rows times panels where `fromZero` is set, all on buffers:
/// - `rows` is [m, at least depth] of bf16 or int8, m a multiple of 16;
/// - each of `panels` is [depth/2, 64] of bf16, or [1, bytes], which begin with lines of 128 uint8; there is one panel,
///   or two for m = 16;
/// - `dest` is [m, 32 columns per panel] of f32 or i32.
/// `depth` is a multiple of the interleave factor.
void amxMatmul(mlir::ImplicitLocOpBuilder &b, mlir::Value rows, llvm::ArrayRef<mlir::Value> panels, mlir::Value dest,
               int64_t depth, bool fromZero);

/// A buffer on the stack of the function that encloses the insertion point of `b`.
mlir::Value stackBuffer(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<int64_t> shape, mlir::Type element);

} // namespace rapt::cpu
