//===- Schedule.h - Schedules of neutral decompositions ---------------------------*- C++ -*-===//
//
// A target that uses the decompositions chooses them, in attn.schedule: #attn.attention_tiles of
// an attention op, #attn.append_tiles of one that appends to a cache, and #attn.linalg_tiles of
// the module.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt::neutral {

/// Whether the decomposition of an op has #attn.attention_tiles: attention, and its state.
bool hasAttentionTiles(mlir::Operation *op);
/// Reports an attention op without a schedule that its decomposition can follow.
mlir::LogicalResult verifyAttentionTiles(mlir::Operation *op);

/// Reports an op whose decomposition cannot follow its schedule, or needs one that it does not have.
mlir::LogicalResult verifyTiles(mlir::Operation *op);

/// The tiles of the module's linalg ops; null without.
attn::LinalgTilesAttr linalgTilesOf(mlir::ModuleOp module);
mlir::LogicalResult verifyLinalgTiles(mlir::ModuleOp module);

} // namespace rapt::neutral
