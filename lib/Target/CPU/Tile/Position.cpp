//===- Position.cpp - Tiles positions, sinusoids and rotary embeddings ------------------===//
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Schedule/Fusions.h"
#include "lib/Target/CPU/Tile/Rotation.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/Target/CPU/Tile/Tiling.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <numbers>

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;

namespace {

/// Positions are a few integers: two nested loops, not a grid.
struct TilePositions : OpRewritePattern<attn::PositionsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::PositionsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    OpFoldResult tokens = extent(b, op.getTokens(), 0);
    Value dest = empty(b, cast<RankedTensorType>(op.getResult().getType()), {tokens});
    if (!coverAllRows(op.getRowBegin())) {
      Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0)), rest = restOf(b, op.getRowBegin());
      dest = loop(b, rest, asValue(b, tokens), 1, dest, [&](ImplicitLocOpBuilder &b, Value t, Value carried) -> Value {
        return tensor::InsertOp::create(b, zero, carried, t);
      });
    }
    rewriter.replaceOp(op, fillPositions(b, op, dest));
    return success();
  }
};

/// Cosines and sines of position * frequency. The angle is computed in revolutions and reduced to a fraction of a
/// revolution. frequency / (2 pi) and the angle are two floats each, so that the fraction has the precision of a float
/// for any position that a float holds.
///
/// `other`: frequencies that count where `isOther` is true.
std::pair<Value, Value> cosineAndSine(ImplicitLocOpBuilder &b, Value position, ArrayRef<float> frequencies,
                                      Value isOther = {}, ArrayRef<float> other = {}) {
  auto type = VectorType::get({int64_t(frequencies.size())}, b.getF32Type());
  auto constant = [&](ArrayRef<float> values) -> Value {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, values));
  };
  auto split = [&](ArrayRef<float> of) -> std::array<Value, 2> {
    SmallVector<float> high, low;
    for (float frequency : of) {
      double revolutions = frequency / (2 * std::numbers::pi);
      high.push_back(revolutions);
      low.push_back(revolutions - high.back());
    }
    return {constant(high), constant(low)};
  };
  auto [factor, low] = split(frequencies);
  if (isOther) {
    auto [otherFactor, otherLow] = split(other);
    factor = arith::SelectOp::create(b, isOther, otherFactor, factor);
    low = arith::SelectOp::create(b, isOther, otherLow, low);
  }
  Value p = vector::BroadcastOp::create(b, type, position);
  Value revolutions = arith::MulFOp::create(b, p, factor);
  Value rest = math::FmaOp::create(b, p, factor, arith::NegFOp::create(b, revolutions));
  rest = math::FmaOp::create(b, p, low, rest);
  Value part = arith::SubFOp::create(b, revolutions, math::RoundEvenOp::create(b, revolutions));
  part = arith::AddFOp::create(b, part, rest);
  Value angle = arith::MulFOp::create(b, part, constant({float(2 * std::numbers::pi)}));
  return {math::CosOp::create(b, angle), math::SinOp::create(b, angle)};
}

Value readPosition(ImplicitLocOpBuilder &b, Value positions, Value token, int64_t first = 0) {
  Value position = tensor::ExtractOp::create(b, positions, token);
  if (first != 0)
    position = arith::AddIOp::create(b, position, arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(first))));
  return arith::SIToFPOp::create(b, b.getF32Type(), position);
}

/// A grid over tokens; padding is the sine of frequency 0.
struct TileSinusoids : OpRewritePattern<attn::SinusoidsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::SinusoidsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    int64_t width = type.getDimSize(1), count = op.getFrequencies().size();
    OpFoldResult tokens = extent(b, op.getPositions(), 0), columns = b.getIndexAttr(width);
    Value dest = empty(b, type, {tokens, columns});
    SmallVector<Value> results = grid(b, {tokens}, dest, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange outs) {
      SmallVector<OpFoldResult> offsets{ids[0], b.getIndexAttr(0)}, sizes{b.getIndexAttr(1), columns};
      Value out = extract(b, outs[0], offsets, sizes, {width});
      Value position = readPosition(b, op.getPositions(), ids[0], op.getFirst().value_or(0));
      forChunks(width, attn_cpu::kPanel, [&](int64_t first, int64_t size) {
        SmallVector<float> frequencies(size, 0);
        SmallVector<int64_t> chosen;
        for (int64_t i = 0; i < size; ++i) {
          bool counts = first + i < count;
          frequencies[i] = counts ? op.getFrequencies()[first + i] : 0;
          chosen.push_back(counts && op.isCosine(first + i) ? size + i : i);
        }
        auto [cosines, sines] = cosineAndSine(b, position, frequencies);
        out = writeChunk(b, vector::ShuffleOp::create(b, sines, cosines, chosen), out, index(b, first));
      });
      return SmallVector<Insertion>{{out, offsets, sizes}};
    });
    rewriter.replaceOp(op, results);
    return success();
  }
};

struct TileRotaryTable : OpRewritePattern<attn::RotaryTableOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::RotaryTableOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getCosines().getType());
    int64_t count = type.getDimSize(1);
    OpFoldResult tokens = extent(b, op.getPositions(), 0), columns = b.getIndexAttr(count);
    SmallVector<Value> dests{empty(b, type, {tokens, columns}), empty(b, type, {tokens, columns})};
    SmallVector<Value> results =
        grid(b, {tokens}, dests, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange outs) {
          SmallVector<OpFoldResult> offsets{ids[0], b.getIndexAttr(0)}, sizes{b.getIndexAttr(1), columns};
          Value cosines = extract(b, outs[0], offsets, sizes, {count}),
                sines = extract(b, outs[1], offsets, sizes, {count});
          Value position = readPosition(b, op.getPositions(), ids[0]), isLong;
          if (op.getLengths())
            isLong = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt,
                                           tensor::ExtractOp::create(b, op.getLengths(), ids[0]),
                                           arith::ConstantOp::create(b, op.getBoundAttr()));
          forChunks(count, attn_cpu::kPanel, [&](int64_t first, int64_t size) {
            ArrayRef<float> longer = isLong ? op.getLongFrequencies()->slice(first, size) : ArrayRef<float>();
            auto [c, s] = cosineAndSine(b, position, op.getFrequencies().slice(first, size), isLong, longer);
            auto scaled = [&](Value x) -> Value {
              auto magnitude = b.getF32FloatAttr(op.getMagnitude().convertToFloat());
              auto vector = cast<VectorType>(x.getType());
              return arith::MulFOp::create(
                  b, x, arith::ConstantOp::create(b, SplatElementsAttr::get(vector, Attribute(magnitude))));
            };
            cosines = writeChunk(b, scaled(c), cosines, index(b, first));
            sines = writeChunk(b, scaled(s), sines, index(b, first));
          });
          return SmallVector<Insertion>{{cosines, offsets, sizes}, {sines, offsets, sizes}};
        });
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// A grid over tokens; a task loads the cosines and sines once for all heads.
struct TileRope : OpRewritePattern<attn::RopeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::RopeOp op, PatternRewriter &rewriter) const override {
    if (cpu::isFused(op)) { // the matmul has rotated its heads
      rewriter.replaceOp(op, op.getInput());
      return success();
    }
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getInput().getType());
    OpFoldResult tokens = extent(b, op.getInput(), 0), heads = extent(b, op.getInput(), 1), one = b.getIndexAttr(1),
                 zero = b.getIndexAttr(0), channels = b.getIndexAttr(type.getDimSize(2));
    Value dest = empty(b, type, {tokens, heads, channels});
    SmallVector<Value> results = grid(b, {tokens}, dest, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange outs) {
      SmallVector<OpFoldResult> offsets{ids[0], zero, zero}, sizes{one, heads, channels};
      Value out = extract(b, outs[0], offsets, sizes, type.getShape().drop_front());
      auto from = [&](Value head, OpFoldResult first) { return SmallVector<Value>{ids[0], head, asValue(b, first)}; };
      auto to = [&](Value head, OpFoldResult first) { return SmallVector<Value>{head, asValue(b, first)}; };
      Value count = asValue(b, heads), rotated = op.getHeads() ? index(b, *op.getHeads()) : count;
      out = rotateHeads(b, op, ids[0], rotated, op.getInput(), from, out, to);
      // Channels and heads that are not rotated.
      const int64_t pairs = 2 * cast<RankedTensorType>(op.getCosines().getType()).getDimSize(1);
      out = copyHeads(b, pairs, type.getDimSize(2), index(b, 0), rotated, op.getInput(), from, out, to);
      if (op.getHeads())
        out = copyHeads(b, 0, type.getDimSize(2), rotated, count, op.getInput(), from, out, to);
      return SmallVector<Insertion>{{out, offsets, sizes}};
    });
    rewriter.replaceOp(op, results);
    return success();
  }

  /// Copies channels [first, last) of heads [begin, end).
  static Value copyHeads(ImplicitLocOpBuilder &b, int64_t first, int64_t last, Value begin, Value end, Value source,
                         HeadPlace from, Value out, HeadPlace to) {
    auto body = [&](ImplicitLocOpBuilder &b, OpFoldResult nth, int64_t size, Value result) {
      OpFoldResult at = affineOf(b, b.getAffineDimExpr(0) + first, {nth});
      return loop(b, begin, end, 1, result, [&](ImplicitLocOpBuilder &b, Value head, Value carried) {
        return writeChunk(b, readChunk(b, source, from(head, at), size), carried, to(head, at));
      });
    };
    return overChunks(b, last - first, attn_cpu::kPanel, out, body);
  }
};

} // namespace

void rapt::populatePositionTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TilePositions, TileSinusoids, TileRotaryTable, TileRope>(patterns.getContext());
}
