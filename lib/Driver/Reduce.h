//===- Reduce.h - A smaller module that shows the same fault ---------------------------*- C++ -*-===//
#pragma once
#include "lib/Support/Expected.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace rapt::driver {

/// How far a module was reduced.
struct Reduction {
  unsigned before = 0, after = 0; ///< operations, those of regions too
  unsigned tests = 0;
};

/// Leaves out operations of all regions, or replaces their results by operands, arguments or constants, as long as the
/// program `test` ends with a status other than 0 on the module's text, whose path is its argument. Errors: a test that
/// cannot be run or is killed, or that ends with 0 on the whole module.
Expected<Reduction> reduceModule(mlir::OwningOpRef<mlir::ModuleOp> &module, const std::string &test);

} // namespace rapt::driver
