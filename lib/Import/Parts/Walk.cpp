//===- Walk.cpp - Weights and ops of a part in one walk ------------------------===//
#include "lib/Import/Parts/Walk.h"
#include "lib/Import/Parts/Blocks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using artifact::Reshape;
using huggingface::Init;

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
    scope.parameters.addTransformed(
        scope.symbols + symbol,
        {scope.tensors + stem + name,
         withColumns({llvm::product_of(groups)}),
         {Reshape{withColumns(groups)}, spec.rows->slice, Reshape{withColumns({spec.out})}}},
        init, scope.stack);
  };
  const Init init = spec.init.value_or(Init::weight(spec.in));
  if (spec.isConv1D)
    scope.parameters.addConv1D(scope.symbols + spec.part + ".weight", scope.tensors + stem + "weight",
                               {spec.in, spec.out}, init, scope.stack);
  else
    add("weight", {spec.in}, init);
  if (spec.hasBias)
    add("bias", {}, Init::bias());
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

Value Walk::matmul(Value x, const MatmulSpec &spec) const {
  declare([&](const ParameterScope &weights) { addMatmul(weights, spec); });
  return emit(
      [&](const Scope &scope) { return spec.isConv1D ? linear(scope, x, spec.part) : dense(scope, x, spec.part); });
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

Expected<SmallVector<Value>> importing::walkLayers(const Walk &walk, const WalkedLayers &layers, WalkLayer body) {
  SmallVector<Value> shared = layers.shared;
  Expected<SmallVector<Value>> last = SmallVector<Value>();
  walk.declare([&](const ParameterScope &weights) {
    ParameterScope own = weights;
    own.tensors += layers.path;
    if (!layers.haveOneWeight)
      own.stack = layers.loop.stack;
    llvm::append_range(shared, layers.further);
    last = body(Walk(own), layers.state, shared);
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
    last = buildLayerStack(top.builder, top.parameters, layers.loop, layers.state, shared, block);
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
