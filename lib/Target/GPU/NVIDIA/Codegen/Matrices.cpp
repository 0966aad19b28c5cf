//===- Matrices.cpp - Fragments from and to shared memory, by ldmatrix and stmatrix --------===//
#include "lib/Target/GPU/NVIDIA/Codegen/Lowering.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::cuda;

namespace {

Coordinates transposed(Coordinates at) { return {at.column, at.row}; }

/// Where the 8x8 matrices of a fragment are in a tile. Lane l gives the address of row l % 8 of matrix l / 8 of a
/// group.
class MatrixAccess {
public:
  MatrixAccess(OpBuilder &builder, Location loc, TileType tile, Value pointer, Value row, Value column,
               FragmentType fragment, bool isTransposed)
      : builder(builder), ints(builder, loc), loc(loc), tile(tile), pointer(pointer), row(positionOf(row, ints)),
        column(positionOf(column, ints)), fragment(fragment), isTransposed(isTransposed),
        lane(ints.thread(fragment.getLayout().getAtom().threads)) {}

  /// The registers of the group of matrices that begins with `first`: 4 where their distances are those of two bits.
  int64_t groupOf(int64_t first) const {
    if (first + 4 > fragment.getElements() / 2)
      return 2;
    const Coordinates one = step(first, 1), two = step(first, 2);
    const bool isGrid = step(first, 3) == one + two && isForward(one) && isForward(two);
    return isGrid ? 4 : 2;
  }

  /// Whether a register's two elements are one above the other in the tile.
  bool isAcross() const { return at(1).column == at(0).column; }

  /// The lane's address for the group of `count` matrices that begins with `first`.
  Value address(int64_t first, int64_t count) {
    const Coordinates base = at(2 * first);
    // Row and column of the lane in the group; the column is 0 or 8, and the other columns are multiples of 16 then.
    Value laneRow = ints.mask(lane, 7), laneByte = ints.constant(0);
    for (int64_t bit = 0; (int64_t(1) << bit) < count; ++bit) {
      const Coordinates move = step(first, int64_t(1) << bit);
      const Value isSecond = ints.mask(ints.shiftRight(lane, 3 + bit), 1);
      if (move.row)
        laneRow = ints.add(laneRow, ints.times(isSecond, move.row));
      if (move.column)
        laneByte = ints.add(laneByte, ints.times(isSecond, move.column * 2));
    }
    for (const LayoutField &field : fragment.getLayout().getAtom().ofThread)
      if (field.shift >= 5) { // the warp
        const Value warp = ints.mask(ints.shiftRight(lane, field.shift), (1 << field.bits) - 1);
        laneRow = ints.add(laneRow, ints.times(warp, field.step.row));
      }
    return offset(laneRow, laneByte, base);
  }

  /// The address of a thread's pair of elements, where they are neighbors in a row.
  Value addressOfPair(int64_t element, Origin origin) {
    const Value inGroup = ints.mask(origin.column, 7);
    return advance(builder, loc, offset(origin.row, ints.constant(0), at(element)), ints.times(inGroup, 2), 0);
  }

private:
  /// Where an element of the first thread is in the tile, relative to the fragment.
  Coordinates at(int64_t element) const {
    const Coordinates distance = fragment.getDistance(element);
    return isTransposed ? transposed(distance) : distance;
  }
  Coordinates step(int64_t first, int64_t by) const { return at(2 * (first + by)) - at(2 * first); }
  static bool isForward(Coordinates move) { return move.row >= 0 && (move.column == 0 || move.column == 8); }

  /// The address of byte `byte`, less than 32, of a row that is `at` and `row` from the fragment's first.
  Value offset(Value laneRow, Value byte, Coordinates at) {
    const int64_t span = tile.getSwizzle().getBytes();
    int64_t constant = (row.constant + at.row) * span;
    Value moved = laneRow;
    if (row.dynamic)
      moved = ints.add(moved, row.dynamic);
    const Value swizzle = ints.exclusiveOr(byte, swizzleOf(tile.getSwizzle(), ints.mask(laneRow, 7), ints));
    Value chunk; // within its box
    if (column.dynamic) {
      const Value first = ints.add(ints.times(column.dynamic, 2), ints.constant(at.column * 2));
      chunk = ints.exclusiveOr(ints.mask(first, span - 1), swizzle);
      const Value box = ints.shiftRight(first, llvm::Log2_64(span));
      chunk = ints.add(chunk, ints.times(box, tile.getBoxBytes()));
    } else {
      const int64_t first = (column.constant + at.column) * 2;
      chunk = ints.exclusiveOr(swizzle, ints.constant(first % span));
      constant += first / span * tile.getBoxBytes();
    }
    return advance(builder, loc, pointer, ints.add(ints.times(moved, span), chunk), constant);
  }

  OpBuilder &builder;
  Ints ints;
  Location loc;
  TileType tile;
  Value pointer;
  Position row, column;
  FragmentType fragment;
  bool isTransposed;
  Value lane;
};

NVVM::LdStMatrixShapeAttr shapeOf(MLIRContext *context) { return NVVM::LdStMatrixShapeAttr::get(context, 8, 8); }
NVVM::LdStMatrixEltTypeAttr elementsOf(MLIRContext *context) {
  return NVVM::LdStMatrixEltTypeAttr::get(context, NVVM::LdStMatrixEltType::B16);
}
NVVM::MMALayoutAttr orderOf(MLIRContext *context, bool isTransposed) {
  return NVVM::MMALayoutAttr::get(context, isTransposed ? NVVM::MMALayout::col : NVVM::MMALayout::row);
}

struct LowerLoadMatrix : OpConversionPattern<LoadMatrixOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(LoadMatrixOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const FragmentType fragment = op.getResult().getType();
    MatrixAccess access(rewriter, op.getLoc(), op.getTile().getType(), adaptor.getTile(), adaptor.getRow(),
                        adaptor.getColumn(), fragment, op.getTranspose());
    SmallVector<Value> registers;
    while (int64_t(registers.size()) < fragment.getRegisters()) {
      const int64_t first = int64_t(registers.size()), count = access.groupOf(first);
      llvm::append_range(registers,
                         load(rewriter, op.getLoc(), access.address(first, count), count, access.isAcross()));
    }
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }

private:
  static SmallVector<Value> load(OpBuilder &builder, Location loc, Value address, int64_t count, bool isAcross) {
    MLIRContext *context = builder.getContext();
    const auto type = LLVM::LLVMStructType::getLiteral(context, SmallVector<Type>(count, builder.getI32Type()));
    Value loaded = NVVM::LdMatrixOp::create(builder, loc, type, address, builder.getI32IntegerAttr(int32_t(count)),
                                            orderOf(context, isAcross), shapeOf(context), elementsOf(context));
    SmallVector<Value> registers;
    for (int64_t i = 0; i < count; ++i)
      registers.push_back(LLVM::ExtractValueOp::create(builder, loc, loaded, i));
    return registers;
  }
};

struct LowerStoreMatrix : OpConversionPattern<StoreMatrixOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(StoreMatrixOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getTile().getType().getElementType().isF32())
      return failure(); // see FloatMatmul.cpp
    const FragmentType fragment = op.getFragment().getType();
    const Location loc = op.getLoc();
    MatrixAccess access(rewriter, loc, op.getTile().getType(), adaptor.getTile().front(), adaptor.getRow().front(),
                        adaptor.getColumn().front(), fragment, /*isTransposed=*/false);
    SmallVector<Value> pairs;
    for (int64_t i = 0; i < fragment.getElements(); i += 2)
      pairs.push_back(roundPair(rewriter, loc, op.getTile().getType().getElementType(), adaptor.getFragment()[i],
                                adaptor.getFragment()[i + 1]));
    if (chipOf(op).number < 90) {
      const Origin origin = originOf(fragment.getLayout(), Ints(rewriter, loc));
      for (auto [i, pair] : llvm::enumerate(pairs))
        LLVM::StoreOp::create(rewriter, loc, pair, access.addressOfPair(2 * int64_t(i), origin), /*alignment=*/4);
      rewriter.eraseOp(op);
      return success();
    }
    for (Value &pair : pairs)
      pair = LLVM::BitcastOp::create(rewriter, loc, rewriter.getI32Type(), pair);
    MLIRContext *context = getContext();
    for (int64_t first = 0, count = 0; first < int64_t(pairs.size()); first += count) {
      count = access.groupOf(first);
      NVVM::StMatrixOp::create(rewriter, loc, access.address(first, count), ArrayRef(pairs).slice(first, count),
                               orderOf(context, false), shapeOf(context), elementsOf(context));
    }
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void cuda::populateMatrices(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerLoadMatrix, LowerStoreMatrix>(converter, patterns.getContext());
}
