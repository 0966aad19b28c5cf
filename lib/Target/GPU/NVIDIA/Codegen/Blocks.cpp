//===- Blocks.cpp - Matmuls of weights in blocks ------------------------------------------===//
//
// Codes become the numbers that they stand for, less their zero, as signed bytes in registers: of a table by three byte
// permutations for four codes. The sums of rows that offsets are multiplied by are a matmul with ones.
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
constexpr int64_t kPanel = QuantizedPanelsAttr::kColumns;

using Words = std::array<Value, 2>; ///< 8 consecutive k of a column

class BlockMmaCode {
public:
  BlockMmaCode(BlockMmaOp op, BlockMmaOp::GenericAdaptor<ArrayRef<ValueRange>> adaptor, OpBuilder &builder)
      : op(op), builder(builder), loc(op.getLoc()), ints(builder, loc),
        format(*cast<attn::QuantizedType>(op.getQuantized()).blocks()), layout(format, kPanel), adaptor(adaptor),
        unit(adaptor.getUnit().front()), numbers(adaptor.getNumbers().front()),
        column(ints.of(adaptor.getColumn().front())), lane(ints.thread(32)), quad(ints.mask(lane, 3)),
        nthColumn(ints.shiftRight(lane, 2)) {}

  SmallVector<Value> emit() {
    const FragmentType type = op.getAcc().getType();
    const int64_t across = type.getColumns() / kColumns, down = type.getRows() / 16;
    SmallVector<Value> acc = llvm::to_vector(adaptor.getAcc());
    for (int64_t nth = 0; nth < across; ++nth) {
      const Words weights = numbersOf(nth), ones{pattern(1), pattern(1)};
      for (int64_t group = 0; group < format.groupsOfUnit(); ++group) {
        SmallVector<Value> sums, ofRows; // those of rows are the same for all columns, and so are their instructions
        for (int64_t row = 0; row < down; ++row) {
          multiply(row, ofGroup(weights, group), sums);
          if (format.hasOffsets())
            multiply(row, ofGroup(ones, group), ofRows);
        }
        addScaled(nth, group, sums, ofRows, acc);
      }
    }
    return acc;
  }

private:
  Value pattern(int64_t byte) { return ints.constant(byte * 0x01010101); }
  Value both(Value a, Value b) { return arith::AndIOp::create(builder, loc, a, b); }
  Value either(Value a, Value b) { return arith::OrIOp::create(builder, loc, a, b); }
  Value left(Value value, int64_t by) {
    return by == 0 ? value : Value(arith::ShLIOp::create(builder, loc, value, ints.constant(by)));
  }
  Value permuted(Value low, Value high, Value selector) {
    return NVVM::PermuteOp::create(builder, loc, builder.getI32Type(), low, high, selector, NVVM::PermuteMode::DEFAULT);
  }
  Value load(Type type, Value pointer, Value offset, int64_t at, int64_t bytes) {
    return LLVM::LoadOp::create(builder, loc, type, advance(builder, loc, pointer, offset, at), unsigned(bytes));
  }

  /// Appends the four sums of 16 rows and 8 columns.
  void multiply(int64_t row, Words words, SmallVector<Value> &sums) {
    sums.append(4, ints.constant(0));
    multiplyBytes(builder, loc, adaptor.getA().slice(row * 4, 4), words, MutableArrayRef(sums).take_back(4));
  }

  /// Zeros in the lanes that have k of the unit's other group.
  Words ofGroup(Words words, int64_t group) {
    if (format.groupsOfUnit() == 1)
      return words;
    const auto predicate = group == 0 ? arith::CmpIPredicate::ult : arith::CmpIPredicate::uge;
    const Value isOf = arith::CmpIOp::create(builder, loc, predicate, quad, ints.constant(2));
    for (Value &word : words)
      word = arith::SelectOp::create(builder, loc, isOf, word, ints.constant(0));
    return words;
  }

  /// The word of the lane's column in a row of words. 16-byte chunks of a row are permuted by the row.
  Value wordAt(Value row, int64_t nth) {
    const Value swizzle = format.bits == 8 ? ints.mask(row, 6) : ints.times(ints.mask(row, 3), 2);
    Value chunk = ints.exclusiveOr(ints.times(ints.shiftRight(nthColumn, 2), 16), ints.times(column, 4));
    chunk = ints.exclusiveOr(chunk, ints.constant(nth * kColumns * 4));
    chunk = ints.exclusiveOr(chunk, ints.times(swizzle, 16));
    Value offset = ints.add(chunk, ints.times(ints.mask(nthColumn, 3), 4));
    return load(builder.getI32Type(), unit, ints.add(offset, ints.times(row, kWordsBytes)), 0, 4);
  }

  /// The bits that a plane has of 8 consecutive codes, in their place in bytes.
  Words bitsOf(const CodePlane &plane, int64_t nth) {
    const int64_t first = plane.at * kPanel / kWordsBytes; // of the plane's rows of words
    auto at = [&](Value row) { return wordAt(ints.add(row, ints.constant(first)), nth); };
    if (plane.bits == 8) {
      const Value row = ints.times(quad, 2);
      return {at(row), at(ints.add(row, ints.constant(1)))};
    }
    const int64_t quadsOfRow = 4 / plane.bits; // whose codes are in one row of words
    Value word = at(ints.shiftRight(quad, unsigned(llvm::Log2_64(uint64_t(quadsOfRow)))));
    if (quadsOfRow > 1)
      word =
          builder.createOrFold<arith::ShRUIOp>(loc, word, ints.times(ints.mask(quad, quadsOfRow - 1), 2 * plane.bits));
    const Value mask = pattern((1 << plane.bits) - 1);
    return {left(both(word, mask), plane.shift),
            left(both(ints.shiftRight(word, unsigned(plane.bits)), mask), plane.shift)};
  }

  /// The numbers of the codes that a lane has of a column, less their zero.
  Words numbersOf(int64_t nth) {
    if (format.code != BlockCode::Integer)
      return lookedUp(wordAt(quad, nth));
    Words codes;
    for (const std::optional<CodePlane> &plane : layout.planes()) {
      if (!plane)
        continue;
      const Words bits = bitsOf(*plane, nth);
      for (auto [code, some] : llvm::zip_equal(codes, bits))
        code = code ? either(code, some) : some;
    }
    if (format.zero == 0)
      return codes;
    const Value sign = pattern(0x80);
    for (Value &code : codes) {
      if (format.zero < 128) // with the highest bit set, no byte borrows from the next
        code = arith::SubIOp::create(builder, loc, either(code, sign), pattern(format.zero));
      code = ints.exclusiveOr(code, sign);
    }
    return codes;
  }

  /// Numbers of a table for 8 codes of 4 bits: first the low halves of bytes, then the high ones.
  Words lookedUp(Value codes) {
    std::array<Value, 4> table;
    for (int64_t i = 0; i < 4; ++i) {
      uint32_t word = 0;
      for (int64_t j = 0; j < 4; ++j)
        word |= uint32_t(uint8_t(numberOf(format, 4 * i + j) - format.zero)) << 8 * j;
      table[i] = ints.constant(int32_t(word));
    }
    // A selector has four of the codes: their three low bits, and the highest for the half of the table.
    const Value low = ints.mask(codes, 0x77777777),
                half = either(ints.mask(ints.shiftRight(codes, 1), 0x44444444), ints.constant(0x32103210));
    Words four;
    for (unsigned i = 0; i < 2; ++i) {
      const Value selector = ints.shiftRight(low, 16 * i);
      four[i] = permuted(permuted(table[0], table[1], selector), permuted(table[2], table[3], selector),
                         ints.shiftRight(half, 16 * i));
    }
    return {permuted(four[0], four[1], ints.constant(0x6420)), permuted(four[0], four[1], ints.constant(0x7531))};
  }

  Value toFloat(Value integer) { return LLVM::SIToFPOp::create(builder, loc, builder.getF32Type(), integer); }
  Value byteAt(Value pointer, Value at, int64_t first, bool isSigned = false) {
    const Value byte = load(builder.getI8Type(), pointer, at, first, 1);
    return isSigned ? Value(arith::ExtSIOp::create(builder, loc, builder.getI32Type(), byte))
                    : Value(arith::ExtUIOp::create(builder, loc, builder.getI32Type(), byte));
  }
  Value halfAt(Value at, int64_t first) {
    const Value half = load(builder.getF16Type(), numbers, ints.times(at, 2), first, 2);
    return LLVM::FPExtOp::create(builder, loc, builder.getF32Type(), half);
  }
  /// 2^(e - 128), which is subnormal for 0 and 1.
  Value exponentAt(Value at) {
    const Value e = byteAt(numbers, at, 0), one = ints.constant(1);
    const Value normal = left(arith::SubIOp::create(builder, loc, e, one), 23);
    const Value small = arith::ShLIOp::create(builder, loc, ints.constant(0x00200000),
                                              Value(arith::MinUIOp::create(builder, loc, e, one)));
    const Value isSmall = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, e, one);
    return LLVM::BitcastOp::create(builder, loc, builder.getF32Type(),
                                   Value(arith::SelectOp::create(builder, loc, isSmall, small, normal)));
  }

  /// The scale of a group in column `at` of the panel.
  Value scaleOf(int64_t group, Value at) {
    const Value whole = format.blockScale == BlockScale::Half ? halfAt(at, 0) : exponentAt(at);
    if (format.groupScale == ByteScale::One)
      return whole;
    Value own = byteAt(unit, at, layout.groupScales(group), format.groupScale == ByteScale::Signed);
    if (format.groupScale == ByteScale::Nibble)
      own = ints.mask(own, 15);
    return LLVM::FMulOp::create(builder, loc, whole, toFloat(own));
  }
  Value offsetOf(int64_t group, Value at) {
    const Value whole = halfAt(at, layout.blockOffsets() - layout.blockScales());
    if (format.offset == BlockOffset::OfBlock)
      return whole;
    Value own = byteAt(unit, at, layout.groupOffsets(group));
    if (format.groupScale == ByteScale::Nibble)
      own = ints.shiftRight(own, 4);
    return LLVM::FNegOp::create(builder, loc, Value(LLVM::FMulOp::create(builder, loc, whole, toFloat(own))));
  }

  /// Adds the sums of the `nth` 8 columns, times their scales.
  void addScaled(int64_t nth, int64_t group, ArrayRef<Value> sums, ArrayRef<Value> ofRows, SmallVector<Value> &acc) {
    const FragmentType type = op.getAcc().getType();
    const int64_t across = type.getColumns() / kColumns;
    const Origin origin = originOf(type.getLayout(), ints);
    const Value firstRow = ints.add(ints.of(adaptor.getRow().front()), origin.row),
                firstColumn = ints.add(column, origin.column),
                rows = advance(builder, loc, adaptor.getRowScales().front(), ints.times(firstRow, op.getPitch()), 0);
    llvm::SmallDenseMap<int64_t, Value> rowScales, scales, offsets;
    for (auto [i, sum] : llvm::enumerate(sums)) {
      const int64_t index = (int64_t(i) / 4 * across + nth) * 4 + int64_t(i) % 4;
      const Coordinates at = type.getDistance(index);
      Value &rowScale = rowScales[at.row], &scale = scales[at.column], &offset = offsets[at.column];
      if (!rowScale)
        rowScale = load(builder.getF32Type(), rows, Value(), at.row * int64_t(op.getPitch()) + 4 * group, 4);
      if (!scale) {
        const Value own = ints.add(firstColumn, ints.constant(at.column));
        scale = scaleOf(group, own);
        if (format.hasOffsets())
          offset = offsetOf(group, own);
      }
      Value part = LLVM::FMulOp::create(builder, loc, toFloat(sum), scale);
      if (format.hasOffsets())
        part = LLVM::FMAOp::create(builder, loc, toFloat(ofRows[i]), offset, part);
      acc[index] = LLVM::FMAOp::create(builder, loc, part, rowScale, acc[index]);
    }
  }

  BlockMmaOp op;
  OpBuilder &builder;
  Location loc;
  Ints ints;
  const BlockFormat &format;
  const BlockLayout layout;
  BlockMmaOp::GenericAdaptor<ArrayRef<ValueRange>> adaptor;
  Value unit, numbers, column, lane, quad, nthColumn;
};

struct LowerBlockMma : OpConversionPattern<BlockMmaOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(BlockMmaOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithMultiple(op, {BlockMmaCode(op, adaptor, rewriter).emit()});
    return success();
  }
};

} // namespace

void cuda::populateBlocks(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerBlockMma>(converter, patterns.getContext());
}
