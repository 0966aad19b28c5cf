//===- OnlineSoftmax.h - Online softmax of one KV block ---------------------------*- C++ -*-===//
//
// The running max and running sum of FlashAttention: a KV block's scores become
// probabilities, and the accumulators and the running sum are rescaled to the new max.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// The larger of two floats or vectors of floats; `floor` where x is NaN.
mlir::Value larger(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value floor);

/// Casts a vector of 32 f32 elements to bf16.
mlir::Value castToBf16(mlir::ImplicitLocOpBuilder &b, mlir::Value numbers);

/// The unit of scores and of the running max. Without a score region the scale of the scores includes log2 e. Results
/// of a score region are natural: the largest floats times log2 e would be infinite.
enum class ScoreUnit { Natural, Base2 };

/// The exponential of a difference of scores that is not above zero; `isCastToBf16` where the result becomes bf16.
mlir::Value expOf(mlir::ImplicitLocOpBuilder &b, mlir::Value difference, ScoreUnit unit, bool isCastToBf16 = false);

/// The least static bound of dim 0 of `tensor`.
mlir::FailureOr<int64_t> boundOf(mlir::Value tensor);

/// An empty tensor with a row of `columns` elements for each query of `op`: the first rows of a buffer of static size.
mlir::Value emptyRows(mlir::ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, int64_t columns,
                      mlir::Type element);

/// The state of M queries after a KV block.
struct Softmax {
  mlir::Value probabilities; ///< [M, most keys]; bf16 where matmuls are bf16 dot products
  mlir::Value acc;           ///< rescaled to the new max, unless keys may be masked: then it is unchanged
  mlir::Value max, sum;      ///< running max; running sum with this block's probabilities
  mlir::Value factors;       ///< exp(old max - new max) per row, which rescales acc
};

/// The scores of M queries and a KV block.
struct Scores {
  mlir::Value tile; ///< [M, most keys]
  mlir::Value
      factor; ///< positive; scores times it are in base-2 units. Null where scores are scaled, or a region does it
  mlir::Value keys; ///< columns of `tile` that the block has
  ScoreUnit unit;   ///< of scaled scores
  bool masked;      ///< whether a limit or a mask region applies
};

/// Overwrites scores by probabilities. Writes max last, which lets the state bufferize in place. Fails, with a
/// diagnostic, where a region cannot be vectorized.
mlir::FailureOr<Softmax> softmaxOf(mlir::ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, const Scores &scores);

} // namespace rapt::cpu
