//===- Recurrent.cpp - Stacks of recurrent cells and the states they keep -----===//
#include "lib/Import/Parts/Recurrent.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

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

namespace {

/// One layer in one direction, 0 or 1. All layers but the first, whose input is another, are one loop.
class Direction {
public:
  Direction(const RecurrentStack &stack, bool isFirst, int64_t direction)
      : stack(stack), isFirst(isFirst), direction(direction) {}

  /// `initial` are the states before, [rows, hidden] each, zeros where there are none.
  LayerOutput walk(const Walk &walk, Value x, Value rowBegin, ValueRange initial = {}) const {
    walk.declare([&](const ParameterScope &weights) { declare(weights); });
    return walk.emit([&](const Scope &scope) -> LayerOutput {
      auto biasOf = [&](const char *kind) { return stack.bias ? scope.weight(symbol(kind)) : Value(); };
      const std::string input = symbol("weight_ih"), state = symbol("weight_hh");
      Value gates = project(scope, x, scope.weight(input), input, biasOf("bias_ih"));
      OpBuilder &builder = scope.builder;
      auto recurrence = attn::RecurrenceOp::create(
          builder, scope.at(state), attn::RecurrenceKindAttr::get(builder.getContext(), stack.cell), gates,
          scope.weight(state), biasOf("bias_hh"), rowBegin, initial,
          stack.isReverse(direction) ? builder.getUnitAttr() : UnitAttr(), /*layout=*/attn::WeightLayoutInterface());
      return {outputOf(scope, recurrence.getOutput()), llvm::to_vector_of<Value, 2>(recurrence.getStates())};
    });
  }

  /// The output of the cells for their h [any, hidden].
  Value outputOf(const Scope &scope, Value h) const {
    const std::string projection = symbol("weight_hr");
    return stack.projected ? project(scope, h, scope.weight(projection), projection) : h;
  }

private:
  /// Names of parameters, as torch has them: "weight_ih_l0", "weight_ih_l0_reverse". Symbols of the loop have no
  /// number.
  std::string symbol(const char *kind) const { return named(kind, isFirst ? "_l0" : ""); }
  std::string tensor(const char *kind) const { return named(kind, isFirst ? "_l0" : "_l" + layerPlaceholder.str()); }
  std::string named(const char *kind, const std::string &layer) const {
    return stack.name + "." + kind + layer + (direction == 1 ? "_reverse" : "");
  }

  void declare(const ParameterScope &weights) const {
    const char *input = "weight_ih", *state = "weight_hh", *projection = "weight_hr";
    const int64_t columns = attn::RecurrenceOp::partsOf(stack.cell) * stack.hidden, projected = stack.projected,
                  hidden = stack.hidden, inputs = isFirst ? stack.inputs : stack.outputs();
    weights.add(symbol(input), tensor(input), {columns, inputs}, Init::weight(inputs));
    // The gates see the projected h alone, so that one matrix does both matmuls for the h that is kept.
    if (projected)
      weights.parameters.addTransposedMatmul(symbol(state), {tensor(state), {columns, projected}},
                                             {tensor(projection), {projected, hidden}}, Init::weight(projected),
                                             weights.stack);
    else
      weights.parameters.addTransformed(symbol(state),
                                        {tensor(state), {columns, hidden}, {artifact::Transpose{{1, 0}}}},
                                        Init::weight(hidden), weights.stack);
    if (projected)
      weights.add(symbol(projection), tensor(projection), {projected, hidden}, Init::weight(hidden));
    for (const char *kind : {"bias_ih", "bias_hh"})
      if (stack.bias)
        weights.add(symbol(kind), tensor(kind), {columns}, Init::bias());
  }

  const RecurrentStack &stack;
  bool isFirst;
  int64_t direction;
};

} // namespace

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

/// A layer of an encoder: from the outputs of each direction of the layer before, or the one input of the first layer,
/// to its own, and its last states. Empty where weights are declared.
static RecurrentEncoding encodeLayer(const Walk &walk, const RecurrentStack &stack, bool isFirst, ValueRange x,
                                     Value rowBegin) {
  Value input = walk.emit([&](const Scope &scope) { return sideBySide(scope, scope.at(stack.name), x); });
  SmallVector<LayerOutput, 2> found;
  for (int64_t direction = 0; direction < stack.directions(); ++direction)
    found.push_back(Direction(stack, isFirst, direction).walk(walk, input, rowBegin));
  return walk.emit([&](const Scope &scope) {
    for (auto [direction, each] : llvm::enumerate(found))
      each.states[0] = Direction(stack, isFirst, int64_t(direction)).outputOf(scope, each.states[0]);
    RecurrentEncoding encoding;
    encoding.directions = llvm::map_to_vector<2>(found, [](const LayerOutput &each) { return each.output; });
    for (int64_t state = 0; state < stack.states(); ++state) {
      auto parts = llvm::map_to_vector<2>(found, [&](const LayerOutput &each) { return each.states[state]; });
      encoding.states.push_back(sideBySide(scope, scope.at(stack.name), parts));
    }
    return encoding;
  });
}

Expected<RecurrentEncoding> importing::encodeLayers(const Walk &walk, const RecurrentStack &stack, Value x,
                                                    Value rowBegin, KeptStates *kept) {
  RecurrentEncoding encoding = encodeLayer(walk, stack, /*isFirst=*/true, x, rowBegin);
  walk.emit([&](const Scope &scope) {
    for (int64_t state = 0; state < stack.states() && kept; ++state)
      kept->write(scope, scope.at(stack.name), state, encoding.states[state]);
  });
  const size_t directions = encoding.directions.size();
  if (stack.layers > 1) {
    WalkedLayers layers{.loop = {.stack = stack.loop()},
                        .state = llvm::to_vector(llvm::concat<Value>(encoding.directions, encoding.states)),
                        .shared = {rowBegin}};
    if (kept) {
      layers.state.push_back(kept->state);
      layers.shared.push_back(kept->target);
    }
    auto body = [&](const Walk &layer, ValueRange before, ValueRange shared) {
      RecurrentEncoding next = encodeLayer(layer, stack, /*isFirst=*/false, before.take_front(directions), shared[0]);
      SmallVector<Value> after = llvm::to_vector(llvm::concat<Value>(next.directions, next.states));
      layer.emit([&](const Scope &scope) {
        if (!kept)
          return;
        KeptStates own{before.back(), Value(), shared[1]};
        for (auto [number, last] : llvm::enumerate(next.states))
          own.write(scope, scope.at(stack.name), stack.partOf(scope, scope.layer->number, number), last);
        after.push_back(own.state);
      });
      return after;
    };
    RAPT_ASSIGN_OR_RETURN(SmallVector<Value> last, walkLayers(walk, layers, body));
    llvm::copy(ArrayRef(last).take_front(directions), encoding.directions.begin());
    llvm::copy(ArrayRef(last).slice(directions, encoding.states.size()), encoding.states.begin());
    if (kept && !walk.declares())
      kept->state = last.back();
  }
  encoding.output =
      walk.emit([&](const Scope &scope) { return sideBySide(scope, scope.at(stack.name), encoding.directions); });
  return encoding;
}

Expected<Value> importing::stepLayers(const Walk &walk, const RecurrentStack &stack, Value x, Value rowBegin,
                                      KeptStates &kept) {
  auto step = [&](const Walk &own, bool isFirst, Value input, Value begin, KeptStates &states) {
    SmallVector<Value, 2> parts, initial;
    own.emit([&](const Scope &scope) {
      Location loc = scope.at(stack.name);
      Value number = isFirst ? Value(arith::ConstantIndexOp::create(scope.builder, loc, 0)) : scope.layer->number;
      for (int64_t state = 0; state < stack.states(); ++state) {
        parts.push_back(stack.partOf(scope, number, state));
        initial.push_back(states.read(scope, loc, parts.back()));
      }
    });
    LayerOutput found = Direction(stack, isFirst, /*direction=*/0).walk(own, input, begin, initial);
    own.emit([&](const Scope &scope) {
      for (auto [part, state] : llvm::zip_equal(parts, found.states))
        states.write(scope, scope.at(stack.name), part, state);
    });
    return found.output;
  };
  x = step(walk, /*isFirst=*/true, x, rowBegin, kept);
  if (stack.layers == 1)
    return x;
  const WalkedLayers layers{
      .loop = {.stack = stack.loop()}, .state = {x, kept.state}, .shared = {rowBegin, kept.source, kept.target}};
  auto body = [&](const Walk &layer, ValueRange before, ValueRange shared) -> SmallVector<Value> {
    KeptStates own{before[1], shared[1], shared[2]};
    Value output = step(layer, /*isFirst=*/false, before[0], shared[0], own);
    return {output, own.state};
  };
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> last, walkLayers(walk, layers, body));
  kept.state = last[1];
  return last[0];
}

Value importing::walkLogits(const Walk &walk, Value x, const std::string &tied, int64_t words, int64_t columns) {
  const std::string table = tied.empty() ? "lm_head.weight" : tied, bias = "lm_head.bias";
  walk.declare([&](const ParameterScope &weights) {
    if (tied.empty())
      weights.add(table, {words, columns}, Init::weight(columns));
    weights.add(bias, {words}, Init::bias());
  });
  return walk.emit([&](const Scope &top) {
    Value matrix = top.weight(table);
    return project(top, x, matrix, "lm_head", top.weight(bias));
  });
}

KeptStates importing::keptStatesOf(const SequenceEntries &entries) {
  return {entries.argument(EntryRole::State), entries.argument(EntryRole::StateSlot),
          entries.argument(EntryRole::StateTarget)};
}

StepOfStates importing::beginStepOfStates(ModelModule &module, int64_t parts, int64_t columns, int64_t vocabulary,
                                          const ImportOptions &options) {
  SequenceFacts facts{.parts = part::Always | part::Recurrent};
  facts.buffers[EntryRole::State].numbers = {parts, columns};
  facts.buffers[EntryRole::Logits].numbers = {vocabulary};
  SequenceEntries entries(*module.builder().getContext(), &module, facts);
  entries.declareDims(options);
  module.declareParameters();
  entries.beginStep();
  return {keptStatesOf(entries), entries.argument(EntryRole::Tokens), entries.argument(EntryRole::RowBegin),
          entries.argument(EntryRole::Want)};
}
