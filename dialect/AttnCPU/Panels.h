//===- Panels.h - Packed panels -----------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Artifact/Panels.h"
#include "mlir/IR/BuiltinTypeInterfaces.h"

namespace rapt::attn_cpu {

/// Columns of a packed panel (nr), to which every packed layout is padded; the weight file's panels have as many.
inline constexpr int64_t kPanel = artifact::panelWidth;
/// Bytes of a cache line.
inline constexpr int64_t kLineBytes = 64;
constexpr int64_t padToPanel(int64_t n) { return artifact::padToPanel(n); }

/// Whether panels are VNNI-packed: of bf16, [columns/32, rows/2, 64], with two consecutive elements of a column
/// interleaved. Other panels are [columns/32, rows, 32].
inline bool isVnniPacked(mlir::ShapedType panels) {
  return panels.getRank() == 3 && panels.getDimSize(2) == 2 * kPanel && panels.getElementType().isBF16();
}
/// Rows of panels, including the row that pads an odd number in VNNI-packed panels; dynamic where their number is.
inline int64_t depthOfPanels(mlir::ShapedType panels) {
  int64_t units = panels.getDimSize(1);
  return panels.isDynamicDim(1) || !isVnniPacked(panels) ? units : 2 * std::min(units, INT64_MAX / 4);
}

} // namespace rapt::attn_cpu
