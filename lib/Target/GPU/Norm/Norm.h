//===- Norm.h - Norms by thread blocks --------------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Conversion/Schedule.h"

namespace rapt::any_gpu {

/// The nested schedule `thread_block` of a norm: how many threads have a row, and those of a thread block. An op
/// without it takes the neutral decomposition.
struct NormSchedule {
  int64_t lanes, threads;

  void setOn(mlir::Operation *op) const;
  static bool isIn(mlir::Operation *op);
  /// That of a norm which has one.
  static mlir::FailureOr<NormSchedule> of(mlir::Operation *op);
};

/// Norms that have such a schedule become grids of attn_gpu.norm_tile.
mlir::LogicalResult tileNorms(mlir::ModuleOp module);

/// Why thread blocks have no schedule for a norm of such rows; empty: they have one.
std::string refusalOf(mlir::RankedTensorType input);

} // namespace rapt::any_gpu
