//===- Mutant.cpp - A module without some of its ops --------------------------------------===//
#include "Mutant.h"
#include "dialect/Attn/AttnDialect.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

static std::vector<Operation *> opsOf(ModuleOp module) {
  std::vector<Operation *> ops;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  return ops;
}

unsigned survive::countOps(ModuleOp module) { return opsOf(module).size(); }

/// A value of `result`'s type that dominates its users without its op, or null.
static Value replacementOf(OpResult result) {
  const auto isOfType = [&](Value value) { return value.getType() == result.getType(); };
  Operation *at = result.getOwner();
  for (Value operand : at->getOperands())
    if (isOfType(operand))
      return operand;
  while (!at->hasTrait<OpTrait::IsIsolatedFromAbove>()) {
    for (Operation *before = at->getPrevNode(); before; before = before->getPrevNode())
      for (Value value : before->getResults())
        if (isOfType(value))
          return value;
    for (Value argument : at->getBlock()->getArguments())
      if (isOfType(argument))
        return argument;
    at = at->getParentOp();
  }
  return {};
}

static bool replaceUses(Operation *op) {
  SmallVector<Value> values;
  for (OpResult result : op->getResults())
    values.push_back(result.use_empty() ? Value(result) : replacementOf(result));
  if (llvm::is_contained(values, Value()))
    return false;
  for (auto [result, value] : llvm::zip_equal(op->getResults(), values))
    if (result != value)
      result.replaceAllUsesWith(value);
  return true;
}

void survive::apply(ModuleOp module, const Plan &plan) {
  const std::vector<Operation *> ops = opsOf(module);
  llvm::DenseSet<Operation *> gone;
  for (unsigned position : plan) {
    Operation *op = ops[position % ops.size()];
    if (op == module)
      module->removeAttr(rapt::attn::AttnDialect::stageAttr);
    if (op == module || gone.contains(op) || op->hasTrait<OpTrait::IsTerminator>() || !replaceUses(op))
      continue;
    op->walk([&](Operation *inner) { gone.insert(inner); });
    op->erase();
  }
}
