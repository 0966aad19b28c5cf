//===- AttentionWeights.cpp - Probabilities of attention ----------------------===//
//
// Keys are gone through twice: first for the maximum and the sum of each query, then for the
// weights.
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/AttnToLinalg/AttentionTiles.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;
using Dim = AttentionOperands::Dim;

namespace {

Value normalized(ImplicitLocOpBuilder &b, const Scores &scores, ValueRange state, Value dest) {
  AffineMap both = b.getMultiDimIdentityMap(2), row = mapOf(b, 2, {0});
  SmallVector<Value> inputs{scores.scores, state[0], state[1]};
  SmallVector<AffineMap> maps{both, row, row};
  if (scores.kept)
    inputs.push_back(scores.kept), maps.push_back(both);
  maps.push_back(mapOf(b, 2, {0, -1, -1, 1}));
  return generic(b, inputs, dest, maps, {Loop::Parallel, Loop::Parallel}, [&](ImplicitLocOpBuilder &b, ValueRange x) {
    Value p = math::ExpOp::create(b, arith::SubFOp::create(b, x[0], x[1])), zero = number(b, 0);
    Value counts = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, x[2], zero);
    if (scores.kept) {
      Value isKept =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ne, x[3], arith::ConstantOp::create(b, b.getI8IntegerAttr(0)));
      counts = arith::AndIOp::create(b, counts, isKept);
    }
    Value weight = arith::SelectOp::create(b, counts, arith::DivFOp::create(b, p, x[2]), zero);
    return rounded(b, weight, x.back().getType());
  });
}

/// The tile's weights, [queries, 1, 1, keys] (A33).
Value weighTile(ImplicitLocOpBuilder &b, const AttentionOperands &o, const CacheReader *cache, const QueryTile &tile,
                Value dest) {
  KeyRange range = keyRange(b, o, tile);
  auto overBlocks =
      [&](ValueRange init,
          function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, const Scores &, Value, OpFoldResult, ValueRange)>
              body) {
        return loop(b, range.from, range.to, range.step, init,
                    [&](ImplicitLocOpBuilder &b, Value first, ValueRange carried) {
                      OpFoldResult rest = Value(arith::SubIOp::create(b, range.to, first)),
                                   size = affineMin(b, {b.getIndexAttr(range.step), rest});
                      Value keys = keyBlock(b, o, cache, tile, range, first, size).keys;
                      Scores scores = scoresOf(b, scoreTile(b, o, tile, keys, first, size));
                      return body(b, scores, first, size, carried);
                    });
      };
  SmallVector<Value> state = overBlocks(initialSums(b, o, tile),
                                        [&](ImplicitLocOpBuilder &b, const Scores &scores, Value, OpFoldResult,
                                            ValueRange carried) -> SmallVector<Value> {
                                          Softmax softmax = advance(b, scores, carried[0], carried[1]);
                                          return {softmax.maximum, softmax.sum};
                                        });
  return overBlocks(dest,
                    [&](ImplicitLocOpBuilder &b, const Scores &scores, Value first, OpFoldResult size,
                        ValueRange carried) -> SmallVector<Value> {
                      OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
                      SmallVector<OpFoldResult> offsets{zero, zero, zero, first}, sizes{tile.size, one, one, size};
                      Value part = normalized(b, scores, state, slice(b, carried[0], offsets, sizes));
                      return {insert(b, part, carried[0], offsets, sizes)};
                    })[0];
}

} // namespace

Value neutral::weigh(ImplicitLocOpBuilder &b, AttentionOperands o, const CacheReader *cache) {
  o.value = {};
  Value weights = o.op.getWeights();
  ArrayRef<int64_t> asked = *o.op.getHeads();
  // A layer that the tensor does not have changes nothing (A34).
  Value layers = asValue(b, extent(b, weights, 1));
  Value isInside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, o.op.getLayer(), layers);
  Value rows = asValue(b, o.extentOf(b, Dim::B));
  OpFoldResult counted = Value(arith::SelectOp::create(b, isInside, rows, index(b, 0)));
  auto type = RankedTensorType::get({int64_t(asked.size())}, b.getI64Type());
  Value heads = arith::ConstantOp::create(b, DenseElementsAttr::get(type, asked));
  Value groups = asValue(b, o.extentOf(b, Dim::G));
  SmallVector<OpFoldResult> extents{
      counted, b.getIndexAttr(asked.size()),
      affineOf(b, b.getAffineDimExpr(0).ceilDiv(o.tiles.getQueries()), {o.extentOf(b, Dim::Q)})};
  return grid(b, extents, weights, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
    Value head = readIndex(b, heads, ids[1]);
    Value keyHead = arith::DivUIOp::create(b, head, groups), group = arith::RemUIOp::create(b, head, groups);
    QueryTile tile = queryTile(b, o, ids[0], keyHead, group, ids[2]);
    OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
    // Nothing is written behind the last dim, however many keys a caller says that a row has.
    tile.to = arith::MinSIOp::create(b, tile.to, asValue(b, extent(b, weights, 3)));
    SmallVector<OpFoldResult> offsets{tile.first, o.op.getLayer(), ids[1], zero},
        sizes{tile.size, one, one, extent(b, weights, 3)};
    Value result = weighTile(b, o, cache, tile, filled(b, 0, slice(b, dests[0], offsets, sizes)));
    return SmallVector<Insertion>{{result, offsets, sizes}};
  })[0];
}
