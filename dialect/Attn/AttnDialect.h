//===- AttnDialect.h - The attention dialect ---------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"

#include "dialect/Attn/AttnDialect.h.inc"
#include "dialect/Attn/AttnEnums.h.inc"
#include "dialect/Attn/AttnTypeEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/Attn/AttnAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/Attn/AttnTypes.h.inc"

namespace rapt::attn {
/// Values of the module attribute attn.stage, in order.
inline constexpr llvm::StringLiteral kStages[] = {"imported", "canonical", "laid-out",
                                                  "tiled",    "backend",   "llvm-dialect"};

/// Columns of a panel, the width every packed layout is padded to.
inline constexpr int64_t kPanel = 32;
inline int64_t padToPanel(int64_t n) { return (n + kPanel - 1) / kPanel * kPanel; }

/// A weight in panels: [columns/32, rows, 32], or of bf16 [columns/32, rows/2, 64], where two rows of a column lie side
/// by side, as instructions on pairs of 16 bits take them.
inline bool isInPairs(mlir::ShapedType weight) {
  return weight.getRank() == 3 && weight.getDimSize(2) == 2 * kPanel && weight.getElementType().isBF16();
}
/// Rows of such a weight, with the one that fills the last pair; where they are dynamic, so is this.
inline int64_t depthOfPanels(mlir::ShapedType weight) {
  int64_t units = weight.getDimSize(1);
  return weight.isDynamicDim(1) || !isInPairs(weight) ? units : 2 * std::min(units, INT64_MAX / 4);
}
/// Where its element (row, column) is, counted from its first.
inline int64_t placeInPanels(mlir::ShapedType weight, int64_t row, int64_t column) {
  int64_t k = isInPairs(weight) ? 2 : 1;
  return (column / kPanel * weight.getDimSize(1) + row / k) * kPanel * k + column % kPanel * k + row % k;
}
} // namespace rapt::attn
