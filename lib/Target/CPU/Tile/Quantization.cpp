//===- Quantization.cpp - Dynamic activation quantization, quantized tables ---------------===//
#include "lib/Target/CPU/Tile/Quantization.h"
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "dialect/AttnCPU/QuantizedLayout.h"
#include "lib/Conversion/BlockElements.h"
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

Value tile::noMagnitudes(ImplicitLocOpBuilder &b, int64_t lanes) {
  return arith::ConstantOp::create(b, b.getZeroAttr(VectorType::get({lanes}, b.getI32Type())));
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

/// Rows for weights of 8 bits are in words where the target reads them, rows for weights of 4 bits are not: those that
/// both read are quantized twice.
struct TileQuantizeRows : OpRewritePattern<attn::QuantizeRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::QuantizeRowsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    const TargetInfo target = TargetInfo::of(op);
    auto readsWords = [&](OpOperand &use) {
      auto linear = dyn_cast<attn::LinearOp>(use.getOwner());
      attn::QuantizedType weight =
          linear ? cpu::quantizedPanels(linear.getLayout(), linear.getWeight()) : attn::QuantizedType();
      return weight && cpu::readsWords(weight, target);
    };
    if (llvm::any_of(op->getUses(), readsWords))
      rewriter.replaceUsesWithIf(op.getResult(), quantized(b, op, /*inWords=*/true), readsWords);
    if (op->use_empty())
      rewriter.eraseOp(op);
    else
      rewriter.replaceOp(op, quantized(b, op, /*inWords=*/false));
    return success();
  }

  static Value quantized(ImplicitLocOpBuilder &b, attn::QuantizeRowsOp op, bool inWords) {
    auto type = cast<attn::QuantizedType>(op.getResult().getType().getElementType());
    const int64_t width = op.getInput().getType().getDimSize(1);
    const auto layout = attn_cpu::QuantizedLayout::ofRows(type, width, inWords);
    OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
    auto result = RankedTensorType::get({ShapedType::kDynamic, layout.rowBytes()}, b.getI8Type());
    Value init = empty(b, result, {extent(b, op.getInput(), 0), b.getIndexAttr(layout.rowBytes())});
    return rowGrid(b, init, [&](ImplicitLocOpBuilder &b, Value number, Value dest) -> Value {
      Value row = extract(b, op.getInput(), {OpFoldResult(number), zero}, {one, b.getIndexAttr(width)}, {width});
      // Quantized values that pad the last group are zeros.
      for (int64_t c = attn_cpu::padToPanel(width); c < layout.paddedDepth(); c += kPanel) {
        Value none = arith::ConstantOp::create(b, b.getZeroAttr(VectorType::get({kPanel}, b.getI32Type())));
        dest = writeValues(b, none, dest, index(b, c), inWords);
      }
      return loop(b, index(b, 0), index(b, layout.groups()), 1, dest,
                  [&](ImplicitLocOpBuilder &b, Value group, Value carried) {
                    return emitGroup(b, layout, width, row, group, carried, inWords);
                  });
    });
  }

  /// Writes the quantized values, i32, of the columns from `column` on.
  static Value writeValues(ImplicitLocOpBuilder &b, Value values, Value dest, Value column, bool inWords) {
    Type element = inWords ? b.getI16Type() : b.getI8Type();
    const int64_t lanes = cast<VectorType>(values.getType()).getNumElements();
    values = arith::TruncIOp::create(b, VectorType::get({lanes}, element), values);
    if (inWords) {
      values = vector::BitCastOp::create(b, VectorType::get({2 * lanes}, b.getI8Type()), values);
      column = arith::MulIOp::create(b, column, index(b, 2));
    }
    return vector::TransferWriteOp::create(b, values, dest, ValueRange{column}, ArrayRef<bool>{true}).getResult();
  }

  static Value emitGroup(ImplicitLocOpBuilder &b, const attn_cpu::QuantizedLayout &layout, int64_t width, Value row,
                         Value group, Value dest, bool inWords) {
    AffineExpr d0 = b.getAffineDimExpr(0);
    int64_t depth = layout.groupDepth();
    auto at = [&](AffineExpr expr) { return asValue(b, affineOf(b, expr, {OpFoldResult(group)})); };
    Value from = at(d0 * depth);
    Value to =
        asValue(b, affineMin(b, {affineOf(b, d0 * depth + depth, {OpFoldResult(group)}), b.getIndexAttr(width)}));
    const int64_t lanes = std::min(depth, kPanel); // a vector of a group
    auto floats = VectorType::get({lanes}, b.getF32Type());
    auto read = [&](ImplicitLocOpBuilder &b, Value column) -> Value {
      if (lanes == kPanel)
        return readPanel(b, row, column);
      Value padding = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
      return vector::TransferReadOp::create(b, floats, row, ValueRange{column}, padding, ArrayRef<bool>{true});
    };
    Value none = noMagnitudes(b, lanes);
    Value largest = loop(b, from, to, lanes, none, [&](ImplicitLocOpBuilder &b, Value column, Value most) -> Value {
      return largerMagnitudes(b, read(b, column), most);
    });
    GroupScale found = scaleOf(b, largest);
    Value inverse = vector::BroadcastOp::create(b, floats, found.inverse);
    SmallVector<Value> results =
        loop(b, from, to, lanes, ValueRange{dest, none},
             [&](ImplicitLocOpBuilder &b, Value column, ValueRange carried) -> SmallVector<Value> {
               Value quantized = quantizedOf(b, read(b, column), inverse);
               return {writeValues(b, quantized, carried[0], column, inWords),
                       arith::SubIOp::create(b, carried[1], quantized)};
             });
    // The zero point of 8-bit weights is 128.
    Value sum = shiftedLeft(b, vector::ReductionOp::create(b, vector::CombiningKind::ADD, results[1]), 7);
    dest = writeWord(b, found.scale, results[0], at(d0 * 4 + layout.rowScale(0)));
    return writeWord(b, sum, dest, at(d0 * 4 + layout.rowSum(0)));
  }
};

} // namespace

Value tile::unpackPanel(ImplicitLocOpBuilder &b, Value packed, attn::QuantizedType type, int64_t depth) {
  constexpr int64_t columns = attn_cpu::QuantizedLayout::kUnpackedColumns, line = 4 * columns;
  const attn_cpu::QuantizedLayout layout(type, depth);
  const RankedTensorType result = layout.unpacked();
  auto words = VectorType::get({columns}, b.getI32Type());
  auto splatOf = [&](ImplicitLocOpBuilder &b, uint32_t value) -> Value {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(words, APInt(32, value)));
  };
  auto read = [&](ImplicitLocOpBuilder &b, Value group, Value at, int64_t bytes, Type element) -> Value {
    Value padding = constant(b, b.getI8Type(), 0);
    Value read = vector::TransferReadOp::create(b, VectorType::get({bytes}, b.getI8Type()), packed,
                                                ValueRange{group, at}, padding, ArrayRef<bool>{true});
    return vector::BitCastOp::create(
        b, VectorType::get({bytes * 8 / int64_t(element.getIntOrFloatBitWidth())}, element), read);
  };
  auto write = [&](ImplicitLocOpBuilder &b, Value value, Value dest, Value group, Value at) -> Value {
    value = vector::BitCastOp::create(b, VectorType::get({line}, b.getI8Type()), value);
    return vector::TransferWriteOp::create(b, value, dest, ValueRange{group, at}, ArrayRef<bool>{true}).getResult();
  };
  Value init = empty(b, result, {b.getIndexAttr(result.getDimSize(0)), b.getIndexAttr(result.getDimSize(1))});
  auto unpackGroup = [&](ImplicitLocOpBuilder &b, Value group, Value dest) {
    for (int64_t half = 0; half < 2; ++half) {
      Value place = arith::AddIOp::create(b, group, index(b, half * layout.groups()));
      auto unpackLine = [&](ImplicitLocOpBuilder &b, Value nth, Value dest) {
        Value from = arith::AddIOp::create(b, arith::MulIOp::create(b, nth, index(b, 2 * line)), index(b, half * line)),
              to = arith::MulIOp::create(b, nth, index(b, 2 * line));
        Value codes = read(b, group, from, line, b.getI32Type()), nibble = splatOf(b, 0x0f0f0f0f);
        Value high = arith::ShRUIOp::create(b, codes, splatOf(b, 4));
        dest = write(b, arith::AndIOp::create(b, codes, nibble), dest, place, to);
        return write(b, arith::AndIOp::create(b, high, nibble), dest, place,
                     arith::AddIOp::create(b, to, index(b, line)));
      };
      dest = loop(b, index(b, 0), index(b, layout.groupDepth() / 8), 1, dest, unpackLine);
      Value scales = read(b, group, index(b, layout.codeBytes() + half * 2 * columns), 2 * columns, b.getI16Type());
      scales = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, words, scales), splatOf(b, 16));
      dest = write(b, scales, dest, place, index(b, layout.unpackedCodeBytes()));
      if (!type.getZeroPoints())
        continue;
      Value zeros = read(b, group, index(b, layout.codeBytes() + 2 * kPanel + half * columns), columns, b.getI8Type());
      dest =
          write(b, arith::ExtUIOp::create(b, words, zeros), dest, place, index(b, layout.unpackedCodeBytes() + line));
    }
    return dest;
  };
  return loop(b, index(b, 0), index(b, layout.groups()), 1, init, unpackGroup);
}

Value tile::readElement(ImplicitLocOpBuilder &b, Value bytes, attn::QuantizedType type, int64_t depth, Value panel,
                        Value row, Value lane) {
  if (const BlockFormat *format = type.blocks())
    return readBlockElement(b, BlockLayout(*format, kPanel), row, lane,
                            [&](Value block, Value byte) { return readByte(b, bytes, {panel, block, byte}); });
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
