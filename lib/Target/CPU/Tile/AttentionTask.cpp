//===- AttentionTask.cpp - Operands of a task of attention ------------------------------===//
#include "lib/Target/CPU/Tile/AttentionTask.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Schedule/Choices.h"
#include "lib/Target/CPU/Tile/AttentionPacking.h"
#include "lib/Target/CPU/Tile/CacheBlock.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::AttentionOp;
using attn_cpu::kPanel;

void tile::tileOf(ImplicitLocOpBuilder &b, const AttentionTask &task, unsigned i, Value q, int64_t m, Value kv,
                  int64_t n, SmallVectorImpl<OpFoldResult> &offsets, SmallVectorImpl<OpFoldResult> &sizes) {
  AttentionOp op = task.op;
  for (AffineExpr expr : op.getMap(i).getResults()) {
    OpFoldResult offset = b.getIndexAttr(0), size = b.getIndexAttr(1);
    switch (cast<AffineDimExpr>(expr).getPosition()) {
    case AttentionOp::B:
      offset = task.sequence;
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
      size = b.getIndexAttr(cast<RankedTensorType>(op.getMapped(i).getType()).getDimSize(offsets.size()));
      break;
    }
    }
    offsets.push_back(offset);
    sizes.push_back(size);
  }
}

int64_t AttentionTask::firstChannels() const {
  attn::AttentionOp attention = op;
  return attn_cpu::padToPanel(attention.getQuery().getType().getDimSize(*attention.dimOf(0, AttentionOp::DQK)));
}

/// Whether keys and values have a pool each.
static bool areApart(const AttentionTask &task) {
  attn::KVViewOp view = task.view;
  return bool(view.getValueCache());
}

static Value poolOf(const AttentionTask &task, CachePart part) {
  attn::KVViewOp view = task.view;
  return part == Keys ? view.getCache() : view.getValuePool();
}

static attn_cpu::CacheLayout layoutOf(const AttentionTask &task, CachePart part) {
  return part == Keys ? *attn_cpu::CacheLayout::ofKeys(task.view) : *attn_cpu::CacheLayout::ofValues(task.view);
}

/// The keys or values of the task's head in the sequence's block `nth` of the cache, [lines, columns]; not `isPart`:
/// with the dim {keys, values} of the pool before.
static Value cacheBlock(ImplicitLocOpBuilder &b, const AttentionTask &task, Value nth, CachePart part, bool isPart) {
  attn::KVViewOp view = task.view;
  attn_cpu::CacheLayout layout = layoutOf(task, part);
  const int64_t parts = areApart(task) ? 1 : 2;
  Value blockId = readIndex(b, view.getTable(), {task.sequence, nth});
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  SmallVector<OpFoldResult> offsets{blockId, view.getLayer(), task.kvHead, zero, zero, zero},
      sizes{one, one, one, b.getIndexAttr(parts), b.getIndexAttr(layout.lines()), b.getIndexAttr(layout.columns())};
  SmallVector<int64_t> shape{parts, layout.lines(), layout.columns()};
  if (isPart)
    offsets[3] = b.getIndexAttr(parts == 1 ? 0 : part), sizes[3] = one, shape.erase(shape.begin());
  return extract(b, poolOf(task, part), offsets, sizes, shape);
}

static std::pair<Value, Value> cacheTiles(ImplicitLocOpBuilder &b, const AttentionTask &task, Value nth) {
  auto part = [&](CachePart which, ArrayRef<int64_t> shape) -> Value {
    Value slice = cacheBlock(b, task, nth, which, /*isPart=*/true);
    auto type = RankedTensorType::get(shape, getElementTypeOrSelf(slice.getType()));
    SmallVector<ReassociationIndices> groups{{0, 1}, {2}};
    return tensor::ExpandShapeOp::create(b, type, slice, groups);
  };
  attn_cpu::CacheLayout keys = layoutOf(task, Keys), values = layoutOf(task, Values);
  return {part(Keys, {task.block / kPanel, task.channels / keys.interleave(), keys.columns()}),
          part(Values, {task.valueChannels / kPanel, task.block / values.interleave(), values.columns()})};
}

// Vectors multiply fewer queries than an AMX tile has rows, and CPUs with AMX have slow bf16 dot products.
bool AttentionTask::usesBf16Matmul(int64_t m) const {
  return interleave() > 1 && (!schedule.getKernel().getMatrixRows() || schedule.getKernel().takesMatrix(m));
}

int64_t AttentionTask::mostQueriesLeft() const { return std::min<int64_t>(schedule.getQueries().front(), 16); }

/// Keys and values of `count` consecutive blocks. The tensor.concat of several is never copied: matmuls read its parts.
static std::pair<Value, Value> cacheTiles(ImplicitLocOpBuilder &b, const AttentionTask &task, Value nth,
                                          int64_t count) {
  if (count == 1)
    return cacheTiles(b, task, nth);
  SmallVector<Value> keys, values;
  for (int64_t i = 0; i < count; ++i) {
    auto [key, value] = cacheTiles(b, task, i > 0 ? arith::AddIOp::create(b, nth, index(b, i)) : nth);
    keys.push_back(key);
    values.push_back(value);
  }
  return {tensor::ConcatOp::create(b, 0, keys), tensor::ConcatOp::create(b, 1, values)};
}

bool tile::needsWidening(const AttentionTask &task) {
  return task.view && task.interleave() == 1 &&
         (cpu::readsLatents(task.op) ||
          !(layoutOf(task, Keys).element.isF32() && layoutOf(task, Values).element.isF32()));
}

bool tile::readsInRegisters(const AttentionTask &task) {
  AttentionOp op = task.op;
  return !cpu::readsLatents(op) && !layoutOf(task, Keys).hasScales() && !layoutOf(task, Values).hasScales() &&
         !op.getAdditive();
}

bool tile::hasContiguousBlocks(const AttentionTask &task) { return !task.view || task.widened.keys; }

bool tile::sharesKeys(AttentionOp op) {
  const bool isOfSequence = op.getSecondKey() && op.dimOf(op.getSecondMap() + 1, AttentionOp::B);
  return !op.getKvBegin() && !op.dimOf(1, AttentionOp::B) && !op.dimOf(2, AttentionOp::B) && !isOfSequence;
}

Value tile::locateSequence(ImplicitLocOpBuilder &b, AttentionTask &task, OpFoldResult queryExtent,
                           OpFoldResult keyExtent) {
  AttentionOp op = task.op;
  Value zero = index(b, 0), next = arith::AddIOp::create(b, task.sequence, index(b, 1));
  Value queryCount;
  if (op.getQBegin()) {
    task.firstQuery = readIndex(b, op.getQBegin(), task.sequence);
    queryCount = arith::SubIOp::create(b, readIndex(b, op.getQBegin(), next), task.firstQuery);
  } else {
    task.firstQuery = zero;
    queryCount = asValue(b, queryExtent);
  }
  task.offset = op.getQOffset() ? readIndex(b, op.getQOffset(), task.sequence) : zero;
  task.firstKey = op.getKvBegin() ? readIndex(b, op.getKvBegin(), task.sequence) : zero;
  if (op.getKvLength())
    task.keyCount = readIndex(b, op.getKvLength(), task.sequence);
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
  // The blocks before the sequence: those that earlier keys fill, and one per earlier sequence, which may end in one.
  Value before =
      op.getKvBegin() ? task.firstKey : Value(arith::MulIOp::create(b, task.sequence, asValue(b, keyExtent)));
  task.firstBlock = arith::AddIOp::create(b, arith::DivUIOp::create(b, before, index(b, task.block)), task.sequence);
  return queryCount;
}

WidenedKeys tile::widenKeys(ImplicitLocOpBuilder &b, const AttentionTask &task, Value from, Value to, int64_t most) {
  if (!task.view)
    return packBlocks(b, task, from, to, most);
  const bool areLatents = cpu::readsLatents(task.op);
  CacheBlock ofKeys(layoutOf(task, Keys), areApart(task)), ofValues(layoutOf(task, Values), areApart(task));
  const int64_t positions = most * task.block;
  auto makeBuffer = [&](int64_t panels, int64_t lines) -> Value {
    return tensor::EmptyOp::create(b, ArrayRef<int64_t>{panels, lines, kPanel}, b.getF32Type());
  };
  Value buffers[] = {makeBuffer(positions / kPanel, task.channels), makeBuffer(task.valueChannels / kPanel, positions)};
  SmallVector<Value> wide =
      loop(b, from, to, 1, buffers, [&](ImplicitLocOpBuilder &b, Value nth, ValueRange carried) -> SmallVector<Value> {
        Value keys = cacheBlock(b, task, nth, Keys, /*isPart=*/false),
              values = areApart(task) ? cacheBlock(b, task, nth, Values, /*isPart=*/false) : keys;
        Value place = asValue(b, affineOf(b, (b.getAffineDimExpr(0) - b.getAffineDimExpr(1)) * task.block,
                                          {OpFoldResult(nth), OpFoldResult(from)}));
        Value wideValues = ofValues.widen(b, Values, values, place, carried[1]), wideKeys = carried[0];
        if (areLatents)
          wideKeys = packLatents(b, task, place, wideValues, wideKeys);
        wideKeys = ofKeys.widen(b, Keys, keys, place, wideKeys, areLatents ? task.firstChannels() : 0);
        return {wideKeys, wideValues};
      });
  return {wide[0], wide[1], from};
}

OpFoldResult tile::mostKeys(ImplicitLocOpBuilder &b, const AttentionTask &prototype, OpFoldResult rows,
                            OpFoldResult queryExtent, OpFoldResult keyExtent) {
  AttentionOp op = prototype.op;
  if (!op.getKvLength() && !op.getQOffset())
    return longestSequence(b, op.getKvBegin(), rows, keyExtent);
  return loop(b, index(b, 0), asValue(b, rows), 1, index(b, 0),
              [&](ImplicitLocOpBuilder &b, Value row, Value carried) -> Value {
                AttentionTask task = prototype;
                task.sequence = row;
                locateSequence(b, task, queryExtent, keyExtent);
                return arith::MaxSIOp::create(b, carried, task.keyCount);
              });
}

OpFoldResult tile::rowsInMemory(AttentionOp op, OpFoldResult rows, OpFoldResult activeRows) {
  return op.getQBegin() ? rows : activeRows;
}

OpFoldResult tile::longestSequence(ImplicitLocOpBuilder &b, Value begin, OpFoldResult rows, OpFoldResult extent) {
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

std::pair<Value, Value> tile::keyTiles(ImplicitLocOpBuilder &b, const AttentionTask &task, Value nth,
                                       OpFoldResult count) {
  if (!hasContiguousBlocks(task))
    return cacheTiles(b, task, nth, *getConstantIntValue(count));
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  const bool isApart = bool(task.widened.keys);
  const int64_t interleave = task.view ? 1 : task.interleave(), width = kPanel * interleave;
  // Converted blocks begin with block widened.first, packed ones with firstBlock.
  OpFoldResult first = isApart ? affineOf(b, d0 - d1, {OpFoldResult(nth), OpFoldResult(task.widened.first)})
                               : affineOf(b, d0 + d1, {OpFoldResult(nth), OpFoldResult(task.firstBlock)});
  // A block has `each` elements of dim `dim`. Packed keys have a leading dim of heads.
  auto part = [&](Value from, unsigned dim, int64_t each, SmallVector<int64_t> shape) -> Value {
    SmallVector<OpFoldResult> offsets(3, b.getIndexAttr(0)), sizes;
    for (int64_t extent : shape)
      sizes.push_back(b.getIndexAttr(extent));
    offsets[dim] = affineOf(b, d0 * each, {first});
    sizes[dim] = affineOf(b, d0 * each, {count});
    shape[dim] = getConstantIntValue(sizes[dim]).value_or(ShapedType::kDynamic);
    if (!isApart)
      offsets.insert(offsets.begin(), OpFoldResult(task.kvHead)), sizes.insert(sizes.begin(), b.getIndexAttr(1));
    return extract(b, from, offsets, sizes, shape);
  };
  Value keys = isApart ? task.widened.keys : task.packed.keys,
        values = isApart ? task.widened.values : task.packed.values;
  return {part(keys, 0, task.block / kPanel, {0, task.channels / interleave, width}),
          part(values, 1, task.block / interleave, {task.valueChannels / kPanel, 0, width})};
}

int64_t tile::staticOr(OpFoldResult size) { return getConstantIntValue(size).value_or(ShapedType::kDynamic); }

/// A slice of an extra operand. An operand without elements has no valid slice; an empty tensor stands for it.
static Value sliceOrEmpty(ImplicitLocOpBuilder &b, Value extra, OFRs offsets, OFRs sizes, SmallVector<int64_t> shape) {
  auto type = cast<RankedTensorType>(extra.getType());
  if (!llvm::is_contained(type.getShape(), 0))
    return extract(b, extra, offsets, sizes, shape);
  std::replace(shape.begin(), shape.end(), ShapedType::kDynamic, int64_t(0));
  return tensor::EmptyOp::create(b, shape, type.getElementType());
}

AttentionExtras tile::sliceExtras(ImplicitLocOpBuilder &b, const AttentionTask &task, Value inSequence,
                                  OpFoldResult rows) {
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
    Value q = packed ? Value(arith::AddIOp::create(b, task.firstQuery, inSequence)) : inSequence;
    Value kv = packed ? task.firstKey : index(b, 0);
    SmallVector<OpFoldResult> offsets, sizes;
    tileOf(b, task, 4 + i, q, 1, kv, 1, offsets, sizes);
    // Dims before q and kv are dropped. Later dims stay with extent 1 and index 0: a type of lower rank would not say
    // which dims are missing.
    SmallVector<int64_t> shape;
    SmallVector<AffineExpr> dims;
    for (auto [position, expr] : llvm::enumerate(map.getResults())) {
      unsigned dim = cast<AffineDimExpr>(expr).getPosition();
      const bool isQuery = dim == AttentionOp::Q, isKey = dim == AttentionOp::KV;
      if (isKey)
        sizes[position] = task.keyCount;
      if (isQuery)
        sizes[position] = rows;
      if (!isQuery && !isKey && dims.empty())
        continue;
      shape.push_back(isQuery ? staticOr(rows) : isKey ? ShapedType::kDynamic : 1);
      dims.push_back(isQuery || isKey ? b.getAffineDimExpr(isKey) : b.getAffineConstantExpr(0));
    }
    if (dims.empty()) {
      SmallVector<Value> indices;
      for (OpFoldResult offset : offsets)
        indices.push_back(asValue(b, offset));
      extras.elements.push_back(tensor::ExtractOp::create(b, extra, indices));
      continue;
    }
    extras.tensors.push_back(sliceOrEmpty(b, extra, offsets, sizes, shape));
    extras.maps.push_back(AffineMap::get(2, 0, dims, b.getContext()));
    extras.elements.push_back(Value());
  }
  return extras;
}
