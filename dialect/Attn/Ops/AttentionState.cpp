//===- AttentionState.cpp - Attention by tiles and by parts ---------------------===//
//
// The iteration space of attention_state is (queries, panels of 32 keys), so that
// any tile starts and ends at a panel.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/Attn/Ops/Regions.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

using namespace mlir;
using namespace rapt::attn;
using OFRs = ArrayRef<OpFoldResult>;

namespace {
/// Whether two extents can be one: they are equal, or a dynamic one hides what it is.
bool fits(int64_t a, int64_t b) { return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b; }

/// Whether `extent` can be `count` panels.
bool isPanels(int64_t count, int64_t extent) {
  if (ShapedType::isDynamic(extent))
    return true;
  return extent % kPanel == 0 && fits(count, extent / kPanel);
}

/// `value` + `factor` * `offset`, folded.
OpFoldResult advance(OpBuilder &b, Location loc, OpFoldResult value, int64_t factor, OpFoldResult offset) {
  AffineExpr s0 = b.getAffineSymbolExpr(0), s1 = b.getAffineSymbolExpr(1);
  return affine::makeComposedFoldedAffineApply(b, loc, s0 + s1 * factor, {value, offset});
}

/// Slices `source`, without its first `dropped` dims, and notes the slice among `slices`.
Value slice(OpBuilder &b, Location loc, Value source, OFRs offsets, OFRs sizes, SmallVectorImpl<Operation *> &slices,
            unsigned dropped = 0) {
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

OpFoldResult extentOf(OpBuilder &b, Location loc, Value tensor, unsigned dim) {
  return tensor::getMixedSize(b, loc, tensor, dim);
}

/// Columns of acc. While the op is being split, its operand acc is that of all parts, so value tells.
int64_t columnsOf(AttentionStateOp op) { return op.getValue().getType().getDimSize(0) * kPanel; }

/// Where a tile of queries lies in acc (0), max (1) or sum (2).
void placeQueries(OpBuilder &b, AttentionStateOp op, unsigned result, OpFoldResult offset, OpFoldResult size,
                  SmallVectorImpl<OpFoldResult> &offsets, SmallVectorImpl<OpFoldResult> &sizes) {
  offsets.push_back(offset);
  sizes.push_back(size);
  if (result == 0) {
    offsets.push_back(b.getIndexAttr(0));
    sizes.push_back(b.getIndexAttr(columnsOf(op)));
  }
}

/// The extra operands of a tile of queries. Keys are counted from the row's first, so all of theirs stay.
SmallVector<Value> sliceExtras(OpBuilder &b, AttentionStateOp op, OpFoldResult offset, OpFoldResult size,
                               SmallVectorImpl<Operation *> &slices) {
  SmallVector<Value> extras;
  for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, op.getLoc(), extra),
                              offsets(sizes.size(), b.getIndexAttr(0));
    bool hasQueries = false;
    for (auto [position, expr] : llvm::enumerate(op.getExtraMap(i).getResults()))
      if (isa<AffineDimExpr>(expr) && cast<AffineDimExpr>(expr).getPosition() == 0) {
        offsets[position] = offset;
        sizes[position] = size;
        hasQueries = true;
      }
    extras.push_back(hasQueries ? slice(b, op.getLoc(), extra, offsets, sizes, slices) : extra);
  }
  return extras;
}

/// Whether each result of the map over (q, kv) is 0, q or kv, the last two at most once.
bool placesQueriesAndKeys(AffineMap map) {
  if (map.getNumDims() != 2 || map.getNumSymbols() != 0)
    return false;
  bool isTaken[2] = {};
  return llvm::all_of(map.getResults(), [&](AffineExpr expr) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    return dim ? !std::exchange(isTaken[dim.getPosition()], true) : expr == 0;
  });
}

/// Maps over (q, kv) with as many results as the extra has dims, and a q for each query.
LogicalResult verifyExtras(AttentionStateOp op, int64_t queries) {
  size_t maps = op.getExtraMaps() ? op.getExtraMaps()->size() : 0;
  if (maps != op.getExtras().size())
    return op.emitOpError() << "has " << maps << " maps for " << op.getExtras().size() << " extra operands";
  for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
    AffineMap map = op.getExtraMap(i);
    auto type = cast<RankedTensorType>(extra.getType());
    if (!placesQueriesAndKeys(map) || (map.getNumResults() != type.getRank() && !op.isTable(i)))
      return op.emitOpError() << "map of extra operand " << i
                              << " must be a projected permutation of (q, kv), or 0 for a unit dim, for " << type;
    for (auto [expr, size] : llvm::zip(map.getResults(), type.getShape())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim && !fits(size, 1))
        return op.emitOpError() << "map of extra operand " << i << " has 0 for a dim of " << size << " elements of "
                                << type;
      if (dim && dim.getPosition() == 0 && !fits(size, queries))
        return op.emitOpError() << "has " << queries << " queries, but extra operand " << i << " is " << type;
    }
  }
  return success();
}

/// The op on a tile, from the state `init`, which is the tile's.
TilingResult tileOp(OpBuilder &b, AttentionStateOp op, OFRs offsets, OFRs sizes, ValueRange init,
                    SmallVector<Operation *> slices) {
  Location loc = op.getLoc();
  OpFoldResult zero = b.getIndexAttr(0), firstKey = advance(b, loc, zero, kPanel, offsets[1]);
  RankedTensorType ofKeys = op.getKey().getType(), ofValues = op.getValue().getType();
  OpFoldResult panel = b.getIndexAttr(ofKeys.getDimSize(2)), valuePanel = b.getIndexAttr(ofValues.getDimSize(2));
  const int64_t lines = isInPairs(ofValues) ? kPanel / 2 : kPanel;
  OpFoldResult firstLine = advance(b, loc, zero, lines, offsets[1]), count = advance(b, loc, zero, lines, sizes[1]);
  OpFoldResult channels = extentOf(b, loc, op.getQuery(), 1), keyLines = extentOf(b, loc, op.getKey(), 1),
               valuePanels = extentOf(b, loc, op.getValue(), 0);
  Value query = slice(b, loc, op.getQuery(), {offsets[0], zero}, {sizes[0], channels}, slices);
  Value key = slice(b, loc, op.getKey(), {offsets[1], zero, zero}, {sizes[1], keyLines, panel}, slices);
  Value value = slice(b, loc, op.getValue(), {zero, firstLine, zero}, {valuePanels, count, valuePanel}, slices);
  auto at = [&](Value first, OpFoldResult offset) {
    return getValueOrCreateConstantIndexOp(b, loc, advance(b, loc, first, 1, offset));
  };
  auto tiled = AttentionStateOp::create(
      b, loc, query, key, value, op.getScale(), op.getB(), op.getH(),
      op.getOnePosition() ? op.getQ() : at(op.getQ(), offsets[0]), at(op.getKv(), firstKey), op.getLimit(),
      sliceExtras(b, op, offsets[0], sizes[0], slices), op.getAdditive(), ValueRange(), Value(), Value(), init[0],
      init[1], init[2], op.getExtraMapsAttr(), op.getOnePosition(), op.getPaired());
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
  if (query.getRank() != 2 || acc.getRank() != 2 || key.getRank() != 3 || value.getRank() != 3)
    return emitOpError("needs query [m, d], key [b/32, d, 32], value [dv/32, b, 32] and acc [m, dv]");
  auto isPaneled = [](RankedTensorType type) { return type.getDimSize(2) == kPanel || isInPairs(type); };
  if (query.isDynamicDim(1) || key.isDynamicDim(1) || value.isDynamicDim(0) || acc.isDynamicDim(1))
    return emitOpError("needs static numbers of channels");
  if (!isPaneled(key) || !isPaneled(value) || depthOfPanels(key) != query.getDimSize(1) ||
      !isPanels(key.getDimSize(0), depthOfPanels(value)) || !isPanels(value.getDimSize(0), acc.getDimSize(1)) ||
      !fits(acc.getDimSize(0), query.getDimSize(0)))
    return emitOpError() << "key " << key << ", value " << value << " and acc " << acc << " do not fit query " << query;
  for (Value row : {getMax(), getSum()})
    if (!fits(cast<RankedTensorType>(row.getType()).getDimSize(0), query.getDimSize(0)))
      return emitOpError() << "needs one max and one sum for each of the " << query.getDimSize(0) << " queries";
  if (getOnePosition() && !getExtras().empty())
    return emitOpError("has queries at one position, and extra operands");
  if (getPaired() && (!isInPairs(key) || !isInPairs(value) || getAdditive()))
    return emitOpError() << "is paired, which keys and values in pairs are and an additive similarity is not, found "
                         << key << " and " << value;
  if (failed(verifyExtras(*this, query.getDimSize(0))))
    return failure();
  if (getAdditive()) {
    auto additive = cast<RankedTensorType>(getAdditive().getType());
    // The query's channels may be padded, and the vector not.
    if (int64_t size = additive.getDimSize(0), channels = query.getDimSize(1);
        ShapedType::isDynamic(size) || (size != channels && padToPanel(size) != channels))
      return emitOpError() << "additive vector " << additive << " does not fit query " << query;
  }
  auto isMatrix = [](Value ahead) { return cast<RankedTensorType>(ahead.getType()).getRank() == 2; };
  if (!llvm::all_of(getAhead(), isMatrix) || getAhead().empty() != !getFrom() || getAhead().empty() != !getTo())
    return emitOpError("prefetches the part [from, to) of the rows of matrices");
  return success();
}

LogicalResult AttentionStateOp::verifyRegions() {
  return verifyScoreAndMask(*this, getScore(), getMask(), getExtras(), [&](unsigned i) { return isTable(i); });
}

namespace {
/// Takes the operands of casts in place. Upstream's pattern does so for all ops with destinations, by a clone that does
/// not allow empty regions, so this one goes before it.
struct FoldCastsIntoState : OpRewritePattern<AttentionStateOp> {
  explicit FoldCastsIntoState(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(AttentionStateOp op, PatternRewriter &rewriter) const override {
    if (!tensor::hasFoldableTensorCastOperand(op))
      return failure();
    SmallVector<Type> types(op->getResultTypes());
    SmallVector<Value> operands =
        tensor::getUpdatedOperandsAfterCastOpFolding(cast<DestinationStyleOpInterface>(op.getOperation()), types);
    rewriter.modifyOpInPlace(op, [&] { op->setOperands(operands); });
    rewriter.setInsertionPointAfter(op);
    for (auto [result, type] : llvm::zip_equal(op->getResults(), types)) {
      Type before = result.getType();
      if (type == before)
        continue;
      rewriter.modifyOpInPlace(op, [&, state = Value(result)]() mutable { state.setType(type); });
      auto users = tensor::CastOp::create(rewriter, op.getLoc(), before, result);
      rewriter.replaceAllUsesExcept(result, users, users);
    }
    return success();
  }
};
} // namespace

void AttentionStateOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<FoldCastsIntoState>(context);
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
  if (result == 0 && (!isZeroInteger(offsets[1]) || getConstantIntValue(sizes[1]) != columnsOf(*this)))
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

/// The empty state of each part: [parts, m, dv], [parts, m], [parts, m].
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
  auto merge = AttentionMergeOp::create(b, loc, parts[0], parts[1], parts[2], getAcc(), getMax(), getSum(),
                                        /*scored=*/!getScore().empty());
  return MergeResult{{merge}, SmallVector<Value>(merge.getResults())};
}

LogicalResult AttentionMergeOp::verify() {
  RankedTensorType accs = getPartialAcc().getType(), acc = getAcc().getType();
  if (accs.getRank() != 3 || acc.getRank() != 2)
    return emitOpError() << "needs parts [p, m, dv] and acc [m, dv], found " << accs << " and " << acc;
  if (!fits(accs.getDimSize(1), acc.getDimSize(0)) || !fits(accs.getDimSize(2), acc.getDimSize(1)))
    return emitOpError() << "parts " << accs << " do not fit acc " << acc;
  for (Value rows : {getPartialMax(), getPartialSum()})
    if (auto type = cast<RankedTensorType>(rows.getType());
        !fits(type.getDimSize(0), accs.getDimSize(0)) || !fits(type.getDimSize(1), acc.getDimSize(0)))
      return emitOpError() << "needs one max and one sum for each part and query of " << accs << ", found " << type;
  for (Value row : {getMax(), getSum()})
    if (!fits(cast<RankedTensorType>(row.getType()).getDimSize(0), acc.getDimSize(0)))
      return emitOpError() << "needs one max and one sum for each of the " << acc.getDimSize(0) << " queries";
  return success();
}

void AttentionStateOp::relateDims(DimRelations &dims) {
  for (auto [result, init] : llvm::zip_equal(getResults(), getDpsInits()))
    dims.equal(result, init);
  for (Value perQuery : {Value(getAcc()), Value(getMax()), Value(getSum())})
    dims.equal(perQuery, 0, getQuery(), 0);
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
