//===- PairInstructions.h - Instructions on pairs of bf16 ----------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// The prefix of the names of intrinsics of dot products.
inline constexpr llvm::StringLiteral kDotPairs = "llvm.x86.avx512bf16.dpbf16ps.";

/// sum + left . right: to each lane of f32 the products of the two numbers of bf16 that lie in its word.
mlir::Value dotPairs(mlir::ImplicitLocOpBuilder &b, mlir::Value sum, mlir::Value left, mlir::Value right);

/// 32 numbers of f32 rounded to bf16, ties to even.
mlir::Value roundPanel(mlir::ImplicitLocOpBuilder &b, mlir::Value numbers);

} // namespace rapt::cpu
