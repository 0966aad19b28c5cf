//===- Heads.cpp - Heads and columns are views -----------------------------------------===//
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Conversion/AttnToLinalg/Patterns.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

namespace {

/// The first dim, and all others.
SmallVector<ReassociationIndices> firstAndRest(int64_t rank) {
  return {{0}, llvm::to_vector(llvm::seq<int64_t>(1, rank))};
}

struct DecomposeSplitHeads : OpRewritePattern<attn::SplitHeadsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::SplitHeadsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    OpFoldResult tokens = extent(b, op.getInput(), 0);
    int64_t first = 0;
    SmallVector<Value> heads;
    for (Value result : op.getHeads()) {
      auto type = cast<RankedTensorType>(result.getType());
      const int64_t columns = llvm::product_of(type.getShape().drop_front());
      Value part =
          slice(b, op.getInput(), {b.getIndexAttr(0), b.getIndexAttr(first)}, {tokens, b.getIndexAttr(columns)});
      SmallVector<OpFoldResult> sizes{tokens};
      for (int64_t extent : type.getShape().drop_front())
        sizes.push_back(b.getIndexAttr(extent));
      heads.push_back(tensor::ExpandShapeOp::create(b, type, part, firstAndRest(type.getRank()), sizes));
      first += columns;
    }
    rewriter.replaceOp(op, heads);
    return success();
  }
};

struct DecomposeMergeHeads : OpRewritePattern<attn::MergeHeadsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::MergeHeadsOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(op, op.getResult().getType(), op.getInput(),
                                                         firstAndRest(op.getInput().getType().getRank()));
    return success();
  }
};

struct DecomposeUnpackRows : OpRewritePattern<attn::UnpackRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::UnpackRowsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    // Not a view: MLIR's lowering of one expects at most one dynamic extent where a dim is cut.
    Value rows = arith::DivUIOp::create(b, asValue(b, extent(b, op.getInput(), 0)), op.getLength());
    SmallVector<OpFoldResult> sizes{rows, op.getLength()};
    for (int64_t i = 1; i < cast<RankedTensorType>(op.getInput().getType()).getRank(); ++i)
      sizes.push_back(extent(b, op.getInput(), i));
    rewriter.replaceOp(op,
                       forEach(b, {}, emptyFor(b, op.getResult(), sizes), [&](ImplicitLocOpBuilder &b, ValueRange x) {
                         Value first = arith::MulIOp::create(b, at(b, 0), op.getLength());
                         SmallVector<Value> place{arith::AddIOp::create(b, first, at(b, 1))};
                         for (size_t i = 2; i < sizes.size(); ++i)
                           place.push_back(at(b, i));
                         return rounded(b, read(b, op.getInput(), place), x[0].getType());
                       }));
    return success();
  }
};

struct DecomposeColumn : OpRewritePattern<attn::ColumnOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::ColumnOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value init = emptyFor(b, op.getResult(), {extent(b, op.getInput(), 0)});
    rewriter.replaceOp(op, forEach(b, {}, init, [&](ImplicitLocOpBuilder &b, ValueRange x) {
                         Value number = read(b, op.getInput(), {at(b, 0), index(b, op.getColumn())});
                         return rounded(b, number, x[0].getType());
                       }));
    return success();
  }
};

/// Side by side; what no input fills is 0.
struct DecomposeConcat : OpRewritePattern<attn::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::ConcatOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    OpFoldResult rows = extent(b, op.getInputs()[0], 0);
    Value result =
        filled(b, 0, emptyFor(b, op.getResult(), {rows, b.getIndexAttr(op.getResult().getType().getDimSize(1))}));
    int64_t first = 0;
    for (auto [i, input] : llvm::enumerate(op.getInputs())) {
      const int64_t columns =
          op.getColumns() ? (*op.getColumns())[i] : cast<RankedTensorType>(input.getType()).getDimSize(1);
      SmallVector<OpFoldResult> sizes{rows, b.getIndexAttr(columns)};
      Value part = slice(b, input, {b.getIndexAttr(0), b.getIndexAttr(0)}, sizes);
      result = insert(b, part, result, {b.getIndexAttr(0), b.getIndexAttr(first)}, sizes);
      first += columns;
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void neutral::populateHeads(RewritePatternSet &patterns) {
  patterns.add<DecomposeSplitHeads, DecomposeMergeHeads, DecomposeUnpackRows, DecomposeColumn, DecomposeConcat>(
      patterns.getContext());
}
