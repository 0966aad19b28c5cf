//===- Attention.cpp - Attention by online softmax over blocks of keys -------------------===//
//
// A task is a tile of queries of one row and head: a loop over blocks of keys, whose state
// (sums of values, maximum, sum) is carried. Memory is that of a tile, whatever the lengths.
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/AttnToLinalg/OnlineSoftmax.h"
#include "lib/Conversion/AttnToLinalg/Patterns.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

namespace {

using Dim = AttentionOperands::Dim;

struct DecomposeAttention : OpRewritePattern<attn::AttentionOp> {
  DecomposeAttention(MLIRContext *context, const CacheReader *cache) : OpRewritePattern(context), cache(cache) {}

  LogicalResult matchAndRewrite(attn::AttentionOp op, PatternRewriter &rewriter) const override {
    AttentionOperands o(op);
    if (std::string reason = obstacle(o, cache); !reason.empty())
      return rewriter.notifyMatchFailure(op, reason);
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    OpFoldResult queries = o.extentOf(b, Dim::Q);
    SmallVector<OpFoldResult> shape;
    for (AffineExpr expr : o.maps[AttentionOperands::Result].getResults())
      shape.push_back(o.extentOf(b, static_cast<Dim>(cast<AffineDimExpr>(expr).getPosition())));
    Value init = emptyFor(b, op.getResult(), shape);
    if (o.qBegin) // queries behind the last row's give 0
      init = filled(b, 0, init);
    SmallVector<OpFoldResult> extents{o.extentOf(b, Dim::B), o.extentOf(b, Dim::HKV), o.extentOf(b, Dim::G),
                                      affineOf(b, b.getAffineDimExpr(0).ceilDiv(kQueries), {queries})};
    rewriter.replaceOp(op, grid(b, extents, init, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
                         QueryTile tile = queryTile(b, o, ids[0], ids[1], ids[2], ids[3]);
                         SmallVector<OpFoldResult> offsets, sizes;
                         placeQueries(b, o, tile, AttentionOperands::Result, offsets, sizes);
                         Value result = attend(b, o, tile, slice(b, dests[0], offsets, sizes));
                         return SmallVector<Insertion>{{result, offsets, sizes}};
                       }));
    return success();
  }

  Value attend(ImplicitLocOpBuilder &b, const AttentionOperands &o, const QueryTile &tile, Value dest) const {
    OpFoldResult channels = o.extentOf(b, Dim::DV);
    SmallVector<Value> init{filled(b, 0, emptyOf(b, {tile.size, channels}, b.getF32Type())), lowest(b, tile.size),
                            zeros(b, tile.size)};
    SmallVector<Value> state =
        overBlocks(b, o, cache, tile, init,
                   [&](ImplicitLocOpBuilder &b, const KeyBlock &block, ValueRange carried) -> SmallVector<Value> {
                     Softmax softmax = advance(b, scoresOf(b, o, tile, block), carried[1], carried[2]);
                     return {addValues(b, block, softmax, carried[0]), softmax.maximum, softmax.sum};
                   });
    // A query without keys gives 0, and so does one whose scores are all -infinity.
    AffineMap both = b.getMultiDimIdentityMap(2);
    return generic(b, {state[0], state[2]}, dest,
                   {both, mapOf(b, 2, {0}), mapOfPart(b, o, AttentionOperands::Result, {Dim::Q, Dim::DV})},
                   {Loop::Parallel, Loop::Parallel}, [](ImplicitLocOpBuilder &b, ValueRange x) {
                     Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x[1], number(b, 0));
                     Value mean = arith::DivFOp::create(b, x[0], x[1]);
                     return rounded(b, arith::SelectOp::create(b, isEmpty, number(b, 0), mean), x[2].getType());
                   });
  }

  static Value addValues(ImplicitLocOpBuilder &b, const KeyBlock &block, const Softmax &softmax, Value sums) {
    // The block's sums are made for themselves first, which rounds less than one long sum.
    Value room = emptyOf(b, extents(b, sums), b.getF32Type());
    Value ofBlock =
        generic(b, {softmax.probabilities, block.values}, filled(b, 0, room),
                {mapOf(b, 3, {0, 1}), block.valueMap, mapOf(b, 3, {0, 2})},
                {Loop::Parallel, Loop::Reduction, Loop::Parallel}, [](ImplicitLocOpBuilder &b, ValueRange x) {
                  Value isOut = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x[0], number(b, 0));
                  Value term = arith::MulFOp::create(b, x[0], widened(b, x[1]));
                  Value sum = arith::AddFOp::create(b, x[2], term);
                  return Value(arith::SelectOp::create(b, isOut, x[2], sum));
                });
    AffineMap both = b.getMultiDimIdentityMap(2);
    return generic(b, {ofBlock, softmax.decay}, sums, {both, mapOf(b, 2, {0}), both}, {Loop::Parallel, Loop::Parallel},
                   [](ImplicitLocOpBuilder &b, ValueRange x) {
                     return Value(arith::AddFOp::create(b, arith::MulFOp::create(b, x[2], x[1]), x[0]));
                   });
  }

  const CacheReader *cache;
};

} // namespace

void neutral::populateAttention(RewritePatternSet &patterns, const CacheReader *cache) {
  patterns.add<DecomposeAttention>(patterns.getContext(), cache);
}
