//===- Companion.h - Products that one op's tasks make together -------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"

namespace rapt {

/// The first product of the same rows that only the epilogue of `op` reads, element by element, as the half of a gated
/// linear unit: its columns lie as those of `op` do, so that a tile of both is made at once and the half is never
/// stored. Null where there is none.
attn::LinearOp companionOf(attn::LinearOp op);

/// The op whose companion `op` is, or null.
attn::LinearOp ownerOf(attn::LinearOp op);

/// Why the product that makes the extra operand `extra` of `op` is no companion; empty where it is one.
llvm::StringRef obstacleOfCompanion(attn::LinearOp op, mlir::Value extra);

} // namespace rapt
