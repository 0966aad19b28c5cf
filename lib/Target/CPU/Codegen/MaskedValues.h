//===- MaskedValues.h - Values of masked keys take no part ---------------------------*- C++ -*-===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// A KV block whose keys may be masked.
struct MaskedBlock {
  using Body = llvm::function_ref<void(mlir::Value values, int64_t first, mlir::OpFoldResult count)>;

  mlir::Value probabilities; ///< [M, most keys]
  /// Calls its body for each of the block's value tiles, with its first key and how many it has.
  llvm::function_ref<void(Body body)> overParts;
};

/// The block's probabilities times its values, of the keys that are not masked. `product`, [M, channels], is that over
/// all keys, where a masked one adds 0 times its value: that is right unless the value is NaN or infinite, which shows
/// in the sum. Only then are the products added up again, key by key. Fails, with a diagnostic, where the mask has no
/// form on vectors.
mlir::FailureOr<mlir::Value> withoutMaskedValues(mlir::ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op,
                                                 const MaskedBlock &block, mlir::Value product);

} // namespace rapt::cpu
