//===- Rows.h - Row-major matrices of the weight file ---------------------------===//
//
// A fact of the file for all targets, as Panels.h is for those that read panels. A matrix by
// rows has no panels.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/Quantization.h"

namespace rapt::artifact {

/// A row, or each of its groups of columns, is padded with zeros to a multiple of this.
inline constexpr int64_t rowUnit = 32;
static_assert(rowUnit % leastGroup == 0, "rows hold whole groups of quantized values");
constexpr int64_t padRow(int64_t columns) { return (columns + rowUnit - 1) / rowUnit * rowUnit; }

} // namespace rapt::artifact
