//===- ImageGrid.cpp - Sources that are a grid over an image ---------------------===//
#include "lib/Import/Parts/ImageGrid.h"
#include "lib/Import/Module/ModelConfig.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;
using utils::IteratorType;

GridExtents ImageGridSpec::convolved(size_t layer) const {
  const GridExtents from = before(layer);
  const GridConvolution &by = layers[layer];
  auto side = [&](int64_t pixels) { return (pixels + 2 * by.padding - by.kernel) / by.stride + 1; };
  return {by.channels, side(from.height), side(from.width)};
}

GridExtents ImageGridSpec::before(size_t layer) const {
  if (layer == 0)
    return image;
  const GridExtents all = convolved(layer - 1);
  const int64_t pool = layers[layer - 1].pool;
  return {all.channels, all.height / pool, all.width / pool};
}

/// Reports a window that is larger than what it is for. Extents of later layers follow from those of this one.
static bool checkLayer(huggingface::ConfigReader &config, const ImageGridSpec &spec, size_t layer) {
  auto check = [&](const char *key, int64_t window, const GridExtents &of, int64_t border, const char *what) {
    if (window <= std::min(of.height, of.width) + 2 * border)
      return true;
    config.fail(config.nameOf(key) + "[" + std::to_string(layer) + "] " + std::to_string(window) +
                " is larger than the " + std::to_string(of.height + 2 * border) + " x " +
                std::to_string(of.width + 2 * border) + " pixels " + what);
    return false;
  };
  const GridConvolution &by = spec.layers[layer];
  if (by.padding >= by.kernel) {
    config.fail(config.nameOf("conv_padding") + "[" + std::to_string(layer) + "] " + std::to_string(by.padding) +
                " is not below conv_kernel[" + std::to_string(layer) + "] " + std::to_string(by.kernel));
    return false;
  }
  return check("conv_kernel", by.kernel, spec.before(layer), by.padding, "of its input, padding included") &&
         check("conv_pool", by.pool, spec.convolved(layer), 0, "of its convolution");
}

ImageGridSpec importing::readImageGrid(huggingface::ConfigReader &config) {
  constexpr int64_t mostSide = 1 << 12, mostChannels = 1 << 16, mostWindow = 1 << 6;
  const huggingface::HeightWidth image = config.getHeightWidth("image_size", 1, mostSide, 224);
  ImageGridSpec spec{{config.getSize("num_channels", 1, mostChannels, 3), image.height, image.width}, {}};
  const size_t count = countStages(config, "conv_channels", 1);
  auto read = [&](const char *key, int64_t least, int64_t most, int64_t fallback) {
    return readStages(config, key, count, least, most,
                      fallback < 0 ? std::vector<int64_t>() : std::vector(count, fallback));
  };
  const std::vector<int64_t> channels = read("conv_channels", 1, mostChannels, -1),
                             kernel = read("conv_kernel", 1, mostWindow, 3),
                             stride = read("conv_stride", 1, mostWindow, 1),
                             padding = read("conv_padding", 0, mostWindow, 1),
                             pool = read("conv_pool", 1, mostWindow, 1);
  for (size_t i = 0; i < count; ++i)
    spec.layers.push_back({channels[i], kernel[i], stride[i], padding[i], pool[i]});
  for (size_t i = 0; i < count && config.errors(); ++i)
    if (!checkLayer(config, spec, i))
      break;
  return spec;
}

namespace {

std::string partOf(const ImageGridSpec &spec, size_t layer) { return spec.part + "." + std::to_string(layer); }

/// The order of the dims of pixels: those of images, and those of what a convolution makes.
enum class Order { ChannelsFirst, ChannelsLast };

/// Emits one layer.
class Layer {
public:
  Layer(const Scope &scope, const ImageGridSpec &spec, size_t number, Value images)
      : scope(scope), builder(scope.builder), part(partOf(spec, number)), loc(scope.at(part)), by(spec.layers[number]),
        from(spec.before(number)), all(spec.convolved(number)), to(spec.before(number + 1)), images(images) {}

  /// x [images, channels, height, width] or [images, height, width, channels] to [images * height * width, channels].
  Value build(Value x, Order order) {
    Value flat = tensor::CollapseShapeOp::create(builder, loc, cutWindows(pad(x, order), order),
                                                 ArrayRef<ReassociationIndices>{{0, 1, 2}, {3, 4, 5}});
    Value y = attn::ActivationOp::create(builder, loc, attn::ActivationKind::relu, dense(scope, flat, part));
    if (by.pool == 1)
      return y;
    return tensor::CollapseShapeOp::create(builder, loc, takeLargest(expand(y, all)),
                                           ArrayRef<ReassociationIndices>{{0, 1, 2}, {3}});
  }

  /// Rows of pixels as [images, height, width, channels].
  Value expand(Value rows, const GridExtents &extents) {
    const SmallVector<OpFoldResult> sizes = {images, builder.getIndexAttr(extents.height),
                                             builder.getIndexAttr(extents.width),
                                             builder.getIndexAttr(extents.channels)};
    return tensor::ExpandShapeOp::create(builder, loc, imagesOf(extents), rows,
                                         ArrayRef<ReassociationIndices>{{0, 1, 2}, {3}}, sizes);
  }

private:
  RankedTensorType tensorOf(ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, builder.getF32Type()); }
  RankedTensorType imagesOf(const GridExtents &e) {
    return tensorOf({ShapedType::kDynamic, e.height, e.width, e.channels});
  }

  /// Zeros around the pixels.
  Value pad(Value x, Order order) {
    if (by.padding == 0)
      return x;
    SmallVector<int64_t> shape(cast<RankedTensorType>(x.getType()).getShape());
    SmallVector<OpFoldResult> border(4, builder.getIndexAttr(0));
    const size_t first = order == Order::ChannelsFirst ? 2 : 1;
    for (size_t dim : {first, first + 1}) {
      border[dim] = builder.getIndexAttr(by.padding);
      shape[dim] += 2 * by.padding;
    }
    return tensor::PadOp::create(builder, loc, tensorOf(shape), x, border, border, constant(scope, loc, 0));
  }

  /// [images, height, width, kernel, kernel, channels]
  Value cutWindows(Value padded, Order order) {
    MLIRContext *context = builder.getContext();
    auto type = tensorOf({ShapedType::kDynamic, all.height, all.width, by.kernel, by.kernel, from.channels});
    Value empty = tensor::EmptyOp::create(builder, loc, type, images);
    AffineExpr image, row, column, i, j, channel;
    bindDims(context, image, row, column, i, j, channel);
    const AffineExpr y = row * by.stride + i, x = column * by.stride + j;
    const SmallVector<AffineExpr> read =
        order == Order::ChannelsFirst ? SmallVector{image, channel, y, x} : SmallVector{image, y, x, channel};
    const AffineMap maps[] = {AffineMap::get(6, 0, read, context), builder.getMultiDimIdentityMap(6)};
    const SmallVector<IteratorType> loops(6, IteratorType::parallel);
    auto copy = [](OpBuilder &inner, Location at, ValueRange elements) {
      linalg::YieldOp::create(inner, at, elements[0]);
    };
    return linalg::GenericOp::create(builder, loc, type, padded, empty, maps, loops, copy).getResult(0);
  }

  /// The largest of each window, [images, height, width, channels]. Pixels behind the last whole window are left out.
  Value takeLargest(Value x) {
    MLIRContext *context = builder.getContext();
    Value least = constant(scope, loc, -std::numeric_limits<double>::infinity());
    Value start = tensor::SplatOp::create(builder, loc, least, imagesOf(to), images);
    Value window = tensor::EmptyOp::create(builder, loc, tensorOf({by.pool, by.pool}), ValueRange());
    AffineExpr image, row, column, channel, i, j;
    bindDims(context, image, row, column, channel, i, j);
    const AffineMap maps[] = {AffineMap::get(6, 0, {image, row * by.pool + i, column * by.pool + j, channel}, context),
                              AffineMap::get(6, 0, {i, j}, context),
                              AffineMap::get(6, 0, {image, row, column, channel}, context)};
    const IteratorType loops[] = {IteratorType::parallel, IteratorType::parallel,  IteratorType::parallel,
                                  IteratorType::parallel, IteratorType::reduction, IteratorType::reduction};
    auto larger = [](OpBuilder &inner, Location at, ValueRange elements) {
      Value largest = arith::MaximumFOp::create(inner, at, elements[2], elements[0]);
      linalg::YieldOp::create(inner, at, largest);
    };
    return linalg::GenericOp::create(builder, loc, imagesOf(to), ValueRange{x, window}, start, maps, loops, larger)
        .getResult(0);
  }

  const Scope &scope;
  OpBuilder &builder;
  std::string part;
  Location loc;
  const GridConvolution &by;
  GridExtents from, all, to; ///< of its input, its convolution and its result
  Value images;              ///< their number
};

} // namespace

Value importing::walkImageGrid(const Walk &walk, const ImageGridSpec &spec, Value images) {
  Value x = images, count = walk.emit([&](const Scope &top) {
    return tensor::DimOp::create(top.builder, top.at(spec.part), images, 0);
  });
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    walk.declare([&](const ParameterScope &top) {
      const std::string part = partOf(spec, i);
      const int64_t in = spec.before(i).channels, out = spec.layers[i].channels, side = spec.layers[i].kernel;
      top.parameters.addTransformed(top.symbols + part + ".weight",
                                    {top.tensors + part + ".weight",
                                     {out, in, side, side},
                                     {artifact::Transpose{{0, 2, 3, 1}}, artifact::Reshape{{out, side * side * in}}}},
                                    Init::weight(side * side * in));
      top.add(part + ".bias", {out}, Init::bias());
    });
    x = walk.emit([&](const Scope &top) {
      Layer layer(top, spec, i, count);
      Value y = layer.build(x, i == 0 ? Order::ChannelsFirst : Order::ChannelsLast);
      return i + 1 < spec.layers.size() ? layer.expand(y, spec.before(i + 1)) : y;
    });
  }
  return x;
}
