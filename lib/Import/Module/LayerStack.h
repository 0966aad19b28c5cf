//===- LayerStack.h - Layers as loops over few block functions ----------*- C++ -*-===//
#pragma once
#include "lib/Import/Module/ParameterSet.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace rapt::importing {

/// Layers first to first + period * count - 1: `count` times the same `period` kinds of layer in turn.
struct Segment {
  int64_t first, period, count;
  bool operator==(const Segment &) const = default;
};

/// Cuts a stack of layers into segments. Equal numbers in `kinds` stand for layers that one function can compute.
/// Greedy: from each layer on, the period (at most 64) that covers the most layers, the shorter one when equal.
/// 5 x local, 1 x global, 4 times and then 2 x local gives {0, 6, 4}, {24, 1, 2}.
llvm::SmallVector<Segment> findSegments(llvm::ArrayRef<unsigned> kinds);

/// A stack of layers that pass a state on, such as the residual stream and the cache.
struct LayerStack {
  Stack stack = {};
  /// Name of the functions; when empty, "STACK_block", or "block" of a stack without name. Loops of two entries over
  /// one stack differ in it.
  std::string function = {};
  /// For each layer what distinguishes it besides its weights' types; empty when nothing does. Layers that differ in a
  /// number alone (a scale, a window) are of one kind: the body can compute the number from the layer's.
  std::vector<unsigned> kinds = {};
  /// Lists of layers among which the body asks for a layer's place, such as those of one cache. All layers of a kind
  /// are in a list, or none.
  std::vector<LayerNumbers> among = {};
  /// Numbers of layers behind which the state is looked at, ascending.
  std::vector<int64_t> stops = {};
};

/// Computes one layer: gives the new state. `layer.number` is the absolute number of the layer.
using BlockBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &builder, const LayerRef &layer,
                                                                    mlir::ValueRange state, mlir::ValueRange shared)>;

/// Emits what reads the state behind the layer `stops[nth]`.
using AtStop = llvm::function_ref<void(size_t nth, mlir::ValueRange state)>;

/// Emits a loop for each segment of the stack at the builder's place, and before the function around it one private
/// function `block(state..., layer, shared...)` for each kind of layer (see LayerStack::function). `first` is the
/// state before the first layer, `shared` are further arguments of every layer. Gives the state after the last layer.
/// Loops end behind each of the stack's stops.
/// An error when the layers' storage types alternate so much that there were more than 256 functions.
Expected<llvm::SmallVector<mlir::Value>> buildLayerStack(mlir::OpBuilder &builder, const ParameterSet &parameters,
                                                         const LayerStack &stack, llvm::ArrayRef<mlir::Value> first,
                                                         llvm::ArrayRef<mlir::Value> shared, BlockBody body,
                                                         AtStop atStop = {});

} // namespace rapt::importing
