//===- AttentionTask.cpp - What a task of attention reads -------------------------------===//
#include "lib/Conversion/AttnToLinalg/AttentionTask.h"

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

static std::pair<Value, Value> cacheTiles(ImplicitLocOpBuilder &b, const AttentionTask &task, Value nth) {
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

int64_t tile::blocksTogether(const AttentionTask &task) {
  return std::max<int64_t>(1, 1024 / (task.channels + task.valueChannels));
}

KeyBlocks tile::packBlocks(ImplicitLocOpBuilder &b, const AttentionTask &task, Value first, Value count) {
  AttentionOp op = task.op;
  Type f32 = b.getF32Type();
  int64_t most = blocksTogether(task);
  auto keyType = RankedTensorType::get({most, task.block / kPanel, task.channels, kPanel}, f32);
  auto valueType = RankedTensorType::get({most, task.valueChannels / kPanel, task.block, kPanel}, f32);
  Value firstPlace = arith::MulIOp::create(b, first, index(b, task.block));
  Value last = arith::SubIOp::create(b, task.keyCount, index(b, 1));
  AffineExpr d0 = b.getAffineDimExpr(0);
  auto source = [&](ImplicitLocOpBuilder &b, unsigned i, Value place, Value channel) {
    Value key = arith::MinSIOp::create(b, arith::AddIOp::create(b, firstPlace, place), last);
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
  auto of = [&](ImplicitLocOpBuilder &b, AffineExpr expr, Value value) {
    return asValue(b, affineOf(b, expr, {OpFoldResult(value)}));
  };
  Value places = arith::MulIOp::create(b, count, index(b, task.block)), zero = index(b, 0);
  Value keys = loop(b, zero, places, 1, tensor::EmptyOp::create(b, keyType.getShape(), f32),
                    [&](ImplicitLocOpBuilder &b, Value place, Value carried) {
                      Value nth = of(b, d0.floorDiv(task.block), place);
                      Value panel = of(b, (d0 % task.block).floorDiv(kPanel), place), lane = of(b, d0 % kPanel, place);
                      return loop(b, zero, index(b, task.channels), kPanel, carried,
                                  [&](ImplicitLocOpBuilder &b, Value channel, Value inner) -> Value {
                                    return vector::TransferWriteOp::create(b, source(b, 1, place, channel), inner,
                                                                           ValueRange{nth, panel, channel, lane},
                                                                           AffineMap::get(4, 0, b.getAffineDimExpr(2)),
                                                                           ArrayRef<bool>{true})
                                        .getResult();
                                  });
                    });
  Value values =
      loop(b, zero, places, 1, tensor::EmptyOp::create(b, valueType.getShape(), f32),
           [&](ImplicitLocOpBuilder &b, Value place, Value carried) {
             Value nth = of(b, d0.floorDiv(task.block), place), line = of(b, d0 % task.block, place);
             return loop(b, zero, index(b, task.valueChannels), kPanel, carried,
                         [&](ImplicitLocOpBuilder &b, Value channel, Value inner) {
                           Value panel = of(b, d0.floorDiv(kPanel), channel);
                           return writePanel(b, source(b, 2, place, channel), inner, {nth, panel, line, zero});
                         });
           });
  return {keys, values, first};
}

std::pair<Value, Value> tile::keyTiles(ImplicitLocOpBuilder &b, const AttentionTask &task, const KeyBlocks &blocks,
                                       Value nth) {
  if (task.view)
    return cacheTiles(b, task, nth);
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0),
               place = OpFoldResult(Value(arith::SubIOp::create(b, nth, blocks.firstBlock)));
  auto part = [&](Value from) -> Value {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(from.getType()).getShape().drop_front();
    SmallVector<OpFoldResult> offsets(4, zero), sizes{one};
    offsets[0] = place;
    for (int64_t extent : shape)
      sizes.push_back(b.getIndexAttr(extent));
    return extract(b, from, offsets, sizes, shape);
  };
  return {part(blocks.keys), part(blocks.values)};
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
