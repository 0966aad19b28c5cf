//===- Choices.h - Schedules of each kind of op -----------------------------------*- C++ -*-===//
//
// choose*: the schedules that were measured to be fast. verify*: those that the CPU's code can
// follow, whatever their speed.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Target/CPU/Schedule/Schedule.h"
#include "lib/TargetInfo/TargetInfo.h"

namespace rapt::cpu {

/// Why the CPU's tiles do not take an op, which its neutral decomposition then does; empty: they do.
std::string whyNotTiled(attn::LinearOp op);
std::string whyNotTiled(attn::AttentionOp op);
std::string whyNotTiled(attn::RecurrenceOp op);

/// Rows of the weight that a matmul's tiles take: the row that fills the last pair is not read of an input that ends
/// before it.
int64_t depthOf(attn::LinearOp op);

/// The quantized type of a parameter's slice in panels [n/32, k, 32], or null of any other value.
attn::QuantizedType quantizedPanels(mlir::Value weight);

/// Positions of a KV block of the cache, or 0 where attention has none.
int64_t cacheBlockOf(attn::AttentionOp op);
/// The query heads of a key/value head, where a grid over splits of the cache can have a tile of some of them; none
/// where there is no such grid.
std::optional<int64_t> splitGroupsOf(attn::AttentionOp op);
/// Whether the heads of a group can be one tile: nothing about them differs but the query.
bool allowsGroups(attn::AttentionOp op);

/// Schedules that are fast on the target. The op is one that the CPU's tiles take.
LinearSchedule chooseLinear(attn::LinearOp op, const TargetInfo &target);
AttentionSchedule chooseAttention(attn::AttentionOp op, const TargetInfo &target);
RecurrenceSchedule chooseRecurrence(attn::RecurrenceOp op, const TargetInfo &target);
/// The micro-kernel by vectors; `widensVnni` where it may widen a VNNI-packed panel.
MicroKernel chooseKernel(const TargetInfo &target, bool widensVnni);

mlir::LogicalResult verifyLinear(attn::LinearOp op, const LinearSchedule &schedule, const TargetInfo &target);
mlir::LogicalResult verifyAttention(attn::AttentionOp op, const AttentionSchedule &schedule, const TargetInfo &target);
mlir::LogicalResult verifyRecurrence(attn::RecurrenceOp op, const RecurrenceSchedule &schedule,
                                     const TargetInfo &target);

/// Members that an op asks of its micro-kernel.
struct KernelNeeds {
  bool vnni = false, groups = false; ///< vnni_rows, group_rows
  bool matrix = false;               ///< matrix_rows may be there
};
mlir::LogicalResult verifyKernel(mlir::Operation *op, const MicroKernel &kernel, KernelNeeds needs,
                                 const TargetInfo &target);

/// "has a schedule whose 'name' must ", for a fault.
mlir::InFlightDiagnostic faultOf(mlir::Operation *op, llvm::StringRef name);
/// Reports a number that is not from 1 to `most`.
mlir::LogicalResult verifyMost(mlir::Operation *op, llvm::StringRef name, int64_t value, int64_t most);
/// Reports a number that is there though nothing asks for it, or the other way round.
mlir::LogicalResult verifyPresence(mlir::Operation *op, llvm::StringRef name, bool isThere, bool isNeeded,
                                   llvm::StringRef when);

} // namespace rapt::cpu
