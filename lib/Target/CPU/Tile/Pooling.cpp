//===- Pooling.cpp - Tiles attn.pool_rows -----------------------------------------------===//
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/Target/CPU/Tile/Tiling.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn_cpu::kPanel;

namespace {

/// A grid over sequences; a task loops over vectors of 32 columns, and in each over the sequence's tokens.
struct TilePoolRows : OpRewritePattern<attn::PoolRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::PoolRowsOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    int64_t columns = type.getDimSize(1);
    if (ShapedType::isDynamic(columns) || columns % kPanel != 0)
      return refuseColumns(rewriter, op, op.getResult());
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    OpFoldResult rows = affineOf(b, b.getAffineDimExpr(0) - 1, {extent(b, op.getRowBegin(), 0)});
    OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0), width = b.getIndexAttr(columns);
    Value dest = empty(b, type, {rows, width});
    Value result = grid(b, {rows}, dest, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
      SmallVector<OpFoldResult> offsets{OpFoldResult(ids[0]), zero}, sizes{one, width};
      Value slice = extract(b, dests[0], offsets, sizes, {columns});
      Value begin = readIndex(b, op.getRowBegin(), ids[0]);
      if (op.getSkip() != 0)
        begin = arith::AddIOp::create(b, begin, index(b, op.getSkip()));
      Value end = readIndex(b, op.getRowBegin(), arith::AddIOp::create(b, ids[0], index(b, 1)).getResult());
      slice = loop(b, index(b, 0), index(b, columns), kPanel, slice,
                   [&](ImplicitLocOpBuilder &b, Value column, Value carried) {
                     return writePanel(b, pool(b, op, begin, end, column), carried, column);
                   });
      return SmallVector<Insertion>{{slice, offsets, sizes}};
    })[0];
    rewriter.replaceOp(op, result);
    return success();
  }

  /// 32 columns of a sequence's result.
  static Value pool(ImplicitLocOpBuilder &b, attn::PoolRowsOp op, Value begin, Value end, Value column) {
    auto panel = VectorType::get({kPanel}, b.getF32Type());
    Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(panel));
    auto at = [&](ImplicitLocOpBuilder &b, Value token) { return readPanel(b, op.getInput(), {token, column}); };
    Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, begin, end);
    // An empty sequence reads no token: the loop has no iteration then.
    auto edge = [&](Value token, Value from, Value to) {
      return loop(b, from, to, 1, zeros, [&](ImplicitLocOpBuilder &b, Value, Value) { return at(b, token); });
    };
    Value one = index(b, 1);
    Value onceOrNever = arith::SelectOp::create(b, isEmpty, index(b, 0), one);
    switch (op.getKind()) {
    case attn::PoolingKind::first:
      return edge(begin, index(b, 0), onceOrNever);
    case attn::PoolingKind::last:
      return edge(arith::SubIOp::create(b, end, one), index(b, 0), onceOrNever);
    case attn::PoolingKind::mean: {
      Value sum = loop(b, begin, end, 1, zeros, [&](ImplicitLocOpBuilder &b, Value t, Value carried) -> Value {
        return arith::AddFOp::create(b, carried, at(b, t));
      });
      Value count = arith::SelectOp::create(b, isEmpty, one, arith::SubIOp::create(b, end, begin));
      Value number = arith::SIToFPOp::create(b, b.getF32Type(), arith::IndexCastOp::create(b, b.getI32Type(), count));
      return arith::DivFOp::create(b, sum, vector::BroadcastOp::create(b, panel, number));
    }
    case attn::PoolingKind::max: {
      Value first = edge(begin, index(b, 0), onceOrNever);
      return loop(b, begin, end, 1, first, [&](ImplicitLocOpBuilder &b, Value t, Value carried) -> Value {
        Value x = at(b, t);
        Value less = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, carried, x);
        return arith::SelectOp::create(b, less, x, carried);
      });
    }
    }
    llvm_unreachable("every kind is handled");
  }
};

} // namespace

void rapt::populatePoolingTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TilePoolRows>(patterns.getContext());
}
