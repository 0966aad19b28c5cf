//===- Attention.cpp - Tiles attn.attention as in FlashAttention ---------------------------===//
//
// The grid is (sequence, key/value head, query head of its group, block of queries), so that
// consecutive tasks read the same keys.
//
// A task iterates over groups of KV blocks that fit L2. All tiles of its queries use a group
// before the next one; the state of online softmax of all queries is in scratch buffers. KV
// blocks that the mask excludes are skipped (A23). KV blocks that it keeps whole have no mask. While
// a tile computes, it prefetches the next tile's queries and its own output rows. Where the
// queries are no multiple of a tile, the last one or two tiles have as many queries as are left,
// and their matmuls have a dynamic number of rows. With AMX the last tile begins earlier and
// computes some queries again.
//
// Keys without a cache are packed first, by a grid of their own. Few queries have split-KV grids
// instead (AttentionSplits.cpp). A task converts 16-bit or int8 KV blocks to f32 once and reuses
// them for all its queries. Matmuls by bf16 dot products read VNNI-packed keys in place instead.
// AMX takes two tiles of 16 queries at a time. Fewer than 16 queries are padded to a tile, whose
// last query repeats, where extra operands allow it.
//
// Log-sum-exp needs the running max in natural units, which a score region that returns the
// score keeps. Attention weights have a grid of their own (AttentionWeights.cpp).
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Conversion/MaskReport.h"
#include "lib/Target/CPU/Schedule/Choices.h"
#include "lib/Target/CPU/Schedule/Fusions.h"
#include "lib/Target/CPU/Tile/AttentionBlocks.h"
#include "lib/Target/CPU/Tile/AttentionPacking.h"
#include "lib/Target/CPU/Tile/KeptKeys.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/Target/CPU/Tile/Tiling.h"
#include <limits>

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::AttentionOp;
using attn_cpu::kPanel;

namespace {

/// The fields of a task that all tasks share.
AttentionTask taskOf(AttentionOp op, attn::KVViewOp view, int64_t channels, int64_t valueChannels) {
  AttentionTask task{op, analyzeMask(op.getMask()), tellsBlocks(op, Reads::Matrices), tellsBlocks(op, Reads::Vectors),
                     view};
  task.channels = channels, task.valueChannels = valueChannels;
  task.schedule = attn::scheduleOf<attn_cpu::AttentionScheduleAttr>(op);
  task.block = view ? cpu::cacheBlockOf(op) : *task.schedule.getPackedKeys();
  return task;
}

/// Queries of a task that are one tile. Where the tile has as many as are left, their number is dynamic.
struct Rows {
  OpFoldResult count;
  Value at;    ///< the offset of their state
  Value first; ///< the first of them, counted from the task's first query

  int64_t size() const { return staticOr(count); }
};

/// Offsets and sizes of `rows` in the slice of the result that a task owns.
void sliceOfRows(ImplicitLocOpBuilder &b, const AttentionTask &task, const Rows &rows,
                 SmallVector<OpFoldResult> &offsets, SmallVector<OpFoldResult> &sizes) {
  AttentionOp op = task.op;
  SmallVector<OpFoldResult> unused;
  tileOf(b, task, 3, rows.first, 1, Value(), 0, unused, sizes);
  offsets.assign(sizes.size(), b.getIndexAttr(0));
  offsets[*op.dimOf(3, AttentionOp::Q)] = rows.first;
  sizes[*op.dimOf(3, AttentionOp::Q)] = rows.count;
}

int64_t resultWidth(AttentionOp op) { return op.getResult().getType().getDimSize(*op.dimOf(3, AttentionOp::DV)); }

/// The queries of a tile that are not repeated. The task has `count` queries.
OpFoldResult ownRows(ImplicitLocOpBuilder &b, const AttentionTask &task, const Rows &rows, Value count) {
  if (!task.repeatsQueries() || rows.size() != task.schedule.getQueries().back())
    return rows.count;
  return arith::MinSIOp::create(b, asValue(b, rows.count), count).getResult();
}

/// Writes the normalized results of a tile to `dest`, the task's slice of the result. The task has `count` queries.
Value finish(ImplicitLocOpBuilder &b, const AttentionTask &task, Rows rows, Value count, ValueRange state, Value dest) {
  rows.count = ownRows(b, task, rows, count);
  SmallVector<OpFoldResult> offsets, sizes;
  sliceOfRows(b, task, rows, offsets, sizes);
  Value tile = extract(b, dest, offsets, sizes, {rows.size(), resultWidth(task.op)});
  return insert(b, normalize(b, task, state, asValue(b, rows.count), tile), dest, offsets, sizes);
}

/// Writes the log-sum-exp of a tile to `dest`, the task's slice of log-sum-exp, as `finish` does.
Value finishLse(ImplicitLocOpBuilder &b, const AttentionTask &task, const Rows &rows, Value count, ValueRange state,
                Value dest) {
  Value own = asValue(b, ownRows(b, task, rows, count));
  const unsigned q = *AttentionOp(task.op).dimOfLse(AttentionOp::Q);
  return logSumExp(b, state, own, dest, [&](ImplicitLocOpBuilder &b, Value row) {
    SmallVector<Value> at(cast<RankedTensorType>(dest.getType()).getRank(), index(b, 0));
    at[q] = arith::AddIOp::create(b, rows.first, row);
    return at;
  });
}

/// The matrices that a tile prefetches: the next tile's queries, or those of the last tile again, and the tile's own
/// rows of `dest`. The task has `count` queries from `first` on.
SmallVector<Value> prefetchedBy(ImplicitLocOpBuilder &b, const AttentionTask &task, const Rows &rows, Value first,
                                Value count, Value dest) {
  const int64_t m = rows.size();
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  Value next = asValue(b, affineOf(b, d0 + d1 + m, {OpFoldResult(first), OpFoldResult(rows.first)})),
        last = asValue(b, affineOf(b, d0 + d1 - m, {OpFoldResult(first), OpFoldResult(count)}));
  SmallVector<OpFoldResult> offsets, sizes;
  sliceOfRows(b, task, rows, offsets, sizes);
  return {queryRows(b, task, rows.count, arith::MinSIOp::create(b, next, last)),
          extract(b, dest, offsets, sizes, {m, resultWidth(task.op)})};
}

/// Whether a tile of `m` queries prefetches for the next one: AMX tiles and tiles that repeat queries do not.
bool prefetches(const AttentionTask &task, int64_t m) {
  return m >= task.schedule.getWideQueries() && !task.schedule.getKernel().getMatrixRows() &&
         !(task.repeatsQueries() && m == task.schedule.getQueries().back());
}

/// Whether `count` queries of a task fill a tile of the largest size.
Value isTiled(ImplicitLocOpBuilder &b, const AttentionTask &task, Value count) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::uge, count, index(b, task.schedule.getQueries().front()));
}

using TileBody = function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, const Rows &, ValueRange)>;

/// Iterates over the `count` queries of a task in tiles. Where AMX multiplies them, the last tile of a size begins
/// earlier. Vectors take full tiles, and tiles of as many queries as are left: one, or two after full ones.
SmallVector<Value> overTiles(ImplicitLocOpBuilder &b, const AttentionTask &task, Value count, ValueRange init,
                             TileBody body) {
  Value zero = index(b, 0), from = zero; // `count` once a size of AMX has taken the queries
  SmallVector<Value> state(init);
  for (int64_t m : ArrayRef(task.schedule.getQueries()).drop_back()) {
    Value left = arith::SubIOp::create(b, count, from), end, last = count;
    if (task.schedule.getKernel().takesMatrix(m)) {
      Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, left, index(b, m));
      end = arith::SelectOp::create(b, some, count, from);
      last = arith::SubIOp::create(b, count, index(b, m));
    } else {
      AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
      // A rest of fewer than m queries, and the last full tile with it, are left.
      Value full = asValue(b, affineOf(b, (d0.floorDiv(m) - (d0 % m).ceilDiv(m)) * m, {OpFoldResult(left)}));
      end =
          asValue(b, affineOf(b, d0 + d1, {OpFoldResult(from), affineMax(b, {OpFoldResult(full), b.getIndexAttr(0)})}));
    }
    state = loop(b, from, end, m, state, [&](ImplicitLocOpBuilder &b, Value at, ValueRange carried) {
      Value first = last == count ? at : arith::MinSIOp::create(b, at, last).getResult();
      return body(b, {b.getIndexAttr(m), at, first}, carried);
    });
    from = end;
  }
  const int64_t m = task.schedule.getQueries().back();
  if (!task.repeatsQueries())
    return overQueriesLeft(b, from, count, task.mostQueriesLeft(), state,
                           [&](ImplicitLocOpBuilder &b, OpFoldResult rows, Value first, ValueRange carried) {
                             return body(b, {rows, first, first}, carried);
                           });
  return loop(b, from, count, m, state, [&](ImplicitLocOpBuilder &b, Value at, ValueRange carried) {
    Value last = arith::MaxSIOp::create(b, arith::SubIOp::create(b, count, index(b, m)), zero);
    return body(b, {b.getIndexAttr(m), at, arith::MinSIOp::create(b, at, last)}, carried);
  });
}

/// The states of all tiles of a task after blocks [begin, end), which every tile uses while they are in L2.
SmallVector<Value> overBlocks(ImplicitLocOpBuilder &b, const AttentionTask &task, Value first, Value count, Value begin,
                              Value end, ValueRange states, Value dest) {
  AttentionTask some = task;
  if (needsWidening(task))
    some.widened = widenKeys(b, task, begin, end, task.blocksOfTask());
  auto body = [&](ImplicitLocOpBuilder &b, const Rows &rows, ValueRange carried) {
    Value last;
    if (task.repeatsQueries() && rows.size() == task.schedule.getQueries().back())
      last = arith::SubIOp::create(b, arith::AddIOp::create(b, first, count), index(b, 1));
    QueryTile tile = queryTile(b, task, rows.count, arith::AddIOp::create(b, first, rows.first), last);
    if (prefetches(task, rows.size()))
      tile.prefetched = prefetchedBy(b, task, rows, first, count, dest);
    KeyBlocks range = blocksOf(b, task, tile.position, asValue(b, rows.count));
    for (Value *bound : {&range.from, &range.wholeFrom, &range.wholeEnd, &range.end})
      *bound = arith::MinSIOp::create(b, arith::MaxSIOp::create(b, *bound, begin), end);
    SmallVector<Value> state = update(b, some, tile, range, rowsOfState(b, carried, rows.at, rows.count));
    return withRowsOfState(b, carried, rows.at, rows.count, state);
  };
  return overTiles(b, task, count, states, body);
}

/// Computes queries [first, first + count) of the sequence into `dests`, the task's slices of the results.
SmallVector<Value> overKeys(ImplicitLocOpBuilder &b, const AttentionTask &task, Value first, Value count,
                            ValueRange dests) {
  // Queries that the last tile computes again have a second state.
  SmallVector<Value> states = stateBuffers(b, task, task.schedule.getTaskQueries());
  const SinkState sink = sinkState(b, task.op, task.head);
  states = overTiles(b, task, count, states, [&](ImplicitLocOpBuilder &b, const Rows &rows, ValueRange carried) {
    return withRowsOfState(b, carried, rows.at, rows.count,
                           initialState(b, sink, rowsOfState(b, carried, rows.at, rows.count)));
  });
  KeyBlocks all = blocksOf(b, task, arith::AddIOp::create(b, task.offset, first), count);
  Value most = index(b, task.blocksOfTask());
  // Few queries convert one block at a time, which they read from L1.
  if (needsWidening(task))
    most = arith::SelectOp::create(b, isTiled(b, task, count), most, index(b, 1));
  if (task.tellsTasks) { // a task without queries reads no operand's elements
    Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, count, index(b, 0));
    all.end = arith::SelectOp::create(b, isEmpty, all.from, all.end);
  }
  states = loop(b, all.from, all.end, most, states, [&](ImplicitLocOpBuilder &b, Value begin, ValueRange carried) {
    Value end = arith::MinSIOp::create(b, arith::AddIOp::create(b, begin, most), all.end);
    return whereKept(b, task, {first, count, begin, end}, Reads::Vectors, carried, [&](ImplicitLocOpBuilder &b) {
      return overBlocks(b, task, first, count, begin, end, carried, dests[0]);
    });
  });
  auto body = [&](ImplicitLocOpBuilder &b, const Rows &rows, ValueRange carried) {
    SmallVector<Value> state = rowsOfState(b, states, rows.at, rows.count),
                       made{finish(b, task, rows, count, state, carried[0])};
    if (carried.size() > 1)
      made.push_back(finishLse(b, task, rows, count, state, carried[1]));
    return made;
  };
  return overTiles(b, task, count, dests, body);
}

/// Computes queries [first, first + count) of the sequence as slices of `dests`, the whole results.
SmallVector<Insertion> attend(ImplicitLocOpBuilder &b, const AttentionTask &task, Value first, Value count,
                              ValueRange dests) {
  AttentionOp op = task.op;
  SmallVector<Insertion> made(1);
  tileOf(b, task, 3, arith::AddIOp::create(b, task.firstQuery, first), 1, Value(), 0, made[0].offsets, made[0].sizes);
  made[0].sizes[*op.dimOf(3, AttentionOp::Q)] = count;
  if (dests.size() > 1)
    made.push_back(sliceOfLse(op, made[0]));
  SmallVector<Value> slices;
  for (auto [dest, insertion] : llvm::zip_equal(dests, made))
    slices.push_back(extractSlice(b, dest, insertion));
  for (auto [insertion, tile] : llvm::zip_equal(made, overKeys(b, task, first, count, slices)))
    insertion.tile = tile;
  return made;
}

/// A grid of `extents` (sequences, key/value heads, query heads of a group, tasks of a sequence) whose tasks compute
/// `taskQueries` queries each into `dests`. `queries` and `keys` are the extents of q and kv.
SmallVector<Value> attendAll(ImplicitLocOpBuilder &b, const AttentionTask &prototype, OFRs extents,
                             OpFoldResult queries, OpFoldResult keys, Value taskQueries, ValueRange dests) {
  return grid(b, extents, dests, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
    AttentionTask task = prototype;
    task.sequence = ids[0], task.kvHead = ids[1], task.group = ids[2];
    Value groupCount = asValue(b, extents[2]);
    task.head = arith::AddIOp::create(b, arith::MulIOp::create(b, task.kvHead, groupCount), task.group);
    Value queryCount = locateSequence(b, task, queries, keys);
    Value first = arith::MulIOp::create(b, ids[3], taskQueries);
    Value left = arith::MaxSIOp::create(b, arith::SubIOp::create(b, queryCount, first), index(b, 0));
    Value count = arith::MinSIOp::create(b, left, taskQueries);
    // A task beyond its sequence's queries writes nothing: its slices begin at the first query and are empty.
    Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, count, index(b, 0));
    first = arith::SelectOp::create(b, isEmpty, index(b, 0), first);
    return attend(b, task, first, count, dests);
  });
}

/// The destinations of the result and, where the op has it, of log-sum-exp.
SmallVector<Value> destinationsOf(ImplicitLocOpBuilder &b, AttentionOp op, attn_cpu::CastRowsOp castRows,
                                  SmallVector<OpFoldResult> extents) {
  SmallVector<Value> dests{
      destination(b, op.getResult(), extents, castRows ? castRows.getResult().getType().getElementType() : Type())};
  if (op.getLse()) {
    extents = llvm::map_to_vector(op.getLseDims(), [&](int64_t dim) { return extents[dim]; });
    dests.push_back(empty(b, op.getLse().getType(), extents));
  }
  return dests;
}

/// Fills results of tokens of no sequence with 0, and their log-sum-exp with -infinity (A28).
void fillRests(ImplicitLocOpBuilder &b, AttentionOp op, int64_t each, SmallVector<Value> &dests) {
  const unsigned q = *op.dimOf(3, AttentionOp::Q);
  dests[0] = fillRest(b, op.getQBegin(), q, each, dests[0]);
  if (dests.size() > 1)
    dests[1] = fillRest(b, op.getQBegin(), *op.dimOfLse(AttentionOp::Q), each, dests[1],
                        arith::ConstantOp::create(b, b.getF32FloatAttr(-std::numeric_limits<float>::infinity())));
}

/// Replaces the op by `results`: its result, log-sum-exp and weights. With `castRows` the result is bf16 already: the
/// heads are merged in bf16, and the cast has nothing to do.
void replace(PatternRewriter &rewriter, AttentionOp op, attn_cpu::CastRowsOp castRows, SmallVector<Value> results) {
  // An extent may be static in the query and dynamic in the result, or the other way round.
  if (!castRows && results[0].getType() != op.getResult().getType())
    results[0] = tensor::CastOp::create(rewriter, op.getLoc(), op.getResult().getType(), results[0]);
  if (!castRows)
    return rewriter.replaceOp(op, results);
  auto heads = castRows.getInput().getDefiningOp<attn::MergeHeadsOp>();
  rewriter.modifyOpInPlace(heads, [&] {
    heads->setOperand(0, results[0]);
    heads.getResult().setType(castRows.getResult().getType());
  });
  for (auto [old, made] : llvm::drop_begin(llvm::zip_equal(op->getResults(), results)))
    rewriter.replaceAllUsesWith(old, made);
  rewriter.eraseOp(op);
}

/// Whether a number is at most `most`: known when compiled, or when the code runs.
OpFoldResult isAtMost(ImplicitLocOpBuilder &b, OpFoldResult number, int64_t most) {
  if (std::optional<int64_t> known = getConstantIntValue(number))
    return b.getBoolAttr(*known <= most);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ule, asValue(b, number), index(b, most)).getResult();
}

/// `rows` where `condition` is `wanted`, else 0.
OpFoldResult rowsWhere(ImplicitLocOpBuilder &b, OpFoldResult condition, bool wanted, OpFoldResult rows) {
  if (std::optional<int64_t> known = getConstantIntValue(condition))
    return (*known != 0) == wanted ? rows : OpFoldResult(b.getIndexAttr(0));
  Value some = asValue(b, rows), none = index(b, 0);
  return arith::SelectOp::create(b, cast<Value>(condition), wanted ? some : none, wanted ? none : some).getResult();
}

/// Whether split-KV computes sequences of few queries. `rows` is the extent of b, `longest` the most queries of a
/// sequence.
OpFoldResult usesSplits(ImplicitLocOpBuilder &b, const AttentionTask &task, OpFoldResult rows, OpFoldResult longest) {
  // Each task of several sequences with the same keys would pack these.
  const bool packsOften = !task.view && sharesKeys(task.op) && getConstantIntValue(rows) != 1;
  if (!task.schedule.getSplits() || packsOften)
    return b.getBoolAttr(false);
  return isAtMost(b, longest, *task.schedule.getSplitQueries());
}

struct TileAttention : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    auto query = cast<RankedTensorType>(op.getQuery().getType()),
         value = cast<RankedTensorType>(op.getValue().getType());
    if (std::string reason = cpu::whyNotTiled(op); !reason.empty())
      return rewriter.notifyMatchFailure(op, reason);
    int64_t channels = query.getDimSize(*op.dimOf(0, AttentionOp::DQK));
    int64_t valueChannels = value.getDimSize(*op.dimOf(2, AttentionOp::DV));
    auto view = op.getKey().getDefiningOp<attn::KVViewOp>();
    // Arguments of a kernel have exact strides: its tiles are padded as they are read.
    channels = attn_cpu::padToPanel(channels), valueChannels = attn_cpu::padToPanel(valueChannels);
    if (Value second = op.getSecondQuery())
      channels += attn_cpu::padToPanel(
          cast<RankedTensorType>(second.getType()).getDimSize(*op.dimOf(op.getSecondMap(), AttentionOp::DQK)));
    AttentionTask prototype = taskOf(op, view, channels, valueChannels);
    remarkMask(op, prototype.schedule.getQueries().front(), prototype.schedule.getKeys(), summarizedMatrices(op));
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    AffineExpr d0 = b.getAffineDimExpr(0);
    auto extentOf = [&](AttentionOp::Dim dim) -> OpFoldResult {
      SmallVector<unsigned> operands{0, 1, 2};
      if (op.getSecondQuery())
        operands.append({op.getSecondMap(), op.getSecondMap() + 1});
      for (unsigned i : operands)
        if (std::optional<unsigned> position = op.dimOf(i, dim))
          if (Value operand = op.getMapped(i);
              !(view && cast<RankedTensorType>(operand.getType()).isDynamicDim(*position) && i > 0))
            return extent(b, operand, *position);
      return b.getIndexAttr(1);
    };
    OpFoldResult rows = op.getQBegin() ? affineOf(b, d0 - 1, {extent(b, op.getQBegin(), 0)}) : extentOf(AttentionOp::B);
    OpFoldResult keyHeads = extentOf(AttentionOp::HKV), groups = extentOf(AttentionOp::G),
                 queries = extentOf(AttentionOp::Q), keys = extentOf(AttentionOp::KV);
    OpFoldResult longest = longestSequence(b, op.getQBegin(), rows, queries);
    auto share = shareRows(b, longest, prototype.schedule.getTaskQueries(), prototype.schedule.getQueries().front());
    OpFoldResult tasks = share.first;
    Value taskQueries = share.second;
    SmallVector<OpFoldResult> resultExtents;
    for (AffineExpr expr : op.getMap(3).getResults())
      resultExtents.push_back(extentOf(static_cast<AttentionOp::Dim>(cast<AffineDimExpr>(expr).getPosition())));
    attn_cpu::CastRowsOp castRows = cpu::fusedCastOf(op.getResult());
    SmallVector<Value> dests = destinationsOf(b, op, castRows, resultExtents);
    if (llvm::is_contained(op.getResult().getType().getShape(), 0)) { // no queries, so nothing to compute
      if (op.getWeights())
        dests.push_back(op.getWeights());
      replace(rewriter, op, castRows, dests);
      return success();
    }
    if (op.getQBegin() && !coverAllRows(op.getQBegin()))
      fillRests(b, op, *prototype.schedule.getRestRows(), dests);
    // Sequences of few queries have split-KV grids. Those of all others are one.
    const OpFoldResult areSplit = usesSplits(b, prototype, rows, longest),
                       splitRows = rowsWhere(b, areSplit, true, rows), otherRows = rowsWhere(b, areSplit, false, rows);
    auto isNone = [](OpFoldResult rows) { return getConstantIntValue(rows) == 0; };
    if (!view && !isNone(otherRows))
      prototype.packed = packKeys(b, prototype, rows, keyHeads, queries, keys, otherRows);
    prototype.summaries = summarizeMatrices(b, prototype, rows, queries, keys);
    SmallVector<Value> results(dests);
    if (!isNone(otherRows))
      results = attendAll(b, prototype, {otherRows, keyHeads, groups, tasks}, queries, keys, taskQueries, results);
    if (!isNone(splitRows))
      results = attendSplit(b, prototype, rows, keyHeads, queries, keys, splitRows, results);
    if (op.getWeights())
      results.push_back(updateWeights(b, op));
    replace(rewriter, op, castRows, results);
    return success();
  }
};

} // namespace

void rapt::populateAttentionTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TileAttention>(patterns.getContext());
}
