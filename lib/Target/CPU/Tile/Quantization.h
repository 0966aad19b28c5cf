//===- Quantization.h - Dynamic activation quantization, quantized tables ----------*- C++ -*-===//
#pragma once
#include "lib/Target/CPU/Tile/Tile.h"

namespace rapt::tile {

/// A slice of a quantized parameter as bytes, [n/32, groups, bytes of a group].
Value bytesOf(ImplicitLocOpBuilder &b, Value slice);

/// The scale of a quantized group, and the factor that quantizes its elements (docs/Semantics.md).
struct GroupScale {
  Value scale, inverse;
};
/// The largest |x| so far in each lane, as bits: as integers they have the same order, with NaN last.
/// noMagnitudes is the initial value, largerMagnitudes adds a vector.
Value noMagnitudes(ImplicitLocOpBuilder &b, int64_t lanes);
Value largerMagnitudes(ImplicitLocOpBuilder &b, Value panel, Value magnitudes);
GroupScale scaleOf(ImplicitLocOpBuilder &b, Value magnitudes);
/// Quantizes a vector of f32 to i32; `inverse` is a vector with as many lanes.
Value quantizedOf(ImplicitLocOpBuilder &b, Value panel, Value inverse);

/// The panel `packed`, [groups, bytes of a group], of a weight of 4 bits with `depth` rows, with a byte for each code
/// (QuantizedLayout::unpacked).
Value unpackPanel(ImplicitLocOpBuilder &b, Value packed, attn::QuantizedType type, int64_t depth);

/// scale * (q - zero point) of the element in row `row`, which is below `depth`, and lane `lane` of panel `panel`.
Value readElement(ImplicitLocOpBuilder &b, Value bytes, attn::QuantizedType type, int64_t depth, Value panel, Value row,
                  Value lane);

} // namespace rapt::tile
