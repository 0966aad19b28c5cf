//===- ScoreRegions.h - Score and mask regions on 32 keys at once --------------------*- C++ -*-===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// A vector of 32 elements: one panel.
mlir::VectorType panelOf(mlir::Type element);

/// Scores of query `r` of the tile and 32 keys from `column` on, with the op's regions applied; -infinity where a key
/// is masked. Fails, with an error, where a region has an op that is not elementwise.
mlir::FailureOr<mlir::Value> finishScores(mlir::ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op,
                                          mlir::Value score, mlir::Value r, mlir::Value column);

/// A vector of 32 flags, one of each key from `column` on: whether the key is below the limit and kept by the mask, for
/// query `r` of the tile; null where the op has neither. Fails as finishScores does.
mlir::FailureOr<mlir::Value> keptKeys(mlir::ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, mlir::Value r,
                                      mlir::Value column);

} // namespace rapt::cpu
