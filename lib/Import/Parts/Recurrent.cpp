//===- Recurrent.cpp - Stacks of recurrent cells and the states they keep -----===//
#include "lib/Import/Parts/Recurrent.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

/// Suffixes of parameters' names, as torch has them: "_l0", "_l0_reverse". Symbols of looped layers have no number.
static constexpr llvm::StringLiteral firstLayer = "_l0", loopedLayer = "";
static std::string suffixOf(StringRef layer, bool reverse) { return (layer + (reverse ? "_reverse" : "")).str(); }

void RecurrentStack::addTo(ParameterSet &parameters) const {
  int64_t columns = attn::RecurrenceOp::partsOf(cell) * hidden;
  const char *input = "weight_ih", *state = "weight_hh", *projection = "weight_hr";
  const artifact::Transpose transpose{{1, 0}};
  // The gates see the projected h alone, so that one matrix does both matmuls for the h that is kept.
  auto addState = [&](std::string symbol, std::string own, std::string ofProjection, const std::optional<Stack> &loop) {
    if (projected)
      parameters.addTransposedMatmul(std::move(symbol), {std::move(own), {columns, projected}},
                                     {std::move(ofProjection), {projected, hidden}}, Init::weight(projected), loop);
    else
      parameters.addTransformed(std::move(symbol), {std::move(own), {columns, hidden}, {transpose}},
                                Init::weight(hidden), loop);
  };
  for (int64_t direction = 0; direction < directions(); ++direction) {
    auto tensor = [&](const char *kind) { return name + "." + kind + suffixOf(firstLayer, direction == 1); };
    parameters.add(tensor(input), tensor(input), {columns, inputs}, Init::weight(inputs));
    addState(tensor(state), tensor(state), tensor(projection), std::nullopt);
    if (projected)
      parameters.add(tensor(projection), tensor(projection), {projected, hidden}, Init::weight(hidden));
    for (const char *kind : {"bias_ih", "bias_hh"})
      if (bias)
        parameters.add(tensor(kind), tensor(kind), {columns}, Init::bias());
  }
  for (int64_t direction = 0; direction < directions() && layers > 1; ++direction) {
    auto symbol = [&](const char *kind) { return name + "." + kind + suffixOf(loopedLayer, direction == 1); };
    auto tensor = [&](const char *kind) {
      return name + "." + kind + suffixOf("_l" + layerPlaceholder.str(), direction == 1);
    };
    parameters.addStacked(loop(), symbol(input), tensor(input), {columns, outputs()}, Init::weight(outputs()));
    addState(symbol(state), tensor(state), tensor(projection), loop());
    if (projected)
      parameters.addStacked(loop(), symbol(projection), tensor(projection), {projected, hidden}, Init::weight(hidden));
    for (const char *kind : {"bias_ih", "bias_hh"})
      if (bias)
        parameters.addStacked(loop(), symbol(kind), tensor(kind), {columns}, Init::bias());
  }
}

attn::RecurrenceKind importing::readCell(huggingface::ConfigReader &config) {
  return *attn::symbolizeRecurrenceKind(config.getEnum("cell", {"rnn_tanh", "rnn_relu", "gru", "lstm"}));
}

int64_t importing::readHiddenSize(huggingface::ConfigReader &config, const char *key, std::optional<int64_t> fallback) {
  constexpr int64_t most = 1 << 16;
  return fallback ? config.getSize(key, 1, most, *fallback) : config.getInt(key, 1, most);
}

int64_t importing::readLayerCount(huggingface::ConfigReader &config, const char *key, int64_t fallback) {
  return config.getSize(key, 1, 64, fallback);
}

namespace {

/// A layer's results in one direction: h at every token, [tokens, hidden], or its projection, and the states after each
/// sequence's last step, [rows, hidden].
struct LayerOutput {
  Value output;
  SmallVector<Value, 2> states;
};

} // namespace

/// The output of a layer's cells, for h [any, hidden] of one direction.
static Value outputOf(const Scope &scope, const RecurrentStack &stack, StringRef layer, int64_t direction, Value h) {
  if (!stack.projected)
    return h;
  std::string projection = stack.name + ".weight_hr" + suffixOf(layer, direction == 1);
  return project(scope, h, scope.weight(projection), projection);
}

/// One layer in one direction, 0 or 1. `layer` names it, as suffixOf has it; `initial` are the states before, [rows,
/// hidden] each, zeros where there are none.
static LayerOutput runLayer(const Scope &scope, const RecurrentStack &stack, StringRef layer, int64_t direction,
                            Value x, Value rowBegin, ValueRange initial = {}) {
  OpBuilder &builder = scope.builder;
  std::string suffix = suffixOf(layer, direction == 1);
  auto named = [&](const char *kind) { return stack.name + "." + kind + suffix; };
  auto biasOf = [&](const char *kind) { return stack.bias ? scope.weight(named(kind)) : Value(); };
  std::string input = named("weight_ih"), state = named("weight_hh");
  Value gates = project(scope, x, scope.weight(input), input, biasOf("bias_ih"));
  auto recurrence = attn::RecurrenceOp::create(
      builder, scope.at(state), attn::RecurrenceKindAttr::get(builder.getContext(), stack.cell), gates,
      scope.weight(state), biasOf("bias_hh"), rowBegin, initial,
      stack.isReverse(direction) ? builder.getUnitAttr() : UnitAttr(), /*layout=*/attn::WeightLayoutInterface());
  return {outputOf(scope, stack, layer, direction, recurrence.getOutput()),
          llvm::to_vector_of<Value, 2>(recurrence.getStates())};
}

/// The one value, or both side by side.
static Value sideBySide(const Scope &scope, Location loc, ValueRange values) {
  return values.size() == 1 ? values[0] : Value(attn::ConcatOp::create(scope.builder, loc, values));
}

Value KeptStates::read(const Scope &scope, Location loc, Value part) const {
  auto whole = cast<RankedTensorType>(state.getType());
  auto type = tensorOf({ShapedType::kDynamic, whole.getDimSize(2)}, whole.getElementType());
  return attn::SelectRowsOp::create(scope.builder, loc, type, state, part, source);
}

Value KeptStates::read(const Scope &scope, Location loc, int64_t part) const {
  return read(scope, loc, arith::ConstantIndexOp::create(scope.builder, loc, part));
}

void KeptStates::write(const Scope &scope, Location loc, Value part, Value values) {
  state = attn::UpdateRowsOp::create(scope.builder, loc, state, part, values, target);
}

void KeptStates::write(const Scope &scope, Location loc, int64_t part, Value values) {
  write(scope, loc, arith::ConstantIndexOp::create(scope.builder, loc, part), values);
}

Value RecurrentStack::partOf(const Scope &scope, Value layer, int64_t state) const {
  Location loc = scope.at(name);
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(scope.builder, loc, value); };
  Value first = arith::MulIOp::create(scope.builder, loc, layer, constant(states()));
  return arith::AddIOp::create(scope.builder, loc, first, constant(state));
}

namespace {

/// A layer of an encoder: from the outputs of each direction of the layer before, or the one input of the first layer,
/// to its own, and its last states.
RecurrentEncoding encodeLayer(const Scope &scope, const RecurrentStack &stack, StringRef layer, ValueRange x,
                              Value rowBegin) {
  Location loc = scope.at(stack.name);
  Value input = sideBySide(scope, loc, x);
  SmallVector<LayerOutput, 2> found;
  for (int64_t direction = 0; direction < stack.directions(); ++direction)
    found.push_back(runLayer(scope, stack, layer, direction, input, rowBegin));
  for (auto [direction, each] : llvm::enumerate(found))
    each.states[0] = outputOf(scope, stack, layer, int64_t(direction), each.states[0]);
  RecurrentEncoding encoding;
  encoding.directions = llvm::map_to_vector<2>(found, [](const LayerOutput &each) { return each.output; });
  for (int64_t state = 0; state < stack.states(); ++state) {
    auto parts = llvm::map_to_vector<2>(found, [&](const LayerOutput &each) { return each.states[state]; });
    encoding.states.push_back(sideBySide(scope, loc, parts));
  }
  return encoding;
}

} // namespace

Expected<RecurrentEncoding> importing::encodeLayers(const Scope &scope, Operation *entry, const RecurrentStack &stack,
                                                    Value x, Value rowBegin, KeptStates *kept) {
  Location loc = scope.at(stack.name);
  RecurrentEncoding encoding = encodeLayer(scope, stack, firstLayer, x, rowBegin);
  for (int64_t state = 0; state < stack.states() && kept; ++state)
    kept->write(scope, loc, state, encoding.states[state]);
  if (stack.layers > 1) {
    SmallVector<Value> state = llvm::to_vector(llvm::concat<Value>(encoding.directions, encoding.states));
    SmallVector<Value> shared{rowBegin};
    size_t directions = encoding.directions.size();
    if (kept) {
      state.push_back(kept->state);
      shared.push_back(kept->target);
    }
    auto body = [&](OpBuilder &builder, const LayerRef &layer, ValueRange before, ValueRange others) {
      Scope inner{builder, scope.parameters, {}, &layer};
      RecurrentEncoding next = encodeLayer(inner, stack, loopedLayer, before.take_front(directions), others[0]);
      SmallVector<Value> after = llvm::to_vector(llvm::concat<Value>(next.directions, next.states));
      if (kept) {
        KeptStates own{before.back(), Value(), others[1]};
        for (auto [number, last] : llvm::enumerate(next.states))
          own.write(inner, loc, stack.partOf(inner, layer.number, number), last);
        after.push_back(own.state);
      }
      return after;
    };
    RAPT_ASSIGN_OR_RETURN(SmallVector<Value> values,
                          buildLayerStack(scope.builder, entry, scope.parameters,
                                          {.stack = stack.loop(), .state = state, .shared = shared}, body));
    encoding.directions.assign(values.begin(), values.begin() + directions);
    encoding.states.assign(values.begin() + directions, values.begin() + directions + stack.states());
    if (kept)
      kept->state = values.back();
  }
  encoding.output = sideBySide(scope, loc, encoding.directions);
  return encoding;
}

Expected<Value> importing::stepLayers(const Scope &scope, Operation *entry, const RecurrentStack &stack, Value x,
                                      Value rowBegin, KeptStates &kept) {
  Location loc = scope.at(stack.name);
  auto step = [&](const Scope &inner, StringRef layer, Value number, Value input, Value begin, KeptStates &own) {
    SmallVector<Value, 2> parts, initial;
    for (int64_t state = 0; state < stack.states(); ++state) {
      parts.push_back(stack.partOf(inner, number, state));
      initial.push_back(own.read(inner, loc, parts.back()));
    }
    LayerOutput found = runLayer(inner, stack, layer, /*direction=*/0, input, begin, initial);
    for (auto [part, state] : llvm::zip_equal(parts, found.states))
      own.write(inner, loc, part, state);
    return found.output;
  };
  Value zero = arith::ConstantIndexOp::create(scope.builder, loc, 0);
  x = step(scope, firstLayer, zero, x, rowBegin, kept);
  if (stack.layers == 1)
    return x;
  Value state[] = {x, kept.state}, shared[] = {rowBegin, kept.source, kept.target};
  auto body = [&](OpBuilder &builder, const LayerRef &layer, ValueRange before,
                  ValueRange others) -> SmallVector<Value> {
    Scope inner{builder, scope.parameters, {}, &layer};
    KeptStates own{before[1], others[1], others[2]};
    Value output = step(inner, loopedLayer, layer.number, before[0], others[0], own);
    return {output, own.state};
  };
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> last,
                        buildLayerStack(scope.builder, entry, scope.parameters,
                                        {.stack = stack.loop(), .state = state, .shared = shared}, body));
  kept.state = last[1];
  return last[0];
}

RankedTensorType importing::keptType(Builder builder, int64_t parts, int64_t columns) {
  return tensorOf({ShapedType::kDynamic, parts, columns}, builder.getF32Type());
}

StepOfStates importing::beginStepOfStates(ModelModule &module, int64_t parts, int64_t columns, int64_t vocabulary,
                                          const ImportOptions &options) {
  OpBuilder &builder = module.builder();
  int64_t any = ShapedType::kDynamic;
  Type list = tensorOf({any}, builder.getI32Type());
  RankedTensorType state = keptType(builder, parts, columns);
  module.dim("tokens", 0, options.maxTokens);
  module.dim("rows", 1, options.maxBatch);
  module.dim("wanted", 0, options.maxTokens);
  module.dim("slots", 1, int64_t(1) << 20);
  module.declareParameters();
  func::FuncOp step = module.beginEntry(
      "step",
      {{"state", state, {"slots"}},
       {"tokens", list, {"tokens"}},
       {"row_begin", list, {"rows+1"}},
       {"state_slot", list, {"rows"}},
       {"state_target", list, {"rows"}},
       {"want", list, {"wanted"}}},
      {{"state", state, {}}, {"logits", tensorOf({any, vocabulary}, builder.getF32Type()), {"wanted"}}});
  return {{step.getArgument(0), step.getArgument(3), step.getArgument(4)},
          step.getArgument(1),
          step.getArgument(2),
          step.getArgument(5)};
}
