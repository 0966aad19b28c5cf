//===- KVCache.cpp - New keys and values into the cache's blocks -----------------------===//
//
// The grid is (row, touched block, head): a task owns one head's part of one block, so
// no two tasks share a word. Rows that touch fewer blocks than the grid is wide have
// tasks without tokens, which return at once.
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"
#include "lib/Conversion/AttnToLinalg/Transpose.h"

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
          // Keys by sixteen where all of a run are new, the rest one by one.
          auto placeOf = [&](Value token) -> Value {
            return arith::SubIOp::create(b, arith::AddIOp::create(b, token, shift), first);
          };
          Value start = placeOf(from), stop = arith::MaxSIOp::create(b, placeOf(to), start);
          auto aligned = [&](AffineExpr expr, Value place) {
            return asValue(b, affineOf(b, expr * kTurned, {OpFoldResult(place)}));
          };
          Value runs = arith::MinSIOp::create(b, aligned(d0.ceilDiv(kTurned), start), stop);
          Value rest = arith::MaxSIOp::create(b, aligned(d0.floorDiv(kTurned), stop), runs);
          Value toToken = arith::SubIOp::create(b, first, shift);
          auto keyByKey = [&](ImplicitLocOpBuilder &b, Value place, Value carried) {
            return writeKey(b, op, arith::AddIOp::create(b, place, toToken), head, place, channels, carried);
          };
          dest = loop(b, start, runs, 1, dest, keyByKey);
          dest = loop(b, runs, rest, kTurned, dest, [&](ImplicitLocOpBuilder &b, Value place, Value carried) {
            return writeKeys(b, op, arith::AddIOp::create(b, place, toToken), head, place, channels, carried);
          });
          dest = loop(b, rest, stop, 1, dest, keyByKey);
          dest = loop(b, start, stop, 1, dest, [&](ImplicitLocOpBuilder &b, Value place, Value carried) {
            return writeValue(b, op, arith::AddIOp::create(b, place, toToken), head, place, block, channels, carried);
          });
          return SmallVector<Insertion>{{dest, offsets, sizes}};
        });
    rewriter.replaceOp(op, results);
    return success();
  }

  static Value stored(ImplicitLocOpBuilder &b, Value panel, Value dest) {
    Type storage = getElementTypeOrSelf(dest.getType());
    return storage.isF32() ? panel : Value(arith::TruncFOp::create(b, VectorType::get({kPanel}, storage), panel));
  }

  /// The line of a channel in the block's keys, for the panel that holds `place`.
  static Value lineOf(ImplicitLocOpBuilder &b, Value place, Value channel, int64_t channels) {
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    return asValue(b, affineOf(b, d0.floorDiv(kPanel) * channels + d1, {OpFoldResult(place), OpFoldResult(channel)}));
  }

  static Value laneOf(ImplicitLocOpBuilder &b, Value place) {
    return asValue(b, affineOf(b, b.getAffineDimExpr(0) % kPanel, {OpFoldResult(place)}));
  }

  /// One token's key of one head to `place` in the block: a column of a panel.
  static Value writeKey(ImplicitLocOpBuilder &b, attn::KVAppendOp op, Value token, Value head, Value place,
                        int64_t channels, Value dest) {
    Value lane = laneOf(b, place);
    return loop(b, index(b, 0), index(b, channels), kPanel, dest,
                [&](ImplicitLocOpBuilder &b, Value channel, Value carried) -> Value {
                  Value key = stored(b, readPanel(b, op.getKey(), {token, head, channel}), carried);
                  AffineMap downwards = AffineMap::get(3, 0, b.getAffineDimExpr(1));
                  return vector::TransferWriteOp::create(
                             b, key, carried, ValueRange{index(b, 0), lineOf(b, place, channel, channels), lane},
                             downwards, ArrayRef<bool>{true})
                      .getResult();
                });
  }

  /// Sixteen tokens' keys to places from `place` on, which are in one panel.
  static Value writeKeys(ImplicitLocOpBuilder &b, attn::KVAppendOp op, Value token, Value head, Value place,
                         int64_t channels, Value dest) {
    Value lane = laneOf(b, place);
    return loop(b, index(b, 0), index(b, channels), kPanel, dest,
                [&](ImplicitLocOpBuilder &b, Value channel, Value carried) -> Value {
                  auto read = [&](int64_t i) {
                    Value nth = arith::AddIOp::create(b, token, index(b, i));
                    return stored(b, readPanel(b, op.getKey(), {nth, head, channel}), carried);
                  };
                  auto at = [&](int64_t c) {
                    Value line = lineOf(b, place, arith::AddIOp::create(b, channel, index(b, c)), channels);
                    return SmallVector<Value>{index(b, 0), line, lane};
                  };
                  return writeTurned(b, read, at, carried);
                });
  }

  /// One token's value of one head to `place` in the block: rows of the panels.
  static Value writeValue(ImplicitLocOpBuilder &b, attn::KVAppendOp op, Value token, Value head, Value place,
                          int64_t block, int64_t channels, Value dest) {
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    return loop(
        b, index(b, 0), index(b, channels), kPanel, dest, [&](ImplicitLocOpBuilder &b, Value channel, Value carried) {
          Value value = stored(b, readPanel(b, op.getValue(), {token, head, channel}), carried);
          Value row =
              asValue(b, affineOf(b, d0.floorDiv(kPanel) * block + d1, {OpFoldResult(channel), OpFoldResult(place)}));
          return writePanel(b, value, carried, {index(b, 1), row, index(b, 0)});
        });
  }
};

} // namespace

void rapt::populateKVCacheTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TileKVAppend>(patterns.getContext());
}
