//===- Quantization.cpp - Dynamic activation quantization, quantized tables ---------------===//
#include "lib/Target/CPU/Tile/Quantization.h"
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "dialect/AttnCPU/QuantizedLayout.h"
#include "lib/Target/CPU/Schedule/Choices.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/Target/CPU/Tile/Tiling.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn_cpu::kPanel;

Value tile::bytesOf(ImplicitLocOpBuilder &b, Value slice) {
  auto op = slice.getDefiningOp<attn::ParameterSliceOp>();
  auto type = cast<RankedTensorType>(slice.getType());
  auto bytes = attn_cpu::QuantizedLayout(cast<attn::QuantizedType>(type.getElementType()), type.getDimSize(1))
                   .panelBytes(type.getDimSize(0));
  // After the slice, so that it is outside of grids.
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(op);
  return attn::ParameterSliceOp::create(b, bytes, op.getParameterAttr(), op.getLayer());
}

namespace {

Value constant(ImplicitLocOpBuilder &b, Type type, int64_t value) {
  return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
}

/// Reads a byte of a tensor as i32 in 0..255.
Value readByte(ImplicitLocOpBuilder &b, Value bytes, ValueRange indices) {
  return arith::ExtUIOp::create(b, b.getI32Type(), tensor::ExtractOp::create(b, bytes, indices));
}

Value shiftedLeft(ImplicitLocOpBuilder &b, Value value, int64_t by) {
  return arith::ShLIOp::create(b, value, constant(b, value.getType(), by));
}

/// Writes 32 bits at byte `at` of `dest`, a row of bytes.
Value writeWord(ImplicitLocOpBuilder &b, Value word, Value dest, Value at) {
  Value one = vector::BroadcastOp::create(b, VectorType::get({1}, word.getType()), word);
  Value bytes = vector::BitCastOp::create(b, VectorType::get({4}, b.getI8Type()), one);
  return vector::TransferWriteOp::create(b, bytes, dest, ValueRange{at}, ArrayRef<bool>{true}).getResult();
}

} // namespace

tile::GroupScale tile::scaleOf(ImplicitLocOpBuilder &b, Value magnitudes) {
  Value largestBits = vector::ReductionOp::create(b, vector::CombiningKind::MAXSI, magnitudes);
  Type f32 = b.getF32Type();
  auto number = [&](double value) -> Value { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)); };
  auto bits = [&](uint32_t value) { return constant(b, b.getI32Type(), value); };
  auto compare = [&](arith::CmpIPredicate how, uint32_t with) -> Value {
    return arith::CmpIOp::create(b, how, largestBits, bits(with));
  };
  Value largest = arith::BitcastOp::create(b, f32, largestBits), most = number(127), zero = number(0);
  Value isFinite = compare(arith::CmpIPredicate::slt, 0x7f800000);                                   // below infinity
  Value counts = arith::AndIOp::create(b, isFinite, compare(arith::CmpIPredicate::sge, 0x0d800000)); // 2^-100
  Value divisor = arith::SelectOp::create(b, counts, largest, number(1));
  Value inverse = arith::SelectOp::create(b, counts, arith::DivFOp::create(b, most, divisor), zero);
  Value scale = arith::SelectOp::create(b, counts, arith::DivFOp::create(b, divisor, most), zero);
  Value nan = arith::BitcastOp::create(b, f32, bits(0x7fc00000));
  return {arith::SelectOp::create(b, isFinite, scale, nan), inverse};
}

Value tile::noMagnitudes(ImplicitLocOpBuilder &b) {
  return arith::ConstantOp::create(b, b.getZeroAttr(VectorType::get({kPanel}, b.getI32Type())));
}

Value tile::largerMagnitudes(ImplicitLocOpBuilder &b, Value panel, Value magnitudes) {
  auto words = cast<VectorType>(magnitudes.getType());
  Value mask = arith::ConstantOp::create(b, DenseElementsAttr::get(words, b.getI32IntegerAttr(0x7fffffff)));
  Value bits = arith::BitcastOp::create(b, words, panel);
  return arith::MaxSIOp::create(b, magnitudes, arith::AndIOp::create(b, bits, mask));
}

Value tile::quantizedOf(ImplicitLocOpBuilder &b, Value panel, Value inverse) {
  auto words = VectorType::get(cast<VectorType>(panel.getType()).getShape(), b.getI32Type());
  Value scaled = arith::MulFOp::create(b, panel, inverse);
  return arith::FPToSIOp::create(b, words, math::RoundEvenOp::create(b, scaled));
}

namespace {

struct TileQuantizeRows : OpRewritePattern<attn::QuantizeRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::QuantizeRowsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<attn::QuantizedType>(op.getResult().getType().getElementType());
    int64_t width = op.getInput().getType().getDimSize(1), bytes = attn_cpu::QuantizedLayout(type, width).rowBytes();
    OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
    auto result = RankedTensorType::get({ShapedType::kDynamic, bytes}, b.getI8Type());
    Value init = empty(b, result, {extent(b, op.getInput(), 0), b.getIndexAttr(bytes)});
    rewriter.replaceOp(
        op, rowGrid(b, init, [&](ImplicitLocOpBuilder &b, Value number, Value dest) -> Value {
          Value row = extract(b, op.getInput(), {OpFoldResult(number), zero}, {one, b.getIndexAttr(width)}, {width});
          // Quantized values that pad the last group are zeros.
          for (int64_t c = attn_cpu::padToPanel(width); c < attn_cpu::QuantizedLayout(type, width).paddedDepth();
               c += kPanel) {
            Value none = arith::ConstantOp::create(b, b.getZeroAttr(VectorType::get({kPanel}, b.getI8Type())));
            dest = vector::TransferWriteOp::create(b, none, dest, ValueRange{index(b, c)}, ArrayRef<bool>{true})
                       .getResult();
          }
          return loop(b, index(b, 0), index(b, attn_cpu::QuantizedLayout(type, width).groups()), 1, dest,
                      [&](ImplicitLocOpBuilder &b, Value group, Value carried) {
                        return emitGroup(b, type, width, row, group, carried);
                      });
        }));
    return success();
  }

  static Value emitGroup(ImplicitLocOpBuilder &b, attn::QuantizedType type, int64_t width, Value row, Value group,
                         Value dest) {
    AffineExpr d0 = b.getAffineDimExpr(0);
    int64_t depth = attn_cpu::QuantizedLayout(type, width).groupDepth();
    auto at = [&](AffineExpr expr) { return asValue(b, affineOf(b, expr, {OpFoldResult(group)})); };
    Value from = at(d0 * depth);
    Value to =
        asValue(b, affineMin(b, {affineOf(b, d0 * depth + depth, {OpFoldResult(group)}), b.getIndexAttr(width)}));
    Value none = noMagnitudes(b);
    Value largest = loop(b, from, to, kPanel, none, [&](ImplicitLocOpBuilder &b, Value column, Value most) -> Value {
      return largerMagnitudes(b, readPanel(b, row, column), most);
    });
    GroupScale found = scaleOf(b, largest);
    Value inverse = splat(b, found.inverse);
    SmallVector<Value> results =
        loop(b, from, to, kPanel, ValueRange{dest, none},
             [&](ImplicitLocOpBuilder &b, Value column, ValueRange carried) -> SmallVector<Value> {
               Value quantized = quantizedOf(b, readPanel(b, row, column), inverse);
               Value bytes = arith::TruncIOp::create(b, VectorType::get({kPanel}, b.getI8Type()), quantized);
               Value written =
                   vector::TransferWriteOp::create(b, bytes, carried[0], ValueRange{column}, ArrayRef<bool>{true})
                       .getResult();
               return {written, arith::SubIOp::create(b, carried[1], quantized)};
             });
    // The zero point of 8-bit weights is 128.
    Value sum = shiftedLeft(b, vector::ReductionOp::create(b, vector::CombiningKind::ADD, results[1]), 7);
    dest = writeWord(b, found.scale, results[0], at(d0 * 4 + attn_cpu::QuantizedLayout(type, width).rowScale(0)));
    return writeWord(b, sum, dest, at(d0 * 4 + attn_cpu::QuantizedLayout(type, width).rowSum(0)));
  }
};

} // namespace

Value tile::readElement(ImplicitLocOpBuilder &b, Value bytes, attn::QuantizedType type, int64_t depth, Value panel,
                        Value row, Value lane) {
  AffineExpr r = b.getAffineDimExpr(0), l = b.getAffineDimExpr(1);
  auto at = [&](AffineExpr expr) { return asValue(b, affineOf(b, expr, {OpFoldResult(row), OpFoldResult(lane)})); };
  int64_t group = attn_cpu::QuantizedLayout(type, depth).groupDepth(),
          codes = attn_cpu::QuantizedLayout(type, depth).codeBytes(), word = 32 / type.bits();
  Value g = at(r.floorDiv(group));
  AffineExpr inGroup = r % group, inWord = inGroup % word;
  Value code = readByte(b, bytes, {panel, g, at(inGroup.floorDiv(word) * (4 * kPanel) + l * 4 + inWord % 4)});
  if (type.bits() == 4) {
    Value high = arith::IndexCastOp::create(b, b.getI32Type(), at(inWord.floorDiv(4) * 4));
    code = arith::AndIOp::create(b, arith::ShRUIOp::create(b, code, high), constant(b, b.getI32Type(), 15));
  }
  Value zero = type.getZeroPoints() ? readByte(b, bytes, {panel, g, at(l + (codes + 2 * kPanel))})
                                    : constant(b, b.getI32Type(), type.zero());
  Value low = readByte(b, bytes, {panel, g, at(l * 2 + codes)}),
        high = readByte(b, bytes, {panel, g, at(l * 2 + (codes + 1))});
  Value bits = arith::OrIOp::create(b, shiftedLeft(b, high, 24), shiftedLeft(b, low, 16));
  Value number = arith::SIToFPOp::create(b, b.getF32Type(), arith::SubIOp::create(b, code, zero));
  return arith::MulFOp::create(b, number, arith::BitcastOp::create(b, b.getF32Type(), bits));
}

void rapt::populateQuantizationTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TileQuantizeRows>(patterns.getContext());
}
