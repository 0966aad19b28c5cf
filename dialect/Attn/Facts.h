//===- Facts.h - The facts about a model as an attribute ------------------*- C++ -*-===//
//
// The module attribute attn.model has the facts of lib/Support/ModelFacts.def, by their keys.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/ModelFacts.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt::attn {

/// The facts that the module of an op holds; those that it lacks, or that are of another type, are none.
ModelFacts factsOf(mlir::Operation *op);

/// Sets attn.model.
void setFacts(mlir::ModuleOp module, const ModelFacts &facts);

mlir::Attribute toAttribute(mlir::MLIRContext *context, const fact::Text &text);
mlir::Attribute toAttribute(mlir::MLIRContext *context, fact::Number number);
mlir::Attribute toAttribute(mlir::MLIRContext *context, const fact::Id &id);
mlir::Attribute toAttribute(mlir::MLIRContext *context, const fact::Numbers &numbers);
mlir::Attribute toAttribute(mlir::MLIRContext *context, const fact::Names &names);

/// Sets or replaces the member of attn.model, and leaves the others as they are.
void setFact(mlir::ModuleOp module, llvm::StringRef key, mlir::Attribute value);
template <typename T> void setFact(mlir::ModuleOp module, T ModelFacts::*fact, const std::type_identity_t<T> &value) {
  setFact(module, keyOf(fact), toAttribute(module.getContext(), value));
}

} // namespace rapt::attn
