//===- Recurrent.cpp - Stacks of recurrent cells and the states they keep -----===//
#include "lib/Import/Recurrent.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

/// "l0", "l0_reverse": what torch appends to the parameters' names.
static std::string suffixOf(int64_t layer, bool reverse) {
  return "l" + std::to_string(layer) + (reverse ? "_reverse" : "");
}

void RecurrentStack::addTo(ParameterSet &parameters) const {
  int64_t columns = attn::RecurrenceOp::partsOf(cell) * hidden;
  for (int64_t layer = 0; layer < layers; ++layer)
    for (int64_t direction = 0; direction < directions(); ++direction) {
      std::string suffix = suffixOf(layer, direction == 1);
      int64_t in = layer == 0 ? inputs : outputs();
      auto tensor = [&](const char *kind) { return name + "." + kind + "_" + suffix; };
      parameters.add(tensor("weight_ih"), tensor("weight_ih"), {columns, in}, Init::weight(in));
      parameters.addTransposed(tensor("weight_hh"), tensor("weight_hh"), {columns, hidden}, Init::weight(hidden));
      for (const char *kind : {"bias_ih", "bias_hh"})
        if (bias)
          parameters.add(tensor(kind), tensor(kind), {columns}, Init::bias());
    }
}

attn::RecurrenceKind importing::readCell(huggingface::ConfigReader &config) {
  return *attn::symbolizeRecurrenceKind(config.getEnum("cell", {"rnn_tanh", "rnn_relu", "gru", "lstm"}));
}

int64_t importing::readHiddenSize(huggingface::ConfigReader &config, const char *key, std::optional<int64_t> fallback) {
  constexpr int64_t most = 1 << 16;
  return fallback ? config.getInt(key, 1, most, *fallback) : config.getInt(key, 1, most);
}

int64_t importing::readLayerCount(huggingface::ConfigReader &config, const char *key, int64_t fallback) {
  // Layers are not a loop: their inputs differ in size.
  return config.getInt(key, 1, 64, fallback);
}

RecurrentOutput importing::recurrentLayer(const Scope &scope, const RecurrentStack &stack, int64_t layer, bool reverse,
                                          Value x, Value rowBegin, ValueRange initial) {
  OpBuilder &builder = scope.builder;
  std::string suffix = suffixOf(layer, reverse);
  auto named = [&](const char *kind) { return stack.name + "." + kind + "_" + suffix; };
  auto biasOf = [&](const char *kind) { return stack.bias ? scope.weight(named(kind)) : Value(); };
  std::string input = named("weight_ih"), state = named("weight_hh");
  Value gates = project(scope, x, scope.weight(input), input, biasOf("bias_ih"));
  auto recurrence = attn::RecurrenceOp::create(
      builder, scope.at(state), attn::RecurrenceKindAttr::get(builder.getContext(), stack.cell), gates,
      scope.weight(state), biasOf("bias_hh"), rowBegin, initial, reverse ? builder.getUnitAttr() : UnitAttr());
  return {recurrence.getOutput(), llvm::to_vector_of<Value, 2>(recurrence.getStates())};
}

/// The one value, or both side by side.
static Value sideBySide(const Scope &scope, Location loc, ValueRange values) {
  return values.size() == 1 ? values[0] : Value(attn::ConcatOp::create(scope.builder, loc, values));
}

RecurrentEncoding importing::recurrentLayers(const Scope &scope, const RecurrentStack &stack, Value x, Value rowBegin) {
  RecurrentEncoding encoding;
  Location loc = scope.at(stack.name);
  for (int64_t layer = 0; layer < stack.layers; ++layer) {
    SmallVector<RecurrentOutput, 2> found;
    for (int64_t direction = 0; direction < stack.directions(); ++direction)
      found.push_back(recurrentLayer(scope, stack, layer, direction == 1, x, rowBegin));
    encoding.directions = llvm::map_to_vector<2>(found, [](const RecurrentOutput &each) { return each.output; });
    encoding.states.emplace_back();
    for (int64_t state = 0; state < stack.states(); ++state) {
      auto parts = llvm::map_to_vector<2>(found, [&](const RecurrentOutput &each) { return each.states[state]; });
      encoding.states.back().push_back(sideBySide(scope, loc, parts));
    }
    encoding.output = x = sideBySide(scope, loc, encoding.directions);
  }
  return encoding;
}

Value importing::embedTokens(const Scope &scope, StringRef part, Value ids, int64_t columns) {
  auto type = tensorOf({ShapedType::kDynamic, columns}, scope.builder.getF32Type());
  return attn::EmbeddingOp::create(scope.builder, scope.at(part), type, ids, scope.weight((part + ".weight").str()));
}

Value KeptStates::read(const Scope &scope, Location loc, int64_t part) const {
  OpBuilder &builder = scope.builder;
  auto kept = cast<RankedTensorType>(state.getType());
  auto type = tensorOf({ShapedType::kDynamic, kept.getDimSize(2)}, kept.getElementType());
  Value index = arith::ConstantIndexOp::create(builder, loc, part);
  return attn::SelectRowsOp::create(builder, loc, type, state, index, source);
}

void KeptStates::write(const Scope &scope, Location loc, int64_t part, Value values) {
  Value index = arith::ConstantIndexOp::create(scope.builder, loc, part);
  state = attn::UpdateRowsOp::create(scope.builder, loc, state, index, values, target);
}

SmallVector<SmallVector<Value, 2>> importing::readStates(const Scope &scope, const RecurrentStack &stack,
                                                         const KeptStates &kept) {
  SmallVector<SmallVector<Value, 2>> states(stack.layers);
  for (int64_t part = 0; part < stack.layers * stack.states(); ++part)
    states[part / stack.states()].push_back(kept.read(scope, scope.at(stack.name), part));
  return states;
}

Value importing::stepLayers(const Scope &scope, const RecurrentStack &stack, ArrayRef<SmallVector<Value, 2>> states,
                            Value x, Value rowBegin, KeptStates &kept) {
  int64_t part = 0;
  for (int64_t layer = 0; layer < stack.layers; ++layer) {
    RecurrentOutput found = recurrentLayer(scope, stack, layer, /*reverse=*/false, x, rowBegin, states[layer]);
    for (Value state : found.states)
      kept.write(scope, scope.at(stack.name), part++, state);
    x = found.output;
  }
  return x;
}

RankedTensorType importing::keptType(Builder builder, int64_t parts, int64_t columns) {
  return tensorOf({ShapedType::kDynamic, parts, columns}, builder.getF32Type());
}
