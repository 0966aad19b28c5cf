//===- Transpose.h - Transposes keys into packed panels -----------------------------*- C++ -*-===//
#pragma once
#include "lib/Target/CPU/Tile/Tile.h"

namespace rapt::tile {

/// The masks of one round of butterfly shuffles of two vectors x and y of 16 lanes. `first` takes the lanes of both
/// without bit `half`: those of x stay, those of y move up by `half`. `second` takes the lanes with the bit: those of y
/// stay, those of x move down.
struct Butterfly {
  llvm::SmallVector<int64_t> first, second;
};
Butterfly butterfly(int64_t half);

/// Keys that writeTransposed writes at once: 16 columns of a panel.
inline constexpr int64_t kTransposed = 16;

/// Writes 32 channels of kTransposed keys into `dest` as columns of a panel. `read(i, channel, count)` gives channels
/// [channel, channel + count) of key i in f32. `write(line, key, values, dest)` stores the values of the lines of the
/// panel from `line` on and returns the new `dest`: of each line one channel of keys from `key` on or, with
/// `isInterleaved`, two channels in bf16, interleaved. Where 16 registers hold no 16 x 16 matrix, these are 8 keys,
/// else all.
Value writeTransposed(
    ImplicitLocOpBuilder &b, bool isInterleaved,
    llvm::function_ref<Value(int64_t i, int64_t channel, int64_t count)> read,
    llvm::function_ref<Value(int64_t line, int64_t key, mlir::ArrayRef<Value> values, Value dest)> write, Value dest);

/// Writes each vector to its place: the lanes of the last dim from the indices `at(i)` on, all of which `dest` has.
Value writeLines(ImplicitLocOpBuilder &b, mlir::ArrayRef<Value> lines,
                 llvm::function_ref<llvm::SmallVector<Value>(int64_t i)> at, Value dest);

} // namespace rapt::tile
