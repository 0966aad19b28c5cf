//===- MaskedValues.h - Keeps NaN values of masked keys out of results ---------------*- C++ -*-===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// A KV block whose keys may be masked.
struct MaskedBlock {
  using Body = llvm::function_ref<void(mlir::Value values, int64_t first, mlir::OpFoldResult count)>;

  mlir::Value probabilities; ///< [M, most keys]
  /// Calls `body` for each contiguous part of the block's values, with the part's first key and its number of keys.
  llvm::function_ref<void(Body body)> forEachPart;
};

/// The block's probabilities times the values of keys that are not masked. `weightedValues`, [M, channels], is the
/// matmul over all keys, in which a masked key adds 0 times its value. It is the result unless it is not finite, as 0
/// times NaN or infinity is NaN. Only then is the sum computed again, key by key without the masked ones. Fails, with a
/// diagnostic, where the mask region cannot be vectorized.
mlir::FailureOr<mlir::Value> withoutMaskedValues(mlir::ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op,
                                                 const MaskedBlock &block, mlir::Value weightedValues);

} // namespace rapt::cpu
