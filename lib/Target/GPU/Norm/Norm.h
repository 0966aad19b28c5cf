//===- Norm.h - Norms of the CUDA target ------------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Conversion/Schedule.h"

namespace rapt::cuda {

/// The nested schedule `thread_block` of a norm: how many threads have a row, and those of a thread block. An op
/// without it takes the neutral decomposition.
struct NormSchedule {
  int64_t lanes, threads;

  attn::ScheduleAttr toAttr(mlir::MLIRContext *context) const;
  static bool isIn(mlir::Operation *op);
  /// That of a norm which has one.
  static mlir::FailureOr<NormSchedule> of(mlir::Operation *op);
};

/// The schedule of a norm of such rows; none with a reason.
std::optional<NormSchedule> chooseNorm(mlir::RankedTensorType input, std::string &reason);

} // namespace rapt::cuda
