//===- KVCache.cpp - New keys and values into the cache's blocks -----------------------===//
//
// The grid is (row, touched block, head): a task owns one head's part of one block, which is
// written for one row alone, so no two tasks touch the same bytes. Rows that touch fewer
// blocks than the grid is wide have tasks without tokens, which return at once.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Tile/CacheBlock.h"
#include "lib/Target/CPU/Tile/Tiling.h"
#include "lib/Target/CPU/Tile/Transpose.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;

namespace {

struct TileKVAppend : OpRewritePattern<attn::KVAppendOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::KVAppendOp op, PatternRewriter &rewriter) const override {
    auto cache = dyn_cast<RankedTensorType>(op.getCache().getType());
    auto key = cast<RankedTensorType>(op.getKey().getType());
    if (!cache || !attn_cpu::CacheLayout::of(cache, key.getDimSize(2)))
      return rewriter.notifyMatchFailure(op, "the cache is not materialized");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    attn_cpu::CacheLayout layout = *attn_cpu::CacheLayout::of(cache, key.getDimSize(2));
    int64_t block = layout.block;
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
          OpFoldResult lines = b.getIndexAttr(layout.lines()), columns = b.getIndexAttr(layout.columns());
          SmallVector<OpFoldResult> sizes{one, one, one, b.getIndexAttr(2), lines, columns};
          Value dest = extract(b, dests[0], offsets, sizes, {2, layout.lines(), layout.columns()});
          auto placeOf = [&](Value token) -> Value {
            return arith::SubIOp::create(b, arith::AddIOp::create(b, token, shift), first);
          };
          Value start = placeOf(from), stop = arith::MaxSIOp::create(b, placeOf(to), start);
          dest = write(b, {op, layout, head, arith::SubIOp::create(b, first, shift)}, start, stop, dest);
          return SmallVector<Insertion>{{dest, offsets, sizes}};
        });
    rewriter.replaceOp(op, results);
    return success();
  }

  /// The keys and values that a task writes to one head's part of a block: place p is token p + toToken.
  struct Source {
    attn::KVAppendOp op;
    attn_cpu::CacheLayout layout;
    Value head, toToken;

    /// Channels [channel, channel + 32) of the key or value at a place.
    Value read(ImplicitLocOpBuilder &b, CachePart part, Value place, Value channel) const {
      attn::KVAppendOp append = op;
      Value token = arith::AddIOp::create(b, place, toToken);
      return readPanel(b, part == Keys ? append.getKey() : append.getValue(), {token, head, channel});
    }
  };

  /// Places [start, stop): keys by sixteen where all of a run are new, the rest one by one.
  static Value write(ImplicitLocOpBuilder &b, const Source &source, Value start, Value stop, Value dest) {
    CacheBlock block(source.layout);
    AffineExpr d0 = b.getAffineDimExpr(0);
    auto reader = [&](CachePart part, Value place) {
      return [&source, part, place](ImplicitLocOpBuilder &b, Value channel) {
        return source.read(b, part, place, channel);
      };
    };
    Value inverses;
    if (source.layout.hasScales()) {
      Value room = tensor::EmptyOp::create(b, ArrayRef<int64_t>{2, source.layout.block}, b.getF32Type());
      SmallVector<Value> scaled =
          loop(b, start, stop, 1, ValueRange{dest, room},
               [&](ImplicitLocOpBuilder &b, Value place, ValueRange carried) -> SmallVector<Value> {
                 auto keys = block.writeScale(b, Keys, place, reader(Keys, place), carried[0], carried[1]);
                 auto both = block.writeScale(b, Values, place, reader(Values, place), keys.first, keys.second);
                 return {both.first, both.second};
               });
      dest = scaled[0], inverses = scaled[1];
    }
    auto aligned = [&](AffineExpr expr, Value place) {
      return asValue(b, affineOf(b, expr * kTransposed, {OpFoldResult(place)}));
    };
    Value runs = arith::MinSIOp::create(b, aligned(d0.ceilDiv(kTransposed), start), stop);
    Value rest = arith::MaxSIOp::create(b, aligned(d0.floorDiv(kTransposed), stop), runs);
    auto keyByKey = [&](ImplicitLocOpBuilder &b, Value place, Value carried) {
      return block.writeKey(b, place, reader(Keys, place), inverses, carried);
    };
    dest = loop(b, start, runs, 1, dest, keyByKey);
    dest = loop(b, runs, rest, kTransposed, dest, [&](ImplicitLocOpBuilder &b, Value place, Value carried) {
      auto read = [&](ImplicitLocOpBuilder &b, int64_t i, Value channel) {
        return source.read(b, Keys, arith::AddIOp::create(b, place, index(b, i)), channel);
      };
      return block.writeKeys(b, place, read, inverses, carried);
    });
    dest = loop(b, rest, stop, 1, dest, keyByKey);
    return loop(b, start, stop, 1, dest, [&](ImplicitLocOpBuilder &b, Value place, Value carried) {
      return block.writeValue(b, place, reader(Values, place), inverses, carried);
    });
  }
};

} // namespace

void rapt::populateKVCacheTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TileKVAppend>(patterns.getContext());
}
