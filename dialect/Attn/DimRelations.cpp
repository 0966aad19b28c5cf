//===- DimRelations.cpp - The extents that an op relates ----------------------------===//
#include "dialect/Attn/DimRelations.h"
#include "dialect/Attn/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace rapt::attn;

AffineExpr DimRelations::symbol(const Symbol &symbol) {
  auto known = llvm::find(symbols, symbol);
  unsigned position = known - symbols.begin();
  if (known == symbols.end())
    symbols.push_back(symbol);
  return getAffineSymbolExpr(position, context);
}

void DimRelations::equal(Value tensor, Value other) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType()), otherType = dyn_cast<RankedTensorType>(other.getType());
  if (type && otherType && type.getRank() == otherType.getRank())
    for (unsigned i = 0; i < type.getRank(); ++i)
      equal(tensor, i, other, i);
}

void DimRelations::offsets(Value offsets, ValueRange perRow) {
  lowerBounds.push_back({offsets, 0, 1});
  for (Value rows : perRow)
    equal(rows, 0, extent(offsets, 0) - 1);
}

namespace {
/// Arithmetic of extents that folds numbers. A null operand, or numbers that leave 64 bits, give null.
OpFoldResult combine(OpBuilder &b, Location loc, AffineExprKind kind, OpFoldResult lhs, OpFoldResult rhs) {
  if (!lhs || !rhs)
    return {};
  std::optional<int64_t> x = getConstantIntValue(lhs), y = getConstantIntValue(rhs);
  if (y == (kind == AffineExprKind::Add ? 0 : 1))
    return lhs;
  if (x && y) {
    int64_t number = 0;
    bool overflows = kind == AffineExprKind::Add   ? llvm::AddOverflow(*x, *y, number)
                     : kind == AffineExprKind::Mul ? llvm::MulOverflow(*x, *y, number)
                                                   : *x < 0 || *y < 1;
    if (overflows)
      return {};
    return b.getIndexAttr(kind == AffineExprKind::FloorDiv ? *x / *y : number);
  }
  Value left = getValueOrCreateConstantIndexOp(b, loc, lhs), right = getValueOrCreateConstantIndexOp(b, loc, rhs);
  if (kind == AffineExprKind::Add)
    return arith::AddIOp::create(b, loc, left, right).getResult();
  if (kind == AffineExprKind::Mul)
    return arith::MulIOp::create(b, loc, left, right).getResult();
  return arith::DivUIOp::create(b, loc, left, right).getResult();
}
} // namespace

LogicalResult rapt::attn::reifyRelatedDims(Operation *op, OpBuilder &b, ReifiedRankedShapedTypeDims &shapes) {
  Location loc = op->getLoc();
  DimRelations dims(op->getContext());
  cast<DimRelationsOpInterface>(op).relateDims(dims);
  auto reify = [&](Value result, unsigned i) -> OpFoldResult {
    for (const DimRelations::Equation &equation : dims.getEquations())
      if (equation.tensor == result && equation.dim == i)
        return dims.evaluate<OpFoldResult>(
            equation.extent,
            [&](const DimRelations::Symbol &symbol) -> OpFoldResult {
              return symbol.dim ? tensor::getMixedSize(b, loc, symbol.value, *symbol.dim) : symbol.value;
            },
            [&](int64_t number) -> OpFoldResult { return b.getIndexAttr(number); },
            [&](AffineExprKind kind, OpFoldResult lhs, OpFoldResult rhs) { return combine(b, loc, kind, lhs, rhs); });
    return {};
  };
  for (Value result : op->getResults()) {
    SmallVector<OpFoldResult> &shape = shapes.emplace_back();
    auto type = dyn_cast<RankedTensorType>(result.getType());
    for (unsigned i = 0; type && i < type.getRank(); ++i) {
      if (!type.isDynamicDim(i)) {
        shape.push_back(b.getIndexAttr(type.getDimSize(i)));
        continue;
      }
      // By upstream's convention a dynamic dim is a value, also where it is known to be a number.
      OpFoldResult extent = reify(result, i);
      shape.push_back(extent ? getValueOrCreateConstantIndexOp(b, loc, extent) : extent);
    }
  }
  return success();
}
