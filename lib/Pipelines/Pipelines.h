//===- Pipelines.h - The order of passes -----------------------------------------*- C++ -*-===//
//
// The order of the passes that all targets share; a target has those below the stage
// canonical.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Target/Target.h"

namespace rapt {

struct PipelineOptions {
  const Target *target = nullptr; ///< one of lib/Target/Targets.h
  TargetInfo capabilities;        ///< what its passes may use of the machine
  /// Storage of weights: "auto" keeps the checkpoint's, else "f32", "bf16" or "f16".
  std::string dtype = "auto";
  /// "none", or how matrices are quantized: "w8a8", "w8" or "w4", the latter two in groups of rows.
  std::string quantize = "none";
  int64_t quantizeGroup = 32;
  bool quantizeZeroPoint = false;
};

/// Appends the pass that checks what `stage` promises, if there is one.
void addContract(mlir::OpPassManager &passes, Stage stage, const Target &target);

/// Appends the passes that take a module from one stage to a later one; the module's attn.stage follows.
void buildPipeline(mlir::OpPassManager &passes, Stage from, Stage to, const PipelineOptions &options);

} // namespace rapt
