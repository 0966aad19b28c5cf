//===- Convolution.cpp - Convolutions of images, and their norm -----------===//
#include "lib/Import/Parts/Convolution.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using artifact::Reshape;
using artifact::Transpose;
using huggingface::Init;
using utils::IteratorType;

static RankedTensorType imagesOf(OpBuilder &builder, int64_t channels) {
  const int64_t any = ShapedType::kDynamic;
  return RankedTensorType::get({any, any, any, channels}, builder.getF32Type());
}

static int64_t channelsOf(Value x) { return cast<RankedTensorType>(x.getType()).getShape().back(); }

Value importing::expandPixels(const Scope &scope, Location loc, Value x, const ImageSides &sides) {
  OpBuilder &builder = scope.builder;
  const SmallVector<OpFoldResult> sizes = {sides.images, sides.height, sides.width,
                                           builder.getIndexAttr(channelsOf(x))};
  return tensor::ExpandShapeOp::create(builder, loc, imagesOf(builder, channelsOf(x)), x,
                                       ArrayRef<ReassociationIndices>{{0, 1, 2}, {3}}, sizes);
}

static void yieldFirst(OpBuilder &builder, Location loc, ValueRange elements) {
  linalg::YieldOp::create(builder, loc, elements[0]);
}

/// Zeros around images.
static Value padPixels(const Scope &scope, Location loc, Value images, int64_t margin) {
  OpBuilder &builder = scope.builder;
  const Attribute none = builder.getIndexAttr(0), border = builder.getIndexAttr(margin);
  const SmallVector<OpFoldResult> borders = {none, border, border, none};
  return tensor::PadOp::create(builder, loc, imagesOf(builder, channelsOf(images)), images, borders, borders,
                               constant(scope, loc, 0));
}

static void addDepthwise(const ParameterScope &scope, const std::string &part, int64_t channels, int64_t side) {
  scope.parameters.addRows(scope.symbols + part + ".weight",
                           {{scope.tensors + part + ".weight",
                             {channels, 1, side, side},
                             {Reshape{{channels, side * side}}, Transpose{{1, 0}}, Reshape{{side, side, channels}}}}},
                           Init::weight(side * side), scope.stack, /*isTable=*/true);
  scope.add(part + ".bias", {channels}, Init::bias());
}

/// The bias at each pixel, [images, height, width, channels].
static Value spreadBias(OpBuilder &builder, Location loc, Value bias, const ImageSides &sides) {
  RankedTensorType type = imagesOf(builder, channelsOf(bias));
  Value empty = tensor::EmptyOp::create(builder, loc, type, sides.values());
  const AffineMap maps[] = {AffineMap::get(4, 0, builder.getAffineDimExpr(3)), builder.getMultiDimIdentityMap(4)};
  const SmallVector<IteratorType> loops(4, IteratorType::parallel);
  return linalg::GenericOp::create(builder, loc, type, bias, empty, maps, loops, yieldFirst).getResult(0);
}

static Value depthwise(const Scope &scope, Value x, const ImageSides &sides, StringRef part, int64_t side) {
  OpBuilder &builder = scope.builder;
  Location loc = scope.at(part);
  Value weight = scope.weight((part + ".weight").str()), bias = scope.weight((part + ".bias").str());
  RankedTensorType type = imagesOf(builder, channelsOf(x));
  Value padded = padPixels(scope, loc, expandPixels(scope, loc, x, sides), side / 2);
  MLIRContext *context = builder.getContext();
  // Channels are the innermost loop, whose iterations are vectors.
  AffineExpr image, row, column, i, j, channel;
  bindDims(context, image, row, column, i, j, channel);
  const AffineMap maps[] = {AffineMap::get(6, 0, {image, row + i, column + j, channel}, context),
                            AffineMap::get(6, 0, {i, j, channel}, context),
                            AffineMap::get(6, 0, {image, row, column, channel}, context)};
  const IteratorType loops[] = {IteratorType::parallel,  IteratorType::parallel,  IteratorType::parallel,
                                IteratorType::reduction, IteratorType::reduction, IteratorType::parallel};
  auto sums =
      linalg::GenericOp::create(builder, loc, type, ValueRange{padded, weight}, spreadBias(builder, loc, bias, sides),
                                maps, loops, [](OpBuilder &inner, Location at, ValueRange elements) {
                                  Value term = arith::MulFOp::create(inner, at, elements[0], elements[1]);
                                  Value sum = arith::AddFOp::create(inner, at, elements[2], term);
                                  linalg::YieldOp::create(inner, at, sum);
                                });
  return tensor::CollapseShapeOp::create(builder, loc, sums.getResult(0),
                                         ArrayRef<ReassociationIndices>{{0, 1, 2}, {3}});
}

Value importing::walkDepthwise(const Walk &walk, Value x, const ImageSides &sides, const std::string &part,
                               int64_t channels, int64_t side) {
  walk.declare([&](const ParameterScope &weights) { addDepthwise(weights, part, channels, side); });
  return walk.emit([&](const Scope &scope) { return depthwise(scope, x, sides, part, side); });
}

Value importing::cutWindows(const Scope &scope, Location loc, Value x, const ImageSides &from, const ImageSides &to,
                            const WindowCut &cut) {
  OpBuilder &builder = scope.builder;
  const int64_t any = ShapedType::kDynamic, side = cut.side, stride = cut.stride ? cut.stride : side;
  auto type = RankedTensorType::get({any, any, any, side, side, channelsOf(x)}, builder.getF32Type());
  Value empty = tensor::EmptyOp::create(builder, loc, type, to.values());
  AffineExpr image, row, column, j, i, channel;
  bindDims(builder.getContext(), image, row, column, j, i, channel);
  if (cut.areByRows)
    std::swap(i, j);
  const AffineMap maps[] = {
      AffineMap::get(6, 0, {image, row * stride + i, column * stride + j, channel}, builder.getContext()),
      builder.getMultiDimIdentityMap(6)};
  const SmallVector<IteratorType> loops(6, IteratorType::parallel);
  Value images = expandPixels(scope, loc, x, from);
  if (cut.margin)
    images = padPixels(scope, loc, images, cut.margin);
  auto windows = linalg::GenericOp::create(builder, loc, type, images, empty, maps, loops, yieldFirst);
  return tensor::CollapseShapeOp::create(builder, loc, windows.getResult(0),
                                         ArrayRef<ReassociationIndices>{{0, 1, 2}, {3, 4, 5}});
}

static void addStrided(const ParameterScope &scope, const std::string &part, int64_t out, int64_t in, int64_t side,
                       bool hasBias) {
  const int64_t columns = side * side * in;
  scope.parameters.addTransformed(
      scope.symbols + part + ".weight",
      {scope.tensors + part + ".weight", {out, in, side, side}, {Transpose{{0, 3, 2, 1}}, Reshape{{out, columns}}}},
      Init::weight(columns), scope.stack);
  if (hasBias)
    scope.add(part + ".bias", {out}, Init::bias());
}

Value importing::walkStrided(const Walk &walk, Value x, const ImageSides &from, const ImageSides &to,
                             const std::string &part, int64_t out, int64_t in, const WindowCut &cut, bool hasBias) {
  walk.declare([&](const ParameterScope &weights) { addStrided(weights, part, out, in, cut.side, hasBias); });
  return walk.emit(
      [&](const Scope &scope) { return dense(scope, cutWindows(scope, scope.at(part), x, from, to, cut), part); });
}

static void addResponseNorm(const ParameterScope &scope, const std::string &part, int64_t channels) {
  for (const std::string name : {".weight", ".bias"})
    scope.parameters.addTransformed(scope.symbols + part + name,
                                    {scope.tensors + part + name, {1, 1, 1, channels}, {artifact::Reshape{{channels}}}},
                                    huggingface::Init::bias(), scope.stack);
}

namespace {

/// Emits the norm of the pixels of images.
class ResponseNorm {
public:
  ResponseNorm(const Scope &scope, const ImageSides &sides, StringRef part, Value x)
      : builder(scope.builder), loc(scope.at(part)), scope(scope), sides(sides), part(part),
        channels(cast<RankedTensorType>(x.getType()).getShape().back()), pixels(expandPixels(scope, loc, x, sides)) {
    bindDims(builder.getContext(), image, row, column, channel);
  }

  Value build() {
    Value lengths = math::SqrtOp::create(builder, loc, sumSquares()), sums = sumChannels(lengths);
    Value weight = scope.weight((part + ".weight").str()), bias = scope.weight((part + ".bias").str());
    Value empty = tensor::EmptyOp::create(builder, loc, pixels.getType(), sides.values());
    const AffineMap maps[] = {map(4, {image, row, column, channel}),
                              map(4, {image, channel}),
                              map(4, {image}),
                              map(4, {channel}),
                              map(4, {channel}),
                              map(4, {image, row, column, channel})};
    const SmallVector<IteratorType> loops(4, IteratorType::parallel);
    auto body = [&](OpBuilder &b, Location at, ValueRange in) {
      Value mean = arith::MulFOp::create(b, at, in[2], real(b, at, 1 / double(channels)));
      Value unit = arith::AddFOp::create(b, at, mean, real(b, at, 1e-6));
      Value scaled = arith::MulFOp::create(b, at, in[0], arith::DivFOp::create(b, at, in[1], unit));
      Value sum = arith::AddFOp::create(b, at, arith::MulFOp::create(b, at, in[3], scaled), in[4]);
      linalg::YieldOp::create(b, at, arith::AddFOp::create(b, at, sum, in[0]).getResult());
    };
    auto result = linalg::GenericOp::create(builder, loc, pixels.getType(),
                                            ValueRange{pixels, lengths, sums, weight, bias}, empty, maps, loops, body);
    return tensor::CollapseShapeOp::create(builder, loc, result.getResult(0),
                                           ArrayRef<ReassociationIndices>{{0, 1, 2}, {3}});
  }

private:
  static Value real(OpBuilder &b, Location at, double value) {
    return arith::ConstantOp::create(b, at, b.getF32FloatAttr(static_cast<float>(value)));
  }

  AffineMap map(unsigned dims, ArrayRef<AffineExpr> results) {
    return AffineMap::get(dims, 0, results, builder.getContext());
  }

  Value zeros(RankedTensorType type) {
    return tensor::SplatOp::create(builder, loc, real(builder, loc, 0), type, sides.images);
  }

  /// The sum of the squares of each image's channels, [images, channels].
  Value sumSquares() {
    auto type = RankedTensorType::get({ShapedType::kDynamic, channels}, builder.getF32Type());
    const AffineMap maps[] = {map(4, {image, row, column, channel}), map(4, {image, channel})};
    const IteratorType loops[] = {IteratorType::parallel, IteratorType::reduction, IteratorType::reduction,
                                  IteratorType::parallel};
    auto body = [](OpBuilder &b, Location at, ValueRange in) {
      Value square = arith::MulFOp::create(b, at, in[0], in[0]);
      linalg::YieldOp::create(b, at, arith::AddFOp::create(b, at, in[1], square).getResult());
    };
    return linalg::GenericOp::create(builder, loc, type, pixels, zeros(type), maps, loops, body).getResult(0);
  }

  /// The sum of all channels, [images].
  Value sumChannels(Value x) {
    auto type = RankedTensorType::get({ShapedType::kDynamic}, builder.getF32Type());
    const AffineMap maps[] = {builder.getMultiDimIdentityMap(2), map(2, {image})};
    const IteratorType loops[] = {IteratorType::parallel, IteratorType::reduction};
    auto body = [](OpBuilder &b, Location at, ValueRange in) {
      linalg::YieldOp::create(b, at, arith::AddFOp::create(b, at, in[1], in[0]).getResult());
    };
    return linalg::GenericOp::create(builder, loc, type, x, zeros(type), maps, loops, body).getResult(0);
  }

  OpBuilder &builder;
  Location loc;
  const Scope &scope;
  const ImageSides &sides;
  StringRef part;
  int64_t channels;
  Value pixels;
  AffineExpr image, row, column, channel;
};

} // namespace

Value importing::walkResponseNorm(const Walk &walk, Value x, const ImageSides &sides, const std::string &part,
                                  int64_t channels) {
  walk.declare([&](const ParameterScope &weights) { addResponseNorm(weights, part, channels); });
  return walk.emit([&](const Scope &scope) { return ResponseNorm(scope, sides, part, x).build(); });
}
