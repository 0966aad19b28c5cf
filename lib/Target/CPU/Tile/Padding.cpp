//===- Padding.cpp - Tiles the copies of attn-pad-kernels -------------------------------===//
//
// attn-pad-kernels pads rows with zeros to multiples of 32 columns and packs weights into
// panels at the border of a bare kernel.
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Tile/Tile.h"
#include "lib/Target/CPU/Tile/Tiling.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn_cpu::kPanel;

namespace {

/// for i in [from, to): dest[i] = body(i)
Value fillRow(ImplicitLocOpBuilder &b, int64_t from, int64_t to, Value dest,
              function_ref<Value(ImplicitLocOpBuilder &, Value i)> body) {
  return loop(b, index(b, from), index(b, to), 1, dest, [&](ImplicitLocOpBuilder &b, Value i, Value carried) -> Value {
    return tensor::InsertOp::create(b, body(b, i), carried, i);
  });
}

/// A grid over rows, which all dims but the last one count.
struct TilePad : OpRewritePattern<tensor::PadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::PadOp op, PatternRewriter &rewriter) const override {
    RankedTensorType type = op.getResultType(), source = op.getSourceType();
    Value zero = op.getConstantPaddingValue();
    unsigned last = type.getRank() - 1;
    if (!zero || !op.hasZeroLowPad() || type.isDynamicDim(last) || source.isDynamicDim(last))
      return rewriter.notifyMatchFailure(op, "pads no rows with a constant");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<OpFoldResult> extents;
    for (unsigned i = 0; i < last; ++i)
      extents.push_back(extent(b, op.getSource(), i));
    SmallVector<OpFoldResult> shape = extents;
    int64_t columns = source.getDimSize(last), width = type.getDimSize(last);
    shape.push_back(b.getIndexAttr(width));
    if (extents.empty())
      extents.push_back(b.getIndexAttr(1)); // a vector is one row
    auto results = grid(b, extents, empty(b, type, shape), [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange d) {
      Insertion out;
      SmallVector<Value> indices(ids.take_front(last));
      out.offsets.append(indices.begin(), indices.end());
      out.offsets.push_back(b.getIndexAttr(0));
      out.sizes.assign(last, b.getIndexAttr(1));
      out.sizes.push_back(b.getIndexAttr(width));
      indices.push_back(Value());
      out.tile = extract(b, d[0], out.offsets, out.sizes, {width});
      out.tile = fillRow(b, 0, columns, out.tile, [&](ImplicitLocOpBuilder &b, Value i) -> Value {
        indices.back() = i;
        return tensor::ExtractOp::create(b, op.getSource(), indices);
      });
      out.tile = fillRow(b, columns, width, out.tile, [&](ImplicitLocOpBuilder &, Value) { return zero; });
      return SmallVector<Insertion>{out};
    });
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// Packs [k, n] or, transposed, [n, k] into panels [n/32, k, 32]: a grid over panels.
struct TilePack : OpRewritePattern<linalg::PackOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::PackOp op, PatternRewriter &rewriter) const override {
    auto type = dyn_cast<RankedTensorType>(op.getDest().getType());
    auto source = dyn_cast<RankedTensorType>(op.getSource().getType());
    Value zero = op.getPaddingValue();
    if (!type || !source || !type.hasStaticShape() || type.getRank() != 3 || type.getDimSize(2) != kPanel || !zero)
      return rewriter.notifyMatchFailure(op, "does not pack a static weight into panels");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    bool transposed = op.getInnerDimsPos()[0] == 0;
    int64_t k = type.getDimSize(1), n = source.getDimSize(transposed ? 0 : 1);
    OpFoldResult one = b.getIndexAttr(1), origin = b.getIndexAttr(0), lane = b.getIndexAttr(kPanel);
    AffineExpr d0 = b.getAffineDimExpr(0);
    auto body = [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
      Insertion out{{}, {OpFoldResult(ids[0]), origin, origin}, {one, b.getIndexAttr(k), lane}};
      Value first = asValue(b, affineOf(b, d0 * kPanel, {OpFoldResult(ids[0])}));
      // Columns beyond n read the last column and store zero.
      Value last = index(b, n - 1), count = arith::SubIOp::create(b, index(b, n), first);
      Value panel = extract(b, dests[0], out.offsets, out.sizes, {k, kPanel});
      out.tile = loop(b, index(b, 0), index(b, k), 1, panel, [&](ImplicitLocOpBuilder &b, Value row, Value carried) {
        return loop(
            b, index(b, 0), index(b, kPanel), 1, carried, [&](ImplicitLocOpBuilder &b, Value i, Value inner) -> Value {
              Value column = arith::MinSIOp::create(b, arith::AddIOp::create(b, first, i), last);
              SmallVector<Value> at = transposed ? SmallVector<Value>{column, row} : SmallVector<Value>{row, column};
              Value element = tensor::ExtractOp::create(b, op.getSource(), at);
              Value counts = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, i, count);
              element = arith::SelectOp::create(b, counts, element, zero);
              return tensor::InsertOp::create(b, element, inner, ValueRange{row, i});
            });
      });
      return SmallVector<Insertion>{out};
    };
    SmallVector<OpFoldResult> shape;
    for (int64_t extent : type.getShape())
      shape.push_back(b.getIndexAttr(extent));
    SmallVector<Value> results = grid(b, shape[0], empty(b, type, shape), body);
    rewriter.replaceOp(op, results);
    return success();
  }
};

} // namespace

void rapt::populatePaddingTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TilePad, TilePack>(patterns.getContext());
}
