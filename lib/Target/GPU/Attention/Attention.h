//===- Attention.h - Attention by thread blocks ----------------------------------*- C++ -*-===//
#pragma once
#include "lib/Conversion/AttnToLinalg/AttentionTiles.h"
#include "lib/Conversion/Schedule.h"

namespace rapt::any_gpu {

/// Reports an op that cannot have the schedule that it has.
mlir::LogicalResult verifySchedule(attn::AttentionOp op);

/// Why thread blocks have no schedule for an op; empty: they may have one, for the most channels of its operands.
std::string refusalOf(attn::AttentionOp op, int64_t &channels);

/// Attention that has a schedule becomes a grid of attn_gpu.attention_tile.
mlir::LogicalResult tileAttention(mlir::ModuleOp module);

/// Whether numbers are multiplied as f32.
bool multipliesFloats(const neutral::AttentionOperands &operands);

} // namespace rapt::any_gpu
