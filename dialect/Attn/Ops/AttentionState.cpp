//===- AttentionState.cpp - Attention by tiles and by parts ---------------------===//
//
// The iteration space of attention_state is (queries, keys). Any tile is the op again (A39),
// on slices: a tile of keys goes on from the state of those before it, a part of the keys
// starts from the empty state and is merged (A38).
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/Attn/Ops/Regions.h"
#include "dialect/Attn/Ops/State.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

using namespace mlir;
using namespace rapt::attn;
using OFRs = ArrayRef<OpFoldResult>;

namespace {
/// `value` + `offset`, folded, as a value.
Value advance(OpBuilder &b, Location loc, Value value, OpFoldResult offset) {
  AffineExpr s0 = b.getAffineSymbolExpr(0), s1 = b.getAffineSymbolExpr(1);
  OpFoldResult sum = affine::makeComposedFoldedAffineApply(b, loc, s0 + s1, {value, offset});
  return getValueOrCreateConstantIndexOp(b, loc, sum);
}

/// The extent of a tensor, told by what it is made of, so that equal ones are one value: the size of a slice, also
/// where it has a lower rank than its source, or the extent of the destination that it was written to.
OpFoldResult extentOf(OpBuilder &b, Location loc, Value tensor, unsigned dim) {
  if (auto slice = tensor.getDefiningOp<tensor::ExtractSliceOp>()) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    for (auto [i, size] : llvm::enumerate(slice.getMixedSizes()))
      if (!dropped[i] && dim-- == 0)
        return size;
    llvm_unreachable("a slice has the dims of its type");
  }
  if (auto empty = tensor.getDefiningOp<tensor::EmptyOp>())
    return empty.getMixedSizes()[dim];
  if (auto styled = tensor.getDefiningOp<DestinationStyleOpInterface>())
    return extentOf(b, loc, styled.getTiedOpOperand(cast<OpResult>(tensor))->get(), dim);
  return tensor::getMixedSize(b, loc, tensor, dim);
}

/// `source` at the offsets, noted among `slices`; `source` itself where that is all of it. `dropped` leading dims have
/// the extent 1 and are left out.
Value slice(OpBuilder &b, Location loc, Value source, OFRs offsets, OFRs sizes, SmallVectorImpl<Operation *> &slices,
            unsigned dropped = 0) {
  bool isWhole = dropped == 0 && llvm::all_of(offsets, isZeroInteger);
  for (unsigned i = 0; isWhole && i < sizes.size(); ++i)
    isWhole = isEqualConstantIntOrValue(sizes[i], extentOf(b, loc, source, i));
  if (isWhole)
    return source;
  SmallVector<OpFoldResult> strides(offsets.size(), b.getIndexAttr(1));
  auto type = cast<RankedTensorType>(source.getType());
  SmallVector<int64_t> shape;
  for (OpFoldResult size : sizes.drop_front(dropped))
    shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  auto result = tensor::ExtractSliceOp::create(b, loc, RankedTensorType::get(shape, type.getElementType()), source,
                                               offsets, sizes, strides);
  slices.push_back(result);
  return result;
}

/// Columns of acc. While the op is being split, its operand acc is that of all parts, so value tells.
OpFoldResult columnsOf(OpBuilder &b, AttentionStateOp op) { return extentOf(b, op.getLoc(), op.getValue(), 1); }

/// Where a tile of queries lies in acc (0), max (1) or sum (2).
void placeQueries(OpBuilder &b, AttentionStateOp op, unsigned result, OpFoldResult offset, OpFoldResult size,
                  SmallVectorImpl<OpFoldResult> &offsets, SmallVectorImpl<OpFoldResult> &sizes) {
  offsets.push_back(offset);
  sizes.push_back(size);
  if (result == 0) {
    offsets.push_back(b.getIndexAttr(0));
    sizes.push_back(columnsOf(b, op));
  }
}

/// The extra operands of a tile.
SmallVector<Value> sliceExtras(OpBuilder &b, AttentionStateOp op, OFRs offsets, OFRs sizes,
                               SmallVectorImpl<Operation *> &slices) {
  SmallVector<Value> extras;
  for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
    SmallVector<OpFoldResult> from, extents;
    for (AffineExpr expr : op.getExtraMap(i).getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      from.push_back(dim ? offsets[dim.getPosition()] : b.getIndexAttr(0));
      extents.push_back(dim ? sizes[dim.getPosition()] : b.getIndexAttr(1));
    }
    extras.push_back(op.isTable(i) ? extra : slice(b, op.getLoc(), extra, from, extents, slices));
  }
  return extras;
}

/// The op on a tile, from the state `init`, which is the tile's.
TilingResult tileOp(OpBuilder &b, AttentionStateOp op, OFRs offsets, OFRs sizes, ValueRange init,
                    SmallVector<Operation *> slices) {
  Location loc = op.getLoc();
  auto rows = [&](Value matrix, unsigned dim) {
    return slice(b, loc, matrix, {offsets[dim], b.getIndexAttr(0)}, {sizes[dim], extentOf(b, loc, matrix, 1)}, slices);
  };
  Value query = rows(op.getQuery(), 0), key = rows(op.getKey(), 1), value = rows(op.getValue(), 1);
  auto tiled = AttentionStateOp::create(b, loc, query, key, value, op.getScale(), op.getB(), op.getH(),
                                        advance(b, loc, op.getQ(), offsets[0]), advance(b, loc, op.getKv(), offsets[1]),
                                        sliceExtras(b, op, offsets, sizes, slices), op.getAdditive(), init[0], init[1],
                                        init[2], op.getExtraMapsAttr());
  tiled->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  IRMapping mapping;
  op.getScore().cloneInto(&tiled.getScore(), mapping);
  op.getMask().cloneInto(&tiled.getMask(), mapping);
  return {{tiled}, SmallVector<Value>(tiled.getResults()), slices};
}
} // namespace

LogicalResult AttentionStateOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getOperands().take_back(3).getTypes());
  return success();
}

LogicalResult AttentionMergeOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getOperands().take_back(3).getTypes());
  return success();
}

LogicalResult AttentionStateOp::verify() {
  RankedTensorType query = getQuery().getType(), key = getKey().getType(), value = getValue().getType(),
                   acc = getAcc().getType();
  if (query.getRank() != 2 || key.getRank() != 2 || value.getRank() != 2 || acc.getRank() != 2)
    return emitOpError() << "needs query [m, d], key [n, d], value [n, dv] and acc [m, dv], found " << query << ", "
                         << key << ", " << value << " and " << acc;
  if (!fits(key.getDimSize(1), query.getDimSize(1)) || !fits(value.getDimSize(0), key.getDimSize(0)) ||
      !fits(acc.getDimSize(0), query.getDimSize(0)) || !fits(acc.getDimSize(1), value.getDimSize(1)))
    return emitOpError() << "key " << key << ", value " << value << " and acc " << acc << " do not fit query " << query;
  if (failed(verifyRowsOfState(*this, query.getDimSize(0))) ||
      failed(
          verifyStateExtras(*this, query.getDimSize(0), key.isDynamicDim(0) ? value.getDimSize(0) : key.getDimSize(0))))
    return failure();
  if (getAdditive())
    if (auto additive = cast<RankedTensorType>(getAdditive().getType());
        !fits(additive.getDimSize(0), query.getDimSize(1)) || !fits(additive.getDimSize(0), key.getDimSize(1)))
      return emitOpError() << "additive vector " << additive << " does not fit query " << query << " and key " << key;
  return success();
}

void AttentionStateOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<FoldCastsIntoState<AttentionStateOp>>(context);
}

bool AttentionStateOp::isTable(unsigned i) { return isTableWith(getExtraMap(i), getExtras()[i]); }

SmallVector<utils::IteratorType> AttentionStateOp::getLoopIteratorTypes() {
  return {utils::IteratorType::parallel, utils::IteratorType::reduction};
}

SmallVector<Range> AttentionStateOp::getIterationDomain(OpBuilder &b) {
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  return {{zero, extentOf(b, getLoc(), getQuery(), 0), one}, {zero, extentOf(b, getLoc(), getKey(), 0), one}};
}

FailureOr<TilingResult> AttentionStateOp::getTiledImplementation(OpBuilder &b, OFRs offsets, OFRs sizes) {
  SmallVector<Operation *> slices;
  SmallVector<Value> init;
  for (auto [i, state] : llvm::enumerate(getDpsInits())) {
    SmallVector<OpFoldResult> from, extents;
    placeQueries(b, *this, i, offsets[0], sizes[0], from, extents);
    init.push_back(slice(b, getLoc(), state, from, extents, slices));
  }
  return tileOp(b, *this, offsets, sizes, init, slices);
}

LogicalResult AttentionStateOp::getResultTilePosition(OpBuilder &b, unsigned result, OFRs offsets, OFRs sizes,
                                                      SmallVector<OpFoldResult> &resultOffsets,
                                                      SmallVector<OpFoldResult> &resultSizes) {
  placeQueries(b, *this, result, offsets[0], sizes[0], resultOffsets, resultSizes);
  return success();
}

LogicalResult AttentionStateOp::getIterationDomainTileFromResultTile(OpBuilder &b, unsigned result, OFRs offsets,
                                                                     OFRs sizes,
                                                                     SmallVectorImpl<OpFoldResult> &domainOffsets,
                                                                     SmallVectorImpl<OpFoldResult> &domainSizes) {
  // Columns of acc cannot be had alone: max and sum go with all of them.
  if (result == 0 && (!isZeroInteger(offsets[1]) || !isEqualConstantIntOrValue(sizes[1], columnsOf(b, *this))))
    return failure();
  domainOffsets.append({offsets[0], b.getIndexAttr(0)});
  domainSizes.append({sizes[0], extentOf(b, getLoc(), getKey(), 0)});
  return success();
}

FailureOr<TilingResult> AttentionStateOp::generateResultTileValue(OpBuilder &b, unsigned result, OFRs offsets,
                                                                  OFRs sizes) {
  SmallVector<OpFoldResult> domainOffsets, domainSizes;
  if (failed(getIterationDomainTileFromResultTile(b, result, offsets, sizes, domainOffsets, domainSizes)))
    return failure();
  FailureOr<TilingResult> tiled = getTiledImplementation(b, domainOffsets, domainSizes);
  if (succeeded(tiled))
    tiled->tiledValues = {tiled->tiledValues[result]};
  return tiled;
}

/// The empty state (A36) of each part: [parts, m, dv], [parts, m], [parts, m].
FailureOr<SmallVector<Value>>
AttentionStateOp::generateInitialTensorForPartialReduction(OpBuilder &b, Location loc, OFRs sizes,
                                                           const llvm::SetVector<unsigned> &) {
  SmallVector<Value> parts;
  for (auto [i, state] : llvm::enumerate(getDpsInits())) {
    SmallVector<OpFoldResult> shape{sizes[1]};
    llvm::append_range(shape, tensor::getMixedSizes(b, loc, state));
    float empty = i == 1 ? std::numeric_limits<float>::lowest() : 0.0f;
    Value scalar = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(empty));
    parts.push_back(tensor::SplatOp::create(b, loc, scalar, shape));
  }
  return parts;
}

FailureOr<TilingResult> AttentionStateOp::tileToPartialReduction(OpBuilder &b, Location loc,
                                                                 ReductionTilingStrategy strategy, ValueRange init,
                                                                 OFRs offsets, OFRs sizes,
                                                                 const llvm::SetVector<unsigned> &reductionDims,
                                                                 OFRs splitReductionIvs) {
  if (strategy != ReductionTilingStrategy::PartialReductionOuterParallel)
    return emitOpError(
        "is split into parts that are taken at the same time (tile_reduction_using_forall), each with one state");
  SmallVector<Operation *> slices;
  SmallVector<Value> tile;
  for (auto [i, parts] : llvm::enumerate(init)) {
    SmallVector<OpFoldResult> from, extents;
    if (failed(getPartialResultTilePosition(b, i, strategy, offsets, sizes, reductionDims, splitReductionIvs, from,
                                            extents)))
      return failure();
    tile.push_back(slice(b, loc, parts, from, extents, slices, /*dropped=*/1));
  }
  return tileOp(b, *this, offsets, sizes, tile, slices);
}

LogicalResult AttentionStateOp::getPartialResultTilePosition(OpBuilder &b, unsigned result, ReductionTilingStrategy,
                                                             OFRs offsets, OFRs sizes,
                                                             const llvm::SetVector<unsigned> &, OFRs splitReductionIvs,
                                                             SmallVector<OpFoldResult> &resultOffsets,
                                                             SmallVector<OpFoldResult> &resultSizes) {
  resultOffsets.push_back(splitReductionIvs[0]);
  resultSizes.push_back(b.getIndexAttr(1));
  placeQueries(b, *this, result, offsets[0], sizes[0], resultOffsets, resultSizes);
  return success();
}

FailureOr<MergeResult> AttentionStateOp::mergeReductions(OpBuilder &b, Location loc, ValueRange parts,
                                                         const llvm::SetVector<unsigned> &) {
  auto merge = AttentionMergeOp::create(b, loc, parts[0], parts[1], parts[2], getAcc(), getMax(), getSum());
  return MergeResult{{merge}, SmallVector<Value>(merge.getResults())};
}

LogicalResult AttentionMergeOp::verify() { return verifyMerge(*this); }

void AttentionStateOp::relateDims(DimRelations &dims) {
  for (auto [result, init] : llvm::zip_equal(getResults(), getDpsInits()))
    dims.equal(result, init);
  for (Value perQuery : {Value(getAcc()), Value(getMax()), Value(getSum())})
    dims.equal(perQuery, 0, getQuery(), 0);
  dims.equal(getKey(), 1, getQuery(), 1);
  dims.equal(getValue(), 0, getKey(), 0);
  dims.equal(getAcc(), 1, getValue(), 1);
  if (getAdditive())
    dims.equal(getAdditive(), 0, getQuery(), 1);
  for (auto [i, extra] : llvm::enumerate(getExtras()))
    for (auto [position, expr] : llvm::enumerate(getExtraMap(i).getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        dims.equal(extra, position, dim.getPosition() == 0 ? Value(getQuery()) : Value(getKey()), 0);
      else
        dims.equal(extra, position, dims.number(1));
}

void AttentionMergeOp::relateDims(DimRelations &dims) {
  for (auto [result, init] : llvm::zip_equal(getResults(), getDpsInits()))
    dims.equal(result, init);
  for (Value perQuery : {Value(getMax()), Value(getSum())})
    dims.equal(perQuery, 0, getAcc(), 0);
  for (Value part : {Value(getPartialMax()), Value(getPartialSum())}) {
    dims.equal(part, 0, getPartialAcc(), 0);
    dims.equal(part, 1, getPartialAcc(), 1);
  }
  for (unsigned i : {0, 1})
    dims.equal(getPartialAcc(), i + 1, getAcc(), i);
}
