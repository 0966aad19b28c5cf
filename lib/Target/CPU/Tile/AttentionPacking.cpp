//===- AttentionPacking.cpp - Packs keys and values of attention into panels ----------------===//
#include "lib/Target/CPU/Tile/AttentionPacking.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Tile/Transpose.h"
#include "lib/Target/CPU/Tile/Vnni.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::AttentionOp;
using attn_cpu::kPanel;

/// Channels [channel, channel + count) of operand `i`, keys or values, at key `nth` of the sequence; those of the last
/// key beyond its end.
static Value readKey(ImplicitLocOpBuilder &b, const AttentionTask &task, unsigned i, Value nth, Value channel,
                     int64_t count = kPanel) {
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
  return readPanel(b, op.getMapped(i), indices, count);
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
      auto read = [&](int64_t key, int64_t more, int64_t count) {
        return readKey(b, task, i, arith::AddIOp::create(b, from, index(b, key)), plus(b, channel, more), count);
      };
      auto write = [&](int64_t nth, int64_t key, ArrayRef<Value> keys, Value dest) {
        Value from = plus(b, column, key * task.interleave());
        auto at = [&](int64_t i) {
          AffineExpr line = (b.getAffineDimExpr(0) + place).floorDiv(task.interleave()) + nth + i;
          SmallVector<Value> indices(panel);
          indices.append({asValue(b, affineOf(b, line, {OpFoldResult(channel)})), from});
          return indices;
        };
        return writeLines(b, keys, at, dest);
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

WidenedKeys tile::packBlocks(ImplicitLocOpBuilder &b, const AttentionTask &task, Value from, Value to, int64_t most) {
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

Value tile::packLatents(ImplicitLocOpBuilder &b, const AttentionTask &task, Value place, Value values, Value keys) {
  AffineExpr d0 = b.getAffineDimExpr(0);
  auto of = [&](AffineExpr expr, Value x, Value y) {
    return asValue(b, affineOf(b, expr, {OpFoldResult(x), OpFoldResult(y)}));
  };
  Value zero = index(b, 0);
  return loop(b, zero, index(b, task.block), kTransposed, keys, [&](ImplicitLocOpBuilder &b, Value lane, Value outer) {
    Value first = arith::AddIOp::create(b, place, lane), panel = of(d0.floorDiv(kPanel), first, zero),
          column = of(d0 % kPanel, first, zero);
    return loop(b, zero, index(b, task.valueChannels / kPanel), 1, outer,
                [&](ImplicitLocOpBuilder &b, Value nth, Value inner) {
                  auto read = [&](int64_t key, int64_t channel, int64_t count) {
                    return readPanel(b, values, {nth, of(d0 + key, first, zero), index(b, channel)}, count);
                  };
                  auto write = [&](int64_t channel, int64_t key, ArrayRef<Value> keys, Value dest) {
                    Value from = plus(b, column, key);
                    auto at = [&](int64_t i) {
                      return SmallVector<Value>{panel, of(d0 * kPanel + (channel + i), nth, zero), from};
                    };
                    return writeLines(b, keys, at, dest);
                  };
                  return writeTransposed(b, /*isInterleaved=*/false, read, write, inner);
                });
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
