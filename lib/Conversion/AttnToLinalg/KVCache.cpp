//===- KVCache.cpp - New keys and values into the cache's blocks -----------------------===//
//
// The grid is (row, touched block, head): a task owns one head's part of one block, so
// no two tasks share a word. Rows that touch fewer blocks than the grid is wide have
// tasks without tokens, which return at once.
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"
#include "lib/Conversion/AttnToLinalg/Tile.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::kPanel;

namespace {

struct TileKVAppend : OpRewritePattern<attn::KVAppendOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::KVAppendOp op, PatternRewriter &rewriter) const override {
    auto cache = dyn_cast<RankedTensorType>(op.getCache().getType());
    auto key = cast<RankedTensorType>(op.getKey().getType());
    if (!cache || cache.getRank() != 6 || key.getDimSize(2) % kPanel != 0)
      return rewriter.notifyMatchFailure(op, "the cache is not materialised");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    int64_t channels = key.getDimSize(2), lines = cache.getDimSize(4), block = lines * kPanel / channels;
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
    OpFoldResult rows = extent(b, op.getPast(), 0), tokens = extent(b, op.getKey(), 0);
    SmallVector<OpFoldResult> extents{rows, affineOf(b, d0.ceilDiv(block) + 1, {tokens}),
                                      b.getIndexAttr(key.getDimSize(1))};
    SmallVector<Value> results =
        grid(b, extents, op.getCache(), [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
          Value row = ids[0], head = ids[2];
          Value begin = readIndex(b, op.getRowBegin(), row);
          Value end = readIndex(b, op.getRowBegin(), arith::AddIOp::create(b, row, index(b, 1)).getResult());
          Value past = readIndex(b, op.getPast(), row);
          // The task's block holds positions [first, first + block); its tokens are those of the row that fall in.
          Value nth = asValue(b, affineOf(b, d0.floorDiv(block) + d1, {OpFoldResult(past), OpFoldResult(ids[1])}));
          Value first = asValue(b, affineOf(b, d0 * block, {OpFoldResult(nth)}));
          Value shift = arith::SubIOp::create(b, past, begin); // token + shift = position
          Value from = arith::MaxSIOp::create(b, arith::SubIOp::create(b, first, shift), begin);
          Value last = arith::AddIOp::create(b, arith::SubIOp::create(b, first, shift), index(b, block));
          Value to = arith::MinSIOp::create(b, last, end);
          // A task without tokens may be beyond the table: it looks at the row's first block and writes nothing.
          Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, from, to);
          Value column = arith::SelectOp::create(b, isEmpty, index(b, 0), nth);
          Value blockId = readIndex(b, op.getTable(), {row, column});

          SmallVector<OpFoldResult> offsets{blockId, op.getLayer(), head, zero, zero, zero};
          SmallVector<OpFoldResult> sizes{
              one, one, one, b.getIndexAttr(2), b.getIndexAttr(lines), b.getIndexAttr(kPanel)};
          Value dest = extract(b, dests[0], offsets, sizes, {2, lines, kPanel});
          dest = loop(b, from, to, 1, dest, [&](ImplicitLocOpBuilder &b, Value token, Value carried) {
            Value place = arith::SubIOp::create(b, arith::AddIOp::create(b, token, shift), first);
            return writeToken(b, op, token, head, place, channels, block, carried);
          });
          return SmallVector<Insertion>{{dest, offsets, sizes}};
        });
    rewriter.replaceOp(op, results);
    return success();
  }

  /// One token's key and value of one head to `place` in the block: a column of a key panel, rows of the value panels.
  static Value writeToken(ImplicitLocOpBuilder &b, attn::KVAppendOp op, Value token, Value head, Value place,
                          int64_t channels, int64_t block, Value dest) {
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    Value lane = asValue(b, affineOf(b, d0 % kPanel, {OpFoldResult(place)}));
    return loop(b, index(b, 0), index(b, channels), kPanel, dest,
                [&](ImplicitLocOpBuilder &b, Value channel, Value carried) -> Value {
                  Type storage = getElementTypeOrSelf(carried.getType());
                  auto store = [&](Value panel) -> Value {
                    return storage.isF32()
                               ? panel
                               : Value(arith::TruncFOp::create(b, VectorType::get({kPanel}, storage), panel));
                  };
                  Value key = store(readPanel(b, op.getKey(), {token, head, channel}));
                  Value line = asValue(b, affineOf(b, d0.floorDiv(kPanel) * channels + d1,
                                                   {OpFoldResult(place), OpFoldResult(channel)}));
                  AffineMap downwards = AffineMap::get(3, 0, b.getAffineDimExpr(1));
                  carried = vector::TransferWriteOp::create(b, key, carried, ValueRange{index(b, 0), line, lane},
                                                            downwards, ArrayRef<bool>{true})
                                .getResult();
                  Value value = store(readPanel(b, op.getValue(), {token, head, channel}));
                  Value row = asValue(
                      b, affineOf(b, d0.floorDiv(kPanel) * block + d1, {OpFoldResult(channel), OpFoldResult(place)}));
                  return writePanel(b, value, carried, {index(b, 1), row, index(b, 0)});
                });
  }
};

} // namespace

void rapt::populateKVCacheTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TileKVAppend>(patterns.getContext());
}
