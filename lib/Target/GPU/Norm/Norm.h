//===- Norm.h - Norms by thread blocks --------------------------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace rapt::any_gpu {

/// Norms that have a schedule become grids of attn_gpu.norm_tile.
mlir::LogicalResult tileNorms(mlir::ModuleOp module);

/// Why thread blocks have no schedule for a norm of such rows; empty: they have one.
std::string refusalOf(mlir::RankedTensorType input);

} // namespace rapt::any_gpu
