//===- Attention.h - Attention by thread blocks ----------------------------------*- C++ -*-===//
#pragma once
#include "lib/Conversion/AttnToLinalg/AttentionTiles.h"
#include "lib/Conversion/Schedule.h"

namespace rapt::any_gpu {

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

  /// Adds it to the schedule of the op.
  void setOn(attn::AttentionOp op) const;
  /// That of an op which was verified, or none.
  static std::optional<AttentionSchedule> of(attn::AttentionOp op);
};

/// Reports an op whose nested schedule is not whole, or which can have none.
mlir::LogicalResult verifySchedule(attn::AttentionOp op);

/// Why thread blocks have no schedule for an op; empty: they may have one, for the most channels of its operands.
std::string refusalOf(attn::AttentionOp op, int64_t &channels);

/// Attention that has such a schedule becomes a grid of attn_gpu.attention_tile.
mlir::LogicalResult tileAttention(mlir::ModuleOp module);

/// Whether numbers are multiplied as f32.
bool multipliesFloats(const neutral::AttentionOperands &operands);

} // namespace rapt::any_gpu
