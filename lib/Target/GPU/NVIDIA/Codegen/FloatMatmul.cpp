//===- FloatMatmul.cpp - Matmuls of f32 from tiles in shared memory -----------------------===//
//
// A thread's accumulators are those of mma.sync whichever way numbers are multiplied, so epilogues and stores need not
// know. Fused multiply-adds read four of k at a time. 3xTF32 after CUTLASS' example 27_ampere_3xtf32.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/GPU/NVIDIA/Codegen/Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::cuda;

namespace {

/// A row or a column: a part that is known, one that a kernel computes, and the thread's own, less than 8.
struct TileIndex {
  Value first, ofThread; ///< null: 0. The first is a multiple of 8.
  int64_t constant = 0;
};

TileIndex indexOf(Value index, Ints ints) {
  const Position position = positionOf(index, ints);
  return {position.dynamic, Value(), position.constant};
}

/// Elements of a tile.
class TileElements {
public:
  TileElements(OpBuilder &builder, Location loc, TileType tile, Value pointer)
      : builder(builder), loc(loc), ints(builder, loc), tile(tile), pointer(pointer) {}

  /// `count` elements of a row from a column on, as f32.
  SmallVector<Value> read(const TileIndex &row, const TileIndex &column, int64_t count) {
    const Type element = tile.getElementType();
    const unsigned alignment = unsigned(tile.getElementBytes() * count);
    const Type type = count == 1 ? element : Type(VectorType::get(count, element));
    Value loaded = LLVM::LoadOp::create(builder, loc, type, address(row, column), alignment);
    SmallVector<Value> values;
    for (int64_t i = 0; i < count; ++i) {
      Value value = count == 1 ? loaded : LLVM::ExtractElementOp::create(builder, loc, loaded, ints.constant(i));
      if (!element.isF32())
        value = arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
      values.push_back(value);
    }
    return values;
  }

  /// Two f32 beside each other.
  void write(const TileIndex &row, const TileIndex &column, Value first, Value second) {
    const VectorType type = VectorType::get(2, first.getType());
    Value pair = LLVM::PoisonOp::create(builder, loc, type);
    for (auto [i, value] : llvm::enumerate(std::array{first, second}))
      pair = LLVM::InsertElementOp::create(builder, loc, pair, value, ints.constant(int64_t(i)));
    LLVM::StoreOp::create(builder, loc, pair, address(row, column), unsigned(2 * tile.getElementBytes()));
  }

private:
  Value sum(Value a, Value b) { return a && b ? ints.add(a, b) : a ? a : b; }

  Value address(const TileIndex &row, const TileIndex &column) {
    const int64_t span = tile.getSwizzle().getBytes(), bytes = tile.getElementBytes();
    const Value ofEight =
        row.ofThread ? ints.add(row.ofThread, ints.constant(row.constant % 8)) : ints.constant(row.constant % 8);
    const Value swizzle = swizzleOf(tile.getSwizzle(), ints.mask(ofEight, 7), ints);
    Value at;
    int64_t constant = row.constant * span;
    if (!row.ofThread && !column.first && column.ofThread && column.constant % 8 == 0) {
      // The thread's part is less than 8 elements: the rest of the permutation is known and takes no register.
      const int64_t own = 8 * bytes, byte = column.constant * bytes, nth = row.constant % 8,
                    known = tile.getSwizzle().getOffset(nth, 0) - nth * span;
      at = ints.exclusiveOr(ints.times(column.ofThread, bytes), ints.constant(known % own));
      constant += byte / span * tile.getBoxBytes() + ((byte % span) ^ (known / own * own));
    } else if (Value moved = sum(column.first, column.ofThread)) {
      const Value byte = ints.times(ints.add(moved, ints.constant(column.constant)), bytes);
      at = ints.exclusiveOr(ints.mask(byte, span - 1), swizzle);
      if (tile.getBoxes() > 1)
        at = ints.add(at, ints.times(ints.shiftRight(byte, llvm::Log2_64(span)), tile.getBoxBytes()));
    } else {
      const int64_t byte = column.constant * bytes;
      at = ints.exclusiveOr(swizzle, ints.constant(byte % span / 16 * 16));
      constant += byte / span * tile.getBoxBytes() + byte % 16;
    }
    if (Value moved = sum(row.first, row.ofThread))
      at = ints.add(at, ints.times(moved, span));
    return advance(builder, loc, pointer, at, constant);
  }

  OpBuilder &builder;
  Location loc;
  Ints ints;
  TileType tile;
  Value pointer;
};

/// The code of one op: the accumulators of a thread as scalars.
class Multiplication {
public:
  Multiplication(MultiplyOp op, ValueRange pointers, ValueRange indices, ArrayRef<ValueRange> accumulators,
                 OpBuilder &builder)
      : op(op), builder(builder), loc(op.getLoc()), ints(builder, loc),
        input(builder, loc, op.getInput().getType(), pointers[0]),
        weight(builder, loc, op.getWeight().getType(), pointers[1]) {
    const Value lane = ints.thread(32);
    group = ints.shiftRight(lane, 2);
    member = ints.mask(lane, 3);
    row = indexOf(indices[0]), column = indexOf(indices[1]), k = indexOf(indices[2]);
    int64_t before = 0; // columns of accumulators
    for (auto [value, values] : llvm::zip_equal(op.getAcc(), accumulators)) {
      auto type = cast<FragmentType>(value.getType());
      for (int64_t index = 0; index < type.getElements(); ++index) {
        Coordinates at = type.getDistance(index);
        at.column += before;
        elements.push_back({at, values[index]});
      }
      before += type.getColumns();
    }
  }

  void multiplyAdd() {
    for (int64_t depth = 0; depth < int64_t(op.getDepth()); depth += kVector) {
      llvm::MapVector<int64_t, SmallVector<Value>> left, right; // four of k by row, and by column
      for (const Element &element : elements) {
        SmallVector<Value> &ofRow = left[element.at.row];
        if (ofRow.empty())
          ofRow = input.read(moved(row, group, element.at.row), moved(k, Value(), depth), kVector);
        right[element.at.column];
      }
      readColumns(right, depth);
      for (int64_t i = 0; i < kVector; ++i)
        for (Element &element : elements)
          element.value =
              LLVM::FMAOp::create(builder, loc, left[element.at.row][i], right[element.at.column][i], element.value);
    }
  }

  void multiplyTF32(bool isThreefold) {
    for (int64_t depth = 0; depth < int64_t(op.getDepth()); depth += kDepth) {
      llvm::MapVector<int64_t, Parts> left, right; // of instructions, by their first row, and by their first column
      for (const Element &element : elements) {
        const int64_t firstRow = element.at.row / 16 * 16, firstColumn = element.at.column / 8 * 8;
        if (!left.contains(firstRow))
          left[firstRow] = partsOf(readLeft(firstRow, depth), op.getInput().getType(), isThreefold);
        if (!right.contains(firstColumn))
          right[firstColumn] = partsOf(readRight(firstColumn, depth), op.getWeight().getType(), isThreefold);
      }
      for (size_t first = 0; first < elements.size(); first += 4) {
        const Parts &a = left[elements[first].at.row / 16 * 16], &b = right[elements[first].at.column / 8 * 8];
        if (!a.low.empty())
          multiply(a.low, b.high, first);
        if (!b.low.empty())
          multiply(a.high, b.low, first);
        multiply(a.high, b.high, first);
      }
    }
  }

  /// The accumulators, in the order of the op's.
  SmallVector<Value> results() const {
    SmallVector<Value> values;
    for (const Element &element : elements)
      values.push_back(element.value);
    return values;
  }

private:
  static constexpr int64_t kVector = 4, kDepth = 8; ///< of k: of a read, and of an instruction of tensor cores

  struct Element {
    Coordinates at;
    Value value;
  };
  /// Operands of an instruction as tf32, and what is left of them.
  struct Parts {
    SmallVector<Value> high, low;
  };

  TileIndex indexOf(Value index) { return ::indexOf(index, ints); }
  static TileIndex moved(TileIndex index, Value ofThread, int64_t by) {
    return {index.first, ofThread, index.constant + by};
  }

  /// Four of k of the columns that are the keys, two of which are beside each other.
  void readColumns(llvm::MapVector<int64_t, SmallVector<Value>> &columns, int64_t depth) {
    const Value first = ints.times(member, 2);
    for (auto &[at, values] : columns) {
      if (op.getTransposed()) {
        values = weight.read(moved(column, first, at), moved(k, Value(), depth), kVector);
        continue;
      }
      if (!values.empty())
        continue; // read with the one before
      for (int64_t i = 0; i < kVector; ++i) {
        const SmallVector<Value> pair = weight.read(moved(k, Value(), depth + i), moved(column, first, at), 2);
        values.push_back(pair[0]);
        columns[at + 1].push_back(pair[1]);
      }
    }
  }

  SmallVector<Value> readLeft(int64_t firstRow, int64_t depth) {
    SmallVector<Value> values;
    for (int64_t behind : {0, 4})
      for (int64_t below : {0, 8})
        values.push_back(input.read(moved(row, group, firstRow + below), moved(k, member, depth + behind), 1)[0]);
    return values;
  }

  SmallVector<Value> readRight(int64_t firstColumn, int64_t depth) {
    SmallVector<Value> values;
    for (int64_t behind : {0, 4}) {
      const TileIndex ofK = moved(k, member, depth + behind), ofColumn = moved(column, group, firstColumn);
      values.push_back(op.getTransposed() ? weight.read(ofColumn, ofK, 1)[0] : weight.read(ofK, ofColumn, 1)[0]);
    }
    return values;
  }

  /// Numbers of 16 bits are tf32 as they are: nothing is left of them.
  Parts partsOf(ArrayRef<Value> values, TileType tile, bool isThreefold) {
    Parts parts;
    const bool isExact = !tile.getElementType().isF32();
    for (Value value : values) {
      const Value bits = LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), value);
      parts.high.push_back(isExact ? bits : rounded(value));
      if (isExact || !isThreefold)
        continue;
      const Value high = LLVM::BitcastOp::create(builder, loc, builder.getF32Type(), parts.high.back());
      parts.low.push_back(rounded(arith::SubFOp::create(builder, loc, value, high)));
    }
    return parts;
  }

  Value rounded(Value value) {
    return NVVM::ConvertFloatToTF32Op::create(builder, loc, builder.getI32Type(), value, NVVM::FPRoundingMode::RNA);
  }

  /// Adds the matmul of two operands to the four accumulators from `first` on.
  void multiply(ArrayRef<Value> a, ArrayRef<Value> b, size_t first) {
    const auto kind = NVVM::MMATypes::tf32;
    const auto type =
        LLVM::LLVMStructType::getLiteral(builder.getContext(), SmallVector<Type>(4, builder.getF32Type()));
    SmallVector<Value> before;
    for (size_t i = 0; i < 4; ++i)
      before.push_back(elements[first + i].value);
    Value sum = NVVM::MmaOp::create(builder, loc, type, ValueRange(a), ValueRange(b), ValueRange(before),
                                    ArrayRef<int64_t>{16, 8, 8}, std::nullopt, std::nullopt, std::array{kind, kind},
                                    std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
    for (int64_t i = 0; i < 4; ++i)
      elements[first + i].value = LLVM::ExtractValueOp::create(builder, loc, sum, i);
  }

  MultiplyOp op;
  OpBuilder &builder;
  Location loc;
  Ints ints;
  TileElements input, weight;
  Value group, member; ///< of the thread: that of 4 lanes, and its number in it
  TileIndex row, column, k;
  SmallVector<Element> elements;
};

struct LowerMultiply : OpConversionPattern<MultiplyOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(MultiplyOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const Value pointers[] = {adaptor.getInput().front(), adaptor.getWeight().front()};
    const Value indices[] = {adaptor.getRow().front(), adaptor.getColumn().front(), adaptor.getK().front()};
    const SmallVector<ValueRange> accumulators = llvm::to_vector(adaptor.getAcc());
    Multiplication code(op, pointers, indices, accumulators, rewriter);
    if (op.getKind() == MatmulKind::fma)
      code.multiplyAdd();
    else
      code.multiplyTF32(op.getKind() == MatmulKind::tf32x3);
    const SmallVector<Value> all = code.results();
    SmallVector<SmallVector<Value>> results;
    size_t first = 0;
    for (ValueRange values : accumulators) {
      results.emplace_back(ArrayRef(all).slice(first, values.size()));
      first += values.size();
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

/// Two f32 of accumulators are beside each other.
struct LowerStoreFloats : OpConversionPattern<StoreMatrixOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(StoreMatrixOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const TileType tile = op.getTile().getType();
    if (!tile.getElementType().isF32())
      return failure(); // see Matrices.cpp
    const FragmentType fragment = op.getFragment().getType();
    Ints ints(rewriter, op.getLoc());
    TileElements elements(rewriter, op.getLoc(), tile, adaptor.getTile().front());
    const Origin origin = originOf(fragment.getLayout(), ints);
    TileIndex row = indexOf(adaptor.getRow().front(), ints), column = indexOf(adaptor.getColumn().front(), ints);
    row.ofThread = origin.row, column.ofThread = origin.column;
    const ValueRange values = adaptor.getFragment();
    for (int64_t i = 0; i < fragment.getElements(); i += 2) {
      const Coordinates at = fragment.getDistance(i);
      TileIndex ofRow = row, ofColumn = column;
      ofRow.constant += at.row, ofColumn.constant += at.column;
      elements.write(ofRow, ofColumn, values[i], values[i + 1]);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void cuda::populateFloatMatmul(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerMultiply, LowerStoreFloats>(converter, patterns.getContext());
}
