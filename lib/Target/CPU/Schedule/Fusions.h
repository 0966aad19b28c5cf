//===- Fusions.h - Ops that the dispatch of another op computes -----------------*- C++ -*-===//
//
// attn-cpu-fuse decides a fusion and writes attn_cpu.fused_into; all others read it here.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"

namespace rapt::cpu {

/// Whether the dispatch of another op computes `op`.
bool isFused(mlir::Operation *op);

/// The matmul that the tiles of `op` compute as well, for its epilogue: the other half of a fused dual matmul. Null
/// without one.
attn::LinearOp fusedMatmulOf(attn::LinearOp op);

/// The rotation of the heads of `op` that its tiles compute, or null.
attn::RopeOp fusedRotationOf(attn::LinearOp op);

/// The cast to bf16 of `result` that the op which makes it computes, or null. Heads of attention are merged first.
attn_cpu::CastRowsOp fusedCastOf(mlir::Value result);

/// The op whose dispatch could compute `op`, which is an attn.linear, attn.rope or attn_cpu.cast_rows; null where there
/// is none.
mlir::Operation *rootOf(mlir::Operation *op);

/// Why the dispatch of the root cannot compute `op`; empty where it can.
llvm::StringRef notLegalBecause(mlir::Operation *op);

/// Reports fusions that are not legal: text is a user's.
mlir::LogicalResult verifyFusions(mlir::Operation *root);

} // namespace rapt::cpu
