//===- Linear.h - Matmuls of the CUDA target --------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Conversion/Schedule.h"
#include "lib/TargetInfo/TargetInfo.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace rapt::cuda {

/// How thread blocks compute a matmul: a nested schedule `tensor_cores`. An op without it takes the neutral
/// decomposition.
struct LinearTiles {
  int64_t rows, columns; ///< of a tile
  int64_t depth;         ///< of a step of the loop over k
  int64_t warps;
  int64_t stages; ///< buffers of shared memory

  attn::ScheduleAttr toAttr(mlir::MLIRContext *context, std::optional<LinearTiles> few = {}) const;
  /// Those of a schedule; none where a number is missing.
  static std::optional<LinearTiles> of(attn::ScheduleAttr schedule);
};

/// The tiles of an op: where a result may have few rows and its number of rows is not known, those of few rows, too.
struct LinearSchedule {
  LinearTiles tiles;
  std::optional<LinearTiles> few; ///< for at most as many rows as it has

  /// The attribute of an op; null for none.
  static attn::ScheduleAttr attributeOf(attn::LinearOp op);
  /// The numbers of an op that has the attribute.
  static mlir::FailureOr<LinearSchedule> of(attn::LinearOp op);
};

/// The schedule of a matmul for a machine; none with a reason.
std::optional<LinearSchedule> chooseLinear(attn::LinearOp op, const TargetInfo &machine, std::string &reason);

void registerBufferizableLinear(mlir::DialectRegistry &registry);

} // namespace rapt::cuda
