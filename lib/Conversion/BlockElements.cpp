//===- BlockElements.cpp - Numbers of matrices in blocks ----------------------------------===//
#include "lib/Conversion/BlockElements.h"
#include "lib/Conversion/Tensors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;

namespace {

class Reader {
public:
  Reader(ImplicitLocOpBuilder &b, const BlockLayout &layout, Value row, Value column,
         function_ref<Value(Value block, Value byte)> byteAt)
      : b(b), layout(layout), format(layout.format), row(row), column(column), byteAt(byteAt) {
    block = at(r.floorDiv(format.block));
  }

  Value read() {
    Value number = arith::SubIOp::create(b, numberOfCode(), integer(format.zero));
    Value result = arith::MulFOp::create(b, toFloat(number), scale());
    return format.hasOffsets() ? arith::AddFOp::create(b, result, offset()) : result;
  }

private:
  Value at(AffineExpr expr) const { return asValue(b, affineOf(b, expr, {OpFoldResult(row), OpFoldResult(column)})); }
  Value integer(int64_t value) const { return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value))); }
  Value toFloat(Value value) const { return arith::SIToFPOp::create(b, b.getF32Type(), value); }
  Value shiftedRight(Value value, AffineExpr by) const {
    return arith::ShRUIOp::create(b, value, arith::IndexCastOp::create(b, b.getI32Type(), at(by)));
  }
  Value masked(Value value, int64_t mask) const { return arith::AndIOp::create(b, value, integer(mask)); }

  /// Byte `expr` of the unit that has the row.
  Value ofUnit(AffineExpr expr) const {
    AffineExpr unit = (r % format.block).floorDiv(BlockFormat::unit);
    return byteAt(block, at(unit * layout.unitBytes() + expr));
  }
  AffineExpr inUnit() const { return r % BlockFormat::unit; }
  AffineExpr group() const { return inUnit().floorDiv(format.group); }

  Value numberOfCode() const {
    Value code;
    for (const std::optional<CodePlane> &plane : layout.planes()) {
      if (!plane)
        continue;
      const int64_t together = 8 / plane->bits;
      AffineExpr four = inUnit().floorDiv(4);
      Value bits =
          ofUnit(four.floorDiv(together) * (4 * layout.width) + c * 4 + inUnit() % 4 + plane->at * layout.width);
      if (together > 1)
        bits = masked(shiftedRight(bits, four % together * plane->bits), (1 << plane->bits) - 1);
      if (plane->shift)
        bits = arith::ShLIOp::create(b, bits, integer(plane->shift));
      code = code ? Value(arith::OrIOp::create(b, code, bits)) : bits;
    }
    if (format.code == BlockCode::Integer)
      return code;
    SmallVector<int32_t> numbers;
    for (int64_t i = 0; i < 16; ++i)
      numbers.push_back(int32_t(numberOf(format, i)));
    auto type = RankedTensorType::get({16}, b.getI32Type());
    Value table = arith::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
    return tensor::ExtractOp::create(b, table, ValueRange{arith::IndexCastOp::create(b, b.getIndexType(), code)});
  }

  Value halfAt(int64_t first) const {
    Value low = byteAt(block, at(c * 2 + first)), high = byteAt(block, at(c * 2 + (first + 1)));
    Value bits = arith::OrIOp::create(b, arith::ShLIOp::create(b, high, integer(8)), low);
    Value half = arith::BitcastOp::create(b, b.getF16Type(), arith::TruncIOp::create(b, b.getI16Type(), bits));
    return arith::ExtFOp::create(b, b.getF32Type(), half);
  }
  /// 2^(e - 128), which is subnormal for 0 and 1.
  Value exponent() const {
    Value e = byteAt(block, at(c + layout.blockScales())), one = integer(1);
    Value normal = arith::ShLIOp::create(b, arith::SubIOp::create(b, e, one), integer(23));
    Value small = arith::ShLIOp::create(b, integer(0x00200000), arith::MinUIOp::create(b, e, one));
    Value isSmall = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, e, one);
    return arith::BitcastOp::create(b, b.getF32Type(), arith::SelectOp::create(b, isSmall, small, normal));
  }

  Value scale() const {
    Value whole = format.blockScale == BlockScale::Half ? halfAt(layout.blockScales()) : exponent();
    if (format.groupScale == ByteScale::One)
      return whole;
    Value own = ofUnit(group() * layout.width + c + layout.groupScales(0));
    if (format.groupScale == ByteScale::Nibble)
      own = masked(own, 15);
    if (format.groupScale == ByteScale::Signed)
      own = arith::ExtSIOp::create(b, b.getI32Type(), arith::TruncIOp::create(b, b.getI8Type(), own));
    return arith::MulFOp::create(b, whole, toFloat(own));
  }
  Value offset() const {
    Value whole = halfAt(layout.blockOffsets());
    if (format.offset == BlockOffset::OfBlock)
      return whole;
    Value own = ofUnit(group() * layout.width + c + layout.groupOffsets(0));
    if (format.groupScale == ByteScale::Nibble)
      own = arith::ShRUIOp::create(b, own, integer(4));
    return arith::NegFOp::create(b, arith::MulFOp::create(b, whole, toFloat(own)));
  }

  ImplicitLocOpBuilder &b;
  const BlockLayout &layout;
  const BlockFormat &format;
  Value row, column, block;
  function_ref<Value(Value block, Value byte)> byteAt;
  AffineExpr r = b.getAffineDimExpr(0), c = b.getAffineDimExpr(1);
};

} // namespace

Value rapt::readBlockElement(ImplicitLocOpBuilder &b, const BlockLayout &layout, Value row, Value column,
                             function_ref<Value(Value block, Value byte)> byteAt) {
  return Reader(b, layout, row, column, byteAt).read();
}
