//===- Quantization.h - Quantized matrices as bytes --------------------------------*- C++ -*-===//
#pragma once
#include "lib/Target/CPU/Tile/Tile.h"

namespace rapt::tile {

/// The same slice as bytes, [n/32, groups, bytes of a group].
Value bytesOf(ImplicitLocOpBuilder &b, Value slice);

/// The scale of a group of numbers that become codes, and the factor that makes codes of them (docs/Semantics.md).
struct GroupScale {
  Value scale, inverse;
};
/// Largest |x| so far in each of 32 lanes, as bits, which are ordered as integers, NaN last: none, then those of more.
Value noMagnitudes(ImplicitLocOpBuilder &b);
Value largerMagnitudes(ImplicitLocOpBuilder &b, Value panel, Value magnitudes);
GroupScale scaleOf(ImplicitLocOpBuilder &b, Value magnitudes);
/// Codes, as i32, of a vector of numbers; `inverse` is a vector of the same lanes.
Value codesOf(ImplicitLocOpBuilder &b, Value panel, Value inverse);

/// scale * (code - zero) of row `row` (an index below `depth`) in lane `lane` of panel `panel`.
Value readElement(ImplicitLocOpBuilder &b, Value bytes, attn::QuantizedType type, int64_t depth, Value panel, Value row,
                  Value lane);

} // namespace rapt::tile
