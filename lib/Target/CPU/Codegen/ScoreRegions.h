//===- ScoreRegions.h - Vectorizes score and mask regions over 32 keys ---------------*- C++ -*-===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// The type of vectors of 32 elements, the width of a packed panel.
mlir::VectorType panelOf(mlir::Type element);

/// Applies the op's score and mask regions to the scores of row `r` of the tile and 32 keys from `column` on; masked
/// scores become -infinity. Fails, with a diagnostic, where a region has an op that is not elementwise.
mlir::FailureOr<mlir::Value> finishScores(mlir::ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op,
                                          mlir::Value score, mlir::Value r, mlir::Value column);

/// The mask of row `r` of the tile and 32 keys from `column` on: true where the key is below the limit and the mask
/// region keeps it. Null where the op has neither limit nor mask. Fails as finishScores does.
mlir::FailureOr<mlir::Value> keptKeys(mlir::ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, mlir::Value r,
                                      mlir::Value column);

} // namespace rapt::cpu
