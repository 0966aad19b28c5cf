//===- Attention.cpp - attn.attention as loops over blocks of keys ------------------------===//
//
// Where keys are not in a cache, which holds them as products read them, a grid of its own
// packs them first; of a cache in fewer bits a task widens some blocks before it uses them. The
// grid of the op itself is (row, key/value head, query head of its group, block of
// queries), so that tasks with the same keys follow one another. A task takes some blocks of
// keys at a time, which stay in the second-level cache while tiles of queries use them; the
// state of online softmax of all its queries is in scratch. Blocks that the mask excludes are
// not visited, those that it keeps whole are visited without it; where they are packed or
// widened a step takes several of them, the last one what is left. Meanwhile what the next tile reads
// and this one writes is brought near. The last tile begins earlier, and computes some queries
// again, if the queries are no whole tiles; fewer than a tile go one by one.
//
// Paired attention reads keys and values in pairs of bf16, of a cache where they lie. For instructions on tiles a task
// has two tiles of 16 in turn, or fewer queries in tiles of 16, of which the last one's may repeat.
//
// Log-sum-exp is made of the same state. Its max must be natural then, which a score region that changes nothing keeps
// it. Weights are a grid of scalar loops of their own (AttentionWeights.cpp).
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Layout/Rounding.h"
#include "lib/Target/CPU/Schedule/Choices.h"
#include "lib/Target/CPU/Schedule/Fields.h"
#include "lib/Target/CPU/Tile/AttentionBlocks.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/Target/CPU/Tile/Tiling.h"
#include <limits>

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::AttentionOp;
using attn_cpu::kPanel;

namespace {

/// The description that all tasks share.
AttentionTask taskOf(AttentionOp op, attn::KVViewOp view, int64_t channels, int64_t valueChannels) {
  AttentionTask task{op, analyzeMask(op.getMask()), view};
  task.channels = channels, task.valueChannels = valueChannels;
  task.schedule = cpu::scheduleOf<cpu::AttentionSchedule>(op);
  task.block = view ? cpu::cacheBlockOf(op) : *task.schedule.packedKeys;
  return task;
}

/// Offsets and sizes of `m` rows from row `r` on in the slice of the result that a task owns (rank kept).
void placeRows(ImplicitLocOpBuilder &b, const AttentionTask &task, int64_t m, Value r,
               SmallVector<OpFoldResult> &offsets, SmallVector<OpFoldResult> &sizes) {
  AttentionOp op = task.op;
  SmallVector<OpFoldResult> unused;
  tileOf(b, task, 3, r, m, Value(), 0, unused, sizes);
  offsets.assign(sizes.size(), b.getIndexAttr(0));
  offsets[*op.dimOf(3, AttentionOp::Q)] = r;
}

int64_t resultWidth(AttentionOp op) { return op.getResult().getType().getDimSize(*op.dimOf(3, AttentionOp::DV)); }

/// The tile's rows of `dest`, the slice of the result that the task owns, from row `r` of it on. The task has `count`
/// queries.
Value finish(ImplicitLocOpBuilder &b, const AttentionTask &task, int64_t m, Value r, Value count, ValueRange state,
             Value dest) {
  AttentionOp op = task.op;
  SmallVector<OpFoldResult> offsets, sizes;
  placeRows(b, task, m, r, offsets, sizes);
  int64_t rows = m;
  Value own = index(b, m);
  if (task.repeatsQueries() && m == task.schedule.queries.back()) {
    own = arith::MinSIOp::create(b, own, count);
    sizes[*op.dimOf(3, AttentionOp::Q)] = own;
    rows = ShapedType::kDynamic;
  }
  Value tile = extract(b, dest, offsets, sizes, {rows, resultWidth(op)});
  return insert(b, normalize(b, task, state, own, tile), dest, offsets, sizes);
}

/// The tile's rows of `dest`, the task's slice of log-sum-exp, as in `finish`.
Value finishLse(ImplicitLocOpBuilder &b, const AttentionTask &task, int64_t m, Value r, Value count, ValueRange state,
                Value dest) {
  Value own = index(b, m);
  if (task.repeatsQueries() && m == task.schedule.queries.back())
    own = arith::MinSIOp::create(b, own, count);
  AttentionOp op = task.op;
  const unsigned q = *op.dimOf(3, AttentionOp::Q);
  return logSumExp(b, state, own, dest, [&](ImplicitLocOpBuilder &b, Value row) {
    SmallVector<Value> place(cast<RankedTensorType>(dest.getType()).getRank(), index(b, 0));
    place[q] = arith::AddIOp::create(b, r, row);
    return place;
  });
}

/// The operands to prefetch during the tile of queries from `query` on, of the task's `count` from `first` on: the next
/// tile's queries, or the last one's again, and the tile's rows of `dest`.
SmallVector<Value> aheadOf(ImplicitLocOpBuilder &b, const AttentionTask &task, int64_t m, Value first, Value count,
                           Value query, Value dest) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  Value next = asValue(b, affineOf(b, d0 + d1 + m, {OpFoldResult(first), OpFoldResult(query)})),
        last = asValue(b, affineOf(b, d0 + d1 - m, {OpFoldResult(first), OpFoldResult(count)}));
  SmallVector<OpFoldResult> offsets, sizes;
  placeRows(b, task, m, query, offsets, sizes);
  return {queryRows(b, task, m, arith::MinSIOp::create(b, next, last)),
          extract(b, dest, offsets, sizes, {m, resultWidth(task.op)})};
}

/// Whether a tile of `m` queries of its own, which vectors multiply, reads ahead for the next one.
bool readsAhead(const AttentionTask &task, int64_t m) {
  return m >= task.schedule.wideQueries && !task.schedule.kernel.matrixRows &&
         !(task.repeatsQueries() && m == task.schedule.queries.back());
}

/// Whether `count` queries of a task fill a tile of the largest size.
Value isTiled(ImplicitLocOpBuilder &b, const AttentionTask &task, Value count) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::uge, count, index(b, task.schedule.queries.front()));
}

/// The `count` queries of a task in tiles of one size: `body` gets a tile's rows, where its state is and its first
/// query.
SmallVector<Value>
overTiles(ImplicitLocOpBuilder &b, const AttentionTask &task, Value count, ValueRange init,
          function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, int64_t m, Value at, Value query, ValueRange)> body) {
  Value zero = index(b, 0), left = count; // 0 once a size has taken them
  SmallVector<Value> state(init);
  for (int64_t m : ArrayRef(task.schedule.queries).drop_back()) {
    Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, left, index(b, m));
    Value tiled = arith::SelectOp::create(b, some, left, zero);
    left = arith::SelectOp::create(b, some, zero, left);
    Value last = arith::SubIOp::create(b, count, index(b, m));
    state = loop(b, zero, tiled, m, state, [&](ImplicitLocOpBuilder &b, Value at, ValueRange carried) {
      return body(b, m, at, arith::MinSIOp::create(b, at, last), carried);
    });
  }
  int64_t m = task.schedule.queries.back();
  return loop(b, zero, left, m, state, [&](ImplicitLocOpBuilder &b, Value at, ValueRange carried) {
    Value query = at;
    if (m > 1) {
      Value last = arith::MaxSIOp::create(b, arith::SubIOp::create(b, count, index(b, m)), zero);
      query = arith::MinSIOp::create(b, at, last);
    }
    return body(b, m, at, query, carried);
  });
}

/// Rows [r, r + m) of each tensor of a state.
SmallVector<Value> stateOf(ImplicitLocOpBuilder &b, const AttentionTask &task, ValueRange states, int64_t m, Value r) {
  OpFoldResult zero = b.getIndexAttr(0), rows = b.getIndexAttr(m), width = b.getIndexAttr(task.valueChannels);
  return {extract(b, states[0], {OpFoldResult(r), zero}, {rows, width}, {m, task.valueChannels}),
          extract(b, states[1], {OpFoldResult(r)}, {rows}, {m}), extract(b, states[2], {OpFoldResult(r)}, {rows}, {m})};
}
SmallVector<Value> withState(ImplicitLocOpBuilder &b, const AttentionTask &task, ValueRange states, int64_t m, Value r,
                             ValueRange state) {
  OpFoldResult zero = b.getIndexAttr(0), rows = b.getIndexAttr(m), width = b.getIndexAttr(task.valueChannels);
  return {insert(b, state[0], states[0], {OpFoldResult(r), zero}, {rows, width}),
          insert(b, state[1], states[1], {OpFoldResult(r)}, {rows}),
          insert(b, state[2], states[2], {OpFoldResult(r)}, {rows})};
}

/// Blocks of keys that a task uses for all its tiles before it goes on.
int64_t blocksTogether(const AttentionTask &task) { return task.schedule.taskKeys / task.block; }

/// Queries [first, first + count) of the row into `dests`, the task's slices of the results.
SmallVector<Value> overKeys(ImplicitLocOpBuilder &b, const AttentionTask &task, Value first, Value count,
                            ValueRange dests) {
  // The last tile's state is beside that of the queries which it has in common with the tile before.
  SmallVector<Value> states = stateBuffers(b, task, task.schedule.taskQueries);
  states =
      overTiles(b, task, count, states, [&](ImplicitLocOpBuilder &b, int64_t m, Value at, Value, ValueRange carried) {
        return withState(b, task, carried, m, at, emptyState(b, stateOf(b, task, carried, m, at)));
      });
  KeyBlocks all = blocksOf(b, task, arith::AddIOp::create(b, task.offset, first), count);
  Value most = index(b, blocksTogether(task));
  // A few queries read what is widened from the first-level cache.
  if (needsWidening(task))
    most = arith::SelectOp::create(b, isTiled(b, task, count), most, index(b, 1));
  states = loop(b, all.from, all.end, most, states, [&](ImplicitLocOpBuilder &b, Value begin, ValueRange carried) {
    Value end = arith::MinSIOp::create(b, arith::AddIOp::create(b, begin, most), all.end);
    AttentionTask some = task;
    if (needsWidening(task))
      some.widened = widenKeys(b, task, begin, end, blocksTogether(task));
    auto body = [&](ImplicitLocOpBuilder &b, int64_t m, Value at, Value query, ValueRange carried) {
      Value last;
      if (task.repeatsQueries() && m == task.schedule.queries.back())
        last = arith::SubIOp::create(b, arith::AddIOp::create(b, first, count), index(b, 1));
      QueryTile tile = queryTile(b, task, m, arith::AddIOp::create(b, first, query), last);
      if (readsAhead(task, m))
        tile.ahead = aheadOf(b, task, m, first, count, query, dests[0]);
      KeyBlocks range = blocksOf(b, task, tile.position, index(b, m));
      for (Value *bound : {&range.from, &range.wholeFrom, &range.wholeEnd, &range.end})
        *bound = arith::MinSIOp::create(b, arith::MaxSIOp::create(b, *bound, begin), end);
      SmallVector<Value> state = update(b, some, tile, m, range, stateOf(b, task, carried, m, at));
      return withState(b, task, carried, m, at, state);
    };
    return overTiles(b, task, count, carried, body);
  });
  auto body = [&](ImplicitLocOpBuilder &b, int64_t m, Value at, Value query, ValueRange carried) {
    SmallVector<Value> state = stateOf(b, task, states, m, at),
                       made{finish(b, task, m, query, count, state, carried[0])};
    if (carried.size() > 1)
      made.push_back(finishLse(b, task, m, query, count, state, carried[1]));
    return made;
  };
  return overTiles(b, task, count, dests, body);
}

/// Queries [first, first + count) of the row into their place in `dests`, the whole results.
SmallVector<Insertion> attend(ImplicitLocOpBuilder &b, const AttentionTask &task, Value first, Value count,
                              ValueRange dests) {
  AttentionOp op = task.op;
  Insertion out;
  SmallVector<int64_t> shape;
  tileOf(b, task, 3, arith::AddIOp::create(b, task.firstQuery, first), 1, Value(), 0, out.offsets, out.sizes);
  out.sizes[*op.dimOf(3, AttentionOp::Q)] = count;
  for (OpFoldResult size : out.sizes)
    shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  SmallVector<Insertion> made{out};
  SmallVector<Value> slices{extract(b, dests[0], out.offsets, out.sizes, shape)};
  if (dests.size() > 1) {
    made.push_back(withoutChannels(op, out));
    slices.push_back(extractLse(b, dests[1], made[1]));
  }
  for (auto [insertion, tile] : llvm::zip_equal(made, overKeys(b, task, first, count, slices)))
    insertion.tile = tile;
  return made;
}

/// Where the result goes, and log-sum-exp where the op has it.
SmallVector<Value> destinationsOf(ImplicitLocOpBuilder &b, AttentionOp op, attn_cpu::CastRowsOp rounding,
                                  SmallVector<OpFoldResult> extents) {
  SmallVector<Value> dests{
      destination(b, op.getResult(), extents, rounding ? rounding.getResult().getType().getElementType() : Type())};
  if (op.getLse()) {
    extents.erase(extents.begin() + *op.dimOf(3, AttentionOp::DV));
    dests.push_back(empty(b, op.getLse().getType(), extents));
  }
  return dests;
}

/// Tokens of no sequence have the result 0, and as they have no keys the log-sum-exp -infinity.
void fillRests(ImplicitLocOpBuilder &b, AttentionOp op, int64_t each, SmallVector<Value> &dests) {
  const unsigned q = *op.dimOf(3, AttentionOp::Q);
  dests[0] = fillRest(b, op.getQBegin(), q, each, dests[0]);
  if (dests.size() > 1)
    dests[1] = fillRest(b, op.getQBegin(), q, each, dests[1],
                        arith::ConstantOp::create(b, b.getF32FloatAttr(-std::numeric_limits<float>::infinity())));
}

/// The op is now `results`: its result, and those of log-sum-exp and weights where it has them. Heads that were written
/// rounded are merged as they are, and the rounding finds its input rounded.
void replace(PatternRewriter &rewriter, AttentionOp op, attn_cpu::CastRowsOp rounding, SmallVector<Value> results) {
  // An extent may be static in the query alone, or in the result alone.
  if (!rounding && results[0].getType() != op.getResult().getType())
    results[0] = tensor::CastOp::create(rewriter, op.getLoc(), op.getResult().getType(), results[0]);
  if (!rounding)
    return rewriter.replaceOp(op, results);
  auto heads = rounding.getInput().getDefiningOp<attn::MergeHeadsOp>();
  rewriter.modifyOpInPlace(heads, [&] {
    heads->setOperand(0, results[0]);
    heads.getResult().setType(rounding.getResult().getType());
  });
  for (auto [old, made] : llvm::drop_begin(llvm::zip_equal(op->getResults(), results)))
    rewriter.replaceAllUsesWith(old, made);
  rewriter.eraseOp(op);
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
    AttentionTask prototype = taskOf(op, view, channels, valueChannels);
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    AffineExpr d0 = b.getAffineDimExpr(0);
    auto extentOf = [&](AttentionOp::Dim dim) -> OpFoldResult {
      for (auto [i, operand] : llvm::enumerate(SmallVector<Value>{op.getQuery(), op.getKey(), op.getValue()}))
        if (std::optional<unsigned> position = op.dimOf(i, dim);
            position && !(view && cast<RankedTensorType>(operand.getType()).isDynamicDim(*position) && i > 0))
          return extent(b, operand, *position);
      return b.getIndexAttr(1);
    };
    OpFoldResult rows = op.getQBegin() ? affineOf(b, d0 - 1, {extent(b, op.getQBegin(), 0)}) : extentOf(AttentionOp::B);
    OpFoldResult groups = extentOf(AttentionOp::G), queries = extentOf(AttentionOp::Q),
                 keys = extentOf(AttentionOp::KV);
    OpFoldResult longest = longestRow(b, op.getQBegin(), rows, queries);
    auto share = shareRows(b, longest, prototype.schedule.taskQueries, prototype.schedule.queries.front());
    OpFoldResult tasks = share.first;
    Value together = share.second;
    SmallVector<OpFoldResult> resultExtents;
    for (AffineExpr expr : op.getMap(3).getResults())
      resultExtents.push_back(extentOf(static_cast<AttentionOp::Dim>(cast<AffineDimExpr>(expr).getPosition())));
    attn_cpu::CastRowsOp rounding = roundingOf(op.getResult());
    SmallVector<Value> dests = destinationsOf(b, op, rounding, resultExtents);
    if (llvm::is_contained(op.getResult().getType().getShape(), 0)) { // no queries, so nothing to compute
      if (op.getWeights())
        dests.push_back(op.getWeights());
      replace(rewriter, op, rounding, dests);
      return success();
    }
    if (op.getQBegin() && !coverAllRows(op.getQBegin()))
      fillRests(b, op, *prototype.schedule.restRows, dests);
    if (!view)
      prototype.packed = packKeys(b, prototype, rows, extentOf(AttentionOp::HKV), queries, keys);
    // Rows of one query each over a cache have grids of their own.
    const std::optional<int64_t> splits = cpu::splitGroupsOf(op);
    Value isDecode = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, asValue(b, longest), index(b, 1));
    OpFoldResult here =
        splits ? OpFoldResult(arith::SelectOp::create(b, isDecode, index(b, 0), asValue(b, rows)).getResult()) : rows;
    SmallVector<OpFoldResult> extents{here, extentOf(AttentionOp::HKV), groups, tasks};
    SmallVector<Value> results =
        grid(b, extents, dests, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
          AttentionTask task = prototype;
          task.row = ids[0], task.kvHead = ids[1], task.group = ids[2];
          Value groupCount = asValue(b, groups);
          task.head = arith::AddIOp::create(b, arith::MulIOp::create(b, task.kvHead, groupCount), task.group);
          Value queryCount = locateRow(b, task, queries, keys);
          Value first = arith::MulIOp::create(b, ids[3], together);
          Value left = arith::MaxSIOp::create(b, arith::SubIOp::create(b, queryCount, first), index(b, 0));
          Value count = arith::MinSIOp::create(b, left, together);
          // A task beyond its row's tiles has no query; it points at the row's first, and writes nothing.
          Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, count, index(b, 0));
          first = arith::SelectOp::create(b, isEmpty, index(b, 0), first);

          return attend(b, task, first, count, dests);
        });
    if (splits)
      results = attendSplit(b, prototype, rows, extentOf(AttentionOp::HKV), *splits, queries, keys, isDecode, results);
    if (op.getWeights())
      results.push_back(weigh(b, op));
    replace(rewriter, op, rounding, results);
    return success();
  }
};

} // namespace

void rapt::populateAttentionTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TileAttention>(patterns.getContext());
}
