//===- Describe.h - From the IR to manifest and packer ---------------------------*- C++ -*-===//
//
// The manifest and the packer know no MLIR: this is where attributes, parameters and
// dims of a module become theirs.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/Manifest.h"
#include "lib/Target/Target.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt::driver {

/// The parameters of a module whose layouts are materialized. An error is a fault of the passes: a layout whose bytes
/// are not those that the packer writes.
Expected<std::vector<artifact::Parameter>> describeParameters(mlir::ModuleOp module, const Target &target);

/// Model, bounds and cache of a module at any stage from `canonical` on. The cache's format is the target's for the
/// entries' argument.
void describeModel(mlir::ModuleOp module, const Target &target, artifact::Manifest &manifest);

/// Adds the entries of a module at stage llvm-dialect, of kernels with the layout of their caches. An error is a fault
/// of the passes.
Status describeEntries(mlir::ModuleOp module, const Target &target, artifact::Manifest &manifest);

} // namespace rapt::driver
