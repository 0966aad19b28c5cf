//===- VerifyLayouts.h - Verifies layouts and padding ---------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

namespace rapt::cpu {

/// The tensor that a layer of a parameter is in the weight file: bytes, where its elements are quantized.
mlir::RankedTensorType inWeightFile(mlir::RankedTensorType layer);

/// Reports what breaks the promises of the stage laid-out about memory: parameters that overlap in the weight file or
/// have a layout that the CPU does not know, ops that read them otherwise than they lie, caches without a layout, and
/// padding that is left out, is counted, or is not zero, as far as types and layouts tell it.
mlir::LogicalResult verifyLayouts(mlir::ModuleOp module);

} // namespace rapt::cpu
