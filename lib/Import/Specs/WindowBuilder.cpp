//===- WindowBuilder.cpp - The module of an encoder of images by windows ---------===//
#include "lib/Import/Module/LayerStack.h"
#include "lib/Import/Parts/Convolution.h"
#include "lib/Import/Parts/LayerBuilder.h"
#include "lib/Import/Parts/Walk.h"
#include "lib/Import/Specs/VisionTokens.h"
#include "lib/Import/Specs/WindowSpec.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <numeric>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

namespace {

const std::string kernel = "embeddings.patch_embeddings.projection", embeddingNorm = "embeddings.norm",
                  finalNorm = "layernorm", mergeNorm = "downsample.norm", merge = "downsample.reduction";

std::string symbolsOf(size_t stage) { return "stage" + std::to_string(stage) + "."; }
std::string pathOf(size_t stage) { return "encoder.layers." + std::to_string(stage) + "."; }

/// The layers of a stage, whose parameters and functions are told apart by its number.
Stack stackOf(const WindowSpec &spec, size_t stage) {
  return {spec.stages[stage].layers, "stage" + std::to_string(stage)};
}

void addStage(ParameterSet &parameters, const WindowSpec &spec, const std::string &prefix, size_t number) {
  const WindowStage &stage = spec.stages[number];
  ParameterScope own{parameters, prefix + pathOf(number), symbolsOf(number)};
  ParameterScope layer{parameters, own.tensors + stage.layer, own.symbols, stackOf(spec, number)};
  parameters.addTable(layer.symbols + stage.biasTable, layer.tensors + stage.biasTable,
                      {windowBiasRows(stage.grid.side), stage.attention.heads}, Init::embedding(), layer.stack);
  addLayers(stage, layer);
  if (number + 1 == spec.stages.size())
    return;
  addNorm(own, mergeNorm, spec.inputNorm, 4 * stage.width);
  own.dense(merge, spec.stages[number + 1].width, 4 * stage.width, /*hasBias=*/false);
}

ParameterSet listParameters(const WindowSpec &spec, const std::string &prefix) {
  ParameterSet parameters;
  ParameterScope top{parameters, prefix};
  const int64_t width = spec.stages[0].width;
  addPatches(top, kernel, width, spec.channels, spec.patch);
  addNorm(top, embeddingNorm, spec.inputNorm, width);
  for (size_t stage = 0; stage < spec.stages.size(); ++stage)
    addStage(parameters, spec, prefix, stage);
  addNorm(top, finalNorm, spec.norm, spec.last().width);
  if (spec.head == VisionHead::Classification)
    ParameterScope{parameters, ""}.dense("classifier", spec.labels, spec.last().width);
  return parameters;
}

Value selectRows(OpBuilder &builder, Location loc, Value x, Value rows) {
  return attn::SelectRowsOp::create(builder, loc, x.getType(), x, rows);
}

/// Emits the layers of a stage and what makes the next one's patches.
class StageBuilder {
public:
  StageBuilder(const Scope &scope, const WindowSpec &spec, size_t number, Value images, const ImageAdapters &adapters)
      : scope(scope), builder(scope.builder), spec(spec), number(number), stage(spec.stages[number]), images(images),
        adapters(adapters) {}

  /// The patches behind the last layer; both are row by row, [tokens, width].
  Expected<Value> build(func::FuncOp entry, Value x) {
    Location loc = scope.at("windows");
    const GridOrder plain{.isOfWindows = false}, windows, shifted{.shift = stage.shift};
    x = selectRows(builder, loc, x, reorder(scope, loc, images, stage.grid, plain, windows));
    Value windowBegin = equalRows(loc, stage.grid.windows(), stage.grid.side * stage.grid.side);
    SmallVector<Value> shared = {windowBegin};
    // Those of an image stay together in every order of its patches.
    const std::optional<AdapterRows> order =
        orderImages(builder, scope.at("adapters"), adapters, constantIndex(loc, stage.grid.patches()));
    addAdapters(order, shared);
    LayerStack stack{.stack = stackOf(spec, number), .state = x};
    if (stage.shift != 0) {
      shared.push_back(reorder(scope, loc, images, stage.grid, windows, shifted));
      shared.push_back(reorder(scope, loc, images, stage.grid, shifted, windows));
      for (int64_t layer = 0; layer < stage.layers; ++layer)
        stack.kinds.push_back(unsigned(layer % 2));
    }
    stack.shared = shared;
    auto body = [&](OpBuilder &inner, const LayerRef &layer, ValueRange carried,
                    ValueRange others) -> SmallVector<Value> {
      ValueRange orders = others.drop_front();
      const std::optional<AdapterRows> own = takeAdapters(bool(order), orders);
      return {
          buildLayer({inner, scope.parameters, scope.path + stage.layer, &layer, scope.symbols, own ? &*own : nullptr},
                     carried[0], others[0], orders)};
    };
    RAPT_ASSIGN_OR_RETURN(SmallVector<Value> last, buildLayerStack(builder, entry, scope.parameters, stack, body));
    return selectRows(builder, loc, last[0], reorder(scope, loc, images, stage.grid, windows, plain));
  }

  /// 2 x 2 patches as one.
  Value mergePatches(Value x) {
    Location loc = scope.at(merge);
    auto sides = [&](int64_t by) -> ImageSides {
      return {images, constantIndex(loc, stage.grid.rows / by), constantIndex(loc, stage.grid.columns / by)};
    };
    Value four = cutWindows(scope, loc, x, sides(1), sides(2), /*side=*/2);
    return dense(scope, normalize(scope, four, mergeNorm, spec.inputNorm), merge);
  }

  /// Offsets of the rows of all images, of which each has `rows` of `length` tokens.
  Value equalRows(Location loc, int64_t rows, int64_t length) {
    Value count = arith::MulIOp::create(builder, loc, images, constantIndex(loc, rows));
    auto type = tensorOf({ShapedType::kDynamic}, builder.getI32Type());
    return attn::EqualRowsOp::create(builder, loc, type, count, constantIndex(loc, length));
  }

private:
  Value constantIndex(Location loc, int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

  /// `windowBegin` are the offsets of windows and `orders`, where every second layer shifts them, those to shifted
  /// windows and back. All but attention is of each patch alone: a layer of shifted windows computes in their order.
  Value buildLayer(const Scope &own, Value x, Value windowBegin, ValueRange orders) {
    const int64_t shift = stage.shiftOf(own.layer->example);
    auto mix = [&](Location loc, std::array<Value, 3> heads, Value scale, std::optional<int64_t>) -> Mixed {
      Value table = own.weight(stage.biasTable);
      attn::AttentionOp op = rowAttention(own, loc, heads, scale, windowBegin);
      addWindowBias(own, stage.grid, shift, op, table);
      return {op.getResult(), op};
    };
    Location loc = own.at("windows");
    if (shift != 0)
      x = selectRows(own.builder, loc, x, orders[0]);
    x = importing::buildLayer(own, stage, x, /*rotation=*/{}, mix);
    return shift == 0 ? x : selectRows(own.builder, loc, x, orders[1]);
  }

  const Scope &scope;
  OpBuilder &builder;
  const WindowSpec &spec;
  size_t number;
  const WindowStage &stage;
  Value images;
  ImageAdapters adapters;
};

SmallVector<EntryBuffer> listOutputs(Builder builder, const WindowSpec &spec) {
  const int64_t any = ShapedType::kDynamic, width = spec.last().width;
  Type f32 = builder.getF32Type();
  if (spec.head == VisionHead::Classification)
    return {{"logits", tensorOf({any, spec.labels}, f32), {"rows"}}};
  return {{"last_hidden_state", tensorOf({any, spec.last().grid.patches(), width}, f32), {"rows"}},
          {"pooler_output", tensorOf({any, width}, f32), {"rows"}}};
}

/// The body of the entry.
Status buildModel(ModelModule &module, func::FuncOp entry, const Images &of, const WindowSpec &spec,
                  const ParameterSet &parameters) {
  OpBuilder &builder = module.builder();
  Scope top{builder, parameters};
  Value pixels = of.pixels, images = tensor::DimOp::create(builder, top.at("pixel_values"), pixels, 0);
  const int64_t any = ShapedType::kDynamic;
  auto cut = tensorOf({any, spec.channels * spec.patch * spec.patch}, builder.getF32Type());
  Value patches = attn::PatchesOp::create(builder, top.at(kernel), cut, pixels, uint64_t(spec.patch));
  Value x = normalize(top, dense(top, patches, kernel), embeddingNorm, spec.inputNorm);
  for (size_t number = 0; number < spec.stages.size(); ++number) {
    Scope own{builder, parameters, pathOf(number), /*layer=*/nullptr, symbolsOf(number)};
    StageBuilder stage(own, spec, number, images, of.adapters);
    RAPT_ASSIGN_OR_RETURN(Value last, stage.build(entry, x));
    x = number + 1 == spec.stages.size() ? last : stage.mergePatches(last);
  }
  x = normalize(top, x, finalNorm, spec.norm);
  Location loc = top.at("pooler");
  const WindowGrid &grid = spec.last().grid;
  Value length = arith::ConstantIndexOp::create(builder, loc, grid.patches());
  auto offsets = tensorOf({any}, builder.getI32Type());
  Value rowBegin = attn::EqualRowsOp::create(builder, loc, offsets, images, length);
  Value pooled = poolRows(top, loc, attn::PoolingKind::mean, x, rowBegin);
  if (spec.head == VisionHead::Classification) {
    module.endEntry({dense(top, pooled, "classifier")});
    return {};
  }
  const SmallVector<OpFoldResult> sizes = {images, builder.getIndexAttr(grid.patches()),
                                           builder.getIndexAttr(spec.last().width)};
  Value rows = tensor::ExpandShapeOp::create(builder, top.at("last_hidden_state"),
                                             tensorOf({any, grid.patches(), spec.last().width}, builder.getF32Type()),
                                             x, ArrayRef<ReassociationIndices>{{0, 1}, {2}}, sizes);
  module.endEntry({rows, pooled});
  return {};
}

ModelFacts factsOf(const huggingface::ModelDescription &model, const WindowSpec &spec) {
  auto count = [](int64_t sum, const WindowStage &stage) { return sum + stage.layers; };
  return {.family = model.modelType(),
          .task = imageTask(spec.head),
          .layers = std::accumulate(spec.stages.begin(), spec.stages.end(), int64_t(0), count),
          .hidden = spec.last().width,
          .labels = spec.labels,
          .adapters = adapterNames(model)};
}

} // namespace

ImportedModule importing::importWindows(MLIRContext &context, huggingface::ModelDescription &model,
                                        const ImportOptions &options, const WindowSpec &spec) {
  RAPT_RETURN_IF_ERROR(model.config().finish(spec.harmlessKeys));
  if (options.maxSequenceLength)
    return sequenceBoundError(model);
  RAPT_RETURN_IF_ERROR(withContext(model.path(), mostPixels(spec.patch, spec.image, options)));
  RAPT_RETURN_IF_ERROR(requireImageSize(model, spec.image, "biases of scores are"));
  const std::string prefix = model.choosePrefix({spec.prefix, ""}, kernel + ".weight");
  ParameterSet parameters = listParameters(spec, prefix);
  RAPT_RETURN_IF_ERROR(parameters.resolve(model, spec.ignoredTensors));
  RAPT_RETURN_IF_ERROR(parameters.addAdapters(model));
  return makeImageModule(context, factsOf(model, spec), model, parameters, options,
                         {.channels = spec.channels,
                          .least = spec.image,
                          .most = spec.image,
                          .outputs = listOutputs(Builder(&context), spec),
                          .build = [&](ModelModule &module, func::FuncOp entry, const Images &images) {
                            return buildModel(module, entry, images, spec, parameters);
                          }});
}
