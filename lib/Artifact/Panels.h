//===- Panels.h - Packed panels of the weight file ------------------------------===//
//
// The width of the panels of a weight file, declared here alone. It is a fact of the
// file, which all targets read: a matrix lies as [columns/32][rows][32], what quantizes it
// pads groups of rows to 32 alike.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <cstdint>

namespace rapt::artifact {

inline constexpr int64_t panelWidth = 32;
constexpr int64_t padToPanel(int64_t n) { return (n + panelWidth - 1) / panelWidth * panelWidth; }

} // namespace rapt::artifact
