//===- ElementTypes.cpp - Element types of an op's tensors --------------------------------===//
#include "dialect/Attn/ElementTypes.h"
#include "dialect/Attn/AttnOps.h"

using namespace mlir;
using namespace rapt::attn;

ElementUse rapt::attn::elementUseOf(OpOperand &operand) {
  auto op = dyn_cast<ElementTypesOpInterface>(operand.getOwner());
  return op ? op.getElementUse(operand) : ElementUse::computed;
}

ElementSource rapt::attn::elementSourceOf(Value result) {
  auto op = dyn_cast<ElementTypesOpInterface>(result.getDefiningOp());
  return op ? op.getElementSource(result) : ElementSource::rounded;
}

bool rapt::attn::movesNumbers(Operation *op) {
  auto typed = dyn_cast<ElementTypesOpInterface>(op);
  return typed && typed.movesNumbers();
}

SmallVector<EqualTypes> rapt::attn::equalTypesOf(Operation *op) {
  auto typed = dyn_cast<ElementTypesOpInterface>(op);
  return typed ? typed.getEqualTypes() : equalTypesByTraits(op);
}

SmallVector<EqualTypes> rapt::attn::equalTypesByTraits(Operation *op) {
  const bool ofAll = op->hasTrait<OpTrait::SameOperandsAndResultType>();
  if (!ofAll && !op->hasTrait<KeepsElementType>())
    return {};
  EqualTypes types{op->getResult(0)};
  llvm::append_range(types, op->getOperands().take_front(ofAll ? op->getNumOperands() : 1));
  return {types};
}
