//===- KVCache.cpp - New keys and values into the cache's blocks ---------------------------===//
//
// A task owns one head's part of one block, or some positions and channels of it, which is
// written for one row alone, so no two tasks touch the same elements. Rows that touch fewer
// blocks than the grid is wide have tasks without tokens.
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Conversion/AttnToLinalg/Patterns.h"
#include "lib/Conversion/Schedule.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

namespace {

struct DecomposeKVAppend : OpRewritePattern<attn::KVAppendOp> {
  DecomposeKVAppend(MLIRContext *context, const CacheAccess *cache) : OpRewritePattern(context), cache(cache) {}

  LogicalResult matchAndRewrite(attn::KVAppendOp op, PatternRewriter &rewriter) const override {
    auto key = cast<RankedTensorType>(op.getKey().getType()), value = cast<RankedTensorType>(op.getValue().getType());
    std::optional<attn::CacheLayoutInterface> layout = op.getLayout();
    if (!cache || !layout || !cache->knows(*layout))
      return rewriter.notifyMatchFailure(op, "no layout of the cache is known");
    if (key.getDimSize(2) != layout->getKeys() || value.getDimSize(2) != layout->getValues())
      return rewriter.notifyMatchFailure(op, "keys and values have padding");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    const int64_t block = layout->getPositions();
    const auto [positions, channels] = tilesOf(op, *layout);
    AffineExpr d0 = b.getAffineDimExpr(0);
    OpFoldResult most = affineOf(b, d0.ceilDiv(block) + 1, {extent(b, op.getKey(), 0)});
    SmallVector<OpFoldResult> tasks{extent(b, op.getPast(), 0), most, b.getIndexAttr(key.getDimSize(1))};
    const bool isSplit = positions != block || channels != 0;
    if (isSplit)
      tasks.append({b.getIndexAttr(block / positions), b.getIndexAttr(channels ? layout->getKeys() / channels : 1)});
    SmallVector<Value> pools{op.getCache()};
    if (op.getValueCache())
      pools.push_back(op.getValueCache());
    rewriter.replaceOp(
        op, grid(b, tasks, pools, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
          Value row = ids[0], head = ids[2], length = index(b, block);
          Value begin = readIndex(b, op.getRowBegin(), row);
          Value end = readIndex(b, op.getRowBegin(), Value(arith::AddIOp::create(b, row, index(b, 1))));
          Value past = readIndex(b, op.getPast(), row);
          // The task holds positions [first, first + positions); its tokens are those of the row that fall in.
          Value nth = arith::AddIOp::create(b, arith::DivUIOp::create(b, past, length), ids[1]);
          Value first = arith::MulIOp::create(b, nth, length), shift = arith::SubIOp::create(b, past, begin);
          Value ofBlock, column;
          if (isSplit) {
            ofBlock = arith::MulIOp::create(b, ids[3], index(b, positions));
            first = arith::AddIOp::create(b, first, ofBlock);
          }
          if (channels)
            column = arith::MulIOp::create(b, ids[4], index(b, channels));
          Value toToken = arith::SubIOp::create(b, first, shift); // place + toToken = token
          Value from = arith::MaxSIOp::create(b, toToken, begin);
          Value to = arith::MinSIOp::create(b, arith::AddIOp::create(b, toToken, index(b, positions)), end);
          // A task without tokens may be beyond the table: it reads the number of the row's first block and writes
          // nothing.
          Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, from, to);
          Value blockId = readIndex(b, op.getTable(), {row, arith::SelectOp::create(b, isEmpty, index(b, 0), nth)});

          SmallVector<Insertion> insertions;
          SmallVector<Value> slices;
          for (Value dest : dests) {
            SmallVector<OpFoldResult> sizes = extents(b, dest), offsets(sizes.size(), b.getIndexAttr(0));
            offsets[0] = blockId, offsets[1] = op.getLayer(), offsets[2] = head;
            std::fill_n(sizes.begin(), 3, b.getIndexAttr(1));
            if (isSplit)
              offsets[4] = ofBlock, sizes[4] = b.getIndexAttr(positions);
            if (channels)
              offsets[5] = column, sizes[5] = b.getIndexAttr(channels);
            slices.push_back(slice(b, dest, offsets, sizes));
            insertions.push_back({Value(), offsets, sizes});
          }
          SmallVector<Value> written =
              loop(b, from, to, 1, slices, [&](ImplicitLocOpBuilder &b, Value token, ValueRange carried) {
                Value place = arith::SubIOp::create(b, token, toToken);
                SmallVector<Value> next(carried);
                next.front() = cache->write(b, *layout, next.front(), CacheAccess::Keys, place,
                                            rowOf(b, op.getKey(), token, head, column, channels));
                next.back() = cache->write(b, *layout, next.back(), CacheAccess::Values, place,
                                           rowOf(b, op.getValue(), token, head, column, channels));
                return next;
              });
          for (auto [insertion, tile] : llvm::zip_equal(insertions, written))
            insertion.tile = tile;
          return insertions;
        }));
    return success();
  }

  /// [1, 1, channels]; from `column` on so many, where it is there.
  static Value rowOf(ImplicitLocOpBuilder &b, Value source, Value token, Value head, Value column, int64_t channels) {
    OpFoldResult one = b.getIndexAttr(1);
    if (column)
      return slice(b, source, {token, head, column}, {one, one, b.getIndexAttr(channels)});
    return slice(b, source, {token, head, b.getIndexAttr(0)}, {one, one, extent(b, source, 2)});
  }

  struct Tiles {
    int64_t positions, channels; ///< channels are 0 where a task has those of a row
  };
  /// The schedule, with all positions of a block where it has none.
  Tiles tilesOf(attn::KVAppendOp op, attn::CacheLayoutInterface layout) const {
    Tiles tiles{layout.getPositions(), 0};
    auto schedule = attn::scheduleOf<attn::AppendTilesAttr>(op);
    if (!schedule)
      return tiles;
    tiles.positions = schedule.getPositions().value_or(tiles.positions);
    const std::optional<int64_t> channels = schedule.getChannels();
    auto canBeSplit = [&](Value pool) { return cache->canBeSplit(getElementTypeOrSelf(pool.getType())); };
    if (channels && layout.getKeys() == layout.getValues() && layout.getKeys() % *channels == 0 &&
        canBeSplit(op.getCache()) && (!op.getValueCache() || canBeSplit(op.getValueCache())))
      tiles.channels = *channels;
    return tiles;
  }

  const CacheAccess *cache;
};

} // namespace

void neutral::populateKVCache(RewritePatternSet &patterns, const CacheAccess *cache) {
  patterns.add<DecomposeKVAppend>(patterns.getContext(), cache);
}
