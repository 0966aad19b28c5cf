//===- PooledGrid.cpp - Images whose patches are pooled by squares -------------===//
#include "lib/Import/Specs/PooledGrid.h"
#include "lib/Import/Parts/Elements.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

static Value number(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

static Value asInteger(OpBuilder &builder, Location loc, Value index) {
  return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), index);
}

/// Column (0) or row (1) of an image's token in the grid of patches, whose squares are `columns` side by side.
static Value placeOf(OpBuilder &b, Location loc, Value token, Value columns, int64_t side, int64_t which) {
  Value patches = number(b, loc, side * side), length = number(b, loc, side);
  Value square = arith::DivUIOp::create(b, loc, token, patches), inner = arith::RemUIOp::create(b, loc, token, patches);
  auto part = [&](Value x, Value by) -> Value {
    return which == 0 ? arith::RemUIOp::create(b, loc, x, by).getResult()
                      : arith::DivUIOp::create(b, loc, x, by).getResult();
  };
  Value ahead = arith::MulIOp::create(b, loc, part(square, columns), length);
  return arith::AddIOp::create(b, loc, ahead, part(inner, length));
}

/// The rows of the table of positions that an image's tokens have, of columns (0) or of rows (1).
static Value placesOf(const Scope &top, Location loc, const PooledGridSpec &grid, const Images &images, int64_t which) {
  OpBuilder &builder = top.builder;
  auto type = tensorOf({ShapedType::kDynamic}, builder.getI32Type());
  Value empty = tensor::EmptyOp::create(builder, loc, type, images.length);
  const AffineMap maps[] = {builder.getMultiDimIdentityMap(1)};
  const utils::IteratorType loops[] = {utils::IteratorType::parallel};
  return linalg::GenericOp::create(builder, loc, type, ValueRange(), empty, maps, loops,
                                   [&](OpBuilder &b, Location at, ValueRange) {
                                     Value token = linalg::IndexOp::create(b, at, 0);
                                     Value place = placeOf(b, at, token, images.columns, grid.side, which);
                                     const int64_t step = grid.isByPosition ? 2 : 1;
                                     place = arith::MulIOp::create(b, at, place, number(b, at, step));
                                     const int64_t first = which * (grid.isByPosition ? 1 : grid.positions);
                                     place = arith::AddIOp::create(b, at, place, number(b, at, first));
                                     linalg::YieldOp::create(b, at, asInteger(b, at, place));
                                   })
      .getResult(0);
}

/// Squares of pixels [squares, channels side patch side patch] as patches [tokens, patch patch channels].
static Value cutSquares(const Scope &top, Location loc, const VisionSpec &spec, Value squares) {
  OpBuilder &builder = top.builder;
  MLIRContext *context = builder.getContext();
  const int64_t side = spec.pooled->side, patch = spec.patch, any = ShapedType::kDynamic;
  Type f32 = builder.getF32Type();
  Value count = tensor::DimOp::create(builder, loc, squares, 0);
  SmallVector<OpFoldResult> sizes = {count};
  for (int64_t extent : {spec.channels, side, patch, side, patch})
    sizes.push_back(builder.getIndexAttr(extent));
  Value pixels =
      tensor::ExpandShapeOp::create(builder, loc, tensorOf({any, spec.channels, side, patch, side, patch}, f32),
                                    squares, ArrayRef<ReassociationIndices>{{0}, {1, 2, 3, 4, 5}}, sizes);
  auto type = tensorOf({any, side, side, patch, patch, spec.channels}, f32);
  Value empty = tensor::EmptyOp::create(builder, loc, type, count);
  AffineExpr square, row, column, y, x, channel;
  bindDims(context, square, row, column, y, x, channel);
  const AffineMap maps[] = {AffineMap::get(6, 0, {square, channel, row, y, column, x}, context),
                            builder.getMultiDimIdentityMap(6)};
  const SmallVector<utils::IteratorType> loops(6, utils::IteratorType::parallel);
  Value cut = linalg::GenericOp::create(builder, loc, type, pixels, empty, maps, loops,
                                        [&](OpBuilder &b, Location at, ValueRange elements) {
                                          const Scope inner{b, top.parameters};
                                          Value pixel = elements[0];
                                          if (spec.pooled->isCentered) {
                                            pixel = arith::SubFOp::create(b, at, pixel, constant(inner, at, 0.5));
                                            pixel = arith::MulFOp::create(b, at, pixel, constant(inner, at, 2));
                                          }
                                          linalg::YieldOp::create(b, at, pixel);
                                        })
                  .getResult(0);
  return tensor::CollapseShapeOp::create(builder, loc, cut, ArrayRef<ReassociationIndices>{{0, 1, 2}, {3, 4, 5}});
}

Value importing::walkSquares(const Walk &walk, const VisionSpec &spec, Images &images) {
  const PooledGridSpec &grid = *spec.pooled;
  const int64_t inSquare = grid.side * grid.side, numbers = spec.channels * spec.patch * spec.patch;
  Value patches = walk.emit([&](const Scope &top) {
    OpBuilder &builder = top.builder;
    Location loc = top.at(spec.kernel);
    Value size = number(builder, loc, spec.tokenSide());
    auto extent = [&](int64_t i) -> Value { return tensor::DimOp::create(builder, loc, images.pixels, i); };
    images.rows = arith::DivUIOp::create(builder, loc, extent(2), size);
    images.columns = arith::DivUIOp::create(builder, loc, extent(3), size);
    Value squares = arith::MulIOp::create(builder, loc, images.rows, images.columns);
    images.length = arith::MulIOp::create(builder, loc, squares, number(builder, loc, inSquare));
    images.rowBegin = attn::EqualRowsOp::create(builder, loc, tensorOf({ShapedType::kDynamic}, builder.getI32Type()),
                                                extent(0), images.length);
    auto type = tensorOf({ShapedType::kDynamic, numbers * inSquare}, builder.getF32Type());
    return cutSquares(top, loc, spec,
                      attn::PatchesOp::create(builder, loc, type, images.pixels, uint64_t(spec.tokenSide())));
  });
  patches = walk.norm(patches, grid.pixelNorm, spec.norm, numbers);
  Value x =
      walk.matmul(patches, {.part = spec.kernel, .out = spec.width, .in = numbers, .hasBias = spec.hasKernelBias});
  x = walk.norm(x, grid.patchNorm, spec.norm, spec.width);
  walk.declare([&](const ParameterScope &weights) {
    weights.parameters.addTransformed(weights.symbols + grid.table,
                                      {weights.tensors + grid.table,
                                       grid.isByPosition ? artifact::Shape{grid.positions, 2, spec.width}
                                                         : artifact::Shape{2, grid.positions, spec.width},
                                       {artifact::Reshape{{2 * grid.positions, spec.width}}}},
                                      Init::embedding());
  });
  x = walk.emit([&](const Scope &top) -> Value {
    OpBuilder &builder = top.builder;
    Location loc = top.at(grid.table);
    Value ofColumns = embed(top, placesOf(top, loc, grid, images, 0), grid.table);
    Value ofRows = embed(top, placesOf(top, loc, grid, images, 1), grid.table);
    Value positions = arith::AddFOp::create(builder, loc, ofColumns, ofRows);
    auto none = DenseElementsAttr::get(tensorOf({0, spec.width}, builder.getF32Type()), ArrayRef<float>());
    return attn::ImageTokensOp::create(builder, loc, x.getType(), x, arith::ConstantOp::create(builder, loc, none),
                                       positions);
  });
  return walk.norm(x, grid.positionNorm, spec.norm, spec.width);
}

std::array<Value, 2> importing::buildSquareRotation(const Scope &top, const VisionSpec &spec,
                                                    const RotaryFrequencies &frequencies, const Images &images) {
  OpBuilder &builder = top.builder;
  Location loc = top.at("rotary_emb");
  std::vector<float> both = frequencies.values;
  both.insert(both.end(), frequencies.values.begin(), frequencies.values.end());
  const int64_t pairs = int64_t(both.size());
  Value ofPair = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(tensorOf({pairs}, builder.getF32Type()), ArrayRef<float>(both)));
  Value count = tensor::DimOp::create(builder, loc, images.pixels, 0);
  Value tokens = arith::MulIOp::create(builder, loc, count, images.length);
  auto type = tensorOf({ShapedType::kDynamic, pairs}, builder.getF32Type());
  Value empty = tensor::EmptyOp::create(builder, loc, type, tokens);
  AffineMap identity = builder.getMultiDimIdentityMap(2);
  AffineMap maps[] = {AffineMap::get(2, 0, builder.getAffineDimExpr(1)), identity, identity};
  const SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(
      builder, loc, TypeRange{type, type}, ofPair, ValueRange{empty, empty}, maps, loops,
      [&](OpBuilder &b, Location at, ValueRange elements) {
        Value token = arith::RemUIOp::create(b, at, linalg::IndexOp::create(b, at, 0), images.length);
        Value pair = linalg::IndexOp::create(b, at, 1);
        Value isOfColumn = arith::CmpIOp::create(b, at, arith::CmpIPredicate::ult, pair, number(b, at, pairs / 2));
        auto place = [&](int64_t which) { return placeOf(b, at, token, images.columns, spec.pooled->side, which); };
        Value chosen = arith::SelectOp::create(b, at, isOfColumn, place(0), place(1));
        Value real = arith::SIToFPOp::create(b, at, b.getF32Type(), asInteger(b, at, chosen));
        Value angle = arith::MulFOp::create(b, at, real, elements[0]);
        Value cosine = math::CosOp::create(b, at, angle), sine = math::SinOp::create(b, at, angle);
        linalg::YieldOp::create(b, at, ValueRange{cosine, sine});
      });
  return {op.getResult(0), op.getResult(1)};
}

Value importing::walkSquareMeans(const Walk &walk, const VisionSpec &spec, Value x, Images &images) {
  const PooledGridSpec &grid = *spec.pooled;
  const bool isShifted = !grid.shift.empty();
  walk.declare([&](const ParameterScope &weights) {
    if (!isShifted)
      return;
    weights.add(grid.shift, {spec.width}, Init::bias());
    weights.add(grid.spread, {spec.width}, Init::normWeight());
  });
  return walk.emit([&](const Scope &top) -> Value {
    OpBuilder &builder = top.builder;
    Location loc = top.at("pooler");
    Value ofImage = arith::MulIOp::create(builder, loc, images.rows, images.columns);
    images.length = ofImage;
    if (grid.side == 1 && grid.scale == 1 && !isShifted)
      return x;
    Value squares = arith::MulIOp::create(builder, loc, tensor::DimOp::create(builder, loc, images.pixels, 0), ofImage);
    Value begin = attn::EqualRowsOp::create(builder, loc, tensorOf({ShapedType::kDynamic}, builder.getI32Type()),
                                            squares, number(builder, loc, grid.side * grid.side));
    SmallVector<Operand> operands{{poolRows(top, loc, attn::PoolingKind::mean, x, begin), {0, 1}}};
    if (isShifted)
      operands.append({{top.weight(grid.shift), {1}}, {top.weight(grid.spread), {1}}});
    return mapElements(top, loc, operands, [&](const Scope &inner, ValueRange elements) -> Value {
      OpBuilder &b = inner.builder;
      Value y = arith::MulFOp::create(b, loc, elements[0], constant(inner, loc, grid.scale));
      if (!isShifted)
        return y;
      y = arith::SubFOp::create(b, loc, y, elements[1]);
      return arith::MulFOp::create(b, loc, y, elements[2]);
    });
  });
}

int64_t importing::mostSquarePixels(const VisionSpec &spec, const ImportOptions &options) {
  // The largest budget of vectors may lie side by side. A square has at most 256 patches and a batch 65,536 images, so
  // that one square of each can be counted.
  constexpr int64_t mostSquares = 1120;
  const int64_t patches = spec.pooled->side * spec.pooled->side;
  int64_t side = std::min(mostSquares, spec.pooled->positions / spec.pooled->side);
  while (side > 1 && side * side * patches > INT32_MAX / options.maxBatch)
    --side;
  return side * spec.tokenSide();
}
