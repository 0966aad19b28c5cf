//===- Attention.cpp - Attention by online softmax over blocks of keys -------------------===//
//
// A task is a tile of queries of one row and head: attn.attention_state over the keys that
// they may see, tiled over KV blocks (A39). Memory is that of a tile, whatever the lengths.
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/AttnToLinalg/AttentionTiles.h"
#include "lib/Conversion/AttnToLinalg/Patterns.h"
#include "lib/Conversion/MaskReport.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

namespace {

using Dim = AttentionOperands::Dim;

struct DecomposeAttention : OpRewritePattern<attn::AttentionOp> {
  DecomposeAttention(MLIRContext *context, const CacheReader *cache) : OpRewritePattern(context), cache(cache) {}

  LogicalResult matchAndRewrite(attn::AttentionOp op, PatternRewriter &rewriter) const override {
    AttentionOperands o(op);
    if (std::string reason = notLegalBecause(o, cache); !reason.empty())
      return rewriter.notifyMatchFailure(op, reason);
    remarkMask(op, o.tiles.getQueries(), o.tiles.getKeys());
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    OpFoldResult queries = o.extentOf(b, Dim::Q);
    SmallVector<OpFoldResult> shape;
    for (AffineExpr expr : o.maps[AttentionOperands::Result].getResults())
      shape.push_back(o.extentOf(b, static_cast<Dim>(cast<AffineDimExpr>(expr).getPosition())));
    Value init = emptyFor(b, op.getResult(), shape), lse;
    if (op.getLse()) {
      SmallVector<OpFoldResult> ofLse = llvm::map_to_vector(op.getLseDims(), [&](int64_t dim) { return shape[dim]; });
      lse = emptyFor(b, op.getLse(), ofLse);
    }
    SmallVector<Value> results{init};
    if (llvm::is_contained(op.getResult().getType().getShape(), 0)) { // no queries, so nothing else to compute
      for (Value other : {lse, Value(op.getWeights())})
        if (other)
          results.push_back(other);
      rewriter.replaceOp(op, results);
      return success();
    }
    if (o.qBegin) // queries behind the last row's give 0 (A28)
      init = filled(b, 0, init);
    SmallVector<OpFoldResult> extents{o.extentOf(b, Dim::B), o.extentOf(b, Dim::HKV), o.extentOf(b, Dim::G),
                                      affineOf(b, b.getAffineDimExpr(0).ceilDiv(o.tiles.getQueries()), {queries})};
    SmallVector<Value> inits{init};
    if (lse) // queries behind the last row's have no keys
      inits.push_back(o.qBegin ? filled(b, -std::numeric_limits<double>::infinity(), lse) : lse);
    results = grid(b, extents, inits, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
      QueryTile tile = queryTile(b, o, ids[0], ids[1], ids[2], ids[3]);
      SmallVector<OpFoldResult> offsets, sizes;
      placeQueries(b, o, tile, AttentionOperands::Result, offsets, sizes);
      // A use that is there before: where the mask drops all keys, nothing else may read the tile's first query.
      Value dest = slice(b, dests[0], offsets, sizes);
      SmallVector<Value> state = attend(b, rewriter, o, tile);
      SmallVector<Insertion> parts{{normalized(b, o, state, dest), offsets, sizes}};
      if (dests.size() > 1) {
        SmallVector<OpFoldResult> at, extents;
        for (int64_t dim : attn::AttentionOp(o.op).getLseDims())
          at.push_back(offsets[dim]), extents.push_back(sizes[dim]);
        parts.push_back({logSumExp(b, o, state, slice(b, dests[1], at, extents)), at, extents});
      }
      return parts;
    });
    if (op.getWeights())
      results.push_back(weigh(b, o, cache));
    rewriter.replaceOp(op, results);
    return success();
  }

  /// The state of the tile's queries after the keys that they may see, from that of no keys (A36) or of a sink.
  attn::AttentionStateOp stateOf(ImplicitLocOpBuilder &b, const AttentionOperands &o, const QueryTile &tile,
                                 const KeyRange &range) const {
    Value count = arith::MaxSIOp::create(b, arith::SubIOp::create(b, range.to, range.from), index(b, 0));
    Value keys = keyRows(b, o, tile, AttentionOperands::Key, range.from, count),
          values = keyRows(b, o, tile, AttentionOperands::Value_, range.from, count);
    ScoreTile scores = scoreTile(b, o, tile, keys, range.from, count);
    // Keys of both pairs are joined block by block.
    if (o.secondKey)
      keys = emptyOf(b, {OpFoldResult(count), extent(b, scores.query, 1)},
                     cast<RankedTensorType>(scores.query.getType()).getElementType());
    Value acc = filled(b, 0, emptyOf(b, {tile.size, o.extentOf(b, Dim::DV)}, b.getF32Type()));
    SmallVector<Value> sums = initialSums(b, o, tile);
    auto state =
        attn::AttentionStateOp::create(b, scores.query, keys, values, scores.scale, scores.b, scores.h, scores.q,
                                       scores.kv, scores.extras, scores.additive, acc, sums[0], sums[1],
                                       scores.extras.empty() ? nullptr : b.getAffineMapArrayAttr(scores.extraMaps));
    IRMapping mapping;
    o.score->cloneInto(&state.getScore(), mapping);
    o.mask->cloneInto(&state.getMask(), mapping);
    if (Attribute number = attn::AttentionOp(o.op)->getAttr(attn::AttnDialect::opAttr))
      state->setAttr(attn::AttnDialect::opAttr, number);
    return state;
  }

  /// The state of a tile of queries after all keys: accumulators, max, sum.
  SmallVector<Value> attend(ImplicitLocOpBuilder &b, RewriterBase &rewriter, const AttentionOperands &o,
                            const QueryTile &tile) const {
    KeyRange range = keyRange(b, o, tile);
    attn::AttentionStateOp whole = stateOf(b, o, tile, range);
    auto readBlock = [&](ImplicitLocOpBuilder &b, attn::AttentionStateOp block, Value first, OpFoldResult size) {
      Value key = arith::AddIOp::create(b, range.from, first);
      KeyBlock read = keyBlock(b, o, cache, tile, range, key, size);
      block.getKeyMutable().assign(read.keys);
      block.getValueMutable().assign(read.values);
    };
    SmallVector<Value> state = overKeys(rewriter, whole, range.step, readBlock);
    eraseDead(rewriter, whole.getResult(0));
    return state;
  }

  /// The tile's result from its state, rounded once (A21).
  static Value normalized(ImplicitLocOpBuilder &b, const AttentionOperands &o, ValueRange state, Value dest) {
    // A query without keys gives 0, and so does one whose scores are all -infinity (A11).
    AffineMap both = b.getMultiDimIdentityMap(2);
    return generic(b, {state[0], state[2]}, dest,
                   {both, mapOf(b, 2, {0}), mapOfPart(b, o, AttentionOperands::Result, {Dim::Q, Dim::DV})},
                   {Loop::Parallel, Loop::Parallel}, [](ImplicitLocOpBuilder &b, ValueRange x) {
                     Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x[1], number(b, 0));
                     Value mean = arith::DivFOp::create(b, x[0], x[1]);
                     return rounded(b, arith::SelectOp::create(b, isEmpty, number(b, 0), mean), x[2].getType());
                   });
  }

  /// maximum + log(sum) of a tile of queries; -infinity where the sum is 0 (A12).
  static Value logSumExp(ImplicitLocOpBuilder &b, const AttentionOperands &o, ValueRange state, Value dest) {
    SmallVector<int64_t> place;
    for (AffineExpr expr : attn::AttentionOp(o.op).getLseMap()->getResults())
      place.push_back(static_cast<Dim>(cast<AffineDimExpr>(expr).getPosition()) == Dim::Q ? 0 : -1);
    AffineMap each = b.getMultiDimIdentityMap(1);
    return generic(b, {state[1], state[2]}, dest, {each, each, mapOf(b, 1, place)}, Loop::Parallel,
                   [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                     Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x[1], number(b, 0));
                     Value lse = arith::AddFOp::create(b, x[0], math::LogOp::create(b, x[1]));
                     return arith::SelectOp::create(b, isEmpty, number(b, -std::numeric_limits<double>::infinity()),
                                                    lse);
                   });
  }

  const CacheReader *cache;
};

} // namespace

void neutral::populateAttention(RewritePatternSet &patterns, const CacheReader *cache) {
  patterns.add<DecomposeAttention>(patterns.getContext(), cache);
}
