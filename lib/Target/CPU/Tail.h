//===- Tail.h - The CPU's end of the pipeline -----------------------------------*- C++ -*-===//
#pragma once

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace rapt::cpu {

/// tiled -> backend: vectors on the caller's memory, tasks, one workspace.
void addBackendPasses(mlir::OpPassManager &passes);

/// backend -> llvm-dialect.
void addLLVMPasses(mlir::OpPassManager &passes);

} // namespace rapt::cpu
