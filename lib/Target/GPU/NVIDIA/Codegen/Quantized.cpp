//===- Quantized.cpp - Matmuls of quantized values ----------------------------------------===//
//
// Quantized values of weights become signed bytes in registers: those of 8 bits by one instruction, and those of 4 bits
// in the upper half of a byte by one or two. Sums of their matmuls are exact.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/GPU/NVIDIA/Codegen/Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <array>

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::cuda;

namespace {

/// Columns of an instruction, and bytes of a row of words of a panel.
constexpr int64_t kColumns = 8, kWordsBytes = 128;

struct LowerQuantizedMma : OpConversionPattern<QuantizedMmaOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(QuantizedMmaOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Lane lane(op, adaptor, rewriter);
    SmallVector<Value> acc = llvm::to_vector(adaptor.getAcc());
    const int64_t across = op.getAcc().getType().getColumns() / kColumns, down = op.getA().getType().getRows() / 16;
    for (int64_t column = 0; column < across; ++column) {
      const std::array<Value, 2> b = lane.weights(column);
      for (int64_t row = 0; row < down; ++row)
        multiplyBytes(rewriter, op.getLoc(), adaptor.getA().slice(row * 4, 4), b,
                      MutableArrayRef(acc).slice((row * across + column) * 4, 4));
    }
    rewriter.replaceOpWithMultiple(op, {acc});
    return success();
  }

private:
  /// The quantized values of weights that a lane holds: 8 consecutive of k, of column lane / 4.
  class Lane {
  public:
    Lane(QuantizedMmaOp op, OneToNOpAdaptor adaptor, OpBuilder &builder)
        : op(op), builder(builder), loc(op.getLoc()), ints(builder, loc), codes(adaptor.getCodes().front()),
          zeros(op.getZeros() ? adaptor.getZeros().front() : Value()), lane(ints.thread(32)),
          column(ints.of(adaptor.getColumn().front())) {}

    std::array<Value, 2> weights(int64_t nth) {
      const int64_t rows = op.getBits() == 8 ? 2 : 1; // of words
      const Value quad = ints.mask(lane, 3), nthColumn = ints.shiftRight(lane, 2);
      // 16-byte chunks of a row are permuted by the row, which the lane's number in its quad tells.
      Value chunk = ints.exclusiveOr(ints.times(ints.shiftRight(nthColumn, 2), 16), ints.times(quad, 32));
      chunk = ints.exclusiveOr(ints.exclusiveOr(chunk, ints.times(column, 4)), ints.constant(nth * kColumns * 4));
      Value offset = ints.add(chunk, ints.times(ints.mask(nthColumn, 3), 4));
      offset = ints.add(offset, ints.times(quad, rows * kWordsBytes));
      const Value at = advance(builder, loc, codes, offset, 0);
      if (op.getBits() == 8) {
        const Value sign = pattern(0x80);
        return {ints.exclusiveOr(word(at, 0), sign), ints.exclusiveOr(word(at, kWordsBytes), sign)};
      }
      const Value both = word(at, 0);
      return zeros ? differences(both, nthColumn, nth) : inUpperHalves(both);
    }

  private:
    Value pattern(int64_t byte) { return ints.constant(byte * 0x01010101); }
    Value masked(Value value, int64_t byte) { return arith::AndIOp::create(builder, loc, value, pattern(byte)); }
    Value word(Value pointer, int64_t bytes) {
      return LLVM::LoadOp::create(builder, loc, builder.getI32Type(), advance(builder, loc, pointer, Value(), bytes),
                                  /*alignment=*/4);
    }

    /// 16 (code - 8): the upper half of a byte with its highest bit flipped.
    std::array<Value, 2> inUpperHalves(Value both) {
      const Value low = arith::ShLIOp::create(builder, loc, both, ints.constant(4)), sign = pattern(0x80);
      return {ints.exclusiveOr(masked(low, 0xf0), sign), ints.exclusiveOr(masked(both, 0xf0), sign)};
    }

    /// code - zero in each byte. With the highest bit set, no byte borrows from the next.
    std::array<Value, 2> differences(Value both, Value nthColumn, int64_t nth) {
      Value at = ints.add(ints.add(column, ints.constant(nth * kColumns)), nthColumn);
      Value zero = LLVM::LoadOp::create(builder, loc, builder.getI8Type(), advance(builder, loc, zeros, at, 0),
                                        /*alignment=*/1);
      zero = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), zero);
      zero = ints.times(zero, 0x01010101);
      const Value sign = pattern(0x80);
      auto of = [&](Value values) {
        Value set = arith::OrIOp::create(builder, loc, masked(values, 0x0f), sign);
        return ints.exclusiveOr(arith::SubIOp::create(builder, loc, set, zero), sign);
      };
      return {of(both), of(ints.shiftRight(both, 4))};
    }

    QuantizedMmaOp op;
    OpBuilder &builder;
    Location loc;
    Ints ints;
    Value codes, zeros, lane, column;
  };
};

struct LowerAddScaled : OpConversionPattern<AddScaledOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(AddScaledOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const Location loc = op.getLoc();
    const FragmentType type = op.getAcc().getType();
    Ints ints(rewriter, loc);
    const Origin origin = originOf(type.getLayout(), ints);
    const Type f32 = rewriter.getF32Type();
    const Value firstRow = ints.add(ints.of(adaptor.getRow().front()), origin.row),
                firstColumn = ints.add(ints.of(adaptor.getColumn().front()), origin.column);
    const Value rows = advance(rewriter, loc, adaptor.getRowScales().front(), ints.times(firstRow, op.getPitch()), 0),
                columns = advance(rewriter, loc, adaptor.getColumnScales().front(), ints.times(firstColumn, 2), 0);
    const Value factor = LLVM::ConstantOp::create(rewriter, loc, f32, op.getFactorAttr());
    llvm::SmallDenseMap<int64_t, Value> ofRows, ofColumns;
    SmallVector<Value> acc = llvm::to_vector(adaptor.getAcc());
    for (int64_t index = 0; index < type.getElements(); ++index) {
      const Coordinates at = type.getDistance(index);
      if (at.column % 2 == 0 && !ofColumns.contains(at.column))
        loadPair(rewriter, loc, advance(rewriter, loc, columns, Value(), at.column * 2), factor, at.column, ofColumns);
      Value &row = ofRows[at.row];
      if (!row)
        row = LLVM::LoadOp::create(rewriter, loc, f32,
                                   advance(rewriter, loc, rows, Value(), at.row * int64_t(op.getPitch())),
                                   /*alignment=*/4);
      const Value scale = LLVM::FMulOp::create(rewriter, loc, row, ofColumns.lookup(at.column));
      const Value sum = LLVM::SIToFPOp::create(rewriter, loc, f32, adaptor.getSums()[index]);
      acc[index] = LLVM::FMAOp::create(rewriter, loc, sum, scale, acc[index]);
    }
    rewriter.replaceOpWithMultiple(op, {acc});
    return success();
  }

private:
  /// The scales of two columns, bf16, times `factor`, a power of two.
  static void loadPair(OpBuilder &builder, Location loc, Value pointer, Value factor, int64_t column,
                       llvm::SmallDenseMap<int64_t, Value> &scales) {
    Ints ints(builder, loc);
    const Value pair = LLVM::LoadOp::create(builder, loc, builder.getI32Type(), pointer, /*alignment=*/4);
    const Value low = arith::ShLIOp::create(builder, loc, pair, ints.constant(16)),
                high = arith::AndIOp::create(builder, loc, pair, ints.constant(0xffff0000));
    for (auto [i, bits] : llvm::enumerate(std::array{low, high})) {
      const Value scale = LLVM::BitcastOp::create(builder, loc, builder.getF32Type(), bits);
      scales[column + int64_t(i)] = LLVM::FMulOp::create(builder, loc, scale, factor);
    }
  }
};

} // namespace

void cuda::multiplyBytes(OpBuilder &builder, Location loc, ValueRange a, ValueRange b, MutableArrayRef<Value> acc) {
  const auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(), SmallVector<Type>(4, builder.getI32Type()));
  Value sum = NVVM::MmaOp::create(builder, loc, type, a, b, ValueRange(ArrayRef<Value>(acc)),
                                  ArrayRef<int64_t>{16, 8, 32}, std::nullopt, NVVM::MMAIntOverflow::wrapped,
                                  std::array{NVVM::MMATypes::s8, NVVM::MMATypes::s8},
                                  std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (int64_t i = 0; i < 4; ++i)
    acc[i] = LLVM::ExtractValueOp::create(builder, loc, sum, i);
}

void cuda::populateQuantized(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerQuantizedMma, LowerAddScaled>(converter, patterns.getContext());
}
