//===- RowCache.cpp - A cache by rows --------------------------------------------------===//
#include "lib/Target/Generic/RowCache.h"
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;
using generic::kScaleBytes;
using generic::RowCache;

static bool hasScales(Type element) { return element.isInteger(8); }
static int64_t columnsOf(Type element, int64_t channels) { return channels + (hasScales(element) ? kScaleBytes : 0); }

SmallVector<RankedTensorType, 2> RowCache::poolsOf(const attn::KVSegment &segment, int64_t block) {
  auto poolOf = [&](const attn::KVPart &part, int64_t parts) {
    return RankedTensorType::get(
        {ShapedType::kDynamic, segment.layers, segment.heads, parts, block, columnsOf(part.element, part.channels)},
        part.element);
  };
  if (segment.isUniform())
    return {poolOf(segment.keys, 2)};
  return {poolOf(segment.keys, 1), poolOf(segment.values, 1)};
}

/// Where keys or values are in a pool: a pool of one of them has no other.
static int64_t placeOf(ShapedType pool, CacheReader::Part part) { return pool.getDimSize(3) == 1 ? 0 : part; }

bool RowCache::matches(Type pool, int64_t channels) const {
  auto type = dyn_cast<ShapedType>(pool); // a memref from the stage backend on
  return type && type.hasRank() && type.getRank() == 6 && (type.getDimSize(3) == 1 || type.getDimSize(3) == 2) &&
         !type.isDynamicDim(4) && (isa<FloatType>(type.getElementType()) || hasScales(type.getElementType())) &&
         type.getDimSize(5) == columnsOf(type.getElementType(), channels);
}

int64_t RowCache::blockOf(RankedTensorType pool, int64_t) const { return pool.getDimSize(4); }

/// The scale that is behind the codes of row `row` of [rows, channels + 4].
static Value scaleAt(ImplicitLocOpBuilder &b, Value rows, Value row, int64_t channels) {
  Value bits = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  for (int64_t i = 0; i < kScaleBytes; ++i) {
    Value byte = tensor::ExtractOp::create(b, rows, ValueRange{row, tile::index(b, channels + i)});
    Value wide = arith::ExtUIOp::create(b, b.getI32Type(), byte);
    wide = arith::ShLIOp::create(b, wide, arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(8 * i))));
    bits = arith::OrIOp::create(b, bits, wide);
  }
  return arith::BitcastOp::create(b, b.getF32Type(), bits);
}

Value RowCache::read(ImplicitLocOpBuilder &b, Value pool, Value block, Value layer, Value head, Part part,
                     int64_t channels) const {
  auto type = cast<RankedTensorType>(pool.getType());
  const int64_t positions = type.getDimSize(4), columns = type.getDimSize(5);
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  SmallVector<OpFoldResult> offsets{block, layer, head, b.getIndexAttr(placeOf(type, part)), zero, zero},
      sizes{one, one, one, one, b.getIndexAttr(positions), b.getIndexAttr(columns)};
  Value rows = extract(b, pool, offsets, sizes, {positions, columns});
  if (!hasScales(type.getElementType()))
    return rows;
  Value init = emptyOf(b, {b.getIndexAttr(positions), b.getIndexAttr(channels)}, b.getF32Type());
  return forEach(b, {}, init, [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
    Value row = at(b, 0), code = tensor::ExtractOp::create(b, rows, ValueRange{row, at(b, 1)});
    return arith::MulFOp::create(b, scaleAt(b, rows, row, channels), arith::SIToFPOp::create(b, b.getF32Type(), code));
  });
}

Value RowCache::write(ImplicitLocOpBuilder &b, Value slice, Part part, Value position, Value row,
                      int64_t channels) const {
  auto type = cast<RankedTensorType>(slice.getType());
  Type element = type.getElementType();
  const int64_t columns = type.getDimSize(5);
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  SmallVector<OpFoldResult> offsets{zero, zero, zero, b.getIndexAttr(placeOf(type, part)), position, zero},
      sizes{one, one, one, one, one, b.getIndexAttr(columns)};
  Value dest = neutral::slice(b, slice, offsets, sizes), first = tile::index(b, 0);
  auto elementAt = [&](ImplicitLocOpBuilder &b, Value channel) {
    return neutral::read(b, row, {first, first, channel});
  };
  Value scale, inverse;
  if (hasScales(element)) {
    Value largest = loop(b, first, tile::index(b, channels), 1, number(b, 0),
                         [&](ImplicitLocOpBuilder &b, Value channel, Value most) -> Value {
                           return arith::MaximumFOp::create(b, most, math::AbsFOp::create(b, elementAt(b, channel)));
                         });
    std::tie(scale, inverse) = groupScale(b, largest);
  }
  Value written = forEach(b, {}, dest, [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
    Value column = at(b, 5);
    if (!hasScales(element))
      return rounded(b, elementAt(b, column), element);
    // Columns beyond the channels have the scale's bytes.
    Value x = elementAt(b, within(b, column, tile::index(b, channels)));
    Value code = arith::FPToSIOp::create(b, b.getI32Type(), codeOf(b, x, inverse));
    Value place = arith::SubIOp::create(b, column, tile::index(b, channels));
    Value shift = arith::MulIOp::create(b, within(b, place, tile::index(b, kScaleBytes)), tile::index(b, 8));
    Value bits = arith::ShRUIOp::create(b, arith::BitcastOp::create(b, b.getI32Type(), scale),
                                        arith::IndexCastOp::create(b, b.getI32Type(), shift));
    Value isCode = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, column, tile::index(b, channels));
    return arith::TruncIOp::create(b, element, arith::SelectOp::create(b, isCode, code, bits));
  });
  return insert(b, written, slice, offsets, sizes);
}

const RowCache &generic::rowCache() {
  static const RowCache cache;
  return cache;
}
