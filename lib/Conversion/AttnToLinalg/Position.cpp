//===- Position.cpp - Positions, sinusoids, rotary embedding ----------------------------===//
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Conversion/AttnToLinalg/Patterns.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <numbers>

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

namespace {

/// Row after row writes the positions of its tokens; those of no row are 0.
struct DecomposePositions : OpRewritePattern<attn::PositionsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::PositionsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value zeros = filled(b, 0, emptyFor(b, op.getResult(), {extent(b, op.getTokens(), 0)}));
    rewriter.replaceOp(op, fillPositions(b, op, zeros));
    return success();
  }
};

/// Revolutions of position * frequency in two floats each, so that what is left after the whole turns is right to a
/// float's precision for any position that a float holds.
struct Turns {
  Value high, low; ///< [columns], frequency / 2 pi

  Turns(ImplicitLocOpBuilder &b, ArrayRef<float> frequencies) {
    SmallVector<float> highs, lows;
    for (float frequency : frequencies) {
      double turns = frequency / (2 * std::numbers::pi);
      highs.push_back(static_cast<float>(turns));
      lows.push_back(static_cast<float>(turns - highs.back()));
    }
    auto type = RankedTensorType::get({int64_t(frequencies.size())}, b.getF32Type());
    high = arith::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef(highs)));
    low = arith::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef(lows)));
  }

  /// The angle of a position (i32) without whole turns.
  static Value angle(ImplicitLocOpBuilder &b, Value position, Value high, Value low) {
    Value p = arith::SIToFPOp::create(b, b.getF32Type(), position);
    Value turns = arith::MulFOp::create(b, p, high);
    Value rest = math::FmaOp::create(b, p, high, arith::NegFOp::create(b, turns));
    rest = math::FmaOp::create(b, p, low, rest);
    Value part = arith::SubFOp::create(b, turns, math::RoundEvenOp::create(b, turns));
    return arith::MulFOp::create(b, arith::AddFOp::create(b, part, rest), number(b, 2 * std::numbers::pi));
  }
};

struct DecomposeSinusoids : OpRewritePattern<attn::SinusoidsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::SinusoidsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<float> frequencies(op.getFrequencies());
    const int64_t width = op.getResult().getType().getDimSize(1), counted = frequencies.size();
    frequencies.resize(width);
    Turns turns(b, frequencies);
    Value init = emptyFor(b, op.getResult(), {extent(b, op.getPositions(), 0), b.getIndexAttr(width)});
    SmallVector<AffineMap> maps{mapOf(b, 2, {0}), mapOf(b, 2, {1}), mapOf(b, 2, {1}), b.getMultiDimIdentityMap(2)};
    auto body = [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
      Value position = x[0], column = at(b, 1);
      if (op.getFirst())
        position = arith::AddIOp::create(b, position,
                                         arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(*op.getFirst()))));
      Value angle = Turns::angle(b, position, x[1], x[2]), isCosine;
      if (op.getHalves())
        isCosine = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, column, index(b, counted / 2));
      else
        isCosine = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, arith::RemUIOp::create(b, column, index(b, 2)),
                                         index(b, 0));
      Value counts = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, column, index(b, counted));
      Value y = arith::SelectOp::create(b, isCosine, math::CosOp::create(b, angle), math::SinOp::create(b, angle));
      return rounded(b, arith::SelectOp::create(b, counts, y, number(b, 0)), x.back().getType());
    };
    rewriter.replaceOp(
        op, generic(b, {op.getPositions(), turns.high, turns.low}, init, maps, {Loop::Parallel, Loop::Parallel}, body));
    return success();
  }
};

struct DecomposeRotaryTable : OpRewritePattern<attn::RotaryTableOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::RotaryTableOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Turns turns(b, op.getFrequencies());
    OpFoldResult tokens = extent(b, op.getPositions(), 0), columns = b.getIndexAttr(op.getFrequencies().size());
    SmallVector<Value> inits{emptyFor(b, op.getCosines(), {tokens, columns}),
                             emptyFor(b, op.getSines(), {tokens, columns})};
    AffineMap both = b.getMultiDimIdentityMap(2), token = mapOf(b, 2, {0}), column = mapOf(b, 2, {1});
    SmallVector<Value> inputs{op.getPositions(), turns.high, turns.low};
    SmallVector<AffineMap> maps{token, column, column};
    if (op.getLengths()) {
      Turns longer(b, *op.getLongFrequencies());
      inputs.append({op.getLengths(), longer.high, longer.low});
      maps.append({token, column, column});
    }
    maps.append(2, both);
    Value magnitude = number(b, op.getMagnitude().convertToFloat());
    auto body = [&](ImplicitLocOpBuilder &b, ValueRange x) -> SmallVector<Value> {
      Value high = x[1], low = x[2];
      if (op.getLengths()) {
        Value bound = arith::ConstantOp::create(b, op.getBoundAttr());
        Value isLong = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, x[3], bound);
        high = arith::SelectOp::create(b, isLong, x[4], high);
        low = arith::SelectOp::create(b, isLong, x[5], low);
      }
      Value angle = Turns::angle(b, x[0], high, low);
      Value cosine = arith::MulFOp::create(b, math::CosOp::create(b, angle), magnitude),
            sine = arith::MulFOp::create(b, math::SinOp::create(b, angle), magnitude);
      Type type = x.back().getType();
      return {rounded(b, cosine, type), rounded(b, sine, type)};
    };
    rewriter.replaceOp(op, generic(b, inputs, inits, maps, {Loop::Parallel, Loop::Parallel}, body));
    return success();
  }
};

/// Each element from itself and the other of its pair.
struct DecomposeRope : OpRewritePattern<attn::RopeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::RopeOp op, PatternRewriter &rewriter) const override {
    const int64_t pairs = cast<RankedTensorType>(op.getCosines().getType()).getDimSize(1);
    if (pairs == 0 || op.getHeads() == 0) {
      rewriter.replaceOp(op, op.getInput());
      return success();
    }
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value init = emptyFor(b, op.getResult(), extents(b, op.getInput()));
    rewriter.replaceOp(op, forEach(b, {op.getInput()}, init, [&](ImplicitLocOpBuilder &b, ValueRange x) {
                         return element(b, op, pairs, widened(b, x[0]), x.back().getType());
                       }));
    return success();
  }

  static Value element(ImplicitLocOpBuilder &b, attn::RopeOp op, int64_t pairs, Value x, Type type) {
    Value token = at(b, 0), head = at(b, 1), channel = at(b, 2);
    using arith::CmpIPredicate;
    Value rotates = arith::CmpIOp::create(b, CmpIPredicate::ult, channel, index(b, 2 * pairs));
    if (op.getHeads())
      rotates = arith::AndIOp::create(b, rotates,
                                      arith::CmpIOp::create(b, CmpIPredicate::ult, head, index(b, *op.getHeads())));
    // Channels that pass look at pair 0, whose result nobody takes.
    Value place = arith::SelectOp::create(b, rotates, channel, index(b, 0)), pair, isSecond, other;
    if (op.getInterleaved()) {
      pair = arith::DivUIOp::create(b, place, index(b, 2));
      isSecond =
          arith::CmpIOp::create(b, CmpIPredicate::ne, arith::RemUIOp::create(b, place, index(b, 2)), index(b, 0));
    } else {
      pair = arith::RemUIOp::create(b, place, index(b, pairs));
      isSecond = arith::CmpIOp::create(b, CmpIPredicate::uge, place, index(b, pairs));
    }
    Value apart = index(b, op.getInterleaved() ? 1 : pairs);
    other = arith::SelectOp::create(b, isSecond, arith::SubIOp::create(b, place, apart),
                                    arith::AddIOp::create(b, place, apart));
    Value cosine = read(b, op.getCosines(), {token, pair}), sine = read(b, op.getSines(), {token, pair});
    Value partner = arith::MulFOp::create(b, read(b, op.getInput(), {token, head, other}), sine);
    Value own = arith::MulFOp::create(b, x, cosine);
    Value y = arith::SelectOp::create(b, isSecond, arith::AddFOp::create(b, own, partner),
                                      arith::SubFOp::create(b, own, partner));
    return rounded(b, arith::SelectOp::create(b, rotates, y, x), type);
  }
};

} // namespace

void neutral::populatePosition(RewritePatternSet &patterns) {
  patterns.add<DecomposePositions, DecomposeSinusoids, DecomposeRotaryTable, DecomposeRope>(patterns.getContext());
}
