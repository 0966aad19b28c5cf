//===- Mutant.h - A module without some of its ops ------------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <vector>

namespace survive {

/// The ops to delete, by their positions in a walk of the unchanged module.
using Plan = std::vector<unsigned>;

/// Every op of the module that can be deleted has a position below this number.
unsigned countOps(mlir::ModuleOp module);

/// Deletes the ops of the plan. Users of a result get another value of its type that dominates them; an op without such
/// a value stays. Position 0 is the module itself and stands for its attribute attn.stage.
void apply(mlir::ModuleOp module, const Plan &plan);

} // namespace survive
