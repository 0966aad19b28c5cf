//===- AttentionSplits.cpp - Split-KV attention (flash-decoding) ---------------------------===//
//
// Few queries and many keys: in decode, or one query over an encoder's output. The grid is
// (sequence, key/value head, tile of its query heads, split). The heads of a group are rows of
// one tile, so that each key is read once. Keys without a cache are packed by the task that
// reads them. The splits of a sequence depend on its lengths, never on the number of threads
// (A24). A second grid combines the states of the splits, from that of the sinks: each counts
// once (A41).
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/CacheLayout.h"
#include "lib/Target/CPU/Schedule/Choices.h"
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
  int64_t most;          ///< most queries of a sequence

  /// Sets the task's sequence, key/value head and query heads from the first three of `ids`. Returns the sequence's
  /// number of queries.
  Value locate(ImplicitLocOpBuilder &b, AttentionTask &task, ValueRange ids) const {
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    task.sequence = ids[0], task.kvHead = ids[1];
    task.group = asValue(b, affineOf(b, d0 * heads, {OpFoldResult(ids[2])}));
    task.head = asValue(b, affineOf(b, d0 * groups + d1, {OpFoldResult(ids[1]), OpFoldResult(task.group)}));
    return locateSequence(b, task, queries, keys);
  }

  /// The number of rows of a tile, which `count` queries of each head are.
  OpFoldResult rowsOf(ImplicitLocOpBuilder &b, OpFoldResult count) const {
    return affineOf(b, b.getAffineDimExpr(0) * heads, {count});
  }
  /// Shapes, offsets and sizes of partial tensor `i`, or of a state's: acc has channels behind the other dims.
  SmallVector<int64_t> shapeOf(unsigned i, SmallVector<int64_t> shape) const {
    if (i == 0)
      shape.push_back(prototype.valueChannels);
    return shape;
  }
  static SmallVector<OpFoldResult> withChannels(ImplicitLocOpBuilder &b, unsigned i, SmallVector<OpFoldResult> dims,
                                                int64_t channels) {
    if (i == 0)
      dims.push_back(b.getIndexAttr(channels));
    return dims;
  }

  /// The extent in types of the rows of a sequence that has queries.
  int64_t rowExtent() const { return most == 1 ? heads : ShapedType::kDynamic; }

  KeyBlocks blocks(ImplicitLocOpBuilder &b, const AttentionTask &task, Value count) const {
    return blocksOf(b, task, task.offset, most == 1 ? index(b, 1) : arith::MaxSIOp::create(b, count, index(b, 1)));
  }

  static Value countOf(ImplicitLocOpBuilder &b, const KeyBlocks &range) {
    return arith::MaxSIOp::create(b, arith::SubIOp::create(b, range.end, range.from), index(b, 0));
  }
  /// Blocks per split of a sequence that attends to `range`.
  Value splitSize(ImplicitLocOpBuilder &b, const KeyBlocks &range) const {
    Value share = arith::CeilDivUIOp::create(b, countOf(b, range), asValue(b, maxSplits(b)));
    return arith::MaxSIOp::create(b, share, index(b, minBlocks()));
  }
  /// Most splits of a sequence.
  OpFoldResult maxSplits(ImplicitLocOpBuilder &b) const {
    attn_cpu::AttentionScheduleAttr schedule = prototype.schedule;
    if (!schedule.getSplitTasks())
      return b.getIndexAttr(*schedule.getSplits());
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    OpFoldResult tasks = affineMax(b, {affineOf(b, d0 * d1 * (groups / heads), {rows, keyHeads}), b.getIndexAttr(1)});
    if (std::optional<int64_t> count = getConstantIntValue(tasks))
      return b.getIndexAttr(std::clamp<int64_t>(*schedule.getSplitTasks() / *count, 1, *schedule.getSplits()));
    Value each = arith::DivUIOp::create(b, index(b, *schedule.getSplitTasks()), asValue(b, tasks));
    return affineMax(b, {affineMin(b, {OpFoldResult(each), b.getIndexAttr(*schedule.getSplits())}), b.getIndexAttr(1)});
  }
  int64_t minBlocks() const { return *prototype.schedule.getSplitKeys() / prototype.block; }
  Value splitsOf(ImplicitLocOpBuilder &b, const KeyBlocks &range) const {
    return arith::CeilDivUIOp::create(b, countOf(b, range), splitSize(b, range));
  }

  /// The most splits of the first `activeRows` sequences.
  Value mostSplits(ImplicitLocOpBuilder &b, OpFoldResult activeRows) const {
    return loop(b, index(b, 0), asValue(b, activeRows), 1, index(b, 0),
                [&](ImplicitLocOpBuilder &b, Value row, Value most) -> Value {
                  AttentionTask task = prototype;
                  Value count = locate(b, task, {row, index(b, 0), index(b, 0)});
                  return arith::MaxSIOp::create(b, most, splitsOf(b, blocks(b, task, count)));
                });
  }

  using TileBody = function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, const QueryTile &, ValueRange)>;

  /// The states of `count` queries after `body` of each tile.
  SmallVector<Value> overTiles(ImplicitLocOpBuilder &b, const AttentionTask &task, OpFoldResult count,
                               ValueRange states, TileBody body) const {
    const int64_t each = queriesOfTile(task, heads);
    auto tileOf = [&](ImplicitLocOpBuilder &b, OpFoldResult count, Value first) {
      return heads > 1 ? groupTile(b, task, count, first, heads) : queryTile(b, task, count, first);
    };
    if (most <= each)
      return body(b, tileOf(b, count, index(b, 0)), states);
    return overQueriesLeft(b, index(b, 0), asValue(b, count), each, states,
                           [&](ImplicitLocOpBuilder &b, OpFoldResult queries, Value first, ValueRange carried) {
                             OpFoldResult row = rowsOf(b, OpFoldResult(first)), height = rowsOf(b, queries);
                             SmallVector<Value> part = rowsOfState(b, carried, row, height);
                             return withRowsOfState(b, carried, row, height, body(b, tileOf(b, queries, first), part));
                           });
  }

  /// The state after the KV blocks of `range`, of `count` queries, from the empty one in `dest`. Blocks that matmuls
  /// cannot read are converted some at a time.
  SmallVector<Value> attend(ImplicitLocOpBuilder &b, const AttentionTask &task, OpFoldResult count,
                            const KeyBlocks &range, ValueRange dest) const {
    SmallVector<Value> state = emptyState(b, dest);
    auto onTiles = [&](ImplicitLocOpBuilder &b, const AttentionTask &task, Value from, Value to, ValueRange state) {
      return overTiles(b, task, count, state, [&](ImplicitLocOpBuilder &b, const QueryTile &tile, ValueRange carried) {
        return update(b, task, tile, within(b, blocksOf(b, task, tile.position, queriesOf(b, tile)), from, to),
                      carried);
      });
    };
    if (task.view && (!needsWidening(task) || readsInRegisters(task)))
      return onTiles(b, task, range.from, range.end, state);
    // Few rows read converted blocks from L1. From half a tile on they read more packed ones from L2, which takes fewer
    // iterations.
    const int64_t few = task.view ? 1 : task.schedule.getKeys() / task.block,
                  half = task.schedule.getQueries().front() / 2,
                  all = task.view || most * heads < half ? few : std::max(few, task.blocksOfTask());
    Value each = index(b, few);
    if (all > few) {
      Value isHalf = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, asValue(b, rowsOf(b, count)), index(b, half));
      each = arith::SelectOp::create(b, isHalf, index(b, all), each);
    }
    return loop(b, range.from, range.end, each, state, [&](ImplicitLocOpBuilder &b, Value nth, ValueRange carried) {
      Value next = arith::AddIOp::create(b, nth, each);
      if (all > 1)
        next = arith::MinSIOp::create(b, next, range.end);
      return whereKept(b, task, {index(b, 0), asValue(b, count), nth, next}, Reads::Vectors, carried,
                       [&](ImplicitLocOpBuilder &b) {
                         AttentionTask wide = task;
                         wide.widened = widenKeys(b, task, nth, next, all);
                         return onTiles(b, wide, nth, next, carried);
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
    AffineExpr d0 = b.getAffineDimExpr(0);
    OpFoldResult all = view ? extent(b, view.getTable(), 1) : affineOf(b, d0.ceilDiv(prototype.block), {keys}),
                 bound = affineMin(b, {affineOf(b, d0.ceilDiv(minBlocks()), {all}), maxSplits(b)});
    bound = affineMax(b, {bound, b.getIndexAttr(1)}); // of no keys, too, tasks have slices
    OpFoldResult tiles = b.getIndexAttr(groups / heads),
                 count = most == 1 ? OpFoldResult(b.getIndexAttr(heads))
                                   : rowsOf(b, affineMin(b, {queries, b.getIndexAttr(most)})),
                 channels = b.getIndexAttr(prototype.valueChannels);
    auto makeBuffer = [&](SmallVector<OpFoldResult> extents) -> Value {
      return tensor::EmptyOp::create(b, extents, b.getF32Type());
    };
    const OpFoldResult held = rowsInMemory(prototype.op, rows, activeRows);
    Value dests[] = {makeBuffer({held, keyHeads, tiles, bound, count, channels}),
                     makeBuffer({held, keyHeads, tiles, bound, count}),
                     makeBuffer({held, keyHeads, tiles, bound, count})};
    auto body = [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
      AttentionTask task = prototype;
      Value found = locate(b, task, ids);
      KeyBlocks range = blocks(b, task, found);
      Value size = splitSize(b, range),
            begin = arith::AddIOp::create(b, range.from, arith::MulIOp::create(b, ids[3], size)),
            end = arith::AddIOp::create(b, begin, size);
      // A task beyond its sequence's keys writes nothing.
      Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, begin, range.end);
      found = arith::SelectOp::create(b, some, found, index(b, 0));
      return writeState(b, task, within(b, range, begin, end), ids, found, dests);
    };
    return grid(b, {activeRows, keyHeads, tiles, splits}, dests, body);
  }

  /// The slice of partial tensor `i` of a task's sequence, head and tile. `splits` and `rows` are the first and the
  /// number of them.
  Insertion sliceOf(ImplicitLocOpBuilder &b, unsigned i, ValueRange ids, std::array<OpFoldResult, 2> splits,
                    std::array<OpFoldResult, 2> rows) const {
    OpFoldResult one = b.getIndexAttr(1);
    Insertion at;
    at.offsets = withChannels(b, i, {ids[0], ids[1], ids[2], splits[0], rows[0]}, 0);
    at.sizes = withChannels(b, i, {one, one, one, splits[1], rows[1]}, prototype.valueChannels);
    return at;
  }

  /// Writes the state of a split of `count` queries. One query is in the slice or not, so that its state has a static
  /// shape.
  SmallVector<Insertion> writeState(ImplicitLocOpBuilder &b, const AttentionTask &task, const KeyBlocks &range,
                                    ValueRange ids, Value count, ValueRange dests) const {
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1),
                 height = most == 1 ? OpFoldResult(b.getIndexAttr(heads)) : rowsOf(b, count);
    // Splits in the slice.
    Value found = most == 1 ? count : arith::MinSIOp::create(b, count, index(b, 1)).getResult();
    SmallVector<Insertion> insertions;
    SmallVector<Value> slices;
    for (unsigned i = 0; i < 3; ++i) {
      insertions.push_back(sliceOf(b, i, ids, {ids[3], found}, {zero, height}));
      slices.push_back(extract(b, dests[i], insertions[i].offsets, insertions[i].sizes,
                               shapeOf(i, {ShapedType::kDynamic, rowExtent()})));
    }
    OpFoldResult queryCount = most == 1 ? OpFoldResult(one) : affineMin(b, {OpFoldResult(count), b.getIndexAttr(most)});
    SmallVector<Value> written =
        loop(b, index(b, 0), found, 1, slices, [&](ImplicitLocOpBuilder &b, Value nth, ValueRange carried) {
          OpFoldResult rowCount = rowsOf(b, queryCount);
          SmallVector<Value> buffers = stateBuffers(b, task, heads * most);
          if (most > 1)
            buffers = rowsOfState(b, buffers, zero, rowCount);
          SmallVector<Value> state = attend(b, task, queryCount, range, buffers), next;
          for (unsigned i = 0; i < 3; ++i)
            next.push_back(insert(b, state[i], carried[i], withChannels(b, i, {nth, zero}, 0),
                                  withChannels(b, i, {one, height}, task.valueChannels)));
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
      AttentionOp op = task.op;
      Value found = locate(b, task, ids), parts = splitsOf(b, blocks(b, task, found));
      SmallVector<Insertion> made(1);
      tileOf(b, task, 3, task.firstQuery, 1, Value(), 0, made[0].offsets, made[0].sizes);
      if (std::optional<unsigned> group = op.dimOf(3, AttentionOp::G))
        made[0].sizes[*group] = b.getIndexAttr(heads);
      made[0].sizes[*op.dimOf(3, AttentionOp::Q)] = getAsOpFoldResult(found);
      if (dests.size() > 1)
        made.push_back(sliceOfLse(op, made[0]));
      SmallVector<Value> slices;
      for (auto [i, dest] : llvm::enumerate(dests))
        slices.push_back(extractSlice(b, dest, made[i]));
      slices = loop(b, index(b, 0), found, 1, slices, [&](ImplicitLocOpBuilder &b, Value query, ValueRange outer) {
        return loop(b, index(b, 0), index(b, heads), 1, outer,
                    [&](ImplicitLocOpBuilder &b, Value head, ValueRange carried) {
                      return combineRow(b, task, ids, parts, query, head, partial, carried);
                    });
      });
      for (auto [insertion, slice] : llvm::zip_equal(made, slices))
        insertion.tile = slice;
      return made;
    };
    return grid(b, {activeRows, keyHeads, tiles}, results, body);
  }

  /// Writes the result of `query` in `head` of the tile to `dests`, slices of the result and of log-sum-exp.
  SmallVector<Value> combineRow(ImplicitLocOpBuilder &b, AttentionTask task, ValueRange ids, Value parts, Value query,
                                Value head, ValueRange partial, ValueRange dests) const {
    AttentionOp op = task.op;
    OpFoldResult one = b.getIndexAttr(1);
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    OpFoldResult row = affineOf(b, d0 * heads + d1, {OpFoldResult(query), OpFoldResult(head)});
    SmallVector<Value> states;
    for (unsigned i = 0; i < 3; ++i) {
      Insertion at = sliceOf(b, i, ids, {b.getIndexAttr(0), OpFoldResult(parts)}, {row, one});
      states.push_back(extract(b, partial[i], at.offsets, at.sizes, shapeOf(i, {ShapedType::kDynamic, 1})));
    }
    SinkState sink = sinkState(b, op, arith::AddIOp::create(b, task.head, head));
    SmallVector<Value> state = initialState(b, sink, stateBuffers(b, task, 1));
    auto combined = attn_cpu::AttentionMergeOp::create(b, state[0].getType(), state[1].getType(), state[2].getType(),
                                                       states[0], states[1], states[2], state[0], state[1], state[2],
                                                       /*scored=*/isNatural(op));
    Insertion out;
    tileOf(b, task, 3, query, 1, Value(), 0, out.offsets, out.sizes);
    for (auto [offset, expr] : llvm::zip_equal(out.offsets, op.getMap(3).getResults())) { // counted from the slices
      const unsigned dim = cast<AffineDimExpr>(expr).getPosition();
      offset = dim == AttentionOp::Q   ? OpFoldResult(query)
               : dim == AttentionOp::G ? OpFoldResult(head)
                                       : OpFoldResult(b.getIndexAttr(0));
    }
    const int64_t width = cast<RankedTensorType>(dests[0].getType()).getDimSize(*op.dimOf(3, AttentionOp::DV));
    Value tile = extract(b, dests[0], out.offsets, out.sizes, {1, width});
    tile = normalize(b, task, combined.getResults(), index(b, 1), tile);
    SmallVector<Value> written{insert(b, tile, dests[0], out.offsets, out.sizes)};
    if (dests.size() > 1)
      written.push_back(logSumExp(b, combined.getResults(), index(b, 1), dests[1], [&](ImplicitLocOpBuilder &b, Value) {
        return llvm::map_to_vector(sliceOfLse(op, out).offsets, [&](OpFoldResult at) { return asValue(b, at); });
      }));
    return written;
  }
};

} // namespace

SmallVector<Value> tile::attendSplit(ImplicitLocOpBuilder &b, AttentionTask prototype, OpFoldResult rows,
                                     OpFoldResult keyHeads, OpFoldResult queries, OpFoldResult keys,
                                     OpFoldResult activeRows, ValueRange results) {
  attn_cpu::AttentionScheduleAttr schedule = prototype.schedule;
  const int64_t limit = *schedule.getSplitQueries(),
                most = std::min(limit, getConstantIntValue(queries).value_or(limit));
  const int64_t groups = *cpu::queryHeadsOf(prototype.op);
  SplitAttention split{prototype, rows, keyHeads, queries, keys, groups, *schedule.getHeads(), most};
  SmallVector<Value> partial = split.partialStates(b, activeRows, split.mostSplits(b, activeRows));
  return split.combine(b, activeRows, partial, results);
}
