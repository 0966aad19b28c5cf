//===- Shapes.cpp - Extents of an entry's tensors in its dims --------------------------===//
#include "lib/Analysis/Shapes.h"
#include "dialect/Attn/AttnOps.h"
#include "lib/Analysis/DimRelations.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace rapt;

Sum Shapes::dim(Value tensor, unsigned i) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || i >= type.getRank())
    return Sum::unknown();
  if (!type.isDynamicDim(i))
    return Sum(type.getDimSize(i));
  auto [at, isNew] = known.try_emplace({tensor, i}, Sum::unknown());
  if (isNew) {
    Sum sum = compute(tensor, i);
    known[{tensor, i}] = sum;
    return sum;
  }
  return at->second;
}

Sum Shapes::elements(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  Sum product(1);
  for (unsigned i = 0; type && i < type.getRank(); ++i)
    product = product * dim(tensor, i);
  return type ? product : Sum::unknown();
}

Sum Shapes::index(Value value) { return evaluateIndex<Sum>(value, *this); }

Sum Shapes::opaque(Value value) {
  auto declared = value.getDefiningOp<attn::DimSizeOp>();
  return declared ? Sum::of(declared.getDim().str()) : Sum::unknown();
}

Sum Shapes::combine(AffineExprKind kind, const Sum &lhs, const Sum &rhs) {
  return kind == AffineExprKind::Add ? lhs + rhs : kind == AffineExprKind::Mul ? lhs * rhs : lhs.dividedBy(rhs);
}

Sum Shapes::compute(Value tensor, unsigned i) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  Operation *op = argument ? argument.getOwner()->getParentOp() : tensor.getDefiningOp();
  if (auto function = dyn_cast<FunctionOpInterface>(op); function && argument) {
    auto names = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), attn::AttnDialect::dimsAttr);
    unsigned place =
        llvm::count_if(cast<RankedTensorType>(tensor.getType()).getShape().take_front(i), ShapedType::isDynamic);
    return names && place < names.size() ? Sum::parse(cast<StringAttr>(names[place]).getValue()) : Sum::unknown();
  }
  attn::DimRelations dims(op->getContext());
  relateDims(op, dims);
  AffineExpr expr = dims.find(tensor, i);
  return expr ? dims.evaluate<Sum>(expr, *this) : Sum::unknown();
}
