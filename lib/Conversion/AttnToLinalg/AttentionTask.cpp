//===- AttentionTask.cpp - What a task of attention reads -------------------------------===//
#include "lib/Conversion/AttnToLinalg/AttentionTask.h"
#include "lib/Conversion/AttnToLinalg/CacheBlock.h"
#include "lib/Conversion/AttnToLinalg/Transpose.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::AttentionOp;
using attn::kPanel;

void tile::tileOf(ImplicitLocOpBuilder &b, const AttentionTask &task, unsigned i, Value q, int64_t m, Value kv,
                  int64_t n, SmallVectorImpl<OpFoldResult> &offsets, SmallVectorImpl<OpFoldResult> &sizes) {
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

/// The part of the task's head in the row's block `nth` of the cache, [2, lines, columns].
static Value cacheBlock(ImplicitLocOpBuilder &b, const AttentionTask &task, Value nth) {
  attn::KVViewOp view = task.view;
  Value blockId = readIndex(b, view.getTable(), {task.row, nth});
  ArrayRef<int64_t> shape = cast<RankedTensorType>(view.getCache().getType()).getShape().drop_front(3);
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  SmallVector<OpFoldResult> offsets{blockId, view.getLayer(), task.kvHead, zero, zero, zero}, sizes{one, one, one};
  for (int64_t extent : shape)
    sizes.push_back(b.getIndexAttr(extent));
  return extract(b, view.getCache(), offsets, sizes, shape);
}

static attn::CacheLayout layoutOf(const AttentionTask &task) {
  attn::KVViewOp view = task.view;
  return *attn::CacheLayout::of(cast<RankedTensorType>(view.getCache().getType()), task.channels);
}

bool tile::needsWidening(const AttentionTask &task) { return task.view && !layoutOf(task).element.isF32(); }

WidenedKeys tile::widenKeys(ImplicitLocOpBuilder &b, const AttentionTask &task, Value from, Value to, int64_t most) {
  CacheBlock layout(layoutOf(task));
  Value room = tensor::EmptyOp::create(b, ArrayRef<int64_t>{most, 2, task.block * task.channels / kPanel, kPanel},
                                       b.getF32Type());
  Value lines = loop(b, from, to, 1, room, [&](ImplicitLocOpBuilder &b, Value nth, Value carried) {
    Value block = cacheBlock(b, task, nth), at = arith::SubIOp::create(b, nth, from);
    for (CachePart part : {Keys, Values})
      carried = layout.widen(b, part, block, carried, {at, index(b, part)});
    return carried;
  });
  return {lines, from};
}

/// Keys and values as tiles, of [..., {keys, values}, lines, 32] at the offsets of the dims before those.
static std::pair<Value, Value> tilesOfLines(ImplicitLocOpBuilder &b, const AttentionTask &task, Value source,
                                            ArrayRef<OpFoldResult> at) {
  int64_t lines = task.block * task.channels / kPanel;
  auto part = [&](int64_t which, ArrayRef<int64_t> shape) -> Value {
    SmallVector<OpFoldResult> offsets(at), sizes(at.size() + 1, b.getIndexAttr(1));
    offsets.append({b.getIndexAttr(which), b.getIndexAttr(0), b.getIndexAttr(0)});
    sizes.append({b.getIndexAttr(lines), b.getIndexAttr(kPanel)});
    Value slice = extract(b, source, offsets, sizes, {lines, kPanel});
    auto type = RankedTensorType::get(shape, getElementTypeOrSelf(slice.getType()));
    SmallVector<ReassociationIndices> groups{{0, 1}, {2}};
    return tensor::ExpandShapeOp::create(b, type, slice, groups);
  };
  return {part(Keys, {task.block / kPanel, task.channels, kPanel}),
          part(Values, {task.channels / kPanel, task.block, kPanel})};
}

static std::pair<Value, Value> cacheTiles(ImplicitLocOpBuilder &b, const AttentionTask &task, Value nth) {
  if (task.widened.lines)
    return tilesOfLines(b, task, task.widened.lines, {Value(arith::SubIOp::create(b, nth, task.widened.first))});
  attn::KVViewOp view = task.view;
  Value blockId = readIndex(b, view.getTable(), {task.row, nth});
  return tilesOfLines(b, task, view.getCache(), {blockId, view.getLayer(), task.kvHead});
}

/// Whether all rows have the same keys.
static bool sharesKeys(AttentionOp op) { return !op.getKvBegin() && !op.dimOf(1, AttentionOp::B); }

Value tile::locateRow(ImplicitLocOpBuilder &b, AttentionTask &task, OpFoldResult queryExtent, OpFoldResult keyExtent) {
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
  if (task.view || sharesKeys(op)) {
    task.firstBlock = zero;
    return queryCount;
  }
  // Whole blocks before the row's keys, and one for each row that may have ended within a block.
  Value before = op.getKvBegin() ? task.firstKey : Value(arith::MulIOp::create(b, task.row, asValue(b, keyExtent)));
  task.firstBlock = arith::AddIOp::create(b, arith::DivUIOp::create(b, before, index(b, task.block)), task.row);
  return queryCount;
}

/// Channels [channel, channel + 32) of key (i = 1) or value (i = 2) `place` of the row; of its last one beyond.
static Value readKey(ImplicitLocOpBuilder &b, const AttentionTask &task, unsigned i, Value place, Value channel) {
  AttentionOp op = task.op;
  Value last = arith::SubIOp::create(b, task.keyCount, index(b, 1));
  Value key = arith::AddIOp::create(b, arith::MinSIOp::create(b, place, last), task.firstKey);
  SmallVector<OpFoldResult> offsets, sizes;
  tileOf(b, task, i, Value(), 0, key, 1, offsets, sizes);
  SmallVector<Value> indices;
  for (auto [expr, offset] : llvm::zip(op.getMap(i).getResults(), offsets)) {
    unsigned dim = cast<AffineDimExpr>(expr).getPosition();
    indices.push_back(dim == AttentionOp::DQK || dim == AttentionOp::DV ? channel : asValue(b, offset));
  }
  return readPanel(b, i == 1 ? op.getKey() : op.getValue(), indices);
}

/// Keys from `first` on into `dest`, [block/32, channels, 32] behind a dim of one.
static Value packKeyBlock(ImplicitLocOpBuilder &b, const AttentionTask &task, Value first, Value nth, Value dest) {
  AffineExpr d0 = b.getAffineDimExpr(0);
  return loop(b, index(b, 0), index(b, task.block), kTurned, dest,
              [&](ImplicitLocOpBuilder &b, Value place, Value outer) {
                Value panel = asValue(b, affineOf(b, d0.floorDiv(kPanel), {OpFoldResult(place)}));
                Value lane = asValue(b, affineOf(b, d0 % kPanel, {OpFoldResult(place)}));
                Value from = arith::AddIOp::create(b, first, place);
                return loop(b, index(b, 0), index(b, task.channels), kPanel, outer,
                            [&](ImplicitLocOpBuilder &b, Value channel, Value inner) {
                              auto read = [&](int64_t i) {
                                return readKey(b, task, 1, arith::AddIOp::create(b, from, index(b, i)), channel);
                              };
                              auto write = [&](int64_t c, Value keys, Value dest) -> Value {
                                Value line = arith::AddIOp::create(b, channel, index(b, c));
                                return vector::TransferWriteOp::create(
                                           b, keys, dest, ValueRange{nth, panel, line, lane}, ArrayRef<bool>{true})
                                    .getResult();
                              };
                              return writeTurned(b, read, write, inner);
                            });
              });
}

/// Values from `first` on into `dest`, [value channels/32, block, 32] behind a dim of one.
static Value packValueBlock(ImplicitLocOpBuilder &b, const AttentionTask &task, Value first, Value nth, Value dest) {
  AffineExpr d0 = b.getAffineDimExpr(0);
  return loop(b, index(b, 0), index(b, task.block), 1, dest, [&](ImplicitLocOpBuilder &b, Value place, Value outer) {
    Value from = arith::AddIOp::create(b, first, place);
    return loop(b, index(b, 0), index(b, task.valueChannels), kPanel, outer,
                [&](ImplicitLocOpBuilder &b, Value channel, Value inner) {
                  Value panel = asValue(b, affineOf(b, d0.floorDiv(kPanel), {OpFoldResult(channel)}));
                  return writePanel(b, readKey(b, task, 2, from, channel), inner, {nth, panel, place, index(b, 0)});
                });
  });
}

PackedKeys tile::packKeys(ImplicitLocOpBuilder &b, const AttentionTask &prototype, OpFoldResult rows,
                          OpFoldResult heads, OpFoldResult keyExtent) {
  AttentionOp op = prototype.op;
  const int64_t block = prototype.block;
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  if (sharesKeys(op))
    rows = one;
  OpFoldResult all = op.getKvBegin() ? keyExtent : affineOf(b, d0 * d1, {rows, keyExtent});
  OpFoldResult blocks = affineOf(b, d0.floorDiv(block) + d1, {all, rows});
  Type f32 = b.getF32Type();
  auto room = [&](int64_t panels, int64_t lines) -> Value {
    return tensor::EmptyOp::create(
        b,
        SmallVector<OpFoldResult>{heads, blocks, b.getIndexAttr(panels), b.getIndexAttr(lines), b.getIndexAttr(kPanel)},
        f32);
  };
  Value dests[] = {room(block / kPanel, prototype.channels), room(prototype.valueChannels / kPanel, block)};
  SmallVector<OpFoldResult> extents{
      rows, affineOf(b, d0.ceilDiv(block), {longestRow(b, op.getKvBegin(), rows, keyExtent)}), heads};
  SmallVector<Value> results = grid(b, extents, dests, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
    AttentionTask task = prototype;
    task.row = ids[0], task.kvHead = ids[2], task.group = index(b, 0);
    locateRow(b, task, one, keyExtent);
    Value first = arith::MulIOp::create(b, ids[1], index(b, block));
    // A task beyond its row's keys has no block: it points at the row's first, and writes nothing.
    Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, first, task.keyCount);
    Value count = arith::SelectOp::create(b, some, index(b, 1), index(b, 0));
    Value at = arith::SelectOp::create(b, some, Value(arith::AddIOp::create(b, task.firstBlock, ids[1])), index(b, 0));
    SmallVector<Insertion> insertions;
    for (auto [i, dest] : llvm::enumerate(dests)) {
      ArrayRef<int64_t> shape = cast<RankedTensorType>(dest.getType()).getShape();
      Insertion out;
      out.offsets = {OpFoldResult(task.kvHead), OpFoldResult(at), zero, zero, zero};
      out.sizes = {one, OpFoldResult(count), b.getIndexAttr(shape[2]), b.getIndexAttr(shape[3]),
                   b.getIndexAttr(kPanel)};
      Value slice = extract(b, dest, out.offsets, out.sizes, {ShapedType::kDynamic, shape[2], shape[3], kPanel});
      out.tile = loop(b, index(b, 0), count, 1, slice, [&](ImplicitLocOpBuilder &b, Value nth, Value carried) {
        return i == 0 ? packKeyBlock(b, task, first, nth, carried) : packValueBlock(b, task, first, nth, carried);
      });
      insertions.push_back(out);
    }
    return insertions;
  });
  return {results[0], results[1]};
}

OpFoldResult tile::longestRow(ImplicitLocOpBuilder &b, Value begin, OpFoldResult rows, OpFoldResult extent) {
  if (!begin)
    return extent;
  Value longest = loop(b, index(b, 0), asValue(b, rows), 1, index(b, 0),
                       [&](ImplicitLocOpBuilder &b, Value r, Value carried) -> Value {
                         Value end = readIndex(b, begin, arith::AddIOp::create(b, r, index(b, 1)).getResult());
                         Value length = arith::SubIOp::create(b, end, readIndex(b, begin, r));
                         return arith::MaxSIOp::create(b, carried, length);
                       });
  return longest;
}

std::pair<Value, Value> tile::keyTiles(ImplicitLocOpBuilder &b, const AttentionTask &task, Value nth) {
  if (task.view)
    return cacheTiles(b, task, nth);
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0),
               place = OpFoldResult(Value(arith::AddIOp::create(b, nth, task.firstBlock)));
  auto part = [&](Value from) -> Value {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(from.getType()).getShape().drop_front(2);
    SmallVector<OpFoldResult> offsets{OpFoldResult(task.kvHead), place, zero, zero, zero}, sizes{one, one};
    for (int64_t extent : shape)
      sizes.push_back(b.getIndexAttr(extent));
    return extract(b, from, offsets, sizes, shape);
  };
  return {part(task.packed.keys), part(task.packed.values)};
}

AttentionExtras tile::sliceExtras(ImplicitLocOpBuilder &b, const AttentionTask &task, Value inRow, int64_t m) {
  AttentionOp op = task.op;
  AttentionExtras extras;
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
