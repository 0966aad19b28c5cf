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

namespace {

/// A function that computes layers of one kind.
struct KindOfLayer {
  func::FuncOp block;
  SmallVector<unsigned> lists; ///< those that have these layers, whose places there are the block's arguments
};

/// The lists of layers among which layers have a place of their own, each once.
std::vector<LayerNumbers> listsOf(const ParameterSet &parameters, const LayerStack &stack) {
  std::vector<LayerNumbers> lists = parameters.scattered(stack.stack);
  for (const LayerNumbers &list : stack.among)
    if (!areFromZero(list) && !llvm::is_contained(lists, list))
      lists.push_back(list);
  return lists;
}

KindOfLayer buildBlock(OpBuilder builder, const Twine &name, ArrayRef<LayerNumbers> lists, int64_t example,
                       ValueRange state, ValueRange shared, BlockBody body) {
  KindOfLayer kind;
  for (auto [i, list] : llvm::enumerate(lists))
    if (llvm::is_contained(list, example))
      kind.lists.push_back(i);
  SmallVector<Type> stateTypes(state.getTypes()), inputs = stateTypes;
  inputs.append(1 + kind.lists.size(), builder.getIndexType());
  llvm::append_range(inputs, shared.getTypes());
  Location loc = NameLoc::get(builder.getStringAttr(layerPlaceholder));
  kind.block = func::FuncOp::create(builder, loc, name.str(), builder.getFunctionType(inputs, stateTypes));
  kind.block.setPrivate();
  Block *entry = kind.block.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  ValueRange arguments = entry->getArguments();
  const size_t states = state.size();
  SmallVector<LayerPlace> places;
  for (unsigned list : kind.lists)
    places.push_back({lists[list], arguments[states + 1 + places.size()]});
  SmallVector<Value> results = body(builder, {arguments[states], example, places}, arguments.take_front(states),
                                    arguments.drop_front(states + 1 + places.size()));
  func::ReturnOp::create(builder, loc, results);
  return kind;
}

/// The place in `list` of the layer that is number `nth` of each period, where the loop over the segment is at layer
/// `number`. Each period has as many layers of the list.
Value placeIn(OpBuilder &builder, Location loc, const Segment &segment, const LayerNumbers &list, int64_t nth,
              Value number) {
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
  auto placeOf = [&](int64_t layer) -> int64_t { return llvm::find(list, layer) - list.begin(); };
  const int64_t first = placeOf(segment.first + nth);
  if (segment.count == 1)
    return constant(first);
  Value iteration = arith::SubIOp::create(builder, loc, number, constant(segment.first));
  iteration = arith::DivUIOp::create(builder, loc, iteration, constant(segment.period));
  const int64_t each = placeOf(segment.first + segment.period + nth) - first;
  return arith::AddIOp::create(builder, loc, arith::MulIOp::create(builder, loc, iteration, constant(each)),
                               constant(first));
}

/// The loop over one segment, which calls the blocks of a period in turn.
SmallVector<Value> buildLoop(OpBuilder &builder, Location loc, const Segment &segment, ArrayRef<KindOfLayer> period,
                             ArrayRef<LayerNumbers> lists, ValueRange state, ValueRange shared) {
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
  Value begin = constant(segment.first), step = constant(segment.period);
  Value end = constant(segment.first + segment.period * segment.count);
  auto loop = scf::ForOp::create(
      builder, loc, begin, end, step, state, [&](OpBuilder &inner, Location, Value number, ValueRange carried) {
        SmallVector<Value> current = llvm::to_vector(carried);
        for (auto [nth, kind] : llvm::enumerate(period)) {
          Value layer = number;
          if (nth != 0)
            layer = arith::AddIOp::create(inner, loc, number, arith::ConstantIndexOp::create(inner, loc, nth));
          SmallVector<Value> operands = current;
          operands.push_back(layer);
          for (unsigned list : kind.lists)
            operands.push_back(placeIn(inner, loc, segment, lists[list], int64_t(nth), number));
          llvm::append_range(operands, shared);
          auto call = func::CallOp::create(inner, loc, kind.block, operands);
          current.assign(call.result_begin(), call.result_end());
        }
        scf::YieldOp::create(inner, loc, current);
      });
  return {loop.result_begin(), loop.result_end()};
}

} // namespace

Expected<SmallVector<Value>> importing::buildLayerStack(OpBuilder &builder, const ParameterSet &parameters,
                                                        const LayerStack &stack, ArrayRef<Value> first,
                                                        ArrayRef<Value> shared, BlockBody body, AtStop atStop) {
  size_t functions = 0;
  std::vector<unsigned> kinds = distinguish(parameters, stack, functions);
  if (functions > mostFunctions)
    return Error{"the " + std::to_string(stack.stack.layers) + " layers are of " + std::to_string(functions) +
                 " different kinds (the storage types of their tensors alternate), at most " +
                 std::to_string(mostFunctions) + " are supported; convert the checkpoint to one type"};

  Location loc = NameLoc::get(builder.getStringAttr("layers"));
  const std::vector<LayerNumbers> lists = listsOf(parameters, stack);
  std::vector<KindOfLayer> blocks(functions);
  for (auto [layer, kind] : llvm::enumerate(kinds)) {
    if (blocks[kind].block)
      continue;
    OpBuilder outer(builder.getBlock()->getParentOp());
    std::string name = stack.function;
    if (name.empty())
      name = stack.stack.name.empty() ? "block" : stack.stack.name + "_block";
    if (functions != 1)
      name += "_" + std::to_string(kind);
    blocks[kind] = buildBlock(outer, name, lists, stack.stack.first + int64_t(layer), first, shared, body);
  }
  SmallVector<Value> state(first);
  int64_t begin = 0; // of the layers up to the next stop
  auto buildLoops = [&](int64_t end) {
    for (const Segment &segment : findSegments(ArrayRef(kinds).slice(size_t(begin), size_t(end - begin)))) {
      SmallVector<KindOfLayer> period;
      for (int64_t nth = 0; nth < segment.period; ++nth)
        period.push_back(blocks[kinds[begin + segment.first + nth]]);
      const Segment numbered{stack.stack.first + begin + segment.first, segment.period, segment.count};
      state = buildLoop(builder, loc, numbered, period, lists, state, shared);
    }
    begin = end;
  };
  for (auto [nth, layer] : llvm::enumerate(stack.stops)) {
    buildLoops(layer - stack.stack.first + 1);
    atStop(nth, state);
  }
  buildLoops(int64_t(kinds.size()));
  return state;
}
