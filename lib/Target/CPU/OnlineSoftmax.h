//===- OnlineSoftmax.h - From scores to probabilities and the state of softmax ----*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// The larger of two floats, or vectors of them; `floor` where x is NaN.
mlir::Value larger(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value floor);

/// 32 numbers of f32 as bf16.
mlir::Value rounded(mlir::ImplicitLocOpBuilder &b, mlir::Value numbers);

/// What follows the scores of a step of M queries: probabilities [M, most keys], in bf16 where the step is paired; acc
/// and sum rescaled to the new max, to which the step's probabilities and, in sum, their sums belong.
struct Softmax {
  mlir::Value probabilities, acc, max, sum;
};

/// The scores [M, most] of a step, of which `keys` columns count, in base-2 units once they are multiplied by `factor`,
/// a positive number, or null where they are. `masked` where a limit or a mask applies.
struct Scores {
  mlir::Value tile, factor, keys;
  bool masked;
};

/// Probabilities in place of the scores. Max is overwritten last, which lets the state bufferise in place. Fails, with
/// a diagnostic, where a region has no form on vectors.
mlir::FailureOr<Softmax> softmaxOf(mlir::ImplicitLocOpBuilder &b, attn::AttentionStateOp op, const Scores &scores);

} // namespace rapt::cpu
