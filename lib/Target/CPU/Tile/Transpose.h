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

/// Writes kTransposed keys into `dest` as columns of a panel. `read(i)` gives 32 channels of key i in f32.
/// `write(line, values, dest)` stores the values of one line of the panel and returns the new `dest`: one channel of
/// all keys or, with `isInterleaved`, two channels in bf16, interleaved.
Value writeTransposed(ImplicitLocOpBuilder &b, bool isInterleaved, llvm::function_ref<Value(int64_t i)> read,
                      llvm::function_ref<Value(int64_t nth, Value values, Value dest)> write, Value dest);

} // namespace rapt::tile
