//===- Vnni.h - Vectors of bf16 that are interleaved by 2 --------------------*- C++ -*-===//
#pragma once
#include "lib/Target/CPU/Tile/Tile.h"

namespace rapt::tile {

/// A constant of 32 bits in all lanes.
Value words(ImplicitLocOpBuilder &b, int64_t lanes, uint32_t bits);

/// Casts f32 to bf16, ties to even; each result is the upper half of a 32-bit lane. NaN stays NaN.
Value bf16Words(ImplicitLocOpBuilder &b, Value numbers);

/// Casts f32 to bf16; two neighbors share a 32-bit lane.
Value castNeighbors(ImplicitLocOpBuilder &b, Value numbers);

/// Casts two vectors of f32 to bf16 and interleaves them.
Value castInterleaved(ImplicitLocOpBuilder &b, Value first, Value second);

/// Casts vectors of 32-bit lanes to vectors of twice as many bf16, bit by bit.
Value asBf16(ImplicitLocOpBuilder &b, Value words);

} // namespace rapt::tile
