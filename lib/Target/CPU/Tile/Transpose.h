//===- Transpose.h - Keys from rows into panels -------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Target/CPU/Tile/Tile.h"

namespace rapt::tile {

/// Shuffles of two vectors of 16: `first` takes from each, for the lanes whose bit `half` is that of the vector's
/// place, what the vector has in lanes without the bit, `second` what it has in lanes with it.
struct Exchange {
  llvm::SmallVector<int64_t> first, second;
};
Exchange exchange(int64_t half);

/// Keys that are turned together: a panel's columns are written in runs of this many.
inline constexpr int64_t kTurned = 16;

/// Writes kTurned keys into `dest` as columns of panels: `read(i)` gives 32 channels of the i-th in f32; `write(nth,
/// values, dest)`, one line of a panel after another, puts its values into `dest` and gives the new one: the 16 of a
/// channel, or `inPairs` those of two, rounded to bf16, each key's side by side.
Value writeTurned(ImplicitLocOpBuilder &b, bool inPairs, llvm::function_ref<Value(int64_t i)> read,
                  llvm::function_ref<Value(int64_t nth, Value values, Value dest)> write, Value dest);

} // namespace rapt::tile
