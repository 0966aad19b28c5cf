//===- Transpose.h - Keys from rows into panels -------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Conversion/AttnToLinalg/Tile.h"

namespace rapt::tile {

/// Shuffles of two vectors of 16: `first` takes from each, for the lanes whose bit `half` is that of the vector's
/// place, what the vector has in lanes without the bit, `second` what it has in lanes with it.
struct Exchange {
  llvm::SmallVector<int64_t> first, second;
};
Exchange exchange(int64_t half);

/// Keys that are turned together: a panel's columns are written in runs of this many.
inline constexpr int64_t kTurned = 16;

/// Writes kTurned keys into `dest` as columns of panels: `read(i)` gives 32 channels of the i-th; of each channel's 16
/// values, a vector goes to `dest` at `at(channel below 32)`. Returns the new `dest`.
Value writeTurned(ImplicitLocOpBuilder &b, llvm::function_ref<Value(int64_t i)> read,
                  llvm::function_ref<llvm::SmallVector<Value>(int64_t channel)> at, Value dest);

} // namespace rapt::tile
