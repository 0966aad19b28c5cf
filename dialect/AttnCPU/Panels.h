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

/// The interleave factor of panels of an element type. Panels of bf16 are VNNI-packed, [columns/32, rows/2, 64], with
/// two consecutive elements of a column interleaved; others are [columns/32, rows, 32].
inline int64_t interleaveOf(mlir::Type element) { return element.isBF16() ? 2 : 1; }
/// Rows of panels, including the row that pads an odd number in VNNI-packed panels; dynamic where their number is.
inline int64_t depthOfPanels(mlir::ShapedType panels) {
  const int64_t lines = panels.getDimSize(1), interleave = interleaveOf(panels.getElementType());
  return panels.isDynamicDim(1) ? lines : interleave * std::min(lines, INT64_MAX / 4);
}

} // namespace rapt::attn_cpu
