//===- Features.cpp - Sources that are features of sound ------------------------===//
#include "lib/Import/Parts/Features.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

namespace {

/// Frames that a convolution sees at once.
constexpr int64_t window = 3;

/// The order of the dims of frames: those of the features, and those of what a convolution makes.
enum class Order { ChannelsFirst, FramesFirst };

/// One of the two convolutions: a matmul of the windows that it sees.
class Convolution {
public:
  Convolution(const Scope &scope, const std::string &part, attn::ActivationKind activation)
      : scope(scope), builder(scope.builder), part(part), loc(scope.at(part)), activation(activation) {}

  /// x [rows, channels, frames] or [rows, frames, channels] to [rows * frames / stride, width].
  Value build(Value x, Order order, int64_t stride) {
    Value seen = cutWindows(pad(x, order), order, stride);
    Value flat = tensor::CollapseShapeOp::create(builder, loc, seen, ArrayRef<ReassociationIndices>{{0, 1}, {2, 3}});
    Value y = dense(scope, flat, part);
    return attn::ActivationOp::create(builder, loc, activation, y);
  }

private:
  /// A frame of zeros ahead of the first one and behind the last one.
  Value pad(Value x, Order order) {
    SmallVector<int64_t> shape(cast<RankedTensorType>(x.getType()).getShape());
    const unsigned frames = order == Order::ChannelsFirst ? 2 : 1;
    SmallVector<OpFoldResult> border(3, builder.getIndexAttr(0));
    border[frames] = builder.getIndexAttr(window / 2);
    shape[frames] += window - 1;
    return tensor::PadOp::create(builder, loc, tensorOf(shape), x, border, border, constant(scope, loc, 0));
  }

  /// [rows, frames, window, channels]
  Value cutWindows(Value padded, Order order, int64_t stride) {
    auto from = cast<RankedTensorType>(padded.getType());
    const bool isFirst = order == Order::ChannelsFirst;
    const int64_t frames = (from.getDimSize(isFirst ? 2 : 1) - window + 1) / stride;
    const int64_t channels = from.getDimSize(isFirst ? 1 : 2);
    Value rows = tensor::DimOp::create(builder, loc, padded, 0);
    auto to = tensorOf({ShapedType::kDynamic, frames, window, channels});
    Value empty = tensor::EmptyOp::create(builder, loc, to, rows);
    AffineExpr row, frame, k, channel;
    bindDims(builder.getContext(), row, frame, k, channel);
    AffineExpr at = frame * stride + k;
    SmallVector<AffineExpr> read = isFirst ? SmallVector{row, channel, at} : SmallVector{row, at, channel};
    AffineMap maps[] = {AffineMap::get(4, 0, read, builder.getContext()), builder.getMultiDimIdentityMap(4)};
    SmallVector<utils::IteratorType> loops(4, utils::IteratorType::parallel);
    return linalg::GenericOp::create(builder, loc, to, padded, empty, maps, loops,
                                     [](OpBuilder &inner, Location at, ValueRange elements) {
                                       linalg::YieldOp::create(inner, at, elements[0]);
                                     })
        .getResult(0);
  }

  RankedTensorType tensorOf(ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, builder.getF32Type()); }

  const Scope &scope;
  OpBuilder &builder;
  const std::string &part;
  Location loc;
  attn::ActivationKind activation;
};

} // namespace

static void addFeatures(const ParameterScope &top, const FeaturesSpec &spec, int64_t width) {
  for (const std::string &part : spec.parts) {
    const int64_t in = &part == &spec.parts[0] ? spec.channels : width;
    top.parameters.addTransformed(top.symbols + part + ".weight",
                                  {top.tensors + part + ".weight",
                                   {width, in, window},
                                   {artifact::Transpose{{0, 2, 1}}, artifact::Reshape{{width, window * in}}}},
                                  huggingface::Init::weight(window * in));
    top.add(part + ".bias", {width}, huggingface::Init::bias());
  }
}

static Value buildFeatures(const Scope &top, const FeaturesSpec &spec, int64_t width, Value features) {
  Value x = Convolution(top, spec.parts[0], spec.activation).build(features, Order::ChannelsFirst, /*stride=*/1);
  OpBuilder &builder = top.builder;
  Location loc = top.at(spec.parts[1]);
  SmallVector<OpFoldResult> sizes = {tensor::getMixedSize(builder, loc, features, 0),
                                     builder.getIndexAttr(spec.frames()), builder.getIndexAttr(width)};
  auto rows = RankedTensorType::get({ShapedType::kDynamic, spec.frames(), width}, builder.getF32Type());
  x = tensor::ExpandShapeOp::create(builder, loc, rows, x, ArrayRef<ReassociationIndices>{{0, 1}, {2}}, sizes);
  return Convolution(top, spec.parts[1], spec.activation).build(x, Order::FramesFirst, /*stride=*/2);
}

Value importing::walkFeatures(const Walk &walk, const FeaturesSpec &spec, int64_t width, Value features) {
  walk.declare([&](const ParameterScope &weights) { addFeatures(weights, spec, width); });
  return walk.emit([&](const Scope &top) { return buildFeatures(top, spec, width, features); });
}
