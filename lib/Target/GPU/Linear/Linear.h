//===- Linear.h - Matmuls by thread blocks ----------------------------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt::any_gpu {

/// The rotation of channels beside each other that alone reads the heads which `op` makes, and that its tiles can do;
/// null with a reason where there is none, or an empty one where no rotation reads them. With `isAnyPair` the channels
/// may be half a head apart.
attn::RopeOp rotationOf(attn::LinearOp op, llvm::StringRef &reason, bool isAnyPair = false);

/// Reports an op that cannot have the schedule that it has.
mlir::LogicalResult verifySchedule(attn::LinearOp op);

/// Matmuls that have a schedule become grids of attn_gpu.linear_tile or attn_gpu.quantized_linear_tile.
mlir::LogicalResult tileMatmuls(mlir::ModuleOp module);

/// Why thread blocks have no schedule for an op; empty: they may have one.
std::string refusalOf(attn::LinearOp op);

/// Whether numbers are multiplied as f32.
bool multipliesFloats(attn::LinearOp op);

} // namespace rapt::any_gpu
