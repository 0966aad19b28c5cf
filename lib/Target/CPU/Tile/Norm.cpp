//===- Norm.cpp - Tiles layer_norm and rms_norm ------------------------------------------===//
//
// A task reads its row two or three times, from L1: once or twice for statistics, once for
// the result. An input that nothing reads afterwards is overwritten, so that the residual
// stream of a post-norm block is updated in place.
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/Target/CPU/Tile/Tiling.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn_cpu::kPanel;

namespace {

/// The sum over a row of the vectors that `body` returns for each 32 columns.
Value sumPanels(ImplicitLocOpBuilder &b, int64_t columns,
                function_ref<Value(ImplicitLocOpBuilder &, Value column)> body) {
  auto type = VectorType::get({kPanel}, b.getF32Type());
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  Value sums = loop(b, index(b, 0), index(b, columns), kPanel, zero,
                    [&](ImplicitLocOpBuilder &b, Value column, Value carried) -> Value {
                      return arith::AddFOp::create(b, carried, body(b, column));
                    });
  return vector::ReductionOp::create(b, vector::CombiningKind::ADD, sums);
}

/// `panel` with the columns at or beyond `columns` set to zero.
Value keepColumns(ImplicitLocOpBuilder &b, Value panel, Value column, int64_t columns) {
  Value left = arith::SubIOp::create(b, index(b, columns), column);
  Value mask = vector::CreateMaskOp::create(b, VectorType::get({kPanel}, b.getI1Type()), left);
  return arith::SelectOp::create(b, mask, panel, arith::ConstantOp::create(b, b.getZeroAttr(panel.getType())));
}

/// A row of `width` columns, of which the first `columns` are no padding.
struct Row {
  Value tensor;
  int64_t width, columns;

  Value read(ImplicitLocOpBuilder &b, Value column) const { return readPanel(b, tensor, column); }
  Value mean(ImplicitLocOpBuilder &b, function_ref<Value(ImplicitLocOpBuilder &, Value column)> body) const {
    Value count = arith::ConstantOp::create(b, b.getF32FloatAttr(columns));
    return arith::DivFOp::create(b, sumPanels(b, width, body), count);
  }
};

/// 1 / sqrt(x + epsilon), broadcast.
Value inverseRoot(ImplicitLocOpBuilder &b, Value x, const APFloat &epsilon) {
  Value shift = arith::ConstantOp::create(b, b.getF32FloatAttr(epsilon.convertToDouble()));
  Value one = arith::ConstantOp::create(b, b.getF32FloatAttr(1));
  return splat(b, arith::DivFOp::create(b, one, math::SqrtOp::create(b, arith::AddFOp::create(b, x, shift))));
}

/// Normalizes 32 columns of a row whose statistics are known.
using Finish = std::function<Value(ImplicitLocOpBuilder &, Value panel, Value column)>;

/// A panel of a weight, which may be the head's own.
Value readWeight(ImplicitLocOpBuilder &b, Value weight, ArrayRef<Value> heads, Value column) {
  SmallVector<Value> at(heads.take_back(cast<RankedTensorType>(weight.getType()).getRank() - 1));
  at.push_back(column);
  return readPanel(b, weight, at);
}

Finish prepare(attn::LayerNormOp op, ImplicitLocOpBuilder &b, const Row &row, SmallVector<Value> at) {
  Value mean = splat(b, row.mean(b, [&](ImplicitLocOpBuilder &b, Value column) { return row.read(b, column); }));
  Value variance = row.mean(b, [&](ImplicitLocOpBuilder &b, Value column) -> Value {
    Value d = arith::SubFOp::create(b, row.read(b, column), mean);
    // Padding is zero in the input, but not after the mean is subtracted.
    if (row.columns != row.width)
      d = keepColumns(b, d, column, row.columns);
    return arith::MulFOp::create(b, d, d);
  });
  Value factor = inverseRoot(b, variance, op.getEpsilon());
  return [=](ImplicitLocOpBuilder &b, Value panel, Value column) -> Value {
    attn::LayerNormOp norm = op;
    Value scaled = arith::MulFOp::create(b, arith::SubFOp::create(b, panel, mean), factor);
    Value weighted = arith::MulFOp::create(b, scaled, readWeight(b, norm.getWeight(), at, column));
    return arith::AddFOp::create(b, weighted, readWeight(b, norm.getBias(), at, column));
  };
}

Finish prepare(attn::RMSNormOp op, ImplicitLocOpBuilder &b, const Row &row, SmallVector<Value> at) {
  Value square = row.mean(b, [&](ImplicitLocOpBuilder &b, Value column) -> Value {
    Value x = row.read(b, column);
    return arith::MulFOp::create(b, x, x);
  });
  Value factor = inverseRoot(b, square, op.getEpsilon());
  return [=](ImplicitLocOpBuilder &b, Value panel, Value column) -> Value {
    attn::RMSNormOp norm = op;
    Value scaled = arith::MulFOp::create(b, panel, factor);
    return arith::MulFOp::create(b, scaled, readWeight(b, norm.getWeight(), at, column));
  };
}

template <typename Op> struct TileNorm : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    int64_t width = cast<RankedTensorType>(op.getInput().getType()).getShape().back(),
            columns = op.getColumns().value_or(width);
    if (width % kPanel != 0)
      return rewriter.notifyMatchFailure(op, [&](Diagnostic &reason) {
        reason << "it needs columns of a multiple of " << kPanel << ", found " << op.getInput().getType();
      });
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value overwritten = isReadLastBy(op, op.getInput()) ? Value(op.getInput()) : Value();
    SmallVector<OpFoldResult> rows = extents(b, op.getInput());
    rows.pop_back();
    RowResult result(b, op.getResult(), rows, overwritten);
    const bool inPlace = overwritten && result.hasF32();
    auto made = rowGrid(b, result.getDestinations(), [&](ImplicitLocOpBuilder &b, ValueRange at, ValueRange dests) {
      Row row{dests[0], width, columns};
      if (!inPlace)
        row.tensor = rowOf(b, op.getInput(), at);
      Finish finish = prepare(op, b, row, SmallVector<Value>(at));
      return forPanels(b, width, dests, [&](ImplicitLocOpBuilder &b, Value column, ValueRange carried) {
        return finish(b, readPanel(b, inPlace ? carried[0] : row.tensor, column), column);
      });
    });
    result.replace(rewriter, op, made);
    return success();
  }
};

} // namespace

void rapt::populateNormTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TileNorm<attn::LayerNormOp>, TileNorm<attn::RMSNormOp>>(patterns.getContext());
}
