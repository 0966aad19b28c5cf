//===- AttentionTileOp.cpp - attn_gpu.attention_tile --------------------------------------===//
#include "dialect/Attn/Ops/State.h"
#include "dialect/AttnGPU/AttnGPU.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;

namespace {

constexpr int64_t kMostChannels = 256, kThreadsOfWarp = 32, kCopyingWarps = 4;
/// The rows of a warp's fragments are a multiple of this; those of a warpgroup of four warps of four times as many.
constexpr int64_t kRowsOfWarp = 16;

/// The coordinates of a tensor map.
constexpr size_t kLeastCoordinates = 2, kMostCoordinates = 5;

ShapedType shapeOf(Value value) { return cast<ShapedType>(value.getType()); }

bool fit(int64_t a, int64_t b) { return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b; }

/// A tile with all channels, in boxes of 128 bytes.
TileType tileOf(int64_t rows, int64_t channels, Type element) {
  constexpr int64_t box = 64;
  return TileType::get(element.getContext(), rows, llvm::alignTo(channels, box), element, /*swizzle=*/box * 2);
}

/// Verifies that a region, if it is there, takes and yields `types`.
LogicalResult verifyRegion(Operation *op, Region &region, StringRef name, TypeRange taken, TypeRange yielded) {
  if (region.empty())
    return success();
  auto yield = region.hasOneBlock() && !region.front().empty() ? dyn_cast<YieldOp>(region.front().back()) : YieldOp();
  if (!yield || region.getArgumentTypes() != taken || yield.getValues().getTypes() != yielded)
    return op->emitOpError() << "has a region '" << name << "' that takes (" << taken << ") and yields (" << yielded
                             << ")";
  return success();
}

} // namespace

int64_t AttentionTileOp::getHeads() {
  ShapedType query = shapeOf(getQuery());
  return query.getRank() == 3 ? query.getDimSize(1) : 1;
}

int64_t AttentionTileOp::getChannels() { return shapeOf(getQuery()).getShape().back(); }

int64_t AttentionTileOp::getValueChannels() { return shapeOf(getValue()).getShape().back(); }

int64_t AttentionTileOp::getThreads() {
  return int64_t(getWarps() + (getWgmma() ? kCopyingWarps : 0)) * kThreadsOfWarp;
}

int64_t AttentionTileOp::getCopyingThreads() { return getWgmma() ? kCopyingWarps * kThreadsOfWarp : getThreads(); }

int64_t AttentionTileOp::getStages() { return getWgmma() ? 2 : 1; }

TileType AttentionTileOp::getQueryTile() {
  return tileOf(getRows(), getChannels(), shapeOf(getQuery()).getElementType());
}

TileType AttentionTileOp::getKeyTile() {
  return tileOf(getKeys(), getChannels(), shapeOf(getQuery()).getElementType());
}

TileType AttentionTileOp::getValueTile() {
  return tileOf(getKeys(), getValueChannels(), shapeOf(getQuery()).getElementType());
}

int64_t AttentionTileOp::getSharedBytes() {
  const int64_t barriers = getWgmma() ? 8 * (1 + 4 * getStages()) : 0;
  return getQueryTile().getBytes() + getStages() * (getKeyTile().getBytes() + getValueTile().getBytes()) + barriers;
}

LogicalResult RangeOp::verify() {
  if (!isRowOffset(getBody()))
    return emitOpError() << "has a region of a number that yields an index";
  return success();
}

LogicalResult AttentionTileOp::verify() {
  ShapedType query = shapeOf(getQuery()), key = shapeOf(getKey()), value = shapeOf(getValue()),
             result = shapeOf(getResult());
  if (query.getElementType() != key.getElementType() || key.getElementType() != value.getElementType())
    return emitOpError() << "needs query, key and value of one element type";
  const int64_t keyRank = getTable() ? 3 : 2;
  if (query.getRank() != result.getRank() || key.getRank() != keyRank || value.getRank() != keyRank)
    return emitOpError() << "needs key and value of rank " << keyRank << " and a result of the query's rank";
  for (int64_t channels : {getChannels(), getValueChannels(), getHeads()})
    if (ShapedType::isDynamic(channels) || channels < 1 || channels > kMostChannels)
      return emitOpError() << "needs from 1 to " << kMostChannels << " channels, and as many heads, found " << channels;
  if (!fit(key.getShape().back(), getChannels()) || !fit(result.getShape().back(), getValueChannels()) ||
      !llvm::all_of_zip(query.getShape().drop_back(), result.getShape().drop_back(), fit) ||
      !llvm::all_of_zip(key.getShape().drop_back(), value.getShape().drop_back(), fit))
    return emitOpError() << "has extents of query, key, value and result that do not fit each other";
  if (getTable() && (key.isDynamicDim(1) || value.isDynamicDim(1)))
    return emitOpError() << "needs a static number of positions in a block of the cache";
  const bool hasMaps = getKeyMap() || getValueMap() || getMade();
  const auto isPlaced = [](OperandRange at) { return at.size() >= kLeastCoordinates && at.size() <= kMostCoordinates; };
  if (hasMaps && (!getWgmma() || getTable() || !getKeyMap() || !getValueMap() || !getMade() || !isPlaced(getKeyAt()) ||
                  !isPlaced(getValueAt())))
    return emitOpError() << "has tensor maps; these are of keys and values without a table, with " << kLeastCoordinates
                         << " to " << kMostCoordinates << " coordinates each, for the schedule 'wgmma'";
  if (getSink() && !fit(shapeOf(getSink()).getDimSize(0), getHeads()))
    return emitOpError() << "needs a sink for each head";
  if (getLse() && !llvm::all_of_zip(shapeOf(getLse()).getShape(), result.getShape().drop_back(), fit))
    return emitOpError() << "needs a log-sum-exp of the result's dims but the last";
  const int64_t multiple = int64_t(getWarps()) * kRowsOfWarp;
  if (getRows() % multiple != 0 || getKeys() % kRowsOfWarp != 0 || getHeads() > int64_t(getRows()) ||
      (getWgmma() && (getWarps() % 4 != 0 || getWarps() > 12 || getRows() != getWarps() * kRowsOfWarp)))
    return emitOpError() << "has a schedule of " << getRows() << " rows, " << getKeys() << " keys and " << getWarps()
                         << " warps; it needs a multiple of " << multiple << " rows and of " << kRowsOfWarp << " keys";
  Builder b(getContext());
  Type index = b.getIndexType(), f32 = b.getF32Type(), i1 = b.getI1Type();
  if (failed(verifyRegion(*this, getScore(), "score", {f32, index, index}, {f32})) ||
      failed(verifyRegion(*this, getMask(), "mask", {index, index}, {i1})) ||
      failed(verifyRegion(*this, getBlocks(), "blocks", {index, index}, {i1, i1})))
    return failure();
  return success();
}

void attn_gpu::addTileEffects(DestinationStyleOpInterface op, SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (op.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  }
}

void AttentionTileOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addTileEffects(*this, effects);
}

void AttentionTileOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<attn::FoldCastsIntoState<AttentionTileOp>>(context);
}
