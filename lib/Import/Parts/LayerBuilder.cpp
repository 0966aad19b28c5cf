//===- LayerBuilder.cpp - One layer of attention and feed-forward --------------===//
#include "lib/Import/Parts/LayerBuilder.h"
#include "lib/Import/Parts/LatentAttention.h"
#include "lib/Import/Parts/SpacedRows.h"
#include "lib/Import/Parts/StackParameters.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <map>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

namespace {

/// Emits the ops of a layer.
class LayerBuilder {
public:
  LayerBuilder(const Scope &scope, const StackSpec &spec, ValueRange rotation, Mix mix, CrossMix crossMix,
               LatentMix latentMix)
      : scope(scope), builder(scope.builder), spec(spec), attention(spec.attention), rotation(rotation), mix(mix),
        crossMix(crossMix), latentMix(latentMix) {}

  Value build(Value x) {
    const ResidualSpec &residual = spec.residual;
    const bool isNormed = !residual.isFirstWithout || scope.layer->example != 0;
    Value normed = isNormed ? norm(x, residual.beforeAttention) : x, parallel = normed;
    if (!residual.beforeFeedForward.empty() && residual.scheme == ResidualSpec::Parallel)
      parallel = norm(x, residual.beforeFeedForward);
    x = add(residual.isOfNorm ? normed : x, weighted(scaled(buildAttention(normed), residual.scaleOfAttention)),
            attention.out, residual.afterAttention, residual.ofAttentionSum);
    if (const std::optional<CrossAttentionSpec> &cross = spec.cross)
      x = add(x, weighted(buildCross(*cross, norm(x, cross->before))), cross->out, /*after=*/"", cross->ofSum);
    Value input = residual.scheme == ResidualSpec::Parallel ? parallel : norm(x, residual.beforeFeedForward);
    const bool hasExperts = spec.hasExperts(scope.layer->example);
    Value y = hasExperts ? buildExperts(*spec.experts, input)
                         : weighted(scaled(buildFeedForward(spec.feedForward, input), residual.scaleOfFeedForward));
    return add(residual.isOfNorm ? input : x, y, hasExperts ? spec.experts->each.down : spec.feedForward.down,
               residual.afterFeedForward, residual.ofFeedForwardSum);
  }

private:
  Value norm(Value x, StringRef part) { return part.empty() ? x : normalize(scope, x, part, spec.norm); }

  Value matmul(Value x, StringRef part) { return spec.isConv1D ? linear(scope, x, part) : dense(scope, x, part); }

  Value scaled(Value x, StringRef weight) {
    if (!weight.empty())
      scaleColumns(scope, x, weight);
    return x;
  }

  /// A matmul's result times the residual's factor.
  Value weighted(Value y) {
    if (const double scale = spec.residual.scale; scale != 1)
      mapResult(scope, y, [&](const Scope &inner, Location loc, Value element) -> Value {
        return arith::MulFOp::create(inner.builder, loc, element, constant(inner, loc, scale));
      });
    return y;
  }

  /// x + y, where y is what `part` gives, with the residual's norms.
  Value add(Value x, Value y, StringRef part, StringRef after, StringRef ofSum) {
    return norm(arith::AddFOp::create(builder, scope.at(part), x, norm(y, after)), ofSum);
  }

  int64_t headsOf(size_t which) const { return which == 0 ? attention.heads : attention.kvHeads; }

  /// Bounds the elements of queries, keys and values.
  Value clipped(Value x, StringRef part) {
    if (attention.clip == 0)
      return x;
    FloatAttr bound = builder.getF32FloatAttr(static_cast<float>(attention.clip));
    return attn::ClipOp::create(builder, scope.at(part), x, bound);
  }

  /// Queries, keys and values of all heads in one matmul.
  SmallVector<Value> splitPacked(Value x) {
    Value packed = clipped(matmul(x, attention.packed), attention.packed);
    SmallVector<Type> types;
    for (size_t which = 0; which < 3; ++which)
      types.push_back(RankedTensorType::get({ShapedType::kDynamic, headsOf(which), attention.headDim},
                                            cast<RankedTensorType>(packed.getType()).getElementType()));
    auto split = attn::SplitHeadsOp::create(builder, scope.at(attention.location), types, packed);
    return llvm::to_vector(ValueRange(split.getResults()));
  }

  /// The norm of queries (0) or keys (1).
  Value normHeads(Value heads, size_t which, bool isFlat) {
    if (which > 1 || !attention.norm || isFlat != (attention.norm->extent == QueryKeyNormSpec::All))
      return heads;
    return normalize(scope, heads, which == 0 ? attention.norm->query : attention.norm->key, attention.norm->norm);
  }

  Value rotated(Value heads, Location loc) {
    std::optional<unsigned> table = attention.rotaryOf(scope.layer->example);
    if (!table)
      return heads;
    return attn::RopeOp::create(builder, loc, heads, rotation[2 * *table], rotation[2 * *table + 1],
                                attention.isInterleaved, /*heads=*/nullptr);
  }

  /// Queries (0), keys (1) or values (2), [tokens, heads, channels]; `packed` are those that one matmul gives.
  Value heads(Value x, size_t which, ArrayRef<Value> packed) {
    const bool isPacked = !packed.empty();
    Location loc = scope.at(isPacked ? attention.location : attention.parts[which]);
    const bool isFlatNorm = attention.norm && attention.norm->extent == QueryKeyNormSpec::All;
    Value result;
    if (!isPacked)
      result = splitHeads(
          scope, loc,
          clipped(normHeads(matmul(x, attention.parts[which]), which, /*isFlat=*/true), attention.parts[which]),
          headsOf(which));
    else if (which < 2 && isFlatNorm)
      result = splitHeads(scope, loc, normHeads(mergeHeads(scope, loc, packed[which]), which, /*isFlat=*/true),
                          headsOf(which));
    else
      result = packed[which];
    result = normHeads(result, which, /*isFlat=*/false);
    return which < 2 ? rotated(result, loc) : result;
  }

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

  Value buildLatentAttention(Value x) {
    Location loc = scope.at(attention.location);
    LatentHeads heads = projectLatents(scope, attention, x, [&](Value own, Location at) { return rotated(own, at); });
    Mixed mixed = latentMix(loc, heads, buildScale(loc), attention.windowOf(scope.layer->example));
    Value values = expandLatents(scope, *attention.latent, mixed.result);
    return matmul(mergeHeads(scope, loc, values), attention.out);
  }

  Value buildAttention(Value x) {
    if (attention.latent)
      return buildLatentAttention(x);
    SmallVector<Value> packed;
    if (attention.packing == Packing::Rows)
      packed = splitPacked(x);
    Value query = heads(x, 0, packed), key = heads(x, 1, packed), value = heads(x, 2, packed);
    Location loc = scope.at(attention.location);
    Value sinks = attention.sinks.empty() ? Value() : scope.weight(attention.sinks);
    auto [mixed, op] = mix(loc, {query, key, value}, buildScale(loc), attention.windowOf(scope.layer->example));
    if (sinks)
      op.getSinkMutable().assign(sinks);
    changeScores(op);
    return matmul(mergeHeads(scope, loc, mixed), attention.out);
  }

  Value buildCross(const CrossAttentionSpec &cross, Value x) {
    Location loc = scope.at(cross.location);
    Value query = splitHeads(scope, loc, matmul(x, cross.parts[0]), attention.heads);
    return matmul(mergeHeads(scope, loc, crossMix(loc, query, buildScale(loc))), cross.out);
  }

  Value buildFeedForward(const FeedForwardSpec &f, Value x) {
    if (f.isGated)
      return gatedFeedForward(scope, x, f.gate, f.up, f.activation, f.down);
    if (!f.isSquared)
      return feedForward(scope, x, f.up, f.activation, f.down, spec.isConv1D ? linear : dense);
    Value active = attn::ActivationOp::create(builder, scope.at(f.up), f.activation, matmul(x, f.up));
    return matmul(arith::MulFOp::create(builder, scope.at(f.up), active, active), f.down);
  }

  RankedTensorType tokensBy(int64_t columns, Type element) {
    return RankedTensorType::get({ShapedType::kDynamic, columns}, element);
  }

  /// The scores of experts, and which of them each token has: weights and experts, [tokens, of a token].
  attn::RouteOp route(const ExpertsSpec &e, Value x) {
    Value logits = dense(scope, x, e.router), bias = e.choiceBias.empty() ? Value() : scope.weight(e.choiceBias);
    attn::ExpertGroupsAttr within;
    if (e.groups)
      within = attn::ExpertGroupsAttr::get(builder.getContext(), e.groups->kept, e.groups->number, e.groups->by);
    const double factor = e.scale * spec.residual.scale;
    FloatAttr scale = factor == 1 ? FloatAttr() : builder.getF32FloatAttr(static_cast<float>(factor));
    return attn::RouteOp::create(builder, scope.at(e.router), tokensBy(e.ofToken, builder.getF32Type()),
                                 tokensBy(e.ofToken, builder.getI32Type()), e.scores, logits, bias, e.number, within,
                                 e.isNormalized, scale);
  }

  /// Each row times the matrix of its expert.
  Value multiply(const std::string &part, Value x, int64_t columns, Value groups) {
    return groupedDense(scope, x, partOfExperts(part), columns, groups);
  }

  /// min(x, limit), and where it is not a gate max(.., -limit) + 1 (gpt-oss).
  void limit(Value x, double limit, bool isGate) {
    mapResult(scope, x, [&](const Scope &inner, Location loc, Value element) -> Value {
      OpBuilder &b = inner.builder;
      element = arith::MinimumFOp::create(b, loc, element, constant(inner, loc, limit));
      if (isGate)
        return element;
      element = arith::MaximumFOp::create(b, loc, element, constant(inner, loc, -limit));
      return arith::AddFOp::create(b, loc, element, constant(inner, loc, 1));
    });
  }

  Value buildExperts(const ExpertsSpec &e, Value x) {
    attn::RouteOp chosen = route(e, x);
    Location loc = scope.at(e.router);
    Type i32 = builder.getI32Type();
    auto order = attn::GroupRowsOp::create(builder, loc, RankedTensorType::get({ShapedType::kDynamic}, i32),
                                           tokensBy(e.ofToken, i32), RankedTensorType::get({e.number + 1, 2}, i32),
                                           chosen.getExperts());
    Value rows = attn::SelectRowsOp::create(builder, loc, x.getType(), x, /*layer=*/Value(), order.getRows());
    Value gate = multiply(e.each.gate, rows, e.each.inner, order.getGroups()),
          up = multiply(e.each.up, rows, e.each.inner, order.getGroups());
    if (e.each.limit != 0) {
      limit(gate, e.each.limit, /*isGate=*/true);
      limit(up, e.each.limit, /*isGate=*/false);
    }
    Value active = attn::GLUOp::create(builder, scope.at(e.each.gate), e.each.activation, gate, up);
    Value results = multiply(e.each.down, active, spec.width, order.getGroups());
    Value sum = attn::CombineRowsOp::create(builder, scope.at(e.each.down), x.getType(), results, chosen.getWeights(),
                                            order.getIndices());
    return e.shared ? arith::AddFOp::create(builder, scope.at(e.shared->down), sum, buildShared(e, x)) : sum;
  }

  /// The expert of all tokens.
  Value buildShared(const ExpertsSpec &e, Value x) {
    Value y = weighted(buildFeedForward(*e.shared, x));
    if (e.sharedGate.empty())
      return y;
    Location loc = scope.at(e.sharedGate);
    Value factor =
        attn::ActivationOp::create(builder, loc, attn::ActivationKind::sigmoid, dense(scope, x, e.sharedGate));
    return attn::CombineRowsOp::create(builder, loc, y.getType(), y, factor, /*indices=*/Value());
  }

  const Scope &scope;
  OpBuilder &builder;
  const StackSpec &spec;
  const AttentionSpec &attention;
  ValueRange rotation;
  Mix mix;
  CrossMix crossMix;
  LatentMix latentMix;
};

} // namespace

Value importing::buildLayer(const Scope &scope, const StackSpec &spec, Value x, ValueRange rotation, Mix mix,
                            CrossMix crossMix, LatentMix latentMix) {
  return LayerBuilder(scope, spec, rotation, mix, crossMix, latentMix).build(x);
}

std::pair<Value, Value> importing::projectSource(const Scope &scope, const StackSpec &spec, Value source) {
  Location loc = scope.at(spec.cross->location);
  auto project = [&](const std::string &part) {
    return splitHeads(scope, loc, dense(scope, source, part), spec.attention.kvHeads);
  };
  Value key = project(spec.cross->parts[1]);
  return {key, project(spec.cross->parts[2])};
}

SmallVector<Value> importing::buildRotation(const Scope &top, const AttentionSpec &attention, Value tokens,
                                            Value rowBegin, Value past, Value textLength) {
  SmallVector<Value> tables;
  if (attention.rotary.empty())
    return tables;
  OpBuilder &builder = top.builder;
  Location loc = top.at("rotary_emb");
  Value positions = attn::PositionsOp::create(builder, loc, tokens, rowBegin, past), lengths;
  if (attention.hasLongerTexts())
    lengths = spreadOverTokens(top, loc, tokens, rowBegin, textLength);
  for (const RotaryFrequencies &rotary : attention.rotary) {
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
  std::map<std::tuple<std::optional<int64_t>, std::optional<unsigned>, bool, bool>, unsigned> numbers;
  std::vector<unsigned> kinds;
  for (int64_t layer = 0; layer < spec.layers; ++layer) {
    const bool isFirst = spec.residual.isFirstWithout && layer == 0;
    std::tuple kind{spec.attention.windowOf(layer), spec.attention.rotaryOf(layer), isFirst, spec.hasExperts(layer)};
    kinds.push_back(numbers.try_emplace(kind, numbers.size()).first->second);
  }
  return kinds;
}
