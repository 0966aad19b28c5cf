//===- Remarks.h - Why a fusion rule did or did not fire ------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/Location.h"
#include "llvm/ADT/Twine.h"

namespace rapt {

/// The category of these remarks, by which MLIR's remark engine lets them through: `raptc --remarks=fusion`,
/// `rapt-opt --remarks-filter=fusion`.
inline constexpr llvm::StringLiteral kFusionCategory = "fusion";

/// Tells that the rule fired at `location`: `what` is what has become one. `rule` must outlive the context.
void remarkFused(mlir::Location location, llvm::StringLiteral rule, const llvm::Twine &what);

/// Tells that it did not, and why.
void remarkNotFused(mlir::Location location, llvm::StringLiteral rule, const llvm::Twine &why);

/// Tells that an op has no schedule of the target, and why: its neutral decomposition replaces it.
void remarkNeutral(mlir::Location location, const llvm::Twine &why);

/// The name of the tensor or layer that a location carries; empty without one.
llvm::StringRef nameOf(mlir::Location location);

} // namespace rapt
