//===- LatentAttention.h - Projections of latent attention ---------------*- C++ -*-===//
#pragma once
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Parts/StackSpec.h"

namespace rapt::importing {

/// Emits the rotation of heads [tokens, heads, channels].
using Rotate = llvm::function_ref<mlir::Value(mlir::Value heads, mlir::Location loc)>;

/// The operands of attention in the space of latents, of x [tokens, width].
LatentHeads projectLatents(const Scope &scope, const AttentionSpec &attention, mlir::Value x, Rotate rotate);

/// The values [tokens, heads, channels] of mixed latents [tokens, heads, rank].
mlir::Value expandLatents(const Scope &scope, const LatentSpec &latent, mlir::Value mixed);

} // namespace rapt::importing
