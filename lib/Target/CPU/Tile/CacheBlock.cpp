//===- CacheBlock.cpp - Keys and values of one head in a block of the cache ----------------===//
//
// VNNI-packed bf16 is transposed as words of 32 bits. A word of a value holds two positions:
// writing one keeps the half of the other.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Tile/CacheBlock.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Tile/Quantization.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/Target/CPU/Tile/Transpose.h"
#include "lib/Target/CPU/Tile/Vnni.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn_cpu::kPanel;

namespace {

int64_t lanesOf(Value vector) { return cast<VectorType>(vector.getType()).getDimSize(0); }

Value readRow(ImplicitLocOpBuilder &b, Value tensor, ValueRange indices, int64_t lanes) {
  Type element = getElementTypeOrSelf(tensor.getType());
  Value padding = arith::ConstantOp::create(b, b.getZeroAttr(element));
  return vector::TransferReadOp::create(b, VectorType::get({lanes}, element), tensor, indices, padding,
                                        ArrayRef<bool>{true});
}

/// A vector whose lanes go down dim `down` of `dest`.
Value writeColumn(ImplicitLocOpBuilder &b, Value column, Value dest, ValueRange indices, unsigned down) {
  auto map = AffineMap::get(indices.size(), 0, b.getAffineDimExpr(down));
  return vector::TransferWriteOp::create(b, column, dest, indices, map, ArrayRef<bool>{true}).getResult();
}

VectorType panelOfFloats(ImplicitLocOpBuilder &b) { return VectorType::get({kPanel}, b.getF32Type()); }

/// A number in all of `lanes` lanes.
Value inLanes(ImplicitLocOpBuilder &b, Value number, int64_t lanes) {
  return vector::BroadcastOp::create(b, VectorType::get({lanes}, number.getType()), number);
}

/// Lanes [from, from + count) of a vector; null of none.
Value lanesFrom(ImplicitLocOpBuilder &b, Value vector, int64_t from, int64_t count) {
  if (!vector || count == lanesOf(vector))
    return vector;
  return vector::ExtractStridedSliceOp::create(b, vector, ArrayRef<int64_t>{from}, ArrayRef<int64_t>{count},
                                               ArrayRef<int64_t>{1});
}

/// `count` scales that begin at a line's `column`, 4 bytes each; those of a panel are on whole lines.
Value readScales(ImplicitLocOpBuilder &b, Value block, Value part, Value line, Value column, int64_t count) {
  constexpr int64_t ofLine = kPanel / 4;
  int64_t lanes = std::min(count, ofLine);
  SmallVector<Value> parts;
  for (int64_t i = 0; i < count; i += lanes) {
    Value at = arith::AddIOp::create(b, line, index(b, i / ofLine));
    Value bytes = readRow(b, block, {part, at, column}, 4 * lanes);
    parts.push_back(vector::BitCastOp::create(b, VectorType::get({lanes}, b.getF32Type()), bytes));
  }
  for (; parts.size() > 1; parts.truncate(parts.size() / 2)) {
    SmallVector<int64_t> both = llvm::to_vector(llvm::seq<int64_t>(0, 2 * lanesOf(parts[0])));
    for (size_t i = 0; i < parts.size() / 2; ++i)
      parts[i] = vector::ShuffleOp::create(b, parts[2 * i], parts[2 * i + 1], both);
  }
  return parts[0];
}

} // namespace

Value CacheBlock::placeOf(ImplicitLocOpBuilder &b, CachePart part) const { return index(b, isAlone ? 0 : part); }

Value CacheBlock::keyLine(ImplicitLocOpBuilder &b, Value place, Value channel) const {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  AffineExpr line = d0.floorDiv(kPanel) * (layout.channels / layout.interleave()) + d1.floorDiv(layout.interleave());
  return asValue(b, affineOf(b, line, {OpFoldResult(place), OpFoldResult(channel)}));
}

Value CacheBlock::keyColumn(ImplicitLocOpBuilder &b, Value place) const {
  return asValue(b, affineOf(b, b.getAffineDimExpr(0) % kPanel * layout.interleave(), {OpFoldResult(place)}));
}

Value CacheBlock::scaleLine(ImplicitLocOpBuilder &b, Value place) const {
  AffineExpr line = b.getAffineDimExpr(0).floorDiv(kPanel / layout.scaleBytes()) + layout.elementLines();
  return asValue(b, affineOf(b, line, {OpFoldResult(place)}));
}

Value CacheBlock::scaleColumn(ImplicitLocOpBuilder &b, Value place) const {
  int64_t bytes = layout.scaleBytes();
  return asValue(b, affineOf(b, b.getAffineDimExpr(0) % (kPanel / bytes) * bytes, {OpFoldResult(place)}));
}

Value CacheBlock::stored(ImplicitLocOpBuilder &b, Value numbers, Value inverse) const {
  auto type = VectorType::get({lanesOf(numbers)}, layout.element);
  if (layout.hasScales())
    return arith::TruncIOp::create(b, type, quantizedOf(b, numbers, inverse));
  return layout.element.isF32() ? numbers : Value(arith::TruncFOp::create(b, type, numbers));
}

std::pair<Value, Value> CacheBlock::writeScale(ImplicitLocOpBuilder &b, CachePart part, Value place, Read read,
                                               Value dest, Value inverses) const {
  Value magnitudes = loop(
      b, index(b, 0), index(b, layout.channels), kPanel, noMagnitudes(b, kPanel),
      [&](ImplicitLocOpBuilder &b, Value channel, Value most) { return largerMagnitudes(b, read(b, channel), most); });
  GroupScale scale = scaleOf(b, magnitudes);
  Value bytes =
      vector::BitCastOp::create(b, VectorType::get({layout.scaleBytes()}, layout.element), inLanes(b, scale.scale, 1));
  Value at[] = {placeOf(b, part), scaleLine(b, place), scaleColumn(b, place)};
  dest = vector::TransferWriteOp::create(b, bytes, dest, at, ArrayRef<bool>{true}).getResult();
  inverses = tensor::InsertOp::create(b, scale.inverse, inverses, ValueRange{index(b, part), place});
  return {dest, inverses};
}

/// A key as its elements, or two of them in a word, channel after channel.
Value CacheBlock::roundedKey(ImplicitLocOpBuilder &b, Read read, Value inverse) const {
  const int64_t interleave = layout.interleave();
  Type word = interleave > 1 ? b.getI32Type() : layout.element;
  Value key = tensor::EmptyOp::create(b, ArrayRef<int64_t>{layout.channels / interleave}, word);
  return loop(b, index(b, 0), index(b, layout.channels), kPanel, key,
              [&](ImplicitLocOpBuilder &b, Value channel, Value carried) {
                Value numbers = read(b, channel);
                Value nth =
                    asValue(b, affineOf(b, b.getAffineDimExpr(0).floorDiv(interleave), {OpFoldResult(channel)}));
                Value made = interleave > 1 ? castNeighbors(b, numbers) : stored(b, numbers, inverse);
                return writeColumn(b, made, carried, nth, 0);
              });
}

// A store that misses the processor's cache delays later stores; loads do not wait for one another. So the sixteen
// positions around a key's elements, 64 bytes in f32 and in VNNI-packed bf16, are loaded, changed and stored.
Value CacheBlock::writeKey(ImplicitLocOpBuilder &b, Value place, Read read, Value inverses, Value dest) const {
  const int64_t interleave = layout.interleave();
  const bool isVnni = interleave > 1;
  Value part = placeOf(b, Keys), zero = index(b, 0);
  Value inverse =
      inverses ? splat(b, tensor::ExtractOp::create(b, inverses, ValueRange{index(b, Keys), place})) : Value();
  Value key = roundedKey(b, read, inverse);
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  auto lanes = VectorType::get({kTransposed}, b.getI32Type());
  Value lane = asValue(b, affineOf(b, d0 % kTransposed, {OpFoldResult(place)}));
  SmallVector<int32_t> numbers = llvm::to_vector(llvm::seq<int32_t>(0, kTransposed));
  Value isPlace = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                        arith::ConstantOp::create(b, DenseElementsAttr::get(lanes, ArrayRef(numbers))),
                                        inLanes(b, arith::IndexCastOp::create(b, b.getI32Type(), lane), kTransposed));
  AffineExpr around = (d0 % kPanel).floorDiv(kTransposed) * (kTransposed * interleave);
  Value first = keyLine(b, place, zero), column = asValue(b, affineOf(b, around, {OpFoldResult(place)}));
  return loop(b, zero, index(b, layout.channels / interleave), 1, dest,
              [&](ImplicitLocOpBuilder &b, Value nth, Value carried) -> Value {
                Value at[] = {part, asValue(b, affineOf(b, d0 + d1, {OpFoldResult(first), OpFoldResult(nth)})), column};
                Value positions = readRow(b, carried, at, interleave * kTransposed);
                if (isVnni)
                  positions = vector::BitCastOp::create(b, lanes, positions);
                Value element = inLanes(b, tensor::ExtractOp::create(b, key, nth), kTransposed);
                positions = arith::SelectOp::create(b, isPlace, element, positions);
                return writeColumn(b, isVnni ? asBf16(b, positions) : positions, carried, at, 2);
              });
}

Value CacheBlock::writeKeys(ImplicitLocOpBuilder &b, Value place, ReadNth read, Value inverses, Value dest) const {
  Value column = keyColumn(b, place), part = placeOf(b, Keys);
  Value inverse = inverses ? readRow(b, inverses, {index(b, Keys), place}, kTransposed) : Value();
  const bool isVnni = layout.interleave() > 1;
  return loop(b, index(b, 0), index(b, layout.channels), kPanel, dest,
              [&](ImplicitLocOpBuilder &b, Value channel, Value carried) -> Value {
                auto readKey = [&](int64_t i, int64_t more, int64_t count) {
                  return read(b, i, more > 0 ? Value(arith::AddIOp::create(b, channel, index(b, more))) : channel,
                              count);
                };
                auto write = [&](int64_t nth, int64_t key, ArrayRef<Value> keys, Value dest) {
                  Value to = plus(b, column, key * layout.interleave());
                  SmallVector<Value> lines(keys);
                  for (Value &line : lines)
                    line = isVnni ? line : stored(b, line, lanesFrom(b, inverse, key, lanesOf(line)));
                  auto at = [&](int64_t i) {
                    Value first = plus(b, channel, (nth + i) * layout.interleave());
                    return SmallVector<Value>{part, keyLine(b, place, first), to};
                  };
                  return writeLines(b, lines, at, dest);
                };
                return writeTransposed(b, isVnni, readKey, write, carried);
              });
}

Value CacheBlock::writeValue(ImplicitLocOpBuilder &b, Value place, Read read, Value inverses, Value dest) const {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  int64_t interleave = layout.interleave();
  Value part = placeOf(b, Values), zero = index(b, 0);
  Value inverse =
      inverses ? splat(b, tensor::ExtractOp::create(b, inverses, ValueRange{index(b, Values), place})) : Value();
  Value isSecond = arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                         asValue(b, affineOf(b, d0 % interleave, {OpFoldResult(place)})), zero);
  return loop(b, zero, index(b, layout.channels), kPanel, dest,
              [&](ImplicitLocOpBuilder &b, Value channel, Value carried) -> Value {
                Value numbers = read(b, channel);
                AffineExpr expr = d0.floorDiv(kPanel) * (layout.paddedBlock() / interleave) + d1.floorDiv(interleave);
                Value line = asValue(b, affineOf(b, expr, {OpFoldResult(channel), OpFoldResult(place)}));
                Value at[] = {part, line, zero};
                if (interleave == 1)
                  return writeColumn(b, stored(b, numbers, inverse), carried, at, 2);
                Value lower = words(b, kPanel, 0xffff), upper = words(b, kPanel, 0xffff0000);
                Value old = vector::BitCastOp::create(b, lower.getType(), readRow(b, carried, at, 2 * kPanel));
                Value bits = bf16Words(b, numbers);
                Value first = arith::OrIOp::create(b, arith::AndIOp::create(b, old, upper),
                                                   arith::ShRUIOp::create(b, bits, words(b, kPanel, 16)));
                Value second = arith::OrIOp::create(b, arith::AndIOp::create(b, old, lower), bits);
                Value changed = arith::SelectOp::create(b, isSecond, second, first);
                return writeColumn(b, asBf16(b, changed), carried, at, 2);
              });
}

Value CacheBlock::widen(ImplicitLocOpBuilder &b, CachePart part, Value block, Value place, Value dest,
                        int64_t channelsBefore) const {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  auto of = [&](AffineExpr expr, ArrayRef<OpFoldResult> values) { return asValue(b, affineOf(b, expr, values)); };
  const int64_t ofPanel = (part == Keys ? layout.channels : layout.paddedBlock()) / layout.interleave();
  Value which = placeOf(b, part), zero = index(b, 0);
  Value panels = index(b, (part == Keys ? layout.paddedBlock() : layout.channels) / kPanel);
  Value first = part == Keys ? of(d0.floorDiv(kPanel), {OpFoldResult(place)}) : place;
  return loop(b, zero, panels, 1, dest, [&](ImplicitLocOpBuilder &b, Value panel, Value outer) {
    // A panel of keys has 32 positions in its lanes, a line of values one in all of them.
    Value scales;
    if (layout.hasScales() && part == Keys)
      scales = readScales(b, block, which, scaleLine(b, of(d0 * kPanel, {OpFoldResult(panel)})), zero, kPanel);
    return loop(b, zero, index(b, ofPanel), 1, outer, [&](ImplicitLocOpBuilder &b, Value nth, Value carried) {
      Value line = of(d0 * ofPanel + d1, {OpFoldResult(panel), OpFoldResult(nth)});
      Value ofLine = scales;
      if (layout.hasScales() && part == Values) {
        Value scale = readScales(b, block, which, scaleLine(b, nth), scaleColumn(b, nth), 1);
        ofLine = vector::BroadcastOp::create(b, panelOfFloats(b), scale);
      }
      for (auto [i, numbers] : llvm::enumerate(widened(b, block, which, line, ofLine))) {
        AffineExpr inPanel = d0 * layout.interleave() + int64_t(i);
        SmallVector<Value> at{part == Keys ? of(d0 + d1, {OpFoldResult(first), OpFoldResult(panel)}) : panel,
                              part == Keys ? of(inPanel + channelsBefore, {OpFoldResult(nth)})
                                           : of(inPanel + d1, {OpFoldResult(nth), OpFoldResult(first)}),
                              zero};
        carried = writePanel(b, numbers, carried, at);
      }
      return carried;
    });
  });
}

SmallVector<Value> CacheBlock::widened(ImplicitLocOpBuilder &b, Value block, Value part, Value line,
                                       Value scales) const {
  Value at[] = {part, line, index(b, 0)};
  if (layout.hasScales()) {
    Value codes = arith::SIToFPOp::create(b, panelOfFloats(b), readRow(b, block, at, kPanel));
    return {arith::MulFOp::create(b, codes, scales)};
  }
  if (layout.interleave() == 1)
    return {readPanel(b, block, at)};
  auto [first, second] = readInterleaved(b, block, at, kPanel);
  return {first, second};
}

Value CacheBlock::readKeyElement(ImplicitLocOpBuilder &b, Value pool, ValueRange at, Value place, Value channel) const {
  auto read = [&](Value line, Value column) -> Value {
    SmallVector<Value> indices(at);
    indices.append({placeOf(b, Keys), line, column});
    return tensor::ExtractOp::create(b, pool, indices);
  };
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  Value column = asValue(
      b, affineOf(b, d0 + d1 % layout.interleave(), {OpFoldResult(keyColumn(b, place)), OpFoldResult(channel)}));
  Value element = read(keyLine(b, place, channel), column);
  Type f32 = b.getF32Type();
  if (!layout.hasScales())
    return element.getType().isF32() ? element : Value(arith::ExtFOp::create(b, f32, element));
  Value bits;
  for (int64_t i = 0; i < layout.scaleBytes(); ++i) {
    Value byte = read(scaleLine(b, place), arith::AddIOp::create(b, scaleColumn(b, place), index(b, i)));
    Value word = arith::ExtUIOp::create(b, b.getI32Type(), byte);
    word = arith::ShLIOp::create(b, word, Value(arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(8 * i)))));
    bits = bits ? Value(arith::OrIOp::create(b, bits, word)) : word;
  }
  return arith::MulFOp::create(b, Value(arith::SIToFPOp::create(b, f32, element)),
                               Value(arith::BitcastOp::create(b, f32, bits)));
}
