//===- Attention.cpp - attn.attention as loops over blocks of keys ------------------------===//
//
// The grid is (row, block of queries, key/value head, query head of its group). A block is
// one tile of 8 queries where keys come from a cache, which holds them as products read
// them; else it has up to 128 queries, which share the keys that the task packs. The state
// of online softmax is carried over blocks of keys: those that the mask excludes are not
// visited, those that it keeps whole are visited without it. A row's last queries go one
// by one.
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/AttnToLinalg/AttentionTask.h"
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::AttentionOp;
using attn::kPanel;

namespace {

/// Queries of a task where keys are not in a cache: enough of them to pay for packing the keys.
constexpr int64_t kTaskQueries = 128;
/// The running maximum starts here: finite, so that a masked score minus it is -inf and not NaN.
constexpr float kFloor = -1.0e30f;

/// A region of attention becomes that of a state: elements that do not change are values from outside.
void cloneRegion(Region &from, Region &to, const AttentionExtras &extras, unsigned firstExtra) {
  IRMapping mapping;
  from.cloneInto(&to, mapping);
  if (to.empty())
    return;
  unsigned next = firstExtra;
  for (Value element : extras.elements) {
    if (!element) {
      ++next;
      continue;
    }
    to.getArgument(next).replaceAllUsesWith(element);
    to.eraseArgument(next);
  }
}

/// A tile of queries as attention_state takes it.
struct QueryTile {
  Value query;
  AttentionExtras extras;
  Value position; ///< absolute, of the first query
};

/// State (acc, max, sum) after blocks [from, to).
SmallVector<Value> overBlocks(ImplicitLocOpBuilder &b, const AttentionTask &task, const QueryTile &tile,
                              const KeyBlocks &blocks, Value from, Value to, bool masked, ValueRange init) {
  return loop(b, from, to, 1, init, [&](ImplicitLocOpBuilder &b, Value nth, ValueRange state) {
    auto [keys, values] = keyTiles(b, task, blocks, nth);
    Value firstKey = arith::MulIOp::create(b, nth, index(b, task.block));
    AttentionOp op = task.op;
    auto step = attn::AttentionStateOp::create(
        b, init.getTypes()[0], init.getTypes()[1], init.getTypes()[2], tile.query, keys, values, op.getScale(),
        task.row, task.head, tile.position, firstKey, masked ? task.keyCount : Value(), tile.extras.tensors,
        op.getAdditive(), state[0], state[1], state[2],
        tile.extras.tensors.empty() ? nullptr : b.getAffineMapArrayAttr(tile.extras.maps));
    cloneRegion(op.getScore(), step.getScore(), tile.extras, 5);
    if (masked)
      cloneRegion(op.getMask(), step.getMask(), tile.extras, 4);
    return SmallVector<Value>(step->getResults());
  });
}

/// acc / sum, 0 where no key took part, into rows of `dest`.
Value normalize(ImplicitLocOpBuilder &b, Value acc, Value sum, int64_t m, int64_t channels, Value dest) {
  Value f0 = arith::ConstantOp::create(b, b.getF32FloatAttr(0)),
        f1 = arith::ConstantOp::create(b, b.getF32FloatAttr(1));
  return loop(b, index(b, 0), index(b, m), 1, dest, [&](ImplicitLocOpBuilder &b, Value r, Value carried) {
    Value total = tensor::ExtractOp::create(b, sum, r);
    Value some = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, total, f0);
    Value factor = arith::DivFOp::create(b, f1, arith::SelectOp::create(b, some, total, f1));
    Value factors = vector::BroadcastOp::create(b, VectorType::get({kPanel}, b.getF32Type()), factor);
    return loop(b, index(b, 0), index(b, channels), kPanel, carried,
                [&](ImplicitLocOpBuilder &b, Value c, Value inner) {
                  return writePanel(b, arith::MulFOp::create(b, readPanel(b, acc, {r, c}), factors), inner, {r, c});
                });
  });
}

int64_t channelsOf(Value tensor, unsigned dim) { return cast<RankedTensorType>(tensor.getType()).getDimSize(dim); }

/// A tile of queries with its channels padded with zeros.
Value paddedQuery(ImplicitLocOpBuilder &b, Value tile, int64_t channels) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (type.getDimSize(1) == channels)
    return tile;
  Value dest = tensor::EmptyOp::create(b, ArrayRef<int64_t>{type.getDimSize(0), channels}, type.getElementType());
  return loop(b, index(b, 0), index(b, type.getDimSize(0)), 1, dest,
              [&](ImplicitLocOpBuilder &b, Value r, Value carried) {
                return loop(b, index(b, 0), index(b, channels), kPanel, carried,
                            [&](ImplicitLocOpBuilder &b, Value c, Value inner) {
                              return writePanel(b, readPanel(b, tile, {r, c}), inner, {r, c});
                            });
              });
}

/// Queries [inRow, inRow + m) of the row.
QueryTile queryTile(ImplicitLocOpBuilder &b, const AttentionTask &task, int64_t m, Value inRow) {
  AttentionOp op = task.op;
  SmallVector<OpFoldResult> offsets, sizes;
  tileOf(b, task, 0, arith::AddIOp::create(b, task.firstQuery, inRow), m, Value(), 0, offsets, sizes);
  Value query =
      extract(b, op.getQuery(), offsets, sizes, {m, channelsOf(op.getQuery(), *op.dimOf(0, AttentionOp::DQK))});
  return {paddedQuery(b, query, task.channels), sliceExtras(b, task, inRow, m),
          arith::AddIOp::create(b, task.offset, inRow)};
}

/// What no key has taken part in: (acc, max, sum) in `dest`.
SmallVector<Value> emptyState(ImplicitLocOpBuilder &b, ValueRange dest) {
  auto fill = [&](float value, Value dest) -> Value {
    return linalg::FillOp::create(b, Value(arith::ConstantOp::create(b, b.getF32FloatAttr(value))), dest).getResult(0);
  };
  return {fill(0, dest[0]), fill(kFloor, dest[1]), fill(0, dest[2])};
}

/// Room for the state of `m` queries.
SmallVector<Value> stateRoom(ImplicitLocOpBuilder &b, const AttentionTask &task, int64_t m) {
  SmallVector<Value> room;
  for (SmallVector<int64_t> shape : {SmallVector<int64_t>{m, task.valueChannels}, {m}, {m}})
    room.push_back(tensor::EmptyOp::create(b, shape, b.getF32Type()));
  return room;
}

/// Blocks of keys: any of some queries sees those of [from, end), all of them see those of [wholeFrom, wholeEnd).
struct BlockRange {
  Value from, wholeFrom, wholeEnd, end;
};

/// The blocks of `count` queries from the absolute position `q` on.
BlockRange blocksOf(ImplicitLocOpBuilder &b, const AttentionTask &task, Value q, Value count) {
  AffineExpr d0 = b.getAffineDimExpr(0);
  Value zero = index(b, 0), lastQuery = arith::SubIOp::create(b, arith::AddIOp::create(b, q, count), index(b, 1));
  auto key = [&](Value query, int64_t distance) -> Value {
    Value sum = asValue(b, affineOf(b, d0 + distance, {OpFoldResult(query)}));
    return arith::MaxSIOp::create(b, sum, zero);
  };
  Value end = task.keyCount, wholeEnd = task.keyCount, from = zero, wholeFrom = zero;
  if (task.bounds.upper) {
    end = arith::MinSIOp::create(b, end, key(lastQuery, *task.bounds.upper));
    wholeEnd = arith::MinSIOp::create(b, wholeEnd, key(q, *task.bounds.upper));
  }
  if (task.bounds.lower) {
    from = key(q, *task.bounds.lower);
    wholeFrom = key(lastQuery, *task.bounds.lower);
  }
  auto floorBlock = [&](Value v) { return asValue(b, affineOf(b, d0.floorDiv(task.block), {OpFoldResult(v)})); };
  auto ceilBlock = [&](Value v) { return asValue(b, affineOf(b, d0.ceilDiv(task.block), {OpFoldResult(v)})); };
  BlockRange range{floorBlock(from), {}, {}, ceilBlock(end)};
  if (!task.bounds.exact) {
    range.wholeFrom = range.wholeEnd = range.from;
    return range;
  }
  range.wholeFrom = task.bounds.lower ? Value(arith::MinSIOp::create(b, ceilBlock(wholeFrom), range.end)) : range.from;
  range.wholeEnd = floorBlock(wholeEnd);
  if (task.bounds.lower)
    range.wholeEnd = arith::MaxSIOp::create(b, range.wholeEnd, range.wholeFrom);
  return range;
}

/// The state after the blocks of `range`.
SmallVector<Value> update(ImplicitLocOpBuilder &b, const AttentionTask &task, const QueryTile &tile,
                          const KeyBlocks &blocks, const BlockRange &range, ValueRange init) {
  SmallVector<Value> state(init);
  if (task.bounds.exact && task.bounds.lower)
    state = overBlocks(b, task, tile, blocks, range.from, range.wholeFrom, /*masked=*/true, state);
  if (task.bounds.exact)
    state = overBlocks(b, task, tile, blocks, range.wholeFrom, range.wholeEnd, /*masked=*/false, state);
  return overBlocks(b, task, tile, blocks, range.wholeEnd, range.end, /*masked=*/true, state);
}

/// The tile's rows of `dest`, the slice of the result that the task owns (rank kept), from row `r` of it on.
Value finish(ImplicitLocOpBuilder &b, const AttentionTask &task, int64_t m, Value r, ValueRange state, Value dest) {
  AttentionOp op = task.op;
  SmallVector<OpFoldResult> offsets(cast<RankedTensorType>(dest.getType()).getRank(), b.getIndexAttr(0)), unused, sizes;
  offsets[*op.dimOf(3, AttentionOp::Q)] = r;
  tileOf(b, task, 3, r, m, Value(), 0, unused, sizes);
  int64_t width = channelsOf(op.getResult(), *op.dimOf(3, AttentionOp::DV));
  Value tile = extract(b, dest, offsets, sizes, {m, width});
  return insert(b, normalize(b, state[0], state[2], m, task.valueChannels, tile), dest, offsets, sizes);
}

/// Tiles of 8 of the `count` queries of a task, then single ones.
SmallVector<Value>
overTiles(ImplicitLocOpBuilder &b, Value count, ValueRange init,
          function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, int64_t, Value, ValueRange)> body) {
  Value full = asValue(b, affineOf(b, b.getAffineDimExpr(0).floorDiv(kTileRows) * kTileRows, {OpFoldResult(count)}));
  SmallVector<Value> tiles =
      loop(b, index(b, 0), full, kTileRows, init,
           [&](ImplicitLocOpBuilder &b, Value r, ValueRange carried) { return body(b, kTileRows, r, carried); });
  return loop(b, full, count, 1, tiles,
              [&](ImplicitLocOpBuilder &b, Value r, ValueRange carried) { return body(b, 1, r, carried); });
}

/// Queries [first, first + count) of the row into `dest`, from a cache: tile by tile.
Value overCache(ImplicitLocOpBuilder &b, const AttentionTask &task, Value first, Value count, Value dest) {
  auto body = [&](ImplicitLocOpBuilder &b, int64_t m, Value r, ValueRange carried) {
    QueryTile tile = queryTile(b, task, m, arith::AddIOp::create(b, first, r));
    BlockRange range = blocksOf(b, task, tile.position, index(b, m));
    SmallVector<Value> state = update(b, task, tile, {}, range, emptyState(b, stateRoom(b, task, m)));
    return SmallVector<Value>{finish(b, task, m, r, state, carried[0])};
  };
  return overTiles(b, count, dest, body)[0];
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

/// The same from plain tensors: some blocks of keys at a time are packed and serve all tiles.
Value overPlainKeys(ImplicitLocOpBuilder &b, const AttentionTask &task, Value first, Value count, Value dest) {
  SmallVector<Value> states = stateRoom(b, task, kTaskQueries);
  states = overTiles(b, count, states, [&](ImplicitLocOpBuilder &b, int64_t m, Value r, ValueRange carried) {
    return withState(b, task, carried, m, r, emptyState(b, stateOf(b, task, carried, m, r)));
  });
  BlockRange all = blocksOf(b, task, arith::AddIOp::create(b, task.offset, first), count);
  int64_t most = blocksTogether(task);
  states = loop(b, all.from, all.end, most, states, [&](ImplicitLocOpBuilder &b, Value begin, ValueRange carried) {
    Value some = arith::MinSIOp::create(b, index(b, most), arith::SubIOp::create(b, all.end, begin));
    KeyBlocks blocks = packBlocks(b, task, begin, some);
    Value end = arith::AddIOp::create(b, begin, some);
    return overTiles(b, count, carried, [&](ImplicitLocOpBuilder &b, int64_t m, Value r, ValueRange carried) {
      QueryTile tile = queryTile(b, task, m, arith::AddIOp::create(b, first, r));
      BlockRange range = blocksOf(b, task, tile.position, index(b, m));
      for (Value *bound : {&range.from, &range.wholeFrom, &range.wholeEnd, &range.end})
        *bound = arith::MinSIOp::create(b, arith::MaxSIOp::create(b, *bound, begin), end);
      SmallVector<Value> state = update(b, task, tile, blocks, range, stateOf(b, task, carried, m, r));
      return withState(b, task, carried, m, r, state);
    });
  });
  return overTiles(b, count, dest, [&](ImplicitLocOpBuilder &b, int64_t m, Value r, ValueRange carried) {
    return SmallVector<Value>{finish(b, task, m, r, stateOf(b, task, states, m, r), carried[0])};
  })[0];
}

/// Queries and keys of the task's row, and where they begin.
Value locateRow(ImplicitLocOpBuilder &b, AttentionTask &task, OpFoldResult queryExtent, OpFoldResult keyExtent) {
  AttentionOp op = task.op;
  Value zero = index(b, 0), next = arith::AddIOp::create(b, task.row, index(b, 1));
  Value queryCount;
  if (op.getQBegin()) {
    task.firstQuery = readIndex(b, op.getQBegin(), task.row);
    queryCount = arith::SubIOp::create(b, readIndex(b, op.getQBegin(), next), task.firstQuery);
  } else {
    task.firstQuery = zero;
    queryCount = asValue(b, queryExtent);
  }
  task.offset = op.getQOffset() ? readIndex(b, op.getQOffset(), task.row) : zero;
  task.firstKey = op.getKvBegin() ? readIndex(b, op.getKvBegin(), task.row) : zero;
  if (op.getKvLength())
    task.keyCount = readIndex(b, op.getKvLength(), task.row);
  else if (op.getKvBegin())
    task.keyCount = arith::SubIOp::create(b, readIndex(b, op.getKvBegin(), next), task.firstKey);
  else if (op.getQOffset())
    task.keyCount = arith::AddIOp::create(b, task.offset, queryCount);
  else
    task.keyCount = asValue(b, keyExtent);
  return queryCount;
}

/// Queries of the longest row.
OpFoldResult longestRow(ImplicitLocOpBuilder &b, AttentionOp op, OpFoldResult rows, OpFoldResult queryExtent) {
  if (!op.getQBegin())
    return queryExtent;
  Value longest = loop(b, index(b, 0), asValue(b, rows), 1, index(b, 0),
                       [&](ImplicitLocOpBuilder &b, Value r, Value carried) -> Value {
                         Value end = readIndex(b, op.getQBegin(), arith::AddIOp::create(b, r, index(b, 1)).getResult());
                         Value length = arith::SubIOp::create(b, end, readIndex(b, op.getQBegin(), r));
                         return arith::MaxSIOp::create(b, carried, length);
                       });
  return longest;
}

struct TileAttention : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    auto query = cast<RankedTensorType>(op.getQuery().getType()),
         value = cast<RankedTensorType>(op.getValue().getType());
    for (Value extra : op.getExtras())
      if (Type element = getElementTypeOrSelf(extra.getType());
          !element.isF32() && !element.isInteger(32) && !element.isInteger(64))
        return rewriter.notifyMatchFailure(op, "extra operands are f32, i32 or i64");
    auto order = [&](unsigned i, AttentionOp::Dim first, AttentionOp::Dim second) {
      return *op.dimOf(i, first) < *op.dimOf(i, second);
    };
    if (!order(0, AttentionOp::Q, AttentionOp::DQK) || !order(3, AttentionOp::Q, AttentionOp::DV))
      return rewriter.notifyMatchFailure(op, "query or result is transposed");
    int64_t channels = query.getDimSize(*op.dimOf(0, AttentionOp::DQK));
    int64_t valueChannels = value.getDimSize(*op.dimOf(2, AttentionOp::DV));
    if (ShapedType::isDynamic(channels) || ShapedType::isDynamic(valueChannels))
      return rewriter.notifyMatchFailure(op, "head dimensions are dynamic");
    auto view = op.getKey().getDefiningOp<attn::KVViewOp>();
    if (view && (channels % kPanel != 0 || valueChannels % kPanel != 0))
      return rewriter.notifyMatchFailure(op, "head dimensions of a cache are not padded");
    // Arguments of a kernel have exact strides: its tiles are padded as they are read.
    channels = attn::padToPanel(channels), valueChannels = attn::padToPanel(valueChannels);
    if (view && (op.getValue() != view.getValues() || !isa<RankedTensorType>(view.getCache().getType())))
      return rewriter.notifyMatchFailure(op, "keys and values are not of one materialised cache");

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
    int64_t together = view ? kTileRows : kTaskQueries; // queries of a task
    OpFoldResult tasks = affineOf(b, d0.ceilDiv(together), {longestRow(b, op, rows, queries)});
    SmallVector<OpFoldResult> resultExtents;
    for (AffineExpr expr : op.getMap(3).getResults())
      resultExtents.push_back(extentOf(static_cast<AttentionOp::Dim>(cast<AffineDimExpr>(expr).getPosition())));
    Value dest = destination(b, op.getResult(), resultExtents);

    SmallVector<OpFoldResult> extents{rows, tasks, extentOf(AttentionOp::HKV), groups};
    SmallVector<Value> results = grid(b, extents, dest, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
      AttentionTask task{
          op, analyzeMask(op.getMask()), view, channels, valueChannels, kBlock, {}, {}, {}, {}, {}, {}, {}, {}};
      if (view)
        task.block = cast<RankedTensorType>(view.getCache().getType()).getDimSize(4) * kPanel / channels;
      task.row = ids[0], task.kvHead = ids[2], task.group = ids[3];
      Value groupCount = asValue(b, groups);
      task.head = arith::AddIOp::create(b, arith::MulIOp::create(b, task.kvHead, groupCount), task.group);
      Value queryCount = locateRow(b, task, queries, keys);
      Value first = asValue(b, affineOf(b, d0 * together, {OpFoldResult(ids[1])}));
      Value left = arith::MaxSIOp::create(b, arith::SubIOp::create(b, queryCount, first), index(b, 0));
      Value count = arith::MinSIOp::create(b, left, index(b, together));
      // A task beyond its row's tiles has no query; it points at the row's first, and writes nothing.
      Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, count, index(b, 0));
      first = arith::SelectOp::create(b, isEmpty, index(b, 0), first);

      Insertion out;
      SmallVector<int64_t> shape;
      tileOf(b, task, 3, arith::AddIOp::create(b, task.firstQuery, first), 1, Value(), 0, out.offsets, out.sizes);
      unsigned q = *op.dimOf(3, AttentionOp::Q);
      out.sizes[q] = count;
      for (OpFoldResult size : out.sizes)
        shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
      Value slice = extract(b, dests[0], out.offsets, out.sizes, shape);
      out.tile = view ? overCache(b, task, first, count, slice) : overPlainKeys(b, task, first, count, slice);
      return SmallVector<Insertion>{out};
    });
    rewriter.replaceOp(op, results);
    return success();
  }
};

} // namespace

void rapt::populateAttentionTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TileAttention>(patterns.getContext());
}
