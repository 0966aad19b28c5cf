//===- FeedForward.cpp - Feed-forwards and experts of layers -------------------===//
#include "lib/Import/Parts/FeedForward.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Parts/Elements.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using artifact::Reshape;
using artifact::Slice;
using huggingface::Init;

Value importing::scaleResult(const Walk &walk, Value y, double factor) {
  return walk.emit([&](const Scope &scope) {
    scaleResult(scope, y, factor);
    return y;
  });
}

Value importing::weightResult(const Walk &walk, const StackSpec &stack, Value y) {
  return scaleResult(walk, y, stack.residual.scale);
}

/// The activation of a feed-forward without a gate.
static Value activateAlone(const Scope &scope, const FeedForwardSpec &f, Value up) {
  Value active = attn::ActivationOp::create(scope.builder, scope.at(f.up), f.activation, up);
  return f.isSquared ? arith::MulFOp::create(scope.builder, scope.at(f.up), active, active).getResult() : active;
}

Value importing::walkFeedForward(const Walk &walk, const StackSpec &stack, const FeedForwardSpec &f, Value x) {
  auto matmul = [&](Value y, const std::string &part, int64_t out, int64_t in, bool hasBias) {
    return walk.matmul(y, {.part = part,
                           .out = out,
                           .in = in,
                           .hasBias = hasBias,
                           .isConv1D = stack.isConv1D,
                           .bounds = stack.boundsOf(part)});
  };
  // Gate (0) or up (1), which may be rows of one tensor.
  auto widen = [&](int64_t which) {
    const std::string &part = which == 0 ? f.gate : f.up;
    if (f.packed.empty())
      return matmul(x, part, f.inner, stack.width, f.hasBias);
    return walk.matmul(x, {.part = part,
                           .out = f.inner,
                           .in = stack.width,
                           .hasBias = f.hasBias,
                           .stem = f.packed + ".",
                           .rows = RowsOf{{2, f.inner}, Slice{0, which, which + 1}}});
  };
  Value gate = f.isGated ? widen(0) : Value(), up = widen(1);
  Value active = walk.emit([&](const Scope &scope) -> Value {
    if (!f.isGated)
      return activateAlone(scope, f, up);
    scaleResult(scope, gate, f.gateScale);
    return attn::GLUOp::create(scope.builder, scope.at(f.gate), f.activation, gate, up);
  });
  Value down = matmul(active, f.down, stack.width, f.inner, f.hasDownBias);
  walk.emit([&](const Scope &scope) { scaleResult(scope, down, f.downScale); });
  return down;
}

static std::string replaced(std::string name, std::string_view placeholder, const std::string &by) {
  if (const size_t at = name.find(placeholder); at != std::string::npos)
    name.replace(at, placeholder.size(), by);
  return name;
}

namespace {

/// The part of all experts, for symbols: "mlp.experts.up_proj" of "mlp.experts.{expert}.up_proj".
std::string partOfExperts(const std::string &part) { return replaced(part, std::string(expertPlaceholder) + ".", ""); }

/// The part of gate (0), up (1) or down (2).
const std::string &partOf(const ExpertsSpec &e, int64_t which) {
  return which == 0 ? e.each.gate : which == 1 ? e.each.up : e.each.down;
}

/// The matrices [out, in] of all experts, one behind another, and their biases.
void addRowsOfExperts(const ParameterScope &weights, const ExpertsSpec &e, int64_t width, int64_t which) {
  const std::string &part = partOf(e, which);
  const bool isDown = which == 2;
  const int64_t out = isDown ? width : e.each.inner, in = isDown ? e.each.inner : width;
  auto add = [&](const std::string &name, const std::vector<int64_t> &shape, Init init) {
    std::vector<artifact::Source> rows;
    for (int64_t expert = 0; expert < e.number; ++expert)
      rows.push_back({weights.tensors + replaced(part, expertPlaceholder, std::to_string(expert)) + name, shape});
    weights.parameters.addRows(weights.symbols + partOfExperts(part) + name, std::move(rows), init, weights.stack);
  };
  add(".weight", {out, in}, Init::weight(in));
  if (isDown ? e.each.hasDownBias : e.each.hasBias)
    add(".bias", {out}, Init::bias());
}

/// Matrices and biases from tensors that have all experts.
void addStackedExperts(const ParameterScope &weights, const ExpertsSpec &e, int64_t width, int64_t which) {
  const std::string &part = partOf(e, which);
  const bool isDown = which == 2,
             areInTurn = e.stacking == Stacking::InterleavedRows || e.stacking == Stacking::Interleaved,
             isTransposed = e.stacking == Stacking::Columns || e.stacking == Stacking::Interleaved;
  const int64_t out = isDown ? width : e.each.inner, in = isDown ? e.each.inner : width, all = e.number;
  const std::string tensor = weights.tensors + (isDown ? e.each.down : e.each.packed);
  const std::string symbol = weights.symbols + partOfExperts(part);
  // Gate and up, of which one is taken, are the next to last or the last of what the rows are cut into.
  const std::vector<int64_t> cut = isDown      ? std::vector<int64_t>{out, 1}
                                   : areInTurn ? std::vector<int64_t>{out, 2}
                                               : std::vector<int64_t>{2, out};
  const int64_t begin = isDown ? 0 : which, dim = isDown || areInTurn ? 1 : 0;
  auto joined = [](std::vector<int64_t> shape, const std::vector<int64_t> &more) {
    shape.insert(shape.end(), more.begin(), more.end());
    return shape;
  };
  const int64_t rows = cut[0] * cut[1];
  if (isTransposed)
    weights.parameters.addTransformed(
        symbol + ".weight",
        {tensor,
         {all, in, rows},
         {Reshape{joined({all, in}, cut)}, Slice{2 + dim, begin, begin + 1}, Reshape{{all, in, out}},
          artifact::Transpose{{0, 2, 1}}, Reshape{{all * out, in}}}},
        Init::weight(in), weights.stack);
  else
    weights.parameters.addTransformed(
        symbol + ".weight",
        {tensor,
         {all, rows, in},
         {Reshape{joined(joined({all}, cut), {in})}, Slice{1 + dim, begin, begin + 1}, Reshape{{all * out, in}}}},
        Init::weight(in), weights.stack);
  if (isDown ? e.each.hasDownBias : e.each.hasBias)
    weights.parameters.addTransformed(
        symbol + ".bias",
        {tensor + "_bias",
         {all, rows},
         {Reshape{joined({all}, cut)}, Slice{1 + dim, begin, begin + 1}, Reshape{{all * out}}}},
        Init::bias(), weights.stack);
}

/// Emits the ops that choose experts, and those between their matmuls.
class Router {
public:
  Router(const Scope &scope, const ExpertsSpec &spec) : scope(scope), builder(scope.builder), e(spec) {}

  RankedTensorType tokensBy(int64_t columns, Type element) {
    return RankedTensorType::get({ShapedType::kDynamic, columns}, element);
  }

  /// The scores of experts, and which of them each token has: weights and experts, [tokens, of a token].
  attn::RouteOp route(Value logits, double factor) {
    Value bias = e.choiceBias.empty() ? Value() : scope.weight(e.choiceBias);
    attn::ExpertGroupsAttr within;
    if (e.groups)
      within = attn::ExpertGroupsAttr::get(builder.getContext(), e.groups->kept, e.groups->number, e.groups->by);
    FloatAttr scale = factor == 1 ? FloatAttr() : builder.getF32FloatAttr(static_cast<float>(factor));
    return attn::RouteOp::create(builder, scope.at(e.router), tokensBy(e.ofToken, builder.getF32Type()),
                                 tokensBy(e.ofToken, builder.getI32Type()), e.scores, logits, bias, e.number, within,
                                 e.isNormalized, scale,
                                 e.floor == 0 ? FloatAttr() : builder.getF32FloatAttr(static_cast<float>(e.floor)));
  }

  /// The weights of a token's experts, times those that experts have.
  Value weights(attn::RouteOp chosen) {
    if (e.scaleOfEach.empty())
      return chosen.getWeights();
    Location loc = scope.at(e.scaleOfEach);
    Value scales = scope.weight(e.scaleOfEach);
    return mapElements(scope, loc, {{chosen.getWeights(), {0, 1}}, {chosen.getExperts(), {0, 1}}},
                       [&](const Scope &inner, ValueRange elements) -> Value {
                         OpBuilder &b = inner.builder;
                         Value expert = arith::IndexCastOp::create(b, loc, b.getIndexType(), elements[1]);
                         Value own = tensor::ExtractOp::create(b, loc, scales, expert);
                         return arith::MulFOp::create(b, loc, elements[0], own);
                       });
  }

  /// The order of the tokens by their experts.
  attn::GroupRowsOp order(Value experts) {
    Type i32 = builder.getI32Type();
    return attn::GroupRowsOp::create(builder, scope.at(e.router), RankedTensorType::get({ShapedType::kDynamic}, i32),
                                     tokensBy(e.ofToken, i32), RankedTensorType::get({e.number + 1, 2}, i32), experts);
  }

  Value activate(Value gate, Value up) {
    if (!e.each.isGated)
      return activateAlone(scope, e.each, up);
    if (e.each.limit != 0) {
      limit(gate, /*isGate=*/true);
      limit(up, /*isGate=*/false);
    }
    return attn::GLUOp::create(builder, scope.at(e.each.gate), e.each.activation, gate, up);
  }

private:
  /// min(x, limit), and where it is not a gate max(.., -limit) + 1 (gpt-oss).
  void limit(Value x, bool isGate) {
    mapResult(scope, x, [&](const Scope &inner, Location loc, Value element) -> Value {
      OpBuilder &b = inner.builder;
      element = arith::MinimumFOp::create(b, loc, element, constant(inner, loc, e.each.limit));
      if (isGate)
        return element;
      element = arith::MaximumFOp::create(b, loc, element, constant(inner, loc, -e.each.limit));
      return arith::AddFOp::create(b, loc, element, constant(inner, loc, 1));
    });
  }

  const Scope &scope;
  OpBuilder &builder;
  const ExpertsSpec &e;
};

/// The expert of all tokens.
Value walkShared(const Walk &walk, const StackSpec &stack, const ExpertsSpec &e, Value x) {
  Value y = weightResult(walk, stack, walkFeedForward(walk, stack, *e.shared, x));
  if (e.sharedGate.empty())
    return y;
  Value gate = walk.matmul(x, {.part = e.sharedGate, .out = 1, .in = stack.width, .hasBias = false});
  return walk.emit([&](const Scope &scope) -> Value {
    Location loc = scope.at(e.sharedGate);
    Value factor = attn::ActivationOp::create(scope.builder, loc, attn::ActivationKind::sigmoid, gate);
    return attn::CombineRowsOp::create(scope.builder, loc, y.getType(), y, factor, /*indices=*/Value());
  });
}

} // namespace

Value importing::walkExperts(const Walk &walk, const StackSpec &stack, const ExpertsSpec &e, Value x, Value routed) {
  Value logits =
      walk.matmul(routed, {.part = e.router, .out = e.number, .in = stack.width, .hasBias = e.hasRouterBias});
  logits = scaleResult(walk, logits, e.routerScale);
  if (!e.scaleOfEach.empty())
    walk.declare([&](const ParameterScope &weights) { weights.add(e.scaleOfEach, {e.number}, Init::normWeight()); });
  if (!e.choiceBias.empty())
    walk.declare([&](const ParameterScope &weights) { weights.add(e.choiceBias, {e.number}, Init::bias()); });
  attn::RouteOp chosen;
  attn::GroupRowsOp order;
  Value read = x;
  const int64_t width = e.latent ? e.latent : stack.width;
  if (e.latent)
    read = walk.matmul(x, {.part = e.latentDown, .out = width, .in = stack.width, .hasBias = e.hasLatentBias});
  Value rows = walk.emit([&](const Scope &scope) -> Value {
    Router router(scope, e);
    chosen = router.route(logits, e.scale * stack.residual.scale);
    order = router.order(chosen.getExperts());
    return attn::SelectRowsOp::create(scope.builder, scope.at(e.router), read.getType(), read, /*layer=*/Value(),
                                      order.getRows());
  });
  // Each row times the matrix of its expert.
  auto multiply = [&](int64_t which, Value y) {
    walk.declare([&](const ParameterScope &weights) {
      if (e.stacking == Stacking::None)
        addRowsOfExperts(weights, e, width, which);
      else
        addStackedExperts(weights, e, width, which);
    });
    return walk.emit([&](const Scope &scope) {
      return groupedDense(scope, y, partOfExperts(partOf(e, which)), which == 2 ? width : e.each.inner,
                          order.getGroups());
    });
  };
  Value gate = e.each.isGated ? multiply(0, rows) : Value(), up = multiply(1, rows);
  Value active = walk.emit([&](const Scope &scope) { return Router(scope, e).activate(gate, up); });
  Value results = multiply(2, active);
  Value sum = walk.emit([&](const Scope &scope) -> Value {
    return attn::CombineRowsOp::create(scope.builder, scope.at(e.each.down), read.getType(), results,
                                       Router(scope, e).weights(chosen), order.getIndices());
  });
  if (e.latent)
    sum = walk.matmul(sum, {.part = e.latentUp, .out = stack.width, .in = width, .hasBias = e.hasLatentBias});
  if (!e.shared)
    return sum;
  Value shared = walkShared(walk, stack, e, x);
  return walk.emit([&](const Scope &scope) -> Value {
    return arith::AddFOp::create(scope.builder, scope.at(e.shared->down), sum, shared);
  });
}
