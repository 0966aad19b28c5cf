//===- AttentionSplits.cpp - Split-KV attention (flash-decoding) ---------------------------===//
//
// In decode a sequence has one query and a long cache. The grid is (sequence, key/value head,
// tile of its query heads, split). The heads of a group are one tile, so that each key is
// read once. The splits of a sequence depend on its length, never on the number of threads (A24). A
// second grid combines the states of the splits, from that of the sinks: each counts once (A41).
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/CacheLayout.h"
#include "lib/Target/CPU/Tile/AttentionBlocks.h"
#include "lib/Target/CPU/Tile/KeptKeys.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::AttentionOp;

namespace {

struct SplitAttention {
  AttentionTask prototype;
  OpFoldResult rows, keyHeads, queries, keys;
  int64_t groups, heads; ///< query heads of a key/value head, and of a tile

  /// Sets the task's sequence, key/value head and query heads from the first three of `ids`. Returns the sequence's
  /// number of queries, 0 or 1.
  Value locate(ImplicitLocOpBuilder &b, AttentionTask &task, ValueRange ids) const {
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    task.sequence = ids[0], task.kvHead = ids[1];
    task.group = asValue(b, affineOf(b, d0 * heads, {OpFoldResult(ids[2])}));
    task.head = asValue(b, affineOf(b, d0 * groups + d1, {OpFoldResult(ids[1]), OpFoldResult(task.group)}));
    return locateSequence(b, task, queries, keys);
  }

  KeyBlocks blocks(ImplicitLocOpBuilder &b, const AttentionTask &task) const {
    return blocksOf(b, task, task.offset, index(b, 1));
  }

  /// Blocks per split of a sequence that attends to the blocks before `end`.
  Value splitSize(ImplicitLocOpBuilder &b, Value end) const {
    Value share = asValue(b, affineOf(b, b.getAffineDimExpr(0).ceilDiv(maxSplits()), {OpFoldResult(end)}));
    return arith::MaxSIOp::create(b, share, index(b, minBlocks()));
  }
  int64_t maxSplits() const { return *prototype.schedule.splits; }
  int64_t minBlocks() const { return *prototype.schedule.splitKeys / prototype.block; }
  Value splitsTo(ImplicitLocOpBuilder &b, Value end) const {
    return arith::CeilDivUIOp::create(b, end, splitSize(b, end));
  }

  /// The most splits of a sequence; 0 without `isDecode`.
  Value mostSplits(ImplicitLocOpBuilder &b, Value isDecode) const {
    Value all = arith::SelectOp::create(b, isDecode, asValue(b, rows), index(b, 0));
    return loop(b, index(b, 0), all, 1, index(b, 0), [&](ImplicitLocOpBuilder &b, Value row, Value most) -> Value {
      AttentionTask task = prototype;
      locate(b, task, {row, index(b, 0), index(b, 0)});
      return arith::MaxSIOp::create(b, most, splitsTo(b, blocks(b, task).end));
    });
  }

  QueryTile query(ImplicitLocOpBuilder &b, const AttentionTask &task) const {
    return heads > 1 ? groupTile(b, task, heads) : queryTile(b, task, b.getIndexAttr(1), index(b, 0));
  }

  /// The state after the KV blocks of `range`. Blocks that matmuls cannot read are converted to f32 one by one.
  SmallVector<Value> attend(ImplicitLocOpBuilder &b, const AttentionTask &task, const KeyBlocks &range) const {
    QueryTile tile = query(b, task);
    SmallVector<Value> state = emptyState(b, stateBuffers(b, task, heads));
    if (!needsWidening(task) || readsInRegisters(task))
      return update(b, task, tile, range, state);
    return loop(b, range.from, range.end, 1, state, [&](ImplicitLocOpBuilder &b, Value nth, ValueRange carried) {
      Value next = arith::AddIOp::create(b, nth, index(b, 1));
      return whereKept(b, task, {tile.inSequence, index(b, 1), nth, next}, Reads::Vectors, carried,
                       [&](ImplicitLocOpBuilder &b) {
                         AttentionTask wide = task;
                         wide.widened = widenKeys(b, task, nth, next, 1);
                         return update(b, wide, tile, within(b, range, nth, next), carried);
                       });
    });
  }

  static KeyBlocks within(ImplicitLocOpBuilder &b, KeyBlocks range, Value from, Value end) {
    for (Value *bound : {&range.from, &range.wholeFrom, &range.wholeEnd, &range.end})
      *bound = arith::MinSIOp::create(b, arith::MaxSIOp::create(b, *bound, from), end);
    return range;
  }

  /// The states of all splits: acc [rows, key heads, tiles, splits, heads, channels], max and sum without channels.
  SmallVector<Value> partialStates(ImplicitLocOpBuilder &b, OpFoldResult activeRows, OpFoldResult splits) const {
    attn::KVViewOp view = prototype.view;
    OpFoldResult least = affineOf(b, b.getAffineDimExpr(0).ceilDiv(minBlocks()), {extent(b, view.getTable(), 1)}),
                 most = affineMin(b, {least, b.getIndexAttr(maxSplits())});
    OpFoldResult tiles = b.getIndexAttr(groups / heads), count = b.getIndexAttr(heads),
                 channels = b.getIndexAttr(prototype.valueChannels);
    auto makeBuffer = [&](SmallVector<OpFoldResult> extents) -> Value {
      return tensor::EmptyOp::create(b, extents, b.getF32Type());
    };
    Value dests[] = {makeBuffer({rows, keyHeads, tiles, most, count, channels}),
                     makeBuffer({rows, keyHeads, tiles, most, count}),
                     makeBuffer({rows, keyHeads, tiles, most, count})};
    auto body = [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
      AttentionTask task = prototype;
      Value found = locate(b, task, ids);
      KeyBlocks range = blocks(b, task);
      Value size = splitSize(b, range.end), begin = arith::MulIOp::create(b, ids[3], size);
      Value end = arith::AddIOp::create(b, begin, size);
      // A task beyond its sequence's keys writes nothing.
      Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, begin, range.end);
      found = arith::SelectOp::create(b, some, found, index(b, 0));
      return writeState(b, task, within(b, range, begin, end), ids, found, dests);
    };
    return grid(b, {activeRows, keyHeads, tiles, splits}, dests, body);
  }

  /// The slice of partial tensor `i` with `count` splits of a task's sequence, head and tile, from `split` on.
  Insertion sliceOf(ImplicitLocOpBuilder &b, unsigned i, ValueRange ids, Value split, Value count) const {
    OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
    Insertion at;
    at.offsets = {ids[0], ids[1], ids[2], split, zero};
    at.sizes = {one, one, one, count, b.getIndexAttr(heads)};
    if (i == 0)
      at.offsets.push_back(zero), at.sizes.push_back(b.getIndexAttr(prototype.valueChannels));
    return at;
  }
  SmallVector<int64_t> shapeOf(unsigned i) const {
    SmallVector<int64_t> shape{ShapedType::kDynamic, heads};
    if (i == 0)
      shape.push_back(prototype.valueChannels);
    return shape;
  }

  SmallVector<Insertion> writeState(ImplicitLocOpBuilder &b, const AttentionTask &task, const KeyBlocks &range,
                                    ValueRange ids, Value count, ValueRange dests) const {
    SmallVector<Insertion> insertions;
    SmallVector<Value> slices;
    for (unsigned i = 0; i < 3; ++i) {
      insertions.push_back(sliceOf(b, i, ids, ids[3], count));
      slices.push_back(extract(b, dests[i], insertions[i].offsets, insertions[i].sizes, shapeOf(i)));
    }
    SmallVector<Value> written =
        loop(b, index(b, 0), count, 1, slices, [&](ImplicitLocOpBuilder &b, Value nth, ValueRange carried) {
          SmallVector<Value> state = attend(b, task, range), next;
          for (unsigned i = 0; i < 3; ++i) {
            SmallVector<OpFoldResult> offsets{nth, b.getIndexAttr(0)}, sizes{b.getIndexAttr(1), b.getIndexAttr(heads)};
            if (i == 0)
              offsets.push_back(b.getIndexAttr(0)), sizes.push_back(b.getIndexAttr(task.valueChannels));
            next.push_back(insert(b, state[i], carried[i], offsets, sizes));
          }
          return next;
        });
    for (unsigned i = 0; i < 3; ++i)
      insertions[i].tile = written[i];
    return insertions;
  }

  /// Combines the states of each sequence's splits and writes the normalized results.
  SmallVector<Value> combine(ImplicitLocOpBuilder &b, OpFoldResult activeRows, ValueRange partial,
                             ValueRange results) const {
    OpFoldResult tiles = b.getIndexAttr(groups / heads);
    auto body = [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
      AttentionTask task = prototype;
      Value found = locate(b, task, ids), parts = splitsTo(b, blocks(b, task).end);
      SmallVector<Value> slices;
      for (unsigned i = 0; i < 3; ++i) {
        Insertion at = sliceOf(b, i, ids, index(b, 0), parts);
        slices.push_back(extract(b, partial[i], at.offsets, at.sizes, shapeOf(i)));
      }
      SmallVector<Value> state = initialGroupState(b, task, stateBuffers(b, task, heads));
      AttentionOp op = task.op;
      auto combined = attn_cpu::AttentionMergeOp::create(b, state[0].getType(), state[1].getType(), state[2].getType(),
                                                         slices[0], slices[1], slices[2], state[0], state[1], state[2],
                                                         /*scored=*/isNatural(op));
      unsigned q = *op.dimOf(3, AttentionOp::Q);
      SmallVector<OpFoldResult> sizes;
      Insertion out;
      tileOf(b, task, 3, task.firstQuery, 1, Value(), 0, out.offsets, out.sizes);
      if (std::optional<unsigned> group = op.dimOf(3, AttentionOp::G))
        out.sizes[*group] = b.getIndexAttr(heads);
      sizes = out.sizes;
      out.sizes[q] = found;
      SmallVector<int64_t> shape;
      for (OpFoldResult size : out.sizes)
        shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
      Value slice = extract(b, dests[0], out.offsets, out.sizes, shape);
      out.tile = loop(b, index(b, 0), found, 1, slice, [&](ImplicitLocOpBuilder &b, Value nth, Value carried) {
        SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0));
        offsets[q] = nth;
        Value tile = extract(b, carried, offsets, sizes, {heads, task.valueChannels});
        tile = normalize(b, task, combined.getResults(), index(b, heads), tile);
        return insert(b, tile, carried, offsets, sizes);
      });
      SmallVector<Insertion> made{out};
      if (dests.size() > 1)
        made.push_back(lseOf(b, task, combined.getResults(), found, out, dests[1]));
      return made;
    };
    return grid(b, {activeRows, keyHeads, tiles}, results, body);
  }

  /// Writes log-sum-exp of a sequence's heads where it has a query (`found`), for the slice `out` of the result.
  Insertion lseOf(ImplicitLocOpBuilder &b, const AttentionTask &task, ValueRange state, Value found, Insertion out,
                  Value dest) const {
    AttentionOp op = task.op;
    const unsigned q = *op.dimOf(3, AttentionOp::Q);
    out = withoutChannels(op, out);
    Value slice = extractLse(b, dest, out);
    out.tile = loop(b, index(b, 0), found, 1, slice, [&](ImplicitLocOpBuilder &b, Value nth, Value carried) {
      return logSumExp(b, state, index(b, heads), carried, [&](ImplicitLocOpBuilder &b, Value row) {
        SmallVector<Value> at(out.offsets.size(), index(b, 0));
        at[q] = nth;
        if (heads > 1) // then the dim of groups is before that of channels
          at[*op.dimOf(3, AttentionOp::G)] = row;
        return at;
      });
    });
    return out;
  }
};

} // namespace

SmallVector<Value> tile::attendSplit(ImplicitLocOpBuilder &b, const AttentionTask &prototype, OpFoldResult rows,
                                     OpFoldResult keyHeads, int64_t groups, OpFoldResult queries, OpFoldResult keys,
                                     Value isDecode, ValueRange results) {
  SplitAttention split{prototype, rows, keyHeads, queries, keys, groups, *prototype.schedule.heads};
  OpFoldResult active = Value(arith::SelectOp::create(b, isDecode, asValue(b, rows), index(b, 0)));
  SmallVector<Value> partial = split.partialStates(b, active, split.mostSplits(b, isDecode));
  return split.combine(b, active, partial, results);
}
