//===- LinearAttention.h - Linear attention by thread blocks ----------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt::any_gpu {

/// Linear attention that has a schedule becomes grids of attn_gpu.linear_attention_tile.
mlir::LogicalResult tileLinearAttention(mlir::ModuleOp module);

/// Why thread blocks have no schedule for linear attention; empty: they have one.
std::string refusalOf(attn::LinearAttentionOp op);

} // namespace rapt::any_gpu
