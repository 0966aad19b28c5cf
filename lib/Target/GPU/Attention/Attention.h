//===- Attention.h - Attention of the CUDA target --------------------------------*- C++ -*-===//
#pragma once
#include "lib/Conversion/Schedule.h"
#include "lib/TargetInfo/TargetInfo.h"

namespace rapt::cuda {

/// How thread blocks compute an attention op: a nested schedule `tensor_cores` or, of fused multiply-adds of f32,
/// `multiply_adds` beside the tiles of the neutral decomposition, which stay those of an op without it.
struct AttentionSchedule {
  int64_t rows;  ///< of a tile: queries times the heads that share its keys
  int64_t keys;  ///< of a KV block
  int64_t warps; ///< that compute
  bool wgmma = false;
  int64_t blocks = 0;    ///< thread blocks that fill a GPU: fewer tiles share their keys out; 0: never
  int64_t leastKeys = 0; ///< of a part then
  int64_t tf32 = 0;      ///< how many tf32 stand for each f32; 0: none do

  attn::ScheduleAttr toAttr(mlir::MLIRContext *context) const;
  /// That of an op which was verified, or none.
  static std::optional<AttentionSchedule> of(attn::AttentionOp op);
};

/// Reports an op whose nested schedule is not whole, or which can have none.
mlir::LogicalResult verifySchedule(attn::AttentionOp op);

/// The schedule of attention for a machine; none with a reason.
std::optional<AttentionSchedule> chooseAttention(attn::AttentionOp op, const TargetInfo &machine, std::string &reason);

} // namespace rapt::cuda
