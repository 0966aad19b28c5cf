//===- QuantizedOps.cpp - Quantized matmuls -----------------------------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "lib/Artifact/Quantization.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using attn::QuantizedCode;
using attn::QuantizedType;

namespace {

constexpr int64_t kThreadsOfWarp = 32, kGrain = 16, kMostSums = 128;
constexpr int64_t kMostSharedBytes = 227 * 1024, kMostMatrixExtent = int64_t(1) << 40;

ShapedType shapeOf(Value value) { return cast<ShapedType>(value.getType()); }

bool fit(int64_t a, int64_t b) { return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b; }

bool isAtMost(int64_t extent, int64_t most) { return ShapedType::isDynamic(extent) || extent <= most; }

bool isWeightType(Type type) {
  auto quantized = dyn_cast<QuantizedType>(type);
  return quantized && quantized.getCode() != QuantizedCode::s8 && quantized.getAxis() == 0 &&
         (quantized.getGroup() != 0 || quantized.bits() == 8);
}

} // namespace

LogicalResult QuantizedPanelsAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape,
                                          int64_t rowGroup, int64_t interleave) {
  if (shape.size() != 2 || llvm::any_of(shape, [](int64_t extent) { return extent < 1 || extent > kMostMatrixExtent; }))
    return emitError() << "expected a matrix with extents from 1 to 2^40, found [" << shape << "]";
  if (rowGroup < 0 || (rowGroup != 0 && shape[0] % rowGroup != 0))
    return emitError() << "expected groups that make up the " << shape[0] << " rows, found groups of " << rowGroup;
  if (interleave != 4 && interleave != 8)
    return emitError() << "expected the interleave factor 4 or 8, found " << interleave;
  return success();
}

int64_t QuantizedPanelsAttr::interleaveOf(QuantizedType type) { return type.blocks() ? 4 : 32 / type.bits(); }

RankedTensorType QuantizedPanelsAttr::getStored(Type element) const {
  const int64_t group = getRowGroup();
  const int64_t rows = group ? getShape()[0] / group * artifact::padPeriod(group) : getShape()[0];
  return RankedTensorType::get({llvm::divideCeilSigned(getShape()[1], kColumns), rows, kColumns}, element);
}

RankedTensorType QuantizedPanelsAttr::getBytes(Type element) const {
  const RankedTensorType stored = getStored(element);
  const auto file = artifact::Quantization::of(cast<QuantizedType>(element));
  const int64_t rows = stored.getDimSize(1);
  return RankedTensorType::get({stored.getDimSize(0), file.groups(rows), file.groupBytes(rows)},
                               IntegerType::get(getContext(), 8));
}

bool QuantizedPanelsAttr::isStored(RankedTensorType layer) const { return isWeight(layer); }

bool QuantizedPanelsAttr::isWeight(ShapedType weight) const {
  const Type element = weight.getElementType();
  return isWeightType(element) && getInterleave() == interleaveOf(cast<QuantizedType>(element)) &&
         weight == getStored(element);
}

bool QuantizedPanelsAttr::isMatrix(ShapedType weight, int64_t rows, int64_t columns) const {
  return isWeight(weight) && rows == getShape()[0] && columns == getShape()[1];
}

int64_t QuantizedPanelsAttr::getRows(ShapedType) const { return getShape()[0]; }

int64_t QuantizedPanelsAttr::getColumns(ShapedType weight) const { return weight.getDimSize(0) * kColumns; }

int64_t QuantizedPanelsAttr::getWidthOfRows(ShapedType weight) const { return getColumns(weight); }

int64_t QuantizedPanelsAttr::getOffset(ShapedType weight, int64_t row, int64_t column) const {
  const int64_t group = getRowGroup(), at = group ? row / group * artifact::padPeriod(group) + row % group : row;
  return (column / kColumns * weight.getDimSize(1) + at) * kColumns + column % kColumns;
}

bool QuantizedPanelsAttr::takesRows(Type element, int64_t) const { return isa<QuantizedType>(element); }

int64_t QuantizeTileOp::getThreads() { return kWarps * kThreadsOfWarp; }

/// The largest magnitude that each warp found, where they share a group.
int64_t QuantizeTileOp::getSharedBytes() { return getGroup() ? 0 : kWarps * 4; }

LogicalResult QuantizeTileOp::verify() {
  ShapedType input = shapeOf(getInput()), codes = shapeOf(getCodes()), scales = shapeOf(getScales());
  const int64_t group = getGroup(), period = getPeriod(), depth = input.getDimSize(1);
  if (group != 0 && group != 16 && group != 32 && group != 64 && group != 128)
    return emitOpError() << "has groups of 16, 32, 64 or 128 elements, or 0 for all of them, found " << group;
  if (ShapedType::isDynamic(depth) || depth < 1 || (period != 0 && depth % period != 0))
    return emitOpError() << "needs a static number of columns that whole periods of " << period << " make up, found "
                         << input;
  const artifact::Quantization rows{8, group, false};
  const int64_t padded = period ? depth / period * artifact::padPeriod(period) : depth;
  if (codes.getDimSize(1) != rows.paddedRows(padded) || ShapedType::isDynamic(scales.getDimSize(1)) ||
      scales.getDimSize(1) < rows.groups(padded))
    return emitOpError() << "makes " << rows.paddedRows(padded) << " quantized values and at least "
                         << rows.groups(padded) << " scales, found " << codes << " and " << scales;
  for (ShapedType type : {input, codes, scales})
    if (type.getDimSize(0) != 1)
      return emitOpError() << "quantizes one row, found " << type;
  return success();
}

void QuantizeTileOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addTileEffects(*this, effects);
}

int64_t QuantizedLinearTileOp::getThreads() { return getTiles().getWarps() * kThreadsOfWarp; }

std::pair<int64_t, int64_t> QuantizedLinearTileOp::getGridOfWarps() {
  return gridOfWarps(getTiles().getRows(), getTiles().getColumns(), getTiles().getWarps());
}

int64_t QuantizedLinearTileOp::getCodeBytes() {
  const QuantizedType type = getType();
  return (type.getGroup() ? type.getGroup() : kDepth) * QuantizedPanelsAttr::kColumns * type.bits() / 8;
}

int64_t QuantizedLinearTileOp::getGroupBytes() {
  const QuantizedType type = getType();
  const auto file = artifact::Quantization::of(type);
  return getCodeBytes() + (type.getGroup() ? file.groupBytes(0) - file.codeBytes(0) : 0);
}

int64_t QuantizedLinearTileOp::getNumbersOffset() {
  return kDepth / BlockFormat::unit * BlockLayout(*getType().blocks(), QuantizedPanelsAttr::kColumns).unitBytes();
}

int64_t QuantizedLinearTileOp::getNumberBytes() {
  const BlockLayout layout(*getType().blocks(), QuantizedPanelsAttr::kColumns);
  return layout.blockBytes() - layout.blockScales();
}

int64_t QuantizedLinearTileOp::getBlocksOfStep() { return std::max<int64_t>(kDepth / getType().blocks()->block, 1); }

int64_t QuantizedLinearTileOp::getPanelBytes() {
  return getType().blocks() ? getNumbersOffset() + getBlocksOfStep() * getNumberBytes()
                            : std::max<int64_t>(getGroupsOfStep(), 1) * getGroupBytes();
}

TileType QuantizedLinearTileOp::getCodesTile() {
  return TileType::get(getContext(), getTiles().getRows(), kDepth / 2, IntegerType::get(getContext(), 16),
                       /*swizzle=*/128);
}

int64_t QuantizedLinearTileOp::getPanelsOffset() { return getCodesTile().getBytes(); }

int64_t QuantizedLinearTileOp::getScalesOffset() {
  return getPanelsOffset() + getTiles().getColumns() / QuantizedPanelsAttr::kColumns * getPanelBytes();
}

int64_t QuantizedLinearTileOp::getStageBytes() {
  return llvm::alignTo(getScalesOffset() + getTiles().getRows() * getGroupsOfStep() * 4, 1024);
}

/// Scales of the only group are behind the stages, as they are read once.
int64_t QuantizedLinearTileOp::getSharedBytes() {
  return getStageBytes() * getTiles().getStages() +
         (getGroupsOfStep() ? 0 : 4 * getTiles().getRows() + 2 * getTiles().getColumns());
}

static LogicalResult verifySchedule(QuantizedLinearTileOp op) {
  const LinearTilesAttr tiles = op.getTiles();
  const int64_t rows = tiles.getRows(), columns = tiles.getColumns(), warps = tiles.getWarps();
  auto refuse = [&] {
    return op.emitOpError() << "has a schedule of " << rows << "x" << columns << " by " << warps << " warps; ";
  };
  if (tiles.getDepth() != QuantizedLinearTileOp::kDepth || tiles.getMatmul() != MatmulKind::mma ||
      tiles.getParts() != 1 || tiles.getBlocks() != 0)
    return refuse() << "it multiplies by mma in steps of " << QuantizedLinearTileOp::kDepth
                    << ", and has neither 'parts' nor 'blocks'";
  if (rows % kGrain != 0 || columns % QuantizedPanelsAttr::kColumns != 0)
    return refuse() << "it needs rows, a multiple of " << kGrain << ", and columns, one of "
                    << QuantizedPanelsAttr::kColumns;
  if (op.getGridOfWarps().first == 0 || op.getThreads() < rows)
    return refuse() << "it needs warps that have " << kGrain << "x" << kGrain
                    << " or multiples each, and a thread for each row";
  if (rows * columns / op.getThreads() > kMostSums)
    return refuse() << "a thread would have " << rows * columns / op.getThreads() << " sums, more than " << kMostSums;
  if (op.getSharedBytes() > kMostSharedBytes)
    return refuse() << "its " << tiles.getStages() << " stages need more than " << kMostSharedBytes
                    << " bytes of shared memory";
  if (!canCopyRows(op.getCodesTile(), op.getThreads()))
    return refuse() << "its threads cannot copy " << op.getCodesTile() << " by whole rows";
  return success();
}

LogicalResult QuantizedLinearTileOp::verify() {
  ShapedType codes = shapeOf(getCodes()), scales = shapeOf(getScales()), weight = shapeOf(getWeight()),
             result = shapeOf(getResult());
  if (!isWeightType(getQuantized()))
    return emitOpError() << "needs the type of a weight of u8 or u4 in groups along axis 0, of u8 in one, or in "
                            "blocks, found "
                         << getQuantized();
  const auto file = artifact::Quantization::of(getType());
  const int64_t depth = codes.getDimSize(1);
  const int64_t groupsOfRows = getType().blocks() ? depth / getType().getGroup() : file.groups(depth);
  if (ShapedType::isDynamic(depth) || file.paddedRows(depth) != depth || weight.getDimSize(1) != file.groups(depth) ||
      weight.getDimSize(2) != file.groupBytes(depth))
    return emitOpError() << "needs quantized values of whole groups and panels that fit them, found " << codes
                         << " and " << weight;
  if (!fit(codes.getDimSize(0), result.getDimSize(0)) || !fit(scales.getDimSize(0), result.getDimSize(0)) ||
      scales.getDimSize(1) != int64_t(llvm::alignTo(groupsOfRows, 4)) ||
      !isAtMost(weight.getDimSize(0), getTiles().getColumns() / QuantizedPanelsAttr::kColumns))
    return emitOpError() << "has extents of quantized values, scales in fours, weight and result that do not fit";
  if (failed(verifySchedule(*this)))
    return failure();
  const int64_t rows = getTiles().getRows(), columns = getTiles().getColumns();
  if (!isAtMost(result.getDimSize(0), rows) || !isAtMost(result.getDimSize(1), columns))
    return emitOpError() << "has a result of more than " << rows << "x" << columns << ", found " << result;
  return verifyLinearEpilogue(*this, getEpilogue(), getPairs());
}

void QuantizedLinearTileOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addTileEffects(*this, effects);
}

static bool isSums(FragmentType fragment, bool areIntegers) {
  return isa<MmaLayoutAttr>(fragment.getLayout()) && fragment.isOperand(MatmulOperand::acc) &&
         fragment.getElementType().isInteger(32) == areIntegers && fragment.getColumns() == kGrain;
}

static bool isRows(FragmentType fragment) {
  return isa<MmaLayoutAttr>(fragment.getLayout()) && fragment.isOperand(MatmulOperand::a) &&
         fragment.getElementType().isInteger(16) && fragment.getColumns() == kGrain;
}

LogicalResult QuantizedMmaOp::verify() {
  const FragmentType a = getA().getType(), acc = getAcc().getType();
  if (!isRows(a) || !isSums(acc, /*areIntegers=*/true) || a.getRows() != acc.getRows())
    return emitOpError() << "needs i16 [m, 16] of the layout mma<a> and i32 [m, 16] of mma<acc>, found " << a << " and "
                         << acc;
  if (getBits() != 4 && getBits() != 8)
    return emitOpError() << "multiplies quantized values of 4 or 8 bits, found " << getBits();
  if (getZeros() && getBits() == 8)
    return emitOpError() << "has zeros of quantized values of 8 bits, whose zero is 128";
  return success();
}

LogicalResult BlockMmaOp::verify() {
  const FragmentType a = getA().getType(), acc = getAcc().getType();
  if (!isRows(a) || !isSums(acc, /*areIntegers=*/false) || a.getRows() != acc.getRows())
    return emitOpError() << "needs i16 [m, 16] of the layout mma<a> and f32 [m, 16] of mma<acc>, found " << a << " and "
                         << acc;
  if (!isWeightType(getQuantized()) || !cast<QuantizedType>(getQuantized()).blocks())
    return emitOpError() << "needs the type of a weight in blocks along axis 0, found " << getQuantized();
  return success();
}

LogicalResult AddScaledOp::verify() {
  const FragmentType sums = getSums().getType(), acc = getAcc().getType();
  if (!isSums(sums, /*areIntegers=*/true) || !isSums(acc, /*areIntegers=*/false) || sums.getRows() != acc.getRows())
    return emitOpError() << "needs i32 and f32 [m, 16] of the layout mma<acc>, found " << sums << " and " << acc;
  return success();
}
