//===- LayerStack.cpp - Layers as loops over few block functions --------------===//
#include "lib/Import/Module/LayerStack.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <map>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

static constexpr int64_t longestPeriod = 64;
static constexpr size_t mostFunctions = 256;

/// How often the period at `first` repeats.
static int64_t repetitions(ArrayRef<unsigned> kinds, int64_t first, int64_t period) {
  int64_t end = first + period, layers = kinds.size();
  while (end < layers && kinds[end] == kinds[end - period])
    ++end;
  return (end - first) / period;
}

SmallVector<Segment> importing::findSegments(ArrayRef<unsigned> kinds) {
  SmallVector<Segment> segments;
  int64_t layers = kinds.size();
  for (int64_t first = 0; first < layers;) {
    Segment best{first, 1, repetitions(kinds, first, 1)};
    for (int64_t period = 2; period <= longestPeriod && first + 2 * period <= layers; ++period) {
      if (best.period * best.count == layers - first)
        break;
      int64_t count = repetitions(kinds, first, period);
      if (count >= 2 && period * count > best.period * best.count)
        best = {first, period, count};
    }
    segments.push_back(best);
    first += best.period * best.count;
  }
  return segments;
}

/// For each layer a number that stands for its section and its kind, numbered by first appearance.
static std::vector<unsigned> distinguish(const ParameterSet &parameters, const LayerStack &stack, size_t &count) {
  std::map<std::pair<unsigned, unsigned>, unsigned> numbers;
  std::vector<unsigned> result = parameters.sections(stack.stack);
  assert((stack.kinds.empty() || stack.kinds.size() == result.size()) && "one kind for each layer");
  for (auto [layer, section] : llvm::enumerate(result)) {
    std::pair<unsigned, unsigned> key{section, stack.kinds.empty() ? 0 : stack.kinds[layer]};
    section = numbers.try_emplace(key, numbers.size()).first->second;
  }
  count = numbers.size();
  return result;
}

static func::FuncOp buildBlock(OpBuilder builder, const Twine &name, const LayerStack &stack, int64_t example,
                               ValueRange state, ValueRange shared, BlockBody body) {
  SmallVector<Type> stateTypes(state.getTypes()), inputs = stateTypes;
  inputs.append(stack.slots.empty() ? 1 : 2, builder.getIndexType());
  llvm::append_range(inputs, shared.getTypes());
  Location loc = NameLoc::get(builder.getStringAttr(layerPlaceholder));
  auto block = func::FuncOp::create(builder, loc, name.str(), builder.getFunctionType(inputs, stateTypes));
  block.setPrivate();
  Block *entry = block.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  ValueRange arguments = entry->getArguments();
  size_t states = state.size();
  SmallVector<Value> results =
      body(builder, {arguments[states], example}, arguments.take_front(states), arguments.drop_front(states + 1));
  func::ReturnOp::create(builder, loc, results);
  return block;
}

/// The slot of the layer that is number `nth` of each period, where the loop over the segment is at layer `number`.
/// `slots` are those of the segment's layers: each period has as many of the layer's kind.
static Value slotOf(OpBuilder &builder, Location loc, const Segment &segment, ArrayRef<int64_t> slots, size_t nth,
                    Value number) {
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
  if (segment.count == 1)
    return constant(slots[nth]);
  Value iteration = arith::SubIOp::create(builder, loc, number, constant(segment.first));
  iteration = arith::DivUIOp::create(builder, loc, iteration, constant(segment.period));
  const int64_t each = slots[nth + size_t(segment.period)] - slots[nth];
  return arith::AddIOp::create(builder, loc, arith::MulIOp::create(builder, loc, iteration, constant(each)),
                               constant(slots[nth]));
}

/// The loop over one segment, which calls `blocks` in turn. `slots` are those of its layers, if they have any.
static SmallVector<Value> buildLoop(OpBuilder &builder, Location loc, const Segment &segment,
                                    ArrayRef<func::FuncOp> blocks, ValueRange state, ValueRange shared,
                                    ArrayRef<int64_t> slots) {
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
  Value begin = constant(segment.first), step = constant(segment.period);
  Value end = constant(segment.first + segment.period * segment.count);
  auto loop = scf::ForOp::create(
      builder, loc, begin, end, step, state, [&](OpBuilder &inner, Location, Value number, ValueRange carried) {
        SmallVector<Value> current = llvm::to_vector(carried);
        for (auto [place, block] : llvm::enumerate(blocks)) {
          Value layer = number;
          if (place != 0)
            layer = arith::AddIOp::create(inner, loc, number, arith::ConstantIndexOp::create(inner, loc, place));
          SmallVector<Value> operands = current;
          operands.push_back(layer);
          if (!slots.empty())
            operands.push_back(slotOf(inner, loc, segment, slots, place, number));
          llvm::append_range(operands, shared);
          auto call = func::CallOp::create(inner, loc, block, operands);
          current.assign(call.result_begin(), call.result_end());
        }
        scf::YieldOp::create(inner, loc, current);
      });
  return {loop.result_begin(), loop.result_end()};
}

Expected<SmallVector<Value>> importing::buildLayerStack(OpBuilder &builder, const ParameterSet &parameters,
                                                        const LayerStack &stack, ArrayRef<Value> first,
                                                        ArrayRef<Value> shared, BlockBody body) {
  size_t functions = 0;
  std::vector<unsigned> kinds = distinguish(parameters, stack, functions);
  if (functions > mostFunctions)
    return Error{"the " + std::to_string(stack.stack.layers) + " layers are of " + std::to_string(functions) +
                 " different kinds (the storage types of their tensors alternate), at most " +
                 std::to_string(mostFunctions) + " are supported; convert the checkpoint to one type"};

  Location loc = NameLoc::get(builder.getStringAttr("layers"));
  std::vector<func::FuncOp> blocks(functions);
  for (auto [layer, kind] : llvm::enumerate(kinds)) {
    if (blocks[kind])
      continue;
    OpBuilder outer(builder.getBlock()->getParentOp());
    std::string name = stack.function;
    if (name.empty())
      name = stack.stack.name.empty() ? "block" : stack.stack.name + "_block";
    if (functions != 1)
      name += "_" + std::to_string(kind);
    blocks[kind] = buildBlock(outer, name, stack, stack.stack.first + int64_t(layer), first, shared, body);
  }
  SmallVector<Value> state(first);
  for (const Segment &segment : findSegments(kinds)) {
    SmallVector<func::FuncOp> period;
    for (int64_t layer = segment.first; layer < segment.first + segment.period; ++layer)
      period.push_back(blocks[kinds[layer]]);
    Segment numbered{stack.stack.first + segment.first, segment.period, segment.count};
    ArrayRef<int64_t> slots = stack.slots;
    if (!slots.empty())
      slots = slots.slice(size_t(segment.first), size_t(segment.period * segment.count));
    state = buildLoop(builder, loc, numbered, period, state, shared, slots);
  }
  return state;
}
