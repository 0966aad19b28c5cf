//===- Image.cpp - Images as rows of tokens ---------------------------------------------===//
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Conversion/AttnToLinalg/Patterns.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

namespace {

std::pair<Value, Value> divided(ImplicitLocOpBuilder &b, Value x, Value by) {
  return {arith::DivUIOp::create(b, x, by), arith::RemUIOp::create(b, x, by)};
}

Value plus(ImplicitLocOpBuilder &b, Value x, Value y) { return arith::AddIOp::create(b, x, y); }
Value times(ImplicitLocOpBuilder &b, Value x, Value y) { return arith::MulIOp::create(b, x, y); }

struct DecomposePatches : OpRewritePattern<attn::PatchesOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::PatchesOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value pixels = op.getPixels(), size = index(b, op.getSize());
    auto patchesOf = [&](int64_t dim) {
      return Value(arith::DivUIOp::create(b, asValue(b, extent(b, pixels, dim)), size));
    };
    Value height = patchesOf(2), width = patchesOf(3), images = asValue(b, extent(b, pixels, 0)),
          channels = asValue(b, extent(b, pixels, 1));
    OpFoldResult rows = times(b, images, times(b, height, width)),
                 columns = times(b, channels, index(b, op.getSize() * op.getSize()));
    rewriter.replaceOp(
        op, forEach(b, {}, emptyFor(b, op.getResult(), {rows, columns}), [&](ImplicitLocOpBuilder &b, ValueRange out) {
          auto [line, x] = divided(b, at(b, 0), width);
          auto [image, y] = divided(b, line, height);
          auto [down, j] = divided(b, at(b, 1), size);
          auto [channel, i] = divided(b, down, size);
          Value row = plus(b, times(b, y, size), i), column = plus(b, times(b, x, size), j);
          return rounded(b, read(b, pixels, {image, channel, row, column}), out[0].getType());
        }));
    return success();
  }
};

/// Keys' cubic convolution kernel at |t| of a point between two pixels.
Value cubic(ImplicitLocOpBuilder &b, Value t) {
  constexpr double a = -0.75;
  auto polynomial = [&](ArrayRef<double> coefficients) {
    Value y = number(b, coefficients.back());
    for (double c : llvm::reverse(coefficients.drop_back()))
      y = arith::AddFOp::create(b, arith::MulFOp::create(b, y, t), number(b, c));
    return y;
  };
  Value near = polynomial({1, 0, -(a + 3), a + 2}), far = polynomial({-4 * a, 8 * a, -5 * a, a});
  Value isNear = arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, t, number(b, 1));
  Value isFar = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, t, number(b, 2));
  return arith::SelectOp::create(b, isNear, near, arith::SelectOp::create(b, isFar, far, number(b, 0)));
}

/// Where the center of patch `at` of `count` is on an axis of `grid` rows: the row below, and how far behind it.
std::pair<Value, Value> centerOn(ImplicitLocOpBuilder &b, Value at, Value count, int64_t grid) {
  auto asFloat = [&](Value x) -> Value {
    return arith::SIToFPOp::create(b, b.getF32Type(), arith::IndexCastOp::create(b, b.getI64Type(), x));
  };
  Value half = number(b, 0.5), step = arith::DivFOp::create(b, number(b, static_cast<double>(grid)), asFloat(count));
  Value center = arith::MulFOp::create(b, arith::AddFOp::create(b, asFloat(at), half), step);
  center = arith::SubFOp::create(b, center, half);
  Value below = math::FloorOp::create(b, center);
  Value row = arith::IndexCastOp::create(b, b.getIndexType(), arith::FPToSIOp::create(b, b.getI64Type(), below));
  return {row, arith::SubFOp::create(b, center, below)};
}

struct DecomposeResizePositions : OpRewritePattern<attn::ResizePositionsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::ResizePositionsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value others = index(b, op.getOthers());
    OpFoldResult rows = plus(b, others, times(b, op.getHeight(), op.getWidth()));
    Value init = emptyFor(b, op.getResult(), {rows, extent(b, op.getTable(), 1)});
    rewriter.replaceOp(op, forEach(b, {}, init, [&](ImplicitLocOpBuilder &b, ValueRange out) {
                         Value isOther = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, at(b, 0), others);
                         Value own = read(b, op.getTable(), {within(b, at(b, 0), index(b, tableRows(op))), at(b, 1)});
                         Value number = arith::SelectOp::create(b, isOther, own, between(b, op, others));
                         return rounded(b, number, out[0].getType());
                       }));
    return success();
  }

  static int64_t tableRows(attn::ResizePositionsOp op) { return op.getTable().getType().getDimSize(0); }

  /// The sum over 4 x 4 neighbors.
  static Value between(ImplicitLocOpBuilder &b, attn::ResizePositionsOp op, Value others) {
    Value token = arith::MaxSIOp::create(b, arith::SubIOp::create(b, at(b, 0), others), index(b, 0));
    auto [y, x] = divided(b, token, op.getWidth());
    const int64_t rows = op.getGrid()[0], columns = op.getGrid()[1];
    auto [row, down] = centerOn(b, y, op.getHeight(), rows);
    auto [column, right] = centerOn(b, x, op.getWidth(), columns);
    auto weight = [&](Value fraction, int64_t tap) {
      return cubic(b, math::AbsFOp::create(b, arith::SubFOp::create(b, fraction, number(b, static_cast<double>(tap)))));
    };
    Value sum = number(b, 0);
    for (int64_t m = -1; m <= 2; ++m)
      for (int64_t n = -1; n <= 2; ++n) {
        Value r = within(b, plus(b, row, index(b, m)), index(b, rows)),
              c = within(b, plus(b, column, index(b, n)), index(b, columns));
        Value position = plus(b, others, plus(b, times(b, r, index(b, columns)), c));
        Value factor = arith::MulFOp::create(b, weight(down, m), weight(right, n));
        Value element = read(b, op.getTable(), {position, at(b, 1)});
        sum = arith::AddFOp::create(b, sum, arith::MulFOp::create(b, factor, element));
      }
    return sum;
  }
};

struct DecomposeImageTokens : OpRewritePattern<attn::ImageTokensOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::ImageTokensOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value patches = op.getPatches(), learned = op.getLearned(), positions = op.getPositions();
    Value first = asValue(b, extent(b, learned, 0)), tokens = asValue(b, extent(b, positions, 0)),
          all = asValue(b, extent(b, patches, 0));
    Value each = arith::SubIOp::create(b, tokens, first);
    OpFoldResult rows = times(b, arith::DivUIOp::create(b, all, each), tokens);
    Value init = emptyFor(b, op.getResult(), {rows, extent(b, patches, 1)});
    const bool hasLearned = cast<RankedTensorType>(learned.getType()).getDimSize(0) != 0;
    rewriter.replaceOp(op, forEach(b, {}, init, [&](ImplicitLocOpBuilder &b, ValueRange out) -> Value {
                         auto [image, i] = divided(b, at(b, 0), tokens);
                         Value column = at(b, 1), nth = arith::SubIOp::create(b, i, first);
                         Value patch = within(b, plus(b, times(b, image, each), nth), all);
                         Value x = read(b, patches, {patch, column});
                         if (hasLearned) {
                           Value isLearned = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, i, first);
                           Value own = read(b, learned, {within(b, i, first), column});
                           x = arith::SelectOp::create(b, isLearned, own, x);
                         }
                         x = arith::AddFOp::create(b, read(b, positions, {i, column}), x);
                         return rounded(b, x, out[0].getType());
                       }));
    return success();
  }
};

struct DecomposeEqualRows : OpRewritePattern<attn::EqualRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::EqualRowsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value init = emptyFor(b, op.getResult(), {OpFoldResult(plus(b, op.getRows(), index(b, 1)))});
    rewriter.replaceOp(op, forEach(b, {}, init, [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
                         return arith::IndexCastOp::create(b, b.getI32Type(), times(b, at(b, 0), op.getLength()));
                       }));
    return success();
  }
};

} // namespace

void neutral::populateImage(RewritePatternSet &patterns) {
  patterns.add<DecomposePatches, DecomposeResizePositions, DecomposeImageTokens, DecomposeEqualRows>(
      patterns.getContext());
}
