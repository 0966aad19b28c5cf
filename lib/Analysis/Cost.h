//===- Cost.h - Operations and bytes of the ops of an entry -----------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace rapt {

/// The costs of the ops of a canonical entry, as they stand in its attribute `attn.costs` and, as JSON, in the manifest
/// (docs/Semantics.md, "Costs"): floating-point operations of matmuls, counted without padding, and bytes of weights,
/// cache and activations, each moved once. No run is needed: they are sums of products of the entry's dims, and of
/// counts of rows' lengths that the caller of an entry knows.
struct EntryCosts {
  mlir::DictionaryAttr facts;                      ///< {counts = [...], ops = [...]}
  llvm::SmallVector<mlir::Operation *> operations; ///< of each element of "ops"
};

/// `recurrenceTile`: sequences of a recurrence that share one read of its weight per time step.
EntryCosts costsOf(mlir::FunctionOpInterface entry, int64_t recurrenceTile);

} // namespace rapt
