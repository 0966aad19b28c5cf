//===- ExpandTiles.h - Tiles become the code of a thread block --------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/Operation.h"

namespace rapt::any_gpu {

/// Replaces ops inside of `root` by their code: `expand` emits it before an op, which is erased. An op on tensors or
/// outside of a GPU module is an error.
llvm::LogicalResult expandTiles(mlir::Operation *root, llvm::function_ref<bool(mlir::Operation *)> isTile,
                                llvm::function_ref<llvm::LogicalResult(mlir::Operation *)> expand);

} // namespace rapt::any_gpu
