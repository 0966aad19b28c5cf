//===- Experts.cpp - Tiles attn.group_rows and attn.combine_rows -----------------------===//
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/Target/CPU/Tile/Tiling.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn_cpu::kPanel;

namespace {

Value writeIndex(ImplicitLocOpBuilder &b, Value number, Value tensor, ValueRange at) {
  return tensor::InsertOp::create(b, arith::IndexCastOp::create(b, b.getI32Type(), number), tensor, at);
}
Value plus(ImplicitLocOpBuilder &b, Value x, Value y) { return arith::AddIOp::create(b, x, y); }

/// A counting sort, whose steps depend on one another: loops, not a grid. Pairs are few numbers beside the rows of
/// which they are.
struct TileGroupRows : OpRewritePattern<attn::GroupRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::GroupRowsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    const int64_t k = op.getExperts().getType().getDimSize(1);
    OpFoldResult tokens = extent(b, op.getExperts(), 0), pairs = affineOf(b, b.getAffineDimExpr(0) * k, {tokens});
    auto [firsts, groups] = emitGroups(b, op, emitCounts(b, op, tokens), asValue(b, pairs));
    SmallVector<Value> init{firsts, empty(b, op.getRows().getType(), {pairs}),
                            empty(b, op.getIndices().getType(), {tokens, b.getIndexAttr(k)})};
    SmallVector<Value> placed =
        overPairs(b, op, tokens, init, [](ImplicitLocOpBuilder &b, const Pair &pair, ValueRange carried) {
          Value place = readIndex(b, carried[0], pair.expert);
          return SmallVector<Value>{
              writeIndex(b, plus(b, place, index(b, 1)), carried[0], pair.expert),
              writeIndex(b, pair.token, carried[1], place),
              writeIndex(b, place, carried[2], {pair.token, pair.choice}),
          };
        });
    rewriter.replaceOp(op, {placed[1], placed[2], groups});
    return success();
  }

  struct Pair {
    Value token, choice, expert;
  };

  static SmallVector<Value>
  overPairs(ImplicitLocOpBuilder &b, attn::GroupRowsOp op, OpFoldResult tokens, ValueRange init,
            llvm::function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, const Pair &, ValueRange carried)> body) {
    Value zero = index(b, 0), k = index(b, op.getExperts().getType().getDimSize(1));
    return loop(b, zero, asValue(b, tokens), 1, init, [&](ImplicitLocOpBuilder &b, Value token, ValueRange carried) {
      return loop(b, zero, k, 1, carried, [&](ImplicitLocOpBuilder &b, Value choice, ValueRange carried) {
        return body(b, {token, choice, readIndex(b, op.getExperts(), {token, choice})}, carried);
      });
    });
  }

  static int64_t expertsOf(attn::GroupRowsOp op) { return op.getGroups().getType().getDimSize(0) - 1; }

  /// The number of pairs of each expert.
  static Value emitCounts(ImplicitLocOpBuilder &b, attn::GroupRowsOp op, OpFoldResult tokens) {
    Value zero = index(b, 0), counts = tensor::EmptyOp::create(b, ArrayRef<int64_t>{expertsOf(op)}, b.getI32Type());
    counts =
        loop(b, zero, index(b, expertsOf(op)), 1, counts, [&](ImplicitLocOpBuilder &b, Value expert, Value carried) {
          return writeIndex(b, zero, carried, expert);
        });
    return overPairs(b, op, tokens, counts, [](ImplicitLocOpBuilder &b, const Pair &pair, ValueRange carried) {
      Value count = plus(b, readIndex(b, carried[0], pair.expert), index(b, 1));
      return SmallVector<Value>{writeIndex(b, count, carried[0], pair.expert)};
    })[0];
  }

  /// The first pair of each expert, which overwrites the counts, and the groups.
  static std::pair<Value, Value> emitGroups(ImplicitLocOpBuilder &b, attn::GroupRowsOp op, Value counts, Value pairs) {
    Value zero = index(b, 0), one = index(b, 1);
    auto withGroup = [&](ImplicitLocOpBuilder &b, Value groups, Value group, Value first, Value expert) {
      return writeIndex(b, expert, writeIndex(b, first, groups, {group, zero}), {group, one});
    };
    Value init = empty(b, op.getGroups().getType(), {b.getIndexAttr(expertsOf(op) + 1), b.getIndexAttr(2)});
    // An expert without pairs writes its group where the next one overwrites it.
    SmallVector<Value> all = loop(b, zero, index(b, expertsOf(op)), 1, ValueRange{counts, init, zero, zero},
                                  [&](ImplicitLocOpBuilder &b, Value expert, ValueRange carried) {
                                    Value first = carried[2], group = carried[3],
                                          count = readIndex(b, carried[0], expert);
                                    Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, count, zero);
                                    return SmallVector<Value>{
                                        writeIndex(b, first, carried[0], expert),
                                        withGroup(b, carried[1], group, first, expert),
                                        plus(b, first, count),
                                        arith::SelectOp::create(b, isEmpty, group, plus(b, group, one)),
                                    };
                                  });
    Value groups = loop(
        b, all[3], index(b, expertsOf(op) + 1), 1, all[1],
        [&](ImplicitLocOpBuilder &b, Value group, Value carried) { return withGroup(b, carried, group, pairs, zero); });
    return {all[0], groups};
  }
};

struct TileCombineRows : OpRewritePattern<attn::CombineRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::CombineRowsOp op, PatternRewriter &rewriter) const override {
    if (!fillsPanels(op.getResult()))
      return refuseColumns(rewriter, op, op.getResult());
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    RankedTensorType type = op.getResult().getType();
    auto panel = VectorType::get({kPanel}, b.getF32Type());
    Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(panel));
    Value k = index(b, op.getWeights().getType().getDimSize(1));
    Value dest = destination(b, op.getResult(), {extent(b, op.getWeights(), 0), b.getIndexAttr(type.getDimSize(1))});
    rewriter.replaceOp(
        op, rowGrid(b, dest, [&](ImplicitLocOpBuilder &b, Value row, Value dest) {
          return forPanels(b, type.getDimSize(1), dest, [&](ImplicitLocOpBuilder &b, Value column, Value) {
            return loop(b, index(b, 0), k, 1, zeros, [&](ImplicitLocOpBuilder &b, Value j, Value sum) -> Value {
              Value place = placeOf(b, op, row, j);
              Value x = readPanel(b, op.getInput(), {place, column});
              Value weight = splat(b, weightOf(b, op, {row, j}));
              return arith::AddFOp::create(b, sum, arith::MulFOp::create(b, weight, x));
            });
          });
        }));
    return success();
  }

  static Value weightOf(ImplicitLocOpBuilder &b, attn::CombineRowsOp op, ValueRange at) {
    Value weight = tensor::ExtractOp::create(b, op.getWeights(), at);
    return weight.getType().isF32() ? weight : Value(arith::ExtFOp::create(b, b.getF32Type(), weight));
  }
};

} // namespace

void rapt::populateExpertsTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TileGroupRows, TileCombineRows>(patterns.getContext());
}
