//===- MemoryOps.cpp - Verifiers of tiles, copies and barriers ----------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;

/// Whether a constant is a number from 0 on that is a multiple; others are known at run time only.
static bool mayBeMultiple(Value value, int64_t multiple) {
  APInt constant;
  return !matchPattern(value, m_ConstantInt(&constant)) ||
         (!constant.isNegative() && constant.getSExtValue() % multiple == 0);
}

/// The position of a fragment of [rows, columns] in a tile.
static LogicalResult verifyPosition(Operation *op, TileType tile, Value row, Value column, int64_t rows,
                                    int64_t columns, int64_t columnMultiple) {
  if (!mayBeMultiple(row, 8) || !mayBeMultiple(column, columnMultiple))
    return op->emitOpError() << "needs a row that is a multiple of 8 and a column that is one of " << columnMultiple;
  auto reaches = [](Value first, int64_t extent, int64_t end) {
    APInt constant;
    return (matchPattern(first, m_ConstantInt(&constant)) ? constant.getSExtValue() : 0) + extent <= end;
  };
  if (!reaches(row, rows, tile.getRows()) || !reaches(column, columns, tile.getColumns()))
    return op->emitOpError() << "reaches beyond " << tile;
  return success();
}

LogicalResult SharedOp::verify() {
  auto tile = dyn_cast<TileType>(getResult().getType());
  const int64_t alignment = tile ? 8 * tile.getSwizzle().getBytes() : isa<MBarrierType>(getResult().getType()) ? 8 : 1;
  if (!mayBeMultiple(getOffset(), alignment))
    return emitOpError() << "needs an offset that is a multiple of " << alignment << " for " << getResult().getType();
  return success();
}

LogicalResult SubtileOp::verify() {
  const TileType tile = getTile().getType(), part = getResult().getType();
  if (part.getElementType() != tile.getElementType() || part.getSwizzle() != tile.getSwizzle() ||
      part.getPitch() != tile.getPitch())
    return emitOpError() << "gives a tile with the element type, swizzle and pitch of " << tile << ", found " << part;
  return verifyPosition(*this, tile, getRow(), getColumn(), part.getRows(), part.getColumns(), tile.getBoxColumns());
}

LogicalResult LoadMatrixOp::verify() {
  const TileType tile = getTile().getType();
  const FragmentType fragment = getResult().getType();
  if (!fragment.getLayout().isPacked() || fragment.getElementType() != tile.getElementType())
    return emitOpError() << "loads operands of the tile's element type, found " << fragment << " of " << tile;
  int64_t rows = fragment.getRows(), columns = fragment.getColumns();
  if (getTranspose())
    std::swap(rows, columns);
  return verifyPosition(*this, tile, getRow(), getColumn(), rows, columns, 16);
}

LogicalResult StoreMatrixOp::verify() {
  const FragmentType fragment = getFragment().getType();
  const Type element = getTile().getType().getElementType();
  if (fragment.getLayout().isPacked() || !fragment.getElementType().isF32() || element.isInteger())
    return emitOpError() << "stores accumulators as floats, found " << fragment << " to " << getTile().getType();
  if (element.isF32() && !isa<MmaLayoutAttr>(fragment.getLayout()))
    return emitOpError() << "stores f32 of the layout mma<acc>, found " << fragment;
  return verifyPosition(*this, getTile().getType(), getRow(), getColumn(), fragment.getRows(), fragment.getColumns(),
                        16);
}

bool attn_gpu::isRowOffset(Region &region) {
  auto isIndex = [](TypeRange types) { return types.size() == 1 && types[0].isIndex(); };
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  return yield && isIndex(region.getArgumentTypes()) && isIndex(yield.getValues().getTypes());
}

/// Chunks of 16 bytes in a row of a box.
static int64_t chunksOf(TileType tile) { return tile.getSwizzle().getBytes() / 16; }

bool attn_gpu::canCopyRows(TileType tile, int64_t threads) {
  return threads % chunksOf(tile) == 0 && tile.getRows() % (threads / chunksOf(tile)) == 0;
}

LogicalResult CopyRowsOp::verify() {
  const TileType tile = getTile().getType();
  const int64_t chunks = chunksOf(tile), threads = getCount();
  if (getElements() && tile.getElementType().isInteger())
    return emitOpError() << "copies quantized values 16 bytes at a time, found " << tile;
  if (!getElements() && !canCopyRows(tile, threads))
    return emitOpError() << "needs threads that copy whole rows of boxes, " << chunks
                         << " chunks of 16 bytes, the same number each, found " << threads << " threads for " << tile;
  if (!isRowOffset(getBody()))
    return emitOpError() << "has a region of a row that yields an offset";
  return success();
}

/// TMA copies a box of at most 256 rows of a tensor of 2 to 5 dims.
static LogicalResult verifyBulkCopy(Operation *op, TileType tile, size_t coordinates) {
  if (coordinates < 2 || coordinates > 5 || tile.getRows() > 256)
    return op->emitOpError() << "needs 2 to 5 coordinates and at most 256 rows, found " << coordinates
                             << " coordinates and " << tile;
  return success();
}

LogicalResult LoadTileOp::verify() { return verifyBulkCopy(*this, getTile().getType(), getCoordinates().size()); }

LogicalResult StoreTileOp::verify() { return verifyBulkCopy(*this, getTile().getType(), getCoordinates().size()); }

static LogicalResult verifyThreads(Operation *op, int64_t threads) {
  if (threads % 32 != 0)
    return op->emitOpError() << "needs whole warps, found " << threads << " threads";
  return success();
}

LogicalResult BarrierSyncOp::verify() { return verifyThreads(*this, getThreads()); }

LogicalResult BarrierArriveOp::verify() { return verifyThreads(*this, getThreads()); }
