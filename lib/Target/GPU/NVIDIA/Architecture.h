//===- Architecture.h - Architectures of GPUs ------------------------------------*- C++ -*-===//
#pragma once
#include "lib/TargetInfo/TargetInfo.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt::cuda {

/// The architectures that code can be made for, as --gpu-arch names them; the first is the default.
llvm::ArrayRef<llvm::StringRef> architectures();

/// The capabilities of one of them.
TargetInfo capabilitiesOf(llvm::StringRef architecture);

/// Reports a module whose attn.target names no architecture of a GPU, which LLVM would abort for.
mlir::LogicalResult verifyArchitecture(mlir::ModuleOp module);

/// "sm_90a", for capabilities that were verified.
std::string nameOf(const TargetInfo &capabilities);

/// #nvvm.target for capabilities that were verified.
mlir::Attribute nvvmTarget(const TargetInfo &capabilities, mlir::MLIRContext *context);

} // namespace rapt::cuda
