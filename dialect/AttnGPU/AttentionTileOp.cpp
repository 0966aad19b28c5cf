//===- AttentionTileOp.cpp - attn_gpu.attention_tile --------------------------------------===//
#include "dialect/Attn/Ops/State.h"
#include "dialect/AttnGPU/AttnGPU.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;

namespace {

constexpr int64_t kMostChannels = 256, kThreadsOfWarp = 32, kCopyingWarps = 4;
/// Sums that a thread can hold beside the operands of matmuls of f32.
constexpr int64_t kMostSums = 160;
constexpr int64_t kMostSharedBytes = 227 * 1024;
/// The rows of a warp's fragments are a multiple of this; those of a warpgroup of four warps of four times as many.
constexpr int64_t kRowsOfWarp = 16;

/// The coordinates of a tensor map.
constexpr size_t kLeastCoordinates = 2, kMostCoordinates = 5;

ShapedType shapeOf(Value value) { return cast<ShapedType>(value.getType()); }

bool fit(int64_t a, int64_t b) { return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b; }

/// A tile with all channels, in boxes of 128 bytes.
TileType tileOf(int64_t rows, int64_t channels, Type element) {
  constexpr int64_t bytes = 128;
  return TileType::get(element.getContext(), rows, llvm::alignTo(channels, bytes * 8 / element.getIntOrFloatBitWidth()),
                       element,
                       /*swizzle=*/bytes);
}

/// The bytes of such a tile, which need not be well formed yet.
int64_t bytesOf(int64_t rows, int64_t channels, Type element) {
  return rows * int64_t(llvm::alignTo(channels * element.getIntOrFloatBitWidth() / 8, 128));
}

Type elementOf(Value array) { return shapeOf(array).getElementType(); }

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
  return (getTiles().getWarps() + (isOfWarpgroups() ? kCopyingWarps : 0)) * kThreadsOfWarp;
}

int64_t AttentionTileOp::getCopyingThreads() {
  return isOfWarpgroups() ? kCopyingWarps * kThreadsOfWarp : getThreads();
}

int64_t AttentionTileOp::getStages() { return isOfWarpgroups() ? 2 : 1; }

bool AttentionTileOp::multipliesFloats() {
  const Type query = elementOf(getQuery());
  return query.isF32() || elementOf(getKey()) != query || elementOf(getValue()) != query;
}

TileType AttentionTileOp::getQueryTile() { return tileOf(getTiles().getRows(), getChannels(), elementOf(getQuery())); }

TileType AttentionTileOp::getKeyTile() { return tileOf(getTiles().getKeys(), getChannels(), elementOf(getKey())); }

TileType AttentionTileOp::getValueTile() {
  return tileOf(getTiles().getKeys(), getValueChannels(), elementOf(getValue()));
}

TileType AttentionTileOp::getProbabilityTile() {
  return tileOf(getTiles().getRows(), getTiles().getKeys(), Float32Type::get(getContext()));
}

int64_t AttentionTileOp::getSharedBytes() {
  // On tensor cores, offsets of up to 6 arrays, a number of rows and offsets of up to 4 arrays that the mask reads wait
  // in shared memory for their use.
  constexpr int64_t saved = 8 * (7 + 4);
  // Warpgroups have mbarriers, and the number of each stage's first key.
  const int64_t rows = getTiles().getRows(), keys = getTiles().getKeys(),
                barriers = isOfWarpgroups() ? 8 * (1 + 5 * getStages()) : 0,
                probabilities = multipliesFloats() ? bytesOf(rows, keys, Float32Type::get(getContext())) : 0;
  return bytesOf(rows, getChannels(), elementOf(getQuery())) +
         getStages() * (bytesOf(keys, getChannels(), elementOf(getKey())) +
                        bytesOf(keys, getValueChannels(), elementOf(getValue()))) +
         (multipliesFloats() ? probabilities : saved) + barriers;
}

LogicalResult RangeOp::verify() {
  if (!isRowOffset(getBody()))
    return emitOpError() << "has a region of a number that yields an index";
  return success();
}

/// Matmuls of f32 need more of the schedule than rows, keys and warps that fit each other.
static LogicalResult verifyFloats(AttentionTileOp op) {
  const AttentionTilesAttr tiles = op.getTiles();
  if (isOfFloats(tiles.getMatmul()) != op.multipliesFloats())
    return op.emitOpError() << "multiplies " << elementOf(op.getQuery()) << ", " << elementOf(op.getKey()) << " and "
                            << elementOf(op.getValue()) << ", which " << stringifyMatmulKind(tiles.getMatmul())
                            << " does not";
  if (!op.multipliesFloats())
    return success();
  const int64_t rows = tiles.getRows(), keys = tiles.getKeys();
  auto refuse = [&] {
    return op.emitOpError() << "has a schedule of " << rows << " rows, " << keys << " keys and " << tiles.getWarps()
                            << " warps; ";
  };
  const int64_t sums = rows * (keys + llvm::alignTo(op.getValueChannels(), 8)) / op.getThreads();
  if (sums > kMostSums)
    return refuse() << "a thread would have " << sums << " scores and sums of f32, more than " << kMostSums;
  if (op.getSharedBytes() > kMostSharedBytes)
    return refuse() << "it needs more than " << kMostSharedBytes << " bytes of shared memory";
  for (TileType tile : {op.getQueryTile(), op.getKeyTile(), op.getValueTile()})
    if (!canCopyRows(tile, op.getCopyingThreads()))
      return refuse() << "its threads cannot copy " << tile << " by whole rows";
  return success();
}

LogicalResult AttentionTileOp::verify() {
  ShapedType query = shapeOf(getQuery()), key = shapeOf(getKey()), value = shapeOf(getValue()),
             result = shapeOf(getResult());
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
  if (hasMaps && (!isOfWarpgroups() || getTable() || !getKeyMap() || !getValueMap() || !getMade() ||
                  !isPlaced(getKeyAt()) || !isPlaced(getValueAt())))
    return emitOpError() << "has tensor maps; these are of keys and values without a table, with " << kLeastCoordinates
                         << " to " << kMostCoordinates << " coordinates each, for the matmul 'wgmma'";
  if (getSink() && !fit(shapeOf(getSink()).getDimSize(0), getHeads()))
    return emitOpError() << "needs a sink for each head";
  for (Value ofRows : {getLse(), getSum()})
    if (ofRows && !llvm::all_of_zip(shapeOf(ofRows).getShape(), result.getShape().drop_back(), fit))
      return emitOpError() << "needs a log-sum-exp and a sum of the result's dims but the last";
  if (getSum() && !getLse())
    return emitOpError() << "has a sum without the largest score";
  const int64_t rows = getTiles().getRows(), keys = getTiles().getKeys(), warps = getTiles().getWarps();
  const int64_t multiple = warps * kRowsOfWarp;
  if (rows % multiple != 0 || keys % kRowsOfWarp != 0 || getHeads() > rows ||
      (isOfWarpgroups() && (warps % 4 != 0 || warps > 12 || rows != warps * kRowsOfWarp)))
    return emitOpError() << "has a schedule of " << rows << " rows, " << keys << " keys and " << warps
                         << " warps; it needs a multiple of " << multiple << " rows and of " << kRowsOfWarp << " keys";
  if (failed(verifyFloats(*this)))
    return failure();
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
