//===- AttentionState.cpp - The state of online softmax over tiles and parts ---------------===//
//
// A state is tiled by its own TilingInterface: tiles of queries at the same time, and in each
// of them KV blocks one after another. A block becomes scores, softmax and the sums of values.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/Mask.h"
#include "lib/Conversion/AttnToLinalg/OnlineSoftmax.h"
#include "lib/Conversion/AttnToLinalg/Patterns.h"
#include "lib/Conversion/MaskIntervals.h"
#include "lib/Conversion/Schedule.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

namespace {

/// The accumulators, [queries, channels], times the factors of their queries, with `added`.
Value combined(ImplicitLocOpBuilder &b, Value added, Value factors, Value acc) {
  AffineMap both = b.getMultiDimIdentityMap(2);
  return generic(b, {added, factors}, acc, {both, mapOf(b, 2, {0}), both}, {Loop::Parallel, Loop::Parallel},
                 [](ImplicitLocOpBuilder &b, ValueRange x) {
                   return Value(arith::AddFOp::create(b, arith::MulFOp::create(b, x[2], x[1]), x[0]));
                 });
}

/// acc of `queries`, rescaled, with the values of a block.
Value addValues(ImplicitLocOpBuilder &b, Value values, OpFoldResult queries, const Softmax &softmax, Value acc) {
  // The block's sums are made for themselves first, which rounds less than one long sum.
  Value init = emptyOf(b, {queries, extent(b, values, 1)}, b.getF32Type());
  Value ofBlock = generic(b, {softmax.probabilities, values}, filled(b, 0, init),
                          {mapOf(b, 3, {0, 1}), mapOf(b, 3, {1, 2}), mapOf(b, 3, {0, 2})},
                          {Loop::Parallel, Loop::Reduction, Loop::Parallel}, [](ImplicitLocOpBuilder &b, ValueRange x) {
                            Value isOut = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x[0], number(b, 0));
                            Value term = arith::MulFOp::create(b, x[0], widened(b, x[1]));
                            Value sum = arith::AddFOp::create(b, x[2], term);
                            return Value(arith::SelectOp::create(b, isOut, x[2], sum));
                          });
  return combined(b, ofBlock, softmax.decay, acc);
}

/// The state after the op's keys, all at once (A35).
SmallVector<Value> decompose(ImplicitLocOpBuilder &b, attn::AttentionStateOp op) {
  Scores scores = scoresOf(b, ScoreTile::of(op));
  Softmax softmax = advance(b, scores, op.getMax(), op.getSum());
  return {addValues(b, op.getValue(), scores.shape[0], softmax, op.getAcc()), softmax.maximum, softmax.sum};
}

/// Whether the elements of extra operand `i` have intervals.
bool hasIntervals(attn::AttentionStateOp op, unsigned i) {
  return !op.isTable(i) && getElementTypeOrSelf(op.getExtras()[i].getType()).isInteger();
}

/// The least and the largest element of an extra operand, which has those of the op's queries and keys alone.
Interval rangeOf(ImplicitLocOpBuilder &b, Value extra) {
  Value zero = index(b, 0), one = index(b, 1);
  std::function<SmallVector<Value>(ImplicitLocOpBuilder &, SmallVector<Value>, ValueRange)> over =
      [&](ImplicitLocOpBuilder &b, SmallVector<Value> at, ValueRange carried) -> SmallVector<Value> {
    if (int64_t(at.size()) == cast<RankedTensorType>(extra.getType()).getRank()) {
      Value element = tensor::ExtractOp::create(b, extra, at);
      element = arith::IndexCastOp::create(b, b.getIndexType(), element);
      return {arith::MinSIOp::create(b, carried[0], element), arith::MaxSIOp::create(b, carried[1], element)};
    }
    auto rows = scf::ForOp::create(b, zero, asValue(b, extent(b, extra, int64_t(at.size()))), one, carried);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(rows.getBody());
    at.push_back(rows.getInductionVar());
    scf::YieldOp::create(b, over(b, at, rows.getRegionIterArgs()));
    return SmallVector<Value>(rows.getResults());
  };
  Value seeds[] = {index(b, std::numeric_limits<int64_t>::max()), index(b, std::numeric_limits<int64_t>::min())};
  SmallVector<Value> both = over(b, {}, seeds);
  return {both[0], both[1]};
}

/// The share of the op's queries and keys that the mask keeps; all of it where the bounds of a loop leave the rest out.
Kept keptOf(ImplicitLocOpBuilder &b, attn::AttentionStateOp op) {
  Region &mask = op.getMask();
  const Kept all{int64_t(1), int64_t(0)};
  if (mask.empty() || analyzeMask(mask).exact)
    return all;
  SmallVector<bool> known(4, true);
  for (unsigned i = 0; i < op.getExtras().size(); ++i)
    known.push_back(hasIntervals(op, i));
  if (!mayTellKept(mask, known))
    return all;
  const Interval indices[] = {{op.getB(), op.getB()},
                              {op.getH(), op.getH()},
                              between(b, op.getQ(), asValue(b, extent(b, op.getQuery(), 0))),
                              between(b, op.getKv(), asValue(b, extent(b, op.getKey(), 0)))};
  return keptBy(b, mask, indices, op.getExtras(), [&](unsigned i) {
    return hasIntervals(op, i) ? std::optional(rangeOf(b, op.getExtras()[i])) : std::nullopt;
  });
}

/// A KV block has all queries of the op, so it works on the state that the loop carries, not on a part of it.
void carryWholeState(RewriterBase &rewriter, attn::AttentionStateOp block, scf::ForOp loop) {
  SmallVector<Value> slices(block.getDpsInits());
  rewriter.modifyOpInPlace(block, [&] {
    block.getDpsInitsMutable().assign(loop.getRegionIterArgs());
    for (auto [result, carried] : llvm::zip_equal(block.getResults(), loop.getRegionIterArgs()))
      result.setType(carried.getType());
  });
  eraseDead(rewriter, slices);
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  SmallVector<Value> insertions(yield.getOperands());
  rewriter.modifyOpInPlace(yield, [&] { yield->setOperands(block.getResults()); });
  eraseDead(rewriter, insertions);
}

struct DecomposeState : OpRewritePattern<attn::AttentionStateOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::AttentionStateOp op, PatternRewriter &rewriter) const override {
    const auto tiling = attn::scheduleOf<attn::AttentionTilesAttr>(op);
    // A part of a grid is one task's.
    if (op->getParentOfType<scf::ForallOp>()) {
      rewriter.replaceOp(op, overKeys(rewriter, op, tiling.getKeys()));
      return success();
    }
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    OpFoldResult queries = extent(b, op.getQuery(), 0);
    OpFoldResult tiles = affineOf(b, b.getAffineDimExpr(0).ceilDiv(tiling.getQueries()), {queries});
    rewriter.replaceOp(
        op, grid(b, {tiles}, op.getDpsInits(), [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
          return updateTile(b, rewriter, op, tiling, ids[0], queries, dests);
        }));
    return success();
  }

  static SmallVector<Insertion> updateTile(ImplicitLocOpBuilder &b, RewriterBase &rewriter, attn::AttentionStateOp op,
                                           attn::AttentionTilesAttr tiling, Value nth, OpFoldResult queries,
                                           ValueRange dests) {
    OpFoldResult first = affineOf(b, b.getAffineDimExpr(0) * tiling.getQueries(), {OpFoldResult(nth)}),
                 rest = affineOf(b, b.getAffineDimExpr(0) - b.getAffineDimExpr(1), {queries, first});
    SmallVector<OpFoldResult> offsets{first, b.getIndexAttr(0)},
        sizes{affineMin(b, {b.getIndexAttr(tiling.getQueries()), rest}), extent(b, op.getKey(), 0)};
    auto tile = cast<attn::AttentionStateOp>(op.getTiledImplementation(b, offsets, sizes)->tiledOps[0]);
    SmallVector<Insertion> insertions(3);
    SmallVector<Value> before(tile.getDpsInits());
    for (auto [i, insertion] : llvm::enumerate(insertions)) {
      SmallVector<OpFoldResult> from, extents;
      (void)op.getResultTilePosition(b, i, offsets, sizes, from, extents);
      insertion.offsets = from, insertion.sizes = extents;
      b.setInsertionPoint(tile);
      tile.getDpsInitsMutable()[i].assign(slice(b, dests[i], from, extents));
    }
    eraseDead(rewriter, before);
    b.setInsertionPointAfter(tile);
    for (auto [insertion, result] : llvm::zip_equal(insertions, overKeys(rewriter, tile, tiling.getKeys())))
      insertion.tile = result;
    eraseDead(rewriter, tile.getResult(0));
    return insertions;
  }
};

/// One part after another into the state.
struct DecomposeMerge : OpRewritePattern<attn::AttentionMergeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::AttentionMergeOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    OpFoldResult queries = extent(b, op.getAcc(), 0);
    auto rowOf = [&] { return emptyOf(b, {queries}, b.getF32Type()); };
    AffineMap parts = b.getMultiDimIdentityMap(2), row = mapOf(b, 2, {1});
    auto power = [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
      return math::ExpOp::create(b, arith::SubFOp::create(b, x[0], x[1]));
    };
    Value ofParts =
        generic(b, {op.getPartialMax()}, lowest(b, queries), {parts, row}, {Loop::Reduction, Loop::Parallel},
                [](ImplicitLocOpBuilder &b, ValueRange x) -> Value { return arith::MaxNumFOp::create(b, x[1], x[0]); });
    auto largerOf = [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
      return arith::MaxNumFOp::create(b, x[1], x[0]);
    };
    Value largest = forEach(b, {ofParts, op.getMax()}, rowOf(), largerOf);
    Value decay = forEach(b, {op.getMax(), largest}, rowOf(), power);
    Value init = emptyOf(b, extents(b, op.getPartialMax()), b.getF32Type());
    Value factors =
        generic(b, {op.getPartialMax(), largest}, init, {parts, row, parts}, {Loop::Parallel, Loop::Parallel}, power);
    auto add = [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
      return arith::AddFOp::create(b, x[2], arith::MulFOp::create(b, x[0], x[1]));
    };
    Value sums = generic(b, {op.getPartialSum(), factors}, zeros(b, queries), {parts, parts, row},
                         {Loop::Reduction, Loop::Parallel}, add);
    Value sum = forEach(b, {sums, decay}, op.getSum(), [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
      return arith::AddFOp::create(b, arith::MulFOp::create(b, x[2], x[1]), x[0]);
    });
    Value accs =
        generic(b, {op.getPartialAcc(), factors}, filled(b, 0, emptyOf(b, extents(b, op.getAcc()), b.getF32Type())),
                {b.getMultiDimIdentityMap(3), mapOf(b, 3, {0, 1}), mapOf(b, 3, {1, 2})},
                {Loop::Reduction, Loop::Parallel, Loop::Parallel}, add);
    Value acc = combined(b, accs, decay, op.getAcc());
    Value max = forEach(b, {ofParts}, op.getMax(), largerOf); // last, as in a step
    rewriter.replaceOp(op, {acc, max, sum});
    return success();
  }
};

} // namespace

void neutral::eraseDead(RewriterBase &rewriter, ValueRange values) {
  llvm::SetVector<Operation *> left;
  auto add = [&](ValueRange values) {
    for (Value value : values)
      if (Operation *op = value.getDefiningOp())
        left.insert(op);
  };
  add(values);
  while (!left.empty()) {
    Operation *op = left.pop_back_val();
    if (!isOpTriviallyDead(op))
      continue;
    add(op->getOperands());
    rewriter.eraseOp(op);
  }
}

SmallVector<Value> neutral::overKeys(RewriterBase &rewriter, attn::AttentionStateOp op, int64_t step, BlockHook hook) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  scf::SCFTilingOptions options;
  options.setTileSizes({rewriter.getIndexAttr(0), rewriter.getIndexAttr(step)});
  FailureOr<scf::SCFTilingResult> tiled =
      scf::tileUsingSCF(rewriter, cast<TilingInterface>(op.getOperation()), options);
  assert(succeeded(tiled) && tiled->loops.size() == 1 && "a state has tiles of keys");
  auto loop = cast<scf::ForOp>(tiled->loops[0].getOperation());
  auto block = cast<attn::AttentionStateOp>(tiled->tiledOps[0]);
  carryWholeState(rewriter, block, loop);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  b.setInsertionPoint(block);
  if (hook) {
    SmallVector<Value> before{block.getKey(), block.getValue()};
    hook(b, block, loop.getInductionVar(), extent(b, block.getKey(), 0));
    eraseDead(rewriter, before);
  }
  // A block of which the mask drops all keys changes nothing.
  rewriter.replaceOp(block, where(b, keptOf(b, block).some, block.getDpsInits(),
                                  [&](ImplicitLocOpBuilder &b) { return decompose(b, block); }));
  return SmallVector<Value>(loop.getResults());
}

void neutral::populateAttentionState(RewritePatternSet &patterns) {
  patterns.add<DecomposeState, DecomposeMerge>(patterns.getContext());
}
