//===- RowWise.cpp - Ops that work on one row at a time --------------------------------===//
//
// Look-ups and elementwise ops: a grid over rows, each row walked in panels
// of 32 columns held in a vector.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/Elementwise.h"
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Schedule/Choices.h"
#include "lib/Target/CPU/Tile/Quantization.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/Target/CPU/Tile/Tiling.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn_cpu::kPanel;

namespace {

/// Where `result` goes, which has as many rows as `like`.
Value rowsLike(ImplicitLocOpBuilder &b, Value result, Value like) {
  const int64_t width = cast<RankedTensorType>(result.getType()).getDimSize(1);
  return destination(b, result, {extent(b, like, 0), b.getIndexAttr(width)});
}

/// Activations, gates and sums that are in no epilogue of a matmul.
struct TileElementwise : attn::ElementwisePattern {
  using ElementwisePattern::ElementwisePattern;

  LogicalResult matchAndRewrite(attn::EpilogueOpInterface op, PatternRewriter &rewriter) const override {
    if (!fillsPanels(op->getResult(0)))
      return refuseColumns(rewriter, op, op->getResult(0));
    ImplicitLocOpBuilder b(op->getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    RowResult result(b, op->getResult(0), extent(b, op->getOperand(0), 0));
    auto made = rowGrid(b, result.getDestinations(), [&](ImplicitLocOpBuilder &b, ValueRange at, ValueRange dests) {
      return forPanels(b, type.getDimSize(1), dests, [&](ImplicitLocOpBuilder &b, Value column, ValueRange) {
        SmallVector<Value> panels;
        for (Value operand : op->getOperands())
          panels.push_back(readPanel(b, operand, {at[0], column}));
        return op.emitScalar(b, b.getLoc(), panels);
      });
    });
    result.replace(rewriter, op, made);
    return success();
  }
};

struct TileEmbedding : OpRewritePattern<attn::EmbeddingOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::EmbeddingOp op, PatternRewriter &rewriter) const override {
    if (!fillsPanels(op.getResult()))
      return refuseColumns(rewriter, op, op.getResult());
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    Value bytes = cpu::quantizedPanels(op.getLayout(), op.getTable()) ? bytesOf(b, op.getTable()) : Value();
    Value result =
        rowGrid(b, rowsLike(b, op.getResult(), op.getIds()), [&](ImplicitLocOpBuilder &b, Value row, Value dest) {
          Value id = readIndex(b, op.getIds(), row);
          if (!op.getLayout())
            return forPanels(b, type.getDimSize(1), dest, [&](ImplicitLocOpBuilder &b, Value column, Value) {
              return scaled(b, op, readPanel(b, op.getTable(), {id, column}));
            });
          return fromPanels(b, op, bytes, id, dest);
        });
    rewriter.replaceOp(op, result);
    return success();
  }

  /// x, a number or a panel of them, times the op's scale.
  static Value scaled(ImplicitLocOpBuilder &b, attn::EmbeddingOp op, Value x) {
    if (!op.getScaleAttr())
      return x;
    Value scale = arith::ConstantOp::create(b, op.getScaleAttr());
    if (auto type = dyn_cast<VectorType>(x.getType()))
      scale = vector::BroadcastOp::create(b, type, scale);
    return arith::MulFOp::create(b, x, scale);
  }

  /// Row `id` of a table in panels [rows/32, columns, 32], or VNNI-packed: one element, or two, of each line of a
  /// panel; zero beyond the columns. `bytes` are those of a quantized table.
  static Value fromPanels(ImplicitLocOpBuilder &b, attn::EmbeddingOp op, Value bytes, Value id, Value dest) {
    Value table = op.getTable();
    AffineExpr d0 = b.getAffineDimExpr(0);
    Value panel = asValue(b, affineOf(b, d0.floorDiv(kPanel), {OpFoldResult(id)}));
    const int64_t k = attn_cpu::isInterleaved(op.getLayout()) ? 2 : 1,
                  columns = op.getLayout()->getRows(cast<RankedTensorType>(table.getType()));
    Value lane = asValue(b, affineOf(b, d0 % kPanel * k, {OpFoldResult(id)}));
    dest = loop(
        b, index(b, 0), index(b, columns), 1, dest, [&](ImplicitLocOpBuilder &b, Value column, Value carried) -> Value {
          OpFoldResult at[] = {OpFoldResult(column), OpFoldResult(lane)};
          Value line = asValue(b, affineOf(b, d0.floorDiv(k), at)),
                place = asValue(b, affineOf(b, d0 % k + b.getAffineDimExpr(1), at));
          Value element =
              bytes ? readElement(b, bytes, cpu::quantizedPanels(op.getLayout(), table), columns, panel, column, lane)
                    : Value(tensor::ExtractOp::create(b, table, ValueRange{panel, line, place}));
          if (!element.getType().isF32())
            element = arith::ExtFOp::create(b, b.getF32Type(), element);
          return tensor::InsertOp::create(b, scaled(b, op, element), carried, column);
        });
    int64_t width = cast<RankedTensorType>(dest.getType()).getDimSize(0);
    Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    return loop(b, index(b, columns), index(b, width), 1, dest,
                [&](ImplicitLocOpBuilder &b, Value column, Value carried) -> Value {
                  return tensor::InsertOp::create(b, zero, carried, column);
                });
  }
};

struct TileSelectRows : OpRewritePattern<attn::SelectRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::SelectRowsOp op, PatternRewriter &rewriter) const override {
    if (!fillsPanels(op.getResult()))
      return refuseColumns(rewriter, op, op.getResult());
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    Value result =
        rowGrid(b, rowsLike(b, op.getResult(), op.getRows()), [&](ImplicitLocOpBuilder &b, Value row, Value dest) {
          Value from = readIndex(b, op.getRows(), row);
          return forPanels(b, type.getDimSize(1), dest, [&](ImplicitLocOpBuilder &b, Value column, Value) {
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

/// A row of bf16, whose columns beyond the input's are zero. The cast is gone where the op that made the rows wrote
/// bf16.
struct TileCastRows : OpRewritePattern<attn_cpu::CastRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn_cpu::CastRowsOp op, PatternRewriter &rewriter) const override {
    if (op.getInput().getType() == op.getResult().getType()) {
      rewriter.replaceOp(op, op.getInput());
      return success();
    }
    RankedTensorType type = op.getResult().getType();
    const int64_t columns = attn_cpu::padToPanel(op.getInput().getType().getShape().back()),
                  width = type.getShape().back();
    if (width % kPanel != 0)
      return refuseColumns(rewriter, op, op.getResult());
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<OpFoldResult> shape = extents(b, op.getInput());
    shape.back() = b.getIndexAttr(width);
    auto cast = [&](ImplicitLocOpBuilder &b, ValueRange at, ValueRange dests) {
      Value dest = forPanels(b, columns, dests[0], [&](ImplicitLocOpBuilder &b, Value column, Value) {
        SmallVector<Value> place(at);
        place.push_back(column);
        return readPanel(b, op.getInput(), place);
      });
      Value zero = arith::ConstantOp::create(b, b.getZeroAttr(VectorType::get({kPanel}, type.getElementType())));
      dest = loop(
          b, index(b, columns), index(b, width), kPanel, dest,
          [&](ImplicitLocOpBuilder &b, Value column, Value carried) { return writePanel(b, zero, carried, column); });
      return SmallVector<Value>{dest};
    };
    rewriter.replaceOp(op, rowGrid(b, ValueRange(destination(b, op.getResult(), shape)), cast));
    return success();
  }
};

/// A column is a few scalars: a loop, not a grid.
struct TileColumn : OpRewritePattern<attn::ColumnOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::ColumnOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    OpFoldResult rows = extent(b, op.getInput(), 0);
    Value dest = empty(b, cast<RankedTensorType>(op.getResult().getType()), {rows}), column = index(b, op.getColumn());
    rewriter.replaceOp(op, loop(b, index(b, 0), asValue(b, rows), 1, dest,
                                [&](ImplicitLocOpBuilder &b, Value row, Value carried) -> Value {
                                  Value element = tensor::ExtractOp::create(b, op.getInput(), ValueRange{row, column});
                                  return tensor::InsertOp::create(b, element, carried, row);
                                }));
    return success();
  }
};

/// [tokens, columns] and heads of rank `rank`.
SmallVector<ReassociationIndices> headGroups(int64_t rank) {
  return {{0}, llvm::to_vector<2>(llvm::seq<int64_t>(1, rank))};
}

/// Views: a slice of the columns, cut into heads.
struct TileSplitHeads : OpRewritePattern<attn::SplitHeadsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::SplitHeadsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    OpFoldResult rows = extent(b, op.getInput(), 0);
    SmallVector<Value> results;
    int64_t column = 0;
    for (Value head : op.getHeads()) {
      auto type = cast<RankedTensorType>(head.getType());
      ArrayRef<int64_t> heads = type.getShape().drop_front();
      int64_t columns = llvm::product_of(heads);
      Value slice = extract(b, op.getInput(), {b.getIndexAttr(0), b.getIndexAttr(column)},
                            {rows, b.getIndexAttr(columns)}, {type.getDimSize(0), columns});
      SmallVector<OpFoldResult> shape{rows};
      for (int64_t extent : heads)
        shape.push_back(b.getIndexAttr(extent));
      results.push_back(tensor::ExpandShapeOp::create(b, type, slice, headGroups(type.getRank()), shape));
      column += columns;
    }
    rewriter.replaceOp(op, results);
    return success();
  }
};

struct TileMergeHeads : OpRewritePattern<attn::MergeHeadsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::MergeHeadsOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(op, op.getResult().getType(), op.getInput(),
                                                         headGroups(op.getInput().getType().getRank()));
    return success();
  }
};

} // namespace

void rapt::populateRowWiseTilingPatterns(RewritePatternSet &patterns) {
  patterns
      .add<TileElementwise, TileEmbedding, TileSelectRows, TileCastRows, TileColumn, TileSplitHeads, TileMergeHeads>(
          patterns.getContext());
}
