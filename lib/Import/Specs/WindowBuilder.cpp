//===- WindowBuilder.cpp - The module of an encoder of images by windows ---------===//
#include "lib/Import/Parts/Convolution.h"
#include "lib/Import/Parts/LayerBuilder.h"
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

const std::string embeddingNorm = "embeddings.norm", finalNorm = "layernorm", mergeNorm = "downsample.norm",
                  merge = "downsample.reduction";

Value selectRows(OpBuilder &builder, Location loc, Value x, Value rows) {
  return attn::SelectRowsOp::create(builder, loc, x.getType(), x, rows);
}

Value constantIndex(const Scope &scope, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(scope.builder, loc, value);
}

/// Offsets of the rows of all images, of which each has `rows` of `length` tokens.
Value equalRows(const Scope &scope, Location loc, Value images, int64_t rows, int64_t length) {
  Value count = arith::MulIOp::create(scope.builder, loc, images, constantIndex(scope, loc, rows));
  auto type = tensorOf({ShapedType::kDynamic}, scope.builder.getI32Type());
  return attn::EqualRowsOp::create(scope.builder, loc, type, count, constantIndex(scope, loc, length));
}

/// Walks the layers of a stage and what makes the next one's patches.
class StageWalk {
public:
  /// The names of a stage's parameters and functions have its number.
  StageWalk(const Walk &walk, const WindowSpec &spec, size_t number, Value images, const ImageAdapters &adapters)
      : walk(walk.inside("encoder.layers." + std::to_string(number) + ".", "stage" + std::to_string(number) + ".")),
        spec(spec), number(number), stage(spec.stages[number]), images(images), adapters(adapters) {}

  /// The patches behind the last layer; both are row by row, [tokens, width].
  Expected<Value> patches(Value x) {
    WalkedLayers layers{.loop = {.stack = {stage.layers, "stage" + std::to_string(number)}}, .path = stage.layer};
    const GridOrder plain{.isOfWindows = false}, windows, shifted{.shift = stage.shift};
    for (int64_t layer = 0; stage.shift != 0 && layer < stage.layers; ++layer)
      layers.loop.kinds.push_back(unsigned(layer % 2));
    layers.state = {reordered(x, plain, windows)};
    layers.shared = {walk.emit([&](const Scope &scope) {
      return equalRows(scope, scope.at("windows"), images, stage.grid.windows(), stage.grid.side * stage.grid.side);
    })};
    walk.emit([&](const Scope &scope) {
      // Those of an image stay together in every order of its patches.
      layers.adapters = orderImages(scope.builder, scope.at("adapters"), adapters,
                                    constantIndex(scope, scope.at("windows"), stage.grid.patches()));
      Location loc = scope.at("windows");
      if (stage.shift != 0)
        layers.further = {reorder(scope, loc, images, stage.grid, windows, shifted),
                          reorder(scope, loc, images, stage.grid, shifted, windows)};
    });
    auto body = [&](const Walk &layer, ValueRange state, ValueRange shared) -> SmallVector<Value> {
      return {layerOf(layer, state[0], shared[0], shared.drop_front())};
    };
    RAPT_ASSIGN_OR_RETURN(SmallVector<Value> last, walkLayers(walk, layers, body));
    return reordered(last[0], windows, plain);
  }

  /// 2 x 2 patches as one.
  Value merged(Value x) {
    const int64_t columns = 4 * stage.width;
    Value four = walk.emit([&](const Scope &scope) {
      Location loc = scope.at(merge);
      auto sides = [&](int64_t by) -> ImageSides {
        return {images, constantIndex(scope, loc, stage.grid.rows / by),
                constantIndex(scope, loc, stage.grid.columns / by)};
      };
      return cutWindows(scope, loc, x, sides(1), sides(2), {.side = 2});
    });
    four = walk.norm(four, mergeNorm, spec.inputNorm, columns);
    return walk.matmul(four, {.part = merge, .out = spec.stages[number + 1].width, .in = columns, .hasBias = false});
  }

private:
  Value reordered(Value x, const GridOrder &from, const GridOrder &to) {
    return walk.emit([&](const Scope &scope) {
      Location loc = scope.at("windows");
      return selectRows(scope.builder, loc, x, reorder(scope, loc, images, stage.grid, from, to));
    });
  }

  /// `windowBegin` are the offsets of windows and `orders`, where every second layer shifts them, those to shifted
  /// windows and back. All but attention is of each patch alone: a layer of shifted windows computes in their order.
  Value layerOf(const Walk &layer, Value x, Value windowBegin, ValueRange orders) {
    layer.declare([&](const ParameterScope &weights) {
      weights.parameters.addTable(weights.symbols + stage.biasTable, weights.tensors + stage.biasTable,
                                  {windowBiasRows(stage.grid.side), stage.attention.heads}, Init::embedding(),
                                  weights.stack);
    });
    auto inOrder = [&](Value patches, size_t which) {
      return layer.emit([&](const Scope &own) {
        return stage.shiftOf(own.layer->example) == 0
                   ? patches
                   : selectRows(own.builder, own.at("windows"), patches, orders[which]);
      });
    };
    auto attend = [&](const Scope &own, Location loc, std::array<Value, 3> heads, Value scale,
                      std::optional<int64_t>) -> Attended {
      Value table = own.weight(stage.biasTable);
      attn::AttentionOp op = rowAttention(own, loc, heads, scale, windowBegin);
      addWindowBias(own, stage.grid, stage.shiftOf(own.layer->example), op, table);
      return {op.getResult(), op};
    };
    return inOrder(walkLayer(layer, stage, inOrder(x, 0), {.attend = attend}), 1);
  }

  Walk walk;
  const WindowSpec &spec;
  size_t number;
  const WindowStage &stage;
  Value images;
  ImageAdapters adapters;
};

SmallVector<EntryBuffer> listOutputs(Builder builder, const WindowSpec &spec) {
  const int64_t any = ShapedType::kDynamic, width = spec.last().width;
  Type f32 = builder.getF32Type();
  return {{"last_hidden_state", tensorOf({any, spec.last().grid.patches(), width}, f32), {"rows"}},
          {"pooler_output", tensorOf({any, width}, f32), {"rows"}}};
}

Expected<SmallVector<Value>> walkModel(const Walk &walk, const WindowSpec &spec, const Images &of) {
  const int64_t any = ShapedType::kDynamic, width = spec.stages[0].width;
  Value images = walk.emit(
      [&](const Scope &top) { return tensor::DimOp::create(top.builder, top.at("pixel_values"), of.pixels, 0); });
  Value x = walk.norm(walkPatches(walk, spec, spec.kernel, width, of.pixels), embeddingNorm, spec.inputNorm, width);
  for (size_t number = 0; number < spec.stages.size(); ++number) {
    StageWalk stage(walk, spec, number, images, of.adapters);
    RAPT_ASSIGN_OR_RETURN(Value last, stage.patches(x));
    x = number + 1 == spec.stages.size() ? last : stage.merged(last);
  }
  const int64_t patches = spec.last().grid.patches(), last = spec.last().width;
  x = walk.norm(x, finalNorm, spec.norm, last);
  Value pooled = walk.emit([&](const Scope &top) {
    Location loc = top.at("pooler");
    Value length = constantIndex(top, loc, patches);
    auto offsets = tensorOf({any}, top.builder.getI32Type());
    Value rowBegin = attn::EqualRowsOp::create(top.builder, loc, offsets, images, length);
    return poolRows(top, loc, attn::PoolingKind::mean, x, rowBegin);
  });
  if (spec.head == VisionHead::Classification)
    return SmallVector<Value>{walkClassifier(walk, spec, pooled, last)};
  Value rows = walk.emit([&](const Scope &top) {
    OpBuilder &builder = top.builder;
    const SmallVector<OpFoldResult> sizes = {images, builder.getIndexAttr(patches), builder.getIndexAttr(last)};
    return tensor::ExpandShapeOp::create(builder, top.at("last_hidden_state"),
                                         tensorOf({any, patches, last}, builder.getF32Type()), x,
                                         ArrayRef<ReassociationIndices>{{0, 1}, {2}}, sizes);
  });
  return SmallVector<Value>{rows, pooled};
}

} // namespace

ImportedModule importing::importWindows(MLIRContext &context, huggingface::ModelDescription &model,
                                        const ImportOptions &options, const WindowSpec &spec) {
  RAPT_RETURN_IF_ERROR(finishConfig(model, options, spec));
  RAPT_RETURN_IF_ERROR(mostPixels(model, spec, options));
  RAPT_RETURN_IF_ERROR(requireImageSize(model, spec.image, "biases of scores are"));
  auto count = [](int64_t sum, const WindowStage &stage) { return sum + stage.layers; };
  const StackSpec all{.width = spec.last().width,
                      .layers = std::accumulate(spec.stages.begin(), spec.stages.end(), int64_t(0), count)};
  return importImages(context, model, options, spec,
                      {.facts = factsOf(model, all),
                       .least = spec.image,
                       .most = spec.image,
                       .outputs = listOutputs(Builder(&context), spec),
                       .walk = [&](const Walk &walk, Images &images) { return walkModel(walk, spec, images); }});
}
