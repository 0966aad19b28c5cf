//===- Choices.h - Schedules of each kind of op -----------------------------------*- C++ -*-===//
//
// choose* functions return the schedules that were measured to be fast. verify* functions
// accept every schedule that the lowering can follow, whatever its speed.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"
#include "lib/TargetInfo/TargetInfo.h"

namespace rapt::cpu {

/// Most registers of a target whose schedules are those of few registers.
inline constexpr int64_t kFewRegisters = 16;

/// Why an op is not tiled for the CPU and is lowered by its neutral decomposition instead; empty where it is tiled.
std::string whyNotTiled(attn::LinearOp op);
std::string whyNotTiled(attn::AttentionOp op);
std::string whyNotTiled(attn::LinearAttentionOp op);
std::string whyNotTiled(attn::RecurrenceOp op);

/// The k of a matmul's tiles: rows of the weight without the row that pads an odd depth of a VNNI-packed weight.
int64_t depthOf(attn::LinearOp op);

/// The quantized type of a weight that an op reads in a layout; null for any other value.
attn::QuantizedType quantizedPanels(std::optional<attn::WeightLayoutInterface> layout, mlir::Value weight);

/// Whether quantized matmuls are tiles of vectors of 32 bytes (lib/Target/CPU/Codegen/QuantizedTile.h).
inline bool hasQuantizedTiles(const TargetInfo &target) {
  return target.int8Pairs || (target.int8Dot && target.vectorBytes == 32);
}
/// Whether the rows that a quantized weight is multiplied by hold their values in 16 bits.
inline bool readsWords(attn::QuantizedType weight, const TargetInfo &target) {
  return target.int8Pairs && weight.bits() == 8 && !weight.blocks();
}
/// Whether tasks of many rows unpack a panel of the quantized weight once for all tiles.
inline bool unpacksPanels(attn::QuantizedType weight, const TargetInfo &target) {
  return hasQuantizedTiles(target) && weight && weight.bits() == 4 && !weight.blocks();
}

/// Positions of a block of the KV cache; 0 where attention has no cache.
int64_t cacheBlockOf(attn::AttentionOp op);
/// The query heads of a key/value head; nullopt where their number is dynamic.
std::optional<int64_t> queryHeadsOf(attn::AttentionOp op);
/// Whether keys are the latents that a cache has as values, and a second pair's the rotated channels that it has as
/// keys.
bool readsLatents(attn::AttentionOp op);
/// Whether the heads of a group can be rows of one tile: they differ in their queries alone.
bool allowsGroups(attn::AttentionOp op);

/// Schedules that are fast on the target, for ops that are tiled.
attn_cpu::LinearScheduleAttr chooseLinear(attn::LinearOp op, const TargetInfo &target);
attn_cpu::AttentionScheduleAttr chooseAttention(attn::AttentionOp op, const TargetInfo &target);
attn_cpu::LinearAttentionScheduleAttr chooseLinearAttention(attn::LinearAttentionOp op, const TargetInfo &target);
attn_cpu::RecurrenceScheduleAttr chooseRecurrence(attn::RecurrenceOp op, const TargetInfo &target);
/// Sets in the costs of entries how many sequences share a read of a recurrence's weight, as the schedules say.
void setRowsOfSteps(mlir::Operation *module);
/// The numbers of a micro-kernel while they are chosen.
struct KernelChoice {
  int64_t rows, columns;
  std::optional<int64_t> vnniRows, groupRows, matrixRows, wideRows, chains, unroll, unrolledSteps, lineSteps;
  int64_t residentBytes, prefetchTiles; ///< `resident_bytes` and `tiles` of its prefetches

  attn_cpu::MicroKernelAttr get(mlir::MLIRContext *context) const;
};
/// The micro-kernel of vector code; `widensVnni` where it may widen a VNNI-packed panel.
KernelChoice chooseKernel(const TargetInfo &target, bool widensVnni);

mlir::LogicalResult verifyLinear(attn::LinearOp op, attn_cpu::LinearScheduleAttr schedule, const TargetInfo &target);
mlir::LogicalResult verifyAttention(attn::AttentionOp op, attn_cpu::AttentionScheduleAttr schedule,
                                    const TargetInfo &target);
mlir::LogicalResult verifyLinearAttention(attn::LinearAttentionOp op, attn_cpu::LinearAttentionScheduleAttr schedule,
                                          const TargetInfo &target);
mlir::LogicalResult verifyRecurrence(attn::RecurrenceOp op, attn_cpu::RecurrenceScheduleAttr schedule,
                                     const TargetInfo &target);

/// Optional members that an op needs in its micro-kernel.
struct KernelNeeds {
  bool vnni = false, groups = false; ///< vnni_rows, group_rows
  bool matrix = false;               ///< matrix_rows may be there
};
mlir::LogicalResult verifyKernel(mlir::Operation *op, attn_cpu::MicroKernelAttr kernel, KernelNeeds needs,
                                 const TargetInfo &target);

/// An error that begins with "has a schedule whose 'name' must ".
mlir::InFlightDiagnostic faultOf(mlir::Operation *op, llvm::StringRef name);
/// Reports a number that is not from 1 to `most`.
mlir::LogicalResult verifyMost(mlir::Operation *op, llvm::StringRef name, int64_t value, int64_t most);
/// Reports a number that is present though the op does not need it, or absent though it does.
mlir::LogicalResult verifyPresence(mlir::Operation *op, llvm::StringRef name, bool isThere, bool isNeeded,
                                   llvm::StringRef when);

} // namespace rapt::cpu
