//===- Tiles.cpp - Tiles in shared memory and the copies that fill them --------------------===//
#include "lib/Target/GPU/NVIDIA/Codegen/Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

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

constexpr int64_t kUnrolledRows = 16; ///< of a thread

/// Copies of one thread to a tile whose rows are anywhere.
class RowCopies {
public:
  RowCopies(CopyRowsOp op, CopyRowsOp::Adaptor adaptor, ConversionPatternRewriter &builder)
      : builder(builder), loc(op.getLoc()), ints(builder, loc), op(op), tile(op.getTile().getType()), adaptor(adaptor),
        span(tile.getSwizzle().getBytes()) {}

  /// 16 bytes at a time: of the same columns of each box, in every `height`th row.
  void copyChunks() {
    const int64_t chunks = span / 16, height = op.getCount() / chunks;
    const Value thread = ints.of(adaptor.getThread());
    const Value chunk = ints.mask(thread, chunks - 1), row = ints.shiftRight(thread, llvm::Log2_64(chunks));
    const Value column = ints.times(chunk, 16 / tile.getElementBytes());
    SmallVector<Value> bytes; // that are inside of the bound of columns, for each box
    for (int64_t box = 0; box < tile.getBoxes(); ++box)
      bytes.push_back(bytesInside(ints.add(column, ints.constant(box * tile.getBoxColumns()))));
    auto copyRow = [&](Value below) {
      const Value at = ints.index(below), isThere = isRowInside(at);
      const Value from = source(at, ints.index(column)), to = destination(below, ints.times(chunk, 16));
      for (int64_t box = 0; box < tile.getBoxes(); ++box)
        NVVM::CpAsyncOp::create(
            builder, loc, advance(builder, loc, to, Value(), box * tile.getBoxBytes()),
            advance(builder, loc, from, Value(), box * span), builder.getI32IntegerAttr(16),
            NVVM::LoadCacheModifierKindAttr::get(builder.getContext(), NVVM::LoadCacheModifierKind::CG),
            arith::SelectOp::create(builder, loc, isThere, bytes[box], ints.constant(0)));
    };
    if (tile.getRows() > kUnrolledRows * height) { // unrolled, the addresses need too many registers
      auto loop =
          scf::ForOp::create(builder, loc, ints.index(row), indexConstant(tile.getRows()), indexConstant(height));
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      return copyRow(ints.of(loop.getInductionVar()));
    }
    for (int64_t first = 0; first < tile.getRows(); first += height)
      copyRow(ints.add(row, ints.constant(first)));
  }

  void copyElements() {
    const int64_t columns = tile.getColumns();
    auto loop = scf::ForOp::create(builder, loc, adaptor.getThread(), indexConstant(tile.getRows() * columns),
                                   indexConstant(op.getCount()));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    const Value at = ints.of(loop.getInductionVar());
    const Value row = arith::DivUIOp::create(builder, loc, at, ints.constant(columns));
    const Value column = arith::RemUIOp::create(builder, loc, at, ints.constant(columns));
    const Value isInside = arith::AndIOp::create(
        builder, loc, isRowInside(ints.index(row)),
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, ints.index(column), adaptor.getColumnBound()));
    const Type element = tile.getElementType();
    auto load = scf::IfOp::create(builder, loc, TypeRange(element), isInside, /*withElseRegion=*/true);
    builder.setInsertionPointToStart(load.thenBlock());
    scf::YieldOp::create(builder, loc,
                         Value(LLVM::LoadOp::create(builder, loc, element, source(ints.index(row), ints.index(column)),
                                                    unsigned(tile.getElementBytes()))));
    builder.setInsertionPointToStart(load.elseBlock());
    scf::YieldOp::create(builder, loc,
                         Value(arith::ConstantOp::create(builder, loc, builder.getFloatAttr(element, 0.0))));
    builder.setInsertionPointAfter(load);
    const int64_t bytes = tile.getElementBytes();
    const Value byte = ints.times(column, bytes), box = ints.shiftRight(byte, llvm::Log2_64(span));
    Value to = destination(row, ints.mask(byte, span - 16));
    to = advance(builder, loc, to, ints.add(ints.times(box, tile.getBoxBytes()), ints.mask(byte, 16 - bytes)), 0);
    LLVM::StoreOp::create(builder, loc, load.getResult(0), to, unsigned(bytes));
  }

private:
  Value indexConstant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

  Value isRowInside(Value row) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, row, adaptor.getRowBound());
  }

  /// How many of the 16 bytes from `column` on are inside of the bound.
  Value bytesInside(Value column) {
    Value left = arith::SubIOp::create(builder, loc, adaptor.getColumnBound(), ints.index(column));
    left = arith::MaxSIOp::create(builder, loc, left, indexConstant(0));
    left = arith::MinSIOp::create(builder, loc, left, indexConstant(16 / tile.getElementBytes()));
    return ints.times(ints.of(left), tile.getElementBytes());
  }

  /// The address of an element in global memory.
  Value source(Value row, Value column) {
    IRMapping mapping;
    Block &body = op.getBody().front();
    mapping.map(body.getArgument(0), row);
    for (Operation &inner : body.without_terminator())
      builder.clone(inner, mapping);
    const Value offset = mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
    const Value element = arith::AddIOp::create(builder, loc, offset, column);
    return LLVM::GEPOp::create(builder, loc, adaptor.getSource().getType(), tile.getElementType(), adaptor.getSource(),
                               ArrayRef<LLVM::GEPArg>{ints.wide(element)});
  }

  /// The address in shared memory of 16 bytes of a row of the first box.
  Value destination(Value row, Value byte) {
    const Value inRow = ints.exclusiveOr(byte, swizzleOf(tile.getSwizzle(), row, ints));
    return advance(builder, loc, adaptor.getTile(), ints.add(inRow, ints.times(row, span)), 0);
  }

  ConversionPatternRewriter &builder;
  Location loc;
  Ints ints;
  CopyRowsOp op;
  TileType tile;
  CopyRowsOp::Adaptor adaptor;
  int64_t span;
};

struct LowerCopyRows : OpConversionPattern<CopyRowsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(CopyRowsOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    RowCopies copies(op, adaptor, rewriter);
    if (op.getElements())
      copies.copyElements();
    else
      copies.copyChunks();
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
  patterns.add<LowerShared, LowerSubtile, LowerCopyRows, LowerLoadTile, LowerStoreTile>(converter,
                                                                                        patterns.getContext());
}
