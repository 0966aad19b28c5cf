//===- Pairs.h - Two numbers of bf16 in a word -------------------------------*- C++ -*-===//
#pragma once
#include "lib/Target/CPU/Tile/Tile.h"

namespace rapt::tile {

/// A word of 32 bits in all lanes.
Value words(ImplicitLocOpBuilder &b, int64_t lanes, uint32_t bits);

/// Numbers of f32 rounded to bf16, ties to even, in the upper halves of words; a NaN stays one.
Value roundedWords(ImplicitLocOpBuilder &b, Value numbers);

/// Numbers of f32 rounded to bf16, each two neighbors in a word.
Value roundedNeighbors(ImplicitLocOpBuilder &b, Value numbers);

/// Numbers of f32 rounded to bf16, as many of each in turn.
Value roundedInTurn(ImplicitLocOpBuilder &b, Value first, Value second);

/// Words as twice as many numbers of bf16.
Value asPairs(ImplicitLocOpBuilder &b, Value words);

} // namespace rapt::tile
