//===- ConvBuilder.cpp - The module of a convolutional encoder of images ---------===//
#include "lib/Import/Parts/Convolution.h"
#include "lib/Import/Parts/LayerBuilder.h"
#include "lib/Import/Specs/ConvSpec.h"
#include "lib/Import/Specs/VisionTokens.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <numeric>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

namespace {

constexpr int64_t kernelSide = 7, expansion = 4;
const std::string embeddingNorm = "embeddings.layernorm", finalNorm = "layernorm", stageNorm = "downsampling_layer.0",
                  stageKernel = "downsampling_layer.1", layerKernel = "dwconv", layerNorm = "layernorm", up = "pwconv1",
                  down = "pwconv2", scale = "layer_scale_parameter", responses = "grn";

/// Pixels of a stage, [images * height * width, channels].
struct Pixels {
  Value x;
  ImageSides sides;
};

/// The order of a stage's pixels by the adapters of their images.
std::optional<AdapterRows> orderPixels(const Scope &own, const ImageAdapters &adapters, const ImageSides &sides) {
  if (!adapters.numbers)
    return std::nullopt;
  Location loc = own.at("adapters");
  return orderImages(own.builder, loc, adapters, arith::MulIOp::create(own.builder, loc, sides.height, sides.width));
}

/// The extents of images `stride` times smaller than `pixels`, [images, channels, height, width].
ImageSides sidesOf(const Scope &scope, Location loc, Value pixels, int64_t stride) {
  OpBuilder &builder = scope.builder;
  Value by = arith::ConstantIndexOp::create(builder, loc, stride);
  auto extent = [&](int64_t i) -> Value { return tensor::DimOp::create(builder, loc, pixels, i); };
  auto side = [&](int64_t i) -> Value { return arith::DivUIOp::create(builder, loc, extent(i), by); };
  return {extent(0), side(2), side(3)};
}

/// Patches as the pixels of smaller images.
Pixels walkEmbeddings(const Walk &walk, const ConvSpec &spec, Value pixels) {
  const int64_t width = spec.stages[0].width;
  Value x = walk.norm(walkPatches(walk, spec, spec.kernel, width, pixels), embeddingNorm, spec.norm, width);
  return {x, walk.emit([&](const Scope &top) { return sidesOf(top, top.at(spec.kernel), pixels, spec.patch); })};
}

/// x + scale * down(responses(activation(up(norm(depthwise(x))))))
Value walkLayer(const Walk &walk, const ConvSpec &spec, int64_t width, Value x, const ImageSides &sides) {
  const int64_t inner = expansion * width;
  Value y = walk.norm(walkDepthwise(walk, x, sides, layerKernel, width, kernelSide), layerNorm, spec.norm, width);
  y = walk.matmul(y, {.part = up, .out = inner, .in = width, .hasBias = true});
  y = walk.activate(y, up, spec.activation);
  if (spec.hasResponseNorm)
    y = walkResponseNorm(walk, y, sides, responses, inner);
  y = walk.matmul(y, {.part = down, .out = width, .in = inner, .hasBias = true});
  if (spec.hasScale) {
    walk.declare([&](const ParameterScope &weights) { weights.add(scale, {width}, Init::normWeight()); });
    walk.emit([&](const Scope &scope) { scaleColumns(scope, y, scale); });
  }
  return walk.add(x, y, down);
}

/// The pixels before the layers of a stage: those of images of half the size, with the channels of the stage.
Pixels downsample(const Walk &walk, const ConvSpec &spec, size_t stage, const Pixels &from, Value pixels) {
  const int64_t before = spec.stages[stage - 1].width;
  const ImageSides to =
      walk.emit([&](const Scope &own) { return sidesOf(own, own.at(stageKernel), pixels, spec.patch << stage); });
  Value normed = walk.norm(from.x, stageNorm, spec.norm, before);
  return {walkStrided(walk, normed, from.sides, to, stageKernel, spec.stages[stage].width, before, {.side = 2}), to};
}

/// The last stage's pixels. The names of a stage's parameters and functions have its number.
Expected<Pixels> walkStages(const Walk &walk, const ConvSpec &spec, const Images &images) {
  Pixels pixels = walkEmbeddings(walk, spec, images.pixels);
  for (size_t stage = 0; stage < spec.stages.size(); ++stage) {
    const std::string number = std::to_string(stage), name = "stage" + number;
    const Walk own = walk.inside("encoder.stages." + number + ".", name + ".");
    if (stage != 0)
      pixels = downsample(own, spec, stage, pixels, images.pixels);
    WalkedLayers layers{.loop = {.stack = {spec.stages[stage].layers, name}},
                        .path = "layers.{layer}.",
                        .state = {pixels.x},
                        .shared = llvm::to_vector(pixels.sides.values())};
    layers.adapters = own.emit([&](const Scope &scope) { return orderPixels(scope, images.adapters, pixels.sides); });
    auto body = [&](const Walk &layer, ValueRange state, ValueRange shared) -> SmallVector<Value> {
      return {walkLayer(layer, spec, spec.stages[stage].width, state[0], {shared[0], shared[1], shared[2]})};
    };
    RAPT_ASSIGN_OR_RETURN(SmallVector<Value> last, walkLayers(own, layers, body));
    pixels.x = last[0];
  }
  return pixels;
}

/// The norm of the mean of each image's pixels, [images, channels].
Value walkPooled(const Walk &walk, const ConvSpec &spec, const Pixels &pixels) {
  Value mean = walk.emit([&](const Scope &top) {
    OpBuilder &builder = top.builder;
    Location loc = top.at("pooler");
    Value length = arith::MulIOp::create(builder, loc, pixels.sides.height, pixels.sides.width);
    Value rowBegin = attn::EqualRowsOp::create(builder, loc, tensorOf({ShapedType::kDynamic}, builder.getI32Type()),
                                               pixels.sides.images, length);
    return poolRows(top, loc, attn::PoolingKind::mean, pixels.x, rowBegin);
  });
  return walk.norm(mean, finalNorm, spec.finalNorm, spec.width());
}

/// [images, channels, height, width]
Value channelsFirst(const Scope &top, const Pixels &pixels) {
  OpBuilder &builder = top.builder;
  Location loc = top.at("last_hidden_state");
  Value x = expandPixels(top, loc, pixels.x, pixels.sides);
  ArrayRef<int64_t> shape = cast<RankedTensorType>(x.getType()).getShape();
  auto type = tensorOf({shape[0], shape[3], shape[1], shape[2]}, builder.getF32Type());
  Value empty = tensor::EmptyOp::create(builder, loc, type, pixels.sides.values());
  return linalg::TransposeOp::create(builder, loc, x, empty, ArrayRef<int64_t>{0, 3, 1, 2}).getResults()[0];
}

SmallVector<EntryBuffer> listOutputs(Builder builder, const ConvSpec &spec) {
  const int64_t any = ShapedType::kDynamic;
  Type f32 = builder.getF32Type();
  const std::string side = "/" + std::to_string(spec.stride());
  return {
      {"last_hidden_state", tensorOf({any, spec.width(), any, any}, f32), {"rows", "height" + side, "width" + side}},
      {"pooler_output", tensorOf({any, spec.width()}, f32), {"rows"}}};
}

Expected<SmallVector<Value>> walkModel(const Walk &walk, const ConvSpec &spec, const Images &images) {
  RAPT_ASSIGN_OR_RETURN(Pixels last, walkStages(walk, spec, images));
  Value pooled = walkPooled(walk, spec, last);
  if (spec.head == VisionHead::Classification)
    return SmallVector<Value>{walkClassifier(walk, spec, pooled, spec.width())};
  return SmallVector<Value>{walk.emit([&](const Scope &top) { return channelsFirst(top, last); }), pooled};
}

} // namespace

ImportedModule importing::importConv(MLIRContext &context, huggingface::ModelDescription &model,
                                     const ImportOptions &options, const ConvSpec &spec) {
  RAPT_RETURN_IF_ERROR(finishConfig(model, options, spec));
  RAPT_ASSIGN_OR_RETURN(int64_t most, mostPixels(model, spec, options));
  auto count = [](int64_t sum, const ConvStage &stage) { return sum + stage.layers; };
  const int64_t least = spec.stride(), longest = std::max(most, least);
  const StackSpec all{.width = spec.width(),
                      .layers = std::accumulate(spec.stages.begin(), spec.stages.end(), int64_t(0), count)};
  return importImages(context, model, options, spec,
                      {.facts = factsOf(model, all),
                       .least = {least, least},
                       .most = {longest, longest},
                       .outputs = listOutputs(Builder(&context), spec),
                       .walk = [&](const Walk &walk, Images &images) { return walkModel(walk, spec, images); }});
}
