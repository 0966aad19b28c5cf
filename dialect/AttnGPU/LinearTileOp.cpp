//===- LinearTileOp.cpp - attn_gpu.linear_tile --------------------------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;

namespace {

constexpr int64_t kThreadsOfWarp = 32;
/// Warps that copy beside warpgroups, of which there are at most three, of 64 rows each.
constexpr int64_t kWarpsOfGroup = 4, kMostGroups = 3, kRowsOfGroup = 64;
/// The coordinates of a tensor map.
constexpr size_t kLeastCoordinates = 2, kMostCoordinates = 5;
/// Rows, columns and depth of a warp are multiples of this: the depth of an instruction.
constexpr int64_t kGrain = 16;
/// Sums that a thread can hold beside the operands of matmuls.
constexpr int64_t kMostSums = 128;
constexpr int64_t kMostSharedBytes = 227 * 1024;

ShapedType shapeOf(Value value) { return cast<ShapedType>(value.getType()); }

bool fit(int64_t a, int64_t b) { return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b; }

bool isAtMost(int64_t extent, int64_t most) { return ShapedType::isDynamic(extent) || extent <= most; }

int64_t bytesOf(Type element) { return element.getIntOrFloatBitWidth() / 8; }

/// Boxes of 128 bytes where the columns are as many.
TileType tileOf(int64_t rows, int64_t columns, Type element) {
  return TileType::get(element.getContext(), rows, columns, element,
                       /*swizzle=*/std::min<int64_t>(columns * bytesOf(element), 128));
}

/// Whether a number of columns is that of whole boxes of a tile.
bool isWhole(int64_t columns) { return columns == 16 || columns == 32 || columns % 64 == 0; }

} // namespace

int64_t LinearTileOp::getThreads() {
  return (getTiles().getWarps() + (isOfWarpgroups() ? kWarpsOfGroup : 0)) * kThreadsOfWarp;
}

int64_t LinearTileOp::getSharedBytes() {
  const LinearTilesAttr tiles = getTiles();
  const int64_t barriers = isOfWarpgroups() ? 2 * 8 : 0; // of a stage
  // The sums of parts are where the buffers were.
  const int64_t parts = tiles.getParts(), ofSums = parts > 1 ? parts * tiles.getRows() * tiles.getColumns() * 4 : 0;
  return std::max((getStageBytes() + barriers) * tiles.getStages(), ofSums);
}

int64_t LinearTileOp::getMostBlocks() { return getTiles().getBlocks(); }

TileType LinearTileOp::getInputTile() {
  return tileOf(getTiles().getRows(), getTiles().getDepth(), shapeOf(getInput()).getElementType());
}

TileType LinearTileOp::getWeightTile() {
  const int64_t depth = getTiles().getDepth(), columns = getTiles().getColumns();
  return tileOf(getTransposed() ? columns : depth, getTransposed() ? depth : columns,
                shapeOf(getWeight()).getElementType());
}

int64_t LinearTileOp::getStageBytes() {
  // Tiles need not be well formed yet: the verifier asks for the bytes of a schedule that it may refuse.
  const LinearTilesAttr tiles = getTiles();
  return tiles.getDepth() * (tiles.getRows() * bytesOf(shapeOf(getInput()).getElementType()) +
                             tiles.getColumns() * bytesOf(shapeOf(getWeight()).getElementType()));
}

bool LinearTileOp::multipliesFloats() {
  Type input = shapeOf(getInput()).getElementType();
  return input.isF32() || input != shapeOf(getWeight()).getElementType();
}

std::pair<int64_t, int64_t> LinearTileOp::getGridOfWarps() {
  const LinearTilesAttr tiles = getTiles();
  return tiles.getWarps() % tiles.getParts() == 0
             ? gridOfWarps(tiles.getRows(), tiles.getColumns(), tiles.getWarps() / tiles.getParts())
             : std::pair<int64_t, int64_t>(0, 0);
}

std::pair<int64_t, int64_t> attn_gpu::gridOfWarps(int64_t rows, int64_t columns, int64_t warps) {
  std::pair<int64_t, int64_t> best{0, 0};
  int64_t fewest = 0;
  for (int64_t down = 1; down <= warps; ++down) {
    const int64_t across = warps / down;
    if (down * across != warps || rows % (down * kGrain) != 0 || columns % (across * kGrain) != 0)
      continue;
    // A warp loads its rows of one operand and its columns of the other.
    const int64_t loaded = rows / down + columns / across;
    if (fewest == 0 || loaded < fewest)
      best = {down, across}, fewest = loaded;
  }
  return best;
}

/// Verifies the schedule of a tile by wgmma.
static LogicalResult verifyWarpgroups(LinearTileOp op) {
  const LinearTilesAttr tiles = op.getTiles();
  const int64_t rows = tiles.getRows(), columns = tiles.getColumns(), depth = tiles.getDepth(),
                warps = tiles.getWarps();
  constexpr int64_t box = 64, most = 256; // columns of a box; columns of an instruction, and rows of a box
  if (warps % kWarpsOfGroup != 0 || warps > kMostGroups * kWarpsOfGroup ||
      rows != warps / kWarpsOfGroup * kRowsOfGroup || columns % box != 0 || columns > most || depth % box != 0 ||
      depth > most || op.getSharedBytes() > kMostSharedBytes)
    return op.emitOpError() << "has a schedule of " << rows << "x" << columns << " in steps of " << depth << " by "
                            << warps << " warps and " << tiles.getStages() << " stages; wgmma needs " << kRowsOfGroup
                            << " rows for every " << kWarpsOfGroup << " warps, of which there are at most "
                            << kMostGroups * kWarpsOfGroup << ", columns and depth, multiples of " << box << " up to "
                            << most << ", and at most " << kMostSharedBytes << " bytes of shared memory";
  return success();
}

static LogicalResult verifyMaps(LinearTileOp op) {
  const auto isPlaced = [](OperandRange at) { return at.size() >= kLeastCoordinates && at.size() <= kMostCoordinates; };
  const bool hasMaps = op.getInputMap() || op.getWeightMap() || op.getMade();
  if (hasMaps && (!op.isOfWarpgroups() || !op.getInputMap() || !op.getWeightMap() || !op.getMade() ||
                  !isPlaced(op.getInputAt()) || !isPlaced(op.getWeightAt())))
    return op.emitOpError() << "has tensor maps; these are of input and weight, with " << kLeastCoordinates << " to "
                            << kMostCoordinates << " coordinates each, for the matmul 'wgmma'";
  if (op.getWaits() && !op.mayWait())
    return op.emitOpError() << "has 'waits', which is of a 'constant_weight' and not of the matmul 'wgmma'";
  if (op.getTiles().getParts() != 1 && op.isOfWarpgroups())
    return op.emitOpError() << "has 'parts', which is not of the matmul 'wgmma'";
  if (op.getTiles().getBlocks() && !op.isOfWarpgroups())
    return op.emitOpError() << "has 'blocks', which is of the matmul 'wgmma'";
  return success();
}

static LogicalResult verifySchedule(LinearTileOp op) {
  const LinearTilesAttr tiles = op.getTiles();
  const int64_t rows = tiles.getRows(), columns = tiles.getColumns(), depth = tiles.getDepth(),
                warps = tiles.getWarps(), parts = tiles.getParts();
  auto refuse = [&] {
    return op.emitOpError() << "has a schedule of " << rows << "x" << columns << " in steps of " << depth << " by "
                            << warps << " warps; ";
  };
  if (!isWhole(depth) || !isWhole(columns) || rows % kGrain != 0)
    return refuse() << "it needs rows, a multiple of " << kGrain
                    << ", and columns and depth, 16, 32 or multiples of 64";
  if (op.getGridOfWarps().first == 0)
    return refuse() << "it needs warps that have " << kGrain << "x" << kGrain << " or multiples each";
  if (depth % (parts * kGrain) != 0 || (parts > 1 && (!llvm::isPowerOf2_64(warps / parts) ||
                                                      !llvm::isPowerOf2_64(columns) || !llvm::isPowerOf2_64(parts))))
    return refuse() << "its " << parts << " parts need multiples of " << kGrain
                    << " of a step each, and powers of two of parts, columns and warps";
  if (parts * rows * columns / op.getThreads() > kMostSums)
    return refuse() << "a thread would have " << parts * rows * columns / op.getThreads() << " sums, more than "
                    << kMostSums;
  if (op.getSharedBytes() > kMostSharedBytes)
    return refuse() << "its " << tiles.getStages() << " stages need more than " << kMostSharedBytes
                    << " bytes of shared memory";
  if (!canCopyRows(op.getInputTile(), op.getThreads()) || !canCopyRows(op.getWeightTile(), op.getThreads()))
    return refuse() << "its threads cannot copy " << op.getInputTile() << " and " << op.getWeightTile()
                    << " by whole rows";
  return success();
}

LogicalResult LinearTileOp::verify() {
  ShapedType input = shapeOf(getInput()), weight = shapeOf(getWeight()), result = shapeOf(getResult());
  const LinearTilesAttr tiles = getTiles();
  if (isOfFloats(tiles.getMatmul()) != multipliesFloats())
    return emitOpError() << "multiplies " << input.getElementType() << " by " << weight.getElementType() << ", which "
                         << stringifyMatmulKind(tiles.getMatmul()) << " does not";
  const unsigned k = getTransposed() ? 1 : 0;
  if (!fit(input.getDimSize(0), result.getDimSize(0)) || !fit(input.getDimSize(1), weight.getDimSize(k)) ||
      !fit(weight.getDimSize(1 - k), result.getDimSize(1)))
    return emitOpError() << "has extents of input, weight and result that do not fit each other";
  if (failed(verifyMaps(*this)) || failed(isOfWarpgroups() ? verifyWarpgroups(*this) : verifySchedule(*this)))
    return failure();
  if (!isAtMost(result.getDimSize(0), tiles.getRows()) || !isAtMost(result.getDimSize(1), tiles.getColumns()))
    return emitOpError() << "has a result of more than " << tiles.getRows() << "x" << tiles.getColumns() << ", found "
                         << result;
  return verifyLinearEpilogue(*this, getEpilogue(), getPairs());
}

LogicalResult attn_gpu::verifyLinearEpilogue(Operation *op, Region &epilogue, Region &pairs) {
  Builder b(op->getContext());
  Type f32 = b.getF32Type(), index = b.getIndexType();
  auto has = [](Region &region, TypeRange arguments, TypeRange results) {
    auto yield = region.hasOneBlock() && !region.front().empty() ? dyn_cast<YieldOp>(region.front().back()) : YieldOp();
    return region.empty() ||
           (yield && region.getArgumentTypes() == arguments && yield.getValues().getTypes() == results);
  };
  if (!has(epilogue, {f32, index, index}, {f32}))
    return op->emitOpError() << "has an epilogue that takes (f32, index, index) and yields f32";
  if (!has(pairs, {f32, f32, index, index}, {f32, f32}))
    return op->emitOpError() << "has a region of pairs that takes (f32, f32, index, index) and yields f32 and f32";
  return success();
}

void LinearTileOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addTileEffects(*this, effects);
}

LogicalResult ColumnsOp::verify() {
  const FragmentType from = getFragment().getType(), to = getResult().getType();
  const int64_t columns = from.getLayout().getAtom().columns;
  if (from.getLayout().isPacked() || from.getLayout() != to.getLayout() || from.getRows() != to.getRows() ||
      from.getElementType() != to.getElementType() || int64_t(getFirst()) % columns != 0 ||
      int64_t(getFirst()) > from.getColumns() - to.getColumns())
    return emitOpError() << "takes columns of accumulators from a multiple of " << columns << " on, found " << to
                         << " from " << getFirst() << " of " << from;
  return success();
}

int64_t SumWarpsOp::getColumns() {
  int64_t columns = 0;
  for (Type type : getValues().getTypes())
    columns += cast<FragmentType>(type).getColumns();
  return columns;
}

LogicalResult SumWarpsOp::verify() {
  const FragmentType result = getResult().getType();
  for (Type type : getValues().getTypes())
    if (auto of = cast<FragmentType>(type); of.getLayout().isPacked() || of.getLayout() != result.getLayout() ||
                                            of.getRows() != result.getRows() ||
                                            of.getElementType() != result.getElementType())
      return emitOpError() << "adds accumulators of the result's rows and layout, found " << type;
  const int64_t columns = getColumns(), ofPart = result.getColumns();
  if (!llvm::isPowerOf2_64(columns) || ofPart > columns || ofPart * int64_t(getParts()) < columns)
    return emitOpError() << "gives all columns to its " << getParts()
                         << " parts, and has a power of two of them, found " << columns << " of which a part has "
                         << ofPart;
  const int64_t parts = getParts(), threads = getThreads();
  if (threads % (parts * kThreadsOfWarp) != 0 || !llvm::isPowerOf2_64(threads / parts))
    return emitOpError() << "needs parts of a power of two of warps each, found " << parts << " of " << threads
                         << " threads";
  APInt scratch;
  if (matchPattern(getScratch(), m_ConstantInt(&scratch)) && (scratch.isNegative() || scratch.urem(4) != 0))
    return emitOpError() << "needs scratch at a multiple of 4 bytes, found " << scratch.getSExtValue();
  return success();
}

LogicalResult MultiplyOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getAcc().getTypes());
  return success();
}

/// Whether a position is, or may be, a multiple of 8 from which so many rows or columns are within the tile.
static bool mayBeWithin(Value first, int64_t count, int64_t extent) {
  APInt constant;
  if (!matchPattern(first, m_ConstantInt(&constant)))
    return count <= extent;
  const int64_t at = constant.getSExtValue();
  return at >= 0 && at % 8 == 0 && at + count <= extent;
}

LogicalResult MultiplyOp::verify() {
  if (!isOfFloats(getKind()))
    return emitOpError() << "multiplies f32, which " << stringifyMatmulKind(getKind()) << " does not";
  const TileType input = getInput().getType(), weight = getWeight().getType();
  int64_t rows = 0, columns = 0;
  for (Type type : getAcc().getTypes()) {
    auto fragment = cast<FragmentType>(type);
    if (!isa<MmaLayoutAttr>(fragment.getLayout()) || fragment.getLayout().isPacked() ||
        (rows && fragment.getRows() != rows))
      return emitOpError() << "needs accumulators of mma of the same rows, found " << fragment;
    rows = fragment.getRows(), columns += fragment.getColumns();
  }
  const int64_t depth = getDepth();
  if (rows == 0 || depth % 8 != 0)
    return emitOpError() << "needs accumulators, and a depth that is a multiple of 8, found " << depth;
  const int64_t ofWeight[] = {weight.getRows(), weight.getColumns()};
  if (!mayBeWithin(getRow(), rows, input.getRows()) || !mayBeWithin(getK(), depth, input.getColumns()) ||
      !mayBeWithin(getK(), depth, ofWeight[getTransposed() ? 1 : 0]) ||
      !mayBeWithin(getColumn(), columns, ofWeight[getTransposed() ? 0 : 1]))
    return emitOpError() << "reads " << rows << "x" << depth << " of " << input << " and " << depth << "x" << columns
                         << " of " << weight << (getTransposed() ? " transposed" : "")
                         << ", which need to be within them, from multiples of 8 on";
  return success();
}
