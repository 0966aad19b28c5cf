//===- Verify.h - Schedules that the CPU's code can follow -----------------------*- C++ -*-===//
#pragma once
#include "lib/Target/CPU/Schedule/Schedule.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt::cpu {

/// Reports the ops and the module whose schedule is missing, or is none that the code can follow: text is a user's.
mlir::LogicalResult verifySchedules(mlir::Operation *root);

/// Reports a module without its schedules: copies, elementwise, linalg, rows.
mlir::LogicalResult verifyModuleSchedule(mlir::ModuleOp module);

/// The micro-kernel of a tile op, which has it from the op that the tile is of; reports one without.
mlir::FailureOr<MicroKernel> kernelOf(mlir::Operation *tile);

} // namespace rapt::cpu
