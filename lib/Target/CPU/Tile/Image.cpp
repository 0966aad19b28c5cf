//===- Image.cpp - Tiles the ops on images ----------------------------------------------===//
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/Target/CPU/Tile/Tiling.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn_cpu::kPanel;

namespace {

Value times(ImplicitLocOpBuilder &b, Value x, Value y) { return arith::MulIOp::create(b, x, y); }
Value sum(ImplicitLocOpBuilder &b, Value x, Value y) { return arith::AddIOp::create(b, x, y); }
Value difference(ImplicitLocOpBuilder &b, Value x, Value y) { return arith::SubIOp::create(b, x, y); }
/// Quotient and remainder of nonnegative numbers.
Value quotient(ImplicitLocOpBuilder &b, Value x, Value y) { return arith::DivUIOp::create(b, x, y); }
Value remainder(ImplicitLocOpBuilder &b, Value x, Value y) { return arith::RemUIOp::create(b, x, y); }

/// A grid over patches; a task copies the lines of its patch.
struct TilePatches : OpRewritePattern<attn::PatchesOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::PatchesOp op, PatternRewriter &rewriter) const override {
    if (!fillsPanels(op.getResult()))
      return refuseColumns(rewriter, op, op.getResult());
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value size = index(b, op.getSize());
    Value down = quotient(b, asValue(b, extent(b, op.getPixels(), 2)), size);
    Value across = quotient(b, asValue(b, extent(b, op.getPixels(), 3)), size);
    Value each = times(b, down, across);
    Value rows = times(b, asValue(b, extent(b, op.getPixels(), 0)), each);
    Value dest = destination(
        b, op.getResult(),
        {OpFoldResult(rows), b.getIndexAttr(cast<RankedTensorType>(op.getResult().getType()).getDimSize(1))});
    rewriter.replaceOp(op, rowGrid(b, dest, [&](ImplicitLocOpBuilder &b, Value row, Value line) {
                         Value patch = remainder(b, row, each);
                         Value image = quotient(b, row, each);
                         Value y = times(b, quotient(b, patch, across), size);
                         Value x = times(b, remainder(b, patch, across), size);
                         return copyPatch(b, op, image, y, x, line);
                       }));
    return success();
  }

  /// Writes the patch whose first pixel is (y, x) to `line`, and zeros behind it.
  static Value copyPatch(ImplicitLocOpBuilder &b, attn::PatchesOp op, Value image, Value y, Value x, Value line) {
    int64_t size = op.getSize(), channels = cast<RankedTensorType>(op.getPixels().getType()).getDimSize(1);
    int64_t columns = cast<RankedTensorType>(line.getType()).getDimSize(0), lanes = std::min(size, kPanel);
    while (size % lanes != 0)
      --lanes;
    if (columns != channels * size * size) {
      Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(VectorType::get({kPanel}, b.getF32Type())));
      line = writePanel(b, zeros, line, index(b, columns - kPanel));
    }
    auto type = VectorType::get({lanes}, b.getF32Type());
    Value zero = index(b, 0), extent = index(b, size), padding = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    auto copyLine = [&](ImplicitLocOpBuilder &b, Value channel, Value i, Value carried) {
      Value first = times(b, sum(b, times(b, channel, extent), i), extent), row = sum(b, y, i);
      return loop(b, zero, extent, lanes, carried, [&](ImplicitLocOpBuilder &b, Value j, Value inner) -> Value {
        Value pixels = vector::TransferReadOp::create(
            b, type, op.getPixels(), ValueRange{image, channel, row, sum(b, x, j)}, padding, ArrayRef<bool>{true});
        return vector::TransferWriteOp::create(b, pixels, inner, ValueRange{sum(b, first, j)}, ArrayRef<bool>{true})
            .getResult();
      });
    };
    return loop(b, zero, index(b, channels), 1, line, [&](ImplicitLocOpBuilder &b, Value channel, Value carried) {
      return loop(b, zero, extent, 1, carried,
                  [&](ImplicitLocOpBuilder &b, Value i, Value inner) { return copyLine(b, channel, i, inner); });
    });
  }
};

/// The rows of one axis of the table's grid that a position interpolates, and their weights.
struct Taps {
  Value index[4], weight[4];
};

struct TileResizePositions : OpRewritePattern<attn::ResizePositionsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::ResizePositionsOp op, PatternRewriter &rewriter) const override {
    if (!fillsPanels(op.getResult()))
      return refuseColumns(rewriter, op, op.getResult());
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    Value others = index(b, op.getOthers());
    Value rows = sum(b, times(b, op.getHeight(), op.getWidth()), others);
    Value dest = empty(b, type, {OpFoldResult(rows), b.getIndexAttr(type.getDimSize(1))});
    rewriter.replaceOp(op, rowGrid(b, dest, [&](ImplicitLocOpBuilder &b, Value row, Value line) {
                         return mix(b, op, row, others, line);
                       }));
    return success();
  }

  /// Row `row` of the result, interpolated from 16 rows of the table, or a copy of one row.
  static Value mix(ImplicitLocOpBuilder &b, attn::ResizePositionsOp op, Value row, Value others, Value line) {
    Value isOther = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, others);
    Value position = arith::MaxSIOp::create(b, difference(b, row, others), index(b, 0));
    Taps down = findTaps(b, quotient(b, position, op.getWidth()), op.getHeight(), op.getGrid()[0]);
    Taps across = findTaps(b, remainder(b, position, op.getWidth()), op.getWidth(), op.getGrid()[1]);
    SmallVector<std::pair<Value, Value>> parts; // row of the table, broadcast weight
    Value width = index(b, op.getGrid()[1]);
    for (unsigned m = 0; m < 4; ++m)
      for (unsigned n = 0; n < 4; ++n) {
        Value from = sum(b, sum(b, times(b, down.index[m], width), across.index[n]), others);
        Value weight = arith::MulFOp::create(b, down.weight[m], across.weight[n]);
        Value alone = arith::ConstantOp::create(b, b.getF32FloatAttr(m == 1 && n == 1 ? 1 : 0));
        parts.push_back({arith::SelectOp::create(b, isOther, row, from),
                         splat(b, arith::SelectOp::create(b, isOther, alone, weight))});
      }
    int64_t columns = cast<RankedTensorType>(line.getType()).getDimSize(0);
    return forPanels(b, columns, line, [&](ImplicitLocOpBuilder &b, Value column, Value) {
      Value total;
      for (auto [from, weight] : parts) {
        Value part = arith::MulFOp::create(b, readPanel(b, op.getTable(), {from, column}), weight);
        total = total ? arith::AddFOp::create(b, total, part) : part;
      }
      return total;
    });
  }

  /// ((c[0] x + c[1]) x + c[2]) x + c[3]
  static Value cubic(ImplicitLocOpBuilder &b, std::array<float, 4> c, Value x) {
    Value value = arith::ConstantOp::create(b, b.getF32FloatAttr(c[0]));
    for (float next : llvm::drop_begin(c))
      value = arith::AddFOp::create(b, arith::MulFOp::create(b, value, x),
                                    arith::ConstantOp::create(b, b.getF32FloatAttr(next)));
    return value;
  }

  static Value toFloat(ImplicitLocOpBuilder &b, Value number) {
    return arith::SIToFPOp::create(b, b.getF32Type(), arith::IndexCastOp::create(b, b.getI32Type(), number));
  }

  /// For position `at` of `positions` along an axis of the table with `extent` rows.
  static Taps findTaps(ImplicitLocOpBuilder &b, Value at, Value positions, int64_t extent) {
    constexpr float a = -0.75f;
    constexpr std::array<float, 4> near{a + 2, -(a + 3), 0, 1}, far{a, -5 * a, 8 * a, -4 * a};
    auto f32 = [&](float value) -> Value { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)); };
    Value scale = arith::DivFOp::create(b, f32(float(extent)), toFloat(b, positions));
    Value position = arith::SubFOp::create(
        b, arith::MulFOp::create(b, arith::AddFOp::create(b, toFloat(b, at), f32(0.5)), scale), f32(0.5));
    // The position is above -1: the cast of the position + 1, which is positive, rounds down.
    Value above = arith::FPToSIOp::create(b, b.getI32Type(), arith::AddFOp::create(b, position, f32(1)));
    Value below = difference(b, arith::IndexCastOp::create(b, b.getIndexType(), above), index(b, 1));
    Value t = arith::SubFOp::create(b, position, toFloat(b, below));
    Value distance[] = {arith::AddFOp::create(b, t, f32(1)), t, arith::SubFOp::create(b, f32(1), t),
                        arith::SubFOp::create(b, f32(2), t)};
    Taps taps;
    for (int m = 0; m < 4; ++m) {
      Value index = sum(b, below, tile::index(b, m - 1));
      index =
          arith::MaxSIOp::create(b, arith::MinSIOp::create(b, index, tile::index(b, extent - 1)), tile::index(b, 0));
      taps.index[m] = index;
      taps.weight[m] = cubic(b, m == 1 || m == 2 ? near : far, distance[m]);
    }
    return taps;
  }
};

struct TileImageTokens : OpRewritePattern<attn::ImageTokensOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::ImageTokensOp op, PatternRewriter &rewriter) const override {
    if (!fillsPanels(op.getResult()))
      return refuseColumns(rewriter, op, op.getResult());
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    int64_t first = cast<RankedTensorType>(op.getLearned().getType()).getDimSize(0);
    Value learned = index(b, first), tokens = asValue(b, extent(b, op.getPositions(), 0));
    Value each = difference(b, tokens, learned);
    Value images = quotient(b, asValue(b, extent(b, op.getPatches(), 0)), each);
    Value dest = empty(b, type, {OpFoldResult(times(b, images, tokens)), b.getIndexAttr(type.getDimSize(1))});
    Value result = rowGrid(b, dest, [&](ImplicitLocOpBuilder &b, Value row, Value line) {
      Value i = remainder(b, row, tokens), image = quotient(b, row, tokens);
      Value isLearned = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, i, learned);
      // Both are read and one is selected; the other is read at a clamped index.
      Value token = arith::MinSIOp::create(b, i, index(b, std::max<int64_t>(first - 1, 0)));
      Value patch = arith::MaxSIOp::create(b, difference(b, i, learned), index(b, 0));
      patch = sum(b, times(b, image, each), patch);
      return forPanels(b, type.getDimSize(1), line, [&](ImplicitLocOpBuilder &b, Value column, Value) -> Value {
        Value value = readPanel(b, op.getPatches(), {patch, column});
        if (first > 0)
          value = arith::SelectOp::create(b, isLearned, readPanel(b, op.getLearned(), {token, column}), value);
        return arith::AddFOp::create(b, value, readPanel(b, op.getPositions(), {i, column}));
      });
    });
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Offsets are a few integers: a loop, not a grid.
struct TileEqualRows : OpRewritePattern<attn::EqualRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::EqualRowsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value count = sum(b, op.getRows(), index(b, 1));
    Value dest = empty(b, cast<RankedTensorType>(op.getResult().getType()), {OpFoldResult(count)});
    rewriter.replaceOp(
        op, loop(b, index(b, 0), count, 1, dest, [&](ImplicitLocOpBuilder &b, Value row, Value carried) -> Value {
          Value offset = arith::IndexCastOp::create(b, b.getI32Type(), times(b, row, op.getLength()));
          return tensor::InsertOp::create(b, offset, carried, row);
        }));
    return success();
  }
};

/// A grid over sequences, their tokens and all dims before the columns; a task copies one line, without padding where
/// the result has none.
struct TileUnpackRows : OpRewritePattern<attn::UnpackRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::UnpackRowsOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    if (type.getRank() == 3 && !fillsPanels(op.getInput()))
      return refuseColumns(rewriter, op, op.getInput());
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    int64_t columns = type.getShape().back();
    Value length = op.getLength(), rows = quotient(b, asValue(b, extent(b, op.getInput(), 0)), length);
    OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0), width = b.getIndexAttr(columns);
    SmallVector<OpFoldResult> lines{OpFoldResult(rows), OpFoldResult(length)};
    for (int64_t inner : type.getShape().drop_front(2).drop_back())
      lines.push_back(b.getIndexAttr(inner));
    SmallVector<OpFoldResult> extents = lines;
    extents.push_back(width);
    auto body = [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
      Insertion out{{}, llvm::to_vector_of<OpFoldResult>(ids), SmallVector<OpFoldResult>(ids.size(), one)};
      out.offsets.push_back(zero);
      out.sizes.push_back(width);
      SmallVector<Value> from{sum(b, times(b, ids[0], length), ids[1])};
      llvm::append_range(from, ids.drop_front(2));
      Value line = extract(b, dests[0], out.offsets, out.sizes, {columns});
      out.tile = forPanels(b, columns, line, [&](ImplicitLocOpBuilder &b, Value column, Value) {
        SmallVector<Value> at = from;
        at.push_back(column);
        return readPanel(b, op.getInput(), at);
      });
      return SmallVector<Insertion>{out};
    };
    rewriter.replaceOp(op, grid(b, lines, empty(b, type, extents), body));
    return success();
  }
};

} // namespace

void rapt::populateImageTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TilePatches, TileResizePositions, TileImageTokens, TileEqualRows, TileUnpackRows>(patterns.getContext());
}
