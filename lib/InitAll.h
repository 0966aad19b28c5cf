//===- InitAll.h - The one registration point ------------------------------*- C++ -*-===//
#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace rapt {

/// Registers every dialect and interface that any stage of the compiler uses.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers every pass and pipeline: ours, and those of upstream that the pipelines use.
void registerAllPasses();

} // namespace rapt
