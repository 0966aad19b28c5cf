//===- ResponseNorm.cpp - Global response normalization --------------------------===//
#include "lib/Import/Parts/ResponseNorm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using utils::IteratorType;

void importing::addResponseNorm(const ParameterScope &scope, const std::string &part, int64_t channels) {
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

Value importing::responseNorm(const Scope &scope, Value x, const ImageSides &sides, StringRef part) {
  return ResponseNorm(scope, sides, part, x).build();
}
