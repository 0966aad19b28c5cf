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
  llvm::SmallVector<mlir::Attribute> moves;        ///< the attn.moves of each op
};

EntryCosts costsOf(mlir::FunctionOpInterface entry);

/// Sets how many sequences of each recurrence share one read of its weight per time step, as its schedule says: 1 until
/// then. All recurrences of the entry are given.
void setRowsOfSteps(mlir::FunctionOpInterface entry, llvm::ArrayRef<std::pair<mlir::Operation *, int64_t>> recurrences);

/// An op that the dispatch of another one, the root, computes.
struct FusedOp {
  mlir::Operation *op, *root;
};

/// Makes ops that one dispatch computes one element of the entry's costs, whose number all of them get: work and
/// weights are those of all, activations what the dispatch reads and writes of others. Numbers are counted anew. Called
/// once, by the target that decides fusions: the ops lose attn.moves.
void mergeCosts(mlir::FunctionOpInterface entry, llvm::ArrayRef<FusedOp> fused);

} // namespace rapt
