//===- Schedule.h - Schedules of neutral decompositions ---------------------------*- C++ -*-===//
//
// A target that uses the decompositions chooses, in attn.schedule: `queries` of a tile and
// `keys` of a KV block of an attention op; `positions` and `channels` of a task that appends to
// a cache; `rows` and `columns` of the tiles of linalg ops, in the schedule `linalg` of the
// module.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt::neutral {

/// The schedule of an attention op.
struct AttentionTiles {
  int64_t queries, keys;

  attn::ScheduleAttr toAttr(mlir::MLIRContext *context) const;
  /// That of an op whose schedule was verified.
  static AttentionTiles of(mlir::Operation *op);
};
/// Whether the decomposition of an op has such tiles: attention, and its state.
bool hasAttentionTiles(mlir::Operation *op);
/// Reports an attention op without a schedule that its decomposition can follow.
mlir::LogicalResult verifyAttentionTiles(mlir::Operation *op);

/// The schedule of attn.kv_append: what a task writes of a block.
struct AppendTiles {
  int64_t positions, channels; ///< 0: all

  attn::ScheduleAttr toAttr(mlir::MLIRContext *context) const;
  /// That of an op whose schedule was verified; without one a task has a whole block.
  static AppendTiles of(attn::KVAppendOp op);
};
/// Reports an op whose decomposition cannot follow its schedule, or needs one that it does not have.
mlir::LogicalResult verifyTiles(mlir::Operation *op);

/// The module's schedule of linalg ops: points of a tile along the last two parallel loops.
struct LinalgTiles {
  int64_t rows, columns;

  attn::ScheduleAttr toAttr(mlir::MLIRContext *context) const;
  /// As an entry of a module's schedule.
  mlir::NamedAttribute toEntry(mlir::MLIRContext *context) const;
  static LinalgTiles of(mlir::ModuleOp module);
};
mlir::LogicalResult verifyLinalgTiles(mlir::ModuleOp module);

/// #attn.schedule of some entries.
attn::ScheduleAttr scheduleOf(mlir::MLIRContext *context, llvm::ArrayRef<mlir::NamedAttribute> entries);

} // namespace rapt::neutral
