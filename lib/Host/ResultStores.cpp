//===- ResultStores.cpp - The order in which an entry stores its results -------------------===//
#include "lib/Host/ResultStores.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace rapt::host;

namespace {

/// The argument of which `memory` is a view.
Value argumentBehind(Value memory) {
  while (auto view = memory.getDefiningOp<ViewLikeOpInterface>())
    memory = view.getViewSource();
  return memory;
}

/// Whether two arguments, or views of them, share elements. Two views of one argument are parts of a cache, which are
/// apart.
bool overlap(Value one, Value other) {
  if (one == other)
    return true;
  return (isa<BlockArgument>(one) || isa<BlockArgument>(other)) && argumentBehind(one) == argumentBehind(other);
}

/// The memory of arguments that may hold `result` behind bufferization, which leaves views, and updates in place, where
/// their operand is.
SmallVector<Value> memoryBehind(OpOperand &result) {
  bufferization::BufferizationOptions options;
  bufferization::AnalysisState state(options);
  bufferization::TraversalConfig config;
  config.followUnknownOps = true;
  auto isArgument = [](Value value) { return value.getDefiningOp<bufferization::ToTensorOp>() != nullptr; };
  SmallVector<Value> memory;
  for (Value leaf : state.findValueInReverseUseDefChain(&result, isArgument, config))
    if (auto tensor = leaf.getDefiningOp<bufferization::ToTensorOp>())
      memory.push_back(tensor.getBuffer());
  return memory;
}

} // namespace

void ResultStores::emit(ImplicitLocOpBuilder &b) {
  // In their given order first: what a result reads is found from the operand of its store.
  SmallVector<std::pair<bufferization::MaterializeInDestinationOp, Store *>> pending;
  for (Store &store : stores) {
    auto op = bufferization::MaterializeInDestinationOp::create(b, TypeRange(), store.value, store.memory);
    op.setRestrict(true);
    op.setWritable(true);
    store.reads = memoryBehind(op.getSourceMutable());
    pending.emplace_back(op, &store);
  }
  auto readsFrom = [&](const Store *store, Value memory) {
    return llvm::any_of(store->reads, [&](Value read) { return overlap(read, memory); });
  };
  while (!pending.empty()) {
    auto overwritesNothing = [&](auto &candidate) {
      return llvm::none_of(pending, [&](auto &other) {
        return other.second != candidate.second && readsFrom(other.second, candidate.second->memory);
      });
    };
    auto *next = llvm::find_if(pending, overwritesNothing);
    if (next == pending.end()) {
      next = pending.begin();
      for (auto &[op, store] : llvm::drop_begin(pending))
        if (readsFrom(store, next->second->memory)) {
          auto copy = bufferization::AllocTensorOp::create(b, cast<RankedTensorType>(store->value.getType()),
                                                           ValueRange(), store->value);
          op.getSourceMutable().assign(copy);
          store->reads.clear();
        }
    }
    next->first->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
    pending.erase(next);
  }
}
