//===- Mixers.cpp - Recurrences and convolutions in the place of attention -----===//
#include "lib/Import/Parts/Mixers.h"
#include "lib/Import/Parts/Elements.h"
#include "lib/Import/Parts/PackedRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using artifact::Reshape;
using artifact::Slice;
using huggingface::Init;

Value importing::softplus(const Scope &inner, Location loc, Value x) {
  OpBuilder &b = inner.builder;
  Value small = math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, math::AbsFOp::create(b, loc, x)));
  Value above = arith::MaximumFOp::create(b, loc, x, constant(inner, loc, 0));
  return arith::AddFOp::create(b, loc, above, math::Log1pOp::create(b, loc, small));
}

/// The convolution of whole texts, none of whose tokens reads those of other texts.
static Value convolveCentered(const Scope &scope, const ShortConvSpec &c, Value x, const MixerStates &states,
                              llvm::function_ref<Value(Value x, Value rowBegin)> convolve) {
  OpBuilder &b = scope.builder;
  Location loc = scope.at(c.part);
  // Zeros follow each text. A causal convolution gives what this one gives of a token as many rows later as it has taps
  // of later tokens.
  const SpacedRows rows(scope, loc, states.rowBegin, c.ahead());
  Value spaced = attn::UpdateRowsOp::create(b, loc, rows.zeros(x), /*layer=*/Value(), x, rows.ofTokens(states.ids, 0));
  Value y = convolve(spaced, rows.offsets());
  return attn::SelectRowsOp::create(b, loc, x.getType(), y, rows.ofTokens(states.ids, c.ahead()));
}

Value importing::walkShortConvolution(const Walk &walk, const ShortConvSpec &c, Value x, int64_t channels,
                                      MixerStates *states) {
  walk.declare([&](const ParameterScope &weights) {
    std::vector<artifact::Source> sources;
    auto add = [&](const std::string &part, int64_t own) {
      sources.push_back({weights.tensors + part + ".weight",
                         {own, 1, c.taps},
                         {Reshape{{own, c.taps}}, artifact::Transpose{{1, 0}}}});
    };
    if (c.joined.empty())
      add(c.part, channels);
    for (const auto &[part, own] : c.joined)
      add(part, own);
    weights.parameters.addJoined(weights.symbols + c.part + ".weight", std::move(sources), /*dim=*/1,
                                 Init::weight(c.taps), weights.stack, /*isTable=*/true);
    if (c.hasBias)
      weights.add(c.part + ".bias", {channels}, Init::bias());
  });
  return walk.emit([&](const Scope &scope) -> Value {
    OpBuilder &b = scope.builder;
    Value weight = scope.weight(c.part + ".weight"), bias = c.hasBias ? scope.weight(c.part + ".bias") : Value();
    auto activation = c.activation ? attn::ActivationKindAttr::get(b.getContext(), *c.activation) : nullptr;
    Value layer = states->inputs ? scope.layer->placeAmong(states->inputLayers) : Value();
    auto convolve = [&](Value of, Value rowBegin) -> Value {
      auto op = attn::ShortConvOp::create(b, scope.at(c.part), of, weight, bias, activation, b.getI64IntegerAttr(1),
                                          rowBegin, states->inputs, layer, states->inputs ? states->from : Value(),
                                          states->inputs ? states->to : Value());
      if (states->inputs)
        states->inputs = op.getNewState();
      return op.getOutput();
    };
    return c.ahead() ? convolveCentered(scope, c, x, *states, convolve) : convolve(x, states->rowBegin);
  });
}

namespace {

RankedTensorType typeOf(Value x) { return cast<RankedTensorType>(x.getType()); }

/// Makes f(x, w...) of each element x of a matmul's result, in the matmul itself, with the numbers w that the vectors
/// [columns] have for its column. `vectors` makes them ahead of the matmul.
void mapColumns(const Scope &scope, Value result, llvm::function_ref<SmallVector<Value>()> vectors,
                llvm::function_ref<Value(const Scope &inner, Location loc, Value x, ValueRange numbers)> f) {
  auto op = result.getDefiningOp<attn::LinearOp>();
  OpBuilder::InsertionGuard guard(scope.builder);
  scope.builder.setInsertionPoint(op);
  SmallVector<Value> numbers;
  for (Value vector : vectors()) {
    Block *epilogue = op.ensureEpilogue(scope.builder);
    op.getExtrasMutable().append(vector);
    numbers.push_back(epilogue->addArgument(scope.builder.getF32Type(), op.getLoc()));
  }
  mapResult(scope, result, [&](const Scope &inner, Location loc, Value x) { return f(inner, loc, x, numbers); });
}

/// Multiplies columns of a matmul's result by numbers, in the matmul itself: those of each range by its own.
void scaleRanges(const Scope &scope, Value result, ArrayRef<std::pair<double, int64_t>> ranges) {
  SmallVector<float> factors;
  for (auto [factor, columns] : ranges)
    factors.append(size_t(columns), float(factor));
  if (llvm::all_equal(factors))
    return scaleResult(scope, result, ranges.front().first);
  auto type = RankedTensorType::get({int64_t(factors.size())}, scope.builder.getF32Type());
  auto vector = [&]() -> SmallVector<Value> {
    return {arith::ConstantOp::create(scope.builder, result.getLoc(), DenseElementsAttr::get(type, ArrayRef(factors)))};
  };
  mapColumns(scope, result, vector, [](const Scope &inner, Location loc, Value x, ValueRange numbers) -> Value {
    return arith::MulFOp::create(inner.builder, loc, x, numbers[0]);
  });
}

/// -e^scale * x: the decay's logarithm.
Value decayed(const Scope &inner, Location loc, Value scale, Value x) {
  OpBuilder &b = inner.builder;
  Value rate = arith::NegFOp::create(b, loc, math::ExpOp::create(b, loc, scale));
  return arith::MulFOp::create(b, loc, rate, x);
}

/// Columns from `begin` on as heads: [tokens, heads, channels].
Value headsOf(const Scope &scope, Location loc, Value x, int64_t begin, int64_t heads, int64_t channels) {
  OpBuilder &b = scope.builder;
  auto type = typeOf(x);
  Value tokens = tensor::DimOp::create(b, loc, x, 0);
  auto columns = RankedTensorType::get({ShapedType::kDynamic, heads * channels}, type.getElementType());
  if (columns != type)
    x = tensor::ExtractSliceOp::create(b, loc, columns, x,
                                       SmallVector<OpFoldResult>{b.getIndexAttr(0), b.getIndexAttr(begin)},
                                       SmallVector<OpFoldResult>{tokens, b.getIndexAttr(heads * channels)},
                                       SmallVector<OpFoldResult>{b.getIndexAttr(1), b.getIndexAttr(1)});
  auto split = RankedTensorType::get({ShapedType::kDynamic, heads, channels}, type.getElementType());
  return tensor::ExpandShapeOp::create(
      b, loc, split, x, ArrayRef<ReassociationIndices>{{0}, {1, 2}},
      SmallVector<OpFoldResult>{tokens, b.getIndexAttr(heads), b.getIndexAttr(channels)});
}

/// The inverse, of all columns.
Value columnsOf(const Scope &scope, Location loc, Value heads) {
  auto type = typeOf(heads);
  auto columns =
      RankedTensorType::get({ShapedType::kDynamic, type.getDimSize(1) * type.getDimSize(2)}, type.getElementType());
  return tensor::CollapseShapeOp::create(scope.builder, loc, columns, heads,
                                         ArrayRef<ReassociationIndices>{{0}, {1, 2}});
}

/// The rows [begin, begin + out) of the tensor `part` as a matmul of their own.
Value matmulOfRows(const Walk &walk, Value x, const std::string &part, const std::string &name, int64_t in,
                   int64_t rows, int64_t begin, int64_t out, bool hasBias) {
  return walk.matmul(x, {.part = name,
                         .out = out,
                         .in = in,
                         .hasBias = hasBias,
                         .stem = part + ".",
                         .rows = RowsOf{{rows}, Slice{0, begin, begin + out}}});
}

void addVector(const Walk &walk, const std::string &name, int64_t width, Init init) {
  walk.declare([&](const ParameterScope &weights) { weights.add(name, {width}, init); });
}

/// Queries, keys, values [tokens, heads, channels], decays, as these or [tokens, heads], and perhaps betas [tokens,
/// heads].
struct LinearOperands {
  Value query, key, value, decay, beta = {};
  double scale = 1;
  attn::HeadPairing pairing = attn::HeadPairing::neighbors;
};

Value mix(const Scope &scope, Location loc, const LinearOperands &o, MixerStates *states) {
  OpBuilder &b = scope.builder;
  const auto kind = o.beta ? attn::LinearAttentionKind::gated_delta : attn::LinearAttentionKind::gated;
  Value layer = states->matrices ? scope.layer->placeAmong(states->matrixLayers) : Value();
  auto op = attn::LinearAttentionOp::create(b, loc, kind, o.query, o.key, o.value, o.decay, o.beta, states->rowBegin,
                                            states->matrices, layer, states->matrices ? states->from : Value(),
                                            states->matrices ? states->to : Value(), APFloat(o.scale), o.pairing);
  if (states->matrices)
    states->matrices = op.getNewState();
  return op.getOutput();
}

/// y [tokens, heads, channels] by `gate` [tokens, columns], as columns. With `headDim`, the channels of a head, each
/// head is normalized alone, and all have one weight [headDim]; otherwise the weight is one of all columns, which are
/// normalized in the spec's groups.
Value walkGatedNorm(const Walk &walk, const GatedNormSpec &g, Value y, Value gate, int64_t columns,
                    std::optional<int64_t> headDim) {
  const int64_t groups = headDim ? columns / *headDim : g.groups;
  if (g.order != GatedNormSpec::GateAlone)
    walk.declare([&](const ParameterScope &weights) {
      if (headDim || g.groups == 1)
        return addNorm(weights, g.part, g.norm, headDim.value_or(columns));
      weights.parameters.addRows(
          weights.symbols + g.part + ".weight",
          {{weights.tensors + g.part + ".weight", {columns}, {Reshape{{g.groups, columns / g.groups}}}}},
          Init::normWeight(), weights.stack, /*isTable=*/true);
    });
  return walk.emit([&](const Scope &scope) -> Value {
    OpBuilder &b = scope.builder;
    Location loc = scope.at(g.part);
    auto norm = [&](Value flat) {
      if (groups == 1)
        return normalize(scope, flat, g.part, g.norm);
      Value heads = headsOf(scope, loc, flat, 0, groups, columns / groups);
      return columnsOf(scope, loc, normalize(scope, heads, g.part, g.norm));
    };
    auto gated = [&](Value flat) -> Value { return attn::GLUOp::create(b, loc, g.activation, gate, flat); };
    Value flat = columnsOf(scope, loc, y);
    if (g.order == GatedNormSpec::GateFirst)
      return norm(gated(flat));
    return gated(g.order == GatedNormSpec::NormFirst ? norm(flat) : flat);
  });
}

} // namespace

Value importing::timesNumber(const Walk &walk, Value x, double factor, const std::string &part) {
  return walk.emit([&](const Scope &scope) -> Value {
    if (factor == 1)
      return x;
    Location loc = scope.at(part);
    return mapElements(scope, loc, {{x, {0, 1}}}, [&](const Scope &inner, ValueRange e) -> Value {
      return arith::MulFOp::create(inner.builder, loc, e[0], constant(inner, loc, factor));
    });
  });
}

Value importing::walkStateSpace(const Walk &walk, const StackSpec &stack, Value x, MixerStates *states) {
  const StateSpaceSpec &s = *stack.stateSpace;
  const int64_t inner = s.inner(), convolved = s.convolved(), rows = inner + convolved + s.heads;
  const int64_t shared = s.groups * s.stateSize;
  x = timesNumber(walk, x, s.inScale, s.in);
  auto project = [&](const char *name, int64_t begin, int64_t out, ArrayRef<std::pair<double, int64_t>> scales) {
    Value part = matmulOfRows(walk, x, s.in, s.in + name, stack.width, rows, begin, out, s.hasBias);
    walk.emit([&](const Scope &scope) { scaleRanges(scope, part, scales); });
    return part;
  };
  const std::array<double, 5> &by = s.scales;
  Value gate = project(".gate", 0, inner, {{by[0], inner}}),
        mixed = project(".mixed", inner, convolved, {{by[1], inner}, {by[2], shared}, {by[3], shared}}),
        step = project(".step", inner + convolved, s.heads, {{by[4], s.heads}});
  mixed = walkShortConvolution(walk, s.convolution, mixed, convolved, states);
  addVector(walk, s.step, s.heads, Init::bias());
  addVector(walk, s.decay, s.heads, Init::normWeight());
  addVector(walk, s.skip, s.heads, Init::normWeight());
  Value y = walk.emit([&](const Scope &scope) -> Value {
    auto bias = [&]() -> SmallVector<Value> { return {scope.weight(s.step)}; };
    mapColumns(scope, step, bias, [&](const Scope &inside, Location loc, Value element, ValueRange numbers) -> Value {
      Value sum = arith::AddFOp::create(inside.builder, loc, element, numbers[0]);
      Value size = softplus(inside, loc, sum);
      if (s.stepLimits[0] > 0)
        size = arith::MaximumFOp::create(inside.builder, loc, size, constant(inside, loc, s.stepLimits[0]));
      if (std::isfinite(s.stepLimits[1]))
        size = arith::MinimumFOp::create(inside.builder, loc, size, constant(inside, loc, s.stepLimits[1]));
      return size;
    });
    Location loc = scope.at(s.decay);
    Value decay = mapElements(scope, loc, {{step, {0, 1}}, {scope.weight(s.decay), {1}}},
                              [&](const Scope &inside, ValueRange e) { return decayed(inside, loc, e[1], e[0]); });
    Location at = scope.at(s.convolution.part);
    Value own = headsOf(scope, at, mixed, 0, s.heads, s.headDim),
          key = headsOf(scope, at, mixed, inner, s.groups, s.stateSize),
          query = headsOf(scope, at, mixed, inner + shared, s.groups, s.stateSize);
    Value value = mapElements(scope, scope.at(s.step), {{own, {0, 1, 2}}, {step, {0, 1}}},
                              [&](const Scope &inside, ValueRange e) -> Value {
                                return arith::MulFOp::create(inside.builder, scope.at(s.step), e[0], e[1]);
                              });
    Value result = mix(scope, loc, {.query = query, .key = key, .value = value, .decay = decay}, states);
    at = scope.at(s.skip);
    return mapElements(scope, at, {{result, {0, 1, 2}}, {own, {0, 1, 2}}, {scope.weight(s.skip), {1}}},
                       [&](const Scope &inside, ValueRange e) -> Value {
                         Value skipped = arith::MulFOp::create(inside.builder, at, e[2], e[1]);
                         return arith::AddFOp::create(inside.builder, at, e[0], skipped);
                       });
  });
  y = walkGatedNorm(walk, s.norm, y, gate, inner, /*headDim=*/std::nullopt);
  Value out = walk.matmul(y, {.part = s.out, .out = stack.width, .in = inner, .hasBias = s.hasOutBias});
  walk.emit([&](const Scope &scope) { scaleResult(scope, out, s.outScale); });
  return out;
}

namespace {

/// The matmuls of a delta rule: queries, keys and values side by side, the gate, betas and decays.
struct DeltaParts {
  Value mixed, gate, beta, decay;
};

DeltaParts projectDelta(const Walk &walk, const DeltaRuleSpec &d, int64_t width, Value x) {
  auto matmul = [&](const std::string &part, int64_t out) {
    return walk.matmul(x, {.part = part, .out = out, .in = width, .hasBias = false});
  };
  auto behind = [&](const std::string &down, const std::string &part, int64_t out) {
    if (down.empty())
      return matmul(part, out);
    return walk.matmul(matmul(down, d.rank), {.part = part, .out = out, .in = d.rank, .hasBias = false});
  };
  // Queries, keys and values by rows of several sources.
  auto mixedOf = [&](llvm::function_ref<std::vector<artifact::Source>(const std::string &tensors)> sources) {
    walk.declare([&](const ParameterScope &weights) {
      weights.parameters.addRows(weights.symbols + d.mixed + ".weight", sources(weights.tensors), Init::weight(width),
                                 weights.stack);
    });
    return walk.emit([&](const Scope &scope) { return dense(scope, x, d.mixed); });
  };
  auto part = [&](const std::string &name, size_t tensor, int64_t all, int64_t begin, int64_t end) {
    return walk.matmul(x, {.part = name,
                           .out = d.keyHeads * (end - begin),
                           .in = width,
                           .hasBias = false,
                           .stem = d.packed[tensor] + ".",
                           .rows = RowsOf{{d.keyHeads, all}, Slice{1, begin, end}}});
  };
  const int64_t shared = d.valueHeads / d.keyHeads, values = shared * d.valueDim, rows = 2 * d.keyDim + 2 * values;
  DeltaParts parts;
  if (!d.separate[0].empty()) {
    parts.mixed = mixedOf([&](const std::string &tensors) -> std::vector<artifact::Source> {
      return {{tensors + d.separate[0] + ".weight", {d.keyColumns(), width}},
              {tensors + d.separate[1] + ".weight", {d.keyColumns(), width}},
              {tensors + d.separate[2] + ".weight", {d.valueColumns(), width}}};
    });
  } else if (d.packed[0].empty()) {
    parts.mixed = matmul(d.mixed, d.convolved());
  } else {
    auto ofHeads = [&](const std::string &tensor, int64_t begin, int64_t end) {
      return artifact::Source{
          tensor + ".weight",
          {d.keyHeads * rows, width},
          {Reshape{{d.keyHeads, rows, width}}, Slice{1, begin, end}, Reshape{{d.keyHeads * (end - begin), width}}}};
    };
    parts.mixed = mixedOf([&](const std::string &tensors) -> std::vector<artifact::Source> {
      const std::string tensor = tensors + d.packed[0];
      return {ofHeads(tensor, 0, d.keyDim), ofHeads(tensor, d.keyDim, 2 * d.keyDim),
              ofHeads(tensor, 2 * d.keyDim, 2 * d.keyDim + values)};
    });
  }
  parts.gate =
      d.packed[0].empty() ? behind(d.gateDown, d.gate, d.valueColumns()) : part(d.gate, 0, rows, rows - values, rows);
  if (d.packed[1].empty()) {
    parts.beta = matmul(d.beta, d.valueHeads);
    parts.decay = behind(d.decayDown, d.decay, d.decays());
  } else {
    parts.beta = part(d.beta, 1, 2 * shared, 0, shared);
    parts.decay = part(d.decay, 1, 2 * shared, shared, 2 * shared);
  }
  return parts;
}

/// The logarithms of decays, -e^scale * softplus(x + bias): one of each head, or of each channel, [tokens, heads,
/// channels].
Value decaysOf(const Scope &scope, const DeltaRuleSpec &d, Value x) {
  auto bias = [&]() -> SmallVector<Value> { return {scope.weight(d.decayBias)}; };
  auto both = [&]() -> SmallVector<Value> { return {scope.weight(d.decayBias), scope.weight(d.decayScale)}; };
  auto step = [](const Scope &inside, Location loc, Value element, ValueRange numbers) {
    return softplus(inside, loc, arith::AddFOp::create(inside.builder, loc, element, numbers[0]));
  };
  if (!d.isDecayOfChannel) {
    mapColumns(scope, x, both, [&](const Scope &inside, Location loc, Value element, ValueRange numbers) {
      return decayed(inside, loc, numbers[1], step(inside, loc, element, numbers));
    });
    return x;
  }
  mapColumns(scope, x, bias, step);
  Location loc = scope.at(d.decayScale);
  Value heads = headsOf(scope, loc, x, 0, d.keyHeads, d.keyDim);
  return mapElements(scope, loc, {{heads, {0, 1, 2}}, {scope.weight(d.decayScale), {1}}},
                     [&](const Scope &inside, ValueRange e) { return decayed(inside, loc, e[1], e[0]); });
}

} // namespace

Value importing::walkDeltaRule(const Walk &walk, const StackSpec &stack, Value x, MixerStates *states) {
  const DeltaRuleSpec &d = *stack.delta;
  DeltaParts p = projectDelta(walk, d, stack.width, x);
  p.mixed = walkShortConvolution(walk, d.convolution, p.mixed, d.convolved(), states);
  addVector(walk, d.decayBias, d.decays(), Init::bias());
  walk.declare([&](const ParameterScope &weights) {
    const std::vector<int64_t> heads = {d.valueHeads}, shape = {1, 1, d.valueHeads, 1};
    weights.parameters.addTransformed(
        weights.symbols + d.decayScale,
        {weights.tensors + d.decayScale, d.isDecayOfChannel ? shape : heads, {Reshape{heads}}}, Init::normWeight(),
        weights.stack);
  });
  Value beta = timesNumber(walk, walk.activate(p.beta, d.beta, attn::ActivationKind::sigmoid), d.betaScale, d.beta);
  Value y = walk.emit([&](const Scope &scope) {
    Value decay = decaysOf(scope, d, p.decay);
    Location loc = scope.at(d.convolution.part);
    Value query = headsOf(scope, loc, p.mixed, 0, d.keyHeads, d.keyDim),
          key = headsOf(scope, loc, p.mixed, d.keyColumns(), d.keyHeads, d.keyDim);
    return mix(scope, scope.at(d.mixed),
               {.query = unitLength(scope, loc, query, /*epsilon=*/1e-6),
                .key = unitLength(scope, loc, key, /*epsilon=*/1e-6),
                .value = headsOf(scope, loc, p.mixed, 2 * d.keyColumns(), d.valueHeads, d.valueDim),
                .decay = decay,
                .beta = beta,
                .scale = 1 / std::sqrt(double(d.keyDim)),
                .pairing = d.pairing},
               states);
  });
  y = walkGatedNorm(walk, d.norm, y, p.gate, d.valueColumns(), d.valueDim);
  return walk.matmul(y, {.part = d.out, .out = stack.width, .in = d.valueColumns(), .hasBias = false});
}

Value importing::walkGatedConvolution(const Walk &walk, const StackSpec &stack, Value x, MixerStates *states) {
  const GatedConvolutionSpec &c = *stack.convolution;
  const int64_t width = stack.width;
  auto project = [&](const char *name, int64_t which) {
    return matmulOfRows(walk, x, c.in, c.in + name, width, 3 * width, which * width, width, c.hasBias);
  };
  Value before = project(".before", 0), behind = project(".behind", 1), own = project(".mixed", 2);
  auto times = [&](Value a, Value b) {
    return walk.emit([&](const Scope &scope) -> Value {
      return arith::MulFOp::create(scope.builder, scope.at(c.convolution.part), a, b);
    });
  };
  Value mixed = walkShortConvolution(walk, c.convolution, times(before, own), width, states);
  return walk.matmul(times(behind, mixed), {.part = c.out, .out = width, .in = width, .hasBias = c.hasBias});
}
