//===- Pipelines.h - The order of passes ---------------------------------------*- C++ -*-===//
//
// The only place where pass order lives.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/TargetInfo/TargetInfo.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace rapt {

/// The stages of the IR, in order. `--emit=` names them.
enum class Stage { Imported, Canonical, Tiled, Backend, LLVMDialect };

/// "imported", "canonical", "tiled", "backend", "llvm-dialect".
llvm::StringRef nameOf(Stage stage);
std::optional<Stage> stageNamed(llvm::StringRef name);

/// The stage a module says it is at (attn.stage), Imported without it.
Stage stageOf(mlir::ModuleOp module);

struct PipelineOptions {
  TargetInfo target;
  /// Storage of weights: "auto" keeps the checkpoint's, else "f32", "bf16" or "f16".
  std::string dtype = "auto";
  /// "none", or how matrices become integers: "w8a8", "w8" or "w4", the latter two in groups of rows.
  std::string quantize = "none";
  int64_t quantizeGroup = 32;
  bool quantizeZeroPoint = false;
};

/// Appends the pass that checks what `stage` promises, if there is one.
void addContract(mlir::OpPassManager &passes, Stage stage);

/// Appends the passes that take a module from one stage to a later one; the module's attn.stage follows.
void buildPipeline(mlir::OpPassManager &passes, Stage from, Stage to, const PipelineOptions &options);

} // namespace rapt
