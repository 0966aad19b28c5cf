//===- Position.cpp - Positions of packed tokens, rotary embedding ----------------------===//
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"
#include "lib/Conversion/AttnToLinalg/Tile.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;

namespace {

/// A few integers per step: two nested loops, not a parallel region.
struct TilePositions : OpRewritePattern<attn::PositionsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::PositionsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value rows = arith::SubIOp::create(b, asValue(b, extent(b, op.getRowBegin(), 0)), index(b, 1));
    Value dest = empty(b, cast<RankedTensorType>(op.getResult().getType()), {extent(b, op.getTokens(), 0)});
    Value result = loop(b, index(b, 0), rows, 1, dest, [&](ImplicitLocOpBuilder &b, Value r, Value carried) {
      Value begin = readIndex(b, op.getRowBegin(), r);
      Value end = readIndex(b, op.getRowBegin(), arith::AddIOp::create(b, r, index(b, 1)).getResult());
      Value past = op.getPast() ? readIndex(b, op.getPast(), r) : index(b, 0);
      Value shift = arith::SubIOp::create(b, past, begin);
      return loop(b, begin, end, 1, carried, [&](ImplicitLocOpBuilder &b, Value t, Value inner) -> Value {
        Value position = arith::IndexCastOp::create(b, b.getI32Type(), arith::AddIOp::create(b, t, shift));
        return tensor::InsertOp::create(b, position, inner, t);
      });
    });
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void rapt::populatePositionTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TilePositions>(patterns.getContext());
}
