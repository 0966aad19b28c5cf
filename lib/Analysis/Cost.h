//===- Cost.h - Operations and bytes of the ops of an entry -----------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace rapt {

/// The costs of the ops of a canonical entry, as in its attribute `attn.costs` and in the manifest (docs/Semantics.md,
/// "Costs"): floating-point operations of matmuls without padding, and bytes of weights, cache and activations, each
/// moved once. Costs are polynomials over the entry's dims and over counts that follow from the lengths of sequences.
struct EntryCosts {
  mlir::DictionaryAttr facts;                      ///< {counts = [...], ops = [...]}
  llvm::SmallVector<mlir::Operation *> operations; ///< the op of each element of "ops"
};

/// `recurrenceTile`: sequences of a recurrence that share one read of its weight per time step.
EntryCosts costsOf(mlir::FunctionOpInterface entry, int64_t recurrenceTile);

} // namespace rapt
