//===- ByteDots.h - Dot products of bytes in each lane ----------------------------*- C++ -*-===//
//
// Vectors of 32-bit lanes: four unsigned bytes of weights and four signed bytes of rows in each.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// `sum`, int32, plus four terms of uint8 and int8 by one instruction (vpdpbusd).
mlir::Value addFours(mlir::ImplicitLocOpBuilder &b, mlir::Value sum, mlir::Value weights, mlir::Value values);
/// The same without an instruction for it.
mlir::Value addFoursPlainly(mlir::ImplicitLocOpBuilder &b, mlir::Value sum, mlir::Value weights, mlir::Value values);

// Instructions of SSSE3 and AVX2.

/// Sums of two terms of int16 as int32.
mlir::Value addPairs(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y);
/// Sums of two terms of uint8 and int8 as int16, which saturate.
mlir::Value addBytePairs(mlir::ImplicitLocOpBuilder &b, mlir::Value weights, mlir::Value values);
/// `values` with the signs of `signs`, zero where that is: bytes.
mlir::Value withSigns(mlir::ImplicitLocOpBuilder &b, mlir::Value values, mlir::Value signs);
/// The bytes of `table`, 16 in each 128 bits, that the indices 0 to 15 choose.
mlir::Value lookUp(mlir::ImplicitLocOpBuilder &b, mlir::Value table, mlir::Value indices);

} // namespace rapt::cpu
