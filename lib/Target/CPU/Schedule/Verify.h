//===- Verify.h - Verifies schedules --------------------------------------------*- C++ -*-===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt::cpu {

/// Reports ops whose schedule is missing or is one that the lowering cannot follow: users may edit it in text.
mlir::LogicalResult verifySchedules(mlir::Operation *root);

/// Reports a module without the schedules of no single op: copies, elementwise, linalg, rows.
mlir::LogicalResult verifyModuleSchedule(mlir::ModuleOp module);

/// The micro-kernel of a tile op, which the tiled op's schedule gave it; reports an op without one.
mlir::FailureOr<attn_cpu::MicroKernelAttr> kernelOf(mlir::Operation *tile);

} // namespace rapt::cpu
