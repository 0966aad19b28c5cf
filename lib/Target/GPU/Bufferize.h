//===- Bufferize.h - Bufferizes the tiles of thread blocks ------------------------*- C++ -*-===//
#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace rapt::any_gpu {
void registerBufferizableOps(mlir::DialectRegistry &registry);
} // namespace rapt::any_gpu
