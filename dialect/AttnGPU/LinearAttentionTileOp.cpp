//===- LinearAttentionTileOp.cpp - attn_gpu.linear_attention_tile -------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;

namespace {

constexpr int64_t kFloatBytes = 4, kBoxBytes = 128, kStagedBytes = 32 << 10, kMostStaged = 16,
                  kMostSharedBytes = 227 * 1024;

ShapedType shapeOf(Value value) { return cast<ShapedType>(value.getType()); }

bool fit(int64_t a, int64_t b) { return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b; }

TileType tileOf(int64_t rows, int64_t columns, Type element) {
  const int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  return TileType::get(element.getContext(), rows, llvm::alignTo(columns, kBoxBytes / bytes), element, kBoxBytes);
}

} // namespace

int64_t LinearAttentionTileOp::getThreads() { return 32 * getTiles().getWarps(); }
int64_t LinearAttentionTileOp::getKeyChannels() { return shapeOf(getKey()).getDimSize(2); }
int64_t LinearAttentionTileOp::getOutputs() { return shapeOf(getQuery()).getDimSize(1); }

/// Threads read four channels at once; in the chunked form a warp has a part of the state's channels, whole atoms.
int64_t LinearAttentionTileOp::getHeldChannels() {
  const int64_t ofLanes = 4 * getTiles().getLanes();
  return llvm::alignTo(getKeyChannels(),
                       getTiles().getChunk() ? std::max<int64_t>({32, ofLanes, 8 * getTiles().getWarps()}) : ofLanes);
}

int64_t LinearAttentionTileOp::getStagedRows() {
  const bool isByChannel = getDecay() && shapeOf(getDecay()).getRank() == 3;
  return 1 + getOutputs() + (isByChannel ? 1 : 0);
}

int64_t LinearAttentionTileOp::getStagedTokens() {
  const int64_t bytes = getStagedRows() * getHeldChannels() * kFloatBytes;
  return std::clamp<int64_t>(kStagedBytes / bytes, 1, kMostStaged);
}

TileType LinearAttentionTileOp::getStateTile() {
  return tileOf(getTiles().getColumns(), getHeldChannels(), Float32Type::get(getContext()));
}
TileType LinearAttentionTileOp::getQueryTile() {
  return tileOf(getTiles().getChunk(), getHeldChannels(), shapeOf(getQuery()).getElementType());
}
TileType LinearAttentionTileOp::getKeyTile() {
  return tileOf(getTiles().getChunk(), getHeldChannels(), shapeOf(getKey()).getElementType());
}
TileType LinearAttentionTileOp::getChangeTile() {
  return tileOf(getTiles().getColumns(), getTiles().getChunk(), Float32Type::get(getContext()));
}
TileType LinearAttentionTileOp::getPairTile() {
  return tileOf(getTiles().getChunk(), getTiles().getChunk(), Float32Type::get(getContext()));
}

/// The tiles of a chunk and the staged tokens use the same memory at different times.
int64_t LinearAttentionTileOp::getSharedBytes() {
  const int64_t chunk = getTiles().getChunk(),
                staged = getStagedTokens() * kFloatBytes *
                         (getStagedRows() * getHeldChannels() + getTiles().getColumns() + 2);
  if (!chunk)
    return staged;
  const int64_t tiles = getStateTile().getBytes() + getQueryTile().getBytes() + getKeyTile().getBytes() +
                        2 * getChangeTile().getBytes() + getPairTile().getBytes();
  return std::max(staged, tiles + kTokenNumbers * chunk * kFloatBytes);
}

LogicalResult LinearAttentionTileOp::verify() {
  ShapedType query = shapeOf(getQuery()), key = shapeOf(getKey()), value = shapeOf(getValue()),
             result = shapeOf(getResult());
  const int64_t keys = key.getDimSize(2), outputs = query.getDimSize(1);
  if (ShapedType::isDynamic(keys) || keys < 1 || keys > kMostKeys || ShapedType::isDynamic(outputs) || outputs < 1 ||
      outputs > kMostOutputs)
    return emitOpError() << "needs from 1 to " << kMostKeys << " key channels and from 1 to " << kMostOutputs
                         << " outputs, found " << query << " and " << key;
  bool doFit = query.getDimSize(2) == keys && key.getDimSize(1) == 1 && value.getDimSize(1) == 1 &&
               result.getDimSize(1) == outputs && fit(result.getDimSize(2), value.getDimSize(2));
  for (Value array : {getKey(), getValue(), getDecay(), getBeta(), getResult()})
    doFit &= !array || fit(shapeOf(array).getDimSize(0), query.getDimSize(0));
  for (Value array : {getDecay(), getBeta()})
    doFit &= !array || shapeOf(array).getDimSize(1) == 1;
  if (getDecay() && shapeOf(getDecay()).getRank() == 3)
    doFit &= shapeOf(getDecay()).getDimSize(2) == keys;
  if (!doFit)
    return emitOpError() << "has extents of query, key, value, decay, beta and result that do not fit each other";
  if (value.hasStaticShape() && value.getDimSize(2) > getTiles().getColumns())
    return emitOpError() << "has more than the " << getTiles().getColumns() << " value channels of its tiles, found "
                         << value;
  Value begins = getFirst() ? getFirst() : getStates();
  if (int64_t(getFrom().size()) != (begins ? shapeOf(begins).getRank() : 0) ||
      int64_t(getTo().size()) != (getStates() ? shapeOf(getStates()).getRank() : 0))
    return emitOpError() << "needs an index for each dim of the states that it reads and writes, found "
                         << getFrom().size() << " and " << getTo().size();
  if (getTiles().getChunk() && getDecay() && shapeOf(getDecay()).getRank() == 3)
    return emitOpError() << "has decays of channels, which have no chunked form";
  if (getSharedBytes() > kMostSharedBytes)
    return emitOpError() << "needs " << getSharedBytes() << " bytes of shared memory, more than " << kMostSharedBytes;
  return success();
}

/// The states are read where the sequence begins, and written where it ends.
void LinearAttentionTileOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addTileEffects(*this, effects);
  if (getStates() && isa<MemRefType>(getStates().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &getStatesMutable()[0], SideEffects::DefaultResource::get());
}
