//===- Rows.cpp - Grids over rows, walked in panels of 32 columns -----------------------===//
#include "lib/Conversion/AttnToLinalg/Rows.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace rapt;
using attn::kPanel;

bool tile::isPadded(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() == 2 && !type.isDynamicDim(1) && type.getDimSize(1) % kPanel == 0;
}

bool tile::isReadOnly(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function = argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()) : FunctionOpInterface();
  if (!function || !function->hasAttr(attn::AttnDialect::entryAttr))
    return false;
  Attribute name = function.getArgAttr(argument.getArgNumber(), attn::AttnDialect::nameAttr);
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, attn::AttnDialect::nameAttr) == name)
      return false;
  return true;
}

bool tile::isReadLastBy(Operation *op, Value value) {
  return !isReadOnly(value) && llvm::count(op->getOperands(), value) == 1 &&
         llvm::all_of(value.getUsers(), [&](Operation *user) {
           Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
           return ancestor && (ancestor == op || ancestor->isBeforeInBlock(op));
         });
}

Value tile::rowGrid(ImplicitLocOpBuilder &b, Value init,
                    function_ref<Value(ImplicitLocOpBuilder &, Value row, Value dest)> body) {
  int64_t columns = cast<RankedTensorType>(init.getType()).getDimSize(1);
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0), width = b.getIndexAttr(columns);
  return grid(b, {extent(b, init, 0)}, init, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
    SmallVector<OpFoldResult> offsets{OpFoldResult(ids[0]), zero}, sizes{one, width};
    Value dest = extract(b, dests[0], offsets, sizes, {columns});
    return SmallVector<Insertion>{{body(b, ids[0], dest), offsets, sizes}};
  })[0];
}

Value tile::forPanels(ImplicitLocOpBuilder &b, int64_t columns, Value dest,
                      function_ref<Value(ImplicitLocOpBuilder &, Value column, Value carried)> body) {
  return loop(b, index(b, 0), index(b, columns), kPanel, dest,
              [&](ImplicitLocOpBuilder &b, Value column, Value carried) {
                return writePanel(b, body(b, column, carried), carried, column);
              });
}

Value tile::splat(ImplicitLocOpBuilder &b, Value scalar) {
  if (isa<VectorType>(scalar.getType()))
    return scalar;
  return vector::BroadcastOp::create(b, VectorType::get({kPanel}, scalar.getType()), scalar);
}
