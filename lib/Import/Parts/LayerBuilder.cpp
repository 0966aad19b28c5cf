//===- LayerBuilder.cpp - One layer of attention and feed-forward --------------===//
#include "lib/Import/Parts/LayerBuilder.h"
#include "lib/Import/Parts/AxisRotation.h"
#include "lib/Import/Parts/Elements.h"
#include "lib/Import/Parts/FeedForward.h"
#include "lib/Import/Parts/LatentAttention.h"
#include "lib/Import/Parts/PackedRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>
#include <map>
#include <tuple>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using artifact::Reshape;
using artifact::Slice;
using huggingface::Init;

/// The weights of the norm of queries or keys.
static void addHeadNorm(const ParameterScope &weights, const AttentionSpec &attention, const std::string &part,
                        int64_t heads) {
  const QueryKeyNormSpec &n = *attention.norm;
  const int64_t channels = attention.headDim;
  if (attention.rotatesHalves) {
    assert(n.extent == QueryKeyNormSpec::Head && n.norm.hasWeight && !n.norm.hasBias && !n.norm.isAroundOne);
    return weights.parameters.addTransformed(
        weights.symbols + part + ".weight",
        {weights.tensors + part + ".weight",
         {channels},
         {Reshape{{2, 2, channels / 4}}, artifact::Transpose{{1, 0, 2}}, Reshape{{channels}}}},
        Init::normWeight(), weights.stack);
  }
  if (n.extent == QueryKeyNormSpec::Head)
    return addNorm(weights, part, n.norm, channels);
  if (n.extent == QueryKeyNormSpec::All)
    return addNorm(weights, part, n.norm, heads * channels);
  assert(n.norm.hasWeight && !n.norm.hasBias && !n.norm.isAroundOne && "a head's own norm has a weight alone");
  std::vector<artifact::Source> rows;
  const size_t at = part.find(headPlaceholder);
  if (at == std::string::npos)
    rows.push_back({weights.tensors + part + ".weight", {heads, channels}});
  for (int64_t head = 0; at != std::string::npos && head < heads; ++head) {
    std::string own = part;
    own.replace(at, headPlaceholder.size(), std::to_string(head));
    rows.push_back({weights.tensors + own + ".weight", {channels}, {Reshape{{1, channels}}}});
  }
  weights.parameters.addRows(weights.symbols + part + ".weight", std::move(rows), Init::normWeight(), weights.stack,
                             /*isTable=*/true);
}

namespace {

/// Emits what changes the scores of a layer's attention.
class Scores {
public:
  Scores(const Scope &scope, const AttentionSpec &attention)
      : scope(scope), builder(scope.builder), attention(attention) {}

  /// The scale of scores, which may depend on the layer.
  Value buildScale(Location loc) {
    Value scale = constant(scope, loc, attention.scale);
    if (!attention.isScaledByLayer)
      return scale;
    Value number = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), scope.layer->number);
    Value real = arith::SIToFPOp::create(builder, loc, builder.getF32Type(), number);
    Value divisor = arith::AddFOp::create(builder, loc, real, constant(scope, loc, 1));
    return arith::DivFOp::create(builder, loc, scale, divisor);
  }

  /// The growth with the query's position, the soft cap and ALiBi's bias:
  /// cap * tanh(growth * score / cap) + slope * (key - query).
  void changeScores(attn::AttentionOp op) {
    const double cap = attention.softCap;
    if (!attention.slopes.empty())
      addSlopes(op);
    else if (cap == 0 && !attention.growth)
      return;
    mapScores(scope, op, [&](const Scope &inner, Location loc, ValueRange arguments) {
      OpBuilder &b = inner.builder;
      Value score = arguments[0];
      if (attention.growth)
        score = arith::MulFOp::create(b, loc, score, buildGrowth(inner, loc, arguments[3]));
      if (cap != 0)
        score = softCapped(inner, loc, score, cap);
      if (attention.slopes.empty())
        return score;
      Value ahead = arith::SubIOp::create(b, loc, arguments[4], arguments[3]);
      ahead = arith::IndexCastOp::create(b, loc, b.getI32Type(), ahead);
      Value distance = arith::SIToFPOp::create(b, loc, b.getF32Type(), ahead);
      return arith::AddFOp::create(b, loc, score, arith::MulFOp::create(b, loc, arguments[5], distance)).getResult();
    });
  }

private:
  /// ALiBi's slopes as an operand of the attention, one for each query head.
  void addSlopes(attn::AttentionOp op) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(op);
    using A = attn::AttentionOp;
    const int64_t group = attention.heads / attention.kvHeads;
    SmallVector<int64_t> shape{attention.kvHeads};
    SmallVector<AffineExpr> dims{builder.getAffineDimExpr(A::HKV)};
    if (group != 1) {
      shape.push_back(group);
      dims.push_back(builder.getAffineDimExpr(A::G));
    }
    auto values =
        DenseElementsAttr::get(RankedTensorType::get(shape, builder.getF32Type()), ArrayRef(attention.slopes));
    Value slopes = arith::ConstantOp::create(builder, scope.at("alibi"), values);
    addExtra(op, slopes, AffineMap::get(A::NumDims, 0, dims, builder.getContext()));
  }

  /// The factor of a query's scores that grows with its position.
  Value buildGrowth(const Scope &inner, Location loc, Value position) {
    OpBuilder &b = inner.builder;
    Value original = arith::ConstantIndexOp::create(b, loc, attention.growth->original);
    Value times = arith::DivUIOp::create(b, loc, position, original);
    times = arith::IndexCastOp::create(b, loc, b.getI32Type(), times);
    Value count = arith::SIToFPOp::create(b, loc, b.getF32Type(), times);
    Value one = constant(inner, loc, 1);
    Value logarithm = math::LogOp::create(b, loc, arith::AddFOp::create(b, loc, one, count));
    Value growth = arith::MulFOp::create(b, loc, constant(inner, loc, attention.growth->factor), logarithm);
    return arith::AddFOp::create(b, loc, one, growth);
  }

  const Scope &scope;
  OpBuilder &builder;
  const AttentionSpec &attention;
};

/// Walks the parts of a layer.
class LayerWalk {
public:
  LayerWalk(const Walk &walk, const StackSpec &spec, const LayerInputs &inputs = {}, bool hasOtherResidual = false)
      : LayerWalk(walk, spec, spec.attention, hasOtherResidual ? *spec.otherResidual : spec.residual, inputs) {}

  Value layer(Value x) {
    Value input; // of a feed-forward beside attention
    walk.declareLast(residual.beforeFeedForward, [&] {
      walk.forKinds([&](int64_t layer) { return unsigned(spec.mixerOf(layer)); },
                    [&](const Walk &layers, unsigned mixer) {
                      const bool hasOther = spec.otherResidual && !attends(Mixer(mixer));
                      if (Mixer(mixer) != Mixer::None)
                        x = LayerWalk(layers, spec, inputs, hasOther).addMixed(Mixer(mixer), x, input);
                    });
    });
    enum Kind : uint8_t { None, Usual, OtherResidual };
    walk.forKinds(
        [&](int64_t layer) {
          return !spec.hasFeedForward(layer) ? None : spec.hasOtherResidual(layer) ? OtherResidual : Usual;
        },
        [&](const Walk &layers, unsigned kind) {
          if (kind != None)
            x = LayerWalk(layers, spec, inputs, kind == OtherResidual).addFeedForward(x, input);
        });
    if (spec.ownInputs)
      x = addOwnInput(walk, spec, x, inputs.own);
    return scaledByNumber(x, residual.scaleOfLayer);
  }

  /// Keys and values of the cross attention, of the other sequence.
  std::pair<Value, Value> source(Value x) {
    Value key = walk.splitHeads(crossMatmul(x, 1), spec.cross->location, attention.kvHeads);
    return {key, walk.splitHeads(crossMatmul(x, 2), spec.cross->location, attention.kvHeads)};
  }

private:
  LayerWalk(const Walk &walk, const StackSpec &spec, const AttentionSpec &attention, const ResidualSpec &residual,
            const LayerInputs &inputs)
      : walk(walk), spec(spec), attention(attention), residual(residual), inputs(inputs) {}

  /// x plus what the mixer, and perhaps cross attention, make of it. `input` becomes that of a feed-forward beside
  /// them.
  Value addMixed(Mixer mixer, Value x, Value &input) {
    const bool isParallel = residual.scheme == ResidualSpec::Parallel && !residual.beforeFeedForward.empty();
    Value normed = normBeforeAttention(x);
    input = isParallel ? norm(x, residual.beforeFeedForward) : normed;
    if (residual.isOfNorm)
      x = normed;
    for (auto [y, part] : mix(mixer, normed))
      x = add(x, weighted(scaled(y, residual.scaleOfAttention)), part, residual.afterAttention,
              residual.ofAttentionSum);
    if (const std::optional<CrossAttentionSpec> &cross = spec.cross)
      x = add(x, weighted(crossAttention(*cross, norm(x, cross->before))), cross->out, /*after=*/"", cross->ofSum);
    return x;
  }

  /// What a mixer gives, and the part of its last matmul; of both where it is two side by side.
  SmallVector<std::pair<Value, std::string>, 2> mix(Mixer mixer, Value x) {
    switch (mixer) {
    case Mixer::Attention:
      return {{anyAttention(x), attention.out}};
    case Mixer::StateSpace:
      return {{walkStateSpace(walk, spec, x, inputs.states), spec.stateSpace->out}};
    case Mixer::AttentionAndStateSpace:
      return {{walkStateSpace(walk, spec, x, inputs.states), spec.stateSpace->out},
              {ownAttention(timesNumber(walk, x, attention.inScale, attention.location)), attention.out}};
    case Mixer::DeltaRule:
      return {{walkDeltaRule(walk, spec, x, inputs.states), spec.delta->out}};
    case Mixer::GatedConvolution:
      return {{walkGatedConvolution(walk, spec, x, inputs.states), spec.convolution->out}};
    case Mixer::None:
      break;
    }
    llvm_unreachable("the layer has no mixer");
  }

  /// x plus its feed-forward, or that of its experts, which reads `input` where it is beside attention.
  Value addFeedForward(Value x, Value input) {
    if (residual.scheme != ResidualSpec::Parallel)
      input = norm(x, residual.beforeFeedForward);
    Value y;
    std::string part;
    walk.forKinds([&](int64_t layer) { return unsigned(spec.hasExperts(layer)); },
                  [&](const Walk &layers, unsigned hasExperts) {
                    part = hasExperts ? spec.experts->each.down : spec.feedForward.down;
                    LayerWalk own(layers, spec, inputs);
                    y = hasExperts ? own.experts(x, input) : own.feedForward(input);
                  });
    return add(residual.isOfNorm ? input : x, y, part, residual.afterFeedForward, residual.ofFeedForwardSum);
  }

  /// The feed-forward of x, of the layer's width.
  Value feedForward(Value x) {
    Value y;
    walk.forKinds([&](int64_t layer) { return unsigned(spec.innerOf(layer)); },
                  [&](const Walk &layers, unsigned inner) {
                    FeedForwardSpec own = spec.feedForward;
                    own.inner = inner;
                    y = LayerWalk(layers, spec, inputs)
                            .scaled(walkFeedForward(layers, spec, own, x), residual.scaleOfFeedForward);
                  });
    return weighted(y);
  }

  /// What the experts give of the residual x, whose norm is `input`.
  Value experts(Value x, Value input) {
    const ExpertsSpec &e = *spec.experts;
    if (!e.beside)
      return walkExperts(walk, spec, e, input, input);
    Value dense = norm(feedForward(input), e.beside->afterFeedForward);
    Value routed = walk.norm(x, e.beside->routerNorm, e.beside->ofRouter, spec.width);
    Value mixed = walkExperts(walk, spec, e, norm(x, e.beside->beforeExperts), routed);
    return walk.add(dense, norm(mixed, e.beside->afterExperts), e.each.down);
  }

  Value norm(Value x, const std::string &part) { return walk.norm(x, part, spec.norm, spec.width); }

  Value normBeforeAttention(Value x) {
    if (!residual.isFirstWithout)
      return norm(x, residual.beforeAttention);
    walk.declare([&](const ParameterScope &weights) {
      ParameterScope later = weights;
      if (spec.layers == 1)
        return;
      if (later.stack)
        later.stack = weights.stack->those([](int64_t layer) { return layer != 0; });
      addNorm(later, residual.beforeAttention, spec.norm, spec.width);
    });
    return walk.emit(
        [&](const Scope &scope) { return scope.layer->example == 0 ? x : norm(x, residual.beforeAttention); });
  }

  Value matmul(Value x, const std::string &part, int64_t out, int64_t in, bool hasBias,
               std::optional<Init> init = std::nullopt) {
    return walk.matmul(x, {.part = part,
                           .out = out,
                           .in = in,
                           .hasBias = hasBias,
                           .isConv1D = spec.isConv1D,
                           .init = init,
                           .bounds = spec.boundsOf(part)});
  }

  Value scaled(Value x, const std::string &name) {
    if (name.empty())
      return x;
    walk.declare([&](const ParameterScope &weights) { weights.add(name, {spec.width}, Init::normWeight()); });
    return walk.emit([&](const Scope &scope) {
      scaleColumns(scope, x, name);
      return x;
    });
  }

  /// x times a weight that is one number.
  Value scaledByNumber(Value x, const std::string &name) {
    if (name.empty())
      return x;
    walk.declare([&](const ParameterScope &weights) { weights.add(name, {1}, Init::normWeight()); });
    return walk.emit([&](const Scope &scope) {
      Location loc = scope.at(name);
      Value first = arith::ConstantIndexOp::create(scope.builder, loc, 0);
      Value number = tensor::ExtractOp::create(scope.builder, loc, scope.weight(name), first);
      return mapElements(scope, loc, {{x, {0, 1}}}, [&](const Scope &inner, ValueRange elements) -> Value {
        return arith::MulFOp::create(inner.builder, loc, elements[0], number);
      });
    });
  }

  /// A matmul's result times the residual's factor.
  Value weighted(Value y) { return weightResult(walk, spec, y); }

  /// x + y, where y is what `part` gives, with the residual's norms.
  Value add(Value x, Value y, const std::string &part, const std::string &after, const std::string &ofSum) {
    y = norm(y, after);
    return norm(walk.add(x, y, part), ofSum);
  }

  int64_t headsOf(size_t which) const { return which == 0 ? attention.heads : attention.kvHeads; }
  int64_t columnsOf(size_t which) const { return headsOf(which) * attention.headDim; }

  /// Queries carry the scale that their scores do not get.
  Init initOf(size_t which) const {
    const bool isUnscaled = which == 0 && attention.scale == 1 && !attention.isScaledByLayer && !attention.norm;
    return isUnscaled ? Init::unscaledQuery(spec.width, attention.headDim) : Init::weight(spec.width);
  }

  /// Bounds the elements of queries, keys and values.
  Value clipped(Value x, const std::string &part) {
    if (attention.clip == 0)
      return x;
    return walk.emit([&](const Scope &scope) -> Value {
      FloatAttr bound = scope.builder.getF32FloatAttr(static_cast<float>(attention.clip));
      return attn::ClipOp::create(scope.builder, scope.at(part), x, bound);
    });
  }

  /// Queries, keys and values of all heads in one matmul.
  std::array<Value, 3> splitPacked(Value x) {
    Value packed = walk.matmul(x, {.part = attention.packed,
                                   .out = attention.queryColumns() + 2 * attention.keyColumns(),
                                   .in = spec.width,
                                   .hasBias = attention.hasBias,
                                   .stem = attention.stem(),
                                   .isConv1D = spec.isConv1D});
    packed = clipped(packed, attention.packed);
    std::array<Value, 3> parts;
    walk.emit([&](const Scope &scope) {
      SmallVector<Type> types;
      for (size_t which = 0; which < 3; ++which)
        types.push_back(RankedTensorType::get({ShapedType::kDynamic, headsOf(which), attention.headDim},
                                              cast<RankedTensorType>(packed.getType()).getElementType()));
      auto split = attn::SplitHeadsOp::create(scope.builder, scope.at(attention.location), types, packed);
      llvm::copy(split.getResults(), parts.begin());
    });
    return parts;
  }

  /// Columns of queries (0), keys (1) or values (2) by a matmul of their own.
  Value project(Value x, size_t which) {
    const std::string &part = attention.parts[which];
    if (which == 0 && attention.hasOutGate)
      return queryOrGate(x, part, 0);
    if (attention.rotatesHalves &&
        which < 2) // as if it rotated whole heads: scores are sums over channels in any order
      return walk.matmul(
          x, {.part = part,
              .out = columnsOf(which),
              .in = spec.width,
              .hasBias = attention.hasBiasOf(int64_t(which)),
              .rows = RowsOf{{headsOf(which), 2, 2, attention.headDim / 4}, Slice{0, 0, headsOf(which)}, {0, 2, 1, 3}},
              .init = initOf(which),
              .bounds = spec.boundsOf(part)});
    if (attention.packing == Packing::None)
      return matmul(x, part, columnsOf(which), spec.width, attention.hasBiasOf(int64_t(which)), initOf(which));
    const int64_t group = attention.heads / attention.kvHeads, begin = which == 0 ? 0 : group + int64_t(which) - 1,
                  end = which == 0 ? group : begin + 1;
    return walk.matmul(x, {.part = part,
                           .out = columnsOf(which),
                           .in = spec.width,
                           .hasBias = attention.hasBias,
                           .stem = attention.stem(),
                           .rows = RowsOf{{attention.kvHeads, group + 2, attention.headDim}, Slice{1, begin, end}}});
  }

  /// Queries (0), or the gates of results (1), of one tensor.
  Value queryOrGate(Value x, const std::string &part, int64_t which) {
    return walk.matmul(x, {.part = part,
                           .out = columnsOf(0),
                           .in = spec.width,
                           .hasBias = attention.hasBias,
                           .stem = attention.parts[0] + ".",
                           .rows = RowsOf{{attention.heads, 2, attention.headDim}, Slice{1, which, which + 1}}});
  }

  /// The norm of queries (0), keys (1) or values (2).
  Value normHeads(Value heads, size_t which, bool isFlat) {
    if (which == 2 && attention.valueNorm && !isFlat)
      return walk.emit(
          [&](const Scope &scope) { return normalize(scope, heads, attention.parts[2], *attention.valueNorm); });
    if (which > 1 || !attention.norm || isFlat != (attention.norm->extent == QueryKeyNormSpec::All))
      return heads;
    const std::string &part = which == 0 ? attention.norm->query : attention.norm->key;
    walk.declare([&](const ParameterScope &weights) { addHeadNorm(weights, attention, part, headsOf(which)); });
    return walk.emit([&](const Scope &scope) { return normalize(scope, heads, part, attention.norm->norm); });
  }

  Value rotated(Value heads, const std::string &part) {
    return walk.emit([&](const Scope &scope) -> Value {
      std::optional<unsigned> table = attention.rotaryOf(scope.layer->example);
      if (!table)
        return heads;
      return attn::RopeOp::create(scope.builder, scope.at(part), heads, inputs.rotation[2 * *table],
                                  inputs.rotation[2 * *table + 1], attention.isInterleaved, /*heads=*/nullptr);
    });
  }

  /// Keys and values, of which one matmul may give both.
  std::pair<Value, Value> keysAndValues(Value x, Value key, Value value) {
    if (!attention.hasValuesOfKeys)
      return {heads(x, 1, key), heads(x, 2, value)};
    Value both = walk.splitHeads(project(x, 1), attention.parts[1], attention.kvHeads);
    return {rotated(normHeads(both, 1, /*isFlat=*/false), attention.parts[1]), normHeads(both, 2, /*isFlat=*/false)};
  }

  /// Queries (0), keys (1) or values (2), [tokens, heads, channels]; `packed` is that of one matmul for all, or null.
  Value heads(Value x, size_t which, Value packed) {
    const bool isPacked = attention.packing == Packing::Rows;
    const std::string &part = isPacked ? attention.location : attention.parts[which];
    const bool isFlatNorm = attention.norm && attention.norm->extent == QueryKeyNormSpec::All;
    Value result = packed;
    if (!isPacked) {
      result = clipped(normHeads(project(x, which), which, /*isFlat=*/true), part);
      result = walk.splitHeads(result, part, headsOf(which));
    } else if (which < 2 && isFlatNorm) {
      result = walk.emit([&](const Scope &scope) { return mergeHeads(scope, scope.at(part), packed); });
      result = walk.splitHeads(normHeads(result, which, /*isFlat=*/true), part, headsOf(which));
    }
    result = normHeads(result, which, /*isFlat=*/false);
    return which < 2 ? rotated(result, part) : result;
  }

  /// The projection of attention's result.
  Value attentionOut(Value mixed) {
    Value out = matmul(mixed, attention.out, spec.width, attention.outColumns(), attention.hasOutBias);
    walk.emit([&](const Scope &scope) { scaleResult(scope, out, attention.outScale); });
    return out;
  }

  Value latentAttention(Value x) {
    LatentHeads heads =
        walkLatents(walk, spec, x, [&](Value own, const std::string &part) { return rotated(own, part); });
    Value mixed = walk.emit([&](const Scope &scope) {
      Location loc = scope.at(attention.location);
      return inputs
          .attendLatents(scope, loc, heads, Scores(scope, attention).buildScale(loc),
                         attention.windowOf(scope.layer->example))
          .result;
    });
    Value values = expandLatents(walk, spec, mixed);
    return attentionOut(
        walk.emit([&](const Scope &scope) { return mergeHeads(scope, scope.at(attention.location), values); }));
  }

  /// Attention with the heads of the layer.
  Value anyAttention(Value x) {
    Value y;
    walk.forKinds([&](int64_t layer) { return unsigned(spec.hasWholeAttention(layer)); },
                  [&](const Walk &layers, unsigned isWhole) {
                    const AttentionSpec &own = isWhole ? *spec.wholeAttention : spec.attention;
                    y = LayerWalk(layers, spec, own, residual, inputs).ownAttention(x);
                  });
    return y;
  }

  Value ownAttention(Value x) {
    if (attention.latent)
      return latentAttention(x);
    std::vector<std::string> norms;
    if (attention.norm)
      norms = {attention.norm->query, attention.norm->key};
    std::array<Value, 3> own;
    walk.declareLast(norms, [&] {
      if (attention.packing == Packing::Rows)
        own = splitPacked(x);
      own[0] = heads(x, 0, own[0]);
      walk.forKinds([&](int64_t layer) { return unsigned(spec.hasOwnKeys(layer)); },
                    [&](const Walk &layers, unsigned hasOwn) {
                      if (hasOwn)
                        std::tie(own[1], own[2]) =
                            LayerWalk(layers, spec, attention, residual, inputs).keysAndValues(x, own[1], own[2]);
                    });
    });
    if (!attention.sinks.empty())
      walk.declare(
          [&](const ParameterScope &weights) { weights.add(attention.sinks, {attention.heads}, Init::bias()); });
    Value gate;
    if (attention.hasOutGate)
      gate = walk.splitHeads(queryOrGate(x, attention.parts[0] + ".gate", 1), attention.location, attention.heads);
    return attentionOut(walk.emit([&](const Scope &scope) {
      Location loc = scope.at(attention.location);
      Scores scores(scope, attention);
      Value sinks = attention.sinks.empty() ? Value() : scope.weight(attention.sinks);
      auto [mixed, op] =
          inputs.attend(scope, loc, own, scores.buildScale(loc), attention.windowOf(scope.layer->example));
      if (sinks)
        op.getSinkMutable().assign(sinks);
      scores.changeScores(op);
      if (gate)
        mixed =
            attn::GLUOp::create(scope.builder, loc, attn::ActivationKind::sigmoid, gate, flatHeads(scope, loc, mixed));
      return mergeHeads(scope, loc, mixed);
    }));
  }

  /// The queries (0), keys (1) or values (2) of cross attention.
  Value crossMatmul(Value x, size_t which) {
    const CrossAttentionSpec &c = *spec.cross;
    const int64_t columns = attention.queryColumns();
    if (c.packedStem.empty())
      return matmul(x, c.parts[which], columns, spec.width, c.hasBias && (which != 1 || c.hasKeyBias), initOf(which));
    const int64_t begin = int64_t(which) * columns;
    return walk.matmul(x, {.part = c.parts[which],
                           .out = columns,
                           .in = spec.width,
                           .hasBias = c.hasBias,
                           .stem = c.packedStem,
                           .rows = RowsOf{{3 * columns}, Slice{0, begin, begin + columns}}});
  }

  Value crossAttention(const CrossAttentionSpec &cross, Value x) {
    Value query = walk.splitHeads(crossMatmul(x, 0), cross.location, attention.heads);
    if (walk.declares())
      source(/*x=*/{}); // its ops are where the other sequence is
    return matmul(walk.emit([&](const Scope &scope) {
      Location loc = scope.at(cross.location);
      return mergeHeads(scope, loc, inputs.attendSource(scope, loc, query, Scores(scope, attention).buildScale(loc)));
    }),
                  cross.out, spec.width, attention.queryColumns(), cross.hasBias);
  }

  const Walk &walk;
  const StackSpec &spec;
  const AttentionSpec &attention;
  const ResidualSpec &residual;
  LayerInputs inputs;
};

} // namespace

Value importing::walkLayer(const Walk &walk, const StackSpec &spec, Value x, const LayerInputs &inputs) {
  return LayerWalk(walk, spec, inputs).layer(x);
}

std::pair<Value, Value> importing::walkSource(const Walk &walk, const StackSpec &spec, Value source) {
  return LayerWalk(walk, spec).source(source);
}

SmallVector<Value> importing::buildRotation(const Scope &top, const AttentionSpec &attention, Value tokens,
                                            Value rowBegin, Value past, Value textLength, Value ofAxes) {
  SmallVector<Value> tables;
  if (attention.rotary.empty())
    return tables;
  OpBuilder &builder = top.builder;
  Location loc = top.at("rotary_emb");
  Value positions = attn::PositionsOp::create(builder, loc, tokens, rowBegin, past), lengths;
  if (attention.hasLongerTexts())
    lengths = spreadOverTokens(top, loc, tokens, rowBegin, textLength);
  for (const RotaryFrequencies &rotary : attention.rotary) {
    if (!rotary.axes.empty()) {
      llvm::append_range(tables, buildAxisRotation(top, loc, rotary, splitAxes(top, loc, ofAxes)));
      continue;
    }
    auto pairs = RankedTensorType::get({ShapedType::kDynamic, int64_t(rotary.values.size())}, builder.getF32Type());
    auto table = attn::RotaryTableOp::create(
        builder, loc, pairs, pairs, positions, rotary.longer ? lengths : Value(),
        builder.getDenseF32ArrayAttr(rotary.values),
        rotary.longer ? builder.getDenseF32ArrayAttr(rotary.longer->values) : DenseF32ArrayAttr(),
        rotary.longer ? builder.getI32IntegerAttr(int32_t(rotary.longer->original)) : IntegerAttr(),
        builder.getF32FloatAttr(rotary.magnitude));
    tables.append({table.getCosines(), table.getSines()});
  }
  return tables;
}

std::vector<unsigned> importing::numberKinds(const StackSpec &spec) {
  std::map<std::tuple<std::optional<int64_t>, std::optional<unsigned>, bool, bool, bool, Mixer, std::optional<int64_t>,
                      int64_t, bool>,
           unsigned>
      numbers;
  std::vector<unsigned> kinds;
  for (int64_t layer = 0; layer < spec.layers; ++layer) {
    const bool isFirst = spec.residual.isFirstWithout && layer == 0;
    const Mixer mixer = spec.mixerOf(layer);
    const bool isAttention = attends(mixer), hasFeedForward = spec.hasFeedForward(layer);
    std::tuple kind{isAttention ? spec.attention.windowOf(layer) : std::nullopt,
                    isAttention ? spec.attention.rotaryOf(layer) : std::nullopt,
                    isFirst,
                    hasFeedForward,
                    hasFeedForward && spec.hasExperts(layer),
                    mixer,
                    spec.hasOwnKeys(layer) ? std::nullopt : std::optional(spec.keysOfLayer(layer)),
                    spec.innerOf(layer),
                    layer < spec.imageLayers};
    kinds.push_back(numbers.try_emplace(kind, numbers.size()).first->second);
  }
  return kinds;
}

void importing::readHeads(huggingface::ConfigReader &config, const huggingface::Keys &width,
                          const huggingface::Keys &heads, int64_t fallback, StackSpec &spec) {
  AttentionSpec &attention = spec.attention;
  attention.heads = attention.kvHeads = config.getSize(heads, 1, 1 << 12, fallback);
  attention.headDim = std::max<int64_t>(1, spec.width / attention.heads);
  attention.scale = 1 / std::sqrt(double(attention.headDim));
  config.requireMultiple(config.nameOf(width.names.front()), spec.width, config.nameOf(heads.names.front()),
                         attention.heads);
}

ModelFacts importing::factsOf(const huggingface::ModelDescription &model, const StackSpec &layers) {
  ModelFacts facts{.family = model.modelType(),
                   .layers = layers.layers,
                   .hidden = layers.width,
                   .heads = layers.attention.heads,
                   .kvHeads = layers.attention.kvHeads,
                   .headDim = layers.attention.headDim};
  for (const huggingface::NamedAdapter &adapter : model.namedAdapters())
    facts.adapters.push_back(adapter.name);
  return facts;
}
