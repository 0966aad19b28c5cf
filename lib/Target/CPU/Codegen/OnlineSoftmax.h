//===- OnlineSoftmax.h - From scores to probabilities and the state of softmax ----*- C++ -*-===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// The larger of two floats, or vectors of them; `floor` where x is NaN.
mlir::Value larger(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value floor);

/// 32 numbers of f32 as bf16.
mlir::Value rounded(mlir::ImplicitLocOpBuilder &b, mlir::Value numbers);

/// The unit of scores and of the state's maximum. Without a score region the factor of a score may have log2 e in it. A
/// region's results are natural: multiplied by log2 e, the largest floats would be infinite.
enum class ScoreUnit { Natural, Base2 };

/// e to the power of a difference of scores, which is not above zero; `isRounded` where the result becomes bf16.
mlir::Value powerOf(mlir::ImplicitLocOpBuilder &b, mlir::Value difference, ScoreUnit unit, bool isRounded = false);

/// Softmax of a KV block of M queries: probabilities [M, most keys], in bf16 where the step is paired; the running max;
/// the running sum, rescaled to that max, with the block's probabilities. `acc` is rescaled unless keys may be masked:
/// the block's product is then made first, and `factors` are the numbers, one of each row, to multiply acc by.
struct Softmax {
  mlir::Value probabilities, acc, max, sum, factors;
};

/// The scores [M, most] of a KV block, of which `keys` columns count, in base-2 units once they are multiplied by
/// `factor`, a positive number; null where they are in `unit` as they stand or as the region makes them. `masked` where
/// a limit or a mask applies.
struct Scores {
  mlir::Value tile, factor, keys;
  ScoreUnit unit;
  bool masked;
};

/// Probabilities in place of the scores. Max is overwritten last, which lets the state bufferize in place. Fails, with
/// a diagnostic, where a region has no form on vectors.
mlir::FailureOr<Softmax> softmaxOf(mlir::ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, const Scores &scores);

} // namespace rapt::cpu
