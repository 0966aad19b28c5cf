//===- OnlineSoftmax.cpp - Scores of a tile, and the state of online softmax --------------===//
//
// Scores that do not count are told apart, not made -infinity: a value behind one is never
// used, be it NaN (A9). The maximum starts from the lowest finite number (A13).
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/AttnToLinalg/OnlineSoftmax.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

ScoreTile ScoreTile::of(attn::AttentionStateOp op) {
  ScoreTile tile{.query = op.getQuery(), .key = op.getKey(), .scale = op.getScale()};
  tile.b = op.getB(), tile.h = op.getH(), tile.q = op.getQ(), tile.kv = op.getKv();
  tile.extras.assign(op.getExtras().begin(), op.getExtras().end());
  for (unsigned i = 0; i < tile.extras.size(); ++i)
    tile.extraMaps.push_back(op.getExtraMap(i));
  tile.additive = op.getAdditive(), tile.score = &op.getScore(), tile.mask = &op.getMask();
  return tile;
}

bool ScoreTile::isTable(unsigned extra) const {
  return extraMaps[extra].getNumResults() == 0 && cast<RankedTensorType>(extras[extra].getType()).getRank() != 0;
}

/// Keys in f32, [channels, keys].
static Value transposed(ImplicitLocOpBuilder &b, Value keys) {
  SmallVector<OpFoldResult> shape{extent(b, keys, 1), extent(b, keys, 0)};
  return generic(b, {keys}, emptyOf(b, shape, b.getF32Type()), {mapOf(b, 2, {1, 0}), b.getMultiDimIdentityMap(2)},
                 {Loop::Parallel, Loop::Parallel},
                 [](ImplicitLocOpBuilder &b, ValueRange x) { return widened(b, x[0]); });
}

/// query . key, or v . tanh(query + key), [queries, keys] (A6).
static Value similarities(ImplicitLocOpBuilder &b, const ScoreTile &tile, OFRs shape) {
  SmallVector<Value> inputs{tile.query, tile.key};
  SmallVector<AffineMap> maps{mapOf(b, 3, {0, 2}), mapOf(b, 3, {1, 2})};
  if (tile.additive) {
    inputs.push_back(tile.additive);
    maps.push_back(mapOf(b, 3, {2}));
  }
  maps.push_back(mapOf(b, 3, {0, 1}));
  SmallVector<Loop> loops{Loop::Parallel, Loop::Parallel, Loop::Reduction};
  // Keys by channels: the innermost loop is over keys then, which are contiguous, and sums stay in one order.
  if (isa<Attribute>(extent(b, tile.query, 1))) {
    inputs[1] = transposed(b, tile.key);
    for (AffineMap &map : maps)
      map = map.compose(mapOf(b, 3, {0, 2, 1}));
    maps[1] = mapOf(b, 3, {1, 2});
    std::swap(loops[1], loops[2]);
  }
  return generic(b, inputs, filled(b, 0, emptyOf(b, shape, b.getF32Type())), maps, loops,
                 [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                   Value q = widened(b, x[0]), k = widened(b, x[1]), term;
                   if (tile.additive)
                     term = arith::MulFOp::create(b, widened(b, x[2]),
                                                  math::TanhOp::create(b, arith::AddFOp::create(b, q, k)));
                   else
                     term = arith::MulFOp::create(b, q, k);
                   return arith::AddFOp::create(b, x.back(), term);
                 });
}

Scores neutral::scoresOf(ImplicitLocOpBuilder &b, const ScoreTile &tile) {
  SmallVector<OpFoldResult> shape{extent(b, tile.query, 0), extent(b, tile.key, 0)};
  SmallVector<Value> inputs{similarities(b, tile, shape)}, inits{emptyOf(b, shape, b.getF32Type())};
  AffineMap both = b.getMultiDimIdentityMap(2);
  SmallVector<AffineMap> maps{both};
  for (unsigned i = 0; i < tile.extras.size(); ++i)
    if (!tile.isTable(i)) {
      inputs.push_back(tile.extras[i]);
      maps.push_back(tile.extraMaps[i]);
    }
  maps.push_back(both);
  const bool isMasked = !tile.mask->empty();
  if (isMasked) {
    inits.push_back(emptyOf(b, shape, b.getI8Type()));
    maps.push_back(both);
  }
  SmallVector<Value> results =
      generic(b, inputs, inits, maps, {Loop::Parallel, Loop::Parallel}, [&](ImplicitLocOpBuilder &b, ValueRange x) {
        SmallVector<Value> arguments{tile.b, tile.h, arith::AddIOp::create(b, tile.q, at(b, 0)),
                                     arith::AddIOp::create(b, tile.kv, at(b, 1))};
        unsigned next = 1;
        for (unsigned i = 0; i < tile.extras.size(); ++i)
          arguments.push_back(tile.isTable(i) ? tile.extras[i] : x[next++]);
        SmallVector<Value> made{arith::MulFOp::create(b, x[0], tile.scale)}; // then the score, then the mask (A8)
        if (!tile.score->empty()) {
          SmallVector<Value> all{made[0]};
          llvm::append_range(all, arguments);
          made[0] = inlineRegion(b, *tile.score, all);
        }
        if (isMasked)
          made.push_back(arith::ExtUIOp::create(b, b.getI8Type(), inlineRegion(b, *tile.mask, arguments)));
        return made;
      });
  return {results[0], isMasked ? results[1] : Value(), shape};
}

static Value isKept(ImplicitLocOpBuilder &b, Value kept) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, kept, arith::ConstantOp::create(b, b.getI8IntegerAttr(0)));
}

Softmax neutral::advance(ImplicitLocOpBuilder &b, const Scores &scores, Value maximum, Value sum) {
  AffineMap both = b.getMultiDimIdentityMap(2), row = mapOf(b, 2, {0});
  SmallVector<Value> inputs{scores.scores};
  if (scores.kept)
    inputs.push_back(scores.kept);
  SmallVector<AffineMap> maps(inputs.size(), both), reduced(maps), whole(maps);
  reduced.push_back(row);
  OpFoldResult queries = scores.shape[0];
  Value ofBlock = generic(b, inputs, lowest(b, queries), reduced, {Loop::Parallel, Loop::Reduction},
                          [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                            Value score = x[0];
                            if (scores.kept)
                              score = arith::SelectOp::create(b, isKept(b, x[1]), score,
                                                              number(b, std::numeric_limits<float>::lowest()));
                            return arith::MaxNumFOp::create(b, x.back(), score);
                          });
  Softmax result;
  auto largerOf = [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
    return arith::MaxNumFOp::create(b, x[0], x[1]);
  };
  Value largest = forEach(b, {ofBlock, maximum}, emptyOf(b, {queries}, b.getF32Type()), largerOf);
  result.decay = forEach(b, {maximum, largest}, emptyOf(b, {queries}, b.getF32Type()),
                         [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                           return math::ExpOp::create(b, arith::SubFOp::create(b, x[0], x[1]));
                         });
  inputs.push_back(largest);
  whole.push_back(row);
  whole.push_back(both);
  Value init = emptyOf(b, scores.shape, b.getF32Type());
  result.probabilities =
      generic(b, inputs, init, whole, {Loop::Parallel, Loop::Parallel}, [&](ImplicitLocOpBuilder &b, ValueRange x) {
        Value p = math::ExpOp::create(b, arith::SubFOp::create(b, x[0], x[scores.kept ? 2 : 1]));
        return scores.kept ? Value(arith::SelectOp::create(b, isKept(b, x[1]), p, number(b, -1))) : p;
      });
  Value ofBlockSum =
      generic(b, {result.probabilities}, zeros(b, queries), {both, row}, {Loop::Parallel, Loop::Reduction},
              [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                Value isOut = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x[0], number(b, 0));
                return arith::AddFOp::create(b, x[1], arith::SelectOp::create(b, isOut, number(b, 0), x[0]));
              });
  result.sum = forEach(b, {result.decay, ofBlockSum}, sum, [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
    return arith::AddFOp::create(b, arith::MulFOp::create(b, x[2], x[0]), x[1]);
  });
  // The running max is overwritten last, when all of the above has read it; by the same arithmetic, as a copy would
  // fold.
  result.maximum = forEach(b, {ofBlock}, maximum, largerOf);
  return result;
}

Value neutral::lowest(ImplicitLocOpBuilder &b, OpFoldResult queries) {
  return filled(b, std::numeric_limits<float>::lowest(), emptyOf(b, {queries}, b.getF32Type()));
}

Value neutral::zeros(ImplicitLocOpBuilder &b, OpFoldResult queries) {
  return filled(b, 0, emptyOf(b, {queries}, b.getF32Type()));
}
