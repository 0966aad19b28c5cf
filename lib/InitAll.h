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

/// Makes `--version` and the report of a crash of one of LLVM's command lines name Rapt.
void introduceTool(const char *name);

} // namespace rapt
