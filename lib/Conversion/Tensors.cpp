//===- Tensors.cpp - Building blocks of code on tensors -------------------------------===//
#include "lib/Conversion/Tensors.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace rapt;

Value tile::index(ImplicitLocOpBuilder &b, int64_t value) { return arith::ConstantIndexOp::create(b, value); }

Value tile::plus(ImplicitLocOpBuilder &b, Value number, int64_t more) {
  return more == 0 ? number : Value(arith::AddIOp::create(b, number, index(b, more)));
}

OpFoldResult tile::extent(ImplicitLocOpBuilder &b, Value tensor, int64_t i) {
  // Sizes decide allocations, which must not depend on values of the layer loop: look through what keeps them.
  Operation *op = tensor.getDefiningOp();
  if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(op))
    return expand.getMixedOutputShape()[i];
  if (auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(op);
      collapse && collapse.getReassociationIndices()[i].size() == 1)
    return extent(b, collapse.getSrc(), collapse.getReassociationIndices()[i].front());
  if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    for (auto [dim, size] : llvm::enumerate(slice.getMixedSizes()))
      if (!dropped[dim] && i-- == 0)
        return size;
  }
  if (auto empty = dyn_cast_or_null<tensor::EmptyOp>(op))
    return empty.getMixedSizes()[i];
  if (auto forall = dyn_cast_or_null<scf::ForallOp>(op))
    return extent(b, forall.getOutputs()[cast<OpResult>(tensor).getResultNumber()], i);
  return tensor::getMixedSize(b, b.getLoc(), tensor, i);
}

SmallVector<OpFoldResult> tile::extents(ImplicitLocOpBuilder &b, Value tensor) {
  SmallVector<OpFoldResult> result;
  for (int64_t i = 0; i < cast<RankedTensorType>(tensor.getType()).getRank(); ++i)
    result.push_back(extent(b, tensor, i));
  return result;
}

Value tile::asValue(ImplicitLocOpBuilder &b, OpFoldResult value) {
  return getValueOrCreateConstantIndexOp(b, b.getLoc(), value);
}

OpFoldResult tile::affineOf(ImplicitLocOpBuilder &b, AffineExpr expr, OFRs operands) {
  return affine::makeComposedFoldedAffineApply(b, b.getLoc(), AffineMap::get(operands.size(), 0, expr), operands);
}

OpFoldResult tile::affineMin(ImplicitLocOpBuilder &b, OFRs values) {
  return affine::makeComposedFoldedAffineMin(b, b.getLoc(), b.getMultiDimIdentityMap(values.size()), values);
}

OpFoldResult tile::affineMax(ImplicitLocOpBuilder &b, OFRs values) {
  return affine::makeComposedFoldedAffineMax(b, b.getLoc(), b.getMultiDimIdentityMap(values.size()), values);
}

Value tile::extract(ImplicitLocOpBuilder &b, Value source, OFRs offsets, OFRs sizes, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, cast<RankedTensorType>(source.getType()).getElementType());
  SmallVector<OpFoldResult> strides(offsets.size(), b.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(b, type, source, offsets, sizes, strides);
}

Value tile::insert(ImplicitLocOpBuilder &b, Value tile, Value dest, OFRs offsets, OFRs sizes) {
  SmallVector<OpFoldResult> strides(offsets.size(), b.getIndexAttr(1));
  return tensor::InsertSliceOp::create(b, tile, dest, offsets, sizes, strides);
}

Value tile::empty(ImplicitLocOpBuilder &b, RankedTensorType type, OFRs extents) {
  return tensor::EmptyOp::create(b, extents, type.getElementType());
}

SmallVector<Value> tile::grid(ImplicitLocOpBuilder &b, OFRs extents, ValueRange destinations, TaskBody body) {
  // The body of a grid without tasks would slice tensors of extent 0, which no offset is within.
  if (llvm::any_of(extents, isZeroInteger))
    return llvm::to_vector(destinations);
  auto forall = scf::ForallOp::create(b, extents, destinations, /*mapping=*/std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forall.getBody());
  SmallVector<Insertion> insertions = body(b, forall.getInductionVars(), forall.getRegionIterArgs());
  b.setInsertionPointToEnd(forall.getTerminator().getBody());
  for (auto [insertion, dest] : llvm::zip_equal(insertions, forall.getRegionIterArgs())) {
    SmallVector<OpFoldResult> strides(insertion.offsets.size(), b.getIndexAttr(1));
    tensor::ParallelInsertSliceOp::create(b, insertion.tile, dest, insertion.offsets, insertion.sizes, strides);
  }
  return SmallVector<Value>(forall.getResults());
}

SmallVector<Value> tile::loop(ImplicitLocOpBuilder &b, Value lower, Value upper, Step step, ValueRange init,
                              function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, Value, ValueRange)> body) {
  const auto *number = std::get_if<int64_t>(&step);
  auto loop = scf::ForOp::create(b, lower, upper, number ? index(b, *number) : std::get<Value>(step), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b, body(b, loop.getInductionVar(), loop.getRegionIterArgs()));
  return SmallVector<Value>(loop.getResults());
}

Value tile::loop(ImplicitLocOpBuilder &b, Value lower, Value upper, Step step, Value init,
                 function_ref<Value(ImplicitLocOpBuilder &, Value, Value)> body) {
  auto one = [&](ImplicitLocOpBuilder &b, Value i, ValueRange carried) {
    return SmallVector<Value>{body(b, i, carried[0])};
  };
  return loop(b, lower, upper, step, ValueRange(init), one)[0];
}

Value tile::readIndex(ImplicitLocOpBuilder &b, Value tensor, ValueRange indices) {
  return arith::IndexCastOp::create(b, b.getIndexType(), tensor::ExtractOp::create(b, tensor, indices));
}

Value tile::placeOf(ImplicitLocOpBuilder &b, attn::CombineRowsOp op, Value token, Value j) {
  if (op.getIndices())
    return readIndex(b, op.getIndices(), {token, j});
  const int64_t k = op.getWeights().getType().getDimSize(1);
  return asValue(
      b, affineOf(b, b.getAffineDimExpr(0) * k + b.getAffineDimExpr(1), {OpFoldResult(token), OpFoldResult(j)}));
}

/// Counts the tokens of a row that are no padding, which has the position 0.
static Value countTokens(ImplicitLocOpBuilder &b, attn::PositionsOp op, Value begin, Value end, Value positions) {
  auto number = [&](int32_t value) -> Value { return arith::ConstantOp::create(b, b.getI32IntegerAttr(value)); };
  Value padding = number(int32_t(*op.getPadding())), zero = number(0), one = number(1);
  return tile::loop(b, begin, end, 1, ValueRange{positions, zero},
                    [&](ImplicitLocOpBuilder &b, Value t, ValueRange carried) -> SmallVector<Value> {
                      Value id = tensor::ExtractOp::create(b, op.getTokens(), t);
                      Value isPadding = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, id, padding);
                      Value next = arith::AddIOp::create(b, carried[1], one);
                      Value position = arith::SelectOp::create(b, isPadding, zero, next);
                      return {tensor::InsertOp::create(b, position, carried[0], t),
                              arith::SelectOp::create(b, isPadding, carried[1], next)};
                    })[0];
}

Value tile::fillPositions(ImplicitLocOpBuilder &b, attn::PositionsOp op, Value positions) {
  Value rows = arith::SubIOp::create(b, asValue(b, extent(b, op.getRowBegin(), 0)), index(b, 1));
  return loop(b, index(b, 0), rows, 1, positions, [&](ImplicitLocOpBuilder &b, Value r, Value carried) -> Value {
    Value begin = readIndex(b, op.getRowBegin(), r);
    Value end = readIndex(b, op.getRowBegin(), arith::AddIOp::create(b, r, index(b, 1)).getResult());
    if (op.getPadding())
      return countTokens(b, op, begin, end, carried);
    Value past = op.getPast() ? readIndex(b, op.getPast(), r) : index(b, 0);
    Value shift = arith::SubIOp::create(b, past, begin);
    return loop(b, begin, end, 1, carried, [&](ImplicitLocOpBuilder &b, Value t, Value inner) -> Value {
      Value position = arith::IndexCastOp::create(b, b.getI32Type(), arith::AddIOp::create(b, t, shift));
      return tensor::InsertOp::create(b, position, inner, t);
    });
  });
}
