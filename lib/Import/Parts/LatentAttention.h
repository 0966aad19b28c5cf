//===- LatentAttention.h - Projections of latent attention ---------------*- C++ -*-===//
#pragma once
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Parts/StackSpec.h"
#include "lib/Import/Parts/Walk.h"

namespace rapt::importing {

/// Rotates heads [tokens, heads, channels] of a part.
using Rotate = llvm::function_ref<mlir::Value(mlir::Value heads, const std::string &part)>;

/// The operands of attention in the space of latents, of x [tokens, width].
LatentHeads walkLatents(const Walk &walk, const StackSpec &stack, mlir::Value x, Rotate rotate);

/// The values [tokens, heads, channels] of mixed latents [tokens, heads, rank].
mlir::Value expandLatents(const Walk &walk, const StackSpec &stack, mlir::Value mixed);

} // namespace rapt::importing
