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
/// Arithmetic of extents in the IR, which folds numbers. A null operand, or numbers that leave 64 bits, give null.
struct Emission {
  OpBuilder &b;
  Location loc;

  OpFoldResult dim(Value tensor, unsigned i) { return tensor::getMixedSize(b, loc, tensor, i); }
  OpFoldResult index(Value value) { return value; }
  OpFoldResult number(int64_t number) { return b.getIndexAttr(number); }

  OpFoldResult combine(AffineExprKind kind, OpFoldResult lhs, OpFoldResult rhs) {
    if (!lhs || !rhs)
      return {};
    std::optional<int64_t> x = getConstantIntValue(lhs), y = getConstantIntValue(rhs);
    if (y == (kind == AffineExprKind::Add ? 0 : 1))
      return lhs;
    if (x && y) {
      int64_t result = 0;
      bool overflows = kind == AffineExprKind::Add   ? llvm::AddOverflow(*x, *y, result)
                       : kind == AffineExprKind::Mul ? llvm::MulOverflow(*x, *y, result)
                                                     : *x < 0 || *y < 1;
      if (overflows)
        return {};
      return number(kind == AffineExprKind::FloorDiv ? *x / *y : result);
    }
    Value left = getValueOrCreateConstantIndexOp(b, loc, lhs), right = getValueOrCreateConstantIndexOp(b, loc, rhs);
    if (kind == AffineExprKind::Add)
      return arith::AddIOp::create(b, loc, left, right).getResult();
    if (kind == AffineExprKind::Mul)
      return arith::MulIOp::create(b, loc, left, right).getResult();
    return arith::DivUIOp::create(b, loc, left, right).getResult();
  }
};
} // namespace

AffineExpr DimRelations::find(Value tensor, unsigned dim) const {
  for (const Equation &equation : equations)
    if (equation.tensor == tensor && equation.dim == dim)
      return equation.extent;
  return {};
}

LogicalResult rapt::attn::reifyRelatedDims(Operation *op, OpBuilder &b, ReifiedRankedShapedTypeDims &shapes) {
  DimRelations dims(op->getContext());
  cast<DimRelationsOpInterface>(op).relateDims(dims);
  Emission emission{b, op->getLoc()};
  for (Value result : op->getResults()) {
    SmallVector<OpFoldResult> &shape = shapes.emplace_back();
    auto type = dyn_cast<RankedTensorType>(result.getType());
    for (unsigned i = 0; type && i < type.getRank(); ++i) {
      if (!type.isDynamicDim(i)) {
        shape.push_back(b.getIndexAttr(type.getDimSize(i)));
        continue;
      }
      AffineExpr expr = dims.find(result, i);
      OpFoldResult extent = expr ? dims.evaluate<OpFoldResult>(expr, emission) : OpFoldResult();
      // By upstream's convention a dynamic dim is a value, also where it is known to be a number.
      shape.push_back(extent ? getValueOrCreateConstantIndexOp(b, op->getLoc(), extent) : extent);
    }
  }
  return success();
}
