//===- Tiles.cpp - Tiles in shared memory and the copies that fill them --------------------===//
#include "lib/Target/CUDA/Codegen/Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::cuda;

namespace {

struct LowerShared : OpConversionPattern<SharedOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(SharedOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    const auto type = LLVM::LLVMPointerType::get(getContext(), 3);
    const Value base = LLVM::AddressOfOp::create(rewriter, op.getLoc(), type, kShared);
    const Position offset = positionOf(adaptor.getOffset(), Ints(rewriter, op.getLoc()));
    rewriter.replaceOp(op, advance(rewriter, op.getLoc(), base, offset.dynamic, offset.constant));
    return success();
  }
};

struct LowerSubtile : OpConversionPattern<SubtileOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(SubtileOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    const TileType tile = op.getTile().getType();
    Ints ints(rewriter, op.getLoc());
    const Position row = positionOf(adaptor.getRow(), ints), column = positionOf(adaptor.getColumn(), ints);
    Value moved = advance(rewriter, op.getLoc(), adaptor.getTile(), Value(),
                          row.constant * tile.getSwizzle().getBytes() +
                              column.constant / tile.getBoxColumns() * tile.getBoxBytes());
    if (row.dynamic)
      moved = advance(rewriter, op.getLoc(), moved, ints.times(row.dynamic, tile.getSwizzle().getBytes()), 0);
    if (column.dynamic) {
      const Value box = ints.shiftRight(column.dynamic, llvm::Log2_64(tile.getBoxColumns()));
      moved = advance(rewriter, op.getLoc(), moved, ints.times(box, tile.getBoxBytes()), 0);
    }
    rewriter.replaceOp(op, moved);
    return success();
  }
};

/// One thread's copies of 16 bytes: of the same columns in every `height`th row.
class ThreadCopies {
public:
  ThreadCopies(CopyAsyncOp op, CopyAsyncOp::Adaptor adaptor, OpBuilder &builder)
      : builder(builder), loc(op.getLoc()), ints(builder, loc), tile(op.getTile().getType()), adaptor(adaptor),
        height(op.getCount() / (tile.getColumns() / 8)) {
    const Value thread = ints.of(adaptor.getThread());
    const int64_t chunks = tile.getColumns() / 8;
    chunk = builder.createOrFold<arith::RemUIOp>(loc, thread, ints.constant(chunks));
    row = builder.createOrFold<arith::DivUIOp>(loc, thread, ints.constant(chunks));
  }

  void emit() {
    const Value bytes = bytesInside();
    Value from = source();
    const Value pitch = arith::MulIOp::create(builder, loc, ints.wide(adaptor.getStride()), wideConstant(2 * height));
    for (int64_t first = 0; first < tile.getRows(); first += height) {
      if (first)
        from = gep(from, pitch);
      NVVM::CpAsyncOp::create(
          builder, loc, destination(first), from, builder.getI32IntegerAttr(16),
          NVVM::LoadCacheModifierKindAttr::get(builder.getContext(), NVVM::LoadCacheModifierKind::CG),
          size(first, bytes));
    }
  }

private:
  Value wideConstant(int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
  }
  Value indexConstant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value gep(Value pointer, Value bytes) {
    return LLVM::GEPOp::create(builder, loc, pointer.getType(), builder.getI8Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{bytes});
  }
  Value column() {
    return builder.createOrFold<arith::AddIOp>(loc, adaptor.getColumn(), ints.index(ints.times(chunk, 8)));
  }

  /// The thread's first 16 bytes in global memory.
  Value source() {
    const Value first = builder.createOrFold<arith::AddIOp>(loc, adaptor.getRow(), ints.index(row));
    Value element = arith::MulIOp::create(builder, loc, ints.wide(first), ints.wide(adaptor.getStride()));
    element = arith::AddIOp::create(builder, loc, element, ints.wide(column()));
    return gep(adaptor.getSource(), arith::MulIOp::create(builder, loc, element, wideConstant(2)));
  }

  /// The thread's 16 bytes `first` rows below its first ones in shared memory.
  Value destination(int64_t first) {
    const int64_t span = tile.getSwizzle().getBytes();
    const Value at = height % 8 ? ints.add(row, ints.constant(first)) : row; // for the swizzle, alike in every 8th row
    const Value byte = ints.times(chunk, 16);
    Value offset = ints.exclusiveOr(ints.mask(byte, span - 1), swizzleOf(tile.getSwizzle(), at, ints));
    offset = ints.add(offset, ints.times(ints.shiftRight(byte, llvm::Log2_64(span)), tile.getBoxBytes()));
    offset = ints.add(offset, ints.times(row, span));
    return advance(builder, loc, adaptor.getTile(), offset, first * span);
  }

  /// How many of the thread's 16 bytes are inside of the bound of columns; null without one.
  Value bytesInside() {
    if (adaptor.getBounds().size() < 2)
      return nullptr;
    Value left = arith::SubIOp::create(builder, loc, adaptor.getBounds()[1], column());
    left = arith::MaxSIOp::create(builder, loc, left, indexConstant(0));
    left = arith::MinSIOp::create(builder, loc, left, indexConstant(8));
    return ints.times(ints.of(left), 2);
  }

  /// How many bytes are copied `first` rows below the thread's first ones; null where it is always 16.
  Value size(int64_t first, Value bytes) {
    if (adaptor.getBounds().empty())
      return nullptr;
    const Value below = ints.index(ints.add(row, ints.constant(first)));
    const Value at = builder.createOrFold<arith::AddIOp>(loc, adaptor.getRow(), below);
    const Value isInside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, at, adaptor.getBounds()[0]);
    return arith::SelectOp::create(builder, loc, isInside, bytes ? bytes : ints.constant(16), ints.constant(0));
  }

  OpBuilder &builder;
  Location loc;
  Ints ints;
  TileType tile;
  CopyAsyncOp::Adaptor adaptor;
  int64_t height;
  Value chunk, row;
};

struct LowerCopyAsync : OpConversionPattern<CopyAsyncOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(CopyAsyncOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    ThreadCopies(op, adaptor, rewriter).emit();
    rewriter.eraseOp(op);
    return success();
  }
};

/// Calls `copy(box, coordinates)` for each box of a tile: its pointer and where it is in the tensor.
void forEachBox(OpBuilder &builder, Location loc, TileType tile, Value pointer, ValueRange coordinates,
                llvm::function_ref<void(Value box, ValueRange at)> copy) {
  Ints ints(builder, loc);
  for (int64_t box = 0; box < tile.getBoxes(); ++box) {
    SmallVector<Value> at = llvm::to_vector(coordinates);
    if (box)
      at[0] = ints.add(at[0], ints.constant(box * tile.getBoxColumns()));
    copy(advance(builder, loc, pointer, Value(), box * tile.getBoxBytes()), at);
  }
}

struct LowerLoadTile : OpConversionPattern<LoadTileOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(LoadTileOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    if (failed(requireHopper(op, /*own=*/false)))
      return failure();
    forEachBox(rewriter, op.getLoc(), op.getTile().getType(), adaptor.getTile(), adaptor.getCoordinates(),
               [&](Value box, ValueRange at) {
                 NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
                     rewriter, op.getLoc(), box, adaptor.getMap(), at, adaptor.getBarrier(), ValueRange(), Value(),
                     Value(), NVVM::TMALoadModeAttr::get(getContext(), NVVM::TMALoadMode::TILE),
                     rewriter.getBoolAttr(true), NVVM::CTAGroupKindAttr(), Value());
               });
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerStoreTile : OpConversionPattern<StoreTileOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(StoreTileOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    if (failed(requireHopper(op, /*own=*/false)))
      return failure();
    forEachBox(rewriter, op.getLoc(), op.getTile().getType(), adaptor.getTile(), adaptor.getCoordinates(),
               [&](Value box, ValueRange at) {
                 NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
                     rewriter, op.getLoc(), adaptor.getMap(), box, at, Value(),
                     NVVM::TMAStoreModeAttr::get(getContext(), NVVM::TMAStoreMode::TILE), Value());
               });
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void cuda::populateTiles(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerShared, LowerSubtile, LowerCopyAsync, LowerLoadTile, LowerStoreTile>(converter,
                                                                                         patterns.getContext());
}
