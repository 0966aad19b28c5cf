//===- ConvBuilder.cpp - The module of a convolutional encoder of images ---------===//
#include "lib/Import/Module/LayerStack.h"
#include "lib/Import/Parts/Convolution.h"
#include "lib/Import/Parts/Walk.h"
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
const std::string kernel = "embeddings.patch_embeddings", embeddingNorm = "embeddings.layernorm",
                  finalNorm = "layernorm", stageNorm = "downsampling_layer.0", stageKernel = "downsampling_layer.1",
                  layerKernel = "dwconv", layerNorm = "layernorm", up = "pwconv1", down = "pwconv2",
                  scale = "layer_scale_parameter", responses = "grn";

std::string symbolsOf(size_t stage) { return "stage" + std::to_string(stage) + "."; }
std::string pathOf(size_t stage) { return "encoder.stages." + std::to_string(stage) + "."; }

/// The layers of a stage, whose parameters and functions are told apart by its number.
Stack stackOf(const ConvSpec &spec, size_t stage) {
  return {spec.stages[stage].layers, "stage" + std::to_string(stage)};
}

void addStage(ParameterSet &parameters, const ConvSpec &spec, const std::string &prefix, size_t stage) {
  const int64_t width = spec.stages[stage].width, inner = expansion * width;
  ParameterScope own{parameters, prefix + pathOf(stage), symbolsOf(stage)};
  if (stage != 0) {
    const int64_t before = spec.stages[stage - 1].width;
    addNorm(own, stageNorm, spec.norm, before);
    addStrided(own, stageKernel, width, before, /*side=*/2);
  }
  ParameterScope layer{parameters, own.tensors + "layers.{layer}.", own.symbols, stackOf(spec, stage)};
  addDepthwise(layer, layerKernel, width, kernelSide);
  addNorm(layer, layerNorm, spec.norm, width);
  layer.dense(up, inner, width);
  if (spec.hasResponseNorm)
    addResponseNorm(layer, responses, inner);
  layer.dense(down, width, inner);
  if (spec.hasScale)
    layer.add(scale, {width}, Init::normWeight());
}

ParameterSet listParameters(const ConvSpec &spec, const std::string &prefix) {
  ParameterSet parameters;
  ParameterScope top{parameters, prefix};
  const int64_t width = spec.stages[0].width;
  addPatches(top, kernel, width, spec.channels, spec.patch);
  addNorm(top, embeddingNorm, spec.norm, width);
  for (size_t stage = 0; stage < spec.stages.size(); ++stage)
    addStage(parameters, spec, prefix, stage);
  addNorm(top, finalNorm, spec.finalNorm, spec.width());
  if (spec.head == VisionHead::Classification)
    ParameterScope{parameters, ""}.dense("classifier", spec.labels, spec.width());
  return parameters;
}

/// Pixels of a stage, [images * height * width, channels].
struct Pixels {
  Value x;
  ImageSides sides;
};

/// The extents of images `stride` times smaller than `pixels`, [images, channels, height, width].
ImageSides sidesOf(const Scope &scope, Location loc, Value pixels, int64_t stride) {
  OpBuilder &builder = scope.builder;
  Value by = arith::ConstantIndexOp::create(builder, loc, stride);
  auto extent = [&](int64_t i) -> Value { return tensor::DimOp::create(builder, loc, pixels, i); };
  auto side = [&](int64_t i) -> Value { return arith::DivUIOp::create(builder, loc, extent(i), by); };
  return {extent(0), side(2), side(3)};
}

/// Patches as the pixels of smaller images.
Pixels buildEmbeddings(const Scope &top, const ConvSpec &spec, Value pixels) {
  OpBuilder &builder = top.builder;
  Location loc = top.at(kernel);
  const int64_t columns = spec.channels * spec.patch * spec.patch;
  auto cut = tensorOf({ShapedType::kDynamic, columns}, builder.getF32Type());
  Value patches = attn::PatchesOp::create(builder, loc, cut, pixels, uint64_t(spec.patch));
  Value x = normalize(top, dense(top, patches, kernel), embeddingNorm, spec.norm);
  return {x, sidesOf(top, loc, pixels, spec.patch)};
}

/// x + scale * down(responses(activation(up(norm(depthwise(x))))))
Value buildLayer(const Scope &scope, const ConvSpec &spec, Value x, const ImageSides &sides) {
  Value y = normalize(scope, depthwise(scope, x, sides, layerKernel, kernelSide), layerNorm, spec.norm);
  y = attn::ActivationOp::create(scope.builder, scope.at(up), spec.activation, dense(scope, y, up));
  if (spec.hasResponseNorm)
    y = responseNorm(scope, y, sides, responses);
  y = dense(scope, y, down);
  if (spec.hasScale)
    scaleColumns(scope, y, scale);
  return arith::AddFOp::create(scope.builder, scope.at(down), x, y);
}

/// The pixels before the layers of a stage: those of images of half the size, with the channels of the stage.
Pixels downsample(const Scope &own, const ConvSpec &spec, const Pixels &from, const ImageSides &to) {
  Value normed = normalize(own, from.x, stageNorm, spec.norm);
  Value windows = cutWindows(own, own.at(stageKernel), normed, from.sides, to, /*side=*/2);
  return {dense(own, windows, stageKernel), to};
}

/// The order of a stage's pixels by the adapters of their images.
std::optional<AdapterRows> orderPixels(const Scope &own, const ImageAdapters &adapters, const ImageSides &sides) {
  if (!adapters.numbers)
    return std::nullopt;
  Location loc = own.at("adapters");
  return orderImages(own.builder, loc, adapters, arith::MulIOp::create(own.builder, loc, sides.height, sides.width));
}

/// The last stage's pixels.
Expected<Pixels> buildStages(const Scope &top, func::FuncOp entry, const Images &images, const ConvSpec &spec) {
  Pixels pixels = buildEmbeddings(top, spec, images.pixels);
  for (size_t stage = 0; stage < spec.stages.size(); ++stage) {
    Scope own{top.builder, top.parameters, pathOf(stage), /*layer=*/nullptr, symbolsOf(stage)};
    if (stage != 0)
      pixels = downsample(own, spec, pixels, sidesOf(own, own.at(stageKernel), images.pixels, spec.patch << stage));
    SmallVector<Value> shared = llvm::to_vector(pixels.sides.values());
    const std::optional<AdapterRows> order = orderPixels(own, images.adapters, pixels.sides);
    addAdapters(order, shared);
    LayerStack stack{.stack = stackOf(spec, stage), .state = pixels.x, .shared = shared};
    auto body = [&](OpBuilder &inner, const LayerRef &layer, ValueRange carried,
                    ValueRange others) -> SmallVector<Value> {
      ValueRange behind = others.drop_front(3);
      const std::optional<AdapterRows> adapters = takeAdapters(bool(order), behind);
      Scope scope{inner,  top.parameters, own.path + "layers.{layer}.",
                  &layer, own.symbols,    adapters ? &*adapters : nullptr};
      return {buildLayer(scope, spec, carried[0], {others[0], others[1], others[2]})};
    };
    RAPT_ASSIGN_OR_RETURN(SmallVector<Value> last, buildLayerStack(top.builder, entry, top.parameters, stack, body));
    pixels.x = last[0];
  }
  return pixels;
}

/// The norm of the mean of each image's pixels, [images, channels].
Value buildPooled(const Scope &top, const ConvSpec &spec, const Pixels &pixels) {
  OpBuilder &builder = top.builder;
  Location loc = top.at("pooler");
  Value length = arith::MulIOp::create(builder, loc, pixels.sides.height, pixels.sides.width);
  Value rowBegin = attn::EqualRowsOp::create(builder, loc, tensorOf({ShapedType::kDynamic}, builder.getI32Type()),
                                             pixels.sides.images, length);
  return normalize(top, poolRows(top, loc, attn::PoolingKind::mean, pixels.x, rowBegin), finalNorm, spec.finalNorm);
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
  if (spec.head == VisionHead::Classification)
    return {{"logits", tensorOf({any, spec.labels}, f32), {"rows"}}};
  const std::string side = "/" + std::to_string(spec.stride());
  return {
      {"last_hidden_state", tensorOf({any, spec.width(), any, any}, f32), {"rows", "height" + side, "width" + side}},
      {"pooler_output", tensorOf({any, spec.width()}, f32), {"rows"}}};
}

Status buildModel(ModelModule &module, func::FuncOp entry, const Images &images, const ConvSpec &spec,
                  const ParameterSet &parameters) {
  Scope top{module.builder(), parameters};
  RAPT_ASSIGN_OR_RETURN(Pixels last, buildStages(top, entry, images, spec));
  Value pooled = buildPooled(top, spec, last);
  if (spec.head == VisionHead::Classification)
    module.endEntry({dense(top, pooled, "classifier")});
  else
    module.endEntry({channelsFirst(top, last), pooled});
  return {};
}

} // namespace

ImportedModule importing::importConv(MLIRContext &context, huggingface::ModelDescription &model,
                                     const ImportOptions &options, const ConvSpec &spec) {
  RAPT_RETURN_IF_ERROR(model.config().finish(spec.harmlessKeys));
  if (options.maxSequenceLength)
    return sequenceBoundError(model);
  RAPT_ASSIGN_OR_RETURN(int64_t most, withContext(model.path(), mostPixels(spec.patch, spec.image, options)));
  const std::string prefix = model.choosePrefix({spec.prefix, ""}, kernel + ".weight");
  ParameterSet parameters = listParameters(spec, prefix);
  RAPT_RETURN_IF_ERROR(parameters.resolve(model, spec.ignoredTensors));
  RAPT_RETURN_IF_ERROR(parameters.addAdapters(model));

  auto count = [](int64_t sum, const ConvStage &stage) { return sum + stage.layers; };
  ModelFacts facts{.family = model.modelType(),
                   .task = imageTask(spec.head),
                   .layers = std::accumulate(spec.stages.begin(), spec.stages.end(), int64_t(0), count),
                   .hidden = spec.width(),
                   .labels = spec.labels,
                   .adapters = adapterNames(model)};
  const int64_t least = spec.stride(), longest = std::max(most, least);
  return makeImageModule(context, facts, model, parameters, options,
                         {.channels = spec.channels,
                          .least = {least, least},
                          .most = {longest, longest},
                          .outputs = listOutputs(Builder(&context), spec),
                          .build = [&](ModelModule &module, func::FuncOp entry, const Images &images) {
                            return buildModel(module, entry, images, spec, parameters);
                          }});
}
