//===- CostModel.cpp - The cost that an op states ------------------------------------===//
#include "dialect/Attn/CostModel.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

using namespace mlir;
using namespace rapt::attn;

void CostModel::moveAll(Operation *op) {
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      move(operand);
  for (Value result : op->getResults())
    move(result);
}
