//===- Slots.h - States of sequences ------------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Reference/Ops.h"
#include <map>

namespace rapt::reference {

/// The state that an op keeps for each sequence, [slots, ...] or [slots, layers, ...]; null tensors are absent.
template <typename S> struct Slots {
  const Tensor<S> *state = nullptr, *from = nullptr, *to = nullptr;
  int64_t layer = 0;
  bool hasLayers = false;

  int64_t first(int64_t row) const { return from ? from->ints[row] : row; }
  int64_t last(int64_t row) const { return to ? to->ints[row] : row; }
  /// The first element of a slot's state, which has `count` elements.
  size_t placeOf(int64_t slot, int64_t count) const {
    return size_t((hasLayers ? slot * state->dim(1) + layer : slot) * count);
  }

  /// Checks the slots of so many rows: none is written twice, or is written for one row and read for another.
  mlir::LogicalResult check(mlir::Operation *op, int64_t rows) const {
    if (!state)
      return mlir::success();
    const int64_t slots = state->dim(0);
    if (hasLayers && (layer < 0 || layer >= state->dim(1)))
      return op->emitOpError() << "has the layer " << layer << " of " << state->dim(1);
    for (const Tensor<S> *given : {from, to})
      if (given ? given->dim(0) != rows : slots != rows)
        return op->emitOpError() << "has " << (given ? given->dim(0) : slots) << " states for " << rows << " rows";
    std::map<int64_t, int64_t> rowOf; // by the slot that it writes
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t slot : {first(row), last(row)})
        if (slot < 0 || slot >= slots)
          return op->emitOpError() << "has slot " << slot << " of row " << row << ", but there are " << slots;
      if (!rowOf.emplace(last(row), row).second)
        return op->emitOpError() << "writes slot " << last(row) << " twice (row " << row << ")";
    }
    for (int64_t row = 0; row < rows; ++row)
      if (auto writer = rowOf.find(first(row)); writer != rowOf.end() && writer->second != row)
        return op->emitOpError() << "reads slot " << first(row) << " for row " << row << " and writes it for row "
                                 << writer->second;
    return mlir::success();
  }
};

} // namespace rapt::reference
