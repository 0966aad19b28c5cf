//===- RowCache.cpp - A cache by rows --------------------------------------------------===//
#include "lib/Target/Generic/RowCache.h"
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

namespace {

constexpr int64_t kScaleBytes = attn::CacheRowsAttr::kScaleBytes;

bool hasScales(Type element) { return element.isInteger(8); }

/// The scale that is behind the codes of row `row` of [rows, channels + 4].
Value scaleAt(ImplicitLocOpBuilder &b, Value rows, Value row, int64_t channels) {
  Value bits = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  for (int64_t i = 0; i < kScaleBytes; ++i) {
    Value byte = tensor::ExtractOp::create(b, rows, ValueRange{row, tile::index(b, channels + i)});
    Value wide = arith::ExtUIOp::create(b, b.getI32Type(), byte);
    wide = arith::ShLIOp::create(b, wide, arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(8 * i))));
    bits = arith::OrIOp::create(b, bits, wide);
  }
  return arith::BitcastOp::create(b, b.getF32Type(), bits);
}

class RowCache : public CacheAccess {
public:
  bool knows(attn::CacheLayoutInterface layout) const override { return isa<attn::CacheRowsAttr>(layout); }
  Value read(ImplicitLocOpBuilder &b, attn::CacheLayoutInterface layout, Value slice, Part part,
             int64_t channels) const override;
  Value write(ImplicitLocOpBuilder &b, attn::CacheLayoutInterface layout, Value slice, Part part, Value position,
              Value row) const override;
  bool canBeSplit(Type type) const override { return !hasScales(type); }
};

Value RowCache::read(ImplicitLocOpBuilder &b, attn::CacheLayoutInterface layout, Value slice, Part,
                     int64_t channels) const {
  if (!hasScales(getElementTypeOrSelf(slice.getType())))
    return slice;
  Value init = emptyOf(b, {b.getIndexAttr(layout.getPositions()), b.getIndexAttr(channels)}, b.getF32Type());
  return forEach(b, {}, init, [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
    Value row = at(b, 0), code = tensor::ExtractOp::create(b, slice, ValueRange{row, at(b, 1)});
    return arith::MulFOp::create(b, scaleAt(b, slice, row, channels), arith::SIToFPOp::create(b, b.getF32Type(), code));
  });
}

Value RowCache::write(ImplicitLocOpBuilder &b, attn::CacheLayoutInterface layout, Value slice, Part part,
                      Value position, Value row) const {
  auto type = cast<RankedTensorType>(slice.getType());
  Type element = type.getElementType();
  const int64_t channels = part == Keys ? layout.getKeys() : layout.getValues();
  const int64_t columns = hasScales(element) ? layout.getHeadShape(element, channels)[1]
                                             : cast<RankedTensorType>(row.getType()).getDimSize(2);
  // A pool of keys or values alone has no other part.
  const int64_t index = type.getDimSize(3) == 1 ? 0 : part;
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  SmallVector<OpFoldResult> offsets{zero, zero, zero, b.getIndexAttr(index), position, zero},
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

} // namespace

const CacheAccess &generic::rowCache() {
  static const RowCache cache;
  return cache;
}
