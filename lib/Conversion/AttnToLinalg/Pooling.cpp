//===- Pooling.cpp - One vector for a row of tokens -------------------------------------===//
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Conversion/AttnToLinalg/Patterns.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

namespace {

/// Every element by a loop over its row's tokens.
struct DecomposePoolRows : OpRewritePattern<attn::PoolRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::PoolRowsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value one = index(b, 1);
    OpFoldResult rows = Value(arith::SubIOp::create(b, asValue(b, extent(b, op.getRowBegin(), 0)), one));
    Value init = emptyFor(b, op.getResult(), {rows, extent(b, op.getInput(), 1)});
    rewriter.replaceOp(op, forEach(b, {}, init, [&](ImplicitLocOpBuilder &b, ValueRange x) {
                         return rounded(b, element(b, op), x[0].getType());
                       }));
    return success();
  }

  static Value element(ImplicitLocOpBuilder &b, attn::PoolRowsOp op) {
    Value row = at(b, 0), column = at(b, 1), zero = number(b, 0);
    Value end = readIndex(b, op.getRowBegin(), Value(arith::AddIOp::create(b, row, index(b, 1))));
    Value begin = arith::AddIOp::create(b, readIndex(b, op.getRowBegin(), row), index(b, op.getSkip()));
    begin = arith::MinSIOp::create(b, begin, end);
    Value first = begin, last = end;
    if (op.getKind() == attn::PoolingKind::first)
      last = arith::MinSIOp::create(b, end, arith::AddIOp::create(b, begin, index(b, 1)));
    if (op.getKind() == attn::PoolingKind::last)
      first = arith::MaxSIOp::create(b, begin, arith::SubIOp::create(b, end, index(b, 1)));
    Value value = loop(b, first, last, 1, zero, [&](ImplicitLocOpBuilder &b, Value token, Value carried) -> Value {
      Value x = read(b, op.getInput(), {token, column});
      if (op.getKind() != attn::PoolingKind::max)
        return arith::AddFOp::create(b, carried, x);
      Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, token, first);
      Value isLarger = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, carried, x);
      return arith::SelectOp::create(b, arith::OrIOp::create(b, isFirst, isLarger), x, carried);
    });
    if (op.getKind() != attn::PoolingKind::mean)
      return value;
    Value count = arith::IndexCastOp::create(b, b.getI64Type(), arith::SubIOp::create(b, end, begin));
    Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, begin, end);
    Value mean = arith::DivFOp::create(b, value, arith::SIToFPOp::create(b, b.getF32Type(), count));
    return arith::SelectOp::create(b, isEmpty, zero, mean);
  }
};

} // namespace

void neutral::populatePooling(RewritePatternSet &patterns) { patterns.add<DecomposePoolRows>(patterns.getContext()); }
