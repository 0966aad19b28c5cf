//===- Companion.h - Companion matmuls whose columns fill panels ------------------*- C++ -*-===//
#pragma once
#include "lib/Analysis/Companion.h"

namespace rapt {

/// companionOf, ownerOf and obstacleOfCompanion (lib/Analysis/Companion.h) for tiles, which are panels of 32 columns.
attn::LinearOp tiledCompanionOf(attn::LinearOp op);
attn::LinearOp tiledOwnerOf(attn::LinearOp op);
llvm::StringRef obstacleOfTiledCompanion(attn::LinearOp op, mlir::Value extra);

} // namespace rapt
