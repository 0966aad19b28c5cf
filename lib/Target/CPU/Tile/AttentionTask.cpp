//===- AttentionTask.cpp - Operands of a task of attention ------------------------------===//
#include "lib/Target/CPU/Tile/AttentionTask.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Schedule/Choices.h"
#include "lib/Target/CPU/Tile/CacheBlock.h"
#include "lib/Target/CPU/Tile/Transpose.h"
#include "lib/Target/CPU/Tile/Vnni.h"

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
  return interleave() > 1 && (!schedule.kernel.matrixRows || schedule.kernel.takesMatrix(m));
}

int64_t AttentionTask::mostQueriesLeft() const { return std::min<int64_t>(schedule.queries.front(), 16); }

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

/// Channels [channel, channel + 32) of operand `i`, keys or values, at key `nth` of the sequence; those of the last key
/// beyond its end.
static Value readKey(ImplicitLocOpBuilder &b, const AttentionTask &task, unsigned i, Value nth, Value channel) {
  AttentionOp op = task.op;
  Value last = arith::SubIOp::create(b, task.keyCount, index(b, 1));
  Value key = arith::AddIOp::create(b, arith::MinSIOp::create(b, nth, last), task.firstKey);
  SmallVector<OpFoldResult> offsets, sizes;
  tileOf(b, task, i, Value(), 0, key, 1, offsets, sizes);
  SmallVector<Value> indices;
  for (auto [expr, offset] : llvm::zip(op.getMap(i).getResults(), offsets)) {
    unsigned dim = cast<AffineDimExpr>(expr).getPosition();
    indices.push_back(dim == AttentionOp::DQK || dim == AttentionOp::DV ? channel : asValue(b, offset));
  }
  return readPanel(b, op.getMapped(i), indices);
}

/// Packs `channels` channels of 32 keys of operand `i`, from `first` on, into panel `panel` of `dest`, whose last dims
/// are [channels, 32] or, VNNI-packed, [channels/2, 64], from `place` on.
static Value packChannels(ImplicitLocOpBuilder &b, const AttentionTask &task, unsigned i, int64_t channels,
                          int64_t place, Value first, ArrayRef<Value> panel, Value dest) {
  Value zero = index(b, 0);
  return loop(b, zero, index(b, kPanel), kTransposed, dest, [&](ImplicitLocOpBuilder &b, Value lane, Value outer) {
    Value from = arith::AddIOp::create(b, first, lane);
    Value column = asValue(b, affineOf(b, b.getAffineDimExpr(0) * task.interleave(), {OpFoldResult(lane)}));
    return loop(b, zero, index(b, channels), kPanel, outer, [&](ImplicitLocOpBuilder &b, Value channel, Value inner) {
      auto read = [&](int64_t key) {
        return readKey(b, task, i, arith::AddIOp::create(b, from, index(b, key)), channel);
      };
      auto write = [&](int64_t nth, Value keys, Value dest) -> Value {
        Value line = asValue(
            b, affineOf(b, (b.getAffineDimExpr(0) + place).floorDiv(task.interleave()) + nth, {OpFoldResult(channel)}));
        SmallVector<Value> at(panel);
        at.append({line, column});
        return vector::TransferWriteOp::create(b, keys, dest, at, ArrayRef<bool>{true}).getResult();
      };
      return writeTransposed(b, task.interleave() > 1, read, write, inner);
    });
  });
}

/// Packs 32 keys from `first` on into panel `panel` of `dest`, those of a second pair behind those of the first.
static Value packKeyPanel(ImplicitLocOpBuilder &b, const AttentionTask &task, Value first, ArrayRef<Value> panel,
                          Value dest) {
  AttentionOp op = task.op;
  const int64_t channels = task.firstChannels();
  dest = packChannels(b, task, 1, channels, 0, first, panel, dest);
  if (!op.getSecondKey())
    return dest;
  return packChannels(b, task, op.getSecondMap() + 1, task.channels - channels, channels, first, panel, dest);
}

/// Packs value `from` of the task's head, or two where values are VNNI-packed, into line `line` of each panel of
/// `dest`, whose last dims are [value channels/32, lines, 32 or 64]; `head` has the index of a dim before them.
static Value packValueLine(ImplicitLocOpBuilder &b, const AttentionTask &task, Value from, ArrayRef<Value> head,
                           Value line, Value dest) {
  return loop(b, index(b, 0), index(b, task.valueChannels), kPanel, dest,
              [&](ImplicitLocOpBuilder &b, Value channel, Value inner) -> Value {
                SmallVector<Value> at(head);
                at.append({asValue(b, affineOf(b, b.getAffineDimExpr(0).floorDiv(kPanel), {OpFoldResult(channel)})),
                           line, index(b, 0)});
                Value values = readKey(b, task, 2, from, channel);
                if (task.interleave() == 1)
                  return writePanel(b, values, inner, at);
                Value next = readKey(b, task, 2, arith::AddIOp::create(b, from, index(b, 1)), channel);
                return vector::TransferWriteOp::create(b, castInterleaved(b, values, next), inner, at,
                                                       ArrayRef<bool>{true})
                    .getResult();
              });
}

/// Packs 32 values of `heads` heads from `first` on into `dest`, [heads, value channels/32, 32, 32] or, VNNI-packed,
/// [heads, value channels/32, 16, 64].
static Value packValuePanels(ImplicitLocOpBuilder &b, AttentionTask task, Value first, Value heads, Value dest) {
  Value zero = index(b, 0);
  return loop(
      b, zero, index(b, kPanel), task.interleave(), dest, [&](ImplicitLocOpBuilder &b, Value place, Value outer) {
        Value from = arith::AddIOp::create(b, first, place);
        Value line = asValue(b, affineOf(b, b.getAffineDimExpr(0).floorDiv(task.interleave()), {OpFoldResult(place)}));
        return loop(b, zero, heads, 1, outer, [&](ImplicitLocOpBuilder &b, Value head, Value ofRow) {
          task.kvHead = head;
          return packValueLine(b, task, from, head, line, ofRow);
        });
      });
}

/// Packs blocks [from, to) of the task's keys and values, at most `most`, as tile::packKeys does.
static WidenedKeys packBlocks(ImplicitLocOpBuilder &b, const AttentionTask &task, Value from, Value to, int64_t most) {
  const int64_t panels = task.block / kPanel, lines = kPanel / task.interleave(), width = kPanel * task.interleave();
  Type element = task.interleave() > 1 ? Type(b.getBF16Type()) : b.getF32Type();
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  auto makeBuffer = [&](int64_t matrices, int64_t height) -> Value {
    return tensor::EmptyOp::create(b, ArrayRef<int64_t>{matrices, height, width}, element);
  };
  Value buffers[] = {makeBuffer(most * panels, task.channels / task.interleave()),
                     makeBuffer(task.valueChannels / kPanel, most * panels * lines)};
  Value count = asValue(b, affineOf(b, (d1 - d0) * panels, {OpFoldResult(from), OpFoldResult(to)}));
  SmallVector<Value> packed =
      loop(b, index(b, 0), count, 1, buffers, [&](ImplicitLocOpBuilder &b, Value panel, ValueRange carried) {
        Value first = asValue(b, affineOf(b, d0 * task.block + d1 * kPanel, {OpFoldResult(from), OpFoldResult(panel)}));
        Value keys = packKeyPanel(b, task, first, panel, carried[0]);
        Value values =
            loop(b, index(b, 0), index(b, lines), 1, carried[1], [&](ImplicitLocOpBuilder &b, Value nth, Value inner) {
              Value place =
                  asValue(b, affineOf(b, d0 + d1 * task.interleave(), {OpFoldResult(first), OpFoldResult(nth)}));
              Value line = asValue(b, affineOf(b, d0 * lines + d1, {OpFoldResult(panel), OpFoldResult(nth)}));
              return packValueLine(b, task, place, {}, line, inner);
            });
        return SmallVector<Value>{keys, values};
      });
  return {packed[0], packed[1], from};
}

/// Packs a block of latents, which are `values` from position `place` on, as the first channels of `keys`.
static Value packLatents(ImplicitLocOpBuilder &b, const AttentionTask &task, Value place, Value values, Value keys) {
  AffineExpr d0 = b.getAffineDimExpr(0);
  auto of = [&](AffineExpr expr, Value x, Value y) {
    return asValue(b, affineOf(b, expr, {OpFoldResult(x), OpFoldResult(y)}));
  };
  Value zero = index(b, 0);
  return loop(b, zero, index(b, task.block), kTransposed, keys, [&](ImplicitLocOpBuilder &b, Value lane, Value outer) {
    Value first = arith::AddIOp::create(b, place, lane), panel = of(d0.floorDiv(kPanel), first, zero),
          column = of(d0 % kPanel, first, zero);
    return loop(
        b, zero, index(b, task.valueChannels / kPanel), 1, outer, [&](ImplicitLocOpBuilder &b, Value nth, Value inner) {
          auto read = [&](int64_t key) { return readPanel(b, values, {nth, of(d0 + key, first, zero), index(b, 0)}); };
          auto write = [&](int64_t channel, Value column16, Value dest) -> Value {
            Value at[] = {panel, of(d0 * kPanel + channel, nth, zero), column};
            return vector::TransferWriteOp::create(b, column16, dest, at, ArrayRef<bool>{true}).getResult();
          };
          return writeTransposed(b, /*isInterleaved=*/false, read, write, inner);
        });
  });
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

PackedKeys tile::packKeys(ImplicitLocOpBuilder &b, const AttentionTask &prototype, OpFoldResult rows,
                          OpFoldResult heads, OpFoldResult queryExtent, OpFoldResult keyExtent,
                          OpFoldResult activeRows) {
  AttentionOp op = prototype.op;
  const int64_t block = prototype.block, panels = block / kPanel, valuePanels = prototype.valueChannels / kPanel,
                interleave = prototype.interleave(), keyLines = prototype.channels / interleave;
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0), width = b.getIndexAttr(kPanel * interleave),
               lines = b.getIndexAttr(keyLines), valueLines = b.getIndexAttr(kPanel / interleave);
  Type element = interleave > 1 ? Type(b.getBF16Type()) : b.getF32Type();
  const bool isShared = sharesKeys(op);
  OpFoldResult most = mostKeys(b, prototype, rows, queryExtent, keyExtent);
  if (isShared)
    activeRows = affineMin(b, {activeRows, one}), rows = one;
  rows = rowsInMemory(op, rows, activeRows);
  OpFoldResult all = op.getKvBegin() ? keyExtent : affineOf(b, d0 * d1, {rows, keyExtent});
  OpFoldResult blocks = affineOf(b, d0.floorDiv(block) + d1, {all, rows});
  auto makeBuffer = [&](OpFoldResult panels, OpFoldResult lines) -> Value {
    return tensor::EmptyOp::create(b, SmallVector<OpFoldResult>{heads, panels, lines, width}, element);
  };
  Value dests[] = {makeBuffer(affineOf(b, d0 * panels, {blocks}), lines),
                   makeBuffer(b.getIndexAttr(valuePanels), affineOf(b, d0 * (block / interleave), {blocks}))};
  SmallVector<OpFoldResult> extents{activeRows, affineOf(b, d0.ceilDiv(block) * panels, {most})};
  SmallVector<Value> results = grid(b, extents, dests, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
    AttentionTask task = prototype;
    task.sequence = ids[0], task.kvHead = task.group = index(b, 0);
    locateSequence(b, task, queryExtent, keyExtent);
    if (isShared)
      task.keyCount = asValue(b, most);
    OpFoldResult nth(ids[1]);
    Value first = asValue(b, affineOf(b, d0 * kPanel, {nth}));
    // A task beyond its sequence's blocks has no panel: its slices begin at the first panel and are empty.
    Value blockBegin = asValue(b, affineOf(b, d0.floorDiv(panels) * block, {nth}));
    Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, blockBegin, task.keyCount);
    Value count = arith::SelectOp::create(b, some, asValue(b, heads), index(b, 0));
    Value panel = asValue(b, affineOf(b, d0 * panels + d1, {OpFoldResult(task.firstBlock), nth}));
    panel = arith::SelectOp::create(b, some, panel, index(b, 0));
    SmallVector<Insertion> insertions(2);
    insertions[0].offsets = {zero, OpFoldResult(panel), zero, zero};
    insertions[0].sizes = {OpFoldResult(count), one, lines, width};
    insertions[1].offsets = {zero, zero, affineOf(b, d0 * (kPanel / interleave), {OpFoldResult(panel)}), zero};
    insertions[1].sizes = {OpFoldResult(count), b.getIndexAttr(valuePanels), valueLines, width};
    auto sliceOf = [&](int64_t i, SmallVector<int64_t> shape) {
      return extract(b, dests[i], insertions[i].offsets, insertions[i].sizes, shape);
    };
    Value keys = sliceOf(0, {ShapedType::kDynamic, 1, keyLines, kPanel * interleave});
    insertions[0].tile = loop(b, index(b, 0), count, 1, keys, [&](ImplicitLocOpBuilder &b, Value head, Value carried) {
      task.kvHead = head;
      SmallVector<OpFoldResult> offsets{head, zero, zero, zero}, sizes{one, one, lines, width};
      Value ofHead = extract(b, carried, offsets, sizes, {1, 1, keyLines, kPanel * interleave});
      Value origin[] = {index(b, 0), index(b, 0)};
      return insert(b, packKeyPanel(b, task, first, origin, ofHead), carried, offsets, sizes);
    });
    Value values = sliceOf(1, {ShapedType::kDynamic, valuePanels, kPanel / interleave, kPanel * interleave});
    insertions[1].tile = packValuePanels(b, task, first, count, values);
    return insertions;
  });
  return {results[0], results[1]};
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
