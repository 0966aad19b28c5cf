//===- Stage.h - The stages of the IR --------------------------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <optional>

namespace rapt {

/// The stages of the IR, in order. `--emit=` names them. Up to Canonical all targets share them; from LaidOut on the IR
/// is of one target.
enum class Stage { Imported, Canonical, LaidOut, Tiled, Backend, LLVMDialect };

/// "imported", "canonical", "laid-out", "tiled", "backend", "llvm-dialect".
llvm::StringRef nameOf(Stage stage);
std::optional<Stage> stageNamed(llvm::StringRef name);

/// The stage a module says it is at (attn.stage), Imported without it.
Stage stageOf(mlir::ModuleOp module);

} // namespace rapt
