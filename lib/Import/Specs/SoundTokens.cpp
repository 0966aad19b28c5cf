//===- SoundTokens.cpp - The encoder of sounds in a text ------------------------===//
#include "lib/Import/Specs/SoundTokens.h"
#include "lib/Import/Parts/Convolution.h"
#include "lib/Import/Parts/Elements.h"
#include "lib/Import/Parts/Mixers.h"
#include "lib/Import/Parts/RelativePositions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using artifact::Slice;
using huggingface::Init;

namespace {

constexpr const char *subsampling = "subsample_conv_projection.";

Value extentOf(const Scope &scope, Location loc, Value x, int64_t dim) {
  return tensor::DimOp::create(scope.builder, loc, x, dim);
}

/// Half of an extent of one or more, rounded up: told of the extent less one, which is a dim of the entry.
Value halved(const Scope &scope, Location loc, Value extent) {
  OpBuilder &b = scope.builder;
  Value one = arith::ConstantIndexOp::create(b, loc, 1), two = arith::ConstantIndexOp::create(b, loc, 2);
  Value half = arith::DivUIOp::create(b, loc, arith::SubIOp::create(b, loc, extent, one), two);
  return arith::AddIOp::create(b, loc, half, one);
}

/// Rows of so many neighbors as one row each.
Value joinRows(const Scope &scope, Location loc, Value x, Value rows, int64_t neighbors) {
  OpBuilder &b = scope.builder;
  const int64_t columns = cast<RankedTensorType>(x.getType()).getDimSize(1);
  auto apart = RankedTensorType::get({ShapedType::kDynamic, neighbors, columns}, b.getF32Type());
  const SmallVector<OpFoldResult> sizes = {rows, b.getIndexAttr(neighbors), b.getIndexAttr(columns)};
  Value grouped = tensor::ExpandShapeOp::create(b, loc, apart, x, ArrayRef<ReassociationIndices>{{0, 1}, {2}}, sizes);
  return tensor::CollapseShapeOp::create(b, loc, grouped, ArrayRef<ReassociationIndices>{{0}, {1, 2}});
}

/// Tokens of four frames each, [tokens, width]: convolutions halve frames and numbers, rounded up.
Value walkSubsampling(const Walk &walk, const SoundSpec &spec, Sounds &sounds) {
  ImageSides sides;
  Value x = walk.emit([&](const Scope &top) -> Value {
    Location loc = top.at(subsampling);
    sides = {extentOf(top, loc, sounds.features, 0), extentOf(top, loc, sounds.features, 1),
             arith::ConstantIndexOp::create(top.builder, loc, spec.numbers)};
    // A number is a pixel of one channel.
    auto pixels = RankedTensorType::get({ShapedType::kDynamic, spec.numbers, 1}, top.builder.getF32Type());
    Value frames =
        tensor::CollapseShapeOp::create(top.builder, loc, sounds.features, ArrayRef<ReassociationIndices>{{0, 1}, {2}});
    const SmallVector<OpFoldResult> sizes = {extentOf(top, loc, frames, 0), top.builder.getIndexAttr(spec.numbers),
                                             top.builder.getIndexAttr(1)};
    frames = tensor::ExpandShapeOp::create(top.builder, loc, pixels, frames,
                                           ArrayRef<ReassociationIndices>{{0}, {1, 2}}, sizes);
    return tensor::CollapseShapeOp::create(top.builder, loc, frames, ArrayRef<ReassociationIndices>{{0, 1}, {2}});
  });
  const NormSpec norm{.kind = NormSpec::Layer, .epsilon = spec.norm.epsilon};
  int64_t in = 1, columns = spec.numbers;
  for (size_t i = 0; i < spec.channels.size(); ++i) {
    const std::string part = subsampling + ("layer" + std::to_string(i)) + ".";
    const ImageSides to = walk.emit([&](const Scope &top) -> ImageSides {
      Location loc = top.at(part + "conv");
      return {sides.images, halved(top, loc, sides.height),
              arith::ConstantIndexOp::create(top.builder, loc, (columns + 1) / 2)};
    });
    x = walkStrided(walk, x, sides, to, part + "conv", spec.channels[i], in, {.side = 3, .stride = 2, .margin = 1},
                    /*hasBias=*/false);
    x = walk.activate(walk.norm(x, part + "norm", norm, spec.channels[i]), part + "act", attn::ActivationKind::relu);
    sides = to, in = spec.channels[i], columns = (columns + 1) / 2;
  }
  x = walk.emit([&](const Scope &top) -> Value {
    Location loc = top.at(subsampling);
    sounds.length = sides.height;
    return joinRows(top, loc, x, arith::MulIOp::create(top.builder, loc, sides.images, sides.height), columns);
  });
  return walk.matmul(x, {.part = std::string(subsampling) + "input_proj_linear",
                         .out = spec.width,
                         .in = columns * in,
                         .hasBias = false});
}

/// Walks the parts of a layer.
class SoundLayer {
public:
  SoundLayer(const Walk &walk, const SoundSpec &spec, Value rowBegin, Value distances)
      : walk(walk), spec(spec), rowBegin(rowBegin), distances(distances) {}

  Value layer(Value x) {
    x = halfStep(x, "feed_forward1.");
    Value y = attention(norm(bounded(x, "norm_pre_attn"), "norm_pre_attn"));
    x = walk.add(x, norm(bounded(y, "norm_post_attn"), "norm_post_attn"), "self_attn.post.linear");
    x = walk.add(x, convolution(x), "lconv1d.linear_end.linear");
    return norm(bounded(halfStep(x, "feed_forward2."), "norm_out"), "norm_out");
  }

private:
  /// Most norms have the epsilon of their class, whatever the configuration says.
  Value norm(Value x, const std::string &part) { return walk.norm(x, part, NormSpec{.epsilon = 1e-6}, spec.width); }

  Value bounded(Value x, const std::string &part) {
    return walk.emit([&](const Scope &scope) -> Value {
      FloatAttr bound = scope.builder.getF32FloatAttr(float(spec.bound));
      return attn::ClipOp::create(scope.builder, scope.at(part), x, bound);
    });
  }

  Value matmul(Value x, const std::string &part, int64_t out, int64_t in) {
    return walk.matmul(x, {.part = part, .out = out, .in = in, .hasBias = false, .bounds = spec.boundsOf(part)});
  }

  /// x plus a share of what a feed-forward gives.
  Value halfStep(Value x, const std::string &path) {
    const std::string up = path + "ffw_layer_1.linear", down = path + "ffw_layer_2.linear";
    Value y = norm(bounded(x, path + "pre_layer_norm"), path + "pre_layer_norm");
    y = walk.activate(matmul(y, up, spec.feedForward.inner, spec.width), up, spec.feedForward.activation);
    y = bounded(matmul(y, down, spec.width, spec.feedForward.inner), path + "post_layer_norm");
    y = timesNumber(walk, norm(y, path + "post_layer_norm"), spec.residualShare, path + "post_layer_norm");
    return walk.add(x, y, down);
  }

  /// Queries are times a factor of each channel of a head, softplus of a weight.
  Value scaledQueries(Value query) {
    const std::string part = "self_attn.per_dim_scale";
    walk.declare([&](const ParameterScope &weights) { weights.add(part, {spec.attention.headDim}, Init::bias()); });
    return walk.emit([&](const Scope &scope) -> Value {
      Location loc = scope.at(part);
      const double unit = 1 / (std::sqrt(double(spec.attention.headDim)) * std::log(2.0));
      return mapElements(
          scope, loc, {{query, {0, 1, 2}}, {scope.weight(part), {2}}}, [&](const Scope &inner, ValueRange e) -> Value {
            OpBuilder &b = inner.builder;
            Value factor = arith::MulFOp::create(b, loc, softplus(inner, loc, e[1]), constant(inner, loc, unit));
            return arith::MulFOp::create(b, loc, e[0], factor);
          });
    });
  }

  Value attention(Value x) {
    const AttentionSpec &a = spec.attention;
    std::array<Value, 3> heads;
    for (size_t which = 0; which < heads.size(); ++which)
      heads[which] = walk.splitHeads(matmul(x, a.parts[which], spec.width, spec.width), a.parts[which], a.heads);
    heads[0] = scaledQueries(heads[0]);
    const std::string positions = "self_attn.relative_k_proj";
    walk.declare([&](const ParameterScope &weights) {
      // In two steps, so that it is no matrix that tokens' adapters may change.
      weights.parameters.addTransformed(
          weights.symbols + positions + ".weight",
          {weights.tensors + positions + ".weight",
           {spec.width, spec.width},
           {artifact::Reshape{{spec.width * spec.width}}, artifact::Reshape{{spec.width, spec.width}}}},
          Init::weight(spec.width), weights.stack);
    });
    Value mixed = walk.emit([&](const Scope &scope) {
      Location loc = scope.at(a.location);
      Value table = multiplyPositions(scope, heads[0], distances, positions);
      attn::AttentionOp op = rowAttention(scope, loc, heads, constant(scope, loc, a.scale), rowBegin);
      keepCausal(op, spec.window);
      addRelativeKeys(scope, op, table, rowBegin, a.softCap);
      return mergeHeads(scope, loc, op.getResult());
    });
    return matmul(mixed, a.out, spec.width, spec.width);
  }

  Value convolution(Value x) {
    // The gates' rows are behind those of what they gate.
    auto half = [&](Value of, const std::string &name, int64_t begin) {
      return walk.matmul(of, {.part = "lconv1d.linear_start." + name,
                              .out = spec.width,
                              .in = spec.width,
                              .hasBias = false,
                              .stem = "lconv1d.linear_start.linear.",
                              .rows = RowsOf{{2 * spec.width}, Slice{0, begin, begin + spec.width}},
                              .bounds = spec.boundsOf("lconv1d.linear_start.linear")});
    };
    Value y = walk.norm(x, "lconv1d.pre_layer_norm", spec.norm, spec.width);
    Value value = half(y, "value", 0), gate = half(y, "gate", spec.width);
    y = walk.emit([&](const Scope &scope) -> Value {
      return attn::GLUOp::create(scope.builder, scope.at("lconv1d.glu"), attn::ActivationKind::sigmoid, gate, value);
    });
    MixerStates states{.rowBegin = rowBegin};
    y = walkShortConvolution(walk, {.part = "lconv1d.depthwise_conv1d", .taps = spec.taps, .activation = std::nullopt},
                             y, spec.width, &states);
    y = walk.norm(bounded(y, "lconv1d.conv_norm"), "lconv1d.conv_norm", spec.norm, spec.width);
    y = walk.activate(y, "lconv1d.act", spec.feedForward.activation);
    return matmul(y, "lconv1d.linear_end.linear", spec.width, spec.width);
  }

  const Walk &walk;
  const SoundSpec &spec;
  Value rowBegin, distances;
};

} // namespace

Expected<Value> importing::walkSoundTokens(const Walk &walk, const SoundSpec &spec, Sounds &sounds) {
  if (!spec.isEncoded)
    return walk.emit([&](const Scope &top) -> Value {
      Location loc = top.at("input_features");
      sounds.length = extentOf(top, loc, sounds.features, 1);
      return tensor::CollapseShapeOp::create(top.builder, loc, sounds.features,
                                             ArrayRef<ReassociationIndices>{{0, 1}, {2}});
    });
  Value x = walkSubsampling(walk, spec, sounds);
  WalkedLayers layers{.loop = {.stack = Stack{spec.layers, "audio"}}, .path = spec.layer, .state = {x}};
  walk.emit([&](const Scope &top) {
    OpBuilder &builder = top.builder;
    Location loc = top.at("rel_pos_enc");
    auto offsets = RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
    layers.shared = {
        attn::EqualRowsOp::create(builder, loc, offsets, extentOf(top, loc, sounds.features, 0), sounds.length),
        buildDistances(top, loc, spec.window, spec.firstDistance, spec.width)};
    layers.adapters = orderImages(builder, top.at("adapters"), sounds.adapters, sounds.length);
  });
  if (walk.declares())
    layers.shared = {Value(), Value()};
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> last,
                        walkLayers(walk, layers, [&](const Walk &layer, ValueRange state, ValueRange shared) {
                          return SmallVector<Value>{SoundLayer(layer, spec, shared[0], shared[1]).layer(state[0])};
                        }));
  return walk.matmul(last[0], {.part = "output_proj", .out = spec.outWidth, .in = spec.width, .hasBias = true});
}
