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
    auto key = cast<RankedTensorType>(op.getKey().getType()), value = cast<RankedTensorType>(op.getValue().getType());
    std::optional<attn_cpu::CacheLayout> ofKeys = attn_cpu::CacheLayout::ofKeys(op),
                                         ofValues = attn_cpu::CacheLayout::ofValues(op);
    if (!ofKeys || !ofValues)
      return rewriter.notifyMatchFailure(op, "the cache is not memory in panels");
    if (key.getDimSize(2) != ofKeys->channels || value.getDimSize(2) != ofValues->channels)
      return rewriter.notifyMatchFailure(op, "keys and values do not have the padding of the cache");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    const Layouts layouts{*ofKeys, *ofValues, bool(op.getValueCache())};
    SmallVector<Value> pools{op.getCache()};
    if (layouts.areApart)
      pools.push_back(op.getValueCache());
    int64_t block = layouts.keys.block;
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
    OpFoldResult rows = extent(b, op.getPast(), 0), tokens = extent(b, op.getKey(), 0);
    SmallVector<OpFoldResult> extents{rows, affineOf(b, d0.ceilDiv(block) + 1, {tokens}),
                                      b.getIndexAttr(key.getDimSize(1))};
    SmallVector<Value> results =
        grid(b, extents, pools, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
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
          // A task without tokens may be beyond the table: it reads the number of the row's first block and writes
          // nothing.
          Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, from, to);
          Value column = arith::SelectOp::create(b, isEmpty, index(b, 0), nth);
          Value blockId = readIndex(b, op.getTable(), {row, column});

          SmallVector<Insertion> insertions;
          SmallVector<Value> slices;
          for (auto [i, dest] : llvm::enumerate(dests)) {
            const attn_cpu::CacheLayout &layout = i == 0 ? layouts.keys : layouts.values;
            SmallVector<OpFoldResult> offsets{blockId, op.getLayer(), head, zero, zero, zero};
            OpFoldResult lines = b.getIndexAttr(layout.lines()), columns = b.getIndexAttr(layout.columns());
            const int64_t parts = layouts.areApart ? 1 : 2;
            SmallVector<OpFoldResult> sizes{one, one, one, b.getIndexAttr(parts), lines, columns};
            slices.push_back(extract(b, dest, offsets, sizes, {parts, layout.lines(), layout.columns()}));
            insertions.push_back({Value(), offsets, sizes});
          }
          auto placeOf = [&](Value token) -> Value {
            return arith::SubIOp::create(b, arith::AddIOp::create(b, token, shift), first);
          };
          Value start = placeOf(from), stop = arith::MaxSIOp::create(b, placeOf(to), start);
          write(b, {op, layouts, head, arith::SubIOp::create(b, first, shift)}, start, stop, slices);
          for (auto [insertion, tile] : llvm::zip_equal(insertions, slices))
            insertion.tile = tile;
          return insertions;
        });
    rewriter.replaceOp(op, results);
    return success();
  }

  /// How keys and values lie, in one pool or each in its own.
  struct Layouts {
    attn_cpu::CacheLayout keys, values;
    bool areApart;
  };

  /// The keys and values that a task writes to one head's part of a block: place p is token p + toToken.
  struct Source {
    attn::KVAppendOp op;
    Layouts layouts;
    Value head, toToken;

    /// Channels [channel, channel + count) of the key or value at a position.
    Value read(ImplicitLocOpBuilder &b, CachePart part, Value place, Value channel,
               int64_t count = attn_cpu::kPanel) const {
      attn::KVAppendOp append = op;
      Value token = arith::AddIOp::create(b, place, toToken);
      return readPanel(b, part == Keys ? append.getKey() : append.getValue(), {token, head, channel}, count);
    }
  };

  /// Writes the scales of positions [start, stop) to `dests`. Returns the factors that quantize them; null where no
  /// part is quantized.
  template <typename Reader>
  static Value writeScales(ImplicitLocOpBuilder &b, const Source &source, Reader reader, Value start, Value stop,
                           SmallVector<Value> &dests) {
    const Layouts &layouts = source.layouts;
    if (!layouts.keys.hasScales() && !layouts.values.hasScales())
      return {};
    Value factors = tensor::EmptyOp::create(b, ArrayRef<int64_t>{2, layouts.keys.block}, b.getF32Type());
    SmallVector<Value> carried(dests);
    carried.push_back(factors);
    SmallVector<Value> scaled =
        loop(b, start, stop, 1, carried,
             [&](ImplicitLocOpBuilder &b, Value place, ValueRange carried) -> SmallVector<Value> {
               SmallVector<Value> next(carried.drop_back());
               Value inverses = carried.back();
               for (auto [part, layout, dest] :
                    {std::tuple(Keys, &layouts.keys, &next.front()), std::tuple(Values, &layouts.values, &next.back())})
                 if (layout->hasScales())
                   std::tie(*dest, inverses) = CacheBlock(*layout, layouts.areApart)
                                                   .writeScale(b, part, place, reader(part, place), *dest, inverses);
               next.push_back(inverses);
               return next;
             });
    Value inverses = scaled.pop_back_val();
    dests = scaled;
    return inverses;
  }

  /// Places [start, stop) of `dests`, the pool's part or one of keys and one of values: keys by sixteen where all of a
  /// run are new, the rest one by one.
  static void write(ImplicitLocOpBuilder &b, const Source &source, Value start, Value stop, SmallVector<Value> &dests) {
    const Layouts &layouts = source.layouts;
    CacheBlock ofKeys(layouts.keys, layouts.areApart), ofValues(layouts.values, layouts.areApart);
    AffineExpr d0 = b.getAffineDimExpr(0);
    auto reader = [&](CachePart part, Value place) {
      return [&source, part, place](ImplicitLocOpBuilder &b, Value channel) {
        return source.read(b, part, place, channel);
      };
    };
    Value inverses = writeScales(b, source, reader, start, stop, dests);
    Value keyInverses = layouts.keys.hasScales() ? inverses : Value(),
          valueInverses = layouts.values.hasScales() ? inverses : Value();
    auto aligned = [&](AffineExpr expr, Value place) {
      return asValue(b, affineOf(b, expr * kTransposed, {OpFoldResult(place)}));
    };
    Value runs = arith::MinSIOp::create(b, aligned(d0.ceilDiv(kTransposed), start), stop);
    Value rest = arith::MaxSIOp::create(b, aligned(d0.floorDiv(kTransposed), stop), runs);
    auto keyByKey = [&](ImplicitLocOpBuilder &b, Value place, Value carried) {
      return ofKeys.writeKey(b, place, reader(Keys, place), keyInverses, carried);
    };
    Value &dest = dests.front();
    dest = loop(b, start, runs, 1, dest, keyByKey);
    dest = loop(b, runs, rest, kTransposed, dest, [&](ImplicitLocOpBuilder &b, Value place, Value carried) {
      auto read = [&](ImplicitLocOpBuilder &b, int64_t i, Value channel, int64_t count) {
        return source.read(b, Keys, arith::AddIOp::create(b, place, index(b, i)), channel, count);
      };
      return ofKeys.writeKeys(b, place, read, keyInverses, carried);
    });
    dest = loop(b, rest, stop, 1, dest, keyByKey);
    dests.back() = loop(b, start, stop, 1, dests.back(), [&](ImplicitLocOpBuilder &b, Value place, Value carried) {
      return ofValues.writeValue(b, place, reader(Values, place), valueInverses, carried);
    });
  }
};

} // namespace

void rapt::populateKVCacheTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TileKVAppend>(patterns.getContext());
}
