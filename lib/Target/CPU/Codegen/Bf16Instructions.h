//===- Bf16Instructions.h - Instructions of AVX512_BF16 ------------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// Prefix of the names of the vdpbf16ps intrinsics.
inline constexpr llvm::StringLiteral kDotBf16 = "llvm.x86.avx512bf16.dpbf16ps.";

/// vdpbf16ps: each f32 lane of `sum` plus the dot product of the two bf16 elements that `left` and `right` have in that
/// lane.
mlir::Value dotBf16(mlir::ImplicitLocOpBuilder &b, mlir::Value sum, mlir::Value left, mlir::Value right);

/// vcvtne2ps2bf16: 32 elements cast from f32 to bf16, ties to even.
mlir::Value castPanelToBf16(mlir::ImplicitLocOpBuilder &b, mlir::Value numbers);

} // namespace rapt::cpu
