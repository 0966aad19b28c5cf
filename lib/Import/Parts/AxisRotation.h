//===- AxisRotation.h - Rotary embedding of positions in several axes -----*- C++ -*-===//
//
// A token in a grid has a position in each axis, and each frequency is of one: patches of an image rotate by row and
// column (Heo et al. 2024), tokens of a text with images by time, row and column (M-RoPE, Wang et al. 2024).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "lib/Import/Module/Scope.h"
#include "lib/Import/Parts/RotaryFrequencies.h"

namespace rapt::importing {

/// Cosines and sines, each [tokens, pairs], by the axis of each frequency; `positions` of each axis are tensor<?xi32>.
std::array<mlir::Value, 2> buildAxisRotation(const Scope &scope, mlir::Location loc,
                                             const RotaryFrequencies &frequencies,
                                             llvm::ArrayRef<mlir::Value> positions);

/// The columns of positions [tokens, axes] as lists, tensor<?xi32>.
llvm::SmallVector<mlir::Value> splitAxes(const Scope &scope, mlir::Location loc, mlir::Value positions);

} // namespace rapt::importing
