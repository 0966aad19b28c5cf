//===- Bufferize.h - Bufferizes the tiles of thread blocks ------------------------*- C++ -*-===//
#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace rapt::cuda {
void registerBufferizableOps(mlir::DialectRegistry &registry);
} // namespace rapt::cuda
