//===- Panels.h - Packed panels -----------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Artifact/Panels.h"
#include "mlir/IR/BuiltinTypeInterfaces.h"

namespace rapt::attn_cpu {

/// Columns of a packed panel, the width that every packed layout is padded to: that of the weight file's panels.
inline constexpr int64_t kPanel = artifact::panelWidth;
constexpr int64_t padToPanel(int64_t n) { return artifact::padToPanel(n); }

/// Whether panels [columns/32, rows, 32] are VNNI-interleaved by 2: of bf16, [columns/32, rows/2, 64], where two rows
/// of a column lie side by side, as instructions on pairs of 16 bits take them.
inline bool isInPairs(mlir::ShapedType panels) {
  return panels.getRank() == 3 && panels.getDimSize(2) == 2 * kPanel && panels.getElementType().isBF16();
}
/// Rows of panels, with the one that fills the last pair; where they are dynamic, so is this.
inline int64_t depthOfPanels(mlir::ShapedType panels) {
  int64_t units = panels.getDimSize(1);
  return panels.isDynamicDim(1) || !isInPairs(panels) ? units : 2 * std::min(units, INT64_MAX / 4);
}

} // namespace rapt::attn_cpu
