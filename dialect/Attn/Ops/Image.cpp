//===- Image.cpp - Images as rows of tokens -----------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace rapt::attn;

LogicalResult PatchesOp::verify() {
  auto pixels = cast<RankedTensorType>(getPixels().getType()), result = cast<RankedTensorType>(getResult().getType());
  int64_t size = getSize();
  if (pixels.getRank() != 4 || pixels.isDynamicDim(1))
    return emitOpError() << "needs pixels [images, static channels, height, width], found " << pixels;
  std::optional<int64_t> square = size < 1 ? std::nullopt : llvm::checkedMul<int64_t>(size, size);
  std::optional<int64_t> columns = square ? llvm::checkedMul<int64_t>(*square, pixels.getDimSize(1)) : std::nullopt;
  if (!columns)
    return emitOpError() << "cuts patches of size " << size;
  // A target's layout may pad the columns.
  bool fits = result.getRank() == 2 && result.isDynamicDim(0) && result.getDimSize(1) >= *columns;
  if (!fits)
    return emitOpError() << "gives tensor<?x" << *columns << "xf32>, found " << result;
  return success();
}

LogicalResult ResizePositionsOp::verify() {
  auto table = cast<RankedTensorType>(getTable().getType()), result = cast<RankedTensorType>(getResult().getType());
  ArrayRef<int64_t> grid = getGrid();
  if (table.getRank() != 2 || !table.hasStaticShape())
    return emitOpError() << "needs a static table of rank 2, found " << table;
  if (grid.size() != 2 || grid[0] < 1 || grid[1] < 1)
    return emitOpError() << "needs the height and the width of a grid, found [" << grid << "]";
  std::optional<int64_t> patches = llvm::checkedMul<int64_t>(grid[0], grid[1]);
  if (!patches || *patches > table.getDimSize(0))
    return emitOpError() << "has a grid of " << grid[0] << " x " << grid[1] << " patches, but a table of "
                         << table.getDimSize(0) << " rows";
  if (result.getRank() != 2 || !result.isDynamicDim(0) || result.getDimSize(1) != table.getDimSize(1))
    return emitOpError() << "result " << result << " does not fit table " << table;
  return success();
}

LogicalResult ImageTokensOp::verify() {
  RankedTensorType types[] = {getPatches().getType(), getLearned().getType(), getPositions().getType(),
                              getResult().getType()};
  for (RankedTensorType type : types)
    if (type.getRank() != 2 || type.getDimSize(1) != types[0].getDimSize(1))
      return emitOpError()
             << "needs patches, learned tokens, positions and a result of rank 2 and as many columns, found " << type
             << " beside " << types[0];
  RankedTensorType learned = types[1], positions = types[2];
  if (learned.isDynamicDim(0))
    return emitOpError() << "needs a static number of learned tokens, found " << learned;
  if (!positions.isDynamicDim(0) && positions.getDimSize(0) <= learned.getDimSize(0))
    return emitOpError() << "has " << learned.getDimSize(0) << " learned tokens and " << positions.getDimSize(0)
                         << " positions: none is left for patches";
  if (!types[3].isDynamicDim(0))
    return emitOpError() << "gives a dynamic number of tokens, found " << types[3];
  return success();
}

LogicalResult EqualRowsOp::verify() {
  auto result = cast<RankedTensorType>(getResult().getType());
  if (result.getRank() != 1 || !result.isDynamicDim(0))
    return emitOpError() << "gives tensor<?xi32>, found " << result;
  return success();
}

LogicalResult UnpackRowsOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType()), result = cast<RankedTensorType>(getResult().getType());
  bool fits = input.getRank() >= 2 && result.getRank() == input.getRank() + 1 && input.isDynamicDim(0) &&
              result.isDynamicDim(0) && result.isDynamicDim(1);
  if (fits) {
    ArrayRef<int64_t> from = input.getShape().drop_front(), to = result.getShape().drop_front(2);
    fits = !ShapedType::isDynamicShape(to);
    // A target's layout may pad the columns of a matrix.
    fits = fits && (from == to || (to.size() == 1 && from[0] > to[0]));
  }
  if (!fits)
    return emitOpError() << "takes [?, columns] to [?, ?, columns], or more dims before the columns, found " << input
                         << " and " << result;
  return success();
}

void PatchesOp::relateDims(DimRelations &dims) {
  auto patches = [&](unsigned dim) { return dims.extent(getPixels(), dim).floorDiv(getSize()); };
  dims.equal(getResult(), 0, dims.extent(getPixels(), 0) * patches(2) * patches(3));
}

void ResizePositionsOp::relateDims(DimRelations &dims) {
  dims.equal(getResult(), 0, dims.index(getHeight()) * dims.index(getWidth()) + getOthers());
  dims.equal(getResult(), 1, getTable(), 1);
}

void ImageTokensOp::relateDims(DimRelations &dims) {
  AffineExpr positions = dims.extent(getPositions(), 0), learned = dims.extent(getLearned(), 0);
  dims.equal(getResult(), 0, dims.extent(getPatches(), 0).floorDiv(positions - learned) * positions);
  dims.equal(getResult(), 1, getPatches(), 1);
}

void EqualRowsOp::relateDims(DimRelations &dims) { dims.equal(getResult(), 0, dims.index(getRows()) + 1); }

void UnpackRowsOp::relateDims(DimRelations &dims) {
  AffineExpr length = dims.index(getLength());
  dims.equal(getResult(), 0, dims.extent(getInput(), 0).floorDiv(length));
  dims.equal(getResult(), 1, length);
}

bool PatchesOp::isPadded() {
  const int64_t size = getSize();
  return getResult().getType().getDimSize(1) != size * size * getPixels().getType().getDimSize(1);
}

std::optional<unsigned> PatchesOp::getChannelsDim(OpOperand &) { return std::nullopt; }

std::optional<unsigned> ResizePositionsOp::getChannelsDim(OpOperand &operand) { return lastDim(operand); }

std::optional<WeightUse> ResizePositionsOp::getWeightUse(OpOperand &) { return WeightUse(); }

std::optional<unsigned> ImageTokensOp::getChannelsDim(OpOperand &operand) { return lastDim(operand); }

std::optional<WeightUse> ImageTokensOp::getWeightUse(OpOperand &) { return WeightUse(); }

bool PatchesOp::movesNumbers() { return getPixels().getType().getElementType() == getType().getElementType(); }
ElementUse ResizePositionsOp::getElementUse(OpOperand &) { return ElementUse::fixed; }
ElementUse ImageTokensOp::getElementUse(OpOperand &operand) {
  return &operand == &getPatchesMutable() ? ElementUse::computed : ElementUse::fixed;
}
bool UnpackRowsOp::movesNumbers() { return true; }
