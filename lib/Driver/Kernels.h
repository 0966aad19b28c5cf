//===- Kernels.h - Functions of MLIR text that an application calls directly -------===//
#pragma once
#include "lib/Artifact/Manifest.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt::driver {

/// Makes entries of the public functions of a module that has none: arguments and results need `attn.name`. Extents
/// without a name become dims, in the order in which they appear; extents that an attention iterates together are one.
void declareKernels(mlir::ModuleOp module);

/// C functions for the header of a module without a model: NAME(env, inputs, outputs, dims, scratch), which is the
/// entry, and NAME_scratch(dims, workers), the bytes that `scratch` needs.
std::string kernelFunctions(const artifact::Manifest &manifest);

} // namespace rapt::driver
