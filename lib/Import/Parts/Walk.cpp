//===- Walk.cpp - Weights and ops of a part in one walk ------------------------===//
#include "lib/Import/Parts/Walk.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Parts/Elements.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using artifact::Reshape;
using huggingface::Init;

/// Behind the part's name, the symbol of its four bounds.
static constexpr const char *boundsSuffix = ".bounds";

void importing::addMatmul(const ParameterScope &scope, const MatmulSpec &spec) {
  const std::string stem = spec.stem.empty() ? spec.part + "." : spec.stem;
  auto add = [&](const std::string &name, const std::vector<int64_t> &columns, Init init) {
    auto withColumns = [&](std::vector<int64_t> shape) {
      shape.insert(shape.end(), columns.begin(), columns.end());
      return shape;
    };
    const std::string symbol = spec.part + "." + name;
    if (!spec.rows)
      return scope.add(symbol, stem + name, withColumns({spec.out}), init);
    const std::vector<int64_t> &groups = spec.rows->groups;
    artifact::Source source{scope.tensors + stem + name,
                            withColumns({llvm::product_of(groups)}),
                            {Reshape{withColumns(groups)}, spec.rows->slice}};
    if (std::vector<int64_t> order = spec.rows->order; !order.empty()) {
      for (size_t i = 0; i < columns.size(); ++i)
        order.push_back(int64_t(order.size()));
      source.transforms.push_back(artifact::Transpose{order});
    }
    source.transforms.push_back(Reshape{withColumns({spec.out})});
    scope.parameters.addTransformed(scope.symbols + symbol, std::move(source), init, scope.stack);
  };
  const Init init = spec.init.value_or(Init::weight(spec.in));
  if (spec.isConv1D)
    scope.parameters.addConv1D(scope.symbols + spec.part + ".weight", scope.tensors + stem + "weight",
                               {spec.in, spec.out}, init, scope.stack);
  else
    add("weight", {spec.in}, init);
  if (spec.hasBias)
    add("bias", {}, Init::bias());
  if (spec.bounds.empty())
    return;
  std::vector<artifact::Source> numbers;
  for (const char *name : {"input_min", "input_max", "output_min", "output_max"})
    numbers.push_back({scope.tensors + spec.bounds + name, {}, {Reshape{{1}}}});
  scope.parameters.addRows(scope.symbols + spec.part + boundsSuffix, std::move(numbers), Init::bias(), scope.stack,
                           /*isTable=*/true);
}

void importing::addNorm(const ParameterScope &scope, const std::string &part, const NormSpec &norm, int64_t width) {
  if (part.empty())
    return;
  const std::string weight = part + "." + norm.names[0];
  if (norm.isAroundOne)
    scope.parameters.addTransformed(scope.symbols + part + ".weight",
                                    {scope.tensors + weight, {width}, {artifact::Add{1}}}, Init::bias(), scope.stack);
  else if (norm.hasWeight)
    scope.add(part + ".weight", weight, {width}, Init::normWeight());
  if (norm.hasBias)
    scope.add(part + ".bias", part + "." + norm.names[1], {width}, Init::bias());
}

void importing::addEmbedding(const ParameterScope &scope, const std::string &part, int64_t rows, int64_t columns,
                             int64_t begin) {
  scope.parameters.addTransformed(
      scope.symbols + part, {scope.tensors + part + ".weight", {rows, columns}, {artifact::Slice{0, begin, rows}}},
      Init::embedding());
}

Walk Walk::inside(const std::string &path, const std::string &symbols) const {
  Walk own = *this;
  if (own.weights)
    own.weights->tensors += path, own.weights->symbols = symbols;
  if (own.scope)
    own.scope->path += path, own.scope->symbols = symbols;
  return own;
}

Walk Walk::withPrefix(const std::string &prefix) const {
  Walk own = *this;
  if (own.weights)
    own.weights->tensors = prefix;
  return own;
}

void Walk::forKinds(llvm::function_ref<unsigned(int64_t layer)> kindOf,
                    llvm::function_ref<void(const Walk &layers, unsigned kind)> f) const {
  if (scope)
    f(*this, kindOf(scope->layer->example));
  if (!weights)
    return;
  const Stack all = weights->stack.value_or(Stack{1});
  std::vector<unsigned> kinds;
  for (int64_t place = 0; place < all.layers; ++place)
    if (unsigned kind = kindOf(all.number(place)); !llvm::is_contained(kinds, kind))
      kinds.push_back(kind);
  for (unsigned kind : kinds) {
    ParameterScope own = *weights;
    if (weights->stack)
      own.stack = all.those([&](int64_t layer) { return kindOf(layer) == kind; });
    f(Walk(own), kind);
  }
}

void Walk::moveLast(size_t first, ArrayRef<std::string> parts) const {
  for (const std::string &part : parts)
    if (weights)
      weights->parameters.moveLast(first, weights->symbols + part);
}

namespace {

/// The four numbers that bound what a matmul reads and gives.
class Bounds {
public:
  Bounds(const Scope &scope, const std::string &part) {
    Location loc = scope.at(part);
    Value all = scope.weight(part + boundsSuffix);
    for (int64_t which = 0; which < 4; ++which) {
      Value place = arith::ConstantIndexOp::create(scope.builder, loc, which);
      numbers[which] = tensor::ExtractOp::create(scope.builder, loc, all, place);
    }
  }

  /// min(max(x, number `first`), the next one).
  Value within(const Scope &scope, Location loc, Value x, size_t first) const {
    Value raised = arith::MaximumFOp::create(scope.builder, loc, x, numbers[first]);
    return arith::MinimumFOp::create(scope.builder, loc, raised, numbers[first + 1]);
  }

private:
  std::array<Value, 4> numbers;
};

} // namespace

Value Walk::matmul(Value x, const MatmulSpec &spec) const {
  declare([&](const ParameterScope &weights) { addMatmul(weights, spec); });
  return emit([&](const Scope &scope) {
    if (spec.bounds.empty())
      return spec.isConv1D ? linear(scope, x, spec.part) : dense(scope, x, spec.part);
    const Bounds bounds(scope, spec.part);
    Location loc = scope.at(spec.part);
    auto bounded = [&](Value all) {
      SmallVector<unsigned, 3> dims;
      for (unsigned dim = 0; dim < cast<RankedTensorType>(all.getType()).getRank(); ++dim)
        dims.push_back(dim);
      return mapElements(scope, loc, {{all, dims}}, [&](const Scope &inner, ValueRange elements) {
        return bounds.within(inner, loc, elements[0], 0);
      });
    };
    // Heads may be padded one by one: they are bounded before they are merged.
    auto merged = x.getDefiningOp<attn::MergeHeadsOp>();
    Value read = merged ? mergeHeads(scope, loc, bounded(merged.getInput())) : bounded(x);
    Value y = spec.isConv1D ? linear(scope, read, spec.part) : dense(scope, read, spec.part);
    mapResult(scope, y,
              [&](const Scope &inner, Location at, Value element) { return bounds.within(inner, at, element, 2); });
    return y;
  });
}

Value Walk::activate(Value x, const std::string &part, attn::ActivationKind activation) const {
  return emit(
      [&](const Scope &scope) { return attn::ActivationOp::create(scope.builder, scope.at(part), activation, x); });
}

Value Walk::add(Value x, Value y, const std::string &part) const {
  return emit([&](const Scope &scope) { return arith::AddFOp::create(scope.builder, scope.at(part), x, y); });
}

Value Walk::norm(Value x, const std::string &part, const NormSpec &norm, int64_t width) const {
  if (part.empty())
    return x;
  declare([&](const ParameterScope &weights) { addNorm(weights, part, norm, width); });
  return emit([&](const Scope &scope) { return normalize(scope, x, part, norm); });
}

Value Walk::embed(Value ids, const std::string &part, int64_t rows, int64_t columns, int64_t begin) const {
  declare([&](const ParameterScope &weights) { addEmbedding(weights, part, rows, columns, begin); });
  return emit([&](const Scope &scope) { return importing::embed(scope, ids, part); });
}

Value Walk::table(Value ids, const std::string &symbol, int64_t rows, int64_t columns) const {
  declare([&](const ParameterScope &weights) { weights.add(symbol, {rows, columns}, Init::embedding()); });
  return emit([&](const Scope &scope) { return importing::embed(scope, ids, symbol); });
}

Value Walk::splitHeads(Value x, StringRef part, int64_t heads) const {
  return emit([&](const Scope &scope) { return importing::splitHeads(scope, scope.at(part), x, heads); });
}

Expected<SmallVector<Value>> importing::walkLayers(const Walk &walk, const WalkedLayers &layers, WalkLayer body,
                                                   AtStop atStop) {
  SmallVector<Value> shared = layers.shared;
  Expected<SmallVector<Value>> last = SmallVector<Value>();
  walk.declare([&](const ParameterScope &weights) {
    ParameterScope own = weights;
    own.tensors += layers.path;
    if (!layers.haveOneWeight)
      own.stack = layers.loop.stack;
    llvm::append_range(shared, layers.further);
    last = body(Walk(own), layers.state, shared);
    for (size_t nth = 0; nth < layers.loop.stops.size(); ++nth)
      atStop(nth, *last);
  });
  walk.emit([&](const Scope &top) {
    if (const std::optional<AdapterRows> &adapters = layers.adapters)
      shared.append({adapters->tokens, adapters->groups, adapters->order});
    llvm::append_range(shared, layers.further);
    const size_t ahead = layers.shared.size();
    auto block = [&](OpBuilder &builder, const LayerRef &layer, ValueRange state, ValueRange values) {
      ValueRange behind = values.drop_front(ahead);
      const std::optional<AdapterRows> adapters = takeAdapters(layers.adapters.has_value(), behind);
      SmallVector<Value> own(values.take_front(ahead));
      llvm::append_range(own, behind);
      const Scope scope{builder, top.parameters, top.path + layers.path,
                        &layer,  top.symbols,    adapters ? &*adapters : nullptr};
      return body(Walk(scope), state, own);
    };
    last = buildLayerStack(top.builder, top.parameters, layers.loop, layers.state, shared, block, atStop);
  });
  return last;
}

Expected<ParameterSet> importing::findWeights(huggingface::ModelDescription &model, const std::string &prefix,
                                              const std::vector<std::string_view> &ignored,
                                              llvm::function_ref<void(const Walk &)> walk, bool isFixed) {
  ParameterSet parameters;
  walk(Walk(ParameterScope{parameters, prefix}));
  RAPT_RETURN_IF_ERROR(parameters.resolve(model, ignored));
  if (!isFixed)
    RAPT_RETURN_IF_ERROR(parameters.addAdapters(model));
  return parameters;
}
