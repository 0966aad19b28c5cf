//===- AttentionBlocks.cpp - Iteration of tiles of queries over KV blocks ---------------===//
#include "lib/Target/CPU/Tile/AttentionBlocks.h"
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Schedule/Kernel.h"
#include "lib/Target/CPU/Tile/KeptKeys.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include <limits>
#include <numbers>

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::AttentionOp;
using attn_cpu::kPanel;

/// The initial running max: finite, so that a masked score minus it is -infinity and not NaN (A13).
static constexpr float kFloor = std::numeric_limits<float>::lowest();

/// Clones a region of attn.attention into attn_cpu.attention_state; elements of extra operands that depend neither on q
/// nor on kv become values from outside.
static void cloneRegion(Region &from, Region &to, const AttentionExtras &extras, unsigned firstExtra) {
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

/// Adds a score region that returns the score, which keeps scores in natural units (A7).
static void addNaturalScore(ImplicitLocOpBuilder &b, AttentionOp op, Region &to, const AttentionExtras &extras) {
  SmallVector<Type> types{b.getF32Type()};
  types.append(4, b.getIndexType());
  for (auto [i, extra] : llvm::enumerate(op.getExtras()))
    if (!extras.elements[i])
      types.push_back(op.isTable(i) ? extra.getType() : getElementTypeOrSelf(extra.getType()));
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.createBlock(&to, to.end(), types, SmallVector<Location>(types.size(), op.getLoc()));
  attn::YieldOp::create(b, block->getArgument(0));
}

bool tile::isNatural(AttentionOp op) { return !op.getScore().empty() || op.getLse(); }

static int64_t extentOf(Value tensor, unsigned dim) { return cast<RankedTensorType>(tensor.getType()).getDimSize(dim); }

/// The share of the prefetched matrices of the iteration `nth`, in 65536ths: iterations of `blocks` blocks from `from`
/// to `to` have nearly equal shares.
static std::pair<Value, Value> prefetchShare(ImplicitLocOpBuilder &b, Value from, Value to, int64_t blocks, Value nth) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  Value each = asValue(b, affineOf(b, (d1 - d0).ceilDiv(blocks), {OpFoldResult(from), OpFoldResult(to)})),
        step = asValue(b, affineOf(b, (d1 - d0).floorDiv(blocks), {OpFoldResult(from), OpFoldResult(nth)}));
  each = arith::DivUIOp::create(b, index(b, 65536), each);
  Value begin = arith::MulIOp::create(b, step, each), end = arith::AddIOp::create(b, begin, each);
  return {begin, end};
}

/// The state (acc, max, sum) after the KV block of `count` blocks from `nth` on. With `limit` it is masked, at least
/// from the key `limit` on. `share` is the part of the prefetched matrices that it prefetches.
static SmallVector<Value> onBlocks(ImplicitLocOpBuilder &b, const AttentionTask &task, const QueryTile &tile, Value nth,
                                   OpFoldResult count, Value limit, std::pair<Value, Value> share, ValueRange state) {
  auto [keys, values] = keyTiles(b, task, nth, count);
  Value firstKey = arith::MulIOp::create(b, nth, index(b, task.block));
  AttentionOp op = task.op;
  auto step = attn_cpu::AttentionStateOp::create(
      b, state.getTypes()[0], state.getTypes()[1], state.getTypes()[2], tile.query, keys, values, op.getScale(),
      task.sequence, task.head, tile.position, firstKey, limit, tile.extras.tensors, op.getAdditive(), tile.prefetched,
      share.first, share.second, state[0], state[1], state[2],
      tile.extras.tensors.empty() ? nullptr : b.getAffineMapArrayAttr(tile.extras.maps), tile.heads,
      task.usesBf16Matmul(extentOf(tile.query, 0)));
  cpu::withKernel(step, task.schedule.getKernel());
  if (op.getScore().empty() && isNatural(op))
    addNaturalScore(b, op, step.getScore(), tile.extras);
  else
    cloneRegion(op.getScore(), step.getScore(), tile.extras, 5);
  if (limit)
    cloneRegion(op.getMask(), step.getMask(), tile.extras, 4);
  return SmallVector<Value>(step->getResults());
}

/// The state after blocks [from, to), in KV blocks of `blocks` blocks. With `limit` they are masked. With `hasRest` the
/// last KV block may have fewer blocks.
static SmallVector<Value> overBlocks(ImplicitLocOpBuilder &b, const AttentionTask &task, const QueryTile &tile,
                                     Value from, Value to, int64_t blocks, Value limit, bool hasRest, ValueRange init) {
  return loop(b, from, to, blocks, init, [&](ImplicitLocOpBuilder &b, Value nth, ValueRange state) {
    OpFoldResult count = b.getIndexAttr(blocks);
    if (hasRest && blocks > 1)
      count =
          affineMin(b, {affineOf(b, b.getAffineDimExpr(0) - b.getAffineDimExpr(1), {OpFoldResult(to), nth}), count});
    std::pair<Value, Value> share =
        tile.prefetched.empty() ? std::pair<Value, Value>() : prefetchShare(b, from, to, blocks, nth);
    return onBlocks(b, task, tile, nth, count, limit, share, state);
  });
}

/// Sizes of KV blocks, in blocks: of those without a mask, and of masked ones.
struct Widths {
  int64_t whole, masked;
};

/// The blocks of [from, end) from the first to the last of which the mask keeps some key for `queries` of a tile.
static std::pair<Value, Value> keptBlocks(ImplicitLocOpBuilder &b, const AttentionTask &task, const QueryTile &tile,
                                          Value queries, Value from, Value end) {
  Value none[] = {end, from};
  SmallVector<Value> range = loop(b, from, end, 1, none, [&](ImplicitLocOpBuilder &b, Value nth, ValueRange carried) {
    Value next = arith::AddIOp::create(b, nth, index(b, 1));
    Value some = asBool(b, keptKeys(b, task, {tile.inSequence, queries, nth, next}, Reads::Matrices).some);
    Value first = arith::MinSIOp::create(b, carried[0], nth);
    return SmallVector<Value>{arith::SelectOp::create(b, some, first, carried[0]),
                              arith::SelectOp::create(b, some, next, carried[1])};
  });
  return {range[0], range[1]};
}

/// The state of a tile's queries after the blocks of `range`, of which those are skipped that the mask drops, and those
/// have no mask that it keeps, by its intervals. `hasWhole`: code without a mask is made.
static SmallVector<Value> overToldBlocks(ImplicitLocOpBuilder &b, const AttentionTask &task, const QueryTile &tile,
                                         const KeyBlocks &range, Widths widths, bool hasWhole, ValueRange init) {
  const int64_t each = hasWhole ? widths.whole : widths.masked;
  Value queries = queriesOf(b, tile);
  return loop(b, range.from, range.end, each, init, [&](ImplicitLocOpBuilder &b, Value nth, ValueRange state) {
    Value next = arith::AddIOp::create(b, nth, index(b, each)), end = arith::MinSIOp::create(b, next, range.end);
    const Kept kept = keptKeys(b, task, {tile.inSequence, queries, nth, end}, Reads::Matrices);
    auto masked = [&](ImplicitLocOpBuilder &b) {
      // Blocks at both ends of a KV block of which no key is kept change no bit of its state.
      auto [from, to] = each > 1 ? keptBlocks(b, task, tile, queries, nth, end) : std::pair(nth, end);
      return overBlocks(b, task, tile, from, to, widths.masked, range.keyEnd, /*hasRest=*/true, state);
    };
    return where(b, kept.some, state, [&](ImplicitLocOpBuilder &b) {
      if (!hasWhole || isNumber(kept.all, 0))
        return masked(b);
      // A KV block that goes on behind the range, or behind the last key, is masked.
      Value keyEnd = arith::MulIOp::create(b, next, index(b, task.block));
      Value isFull = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, keyEnd, range.keyEnd);
      Value isWithin = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, next, range.end);
      isFull = arith::AndIOp::create(b, arith::AndIOp::create(b, isFull, isWithin), asBool(b, kept.all));
      auto whole = [&](ImplicitLocOpBuilder &b) {
        std::pair<Value, Value> share =
            tile.prefetched.empty() ? std::pair<Value, Value>() : prefetchShare(b, range.from, range.end, each, nth);
        return onBlocks(b, task, tile, nth, b.getIndexAttr(each), Value(), share, state);
      };
      return where(b, isFull, state.getTypes(), whole, masked);
    });
  });
}

Value tile::queriesOf(ImplicitLocOpBuilder &b, const QueryTile &tile) {
  return asValue(b, affineOf(b, b.getAffineDimExpr(0).floorDiv(tile.heads), {extent(b, tile.query, 0)}));
}

Value tile::normalize(ImplicitLocOpBuilder &b, const AttentionTask &task, ValueRange state, Value count, Value dest) {
  Value acc = state[0], sum = state[2];
  // A score region may return -infinity for all keys, which leaves the sum 0 (A11). acc is then 0 times the values: NaN
  // where a value is NaN or infinite. Masked keys add nothing to acc.
  AttentionOp op = task.op;
  const bool scored = isNatural(op);
  Value f0 = arith::ConstantOp::create(b, b.getF32FloatAttr(0)),
        f1 = arith::ConstantOp::create(b, b.getF32FloatAttr(1));
  VectorType panel = VectorType::get({kPanel}, b.getF32Type());
  Value zeros = scored ? Value(arith::ConstantOp::create(b, b.getZeroAttr(panel))) : Value();
  return loop(b, index(b, 0), count, 1, dest, [&](ImplicitLocOpBuilder &b, Value r, Value carried) {
    Value total = tensor::ExtractOp::create(b, sum, r);
    // A sum of NaN, which a sink may make alone (A43), makes the result NaN.
    Value some = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, total, f0);
    Value factor = arith::DivFOp::create(b, f1, arith::SelectOp::create(b, some, total, f1));
    Value factors = vector::BroadcastOp::create(b, panel, factor);
    Value isNone = scored ? Value(arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, total, f0)) : Value();
    return loop(b, index(b, 0), index(b, task.valueChannels), kPanel, carried,
                [&](ImplicitLocOpBuilder &b, Value c, Value inner) {
                  Value result = arith::MulFOp::create(b, readPanel(b, acc, {r, c}), factors);
                  if (scored)
                    result = arith::SelectOp::create(b, isNone, zeros, result);
                  return writePanel(b, result, inner, {r, c});
                });
  });
}

Value tile::logSumExp(ImplicitLocOpBuilder &b, ValueRange state, Value count, Value dest,
                      function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, Value row)> at) {
  Value f0 = arith::ConstantOp::create(b, b.getF32FloatAttr(0)),
        none = arith::ConstantOp::create(b, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
  return loop(b, index(b, 0), count, 1, dest, [&](ImplicitLocOpBuilder &b, Value row, Value carried) -> Value {
    Value max = tensor::ExtractOp::create(b, state[1], row), sum = tensor::ExtractOp::create(b, state[2], row);
    Value lse = arith::AddFOp::create(b, max, Value(math::LogOp::create(b, sum)));
    Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, f0);
    lse = arith::SelectOp::create(b, isEmpty, none, lse);
    return tensor::InsertOp::create(b, lse, carried, at(b, row));
  });
}

Insertion tile::sliceOfLse(AttentionOp op, const Insertion &of) {
  Insertion slice;
  for (int64_t dim : op.getLseDims())
    slice.offsets.push_back(of.offsets[dim]), slice.sizes.push_back(of.sizes[dim]);
  return slice;
}

Value tile::extractSlice(ImplicitLocOpBuilder &b, Value result, const Insertion &slice) {
  SmallVector<int64_t> shape;
  for (OpFoldResult size : slice.sizes)
    shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  return extract(b, result, slice.offsets, slice.sizes, shape);
}

/// Copies `rows` queries, a number or at most `most`, with the channels of a second pair behind those of the first.
/// `rowOf` gives row r of operand i, the query or the second query.
static Value copyQueries(ImplicitLocOpBuilder &b, const AttentionTask &task, OpFoldResult rows, int64_t most,
                         function_ref<Value(ImplicitLocOpBuilder &, unsigned i, Value r)> rowOf) {
  AttentionOp op = task.op;
  const int64_t m = staticOr(rows);
  OpFoldResult zero = b.getIndexAttr(0);
  Value dest =
      tensor::EmptyOp::create(b, ArrayRef<int64_t>{ShapedType::isDynamic(m) ? most : m, task.channels}, b.getF32Type());
  dest = loop(b, index(b, 0), asValue(b, rows), 1, dest, [&](ImplicitLocOpBuilder &b, Value r, Value row) {
    auto copy = [&](unsigned i, int64_t from, int64_t to) {
      Value query = rowOf(b, i, r);
      row = loop(b, index(b, from), index(b, to), kPanel, row, [&](ImplicitLocOpBuilder &b, Value c, Value carried) {
        Value channel = from == 0 ? c : Value(arith::SubIOp::create(b, c, index(b, from)));
        return writePanel(b, readPanel(b, query, {index(b, 0), channel}), carried, {r, c});
      });
    };
    copy(0, 0, task.firstChannels());
    if (op.getSecondQuery())
      copy(op.getSecondMap(), task.firstChannels(), task.channels);
    return row;
  });
  if (!ShapedType::isDynamic(m))
    return dest;
  return extract(b, dest, {zero, zero}, {rows, b.getIndexAttr(task.channels)}, {m, task.channels});
}

/// Rows of operand `i`, the query or the second query.
static Value rowsOf(ImplicitLocOpBuilder &b, const AttentionTask &task, unsigned i, OpFoldResult rows,
                    Value inSequence) {
  AttentionOp op = task.op;
  SmallVector<OpFoldResult> offsets, sizes;
  tileOf(b, task, i, arith::AddIOp::create(b, task.firstQuery, inSequence), 1, Value(), 0, offsets, sizes);
  sizes[*op.dimOf(i, AttentionOp::Q)] = rows;
  Value query = op.getMapped(i);
  return extract(b, query, offsets, sizes, {staticOr(rows), extentOf(query, *op.dimOf(i, AttentionOp::DQK))});
}

Value tile::queryRows(ImplicitLocOpBuilder &b, const AttentionTask &task, OpFoldResult rows, Value inSequence) {
  return rowsOf(b, task, 0, rows, inSequence);
}

QueryTile tile::queryTile(ImplicitLocOpBuilder &b, const AttentionTask &task, OpFoldResult rows, Value inSequence,
                          Value last) {
  Value query = last ? Value() : queryRows(b, task, rows, inSequence);
  // Channels are padded with zeros, and those of a second pair are behind the first's.
  if (last || extentOf(query, 1) != task.channels)
    query = copyQueries(b, task, rows, task.mostQueriesLeft(), [&](ImplicitLocOpBuilder &b, unsigned i, Value r) {
      Value there = arith::AddIOp::create(b, inSequence, r);
      return rowsOf(b, task, i, b.getIndexAttr(1), last ? Value(arith::MinSIOp::create(b, there, last)) : there);
    });
  return {query, sliceExtras(b, task, inSequence, rows), inSequence, arith::AddIOp::create(b, task.offset, inSequence)};
}

SmallVector<Value> tile::emptyState(ImplicitLocOpBuilder &b, ValueRange dest) { return initialState(b, {}, dest); }

SinkState tile::sinkState(ImplicitLocOpBuilder &b, AttentionOp op, Value head) {
  if (!op.getSink())
    return {};
  Value sink = tensor::ExtractOp::create(b, op.getSink(), head);
  if (!sink.getType().isF32())
    sink = arith::ExtFOp::create(b, b.getF32Type(), sink);
  if (!isNatural(op)) // scores are in base-2 units
    sink = arith::MulFOp::create(b, sink, arith::ConstantOp::create(b, b.getF32FloatAttr(std::numbers::log2e)));
  Value max = arith::MaxNumFOp::create(b, sink, arith::ConstantOp::create(b, b.getF32FloatAttr(kFloor)));
  Value below = arith::SubFOp::create(b, sink, max);
  return {max, isNatural(op) ? Value(math::ExpOp::create(b, below)) : Value(math::Exp2Op::create(b, below))};
}

/// Fills a state of a dynamic number of queries; upstream vectorizes fills of static shape alone.
static Value fillRows(ImplicitLocOpBuilder &b, Value value, Value dest) {
  auto type = cast<RankedTensorType>(dest.getType());
  return loop(b, index(b, 0), asValue(b, extent(b, dest, 0)), 1, dest,
              [&](ImplicitLocOpBuilder &b, Value r, Value outer) -> Value {
                if (type.getRank() == 1)
                  return tensor::InsertOp::create(b, value, outer, r);
                Value panel = vector::BroadcastOp::create(b, VectorType::get({kPanel}, b.getF32Type()), value);
                return loop(
                    b, index(b, 0), index(b, type.getDimSize(1)), kPanel, outer,
                    [&](ImplicitLocOpBuilder &b, Value c, Value inner) { return writePanel(b, panel, inner, {r, c}); });
              });
}

SmallVector<Value> tile::initialState(ImplicitLocOpBuilder &b, SinkState sink, ValueRange dest) {
  auto fill = [&](Value value, float number, Value dest) -> Value {
    if (!value)
      value = arith::ConstantOp::create(b, b.getF32FloatAttr(number));
    if (cast<RankedTensorType>(dest.getType()).isDynamicDim(0))
      return fillRows(b, value, dest);
    return linalg::FillOp::create(b, value, dest).getResult(0);
  };
  return {fill({}, 0, dest[0]), fill(sink.max, kFloor, dest[1]), fill(sink.sum, 0, dest[2])};
}

SmallVector<Value> tile::stateBuffers(ImplicitLocOpBuilder &b, const AttentionTask &task, int64_t m) {
  SmallVector<Value> buffers;
  for (SmallVector<int64_t> shape : {SmallVector<int64_t>{m, task.valueChannels}, {m}, {m}})
    buffers.push_back(tensor::EmptyOp::create(b, shape, b.getF32Type()));
  return buffers;
}

/// Offsets and sizes of rows [at, at + count) of a tensor of a state.
static Insertion rowsOf(ImplicitLocOpBuilder &b, Value tensor, OpFoldResult at, OpFoldResult count) {
  Insertion rows;
  rows.offsets = {at}, rows.sizes = {count};
  if (auto type = cast<RankedTensorType>(tensor.getType()); type.getRank() == 2)
    rows.offsets.push_back(b.getIndexAttr(0)), rows.sizes.push_back(b.getIndexAttr(type.getDimSize(1)));
  return rows;
}

SmallVector<Value> tile::rowsOfState(ImplicitLocOpBuilder &b, ValueRange state, OpFoldResult at, OpFoldResult count) {
  return llvm::map_to_vector(state,
                             [&](Value tensor) { return extractSlice(b, tensor, rowsOf(b, tensor, at, count)); });
}

SmallVector<Value> tile::withRowsOfState(ImplicitLocOpBuilder &b, ValueRange state, OpFoldResult at, OpFoldResult count,
                                         ValueRange part) {
  SmallVector<Value> whole;
  for (auto [tensor, rows] : llvm::zip_equal(state, part)) {
    Insertion place = rowsOf(b, tensor, at, count);
    whole.push_back(insert(b, rows, tensor, place.offsets, place.sizes));
  }
  return whole;
}

KeyBlocks tile::blocksOf(ImplicitLocOpBuilder &b, const AttentionTask &task, Value q, Value count) {
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
  KeyBlocks range{floorBlock(from), {}, {}, ceilBlock(end), end};
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

/// Where masked blocks begin, behind KV blocks of `blocks` blocks that have no mask: behind the last whole one, or
/// behind a rest that is one, as it is long or all blocks end with it.
static Value maskedFrom(ImplicitLocOpBuilder &b, const AttentionTask &task, const KeyBlocks &range, int64_t blocks,
                        bool hasRest) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  OpFoldResult bounds[] = {range.wholeFrom, range.wholeEnd};
  Value behindWhole = arith::MaxSIOp::create(
      b, asValue(b, affineOf(b, d0 + (d1 - d0).floorDiv(blocks) * blocks, bounds)), range.wholeFrom);
  if (!hasRest)
    return behindWhole;
  Value rest = arith::SubIOp::create(b, range.wholeEnd, behindWhole);
  Value isLong = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, rest,
                                       index(b, *task.schedule.getRestKeys() / task.block)),
        isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, range.wholeEnd, range.end);
  return arith::SelectOp::create(b, arith::OrIOp::create(b, isLong, isLast),
                                 Value(arith::MaxSIOp::create(b, range.wholeEnd, behindWhole)), behindWhole);
}

// Contiguous keys use wide KV blocks: the per-block cost (max, rescale) does not depend on the width. Blocks to which
// not all queries attend, and a rest, are masked, even where the mask excludes nothing. Masked KV blocks of a paged
// cache, or of AMX, are one block wide.
SmallVector<Value> tile::update(ImplicitLocOpBuilder &b, const AttentionTask &task, const QueryTile &tile,
                                const KeyBlocks &range, ValueRange init) {
  SmallVector<Value> state(init);
  Value from = range.from;
  const int64_t m = extentOf(tile.query, 0);
  const bool isWide = m >= task.schedule.getWideQueries();
  const int64_t blocks = hasContiguousBlocks(task) || (isWide && task.usesBf16Matmul(m))
                             ? task.schedule.getKeys() / task.block
                             : 1,
                masked = hasContiguousBlocks(task) && !task.schedule.getKernel().takesMatrix(m) ? blocks : 1;
  if (task.tellsBlocks)
    return overToldBlocks(b, task, tile, range, {blocks, masked}, task.view || isWide, init);
  if (task.bounds.exact && (task.view || isWide)) {
    if (task.bounds.lower)
      state = overBlocks(b, task, tile, range.from, range.wholeFrom, masked, range.keyEnd, /*hasRest=*/true, state);
    const bool hasRest =
        task.schedule.getRestKeys() && hasContiguousBlocks(task) && !task.schedule.getKernel().takesMatrix(m);
    from = maskedFrom(b, task, range, blocks, hasRest);
    state = overBlocks(b, task, tile, range.wholeFrom, from, blocks, /*limit=*/Value(), hasRest, state);
  }
  return overBlocks(b, task, tile, from, range.end, masked, range.keyEnd, /*hasRest=*/true, state);
}

int64_t tile::queriesOfTile(const AttentionTask &task, int64_t heads) {
  return std::max<int64_t>(task.mostQueriesLeft() / heads, 1);
}

QueryTile tile::groupTile(ImplicitLocOpBuilder &b, const AttentionTask &task, OpFoldResult count, Value inSequence,
                          int64_t heads) {
  AttentionOp op = task.op;
  Value query;
  const unsigned group = *op.dimOf(0, AttentionOp::G), channels = *op.dimOf(0, AttentionOp::DQK);
  const bool isInPlace = getConstantIntValue(count) == 1 && group < channels && !op.getSecondQuery() &&
                         extentOf(op.getQuery(), channels) == task.channels;
  if (isInPlace) {
    SmallVector<OpFoldResult> offsets, sizes;
    tileOf(b, task, 0, arith::AddIOp::create(b, task.firstQuery, inSequence), 1, Value(), 0, offsets, sizes);
    sizes[group] = b.getIndexAttr(heads);
    query = extract(b, op.getQuery(), offsets, sizes, {heads, task.channels});
  } else {
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    OpFoldResult rows = affineOf(b, d0 * heads, {count});
    auto rowOf = [&](ImplicitLocOpBuilder &b, unsigned i, Value r) {
      AttentionTask ofHead = task;
      ofHead.group = asValue(b, affineOf(b, d0 + d1 % heads, {OpFoldResult(task.group), OpFoldResult(r)}));
      Value nth = asValue(b, affineOf(b, d0 + d1.floorDiv(heads), {OpFoldResult(inSequence), OpFoldResult(r)}));
      return rowsOf(b, ofHead, i, b.getIndexAttr(1), nth);
    };
    query = copyQueries(b, task, rows, heads * queriesOfTile(task, heads), rowOf);
  }
  return {query, sliceExtras(b, task, inSequence, count), inSequence, arith::AddIOp::create(b, task.offset, inSequence),
          heads};
}

SmallVector<Value> tile::overQueriesLeft(ImplicitLocOpBuilder &b, Value from, Value end, int64_t most, ValueRange init,
                                         QueriesBody body) {
  Value left = arith::SubIOp::create(b, end, from);
  Value tiles = asValue(
      b, affineMax(b, {affineOf(b, b.getAffineDimExpr(0).ceilDiv(most), {OpFoldResult(left)}), b.getIndexAttr(1)}));
  Value each = arith::MaxSIOp::create(b, arith::CeilDivUIOp::create(b, left, tiles), index(b, 1));
  return loop(b, from, end, each, init, [&](ImplicitLocOpBuilder &b, Value at, ValueRange carried) {
    OpFoldResult rest = arith::SubIOp::create(b, end, at).getResult();
    return body(b, affineMin(b, {rest, OpFoldResult(each), b.getIndexAttr(most)}), at, carried);
  });
}
