//===- Attention.cpp - attn.attention as loops over blocks of keys ------------------------===//
//
// The grid is (row, tile of 8 queries, key/value head, query head of its group). A task
// carries the state of online softmax over blocks of keys: blocks that the mask
// excludes are not visited, blocks that it keeps whole are visited without it. A
// row's last queries go one by one.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/Mask.h"
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"
#include "lib/Conversion/AttnToLinalg/Tile.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::AttentionOp;
using attn::kPanel;

namespace {

/// Keys of a block where they are not in a cache.
constexpr int64_t kBlock = 64;
/// The running maximum starts here: finite, so that a masked score minus it is -inf and not NaN.
constexpr float kFloor = -1.0e30f;

/// The attention as one task sees it.
struct Task {
  AttentionOp op;
  MaskBounds bounds;
  attn::KVViewOp view; ///< null when keys and values are plain tensors
  int64_t channels, valueChannels, block;
  Value row, kvHead, group, head;
  Value firstQuery; ///< of the row, in the dim q
  Value offset;     ///< absolute position of the row's first query
  Value firstKey;   ///< of the row, in the dim kv of plain tensors
  Value keyCount;
};

/// Offsets and sizes of a tile of operand `i`: one row, head and group; `m` queries from `q`, `n` keys from `kv`.
void tileOf(ImplicitLocOpBuilder &b, const Task &task, unsigned i, Value q, int64_t m, Value kv, int64_t n,
            SmallVector<OpFoldResult> &offsets, SmallVector<OpFoldResult> &sizes) {
  AttentionOp op = task.op;
  for (AffineExpr expr : op.getMap(i).getResults()) {
    OpFoldResult offset = b.getIndexAttr(0), size = b.getIndexAttr(1);
    switch (cast<AffineDimExpr>(expr).getPosition()) {
    case AttentionOp::B:
      offset = task.row;
      break;
    case AttentionOp::HKV:
      offset = task.kvHead;
      break;
    case AttentionOp::G:
      offset = task.group;
      break;
    case AttentionOp::Q:
      offset = q, size = b.getIndexAttr(m);
      break;
    case AttentionOp::KV:
      offset = kv, size = b.getIndexAttr(n);
      break;
    case AttentionOp::DQK:
    case AttentionOp::DV: {
      Value operands[] = {op.getQuery(), op.getKey(), op.getValue(), op.getResult()};
      size = b.getIndexAttr(cast<RankedTensorType>(operands[i].getType()).getDimSize(offsets.size()));
      break;
    }
    }
    offsets.push_back(offset);
    sizes.push_back(size);
  }
}

/// Key and value tiles [block/32, channels, 32] and [value channels/32, block, 32] of block `nth`.
std::pair<Value, Value> cacheTiles(ImplicitLocOpBuilder &b, const Task &task, Value nth) {
  attn::KVViewOp view = task.view;
  Value blockId = readIndex(b, view.getTable(), {task.row, nth});
  int64_t lines = task.block * task.channels / kPanel;
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  auto part = [&](int64_t which, ArrayRef<int64_t> shape) -> Value {
    Value slice =
        extract(b, view.getCache(), {blockId, view.getLayer(), task.kvHead, b.getIndexAttr(which), zero, zero},
                {one, one, one, one, b.getIndexAttr(lines), b.getIndexAttr(kPanel)}, {lines, kPanel});
    auto type = RankedTensorType::get(shape, getElementTypeOrSelf(slice.getType()));
    SmallVector<ReassociationIndices> groups{{0, 1}, {2}};
    return tensor::ExpandShapeOp::create(b, type, slice, groups);
  };
  return {part(0, {task.block / kPanel, task.channels, kPanel}), part(1, {task.channels / kPanel, task.block, kPanel})};
}

/// The same from plain tensors: keys are transposed into panels. Keys beyond the row's count repeat the last one, so
/// that what is masked is finite.
std::pair<Value, Value> packedTiles(ImplicitLocOpBuilder &b, const Task &task, Value nth) {
  AttentionOp op = task.op;
  Type f32 = b.getF32Type();
  auto keyType = RankedTensorType::get({task.block / kPanel, task.channels, kPanel}, f32);
  auto valueType = RankedTensorType::get({task.valueChannels / kPanel, task.block, kPanel}, f32);
  Value first = arith::MulIOp::create(b, nth, index(b, task.block));
  Value last = arith::SubIOp::create(b, task.keyCount, index(b, 1));
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  auto source = [&](ImplicitLocOpBuilder &b, unsigned i, Value place, Value channel) {
    Value key = arith::MinSIOp::create(b, arith::AddIOp::create(b, first, place), last);
    key = arith::AddIOp::create(b, key, task.firstKey);
    SmallVector<OpFoldResult> offsets, sizes;
    tileOf(b, task, i, Value(), 0, key, 1, offsets, sizes);
    SmallVector<Value> indices;
    for (auto [expr, offset] : llvm::zip(op.getMap(i).getResults(), offsets)) {
      unsigned dim = cast<AffineDimExpr>(expr).getPosition();
      indices.push_back(dim == AttentionOp::DQK || dim == AttentionOp::DV ? channel : asValue(b, offset));
    }
    return readPanel(b, i == 1 ? op.getKey() : op.getValue(), indices);
  };
  Value places = index(b, task.block), zero = index(b, 0);
  Value keys = loop(b, zero, places, 1, tensor::EmptyOp::create(b, keyType.getShape(), f32),
                    [&](ImplicitLocOpBuilder &b, Value place, Value carried) {
                      Value panel = asValue(b, affineOf(b, d0.floorDiv(kPanel), {OpFoldResult(place)}));
                      Value lane = asValue(b, affineOf(b, d0 % kPanel, {OpFoldResult(place)}));
                      return loop(b, zero, index(b, task.channels), kPanel, carried,
                                  [&](ImplicitLocOpBuilder &b, Value channel, Value inner) -> Value {
                                    return vector::TransferWriteOp::create(
                                               b, source(b, 1, place, channel), inner, ValueRange{panel, channel, lane},
                                               AffineMap::get(3, 0, d1), ArrayRef<bool>{true})
                                        .getResult();
                                  });
                    });
  Value values = loop(b, zero, places, 1, tensor::EmptyOp::create(b, valueType.getShape(), f32),
                      [&](ImplicitLocOpBuilder &b, Value place, Value carried) {
                        return loop(b, zero, index(b, task.valueChannels), kPanel, carried,
                                    [&](ImplicitLocOpBuilder &b, Value channel, Value inner) {
                                      Value panel =
                                          asValue(b, affineOf(b, d0.floorDiv(kPanel), {OpFoldResult(channel)}));
                                      return writePanel(b, source(b, 2, place, channel), inner, {panel, place, zero});
                                    });
                      });
  return {keys, values};
}

/// The extra operands as a tile of queries sees them.
struct Extras {
  /// Slices of one row and head with dims of q and kv, and whole tables: operands of attention_state.
  SmallVector<Value> tensors;
  SmallVector<AffineMap> maps;
  /// Per extra operand: its element where that does not depend on q or kv, else null.
  SmallVector<Value> elements;
};

/// Slices for queries [inRow, inRow + m) of the row and all of its keys. Without b in its map, an extra's q and kv are
/// packed as the query's and the key's.
Extras sliceExtras(ImplicitLocOpBuilder &b, const Task &task, Value inRow, int64_t m) {
  AttentionOp op = task.op;
  Extras extras;
  for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
    AffineMap map = op.getMap(4 + i);
    if (op.isTable(i)) {
      extras.tensors.push_back(extra);
      extras.maps.push_back(AffineMap::get(2, 0, b.getContext()));
      extras.elements.push_back(Value());
      continue;
    }
    bool packed = !op.dimOf(4 + i, AttentionOp::B);
    Value q = packed ? Value(arith::AddIOp::create(b, task.firstQuery, inRow)) : inRow;
    Value kv = packed ? task.firstKey : index(b, 0);
    SmallVector<OpFoldResult> offsets, sizes;
    tileOf(b, task, 4 + i, q, m, kv, 1, offsets, sizes);
    SmallVector<int64_t> shape;
    SmallVector<AffineExpr> dims;
    for (auto [place, expr] : llvm::enumerate(map.getResults())) {
      unsigned dim = cast<AffineDimExpr>(expr).getPosition();
      if (dim == AttentionOp::KV)
        sizes[place] = task.keyCount;
      if (dim == AttentionOp::Q || dim == AttentionOp::KV) {
        shape.push_back(dim == AttentionOp::Q ? m : ShapedType::kDynamic);
        dims.push_back(b.getAffineDimExpr(dim == AttentionOp::Q ? 0 : 1));
      }
    }
    if (dims.empty()) {
      SmallVector<Value> indices;
      for (OpFoldResult offset : offsets)
        indices.push_back(asValue(b, offset));
      extras.elements.push_back(tensor::ExtractOp::create(b, extra, indices));
      continue;
    }
    extras.tensors.push_back(extract(b, extra, offsets, sizes, shape));
    extras.maps.push_back(AffineMap::get(2, 0, dims, b.getContext()));
    extras.elements.push_back(Value());
  }
  return extras;
}

/// A region of attention becomes that of a state: elements that do not change are values from outside.
void cloneRegion(Region &from, Region &to, const Extras &extras, unsigned firstExtra) {
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

/// State (acc, max, sum) after blocks [from, to).
SmallVector<Value> overBlocks(ImplicitLocOpBuilder &b, const Task &task, Value query, Value q, const Extras &extras,
                              Value from, Value to, bool masked, ValueRange init) {
  auto loop = scf::ForOp::create(b, from, to, index(b, 1), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value nth = loop.getInductionVar();
  auto [keys, values] = task.view ? cacheTiles(b, task, nth) : packedTiles(b, task, nth);
  Value firstKey = arith::MulIOp::create(b, nth, index(b, task.block));
  ValueRange state = loop.getRegionIterArgs();
  AttentionOp op = task.op;
  auto step = attn::AttentionStateOp::create(
      b, init.getTypes()[0], init.getTypes()[1], init.getTypes()[2], query, keys, values, op.getScale(), task.row,
      task.head, q, firstKey, masked ? task.keyCount : Value(), extras.tensors, op.getAdditive(), state[0], state[1],
      state[2], extras.tensors.empty() ? nullptr : b.getAffineMapArrayAttr(extras.maps));
  cloneRegion(op.getScore(), step.getScore(), extras, 5);
  if (masked)
    cloneRegion(op.getMask(), step.getMask(), extras, 4);
  scf::YieldOp::create(b, step->getResults());
  return SmallVector<Value>(loop.getResults());
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

/// Queries [first + r, first + r + m) of the row into `dest`, the slice of the result that the task owns (rank kept).
Value emitTile(ImplicitLocOpBuilder &b, const Task &task, int64_t m, Value first, Value r, Value dest) {
  AttentionOp op = task.op;
  Value inRow = arith::AddIOp::create(b, first, r);
  SmallVector<OpFoldResult> offsets, sizes;
  tileOf(b, task, 0, arith::AddIOp::create(b, task.firstQuery, inRow), m, Value(), 0, offsets, sizes);
  Value query = paddedQuery(
      b, extract(b, op.getQuery(), offsets, sizes, {m, channelsOf(op.getQuery(), *op.dimOf(0, AttentionOp::DQK))}),
      task.channels);
  Extras extras = sliceExtras(b, task, inRow, m);
  Value q = arith::AddIOp::create(b, task.offset, inRow);

  auto fill = [&](float value, ArrayRef<int64_t> shape) -> Value {
    Value e = tensor::EmptyOp::create(b, shape, b.getF32Type());
    return linalg::FillOp::create(b, Value(arith::ConstantOp::create(b, b.getF32FloatAttr(value))), e).getResult(0);
  };
  SmallVector<Value> state{fill(0, {m, task.valueChannels}), fill(kFloor, {m}), fill(0, {m})};

  // Keys that any query of the tile can see are [from, end); keys that all of them see are [wholeFrom, wholeEnd).
  AffineExpr d0 = b.getAffineDimExpr(0);
  Value zero = index(b, 0);
  auto plus = [&](Value value, int64_t c) { return asValue(b, affineOf(b, d0 + c, {OpFoldResult(value)})); };
  auto atLeast0 = [&](Value v) -> Value { return arith::MaxSIOp::create(b, v, zero); };
  Value end = task.keyCount, wholeEnd = task.keyCount, from = zero, wholeFrom = zero;
  if (task.bounds.upper) {
    end = arith::MinSIOp::create(b, end, atLeast0(plus(q, m - 1 + *task.bounds.upper)));
    wholeEnd = arith::MinSIOp::create(b, wholeEnd, atLeast0(plus(q, *task.bounds.upper)));
  }
  if (task.bounds.lower) {
    from = atLeast0(plus(q, *task.bounds.lower));
    wholeFrom = atLeast0(plus(q, m - 1 + *task.bounds.lower));
  }
  auto floorBlock = [&](Value v) { return asValue(b, affineOf(b, d0.floorDiv(task.block), {OpFoldResult(v)})); };
  auto ceilBlock = [&](Value v) { return asValue(b, affineOf(b, d0.ceilDiv(task.block), {OpFoldResult(v)})); };
  Value blockEnd = ceilBlock(end), blockFrom = floorBlock(from);
  if (task.bounds.exact) {
    Value wholeBlockEnd = floorBlock(wholeEnd), wholeBlockFrom = blockFrom;
    if (task.bounds.lower) {
      wholeBlockFrom = arith::MinSIOp::create(b, ceilBlock(wholeFrom), blockEnd);
      state = overBlocks(b, task, query, q, extras, blockFrom, wholeBlockFrom, /*masked=*/true, state);
      wholeBlockEnd = arith::MaxSIOp::create(b, wholeBlockEnd, wholeBlockFrom);
    }
    state = overBlocks(b, task, query, q, extras, wholeBlockFrom, wholeBlockEnd, /*masked=*/false, state);
    blockFrom = wholeBlockEnd;
  }
  state = overBlocks(b, task, query, q, extras, blockFrom, blockEnd, /*masked=*/true, state);

  SmallVector<OpFoldResult> destOffsets(cast<RankedTensorType>(dest.getType()).getRank(), b.getIndexAttr(0)), unused,
      destSizes;
  destOffsets[*op.dimOf(3, AttentionOp::Q)] = r;
  tileOf(b, task, 3, r, m, Value(), 0, unused, destSizes);
  int64_t width = channelsOf(op.getResult(), *op.dimOf(3, AttentionOp::DV));
  Value tile = extract(b, dest, destOffsets, destSizes, {m, width});
  return insert(b, normalize(b, state[0], state[2], m, task.valueChannels, tile), dest, destOffsets, destSizes);
}

/// Queries and keys of the task's row, and where they begin.
Value locateRow(ImplicitLocOpBuilder &b, Task &task, OpFoldResult queryExtent, OpFoldResult keyExtent) {
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
    OpFoldResult tiles = affineOf(b, d0.ceilDiv(kTileRows), {longestRow(b, op, rows, queries)});
    SmallVector<OpFoldResult> resultExtents;
    for (AffineExpr expr : op.getMap(3).getResults())
      resultExtents.push_back(extentOf(static_cast<AttentionOp::Dim>(cast<AffineDimExpr>(expr).getPosition())));
    Value dest = empty(b, cast<RankedTensorType>(op.getResult().getType()), resultExtents);

    SmallVector<OpFoldResult> extents{rows, tiles, extentOf(AttentionOp::HKV), groups};
    SmallVector<Value> results = grid(b, extents, dest, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
      Task task{op, analyzeMask(op.getMask()), view, channels, valueChannels, kBlock, {}, {}, {}, {}, {}, {}, {}, {}};
      if (view)
        task.block = cast<RankedTensorType>(view.getCache().getType()).getDimSize(4) * kPanel / channels;
      task.row = ids[0], task.kvHead = ids[2], task.group = ids[3];
      Value groupCount = asValue(b, groups);
      task.head = arith::AddIOp::create(b, arith::MulIOp::create(b, task.kvHead, groupCount), task.group);
      Value queryCount = locateRow(b, task, queries, keys);
      Value first = asValue(b, affineOf(b, d0 * kTileRows, {OpFoldResult(ids[1])}));
      Value left = arith::MaxSIOp::create(b, arith::SubIOp::create(b, queryCount, first), index(b, 0));
      Value count = arith::MinSIOp::create(b, left, index(b, kTileRows));
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
      Value full = asValue(b, affineOf(b, d0.floorDiv(kTileRows) * kTileRows, {OpFoldResult(count)}));
      slice = loop(b, index(b, 0), full, kTileRows, slice, [&](ImplicitLocOpBuilder &b, Value r, Value carried) {
        return emitTile(b, task, kTileRows, first, r, carried);
      });
      out.tile = loop(b, full, count, 1, slice, [&](ImplicitLocOpBuilder &b, Value r, Value carried) {
        return emitTile(b, task, 1, first, r, carried);
      });
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
