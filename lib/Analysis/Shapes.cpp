//===- Shapes.cpp - Extents of tensors as polynomials over an entry's dims -------------===//
#include "lib/Analysis/Shapes.h"
#include "dialect/Attn/AttnOps.h"
#include "lib/Analysis/DimRelations.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace rapt;
using attn::Polynomial;

Polynomial Shapes::dim(Value tensor, unsigned i) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || i >= type.getRank())
    return Polynomial::unknown();
  if (!type.isDynamicDim(i))
    return Polynomial(type.getDimSize(i));
  auto [at, isNew] = known.try_emplace({tensor, i}, Polynomial::unknown());
  if (isNew) {
    Polynomial extent = compute(tensor, i);
    known[{tensor, i}] = extent;
    return extent;
  }
  return at->second;
}

Polynomial Shapes::elements(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  Polynomial product(1);
  for (unsigned i = 0; type && i < type.getRank(); ++i)
    product = product * dim(tensor, i);
  return type ? product : Polynomial::unknown();
}

Polynomial Shapes::index(Value value) { return evaluateIndex<Polynomial>(value, *this); }

Polynomial Shapes::opaque(Value value) {
  auto declared = value.getDefiningOp<attn::DimSizeOp>();
  return declared ? Polynomial::of(declared.getDim().str()) : Polynomial::unknown();
}

Polynomial Shapes::combine(AffineExprKind kind, const Polynomial &lhs, const Polynomial &rhs) {
  return kind == AffineExprKind::Add ? lhs + rhs : kind == AffineExprKind::Mul ? lhs * rhs : lhs.dividedBy(rhs);
}

Polynomial Shapes::compute(Value tensor, unsigned i) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  Operation *op = argument ? argument.getOwner()->getParentOp() : tensor.getDefiningOp();
  if (auto function = dyn_cast<FunctionOpInterface>(op); function && argument) {
    auto names = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), attn::AttnDialect::dimsAttr);
    unsigned position =
        llvm::count_if(cast<RankedTensorType>(tensor.getType()).getShape().take_front(i), ShapedType::isDynamic);
    return names && position < names.size() ? Polynomial::parse(cast<StringAttr>(names[position]).getValue())
                                            : Polynomial::unknown();
  }
  attn::DimRelations dims(op->getContext());
  relateDims(op, dims);
  AffineExpr expr = dims.find(tensor, i);
  return expr ? dims.evaluate<Polynomial>(expr, *this) : Polynomial::unknown();
}
