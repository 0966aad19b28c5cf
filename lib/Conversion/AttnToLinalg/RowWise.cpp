//===- RowWise.cpp - Ops that work on one row at a time --------------------------------===//
//
// Norms, look-ups and elementwise ops: a grid over rows, each row walked in panels
// of 32 columns held in a vector.
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"
#include "lib/Conversion/AttnToLinalg/Tile.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::kPanel;

namespace {

bool isPadded(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() == 2 && !type.isDynamicDim(1) && type.getDimSize(1) % kPanel == 0;
}

/// A grid over rows of `type`; `body` fills a row of the result.
Value rowGrid(ImplicitLocOpBuilder &b, RankedTensorType type, OpFoldResult rows,
              function_ref<Value(ImplicitLocOpBuilder &, Value row, Value dest)> body) {
  int64_t columns = type.getDimSize(1);
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0), width = b.getIndexAttr(columns);
  return grid(b, {rows}, empty(b, type, {rows, width}), [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
    SmallVector<OpFoldResult> offsets{OpFoldResult(ids[0]), zero}, sizes{one, width};
    Value dest = extract(b, dests[0], offsets, sizes, {columns});
    return SmallVector<Insertion>{{body(b, ids[0], dest), offsets, sizes}};
  })[0];
}

/// For each panel of a row: `body` gives the 32 columns that go into `dest`.
Value forPanels(ImplicitLocOpBuilder &b, int64_t columns, Value dest,
                function_ref<Value(ImplicitLocOpBuilder &, Value column)> body) {
  return loop(b, index(b, 0), index(b, columns), kPanel, dest,
              [&](ImplicitLocOpBuilder &b, Value column, Value carried) {
                return writePanel(b, body(b, column), carried, column);
              });
}

/// The sum over a row of what `body` gives for each panel.
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

Value splat(ImplicitLocOpBuilder &b, Value scalar) {
  return vector::BroadcastOp::create(b, VectorType::get({kPanel}, scalar.getType()), scalar);
}

/// `panel` with the columns at or beyond `columns` set to zero.
Value keepColumns(ImplicitLocOpBuilder &b, Value panel, Value column, int64_t columns) {
  Value left = arith::SubIOp::create(b, index(b, columns), column);
  Value mask = vector::CreateMaskOp::create(b, VectorType::get({kPanel}, b.getI1Type()), left);
  return arith::SelectOp::create(b, mask, panel, arith::ConstantOp::create(b, b.getZeroAttr(panel.getType())));
}

/// layer_norm and rms_norm, which subtracts no mean and adds no bias.
template <typename NormOp> struct TileNorm : OpRewritePattern<NormOp> {
  using OpRewritePattern<NormOp>::OpRewritePattern;
  static constexpr bool isCentred = std::is_same_v<NormOp, attn::LayerNormOp>;

  LogicalResult matchAndRewrite(NormOp op, PatternRewriter &rewriter) const override {
    if (!isPadded(op.getInput()))
      return rewriter.notifyMatchFailure(op, "columns are not padded");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getInput().getType());
    Value result = rowGrid(b, type, extent(b, op.getInput(), 0), [&](ImplicitLocOpBuilder &b, Value row, Value dest) {
      return normalize(b, op, type.getDimSize(1), row, dest);
    });
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  static Value normalize(ImplicitLocOpBuilder &b, NormOp op, int64_t width, Value row, Value dest) {
    int64_t columns = op.getColumns().value_or(width);
    auto read = [&](ImplicitLocOpBuilder &b, Value column) { return readPanel(b, op.getInput(), {row, column}); };
    Value count = arith::ConstantOp::create(b, b.getF32FloatAttr(columns)), mean;
    if constexpr (isCentred)
      mean = splat(b, arith::DivFOp::create(b, sumPanels(b, width, read), count));
    auto deviation = [&](ImplicitLocOpBuilder &b, Value column) -> Value {
      return isCentred ? Value(arith::SubFOp::create(b, read(b, column), mean)) : read(b, column);
    };
    Value squares = sumPanels(b, width, [&](ImplicitLocOpBuilder &b, Value column) -> Value {
      Value d = deviation(b, column);
      // Padding is zero in the input but not once the mean is subtracted.
      if (isCentred && columns != width)
        d = keepColumns(b, d, column, columns);
      return arith::MulFOp::create(b, d, d);
    });
    Value epsilon = arith::ConstantOp::create(b, b.getF32FloatAttr(op.getEpsilon().convertToDouble()));
    Value root = math::SqrtOp::create(b, arith::AddFOp::create(b, arith::DivFOp::create(b, squares, count), epsilon));
    Value one = arith::ConstantOp::create(b, b.getF32FloatAttr(1));
    Value factor = splat(b, arith::DivFOp::create(b, one, root));
    return forPanels(b, width, dest, [&](ImplicitLocOpBuilder &b, Value column) -> Value {
      Value scaled = arith::MulFOp::create(b, deviation(b, column), factor);
      Value weighted = arith::MulFOp::create(b, scaled, readPanel(b, op.getWeight(), column));
      if constexpr (isCentred)
        weighted = arith::AddFOp::create(b, weighted, readPanel(b, op.getBias(), column));
      return weighted;
    });
  }
};

/// Activations, gates and sums that no product took into its epilogue.
template <typename Op> struct TileElementwise : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!isPadded(op->getResult(0)))
      return rewriter.notifyMatchFailure(op, "columns are not padded");
    ImplicitLocOpBuilder b(op->getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    Value result =
        rowGrid(b, type, extent(b, op->getOperand(0), 0), [&](ImplicitLocOpBuilder &b, Value row, Value dest) {
          return forPanels(b, type.getDimSize(1), dest, [&](ImplicitLocOpBuilder &b, Value column) {
            SmallVector<Value> panels;
            for (Value operand : op->getOperands())
              panels.push_back(readPanel(b, operand, {row, column}));
            return op.emitScalar(b, b.getLoc(), panels);
          });
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct TileEmbedding : OpRewritePattern<attn::EmbeddingOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::EmbeddingOp op, PatternRewriter &rewriter) const override {
    if (!isPadded(op.getResult()))
      return rewriter.notifyMatchFailure(op, "columns are not padded");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    auto table = cast<RankedTensorType>(op.getTable().getType());
    Value result = rowGrid(b, type, extent(b, op.getIds(), 0), [&](ImplicitLocOpBuilder &b, Value row, Value dest) {
      Value id = readIndex(b, op.getIds(), row);
      if (table.getRank() == 2)
        return forPanels(b, type.getDimSize(1), dest, [&](ImplicitLocOpBuilder &b, Value column) {
          return readPanel(b, op.getTable(), {id, column});
        });
      return fromPanels(b, op.getTable(), id, dest);
    });
    rewriter.replaceOp(op, result);
    return success();
  }

  /// Row `id` of a table in panels [rows/32, columns, 32]: one element of each line of a panel; zero beyond the
  /// columns.
  static Value fromPanels(ImplicitLocOpBuilder &b, Value table, Value id, Value dest) {
    auto type = cast<RankedTensorType>(table.getType());
    AffineExpr d0 = b.getAffineDimExpr(0);
    Value panel = asValue(b, affineOf(b, d0.floorDiv(kPanel), {OpFoldResult(id)}));
    Value lane = asValue(b, affineOf(b, d0 % kPanel, {OpFoldResult(id)}));
    dest = loop(b, index(b, 0), index(b, type.getDimSize(1)), 1, dest,
                [&](ImplicitLocOpBuilder &b, Value column, Value carried) -> Value {
                  Value element = tensor::ExtractOp::create(b, table, ValueRange{panel, column, lane});
                  if (!element.getType().isF32())
                    element = arith::ExtFOp::create(b, b.getF32Type(), element);
                  return tensor::InsertOp::create(b, element, carried, column);
                });
    int64_t width = cast<RankedTensorType>(dest.getType()).getDimSize(0);
    Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    return loop(b, index(b, type.getDimSize(1)), index(b, width), 1, dest,
                [&](ImplicitLocOpBuilder &b, Value column, Value carried) -> Value {
                  return tensor::InsertOp::create(b, zero, carried, column);
                });
  }
};

struct TileSelectRows : OpRewritePattern<attn::SelectRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::SelectRowsOp op, PatternRewriter &rewriter) const override {
    if (!isPadded(op.getResult()))
      return rewriter.notifyMatchFailure(op, "columns are not padded");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    Value result = rowGrid(b, type, extent(b, op.getRows(), 0), [&](ImplicitLocOpBuilder &b, Value row, Value dest) {
      Value from = readIndex(b, op.getRows(), row);
      return forPanels(b, type.getDimSize(1), dest, [&](ImplicitLocOpBuilder &b, Value column) {
        SmallVector<Value> at{from, column};
        if (op.getLayer())
          at.insert(at.begin() + 1, op.getLayer());
        return readPanel(b, op.getInput(), at);
      });
    });
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Views: a slice of the columns, cut into heads.
struct TileSplitHeads : OpRewritePattern<attn::SplitHeadsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::SplitHeadsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    OpFoldResult rows = extent(b, op.getInput(), 0);
    SmallVector<ReassociationIndices> groups{{0}, {1, 2}};
    SmallVector<Value> results;
    int64_t column = 0;
    for (Value head : op.getHeads()) {
      auto type = cast<RankedTensorType>(head.getType());
      int64_t columns = type.getDimSize(1) * type.getDimSize(2);
      Value slice = extract(b, op.getInput(), {b.getIndexAttr(0), b.getIndexAttr(column)},
                            {rows, b.getIndexAttr(columns)}, {type.getDimSize(0), columns});
      SmallVector<OpFoldResult> shape{rows, b.getIndexAttr(type.getDimSize(1)), b.getIndexAttr(type.getDimSize(2))};
      results.push_back(tensor::ExpandShapeOp::create(b, type, slice, groups, shape));
      column += columns;
    }
    rewriter.replaceOp(op, results);
    return success();
  }
};

struct TileMergeHeads : OpRewritePattern<attn::MergeHeadsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::MergeHeadsOp op, PatternRewriter &rewriter) const override {
    SmallVector<ReassociationIndices> groups{{0}, {1, 2}};
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(op, op.getResult().getType(), op.getInput(), groups);
    return success();
  }
};

} // namespace

void rapt::populateRowWiseTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TileNorm<attn::LayerNormOp>, TileNorm<attn::RMSNormOp>, TileElementwise<attn::ActivationOp>,
               TileElementwise<attn::AddOp>, TileElementwise<attn::GLUOp>, TileEmbedding, TileSelectRows,
               TileSplitHeads, TileMergeHeads>(patterns.getContext());
}
