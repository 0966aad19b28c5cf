//===- Embedding.cpp - Look-ups of rows ------------------------------------------------===//
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Conversion/AttnToLinalg/Patterns.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

namespace {

struct DecomposeEmbedding : OpRewritePattern<attn::EmbeddingOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::EmbeddingOp op, PatternRewriter &rewriter) const override {
    Value table = op.getTable();
    auto type = cast<RankedTensorType>(table.getType());
    if (type.getRank() != 2 || !isa<FloatType>(type.getElementType()))
      return rewriter.notifyMatchFailure(op, "the table is no matrix of floats");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value init = emptyFor(b, op.getResult(), {extent(b, op.getIds(), 0), extent(b, table, 1)});
    SmallVector<AffineMap> maps{mapOf(b, 2, {0}), b.getMultiDimIdentityMap(2)};
    rewriter.replaceOp(op, generic(b, {op.getIds()}, init, maps, {Loop::Parallel, Loop::Parallel},
                                   [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                                     Value id = arith::IndexCastOp::create(b, b.getIndexType(), x[0]);
                                     Value element = read(b, table, {id, at(b, 1)});
                                     if (op.getScale()) {
                                       Value scale = number(b, op.getScale()->convertToFloat());
                                       element = arith::MulFOp::create(b, element, scale);
                                     }
                                     return rounded(b, element, x.back().getType());
                                   }));
    return success();
  }
};

struct DecomposeSelectRows : OpRewritePattern<attn::SelectRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::SelectRowsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value input = op.getInput();
    const int64_t last = cast<RankedTensorType>(input.getType()).getRank() - 1;
    Value init = emptyFor(b, op.getResult(), {extent(b, op.getRows(), 0), extent(b, input, last)});
    SmallVector<AffineMap> maps{mapOf(b, 2, {0}), b.getMultiDimIdentityMap(2)};
    rewriter.replaceOp(op, generic(b, {op.getRows()}, init, maps, {Loop::Parallel, Loop::Parallel},
                                   [&](ImplicitLocOpBuilder &b, ValueRange x) {
                                     SmallVector<Value> place{arith::IndexCastOp::create(b, b.getIndexType(), x[0])};
                                     if (op.getLayer())
                                       place.push_back(op.getLayer());
                                     place.push_back(at(b, 1));
                                     return rounded(b, read(b, input, place), x.back().getType());
                                   }));
    return success();
  }
};

/// A task is a part of a row that is written.
struct DecomposeWriteRows : OpRewritePattern<attn::WriteRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::WriteRowsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    constexpr int64_t most = 32; // columns of a task, which a thread of a GPU computes
    RankedTensorType type = op.getInput().getType();
    const int64_t columns = type.getDimSize(1);
    const bool isCut = !ShapedType::isDynamic(columns) && columns % most == 0;
    const OpFoldResult one = b.getIndexAttr(1), width = isCut ? b.getIndexAttr(most) : extent(b, op.getInput(), 1);
    rewriter.replaceOp(op, grid(b, {extent(b, op.getRows(), 0), b.getIndexAttr(isCut ? columns / most : 1)},
                                op.getInput(), [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
                                  Value first = arith::MulIOp::create(b, ids[1], index(b, most));
                                  SmallVector<OpFoldResult> from{ids[0]}, extents{one};
                                  if (op.getLayer())
                                    from.push_back(op.getLayer()), extents.push_back(one);
                                  from.push_back(first), extents.push_back(width);
                                  auto part = RankedTensorType::get({1, isCut ? most : columns},
                                                                    getElementTypeOrSelf(op.getValues().getType()));
                                  Value values =
                                      tensor::ExtractSliceOp::create(b, part, op.getValues(), from, extents,
                                                                     SmallVector<OpFoldResult>(from.size(), one));
                                  SmallVector<OpFoldResult> at{readIndex(b, op.getRows(), ids[0]), first},
                                      sizes{one, width};
                                  Value row = forEach(b, values, slice(b, dests[0], at, sizes),
                                                      [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                                                        Value value = widened(b, x[0]);
                                                        if (op.getKind() == attn::RowWrite::add)
                                                          value = arith::AddFOp::create(b, widened(b, x[1]), value);
                                                        return rounded(b, value, x[1].getType());
                                                      });
                                  return SmallVector<Insertion>{{row, at, sizes}};
                                }));
    return success();
  }
};

} // namespace

void neutral::populateEmbedding(RewritePatternSet &patterns) {
  patterns.add<DecomposeEmbedding, DecomposeSelectRows, DecomposeWriteRows>(patterns.getContext());
}
